"""What is evaluated of a run, who is refused, and the short table."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from helpers.evaluation_rows import row
from helpers.small_runs import DECISIONS, small_run
from housemates.agents.agent import agent, learned, scripted
from housemates.evaluation.holdouts import budget
from housemates.evaluation.protocol import run_pairs, summary
from housemates.evaluation.rows import make_rows
from housemates.io import seal_again

STRANGERS = [scripted(name) for name in ("noop", "first_half")]


def kinds(pairs) -> Counter:
    return Counter((pair.evaluation, pair.control) for pair in pairs)


def test_a_coordination_agent_meets_its_population_strangers_and_controls(tmp_path):
    pairs = run_pairs(small_run(tmp_path / "bdp", "pbt", members=3), STRANGERS)
    wanted = {("train_pop", ""): 3, ("zsc", ""): 2, ("control", "blind"): 2, ("control", "solo"): 2, ("control", "random"): 1}
    assert kinds(pairs) == wanted


def test_only_partners_of_training_are_known(tmp_path):
    pairs = run_pairs(small_run(tmp_path / "pbt", "pbt"), STRANGERS)
    assert [p.evaluation for p in pairs if not p.zero_shot] == ["train_pop", "train_pop"]


def test_members_of_a_team_play_with_each_other_alone(tmp_path):
    pairs = run_pairs(small_run(tmp_path / "gt"), STRANGERS)
    assert [(p.agent.name, p.partners[0].name) for p in pairs] == [("gt/0", "gt/1"), ("gt/1", "gt/0")]


def test_members_of_a_team_meet_strangers_on_request(tmp_path):
    pairs = run_pairs(small_run(tmp_path / "gt"), STRANGERS, members=True)
    assert kinds(pairs)["zsc", ""] == 4
    assert kinds(pairs)["control", "solo"] == 2


def test_a_stranger_that_took_part_in_the_training_is_refused(tmp_path):
    run = small_run(tmp_path / "pbt", "pbt")
    with pytest.raises(ValueError, match=r"pbt/agent.*trained.*held out"):
        run_pairs(run, [learned(run / "stage1" / "members" / "01", "copy")])


def test_a_run_that_says_it_is_not_zero_shot_is_evaluated_and_marked(tmp_path):
    run = small_run(tmp_path / "pbt", "pbt")
    for path in (run / "config.json", run / "stage2" / "agent" / "policy.json"):
        values = json.loads(path.read_text())
        values["zero_shot" if path.name == "config.json" else "meta"] = (
            False if path.name == "config.json" else values["meta"] | {"zero_shot": False}
        )
        path.write_text(json.dumps(values))
        seal_again(path)
    known = learned(run / "stage1" / "members" / "01", "copy")
    pairs = [p for p in run_pairs(run, [known, *STRANGERS]) if p.evaluation == "zsc"]
    assert [p.zero_shot for p in pairs] == [False, True, True]


def test_the_budget_counts_both_stages(tmp_path):
    run = small_run(tmp_path / "pbt", "pbt")
    assert budget(agent(run)) == 2 * DECISIONS
    assert budget(replace(agent(run), meta={"decisions": 5})) == 5


def rows(*parts):
    made = [row(**part) for part in parts]
    return make_rows({name: [one[name] for one in made] for name in made[0]})


def test_the_table_gives_means_with_errors_over_episodes():
    lost = {"success": False, "collision": True}
    table = rows(*({"episode": e, "partner": p, **(lost if e == 0 else {})} for e in range(4) for p in ("a", "b")))
    first = summary(table)[0]
    assert (first.what, first.games) == ("bdp-tidy_house-state-0/agent: zero-shot, with held-out partners", 8)
    values = np.array([0.0, 1.0, 1.0, 1.0])
    assert first.rates[0] == pytest.approx((0.75, values.std(ddof=1) / 2))
    assert first.rates[1][0] == 0.25


def test_the_table_has_lines_for_kinds_partners_and_controls():
    table = rows(
        {"partner": "script/noop"},
        {"partner": "x/0", "partner_kind": "learned", "success": False, "timeout": True},
        {"evaluation": "control", "control": "blind"},
        {"evaluation": "control", "control": "solo", "agent": "script/solo"},
    )
    found = [line.what.strip() for line in summary(table)]
    assert found[1:5] == ["scripted partners", "learned partners", "script/noop", "x/0"]
    assert found[5:] == ["control: the agent cannot sense its partner", "control: a scripted robot does everything alone"]


def test_the_table_says_who_is_no_stranger():
    table = rows({"partner": "a", "zero_shot": False}, {"partner": "b"})
    assert "a  (met in training)" in [line.what.strip() for line in summary(table)]
