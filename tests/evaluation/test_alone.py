"""The learned robot that works alone: its games from every start, and the gain over it."""

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.evaluations import EPISODES, HOLDOUTS, pair
from housemates.agents.agent import Agent, learned, resolve, scripted
from housemates.cli.main import main
from housemates.evaluation.alone import alone_rows, plays_alone
from housemates.evaluation.competence import probe_of
from housemates.evaluation.crossplay import crossplay, pair_up
from housemates.evaluation.metrics import efficiency_gain, rows_of
from housemates.evaluation.rows import join_rows, read_rows
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.reports.families import family_table
from housemates.reports.tables import gain_table

SOLO = scripted("solo")
LONE = ("", "", "")


def lone(seed=0, **same):
    """A learned robot that needs 250 steps from every start of robot 0, 350 from robot 1's, and fails in episode 3."""
    steps = np.where(np.arange(2 * EPISODES) < EPISODES, 250, 350)
    parts = []
    for robot in range(2):
        mine = {"robot": robot, "steps": int(steps[robot * EPISODES]), "success": np.arange(EPISODES) != 3} | same
        parts.append(pair(f"solo-tidy_house-state-{seed}/0", "solo", seed, LONE, "alone", **mine))
    return join_rows(parts)


def test_the_scripted_robot_alone_has_the_steps_of_the_other_column():
    rows = rows_of(alone_rows([SOLO], episodes(), [home()], count=4))
    assert len(rows) == 8
    assert sorted(rows["robot"].tolist()) == [0] * 4 + [1] * 4
    assert (rows["evaluation"] == "alone").all()
    assert (np.where(rows["success"], rows["steps"], -1) == rows["solo_steps"]).all()


def test_alone_and_together_are_the_same_environment():
    alone = rows_of(alone_rows([SOLO], episodes(), [home()], count=1))
    together = rows_of(crossplay(pair_up([SOLO], [scripted("noop")]), episodes(), [home()], count=1))
    assert alone.distinct("environment") == together.distinct("environment")


def test_the_gain_over_the_learned_robot_is_by_hand():
    team = pair("a-0/agent", "bdp", 0, HOLDOUTS[0], success=True, steps=200, solo_steps=400)
    rows = rows_of(join_rows([team, lone()])).only(evaluation="zsc")
    known = np.arange(EPISODES) != 3
    wanted = np.where(rows["robot"] == 0, 250, 350)
    assert (rows["learned_solo_steps"] == np.where(known, wanted, -1)).all()
    assert efficiency_gain(rows, reference="learned_solo_steps") == pytest.approx(wanted[known].mean() / 200 - 1)
    assert efficiency_gain(rows) == pytest.approx(1.0)


def test_several_learned_robots_count_by_their_mean():
    other = lone(1, steps=450, success=True)
    team = pair("a-0/agent", "bdp", 0, HOLDOUTS[0])
    rows = rows_of(join_rows([team, lone(), other])).only(evaluation="zsc")
    assert rows["learned_solo_steps"][0] == (250 + 450) / 2
    assert rows["learned_solo_steps"][3] == 450


def test_games_of_another_environment_are_not_compared():
    rows = rows_of(join_rows([pair("a-0/agent", "bdp", 0, HOLDOUTS[0]), lone(environment="other")]))
    assert (rows.only(evaluation="zsc")["learned_solo_steps"] == -1).all()


def test_reports_show_both_gains_where_both_are_known():
    team = [pair(f"bdp-{s}/agent", "bdp", s, who, family="paper_scripts") for s in range(2) for who in HOLDOUTS[:3]]
    without, with_it = rows_of(join_rows(team)), rows_of(join_rows([*team, lone()]))
    sources = [[row[2] for row in gain_table(rows).texts()] for rows in (without, with_it)]
    assert not any("learned solo agent" in source for source in sources[0])
    assert any("learned solo agent" in source for source in sources[1])
    texts = [family_table(rows, resamples=10).texts() for rows in (without, with_it)]
    assert [row[3] for row in texts[1]] == ["paper_scripts"]
    assert texts[0][0][-1] == "-"
    assert texts[1][0][-1] != "-" != texts[1][0][-2]


def test_a_run_of_one_robot_is_evaluated_alone_shipped_and_no_probe(tmp_path, monkeypatch, capsys):
    run = tmp_path / "solo"
    asked = ["train", "--method", "solo", "--preset", "smoke", "--decisions", "300", "--out", str(run), "--quiet"]
    assert main(asked) == 0
    assert main(["evaluate", str(run), "--split", "dev", "--episodes", "2"]) == 0
    assert "alone in the home, from the start of each robot" in capsys.readouterr().out
    rows = rows_of(read_rows(run / "evaluation" / "episodes-dev.parquet"))
    assert len(rows) == 4
    assert rows.distinct("method") == ["solo"]
    assert rows.distinct("trained_in") == ["dev"]
    monkeypatch.setattr("housemates.agents.agent.SHIPPED", tmp_path / "package")
    assert main(["partners", "ship", str(run)]) == 0
    (agent,) = resolve("pretrained/solo-tidy_house")
    assert plays_alone(agent)
    assert agent.meta["alone"] == rows["success"].mean()
    assert probe_of("tidy_house").name == "script/solo"
    assert (
        main(["evaluate", "--agents", agent.name, "--split", "dev", "--episodes", "2", "--out", str(tmp_path / "x.parquet")])
        == 0
    )
    assert len(read_rows(tmp_path / "x.parquet")) == 4


def test_who_was_trained_with_others_does_not_count_as_lone(tmp_path):
    save_policy(tmp_path, Policy(PolicyConfig.state(hidden=8, features=8)), {})
    assert not plays_alone(learned(tmp_path, "x"))
    assert not plays_alone(Agent("random", "random"))
