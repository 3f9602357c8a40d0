"""Stage 2 keeps its agent at the simulation steps that were asked for."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.evaluations import run_folder
from helpers.learners import SHORT, TINY, weights
from housemates.agents.agent import resolve, scripted
from housemates.methods.ego import Coordination
from housemates.policies.checkpoint import load_policy, save_policy
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder, StageFolder
from housemates.sim.rules import Rules
from housemates.training.settings import Training
from housemates.training.trainer import Trainer


def agent_trainer(folder, checkpoints) -> Trainer:
    """A second stage of some updates beside a script; what was trained before goes on."""
    config = replace(SHORT, decisions=400, save_every=1, rules=Rules(horizon=12), checkpoints=checkpoints)
    made = Trainer(config, Coordination(TINY, 2, 0, [scripted("solo")]), episodes(), [home()], folder, 2, stage=2)
    made.load()
    return made


def numbers(folder) -> list[np.ndarray]:
    """The weights of a policy in a folder."""
    return [value.numpy() for value in load_policy(folder).state_dict().values()]


def test_checkpoints_are_the_agent_as_it_was_then_also_after_an_interruption(tmp_path):
    watched = agent_trainer(tmp_path / "whole", ())
    steps, known = [], {}
    while not watched.done:
        watched.step()
        steps.append(watched.steps)
        known[watched.steps] = weights(watched)
    early, late = 1, steps[2] - 1
    assert agent_trainer(tmp_path / "one", (early, late)).run()
    interrupted = agent_trainer(tmp_path / "two", (early, late))
    interrupted.stopping = True
    assert not interrupted.run()
    assert agent_trainer(tmp_path / "two", (early, late)).run()
    for folder in ("one", "two"):
        agent = StageFolder(tmp_path / folder).path / "agent"
        for asked, kept in ((early, steps[0]), (late, steps[2])):
            for one, other in zip(numbers(agent / f"steps-{asked}"), known[kept], strict=True):
                np.testing.assert_array_equal(one, other)
        for one, other in zip(numbers(agent), known[steps[-1]], strict=True):
            np.testing.assert_array_equal(one, other)
    assert not list((tmp_path / "whole").rglob("steps-*"))


def test_a_checkpoint_has_a_name(tmp_path):
    run = run_folder(tmp_path, "bdp", 0)
    save_policy(RunFolder(run).agent, Policy(TINY, seed=1), {})
    save_policy(RunFolder(run).checkpoint(5_000_000), Policy(TINY, seed=2), {"steps": 5_000_400})
    (found,) = resolve(f"{run}/agent@5000000")
    assert found.name == f"{run.name}/agent@5000000"
    assert found.meta["steps"] == 5_000_400
    assert found.meta["method"] == "bdp"
    for steps, there in (("7", "5000000"), ("many", "5000000")):
        with pytest.raises(ValueError, match=f"'{steps}'.*{there}"):
            resolve(f"{run}/agent@{steps}")


def test_checkpoints_are_positive():
    with pytest.raises(ValueError, match="checkpoints"):
        Training(checkpoints=(1000, 0))
