"""UPD: how partners are drawn, judged and drawn again, what they do, and when the copy follows the agent."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.batches import make
from helpers.learners import TINY
from housemates.methods.upd import COPY, UPD, Thetas, UPDSettings
from housemates.sim.state import SUCCESS, TIMEOUT
from housemates.tasks.actions import ACTIONS, NO_OP
from housemates.training.disturbances import BLIND, FREEZE, KINDS, NOISE, SLOW, UNDISTURBED, Disturbances
from housemates.training.rollout import NOBODY

HOMES = 64
FEW = UPDSettings(buffer=16, window=4, redraw=2)


def games(method: UPD, slots, win) -> dict[str, np.ndarray]:
    """Four games in every home; win(number, game) says which partners the agent succeeds with."""
    numbers = np.tile(slots.partner, (4, 1))
    game = np.repeat(np.arange(4), len(slots.partner))
    won = [win(row.max(), k) for row, k in zip(numbers, game, strict=True)]
    return {"partner": numbers, "outcome": np.where(won, SUCCESS, TIMEOUT)}


def test_learnability_is_the_variance_of_success_over_the_last_games():
    thetas = Thetas(window=4)
    thetas.add(4, 10, FEW, np.random.default_rng(0))
    for number, results in {10: [1], 11: [1, 0], 12: [0, 0, 0, 0, 1, 1, 0], 13: [1, 1, 1, 1]}.items():
        for success in results:
            thetas.played(number, bool(success))
    thetas.played(99, True)
    # One game alone says nothing; of seven the last four count: 0, 1, 1, 0.
    assert thetas.learnability().tolist() == [-1.0, 0.25, 0.25, 0.0]
    assert thetas.number[thetas.best()].tolist() == [12, 11, 13]


def test_numbers_are_found_after_others_are_forgotten():
    thetas = Thetas(window=4)
    assert thetas.find(np.array([0, NOBODY])).tolist() == [NOBODY, NOBODY]
    thetas.add(5, 0, FEW, np.random.default_rng(0))
    eps = thetas.eps.copy()
    thetas.keep(np.array([1, 4]))
    assert thetas.find(np.array([0, 1, 4, 7, NOBODY])).tolist() == [NOBODY, 0, 1, NOBODY, NOBODY]
    assert (thetas.eps == eps[[1, 4]]).all()


def test_new_partners_are_of_all_kinds_and_the_undisturbed_make_no_random_decisions():
    thetas = Thetas(window=4)
    thetas.add(2000, 0, UPDSettings(most=0.6), np.random.default_rng(0))
    assert np.bincount(thetas.kind, minlength=len(KINDS)) / 2000 == pytest.approx(np.full(len(KINDS), 0.2), abs=0.03)
    assert (thetas.eps[thetas.kind == UNDISTURBED] == 0).all()
    rest = thetas.eps[thetas.kind != UNDISTURBED]
    assert (rest.min(), rest.mean(), rest.max()) == pytest.approx((0.0, 0.3, 0.6), abs=0.02)
    assert thetas.bias.sum(axis=1) == pytest.approx(np.ones(2000))
    assert 0.4 < thetas.bias.max(axis=1).mean() < 0.8


def test_half_of_the_partners_are_the_best_of_the_buffer_and_half_are_new():
    method, rng = UPD(TINY, settings=FEW), np.random.default_rng(0)
    first = method.pairs(0, rng, HOMES, 2)
    assert sorted(first.partner[~first.learns].tolist()) == list(range(HOMES))
    assert (first.partner[first.learns] == NOBODY).all()
    assert (first.player[~first.learns] == COPY).all()
    # The agent succeeds with some of them in every second game, with the others never.
    hard = set(range(5, HOMES, 2))
    told = method.after_update([], games(method, first, lambda number, k: number in hard and k % 2 == 0))
    assert told["judged"] == 16
    assert told["learnability"] == pytest.approx(0.25)
    method.after_update([], {"partner": np.zeros(0), "outcome": np.zeros(0)})
    assert method.pairs(1, rng, HOMES, 2) is None
    second = method.pairs(2, rng, HOMES, 2)
    numbers = second.partner[~second.learns]
    again, new = numbers[numbers < HOMES], numbers[numbers >= HOMES]
    # The buffer has room for 16, the newest of equal ones.
    assert sorted(again.tolist()) == sorted(hard)[-16:]
    assert sorted(new.tolist()) == list(range(HOMES, HOMES + len(new)))
    assert len(set(numbers.tolist())) == HOMES


def test_as_many_are_new_as_the_settings_say():
    method, rng = UPD(TINY, settings=replace(FEW, buffer=1000, fresh=0.75)), np.random.default_rng(0)
    first = method.pairs(0, rng, HOMES, 2)
    method.after_update([], games(method, first, lambda number, k: k % 2 == 0))
    second = method.pairs(2, rng, HOMES, 2)
    assert (second.partner[~second.learns] < HOMES).sum() == HOMES // 4


def test_the_copy_follows_the_agent_only_where_partners_are_drawn():
    method = UPD(TINY, settings=FEW)
    agent, copy = method.policies
    nothing = {"partner": np.zeros(0), "outcome": np.zeros(0)}
    with torch.no_grad():
        agent.actor.bias += 1.0
    method.after_update([], nothing)
    assert (copy.actor.bias != agent.actor.bias).all()
    method.after_update([], nothing)
    assert all((a == b).all() for a, b in zip(agent.parameters(), copy.parameters(), strict=True))
    assert not any(p.requires_grad for p in copy.parameters())
    assert method.trains == [True, False]


def test_partners_do_what_their_theta_says():
    method, batch = UPD(TINY, settings=FEW), make(size=HOMES)
    slots = method.pairs(0, np.random.default_rng(0), HOMES, 2)
    thetas = method.thetas
    # Everybody's random decisions are one action each: the partner's number modulo the actions.
    thetas.bias[:] = np.eye(len(ACTIONS))[np.arange(HOMES) % len(ACTIONS)]
    made = method.disturber(batch, Disturbances(), [0])
    partners, everywhere = ~slots.learns, np.ones(HOMES, bool)
    made.begin(everywhere, partners, slots.partner)
    assert (made.kind[slots.learns] == UNDISTURBED).all()
    assert (made.kind[partners] == thetas.kind[slots.partner[partners]]).all()
    assert (~batch.state.interruptible == (made.kind == BLIND)).all()
    assert (made.at[made.kind == FREEZE] >= Disturbances().earliest).all()
    own, rows = np.full(2 * HOMES, NO_OP - 1, np.int8), np.arange(2 * HOMES)
    carried = np.stack([made.disturb(own, rows) for _ in range(400)]).reshape(400, HOMES, 2)
    assert (carried[:, slots.learns] == NO_OP - 1).all()
    for home, robot in np.argwhere(partners):
        number = slots.partner[home, robot]
        biased, eps, kind = number % len(ACTIONS), thetas.eps[number], thetas.kind[number]
        mine = carried[:, home, robot]
        assert set(mine.tolist()) <= {NO_OP - 1, biased, *([NO_OP] if kind == SLOW else [])}
        waiting = (mine == NO_OP).mean() if kind == SLOW and biased != NO_OP else 0.0
        assert waiting == pytest.approx(0.8 if kind == SLOW and biased != NO_OP else 0.0, abs=0.1)
        if kind in (UNDISTURBED, NOISE) and biased not in (NO_OP - 1,):
            assert (mine == biased).mean() == pytest.approx(eps, abs=0.1)


def test_who_plays_on_with_a_forgotten_theta_stays_as_it_was():
    method, batch = UPD(TINY, settings=FEW), make(size=HOMES)
    slots = method.pairs(0, np.random.default_rng(0), HOMES, 2)
    made = method.disturber(batch, Disturbances(), [0])
    made.begin(np.ones(HOMES, bool), ~slots.learns, slots.partner)
    kind, rate = made.kind.copy(), made.rate.copy()
    method.thetas.keep(np.arange(3))
    made.begin(np.arange(HOMES) < 32, ~slots.learns, slots.partner)
    assert (made.kind == kind).all()
    assert (made.rate == rate).all()


@pytest.mark.parametrize(
    "wrong", [{"buffer": 0}, {"window": 0}, {"fresh": 0.0}, {"redraw": 0}, {"most": 1.0}, {"concentration": 0.0}], ids=str
)
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        UPDSettings(**wrong)
