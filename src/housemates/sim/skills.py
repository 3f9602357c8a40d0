"""The 25 actions as kernels: may it start, where does it lead, one step of it, what it changes (spec section 4).

Every function works on one home `e` (and one robot `r`) of the struct of arrays; none allocates.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.homes import fetch
from housemates.kernels.distance import sees
from housemates.sim.rules import ARRIVE, CARRY, FACING, NAVIGATION_CAP
from housemates.tasks.goals import (
    CLOSED_BELOW,
    MOVE_FORWARD,
    NO_OP,
    OPEN,
    OPEN_ABOVE,
    OPENED_VALUE,
    PICK,
    PLACE,
    REACH,
    TURN_LEFT,
    TURN_RIGHT,
    VERBS,
)

OPENED = (OPENED_VALUE["revolute"], OPENED_VALUE["prismatic"], OPENED_VALUE["prismatic"])
"""Where the open skill leaves fridge (radians) and drawers (metres)."""
OPEN_ENOUGH = (OPEN_ABOVE["revolute"], OPEN_ABOVE["prismatic"], OPEN_ABOVE["prismatic"])
"""Joint values above which they count as open."""
OPENING, PICKING, PLACING = (VERBS.index(verb) for verb in ("open", "pick", "place"))
WORKSPACE = tuple(tuple(float(v) for v in row) for row in fetch.WORKSPACE)
"""Smallest and largest forward, left, up of the gripper, metres."""
BLOCKED = 65535
"""Value of `World.cell_of` where no robot can stand."""
ARM_STEP = 0.25
"""Radians a joint of the arm moves in one simulation step while it is animated."""
ARM_REST, ARM_CARRY = 0, 1
"""Rows of `World.arm_poses`."""


@njit(cache=True, nogil=True, inline="always")
def wrap(angle):
    """The same angle in (-pi, pi]."""
    return np.pi - (np.pi - angle) % (2 * np.pi)


@njit(cache=True, nogil=True)
def cell_at(world, h, x, z):
    """Index of the floor cell under (x, z) in home h, BLOCKED off the main region."""
    row = int(np.floor((z - world.origin[h, 1]) / world.cell + 0.5))
    col = int(np.floor((x - world.origin[h, 0]) / world.cell + 0.5))
    if row < 0 or col < 0 or row >= world.size[h, 0] or col >= world.size[h, 1]:
        return BLOCKED
    return int(world.cell_of[h, row, col])


@njit(cache=True, nogil=True)
def way_is_free(world, h, x, z, x1, z1):
    """Whether a robot's centre can go straight from (x, z) to (x1, z1) without leaving the navigable floor."""
    if cell_at(world, h, x1, z1) == BLOCKED:
        return False
    scale = 1 / world.cell
    ox, oz = world.origin[h, 0], world.origin[h, 1]
    return sees(world.free[h], (z - oz) * scale, (x - ox) * scale, (z1 - oz) * scale, (x1 - ox) * scale)


@njit(cache=True, nogil=True)
def path_length(world, h, cell, a):
    """Metres from floor cell `cell` to approach cell `a` of home h, along the corners of the shortest path."""
    corners, first = world.corner_start[h] + a * world.cells[h], world.cell_start[h]
    length, goal = 0.0, world.approach_cell[world.approach_start[h] + a]
    for _ in range(world.cells[h]):
        if cell == goal:
            break
        ahead = int(world.corner[corners + cell])
        dx = world.cell_xz[first + ahead, 0] - world.cell_xz[first + cell, 0]
        dz = world.cell_xz[first + ahead, 1] - world.cell_xz[first + cell, 1]
        length += np.sqrt(dx * dx + dz * dz)
        cell = ahead
    return length


@njit(cache=True, nogil=True)
def entity_point(world, state, e, r, entity):
    """World point (x, y, z) of an entity: an object where it last lay, a goal, the nearest instance of a receptacle."""
    h, episode = state.home[e], state.episode[e]
    if entity < 2:
        p = state.rest[e, entity]
        return p[0], p[1], p[2]
    if entity < 4:
        p = world.goal[episode, entity - 2]
        return p[0], p[1], p[2]
    kind, best, nearest = entity - 4, np.inf, 0
    for i in range(world.place_count[h, kind]):
        dx = world.place_target[h, kind, i, 0] - state.pose[e, r, 0]
        dz = world.place_target[h, kind, i, 2] - state.pose[e, r, 1]
        if dx * dx + dz * dz < best:
            best, nearest = dx * dx + dz * dz, i
    p = world.place_target[h, kind, nearest]
    return p[0], p[1], p[2]


@njit(cache=True, nogil=True)
def choose_destination(world, state, e, cell, entity):
    """The approach cell of an entity with the shortest way from floor cell `cell` (for receptacles: of any instance)."""
    h, episode = state.home[e], state.episode[e]
    best, chosen = np.inf, -1
    instances = world.place_count[h, entity - 4] if entity >= 4 else 1
    for i in range(instances):
        for k in range(4):
            if entity < 2:
                a = int(state.approach[e, entity, k])
            elif entity < 4:
                a = int(world.goal_approach[episode, entity - 2, k])
            else:
                a = int(world.place_approach[h, entity - 4, i, k])
            if a < 0:
                break
            length = path_length(world, h, cell, a)
            if length < best:
                best, chosen = length, a
    return chosen


