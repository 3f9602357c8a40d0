"""Where agents come from: preset, picture size and budgets of both stages, and that nothing is guessed."""

import json
from dataclasses import replace

import pytest

from helpers.batches import episodes, home
from helpers.small_runs import DECISIONS, small_run
from housemates.agents.agent import agent, learned, population, scripted
from housemates.evaluation.crossplay import crossplay, pair_up
from housemates.evaluation.holdouts import budget, origin, ship_agent
from housemates.evaluation.rows import BUDGETS, no_rows, write_rows
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy


def budgets(partner) -> list[int]:
    return [origin(partner)[name] for name in BUDGETS]


def test_an_agent_knows_the_decisions_and_steps_of_both_stages(tmp_path):
    run = small_run(tmp_path / "pbt", "pbt", steps=7000)
    assert budgets(agent(run)) == [DECISIONS, 7000, DECISIONS, 7000]
    assert budgets(population(run)[0]) == [DECISIONS, 7000, 0, 0]
    assert (origin(agent(run))["preset"], origin(agent(run))["pixels"]) == ("smoke", 0)


def test_steps_that_nobody_recorded_are_not_guessed(tmp_path):
    run = small_run(tmp_path / "pbt", "pbt")
    assert budgets(agent(run)) == [DECISIONS, -1, DECISIONS, -1]
    alone = replace(agent(run), path="/nowhere", meta={"decisions": 5})
    assert budgets(alone) == [-1] * 4
    assert (origin(alone)["preset"], origin(alone)["pixels"], budget(alone)) == ("", -1, 5)


def test_a_script_costs_nothing_and_sees_no_pictures():
    assert origin(scripted("noop")) == {"preset": "", "trained_in": "", "pixels": 0} | dict.fromkeys(BUDGETS, 0)


@pytest.mark.parametrize(("config", "side"), [(PolicyConfig.laptop(hidden=8, features=8), 64), (PolicyConfig.state(), 0)])
def test_the_size_of_pictures_is_the_policys_own(config, side, tmp_path):
    save_policy(tmp_path / "policy", Policy(config), {"decisions": 1})
    assert origin(learned(tmp_path / "policy", "x"))["pixels"] == side


def test_rows_carry_it(tmp_path):
    run = small_run(tmp_path / "pbt", "pbt", steps=7000)
    rows = crossplay(pair_up([agent(run)], [scripted("noop")]), episodes(), [home()], count=2).to_pylist()
    expected = {"preset": "smoke", "pixels": 0} | dict(zip(BUDGETS, [DECISIONS, 7000, DECISIONS, 7000], strict=True))
    assert [{name: row[name] for name in expected} for row in rows] == [expected] * 2


def test_a_shipped_agent_keeps_it(tmp_path):
    run = small_run(tmp_path / "pbt", "pbt", steps=7000)
    (run / "evaluation").mkdir()
    write_rows(run / "evaluation" / "episodes-dev.parquet", no_rows())
    place = ship_agent(run, tmp_path / "package")
    shipped = learned(place, "x")
    assert budgets(shipped) == [DECISIONS, 7000, DECISIONS, 7000]
    assert origin(shipped)["preset"] == "smoke"
    assert json.loads((place / "policy.json").read_text())["meta"]["decisions"] == 2 * DECISIONS
