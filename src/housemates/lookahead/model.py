"""The light forward model: own robot by its own skills on the floor grid, partners by their predicted paths, both as discs."""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.sim.rules import ALWAYS_BELOW, RELEASE
from housemates.sim.skills import BLOCKED, cell_at, choose_destination, move, navigate, path_length
from housemates.sim.step import begin, crossed
from housemates.tasks.actions import MOVE_FORWARD, NO_OP, PICK, TURN_LEFT, TURN_RIGHT

PLAN = np.dtype(
    [
        ("first", "i1"),  # A primitive
        ("first_steps", "i2"),  # How many decisions it is repeated
        ("second", "i1"),
        ("second_steps", "i2"),
        ("last", "i1"),  # What comes then: a navigation, or NO_OP to stand
        ("to_the_end", "u1"),  # How that is carried out: only in the model, as a skill, or BY_STEPS
        ("age", "i2"),  # Decisions since it was chosen
        ("held", "u1"),  # Whether it is being carried out
    ],
    align=True,
)
"""One way to go on: first, then second, then last. A robot that looks ahead holds on to one."""

ONLY_THOUGHT, AS_SKILL, BY_STEPS = 0, 1, 2
"""How the last part of a plan is carried out. A navigation as a skill ends only where it leads to or near a partner; by steps,
as primitives that follow its path, it ends at any time."""
TURNS = (3, 6, 9, 13, 18)
"""Steps of turning before driving off: about 30, 60, 90, 125 and 170 degrees."""
DRIVES = (5, 10)
"""Steps of driving: 0.75 and 1.5 metres."""
WAITS = (5, 10, 20, 40)
"""Steps of waiting."""


def _manoeuvres() -> np.ndarray:
    turned = [(side, turn, MOVE_FORWARD, drive) for side in (TURN_LEFT, TURN_RIGHT) for turn in TURNS for drive in DRIVES]
    ahead = [(MOVE_FORWARD, drive, NO_OP, 0) for drive in DRIVES]
    return np.array([*((NO_OP, wait, NO_OP, 0) for wait in WAITS), *ahead, *turned], np.int64)


MANOEUVRES = _manoeuvres()
"""[M, 4] primitives that are held: action, how often, action, how often."""


@njit(cache=True, nogil=True)
def set_plan(plan, first, first_steps, second, second_steps, last, to_the_end):
    """Fill a PLAN that has not begun."""
    plan.first, plan.first_steps, plan.second, plan.second_steps = first, first_steps, second, second_steps
    plan.last, plan.to_the_end, plan.age, plan.held = last, to_the_end, 0, 0


@njit(cache=True, nogil=True)
def own_action(plan, action):
    """Fill a PLAN with a single decision: a navigation to its end, or one step, after which the robot stands."""
    if action < PICK:
        set_plan(plan, NO_OP, 0, NO_OP, 0, action, AS_SKILL)
    else:
        set_plan(plan, action, 1, NO_OP, 0, NO_OP, ONLY_THOUGHT)


@njit(cache=True, nogil=True)
def next_action(plan):
    """What a plan says now, -1 when it is done and the policy decides again."""
    if plan.first_steps > 0:
        return int(plan.first)
    if plan.second_steps > 0:
        return int(plan.second)
    return int(plan.last) if plan.to_the_end != ONLY_THOUGHT else -1


@njit(cache=True, nogil=True)
def go_on(plan):
    """One decision of a plan has been taken."""
    if plan.first_steps > 0:
        plan.first_steps -= 1
    elif plan.second_steps > 0:
        plan.second_steps -= 1
    plan.age += 1


@njit(cache=True, nogil=True)
def primitive_of(world, s, c, rules, r, entity):
    """The primitive that comes nearest to the next step of robot r's navigation to an entity; NO_OP where it has arrived.

    c: a scratch record.
    """
    for k in range(3):
        c.pose[r, k] = s.pose[r, k]
    begin(world, c, r, entity)
    for _ in range(2):
        # The first step may end a turn with less than a whole one, which no primitive can.
        if navigate(world, c, rules, r, entity):
            return NO_OP
        dx, dz = c.pose[r, 0] - s.pose[r, 0], c.pose[r, 1] - s.pose[r, 1]
        wanted = np.arctan2(-dz, dx) if dx * dx + dz * dz > 1e-12 else c.pose[r, 2]
        error = (wanted - s.pose[r, 2] + np.pi) % (2 * np.pi) - np.pi
        if abs(error) > rules.turn / 2:
            return TURN_LEFT if error > 0 else TURN_RIGHT
        if dx * dx + dz * dz > 1e-12:
            return MOVE_FORWARD
    return MOVE_FORWARD


@njit(cache=True, nogil=True)
def own_path(world, s, c, rules, r, plan, path):
    """The path [H, 2] of robot r that carries out a plan, in scratch record c; returns from which step on it navigates."""
    for k in range(3):
        c.pose[r, k] = s.pose[r, k]
    first, both, arrived = int(plan.first_steps), int(plan.first_steps) + int(plan.second_steps), False
    last = int(plan.last)
    for t in range(path.shape[0]):
        if t < both:
            c.action[r] = plan.first if t < first else plan.second
            move(world, c, rules, r)
        elif last < PICK:
            if t == both:
                # Looks for the destination, as when the action is really taken.
                begin(world, c, r, last)
            if not arrived:
                arrived = move(world, c, rules, r)
        path[t, 0], path[t, 1] = c.pose[r, 0], c.pose[r, 1]
    return both if last < PICK else path.shape[0]


@njit(cache=True, nogil=True)
def fate(own, path, touching, rules, level, driving, stopping):
    """First step at which a robot on its path own [H, 2] comes nearer than `touching` metres to one on path [H, 2], H if never;
    the least distance up to then; the step at which it stops; and the step at which its navigation is first cut, H if never.

    driving: step at which a navigation begins. That one is cut when the partner comes nearer than the next threshold; stopping:
    whether the robot then stands. level: thresholds that lie above the present distance (`STATE.level`).
    """
    least, stop, cut = np.inf, own.shape[0] - 1, own.shape[0]
    for t in range(own.shape[0]):
        at = min(t, stop)
        dx, dz = own[at, 0] - path[t, 0], own[at, 1] - path[t, 1]
        d = np.sqrt(dx * dx + dz * dz)
        least = min(least, d)
        if d < touching:
            return t, least, at, cut
        near = False
        if rules.interruption == 1:
            risen = crossed(rules, d, 0.0)
            near = risen > level
            level = max(risen, min(level, crossed(rules, d, RELEASE)))
        elif rules.interruption == 2:
            near = d < ALWAYS_BELOW
        if near and t >= driving:
            cut = min(cut, t)
            if stopping and t < stop:
                stop = t
    return own.shape[0], least, stop, cut


@njit(cache=True, nogil=True)
def way_left(world, s, own, end, entity):
    """Metres from step `end` of a path own [H, 2] to an entity, along the shortest path; 0 if there is none."""
    cell = cell_at(world, s.home, own[end, 0], own[end, 1])
    if entity < 0 or cell == BLOCKED:
        return 0.0
    a = choose_destination(world, s, cell, entity)
    return path_length(world, s.home, cell, a) if a >= 0 else 0.0