@njit(cache=True, nogil=True, inline="always")
def within_reach(state, e, r, x, y, z):
    """Whether the 3-D distance from robot r's base origin to a point is at most REACH."""
    dx, dz = x - state.pose[e, r, 0], z - state.pose[e, r, 1]
    return dx * dx + y * y + dz * dz <= REACH * REACH


@njit(cache=True, nogil=True)
def may_start(world, state, e, r, action):
    """Whether the action's pre-condition holds now (spec 4.1 and section 14, 8)."""
    if action < PICK or action >= NO_OP:
        return True
    if action < PLACE:
        i = action - PICK
        if state.held[e, r] >= 0:
            return False
        for other in range(state.held.shape[1]):
            if state.held[e, other] == i:
                return False
        box = state.inside[e, i]
        if box >= 0 and state.door[e, box] <= OPEN_ENOUGH[box]:
            return False
        return within_reach(state, e, r, state.thing[e, i, 0], state.thing[e, i, 1], state.thing[e, i, 2])
    if action < OPEN:
        i = action - PLACE
        goal = world.goal[state.episode[e], i]
        return state.held[e, r] == i and within_reach(state, e, r, goal[0], goal[1], goal[2])
    box = action - OPEN
    handle = world.handle[state.home[e], box]
    return state.door[e, box] < CLOSED_BELOW and within_reach(state, e, r, handle[0], handle[1], handle[2])


@njit(cache=True, nogil=True)
def drive(world, state, e, r, metres):
    """Move robot r along its heading, unless that would leave the navigable floor (no sliding). True if it moved."""
    x, z, yaw = state.pose[e, r, 0], state.pose[e, r, 1], state.pose[e, r, 2]
    x1, z1 = x + metres * np.cos(yaw), z - metres * np.sin(yaw)
    if not way_is_free(world, state.home[e], x, z, x1, z1):
        return False
    state.pose[e, r, 0], state.pose[e, r, 1] = x1, z1
    state.travelled[e, r] += abs(metres)
    return True


@njit(cache=True, nogil=True, inline="always")
def heading_error(state, e, r, x, z):
    """Radians robot r must turn (left positive) to face the floor point (x, z)."""
    return wrap(np.arctan2(-(z - state.pose[e, r, 1]), x - state.pose[e, r, 0]) - state.pose[e, r, 2])


@njit(cache=True, nogil=True)
def turn(state, e, r, angle, limit):
    """Turn robot r by `angle`, at most `limit` radians in one step."""
    state.pose[e, r, 2] = wrap(state.pose[e, r, 2] + min(max(angle, -limit), limit))


@njit(cache=True, nogil=True)
def step_towards(world, state, rules, e, r, x, z, known_free, backwards):
    """One step towards a floor point: turn on the spot until it lies ahead (behind), then drive. False if blocked."""
    error = heading_error(state, e, r, x, z)
    if backwards:
        error = wrap(error + np.pi)
    if abs(error) > FACING:
        turn(state, e, r, error, rules.turn)
        return True
    x0, z0 = state.pose[e, r, 0], state.pose[e, r, 1]
    distance = np.sqrt((x - x0) ** 2 + (z - z0) ** 2)
    share = 1.0 if distance <= rules.forward else rules.forward / distance
    x1, z1 = x0 + (x - x0) * share, z0 + (z - z0) * share
    if not known_free and not way_is_free(world, state.home[e], x0, z0, x1, z1):
        return False
    turn(state, e, r, error, rules.turn)
    state.pose[e, r, 0], state.pose[e, r, 1] = x1, z1
    state.travelled[e, r] += distance * share
    return True


@njit(cache=True, nogil=True)
def navigate(world, state, rules, e, r, entity):
    """One step of a navigation that ignores the partner. True when the robot stands there and faces the entity."""
    h, a = state.home[e], int(state.destination[e, r])
    if a < 0:
        return True
    first = world.cell_start[h]
    goal = first + world.approach_cell[world.approach_start[h] + a]
    x, z = state.pose[e, r, 0], state.pose[e, r, 1]
    dx, dz = world.cell_xz[goal, 0] - x, world.cell_xz[goal, 1] - z
    if dx * dx + dz * dz <= ARRIVE * ARRIVE:
        px, _, pz = entity_point(world, state, e, r, entity)
        error = heading_error(state, e, r, px, pz)
        if abs(error) < FACING:
            return True
        turn(state, e, r, error, rules.turn)
        return abs(error) - rules.turn < FACING and abs(heading_error(state, e, r, px, pz)) < FACING
    cell = cell_at(world, h, x, z)
    ahead = first + int(world.corner[world.corner_start[h] + a * world.cells[h] + cell])
    cx, cz = world.cell_xz[first + cell, 0], world.cell_xz[first + cell, 1]
    centred = abs(cx - x) + abs(cz - z) < 1e-6
    if not step_towards(world, state, rules, e, r, world.cell_xz[ahead, 0], world.cell_xz[ahead, 1], centred, False):
        # The cell's centre sees the corner, the robot beside it does not: a few centimetres to the centre, or back to it.
        step_towards(world, state, rules, e, r, cx, cz, True, abs(heading_error(state, e, r, cx, cz)) > np.pi / 2)
    return False


