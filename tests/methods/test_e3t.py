"""E3T: which decisions of partners are random, and that learners decide for themselves."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import make
from helpers.learners import TINY, player
from housemates.methods.e3t import E3T, E3TSettings, Mixture
from housemates.sim.rules import Rules
from housemates.tasks.actions import ACTIONS
from housemates.training.disturbances import FREEZE, NOISE, UNDISTURBED, Disturbances
from housemates.training.rollout import Collector

HOMES = 40


def mixture(eps: float, config: Disturbances | None = None) -> Mixture:
    """Who disturbs a batch in which the second robot of every home is a partner."""
    batch = make(size=HOMES)
    made = Mixture(batch, config or Disturbances(), [0], eps)
    made.progress = 1.0
    made.begin(np.ones(HOMES, bool), np.tile([False, True], (HOMES, 1)))
    return made


@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0])
def test_a_share_of_the_partners_decisions_is_random_and_none_of_the_learners(eps):
    made, rows = mixture(eps), np.arange(2 * HOMES)
    actions = np.full(2 * HOMES, 3, np.int8)
    carried = np.stack([made.disturb(actions, rows) for _ in range(200)]).reshape(200, HOMES, 2)
    assert (carried[:, :, 0] == 3).all()
    changed = (carried[:, :, 1] != 3).mean()
    assert changed == pytest.approx(eps * 24 / 25, abs=0.01)
    if eps == 1.0:
        shares = np.bincount(carried[:, :, 1].ravel(), minlength=len(ACTIONS)) / carried[:, :, 1].size
        assert shares == pytest.approx(np.full(25, 1 / 25), abs=0.01)


def test_partners_count_as_undisturbed_so_that_the_agents_work_is_measured_beside_them():
    assert (mixture(0.5).kind == UNDISTURBED).all()


def test_disturbances_that_are_asked_for_come_on_top():
    made = mixture(0.5, Disturbances(share=0.5, ramp=0.0, freeze=1, blind=0, noise=1))
    kind, rate = made.kind[:, 1], made.rate[:, 1]
    assert {UNDISTURBED, FREEZE, NOISE} == set(kind.tolist())
    assert (rate[kind != NOISE] == 0.5).all()
    assert (rate[kind == NOISE] != 0.5).all()


def test_the_partner_is_the_agent_itself_and_one_robot_of_each_home_learns():
    method = E3T(TINY, settings=E3TSettings(redraw=3))
    slots = method.pairs(0, np.random.default_rng(0), 100, 2)
    assert (slots.player == 0).all()
    assert (slots.learns.sum(axis=1) == 1).all()
    assert 30 < slots.learns[:, 0].sum() < 70
    drawn = [method.pairs(update, np.random.default_rng(0), 4, 2) is not None for update in range(5)]
    assert drawn == [True, False, False, True, False]


def test_only_the_learning_robots_decisions_are_stored():
    batch = make(size=8, rules=Rules(horizon=60))
    method = E3T(TINY)
    slots = method.pairs(0, np.random.default_rng(0), 8, 2)
    learner = player(batch)
    collector = Collector(batch, [learner], slots, method.disturber(batch, Disturbances(), [0]))
    collector.collect(60)
    learning = slots.learns.reshape(-1)
    assert learner.store.size >= 60
    assert learning[learner.store.stream].all()


@pytest.mark.parametrize("wrong", [{"eps": -0.1}, {"eps": 1.1}, {"redraw": 0}])
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(E3TSettings(), **wrong)
