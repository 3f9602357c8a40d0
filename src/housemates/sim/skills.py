"""The 25 actions as kernels: may it start, where does it lead, one step of it, what it changes (spec section 4).

Every function works on the state `s` of one home (and one robot `r`); none allocates.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.geometry.sight import sees
from housemates.sim.rules import ARRIVE, CARRY, FACING, NAVIGATION_CAP
from housemates.sim.state import kernel
from housemates.tasks.actions import (
    CLOSED_BELOW,
    MOVE_FORWARD,
    NO_OP,
    OPEN,
    OPEN_ABOVE,
    OPEN_END,
    OPENED_VALUE,
    PICK,
    PICK_END,
    PLACE,
    PLACE_END,
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
BLOCKED = 65535
"""Value of `World.cell_of` where no robot can stand."""
ARM_STEP = 0.25
"""Radians a joint of the arm moves in one simulation step while it is animated."""
ARM_REST, ARM_CARRY = 0, 1
"""Rows of `arm_poses` of TASK."""


@njit(cache=True, nogil=True, inline="always")
def wrap(angle):
    """The same angle in (-pi, pi]; for angles of a few turns at most (no slow remainder)."""
    while angle > np.pi:
        angle -= 2 * np.pi
    while angle <= -np.pi:
        angle += 2 * np.pi
    return angle


@kernel
def cell_at(world, h, x, z):
    """Index of the floor cell under (x, z) in home h, BLOCKED off the main region."""
    row = int(np.floor((z - world.homes[h].origin[1]) / world.cell + 0.5))
    col = int(np.floor((x - world.homes[h].origin[0]) / world.cell + 0.5))
    if row < 0 or col < 0 or row >= world.homes[h].size[0] or col >= world.homes[h].size[1]:
        return BLOCKED
    return int(world.cell_of[h, row, col])


@kernel
def way_is_free(world, h, x, z, x1, z1):
    """Whether a robot's centre can go straight from (x, z) to (x1, z1) without leaving the navigable floor."""
    if cell_at(world, h, x1, z1) == BLOCKED:
        return False
    scale = 1 / world.cell
    ox, oz = world.homes[h].origin[0], world.homes[h].origin[1]
    return sees(world.free[h], (z - oz) * scale, (x - ox) * scale, (z1 - oz) * scale, (x1 - ox) * scale)


@kernel
def path_length(world, h, cell, a):
    """Metres from floor cell `cell` to approach cell `a` of home h, along the corners of the shortest path."""
    corners, first = world.homes[h].corner_start + a * world.homes[h].cells, world.homes[h].cell_start
    length, goal = 0.0, world.approach_cell[world.homes[h].approach_start + a]
    for _ in range(world.homes[h].cells):
        if cell == goal:
            break
        ahead = int(world.corner[corners + cell])
        dx = world.cell_xz[first + ahead, 0] - world.cell_xz[first + cell, 0]
        dz = world.cell_xz[first + ahead, 1] - world.cell_xz[first + cell, 1]
        length += np.sqrt(dx * dx + dz * dz)
        cell = ahead
    return length


@kernel
def entity_point(world, s, r, entity):
    """World point (x, y, z) of an entity: an object where it last lay, a goal, the nearest instance of a receptacle."""
    h, episode = s.home, s.episode
    if entity < 2:
        p = s.rest[entity]
        return p[0], p[1], p[2]
    if entity < 4:
        p = world.episodes[episode].goal[entity - 2]
        return p[0], p[1], p[2]
    kind, best, nearest = entity - 4, np.inf, 0
    for i in range(world.homes[h].place_count[kind]):
        dx = world.homes[h].place_target[kind, i, 0] - s.pose[r, 0]
        dz = world.homes[h].place_target[kind, i, 2] - s.pose[r, 1]
        if dx * dx + dz * dz < best:
            best, nearest = dx * dx + dz * dz, i
    p = world.homes[h].place_target[kind, nearest]
    return p[0], p[1], p[2]


@kernel
def choose_destination(world, s, cell, entity):
    """The approach cell of an entity with the shortest way from floor cell `cell` (for receptacles: of any instance)."""
    h, episode = s.home, s.episode
    best, chosen = np.inf, -1
    instances = world.homes[h].place_count[entity - 4] if entity >= 4 else 1
    for i in range(instances):
        for k in range(4):
            if entity < 2:
                a = int(s.approach[entity, k])
            elif entity < 4:
                a = int(world.episodes[episode].goal_approach[entity - 2, k])
            else:
                a = int(world.homes[h].place_approach[entity - 4, i, k])
            if a < 0:
                break
            length = path_length(world, h, cell, a)
            if length < best:
                best, chosen = length, a
    return chosen


