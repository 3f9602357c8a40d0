"""Which games a report films, and that a film shows the game of its row or none at all."""

import pytest

from helpers.batches import episodes, home
from helpers.evaluations import EPISODES, HOLDOUTS, pair
from housemates.agents.agent import scripted
from housemates.evaluation.metrics import rows_of
from housemates.evaluation.rows import join_rows
from housemates.homes import splits
from housemates.reports import films
from housemates.reports.films import choose, players
from housemates.tasks import episodes as tasks

KNOWN = {"bdp-0/agent", "sp-0/agent", *(name for name, *_ in HOLDOUTS)}
ALL, NONE = [True] * EPISODES, [False] * EPISODES
ENDS = ("success", "collision", "timeout")


def games(agent, method, *results):
    """Rows of an agent with the first holdouts: success, collision or time-out with each of them."""
    return [
        pair(agent, method, 0, holdout, steps=range(100, 100 + EPISODES), **{k: ALL if k == end else NONE for k in ENDS})
        for holdout, end in zip(HOLDOUTS, results, strict=False)
    ]


def test_a_success_a_collision_and_the_hardest_partner_are_shown():
    rows = rows_of(join_rows(games("bdp-0/agent", "bdp", "success", "collision", "timeout")))
    found = {choice.name: choice for choice in choose(rows, KNOWN)}
    assert [found[k].outcome for k in ("success", "collision")] == ["success", "collision"]
    assert found["success"].partner == HOLDOUTS[0][0]
    assert found["hard_partner"].outcome != "success"
    assert "0 % success" in found["hard_partner"].title


def test_the_game_of_middle_length_is_taken():
    rows = rows_of(join_rows(games("bdp-0/agent", "bdp", "success")))
    assert choose(rows, KNOWN)[0].steps == 100 + EPISODES // 2


def test_behavior_diversity_play_is_shown_if_it_is_there():
    rows = rows_of(join_rows([*games("sp-0/agent", "sp", "success"), *games("bdp-0/agent", "bdp", "success")]))
    assert {choice.agent for choice in choose(rows, KNOWN)} == {"bdp-0/agent"}


def test_what_nobody_plays_again_is_not_filmed():
    rows = rows_of(join_rows(games("gone/agent", "bdp", "success")))
    assert choose(rows, KNOWN) == []


def test_scripts_and_chance_are_always_known():
    assert {"script/noop", "script/solo", "random"} <= players([]).keys()


def test_a_game_that_ends_otherwise_than_its_row_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(splits, "load_split", lambda split: [home()])
    monkeypatch.setattr(tasks, "load_episodes", lambda task, split, homes: episodes())
    known = {f"script/{name}": scripted(name) for name in ("solo", "noop")}
    choice = films.Choice("success", "A success", "tidy_house", "eval", "script/solo", "script/noop", 0, 0, False, "success", 5)
    with pytest.raises(ValueError, match="cannot be filmed: played again it ends with"):
        films.make_film(choice, known, None, tmp_path / "film.mp4")
    assert not (tmp_path / "film.mp4").exists()
