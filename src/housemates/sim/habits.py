"""Scripts that look at the world and choose what is useful next, each with a habit that makes it hard to work with.

They never look at other robots and never give way; only what lies where and who holds it counts. A habit's choice is a function
of the state alone, so that a recording can be continued. `State.plan_at` holds what little they remember: bit 0 the object they
prefer, the rest how often they have changed their mind.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.homes.floor import REACH_3D
from housemates.homes.home import OPENABLE, RECEPTACLES
from housemates.homes.objects import half_extents
from housemates.sim.rules import CARRY
from housemates.sim.skills import (
    BLOCKED,
    OPEN_ENOUGH,
    cell_at,
    choose_destination,
    draw_along,
    is_held,
    path_length,
    within_reach,
    wrap,
)
from housemates.sim.state import MUST_DECIDE, kernel
from housemates.tasks.actions import ENTITIES, GOALS, NO_OP, OBJECTS, OPEN, PICK, PLACE

FIRST = 5
"""Number of the first habit in `State.script`; smaller ones are rows of the plans."""
SLOW, STUBBORN, CHANGES_MIND, OPENS_NOTHING, OTHER_ORDER, BLOCKS, HANDS_OVER = range(FIRST, FIRST + 7)
PACE = 2
"""A slow robot moves in one of so many steps."""
DOUBTS = 20
"""Steps on the way to an object after which a robot may change its mind."""
CHANGES = 3
"""How often it does in an episode."""
STANDS = 250
"""Step until which a robot stands in the way of the first object's goal."""
THERE = 0.25
"""Metres of the way that is left at which a robot counts as there."""
RETREAT = ENTITIES.index("sofa")
"""Where a robot goes that would stand in the way after its work."""
GOAL = ENTITIES.index(GOALS[0])
BOX = len(OBJECTS) + len(GOALS) + len(RECEPTACLES) - len(OPENABLE)
"""The first of the entities that open, in the order of OPENABLE."""
WAIT, DONE = -2, -1
"""Answers of `work_on` beside an action: somebody else must act first; nothing is left to do."""
HALF_HEIGHT = half_extents().astype(np.float64)[:, 1].copy()
"""[10] of the objects by type, metres."""


@kernel
def lies_at(s, i, place):
    """Whether object i was last put down at exactly `place` [2, 3][i] and nobody holds it."""
    for k in range(3):
        if s.rest[i, k] != place[i, k]:
            return False
    return not is_held(s, i)


@kernel
def work_on(world, s, r, i, opens):
    """What robot r does next for object i: an action, WAIT or DONE. opens: whether it opens what is closed."""
    goal = world.episodes[s.episode].goal
    if s.held[r] == i:
        near = within_reach(s, r, goal[i, 0], goal[i, 1], goal[i, 2])
        return PLACE + i if near else GOAL + i
    if lies_at(s, i, goal):
        return DONE
    if is_held(s, i) or s.held[r] >= 0:
        return WAIT
    box = s.inside[i]
    if box >= 0 and s.door[box] <= OPEN_ENOUGH[box]:
        handle = world.homes[s.home].handle[box]
        near = within_reach(s, r, handle[0], handle[1], handle[2])
        if near:
            return OPEN + box if opens else WAIT
        return BOX + box
    near = within_reach(s, r, s.thing[i, 0], s.thing[i, 1], s.thing[i, 2])
    return PICK + i if near else i


@kernel
def way_left(world, s, r, entity):
    """Metres of the way from robot r to an entity."""
    cell = cell_at(world, s.home, s.pose[r, 0], s.pose[r, 1])
    if cell == BLOCKED:
        return np.inf
    a = choose_destination(world, s, cell, entity)
    return path_length(world, s.home, cell, a) if a >= 0 else 0.0


@kernel
def go_to(world, s, r, entity):
    """Drive to an entity, or stand still where the robot is there."""
    return entity if way_left(world, s, r, entity) > THERE else NO_OP


