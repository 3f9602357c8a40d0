"""Prioritised partners of stage 2: who is drawn more often, and what is logged."""

import numpy as np
import pytest

from helpers.learners import TINY
from housemates.agents.agent import learned
from housemates.methods.ego import Coordination
from housemates.policies.checkpoint import save_policy
from housemates.policies.policy import Policy
from housemates.runs.train import new_run
from housemates.sim.state import COLLISION_END, SUCCESS
from housemates.training.rollout import NOBODY


@pytest.fixture
def partners(tmp_path):
    for k in range(4):
        save_policy(tmp_path / str(k), Policy(TINY, seed=k), {})
    return [learned(tmp_path / str(k), f"run/{k}") for k in range(4)]


def played(method: Coordination, rates: list[float], games: int = 100) -> dict[str, float]:
    """As many games with each partner, of which such shares succeed."""
    number = np.repeat(np.arange(len(rates)), games)
    won = np.concatenate([np.arange(games) < rate * games for rate in rates])
    finished = {
        "partner": np.stack([np.full_like(number, NOBODY), number], 1),
        "outcome": np.where(won, SUCCESS, COLLISION_END),
    }
    return method.after_update([], finished)


def test_partners_are_drawn_the_more_often_the_less_the_agent_succeeds_with_them(partners):
    method = Coordination(TINY, 2, 0, partners, prioritised=True)
    rates = [1.0, 0.7, 0.4, 0.1]
    for _ in range(30):
        told = played(method, rates)
    assert told == pytest.approx({f"success {k}": rate for k, rate in enumerate(rates)}, abs=0.01)
    slots = method.pairs(0, np.random.default_rng(0), 20_000, 2)
    share = np.bincount(slots.partner[slots.partner != NOBODY], minlength=4) / 20_000
    failure = 1 - np.array(rates)
    assert share == pytest.approx(failure / failure.sum(), abs=0.01)
    assert (slots.partner[slots.learns] == NOBODY).all()
    assert (slots.player[~slots.learns] == slots.partner[~slots.learns] + 1).all()


def test_before_the_first_game_all_are_drawn_alike(partners):
    assert Coordination(TINY, 2, 0, partners, prioritised=True).weights().tolist() == [0.25] * 4


def test_old_games_are_forgotten_by_half_from_one_draw_to_the_next(partners):
    method = Coordination(TINY, 2, 0, partners, redraw=5, prioritised=True)
    played(method, [1.0, 1.0, 1.0, 1.0])
    before = method.games.copy()
    for _ in range(5):
        method.after_update([], {"partner": np.zeros(0), "outcome": np.zeros(0)})
    assert method.games == pytest.approx(before / 2)


def test_partners_of_several_runs_are_told_apart_in_the_log(partners, tmp_path):
    more = [learned(tmp_path / str(k), f"other/{k}") for k in range(2)]
    method = Coordination(TINY, 2, 0, [*partners, *more], prioritised=True)
    assert set(played(method, [0.5] * 6)) == {
        f"success {name}" for name in ("run/0", "run/1", "run/2", "run/3", "other/0", "other/1")
    }


def test_without_the_option_nothing_is_counted_and_the_draws_are_the_usual_ones(partners):
    plain, rng = Coordination(TINY, 2, 0, partners), np.random.default_rng(3)
    expected = np.random.default_rng(3).integers(4, size=(50, 2))
    slots = plain.pairs(0, rng, 50, 2)
    assert (slots.partner[~slots.learns] == expected[~slots.learns]).all()
    assert played(plain, [1.0, 0.0, 0.0, 0.0]) == {}
    assert plain.state() == {}


def test_it_is_an_option_of_every_population():
    run = new_run({"preset": "state", "method": "bdp"}, ("prioritised=true",), "cpu")
    assert run.training.prioritised
    assert not new_run({"preset": "state", "method": "bdp"}, (), "cpu").training.prioritised
