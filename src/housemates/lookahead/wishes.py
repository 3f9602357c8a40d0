"""What a policy would like to do, read from its logits: its next piece of work, and decisions that only lose time.

Policies learn without a look-ahead to drive off to some far furniture, or to wait, when a partner comes near. A robot that
looks ahead sees for itself what is safe, so such decisions give way to the work that the policy likes best.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.lookahead.predict import prior, standing
from housemates.sim.rules import WINDOW
from housemates.sim.sensor_kernels import place_before
from housemates.sim.skills import may_start
from housemates.tasks.actions import MOVE_FORWARD, NO_OP, PICK

OBJECTS = 2
"""Navigations 0 and 1 lead to the objects, 2 and 3 to their goals, the others to furniture."""
STUCK = 0.5
"""Metres: a robot that is nearer to where it was WINDOW - 1 steps ago gets nowhere."""
STOOD = 2
"""Steps without moving after which a robot that drives ahead counts as blocked."""


@njit(cache=True, nogil=True)
def wished(world, s, r, logits):
    """The navigation to its next piece of work that robot r's policy likes best: to the goal of the object that it holds; else
    to an object, or to furniture that the task opens."""
    if s.held[r] >= 0:
        return OBJECTS + int(s.held[r])
    best = 0
    for entity in range(1, PICK):
        is_goal = OBJECTS <= entity < 2 * OBJECTS
        if not is_goal and prior(world, entity) == 1.0 and logits[entity] > logits[best]:
            best = entity
    return best


@njit(cache=True, nogil=True)
def is_stuck(s, r):
    """Whether robot r is about where it was WINDOW - 1 steps ago."""
    if s.clock < WINDOW - 1:
        return False
    x, z = place_before(s, r, WINDOW - 1)
    return (s.pose[r, 0] - x) ** 2 + (s.pose[r, 1] - z) ** 2 < STUCK * STUCK


@njit(cache=True, nogil=True)
def intended(world, s, r, ahead, logits, wanted):
    """The decision `wanted` of robot r, or what its policy means by it: the likeliest decision instead of an unlikely one, and
    its work instead of furniture that has nothing to do with the task. Where that leads nowhere the policy has its way."""
    if is_stuck(s, r):
        return wanted
    if ahead.min_p > 0 and logits[wanted] < logits.max() + np.log(ahead.min_p):
        wanted = int(np.argmax(logits))
    if wanted < PICK and prior(world, wanted) < 1.0:
        goal = wished(world, s, r, logits)
        if logits.max() - logits[goal] < ahead.detour:
            return goal
    return wanted


@njit(cache=True, nogil=True)
def works(world, s, r, action):
    """Whether a decision is a pick, place or open that robot r can carry out now."""
    return PICK <= action < NO_OP and may_start(world, s, r, action)


@njit(cache=True, nogil=True)
def eagerness(world, s, r, ahead, wanted):
    """Nats by which robot r's policy may like its work less than waiting, if `wanted` leaves the robot where it is; else 0."""
    if ahead.haste == 0 or wanted < PICK or works(world, s, r, wanted):
        return 0.0
    stood = standing(s, r)
    if wanted == MOVE_FORWARD and stood < STOOD:
        return 0.0
    return ahead.haste + ahead.patience * stood