@kernel
def habitual(world, s, r):
    """The next action of robot r, which follows a habit. Changes nothing."""
    habit, start = s.script[r], world.episodes[s.episode].start
    if habit == BLOCKS and s.clock < STANDS:
        return go_to(world, s, r, GOAL)
    for turn in range(2):
        i = (s.plan_at[r] & 1) ^ turn
        if habit == BLOCKS and i == 0:
            continue
        if habit == HANDS_OVER and s.held[r] != i and not lies_at(s, i, start):
            continue
        action = work_on(world, s, r, i, habit != OPENS_NOTHING)
        if action >= 0:
            return action
        if habit == STUBBORN and action == WAIT:
            return NO_OP
    return go_to(world, s, r, RETREAT) if habit in (BLOCKS, HANDS_OVER) else NO_OP


@kernel
def begin_habit(s, r, better):
    """At the start of an episode: which object robot r prefers; better: the one that comes first on the shorter way."""
    s.plan_at[r] = 1 - better if s.script[r] == OTHER_ORDER else better


@njit(cache=True, nogil=True, inline="always")
def paused(s, r):
    """Whether robot r does not move in this step."""
    return s.script[r] == SLOW and s.clock % PACE != 0


@kernel
def after_step(world, s, r):
    """What a habit does while an action runs: change its mind on the way, or put down what it carries half-way."""
    habit, action = s.script[r], s.action[r]
    if habit == CHANGES_MIND and s.held[r] < 0 and 0 <= action < PICK and s.elapsed[r] >= DOUBTS:
        other = 1 - (s.plan_at[r] & 1)
        if (s.plan_at[r] >> 1) < CHANGES and work_on(world, s, r, other, True) >= 0:
            s.plan_at[r] = (s.plan_at[r] ^ 1) + 2
            s.action[r] = MUST_DECIDE
    carries = habit == HANDS_OVER and s.held[r] >= 0 and action == GOAL + s.held[r]
    if carries and half_way(world, s, r) and put_down(world, s, r):
        s.action[r] = MUST_DECIDE


@kernel
def half_way(world, s, r):
    """Whether robot r has carried its object half of the way from where it lay at the start to its goal."""
    h, i = s.home, s.held[r]
    first = int(world.episodes[s.episode].start_approach[i, 0])
    cell = int(world.approach_cell[world.homes[h].approach_start + first])
    a = choose_destination(world, s, cell, GOAL + i)
    return a >= 0 and way_left(world, s, r, GOAL + i) <= path_length(world, h, cell, a) / 2


@kernel
def put_down(world, s, r):
    """Robot r puts its object on the floor before it, if skills reach it there from some approach cell. True if it did."""
    h, i, yaw = s.home, s.held[r], s.pose[r, 2]
    x, z = s.pose[r, 0] + CARRY[0] * np.cos(yaw), s.pose[r, 1] - CARRY[0] * np.sin(yaw)
    if cell_at(world, h, x, z) == BLOCKED:
        x, z = s.pose[r, 0], s.pose[r, 1]
    y = HALF_HEIGHT[world.episodes[s.episode].kind[i]]
    first = world.homes[h].approach_start
    last = world.homes[h + 1].approach_start if h + 1 < world.homes.shape[0] else world.approach_cell.shape[0]
    best, chosen = REACH_3D * REACH_3D, -1
    for a in range(last - first):
        cell = world.homes[h].cell_start + world.approach_cell[first + a]
        away = (world.cell_xz[cell, 0] - x) ** 2 + (world.cell_xz[cell, 1] - z) ** 2 + y * y
        if away <= best:
            best, chosen = away, a
    if chosen < 0:
        return False
    s.held[r], s.inside[i] = -1, -1
    s.thing_yaw[i] = wrap(s.thing_yaw[i] + yaw)
    s.rest[i, 0], s.rest[i, 1], s.rest[i, 2] = x, y, z
    draw_along(world, s, i)
    s.approach[i, 0] = chosen
    for k in range(1, 4):
        s.approach[i, k] = -1
    return True