@njit(cache=True, nogil=True)
def move(world, state, rules, e, r):
    """The motion of robot r in this step. True when a navigation has arrived."""
    action = state.action[e, r]
    if action < PICK:
        return navigate(world, state, rules, e, r, action)
    if action == MOVE_FORWARD:
        drive(world, state, e, r, rules.forward)
    elif action == TURN_LEFT:
        turn(state, e, r, rules.turn, rules.turn)
    elif action == TURN_RIGHT:
        turn(state, e, r, -rules.turn, rules.turn)
    return True


@njit(cache=True, nogil=True)
def reach_out(world, state, e, r, x, y, z):
    """Show the arm reaching for a point; it then moves to rest or carry by itself."""
    dx, dz = x - state.pose[e, r, 0], z - state.pose[e, r, 1]
    rows, columns = world.reach.shape[0], world.reach.shape[1]
    row = int((y - WORKSPACE[2][0]) / (WORKSPACE[2][1] - WORKSPACE[2][0]) * (rows - 1) + 0.5)
    column = int((np.sqrt(dx * dx + dz * dz) - WORKSPACE[0][0]) / (WORKSPACE[0][1] - WORKSPACE[0][0]) * (columns - 1) + 0.5)
    pose = world.reach[min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)]
    after = world.arm_poses[ARM_CARRY if state.held[e, r] >= 0 else ARM_REST]
    for j in range(7):
        state.arm[e, r, j], state.arm_goal[e, r, j] = pose[j], after[j]


@njit(cache=True, nogil=True)
def carry(state, e, r):
    """Put the object that robot r holds in front of its chest."""
    i = state.held[e, r]
    if i >= 0:
        yaw = state.pose[e, r, 2]
        state.thing[e, i, 0] = state.pose[e, r, 0] + CARRY[0] * np.cos(yaw)
        state.thing[e, i, 1] = CARRY[1]
        state.thing[e, i, 2] = state.pose[e, r, 1] - CARRY[0] * np.sin(yaw)


@njit(cache=True, nogil=True)
def draw_along(world, state, e, i):
    """Put a resting object where its drawer has carried it."""
    h, box = state.home[e], state.inside[e, i]
    for k in range(3):
        shift = world.door_motion[h, box, k] * state.door[e, box] if box >= 0 else 0.0
        state.thing[e, i, k] = state.rest[e, i, k] + shift


@njit(cache=True, nogil=True)
def apply(world, state, e, r):
    """The effect of robot r's pick, place or open. Returns the sub-goal it achieved for the first time, -1 if none."""
    action = state.action[e, r]
    reached = -1
    if PICK <= action < PLACE:
        i = action - PICK
        state.held[e, r] = i
        reach_out(world, state, e, r, state.thing[e, i, 0], state.thing[e, i, 1], state.thing[e, i, 2])
        reached = world.subgoal_of[PICKING, i]
    elif PLACE <= action < OPEN:
        i, episode = action - PLACE, state.episode[e]
        state.held[e, r] = -1
        for k in range(3):
            state.rest[e, i, k] = world.goal[episode, i, k]
        state.inside[e, i] = world.goal_inside[episode, i]
        for k in range(4):
            state.approach[e, i, k] = world.goal_approach[episode, i, k]
        draw_along(world, state, e, i)
        reach_out(world, state, e, r, state.thing[e, i, 0], state.thing[e, i, 1], state.thing[e, i, 2])
        reached = world.subgoal_of[PLACING, i]
    elif OPEN <= action < NO_OP:
        box = action - OPEN
        state.door[e, box] = OPENED[box]
        for i in range(2):
            if state.inside[e, i] == box and not is_held(state, e, i):
                draw_along(world, state, e, i)
        handle = world.handle[state.home[e], box]
        reach_out(world, state, e, r, handle[0], handle[1], handle[2])
        reached = world.subgoal_of[OPENING, box]
    if reached >= 0 and state.done_by[e, reached] < 0:
        state.done_by[e, reached] = r
        return reached
    return -1


@njit(cache=True, nogil=True)
def is_held(state, e, i):
    """Whether any robot holds object i."""
    for r in range(state.held.shape[1]):
        if state.held[e, r] == i:
            return True
    return False


@njit(cache=True, nogil=True)
def finished(state, e, r, arrived):
    """Whether robot r's action ends with this step: all but navigation last one step."""
    return state.action[e, r] >= PICK or arrived or state.elapsed[e, r] >= NAVIGATION_CAP


@njit(cache=True, nogil=True)
def move_arm(state, e, r):
    """One step of the arm's animation towards its goal pose."""
    for j in range(7):
        gap = state.arm_goal[e, r, j] - state.arm[e, r, j]
        state.arm[e, r, j] += min(max(gap, -ARM_STEP), ARM_STEP)
