"""Runs whose agent begins as a trained one (`--start`): weights, budget, what it knows of holdouts, exact continuation."""

import shutil
from dataclasses import replace

import pytest
import torch

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY
from housemates.agents.agent import agent
from housemates.evaluation.holdouts import mark, training_of
from housemates.policies.checkpoint import load_policy
from housemates.run_folder import RunFolder
from housemates.runs.run import Run, create, make_trainer, read, work
from housemates.runs.train import discard, new_run
from housemates.training.distributed import Group

TEAM = Run("gt_coord", "tidy_house", "smoke", "state", "dev", 2, 1, 1, "cpu", TINY, replace(SHORT, decisions=50), stages=(1, 2))


def hall(_: Run):
    return [home()], episodes()


@pytest.fixture
def team(tmp_path):
    """A finished run: a pair, and an agent that was trained with it."""
    create(tmp_path / "team", TEAM)
    work(tmp_path / "team", hall, quiet=True)
    return tmp_path / "team"


def again(team, **changes) -> Run:
    """A run that trains the team's agent further, with its first member."""
    return replace(TEAM, method="own", settings=None, stages=(2,), population=(f"{team}/0",), start=f"{team}/agent", **changes)


def weights(folder) -> dict[str, torch.Tensor]:
    return load_policy(folder).state_dict()


def test_the_agent_begins_with_the_weights_that_were_named_and_learns(team, tmp_path):
    create(tmp_path / "run", again(team))
    before = weights(RunFolder(team).agent)
    trainer = make_trainer(tmp_path / "run", read(tmp_path / "run"), 2, [home()], episodes(), Group())
    assert all(torch.equal(value, before[name]) for name, value in trainer.method.policies[0].state_dict().items())
    assert work(tmp_path / "run", hall, quiet=True)
    assert any(not torch.equal(value, before[name]) for name, value in weights(RunFolder(tmp_path / "run").agent).items())
    assert agent(tmp_path / "run").meta["start"] == f"{team}/agent"


def test_its_budget_counts_what_it_began_with(team, tmp_path):
    create(tmp_path / "run", again(team))
    work(tmp_path / "run", hall, quiet=True)
    first, second = training_of(agent(team)), training_of(agent(tmp_path / "run"))
    own = agent(tmp_path / "run").meta
    assert second["stage2_decisions"] == first["stage2_decisions"] + own["decisions"]
    assert second["stage2_steps"] == first["stage2_steps"] + own["steps"]
    assert second["stage1_decisions"] == -1  # that of the first agent's population is not in its policy


def test_a_run_goes_on_exactly_though_the_agent_it_began_as_is_gone(team, tmp_path):
    for name in ("whole", "paused"):
        create(tmp_path / name, again(team))
    assert work(tmp_path / "whole", hall, quiet=True)
    assert not work(tmp_path / "paused", hall, hours=1e-9, quiet=True)
    shutil.rmtree(RunFolder(team).agent)
    assert work(tmp_path / "paused", hall, quiet=True)
    one, other = (weights(RunFolder(tmp_path / name).agent) for name in ("whole", "paused"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_an_agent_that_knew_a_holdout_makes_no_zero_shot_agent(team, tmp_path):
    other = replace(again(team), method="best_response", start="")
    create(tmp_path / "answer", other)
    work(tmp_path / "answer", hall, quiet=True)
    create(tmp_path / "run", replace(again(team), start=f"{tmp_path}/answer/agent"))
    assert not read(tmp_path / "run").zero_shot
    create(tmp_path / "clean", again(team))
    assert read(tmp_path / "clean").zero_shot


@pytest.mark.parametrize(
    ("start", "changes", "told"),
    [
        ("script/solo", {}, "one learned policy"),
        ("TEAM", {}, "one learned policy"),
        ("TEAM/agent+lookahead", {}, "one learned policy"),
        ("blind/TEAM/agent", {}, "one learned policy"),
        ("TEAM/agent", {"policy": replace(TINY, hidden=2 * TINY.hidden)}, "another network: hidden"),
    ],
)
def test_what_cannot_be_begun_with_is_told(team, tmp_path, start, changes, told):
    with pytest.raises(ValueError, match=told):
        create(tmp_path / "run", replace(again(team), start=start.replace("TEAM", str(team)), **changes))
    assert not (tmp_path / "run").exists()


def test_a_holdout_is_no_beginning_of_a_zero_shot_agent(team, tmp_path):
    shutil.copytree(team, tmp_path / "held")
    mark(tmp_path / "held")
    with pytest.raises(ValueError, match="held out for the evaluation"):
        create(tmp_path / "run", replace(again(team), start=f"{tmp_path}/held/agent"))
    create(tmp_path / "answer", replace(again(team), method="best_response", start=f"{tmp_path}/held/agent"))
    assert not read(tmp_path / "answer").zero_shot


def test_a_population_begins_with_nobodys_weights():
    with pytest.raises(ValueError, match="--start names the agent that stage 2 begins as"):
        new_run({"method": "gt_coord", "preset": "smoke", "start": "RUN/agent"}, (), "cpu")


def test_a_run_that_was_refused_leaves_nothing_of_its_beginning(team, tmp_path):
    create(tmp_path / "run", again(team))
    discard(tmp_path / "run")
    assert not (tmp_path / "run").exists()
