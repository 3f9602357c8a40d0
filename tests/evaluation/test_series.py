"""Repeated interaction: which games are played, who remembers what, and how places of a series are compared."""

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.learners import TINY
from housemates.agents.agent import scripted
from housemates.evaluation.crossplay import Pair
from housemates.evaluation.metrics import rows_of
from housemates.evaluation.play import as_teams, play
from housemates.evaluation.rows import make_rows, read_rows, write_rows
from housemates.evaluation.series import Series, by_place, play_series, rotations
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules

RULES = Rules(horizon=60)


def series(teams, games, keeps=True, count=4):
    return Series(episodes(), [home()], as_teams(teams), RULES, 0, np.arange(count), games, keeps)


def test_every_episode_is_played_once_at_every_place():
    order = rotations(np.arange(6), 3)
    assert order.shape == (6, 3)
    assert all(sorted(order[:, place]) == list(range(6)) for place in range(3))


def test_episodes_that_do_not_fill_series_are_refused():
    with pytest.raises(ValueError, match="multiple"):
        rotations(np.arange(5), 3)


def test_without_memory_a_game_is_the_same_at_every_place():
    found = series([[Policy(TINY, seed=1), Policy(TINY, seed=2)]], 2, keeps=False).play(None)
    for episode in range(4):
        mine = found.episode == episode
        assert mine.sum() == 2
        for values in (found.outcome, found.steps, found.total, found.decisions[:, 0]):
            assert len(set(values[mine].tolist())) == 1


def test_the_agent_remembers_within_a_series_and_nobody_else_does():
    agent, partner = Policy(TINY, seed=1), Policy(TINY, seed=2)
    games = series([[agent, partner]], 2)
    kept, seen = [], games.actors._gather

    def gather(number, rows, greedy):
        decisions, calls = seen(number, rows, greedy)
        first = games.batch.state.clock[rows // 2] == 0
        job = games.job[rows // 2]
        mine = games.robot[job, 0] == rows % 2
        known = (decisions.memory.abs().sum(1) > 0).numpy()
        kept.extend(zip(games.number[job[first]].tolist(), mine[first].tolist(), known[first].tolist(), strict=True))
        return decisions, calls

    games.actors._gather = gather
    games.play(None)
    assert {remembers for place, mine, remembers in kept if mine and place == 1} == {True}
    assert {remembers for place, mine, remembers in kept if not mine or place == 0} == {False}


def test_first_games_are_those_of_an_agent_that_forgets():
    teams = [[Policy(TINY, seed=1), "noop"]]
    one, two = series(teams, 2).play(None), series(teams, 2, keeps=False).play(None)
    first = series(teams, 2).number == 0
    assert (one.steps[first] == two.steps[first]).all()


def test_a_series_of_one_game_is_the_usual_evaluation_of_the_same_robots():
    teams = [[Policy(TINY, seed=1), "noop"]]
    one = series(teams, 1).play(None)
    usual = play(episodes(), [home()], teams, RULES, which=np.arange(4))
    same = (one.robot == usual.robot).all(axis=1)
    assert same.any()
    assert (one.steps[same] == usual.steps[same]).all()


def test_more_series_than_places_in_the_batch_are_all_played():
    teams = [["solo", "noop"]] * 200
    found = Series(episodes(), [home()], as_teams(teams), RULES, 0, np.arange(4), 2, True).play(None)
    assert len(found.steps) == 200 * 8
    assert (found.steps > 0).all()


def test_rows_tell_the_number_of_the_game_and_survive_a_file(tmp_path):
    pairs = [Pair(scripted("solo"), (scripted("noop"),))]
    rows = play_series(pairs, episodes(), [home()], RULES, games=2, count=4)
    write_rows(tmp_path / "series.parquet", rows)
    found = rows_of(read_rows(tmp_path / "series.parquet"))
    assert found["game"].tolist() == [0, 1] * 4
    assert set(found["evaluation"].tolist()) == {"series"}
    assert found["keeps_memory"].all()


def test_places_are_compared_by_episode_and_partner():
    pairs = [Pair(scripted("solo"), (scripted("noop"),))]
    rows = play_series(pairs, episodes(), [home()], RULES, games=2, count=4)
    columns = rows.to_pydict()
    columns["success"] = [game == 1 or episode < 2 for game, episode in zip(columns["game"], columns["episode"], strict=True)]
    first, second = by_place(rows_of(make_rows(columns)))
    assert (first.success, second.success) == (0.5, 1.0)
    assert (first.gain, second.gain) == (0.0, 0.5)
    assert second.low < 0.5 < second.high
    assert second.games == 4
