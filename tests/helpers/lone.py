"""A lone robot's plan walked step by step, by our skills or by Habitat's controller (spec section 4.1), counting its steps.

It shows what makes a lone robot here quicker than Habitat's: the order of its work, where it stands, how it drives.
"""

import numpy as np
from numba import njit

from housemates.geometry.distance import distance_field
from housemates.geometry.paths import descend
from housemates.sim.batch import Batch
from housemates.sim.rules import ARRIVE, FACING, NAVIGATION_CAP
from housemates.sim.skills import entity_point, finished, heading_error, move, turn, way_is_free
from housemates.sim.step import begin, effects
from housemates.tasks.actions import PICK

COUNTED = ("skills", "driving", "turning", "facing", "ending", "metres", "capped")
"""Columns: steps of five kinds, metres driven, navigations that the cap ended. Ending is Habitat's step of zero velocity."""
SKILLS, DRIVING, TURNING, AT_PLACE, ENDING, METRES, CAPPED = range(len(COUNTED))
OURS, HABITAT, HABITAT_SLIDING = range(3)
"""Who drives."""
CORNERS = 64


def walk(batch: Batch, nearest: bool = False, driver: int = OURS) -> np.ndarray:
    """What each home's scripted robot 0 spends on its plan, [E, 7] COUNTED; the batch must just have been reset.

    nearest: it stands at the floor point nearest to a thing, not at the one with the shortest way.
    """
    out = np.zeros((batch.size, len(COUNTED)))
    _walk(batch.world, batch.records, batch.numbers, nearest, driver, out)
    return out


def steps(counted: np.ndarray) -> np.ndarray:
    """All steps [E] of rows COUNTED."""
    return counted[:, : ENDING + 1].sum(axis=1)


@njit
def _walk(world, state, rules, nearest, driver, out):
    field, points = np.empty(world.free.shape[1:], np.float32), np.empty((CORNERS, 2))
    for e in range(len(state)):
        s, row = state[e], out[e]
        for action in world.task[0].plans[s.plan[0]]:
            if action < 0:
                break
            begin(world, s, 0, int(action))
            if action >= PICK:
                effects(world, s)
                row[SKILLS] += 1
                continue
            if nearest:
                s.destination[0] = _nearest(world, s, int(action))
            if driver == OURS:
                arrived = _ours(world, s, rules, row)
            else:
                arrived = _habitat(world, s, rules, int(action), driver == HABITAT_SLIDING, row, field, points)
            row[CAPPED] += not arrived


@njit
def _nearest(world, s, entity):
    """The approach cell nearest to an entity (of receptacles: to their nearest instance)."""
    if entity < 2:
        return s.approach[entity, 0]
    if entity < 4:
        return world.episodes[s.episode].goal_approach[entity - 2, 0]
    x, _, z = entity_point(world, s, 0, entity)
    instance = 0
    for i in range(world.homes[s.home].place_count[entity - 4]):
        p = world.homes[s.home].place_target[entity - 4, i]
        if p[0] == x and p[2] == z:
            instance = i
    return world.homes[s.home].place_approach[entity - 4, instance, 0]


@njit
def _goal(world, s):
    """World (x, z) of the place where the running navigation leads."""
    home = world.homes[s.home]
    return world.cell_xz[home.cell_start + world.approach_cell[home.approach_start + s.destination[0]]]


@njit
def _ours(world, s, rules, row):
    """Navigate as the simulator does."""
    goal = _goal(world, s)
    while True:
        x, z = s.pose[0, 0], s.pose[0, 1]
        there = (goal[0] - x) ** 2 + (goal[1] - z) ** 2 <= ARRIVE**2
        arrived = move(world, s, rules, 0)
        moved = np.hypot(s.pose[0, 0] - x, s.pose[0, 1] - z)
        s.elapsed[0] += 1
        row[METRES] += moved
        row[AT_PLACE if there else DRIVING if moved > 0 else TURNING] += 1
        if finished(s, 0, arrived):
            return arrived


@njit
def _habitat(world, s, rules, entity, slide, row, field, points):
    """Navigate with full turns and full steps along a path that is looked for again at every step."""
    cell, origin, free, goal = world.cell, world.homes[s.home].origin, world.free[s.home], _goal(world, s)
    goal_row, goal_col = (goal[1] - origin[1]) / cell, (goal[0] - origin[0]) / cell
    distance_field(free, goal_row, goal_col, cell, field)
    thing_x, _, thing_z = entity_point(world, s, 0, entity)
    for _ in range(NAVIGATION_CAP):
        x, z = s.pose[0, 0], s.pose[0, 1]
        there = np.hypot(goal[0] - x, goal[1] - z) <= ARRIVE
        ahead_x, ahead_z = thing_x, thing_z
        if not there:
            count = descend(free, field, (z - origin[1]) / cell, (x - origin[0]) / cell, goal_row, goal_col, cell, points)
            at = 1  # A corner on which the robot stands is behind it.
            while at < count - 1 and np.hypot(points[at, 0] - points[0, 0], points[at, 1] - points[0, 1]) * cell < 1e-3:
                at += 1
            ahead_x = origin[0] + points[at, 1] * cell if count else goal[0]
            ahead_z = origin[1] + points[at, 0] * cell if count else goal[1]
        error = heading_error(s, 0, ahead_x, ahead_z)
        if abs(error) >= FACING:
            turn(s, 0, np.sign(error) * rules.turn, rules.turn)
            row[AT_PLACE if there else TURNING] += 1
        elif there:
            row[ENDING] += 1
            return True
        else:
            row[METRES] += _forward(world, s, rules.forward, slide)
            row[DRIVING] += 1
    return False


@njit
def _forward(world, s, metres, slide):
    """Drive ahead as far as the floor goes; to slide, go the rest along the axis nearer to the heading. Returns metres."""
    ahead_x, ahead_z = np.cos(s.pose[0, 2]), -np.sin(s.pose[0, 2])
    gone = _towards(world, s, metres * ahead_x, metres * ahead_z)
    if slide and gone < metres:
        left = metres - gone
        if abs(ahead_x) > abs(ahead_z):
            gone += _towards(world, s, left * ahead_x, 0.0)
        else:
            gone += _towards(world, s, 0.0, left * ahead_z)
    return gone


@njit
def _towards(world, s, dx, dz):
    """Move by the largest free share of (dx, dz), in 32 parts. Returns metres."""
    x, z = s.pose[0, 0], s.pose[0, 1]
    for part in range(32, 0, -1):
        x1, z1 = x + dx * part / 32, z + dz * part / 32
        if way_is_free(world, s.home, x, z, x1, z1):
            s.pose[0, 0], s.pose[0, 1] = x1, z1
            return np.hypot(x1 - x, z1 - z)
    return 0.0
