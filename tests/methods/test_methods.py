"""Every method trains both stages end to end on a tiny budget, and what it leaves loads and plays."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home
from housemates.agents.agent import LIST, load, population, resolve
from housemates.evaluation.play import play
from housemates.io import seal_again
from housemates.methods import METHODS
from housemates.policies.config import PolicyConfig
from housemates.run_folder import RunFolder
from housemates.runs.run import Run, create, read, work
from housemates.training.ppo import PPO
from housemates.training.trainer import Training

NETWORKS = {
    "": PolicyConfig.state(hidden=8, features=8),
    "predicates": PolicyConfig.predicates(hidden=8, features=8),
    "rgb": PolicyConfig.laptop(rgb=True, hidden=8, features=8),
}
TINY = Training(decisions=160, num_envs=8, rollout_decisions=8, save_every=50, ppo=PPO(chunk=4))
LATENTS = [f"z{k}" for k in range(8)]
MEMBERS = [str(k) for k in range(8)]
NAMES = {"gt_coord": ["0", "1"], "solo": ["0"], "sp": MEMBERS, "pbt": MEMBERS, "trajedi": MEMBERS, "pbt_state": MEMBERS}
NAMES |= {"bdp_separate": MEMBERS, "fcp": [k + moment for moment in ("", "-start", "-middle") for k in MEMBERS]}
STAGE_1 = [name for name in METHODS if METHODS[name].make is not None]


def tiny(method: str, robots: int = 2, **changes) -> Run:
    """A run of a method in the hall, as small as it can be."""
    spec = METHODS[method]
    policy = replace(NETWORKS[spec.observations], robots=robots)
    settings = replace(spec.settings, hidden=8, batches=1, batch=8) if hasattr(spec.settings, "batches") else spec.settings
    seen = spec.observations or "state"
    values = {"training": TINY, "stages": (1, 2) if spec.two_stages else (1,), "settings": settings} | changes
    return Run(method, "tidy_house", "smoke", seen, "dev", robots, 1, 1, "cpu", policy, **values)


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
    assert RunFolder(folder).complete()
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


def test_the_population_of_fcp_is_trained_for_nothing_half_and_all_of_the_decisions(trained):
    spent = {p.name.rpartition("/")[2]: p.meta["decisions"] for p in population(trained("fcp"))}
    assert spent["0-start"] == 0
    assert TINY.decisions / 2 <= spent["0-middle"] < spent["0"]


def test_a_population_says_how_well_its_members_did_lately(trained):
    meta = population(trained("sp"))[0].meta
    assert meta["episodes"] == meta["self_play_episodes"]
    assert {"success", "self_play_success", "environment", "sha256", "seed"} <= meta.keys()


def test_an_agent_says_with_whom_it_was_trained(trained):
    folder = trained("bdp")
    listed = json.loads(RunFolder(folder).partners.read_text())[LIST]
    assert [entry["latent"] for entry in listed] == list(range(8))
    assert {entry["path"] for entry in listed} == {"stage1/members/00"}


@pytest.mark.parametrize("method", ["pbt", "bdp"])
def test_three_robots_train_both_stages(method, tmp_path):
    train(tmp_path / "run", tiny(method, robots=3, training=replace(TINY, decisions=100)))
    agent = load(resolve(f"{tmp_path / 'run'}/agent")[0])
    assert agent.config.robots == 3


def test_a_second_stage_takes_partners_of_any_runs(trained, tmp_path):
    named = (str(trained("pbt")), f"{trained('bdp')}/z5", "random")
    train(tmp_path / "run", tiny("own", stages=(2,), population=named))
    names = [entry["name"] for entry in json.loads(RunFolder(tmp_path / "run").partners.read_text())[LIST]]
    assert names == [*(f"pbt/{k}" for k in range(8)), "bdp/z5", "random"]
    assert not read(tmp_path / "run").zero_shot


def test_partners_that_have_changed_since_are_noticed(trained, tmp_path):
    folder = tmp_path / "run"
    create(folder, tiny("own", stages=(2,), population=(f"{trained('pbt')}/0",)))
    listed = json.loads(RunFolder(folder).partners.read_text())
    listed[LIST][0]["meta"]["sha256"] = "0" * 64
    RunFolder(folder).partners.write_text(json.dumps(listed))
    seal_again(RunFolder(folder).partners)
    with pytest.raises(ValueError, match="is not the policy it was"):
        work(folder, lambda _: ([home()], episodes()), quiet=True)