@njit(cache=True, nogil=True, inline="always")
def within_reach(s, r, x, y, z):
    """Whether the 3-D distance from robot r's base origin to a point is at most REACH."""
    dx, dz = x - s.pose[r, 0], z - s.pose[r, 1]
    return dx * dx + y * y + dz * dz <= REACH * REACH


@kernel
def may_start(world, s, r, action):
    """Whether the action's pre-condition holds now (spec 4.1 and section 14, 8)."""
    if action < PICK or action >= NO_OP:
        return True
    if PICK <= action < PICK_END:
        i = action - PICK
        if s.held[r] >= 0:
            return False
        for other in range(s.robots):
            if s.held[other] == i:
                return False
        box = s.inside[i]
        if box >= 0 and s.door[box] <= OPEN_ENOUGH[box]:
            return False
        return within_reach(s, r, s.thing[i, 0], s.thing[i, 1], s.thing[i, 2])
    if PLACE <= action < PLACE_END:
        i = action - PLACE
        goal = world.episodes[s.episode].goal[i]
        return s.held[r] == i and within_reach(s, r, goal[0], goal[1], goal[2])
    if OPEN <= action < OPEN_END:
        box = action - OPEN
        handle = world.homes[s.home].handle[box]
        return s.door[box] < CLOSED_BELOW and within_reach(s, r, handle[0], handle[1], handle[2])
    return False


@kernel
def drive(world, s, r, metres):
    """Move robot r along its heading, unless that would leave the navigable floor (no sliding). True if it moved."""
    x, z, yaw = s.pose[r, 0], s.pose[r, 1], s.pose[r, 2]
    x1, z1 = x + metres * np.cos(yaw), z - metres * np.sin(yaw)
    if not way_is_free(world, s.home, x, z, x1, z1):
        return False
    s.pose[r, 0], s.pose[r, 1] = x1, z1
    s.travelled[r] += abs(metres)
    return True


@njit(cache=True, nogil=True, inline="always")
def heading_error(s, r, x, z):
    """Radians robot r must turn (left positive) to face the floor point (x, z)."""
    return wrap(np.arctan2(-(z - s.pose[r, 1]), x - s.pose[r, 0]) - s.pose[r, 2])


@kernel
def turn(s, r, angle, limit):
    """Turn robot r by `angle`, at most `limit` radians in one step."""
    s.pose[r, 2] = wrap(s.pose[r, 2] + min(max(angle, -limit), limit))


@kernel
def step_towards(s, rules, r, x, z, backwards):
    """One step towards a floor point in sight: turn on the spot until it lies ahead (or behind), then drive."""
    error = heading_error(s, r, x, z)
    if backwards:
        error = wrap(error + np.pi)
    turn(s, r, error, rules.turn)
    if abs(error) > FACING:
        return
    x0, z0 = s.pose[r, 0], s.pose[r, 1]
    distance = np.sqrt((x - x0) ** 2 + (z - z0) ** 2)
    share = 1.0 if distance <= rules.forward else rules.forward / distance
    s.pose[r, 0], s.pose[r, 1] = x0 + (x - x0) * share, z0 + (z - z0) * share
    s.travelled[r] += distance * share


@kernel
def next_waypoint(world, s, r, a):
    """The floor cell to drive straight to next, on the way to approach cell a.

    Cells see their next corner from their centre. A robot beside the centre that does not see it goes to the centre first.
    """
    h = s.home
    x, z = s.pose[r, 0], s.pose[r, 1]
    cell = cell_at(world, h, x, z)
    ahead = int(world.corner[world.homes[h].corner_start + a * world.homes[h].cells + cell])
    here, there = world.cell_xz[world.homes[h].cell_start + cell], world.cell_xz[world.homes[h].cell_start + ahead]
    if abs(here[0] - x) + abs(here[1] - z) < 1e-6 or way_is_free(world, h, x, z, there[0], there[1]):
        return ahead
    return cell


@kernel
def navigate(world, s, rules, r, entity):
    """One step of a navigation that ignores the partner. True when the robot stands there and faces the entity."""
    h, a = s.home, int(s.destination[r])
    if a < 0:
        return True
    first = world.homes[h].cell_start
    goal = first + world.approach_cell[world.homes[h].approach_start + a]
    x, z = s.pose[r, 0], s.pose[r, 1]
    dx, dz = world.cell_xz[goal, 0] - x, world.cell_xz[goal, 1] - z
    if dx * dx + dz * dz <= ARRIVE * ARRIVE:
        px, _, pz = entity_point(world, s, r, entity)
        error = heading_error(s, r, px, pz)
        turn(s, r, error, rules.turn)
        return abs(error) < FACING + rules.turn
    if s.waypoint[r] < 0:
        s.waypoint[r] = next_waypoint(world, s, r, a)
    wx, wz = world.cell_xz[first + s.waypoint[r], 0], world.cell_xz[first + s.waypoint[r], 1]
    near = abs(wx - x) + abs(wz - z) < world.cell
    step_towards(s, rules, r, wx, wz, near and abs(heading_error(s, r, wx, wz)) > np.pi / 2)
    if abs(wx - s.pose[r, 0]) + abs(wz - s.pose[r, 1]) < 1e-6:
        s.waypoint[r] = -1
    return False


