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
from housemates.sim.skills import BLOCKED, cell_at, choose_destination, may_start, path_length, way_is_free
from housemates.tasks.actions import MOVE_FORWARD, NO_OP, OBJECTS, PICK

SHORT = 0.5
"""Metres: work that is nearer is reached, and no reason to drive."""
STUCK = 0.5
"""Metres: a robot that is nearer to where it was WINDOW - 1 steps ago gets nowhere."""
GOAL = len(OBJECTS)
"""Navigations below lead to the objects, from here on to their goals, then to furniture."""


@njit(cache=True, nogil=True)
def is_carried(s, r, entity):
    """Whether an entity is an object that another robot than r holds."""
    for p in range(s.robots):
        if p != r and s.held[p] == entity:
            return True
    return False


@njit(cache=True, nogil=True)
def wished(world, s, r, logits):
    """The navigation to its next piece of work that robot r's policy likes best: to the goal of the object that it holds; else
    to an object that nobody carries, or to furniture that the task opens."""
    if s.held[r] >= 0:
        return GOAL + int(s.held[r])
    best = -1
    for entity in range(PICK):
        is_work = not GOAL <= entity < 2 * GOAL and prior(world, entity) == 1.0 and not is_carried(s, r, entity)
        if is_work and (best < 0 or logits[entity] > logits[best]):
            best = entity
    return best if best >= 0 else int(np.argmax(logits[:GOAL]))


@njit(cache=True, nogil=True)
def goal_of(world, s, r, ahead, logits, wanted):
    """The navigation that an evasion leads to in the end: work; the chosen navigation where detours are left alone."""
    return int(wanted) if ahead.detour == 0 and wanted < PICK else wished(world, s, r, logits)


@njit(cache=True, nogil=True)
def way_to(world, s, r, entity):
    """Metres that robot r drives to an entity along the shortest path; 0 if there is none."""
    cell = cell_at(world, s.home, s.pose[r, 0], s.pose[r, 1])
    a = choose_destination(world, s, cell, entity) if cell != BLOCKED else -1
    return path_length(world, s.home, cell, a) if a >= 0 else 0.0


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
        if logits.max() - logits[goal] < ahead.detour and way_to(world, s, r, goal) >= SHORT:
            return goal
    return wanted


@njit(cache=True, nogil=True)
def works(world, s, r, action):
    """Whether a decision is a pick, place or open that robot r can carry out now."""
    return PICK <= action < NO_OP and may_start(world, s, r, action)


@njit(cache=True, nogil=True)
def is_idle(world, s, rules, r, action):
    """Whether a decision leaves robot r where it is: turning, standing, driving against an obstacle, an infeasible skill."""
    if action < PICK or works(world, s, r, action):
        return False
    x, z, yaw = s.pose[r, 0], s.pose[r, 1], s.pose[r, 2]
    ahead = x + rules.forward * np.cos(yaw), z - rules.forward * np.sin(yaw)
    return action != MOVE_FORWARD or not way_is_free(world, s.home, x, z, ahead[0], ahead[1])


@njit(cache=True, nogil=True)
def eagerness(world, s, rules, r, ahead, wanted):
    """Nats by which robot r's policy may like its work less than waiting, if `wanted` leaves the robot where it is; else 0."""
    if ahead.haste == 0 or not is_idle(world, s, rules, r, wanted):
        return 0.0
    return ahead.haste + ahead.patience * standing(s, r)
