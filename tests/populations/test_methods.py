"""Every method trains both stages end to end on a tiny budget, and what it leaves loads and plays."""

from dataclasses import replace

import numpy as np
import pytest

from batches import episodes, home
from housemates.evaluation.play import play
from housemates.learning.ppo import PPO
from housemates.learning.trainer import Training
from housemates.policies.config import PolicyConfig
from housemates.policies.partners import load, population, resolve
from housemates.populations import METHODS
from housemates.populations.run import Run, complete, create, work

NETWORKS = {
    "": PolicyConfig.state(hidden=8, features=8),
    "predicates": PolicyConfig.predicates(hidden=8, features=8),
    "rgb": PolicyConfig.laptop(rgb=True, hidden=8, features=8),
}
TINY = Training(decisions=160, homes=8, rollout=8, save_every=50, ppo=PPO(chunk=4))
LATENTS = [f"z{k}" for k in range(8)]
MEMBERS = [str(k) for k in range(8)]
NAMES = {"gt_coord": ["0", "1"], "solo": ["0"], "sp": MEMBERS, "pbt": MEMBERS, "trajedi": MEMBERS, "pbt_state": MEMBERS}
NAMES |= {"bdp_separate": MEMBERS, "fcp": [k + moment for moment in ("", "-start", "-middle") for k in MEMBERS]}
STAGE_1 = [name for name in METHODS if name != "own"]


def tiny(method: str, robots: int = 2, **changes) -> Run:
    """A run of a method in the hall, as small as it can be."""
    spec = METHODS[method]
    policy = replace(NETWORKS[spec.observations], robots=robots)
    settings = replace(spec.settings, hidden=8, batches=1, batch=8) if hasattr(spec.settings, "batches") else spec.settings
    seen = spec.observations or "state"
    stages = (1, 2) if spec.two_stages else (1,)
    run = Run(method, "tidy_house", "smoke", seen, "dev", robots, 1, 1, "cpu", policy, TINY, stages=stages, settings=settings)
    return replace(run, **changes)


def train(folder, run: Run) -> None:
    create(folder, run)
    assert work(folder, lambda _: ([home()], episodes()), quiet=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Runs of all methods that have been asked for, each trained once."""
    made = {}

    def get(method: str):
        if method not in made:
            made[method] = tmp_path_factory.mktemp("runs") / method
            train(made[method], tiny(method, METHODS[method].robots or 2))
        return made[method]

    return get


@pytest.mark.parametrize("method", STAGE_1)
def test_every_method_trains_to_its_end_and_leaves_its_population(method, trained):
    folder = trained(method)
    assert complete(folder)
    assert [p.name.rpartition("/")[2] for p in population(folder)] == NAMES.get(method, LATENTS)
    for partner in population(folder):
        assert partner.meta["method"] == method
        assert load(partner) is not None


@pytest.mark.parametrize("method", [name for name in STAGE_1 if METHODS[name].two_stages])
def test_every_coordination_agent_loads_and_plays(method, trained):
    (agent,) = resolve(f"{trained(method)}/agent", "tidy_house")
    policy = load(agent)
    assert policy.config.latent == 0
    few = episodes().take(np.arange(2))
    assert play(few, [home()], [[policy, "first_half"]]).outcome.all()