@kernel
def move(world, s, rules, r):
    """The motion of robot r in this step. True when a navigation has arrived."""
    action = s.action[r]
    if action < PICK:
        return navigate(world, s, rules, r, action)
    if action == MOVE_FORWARD:
        drive(world, s, r, rules.forward)
    elif action == TURN_LEFT:
        turn(s, r, rules.turn, rules.turn)
    elif action == TURN_RIGHT:
        turn(s, r, -rules.turn, rules.turn)
    return True


@kernel
def reach_out(world, s, r, x, y, z):
    """Show the arm reaching for a point; it then moves to rest or carry by itself."""
    dx, dz = x - s.pose[r, 0], z - s.pose[r, 1]
    rows, columns = world.task[0].reach.shape[0], world.task[0].reach.shape[1]
    ahead, up = world.task[0].workspace[0], world.task[0].workspace[2]
    row = int((y - up[0]) / (up[1] - up[0]) * (rows - 1) + 0.5)
    column = int((np.sqrt(dx * dx + dz * dz) - ahead[0]) / (ahead[1] - ahead[0]) * (columns - 1) + 0.5)
    pose = world.task[0].reach[min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)]
    after = world.task[0].arm_poses[ARM_CARRY if s.held[r] >= 0 else ARM_REST]
    for j in range(s.arm.shape[1]):
        s.arm[r, j], s.arm_goal[r, j] = pose[j], after[j]


@kernel
def carry(s, r):
    """Put the object that robot r holds in front of its chest."""
    i = s.held[r]
    if i >= 0:
        yaw = s.pose[r, 2]
        s.thing[i, 0] = s.pose[r, 0] + CARRY[0] * np.cos(yaw)
        s.thing[i, 1] = CARRY[1]
        s.thing[i, 2] = s.pose[r, 1] - CARRY[0] * np.sin(yaw)


@kernel
def draw_along(world, s, i):
    """Put a resting object where its drawer has carried it."""
    h, box = s.home, s.inside[i]
    for k in range(3):
        shift = world.homes[h].door_motion[box, k] * s.door[box] if box >= 0 else 0.0
        s.thing[i, k] = s.rest[i, k] + shift


@kernel
def apply(world, s, r):
    """The effect of robot r's pick, place or open. Returns the sub-goal it achieved for the first time, -1 if none."""
    action = s.action[r]
    reached = -1
    if PICK <= action < PICK_END:
        i = action - PICK
        s.held[r] = i
        s.thing_yaw[i] = wrap(s.thing_yaw[i] - s.pose[r, 2])  # held things turn with their holder
        reach_out(world, s, r, s.thing[i, 0], s.thing[i, 1], s.thing[i, 2])
        reached = world.task[0].subgoal_of[PICKING, i]
    elif PLACE <= action < PLACE_END:
        i, episode = action - PLACE, s.episode
        s.held[r] = -1
        for k in range(3):
            s.rest[i, k] = world.episodes[episode].goal[i, k]
        s.inside[i] = world.episodes[episode].goal_inside[i]
        s.thing_yaw[i] = world.episodes[episode].yaw[i]
        for k in range(4):
            s.approach[i, k] = world.episodes[episode].goal_approach[i, k]
        draw_along(world, s, i)
        reach_out(world, s, r, s.thing[i, 0], s.thing[i, 1], s.thing[i, 2])
        reached = world.task[0].subgoal_of[PLACING, i]
    elif OPEN <= action < OPEN_END:
        box = action - OPEN
        s.door[box] = OPENED[box]
        for i in range(2):
            if s.inside[i] == box and not is_held(s, i):
                draw_along(world, s, i)
        handle = world.homes[s.home].handle[box]
        reach_out(world, s, r, handle[0], handle[1], handle[2])
        reached = world.task[0].subgoal_of[OPENING, box]
    if reached >= 0 and s.done_by[reached] < 0:
        s.done_by[reached] = r
        return reached
    return -1


@kernel
def is_held(s, i):
    """Whether any robot holds object i."""
    for r in range(s.robots):
        if s.held[r] == i:
            return True
    return False


@kernel
def finished(s, r, arrived):
    """Whether robot r's action ends with this step: all but navigation last one step."""
    return s.action[r] >= PICK or arrived or s.elapsed[r] >= NAVIGATION_CAP


@kernel
def move_arm(s, r):
    """One step of the arm's animation towards its goal pose."""
    for j in range(s.arm.shape[1]):
        gap = s.arm_goal[r, j] - s.arm[r, j]
        s.arm[r, j] += min(max(gap, -ARM_STEP), ARM_STEP)
