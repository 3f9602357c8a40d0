"""Numbers from rows, on rows small enough to count on one's fingers."""

import numpy as np
import pytest

from helpers.evaluations import EPISODES, HOLDOUTS, grid, pair, run_rows
from housemates.evaluation.metrics import (
    Rows,
    agent_runs,
    best_responses,
    by_partner,
    efficiency_gain,
    learned,
    mean_over_partners,
    per_run,
    proximity,
    rows_of,
    scripted,
    subgoal_shares,
    success_matrix,
    worst_partners,
)
from housemates.evaluation.rows import join_rows, no_rows

ALL = [True] * EPISODES
NONE = [False] * EPISODES
HALF = [True, False] * (EPISODES // 2)


def played(*results: tuple[str, list[bool]], agent: str = "sp-0/agent", **same) -> Rows:
    """Rows of one agent with partners (name, successes)."""
    return rows_of(join_rows(pair(agent, "sp", 0, (name, "learned", name), success=won, **same) for name, won in results))


def test_words_come_back_as_they_went_in():
    rows = rows_of(run_rows("bdp", 3))
    assert rows.distinct("method") == ["bdp", "solo"]
    assert rows.only(partner="script/first_half", evaluation="zsc")["partner"].tolist() == ["script/first_half"] * EPISODES


def test_a_name_that_only_begins_alike_is_not_taken():
    rows = played(("ab", ALL), ("abc", NONE))
    assert len(rows.only(partner="abc")) == len(rows.only(partner="ab")) == EPISODES
    assert len(rows.only(partner="a")) == 0


def test_several_values_and_none_may_be_asked_for():
    rows = played(("a", ALL), ("b", NONE), ("c", NONE))
    assert len(rows.only(partner=("a", "c"))) == 2 * EPISODES
    assert len(rows.only(partner=())) == 0


def test_an_empty_table_has_no_rows_and_no_numbers():
    rows = rows_of(no_rows())
    assert len(rows) == 0
    assert np.isnan(mean_over_partners(rows))
    assert np.isnan(worst_partners(rows))


def test_members_are_sorted_as_people_count():
    rows = played(*((f"run/{k}", ALL) for k in (10, 2, 1)))
    assert rows.distinct("partner") == ["run/1", "run/2", "run/10"]


def test_every_partner_counts_the_same_however_often_it_played():
    often = join_rows(pair("sp-0/agent", "sp", 0, ("a", "learned", "a"), success=ALL) for _ in range(3))
    rows = rows_of(join_rows([often, pair("sp-0/agent", "sp", 0, ("b", "learned", "b"), success=NONE)]))
    assert mean_over_partners(rows) == 0.5


@pytest.mark.parametrize("ahead", ["", " + look-ahead", " + look-ahead (velocity)"])
def test_an_agent_is_of_its_run_whether_it_is_named_by_the_run_or_by_its_folder(ahead):
    rows = rows_of(join_rows(pair(f"{name}{ahead}", "bdp", 0, HOLDOUTS[0]) for name in ("bdp-0/agent", "bdp-0")))
    assert agent_runs(rows) == [f"bdp-0{ahead}"]


def test_members_of_one_run_are_one_sample():
    rows = rows_of(join_rows(pair(f"gt_coord-5/{k}", "gt_coord", 5, HOLDOUTS[0]) for k in range(2)))
    assert agent_runs(rows) == ["gt_coord-5"]
    assert len(per_run(rows, mean_over_partners)) == 1


def test_runs_are_in_the_order_of_their_seeds():
    rows = rows_of(join_rows(pair(f"{name}/agent", "sp", seed, HOLDOUTS[0]) for name, seed in (("a", 9), ("b", 1), ("c", 10))))
    assert agent_runs(rows) == ["b", "a", "c"]


def test_holdouts_are_told_apart_by_type():
    rows = grid(("sp",), 1).only(evaluation="zsc")
    assert len(by_partner(scripted(rows))) == 3
    assert len(by_partner(learned(rows))) == 8


def test_the_gain_of_a_team_twice_as_fast_is_one():
    rows = played(("a", ALL), steps=[200] * EPISODES, solo_steps=[400] * EPISODES)
    assert [efficiency_gain(rows, kind) for kind in ("success", "failures", "actual")] == [1.0, 1.0, 1.0]


def test_the_three_gains_treat_a_crash_differently():
    rows = played(("a", HALF), steps=[200, 100] * (EPISODES // 2), solo_steps=[400] * EPISODES)
    assert efficiency_gain(rows, "success") == pytest.approx(400 / 200 - 1)
    assert efficiency_gain(rows, "failures") == pytest.approx(400 / ((200 + 750) / 2) - 1)
    assert efficiency_gain(rows, "actual") == pytest.approx(400 / 150 - 1)


def test_episodes_in_which_the_solo_robot_fails_are_not_compared():
    rows = played(("a", ALL), steps=[200] * EPISODES, solo_steps=[400, -1] * (EPISODES // 2))
    assert efficiency_gain(rows, "success") == 1.0
    assert efficiency_gain(rows, "failures") == pytest.approx((400 + 750) / 2 / 200 - 1)


def test_without_a_solo_robot_or_without_success_there_is_no_gain():
    assert np.isnan(efficiency_gain(played(("a", ALL), solo_steps=[-1] * EPISODES)))
    assert np.isnan(efficiency_gain(played(("a", NONE), solo_steps=[400] * EPISODES)))


def test_an_unknown_kind_of_gain_is_refused():
    with pytest.raises(ValueError, match="choose one of"):
        efficiency_gain(played(("a", ALL)), "best")


def test_only_what_the_agent_itself_did_counts_in_the_heat_map():
    rows = played(("a", ALL), ("b", ALL), subgoals=[[1, 2, 0, 1]] * (EPISODES // 2) + [[1, 1, 0, 0]] * (EPISODES // 2))
    partners, shares = subgoal_shares(rows)
    assert partners == ["a", "b"]
    assert shares.tolist() == [[1.0, 1.0], [0.5, 0.5], [0.0, 0.0], [0.5, 0.5]]


def test_the_heat_map_has_a_row_for_each_subgoal_of_the_task():
    assert subgoal_shares(rows_of(run_rows("sp", 0, "set_table")))[1].shape[0] == 6


def test_pairs_that_did_not_play_are_unknown_in_the_matrix():
    parts = [pair("x/agent", "sp", 0, ("a", "learned", "a"), success=ALL)]
    parts += [pair("y/agent", "sp", 1, ("b", "learned", "b"), success=HALF)]
    agents, partners, matrix = success_matrix(rows_of(join_rows(parts)))
    assert (agents, partners) == (["x/agent", "y/agent"], ["a", "b"])
    assert matrix[0, 0] == 1.0
    assert matrix[1, 1] == 0.5
    assert np.isnan(matrix[0, 1])


def test_the_worst_fifth_of_eleven_partners_are_three():
    wins = {f"p{k}": [True] * min(k, EPISODES) + [False] * max(EPISODES - k, 0) for k in range(11)}
    assert worst_partners(played(*wins.items())) == pytest.approx((0 + 1 + 2) / 3 / EPISODES)


def test_the_worst_fifth_of_ten_partners_are_two():
    wins = {f"p{k}": [True] * min(k, EPISODES) + [False] * max(EPISODES - k, 0) for k in range(10)}
    assert worst_partners(played(*wins.items())) == pytest.approx((0 + 1) / 2 / EPISODES)


def test_team_mates_and_trained_best_responses_are_best_responses():
    parts = [pair("gt-1/0", "gt_coord", 1, ("gt-1/1", "learned", "gt-1"), "crossplay", success=HALF)]
    parts += [pair("br-9/agent", "best_response", 9, ("gt-1/1", "learned", "gt-1"), "best_response", success=ALL)]
    parts += [pair("sp-0/agent", "sp", 0, ("gt-1/0", "learned", "gt-1"), success=ALL)]
    assert best_responses(rows_of(join_rows(parts))) == {("gt-1", "1"): 1.0}


def test_a_partner_that_was_copied_into_the_package_keeps_its_best_response():
    rows = rows_of(pair("sp-0/agent", "sp", 0, ("tidy_house/holdouts/gt-1-1", "learned", "gt-1"), success=HALF))
    assert proximity(rows, {("gt-1", "1"): 1.0}).value == 0.5


def test_members_of_a_team_in_the_package_are_one_run_and_each_others_best_response():
    place = "tidy_house/holdouts/gt_coord-state-100"
    mates = [("0", "1", ALL), ("1", "0", HALF)]
    parts = [
        pair(f"{place}-{a}", "gt_coord", 100, (f"{place}-{p}", "learned", "gt_coord-state-100"), "crossplay", success=won)
        for a, p, won in mates
    ]
    rows = rows_of(join_rows(parts))
    assert rows.distinct("agent_run") == ["gt_coord-state-100"]
    assert best_responses(rows) == {("gt_coord-state-100", "1"): 1.0, ("gt_coord-state-100", "0"): 0.5}


def test_seeds_of_an_agent_in_the_package_stay_apart():
    names = [f"tidy_house/examples/bdp-tidy_house-state-{seed}" for seed in range(2)]
    rows = rows_of(join_rows([pair(name, "bdp", seed, HOLDOUTS[0]) for seed, name in enumerate(names)]))
    assert rows.distinct("agent_run") == names


def test_proximity_is_capped_and_leaves_out_what_has_no_bound():
    rows = played(("a", HALF), ("b", ALL), ("c", ALL), ("d", ALL))
    found = proximity(rows, {("a", ""): 1.0, ("b", ""): 0.5, ("c", ""): 0.0})
    assert found.value == pytest.approx((0.5 + 1.0) / 2)
    assert (found.partners, found.left_out, found.exceeded) == (2, 2, 1)


def test_proximity_without_any_best_response_is_unknown():
    assert np.isnan(proximity(played(("a", ALL)), {}).value)
