"""The kernels of the sensors that are vectors: each writes the rows of the robots that are asked for into a buffer."""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.sim.rules import COLLISION, WINDOW
from housemates.sim.skills import BLOCKED, OPEN_ENOUGH, cell_at, entity_point, is_held, wrap
from housemates.sim.state import kernel
from housemates.tasks.actions import REACH, SUCCESS_RADIUS
from housemates.tasks.task import MOST_SUBGOALS

KINDS = 10
"""Receptacle kinds that actions and predicates name."""
SUBGOALS = MOST_SUBGOALS
SURROUNDING = 1.0 + 1e-9
"""Times the square of a rectangle's half diagonal: what lies farther off is outside, however its distance is rounded."""
HALF_HOME = 5.0
"""Metres by which positions are divided in `privileged`, `track`, `egomotion` and `receptacles`."""
RAYS = 16
"""Directions of the laser around the base, the first straight ahead, each next one 22.5 degrees farther to the right."""
LASER_RANGE = 2.5
"""Metres that the laser reaches: the distance at which a partner first interrupts a skill."""
LASER_STEP = 0.1
"""Metres by which a ray goes on: a reading is at most so much too short."""
LAGS = (1, 2, 4, 8, 16, 32)
"""Steps ago of the positions in `track` and `egomotion`; `STATE.window` holds 40."""
TIME = 40.0
"""Steps by which the time since the last decision is divided in `track` and `egomotion`, which go up to 2."""
PLACE_NUMBERS = 3
"""Numbers of each receptacle kind in `receptacles`."""
MISSING = 8.0
"""Distance of a receptacle that a home does not have, metres."""


def state_size(robots: int) -> int:
    """Length of the `state` vector after the arm joints: 11 for two robots."""
    return 9 + 2 * (robots - 1)


def predicates_size(robots: int) -> int:
    """Length of the `predicates` vector: 57 for two robots."""
    return 14 * robots + robots + 24 + 3


def privileged_size(robots: int) -> int:
    """Length of the `privileged` vector: 72 for two robots."""
    return predicates_size(robots) + 4 * robots + 1 + SUBGOALS


def track_size(robots: int) -> int:
    """Length of the `track` vector: 13 for two robots."""
    return 1 + 2 * len(LAGS) * (robots - 1)


@kernel
def polar(pose, x, z, out):
    """Distance (metres) and heading (radians, positive to the right) of a floor point from a pose (x, z, yaw)."""
    dx, dz = x - pose[0], z - pose[1]
    out[0] = np.sqrt(dx * dx + dz * dz)
    out[1] = -wrap(np.arctan2(-dz, dx) - pose[2]) if out[0] > 0 else 0.0


@kernel
def write_state(world, state, which, out):
    """`state` of every robot in the mask which [E, R] into out [E, R, J + 9 + 2 (R - 1)] float32; partners nearest first."""
    homes, robots = which.shape
    joints = state[0].arm.shape[1] if homes else 0
    places = joints + 1
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if not which[e, r]:
                continue
            pose, row, episode = s.pose[r], out[e, r], s.episode
            for j in range(joints):
                row[j] = s.arm[r, j]
            row[joints] = 1.0 if s.held[r] >= 0 else 0.0
            for i in range(2):
                start, goal = world.episodes[episode].start[i], world.episodes[episode].goal[i]
                polar(pose, start[0], start[2], row[places + 2 * i : places + 2 * i + 2])
                polar(pose, goal[0], goal[2], row[places + 4 + 2 * i : places + 6 + 2 * i])
            taken = 1 << r
            for k in range(robots - 1):
                best, chosen = np.inf, 0
                for other in range(robots):
                    d = (s.pose[other, 0] - pose[0]) ** 2 + (s.pose[other, 1] - pose[1]) ** 2
                    if not (taken >> other) & 1 and d < best:
                        best, chosen = d, other
                taken |= 1 << chosen
                polar(pose, s.pose[chosen, 0], s.pose[chosen, 1], row[places + 8 + 2 * k : places + 10 + 2 * k])


@kernel
def write_gps_compass(state, which, out):
    """Egomotion since the start of the episode into out [E, R, 3] float32: metres ahead, metres right, radians right."""
    homes, robots = which.shape
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if which[e, r]:
                dx, dz = s.pose[r, 0] - s.spawn[r, 0], s.pose[r, 1] - s.spawn[r, 1]
                cosine, sine = np.cos(s.spawn[r, 2]), np.sin(s.spawn[r, 2])
                out[e, r, 0] = cosine * dx - sine * dz
                out[e, r, 1] = sine * dx + cosine * dz
                out[e, r, 2] = -wrap(s.pose[r, 2] - s.spawn[r, 2])


@kernel
def near(pose, x, y, z):
    """Whether a robot's base is within REACH of a point."""
    return (x - pose[0]) ** 2 + y * y + (z - pose[1]) ** 2 <= REACH * REACH


@kernel
def moved_by_door(world, h, box, value, p, out):
    """The point p [3], given at joint zero, after door `box` of home h has moved to `value`; out may be p."""
    axis, origin = world.homes[h].door_axis[box], world.homes[h].door_origin[box]
    if not world.homes[h].door_turns[box]:
        for k in range(3):
            out[k] = p[k] + axis[k] * value
        return
    # Most doors are shut: no angle, no sine.
    c, s = (np.cos(value), np.sin(value)) if value else (1.0, 0.0)
    dx, dy, dz = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
    dot = (axis[0] * dx + axis[1] * dy + axis[2] * dz) * (1 - c)
    out[0] = origin[0] + c * dx + s * (axis[1] * dz - axis[2] * dy) + dot * axis[0]
    out[1] = origin[1] + c * dy + s * (axis[2] * dx - axis[0] * dz) + dot * axis[1]
    out[2] = origin[2] + c * dz + s * (axis[0] * dy - axis[1] * dx) + dot * axis[2]


@kernel
def robot_near_place(world, s, r, kind, point):
    """Whether robot r is within REACH of a receptacle kind (any instance; handles move with their doors).

    point [3] is overwritten.
    """
    home = world.homes[s.home]
    box = kind - (KINDS - 3)
    for i in range(home.place_count[kind]):
        # Number by number: a row of a record's array that is handed on is copied with the whole array.
        for k in range(3):
            point[k] = home.place_target[kind, i, k]
        if box >= 0:
            moved_by_door(world, s.home, box, s.door[box], point, point)
        if near(s.pose[r], point[0], point[1], point[2]):
            return True
    return False


@kernel
def object_in_place(world, s, i, kind):
    """Whether object i lies in the placement volume of a receptacle kind."""
    home = world.homes[s.home]
    box = kind - (KINDS - 3)
    for n in range(home.place_count[kind]):
        center, half = home.place_center[kind, n], home.place_half[kind, n]
        x, y, z = s.thing[i, 0] - center[0], s.thing[i, 1] - center[1], s.thing[i, 2] - center[2]
        if box >= 0:
            motion = home.door_motion[box]
            x -= motion[0] * s.door[box]
            y -= motion[1] * s.door[box]
            z -= motion[2] * s.door[box]
        # Nearly all objects lie elsewhere: outside the circle around the volume (and a little more) needs no angle.
        if abs(y) > half[1] or x * x + z * z > SURROUNDING * (half[0] * half[0] + half[2] * half[2]):
            continue
        cosine, sine = np.cos(home.place_yaw[kind, n]), np.sin(home.place_yaw[kind, n])
        if abs(cosine * x - sine * z) <= half[0] and abs(sine * x + cosine * z) <= half[2]:
            return True
    return False


@kernel
def _bits(world, s, robots, own, rest, point):
    """What all robots of a home are told alike: own [R, 14] of each robot, rest [27] of objects and doors."""
    goal = world.episodes[s.episode].goal
    for who in range(robots):
        pose, row = s.pose[who], own[who]
        for i in range(2):
            row[i] = near(pose, s.thing[i, 0], s.thing[i, 1], s.thing[i, 2])
            row[2 + i] = near(pose, goal[i, 0], goal[i, 1], goal[i, 2])
        for kind in range(KINDS):
            row[4 + kind] = robot_near_place(world, s, who, kind, point)
    for i in range(2):
        lying = not is_held(s, i)
        for g in range(2):
            d = 0.0
            for k in range(3):
                d += (s.thing[i, k] - goal[g, k]) ** 2
            rest[12 * i + g] = lying and d <= SUCCESS_RADIUS**2
        for kind in range(KINDS):
            rest[12 * i + 2 + kind] = lying and object_in_place(world, s, i, kind)
    for box in range(3):
        rest[24 + box] = s.door[box] > OPEN_ENOUGH[box]


@njit(cache=True, nogil=True)
def write_predicates(world, state, which, out):
    """The ground-truth bits of spec section 6 into out [E, R, P] uint8, own robot's block first."""
    homes, robots = which.shape
    own, rest, point = np.empty((robots, 4 + KINDS), np.uint8), np.empty(27, np.uint8), np.empty(3)
    for e in range(homes):
        if not which[e].any():
            continue
        s = state[e]
        _bits(world, s, robots, own, rest, point)
        for r in range(robots):
            if not which[e, r]:
                continue
            row = out[e, r]
            for block in range(robots):
                who = r if block == 0 else (block - 1 if block <= r else block)
                for j in range(4 + KINDS):
                    row[(4 + KINDS) * block + j] = own[who, j]
                row[(4 + KINDS) * robots + block] = s.held[who] >= 0
            for j in range(27):
                row[(5 + KINDS) * robots + j] = rest[j]


@kernel
def write_privileged(state, horizon, which, bits, out):
    """What only a critic in training may see, into out [E, R, P] float32: everything that decides how the episode goes on.

    The predicates bits [E, R, B] uint8 (from `write_predicates`, for the same robots), then every robot's x, z (in units of
    HALF_HOME) and sine and cosine of its yaw, own robot first, the share of time left, and which sub-goals are done.
    """
    homes, robots = which.shape
    count = bits.shape[2]
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if not which[e, r]:
                continue
            row = out[e, r]
            for k in range(count):
                row[k] = bits[e, r, k]
            for block in range(robots):
                who = r if block == 0 else (block - 1 if block <= r else block)
                at = count + 4 * block
                row[at], row[at + 1] = s.pose[who, 0] / HALF_HOME, s.pose[who, 1] / HALF_HOME
                row[at + 2], row[at + 3] = np.sin(s.pose[who, 2]), np.cos(s.pose[who, 2])
            at = count + 4 * robots
            row[at] = 1.0 - s.clock / horizon
            for k in range(SUBGOALS):
                row[at + 1 + k] = s.done_by[k] >= 0


@kernel
def write_window(window, clock, which, out):
    """Robots' last steps, oldest first and zero before the episode began, into out [E, R, W, 3] float32.

    window [E, R, W, 3] and clock [E] are `State.window` and `State.clock`, or `Ended.window` and `Ended.steps`.
    """
    homes, robots = which.shape
    for e in range(homes):
        for r in range(robots):
            if which[e, r]:
                one_window(window[e, r], clock[e], out[e, r])


@kernel
def one_window(window, clock, out):
    """One robot's last steps out [W, 3] from window [W, 3] after `clock` steps."""
    length = window.shape[0]
    for k in range(length):
        step = clock - length + k
        for c in range(3):
            out[k, c] = window[step % length, c] if step >= 0 else 0.0


@kernel
def write_laser(world, state, which, out):
    """Free way of the base in RAYS directions into out [E, R, RAYS] float32, in units of LASER_RANGE.

    A ray ends where the floor ends on which a robot's centre may stand: furniture and walls, grown by the robot's radius. Other
    robots do not end it.
    """
    homes, robots = which.shape
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if not which[e, r]:
                continue
            x, z = s.pose[r, 0], s.pose[r, 1]
            for k in range(RAYS):
                angle = s.pose[r, 2] - k * (2 * np.pi / RAYS)
                dx, dz = np.cos(angle), -np.sin(angle)
                metres = 0.0
                while metres < LASER_RANGE:
                    ahead = min(metres + LASER_STEP, LASER_RANGE)
                    if cell_at(world, s.home, x + dx * ahead, z + dz * ahead) == BLOCKED:
                        break
                    metres = ahead
                out[e, r, k] = metres / LASER_RANGE


@kernel
def write_laser_robots(state, which, out):
    """Way until the base would touch another robot's into out [E, R, RAYS] float32, in units of LASER_RANGE."""
    homes, robots = which.shape
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if not which[e, r]:
                continue
            for k in range(RAYS):
                angle = s.pose[r, 2] - k * (2 * np.pi / RAYS)
                dx, dz = np.cos(angle), -np.sin(angle)
                nearest = LASER_RANGE
                for other in range(robots):
                    if other == r:
                        continue
                    ox, oz = s.pose[other, 0] - s.pose[r, 0], s.pose[other, 1] - s.pose[r, 1]
                    along, apart = ox * dx + oz * dz, ox * ox + oz * oz
                    if apart <= COLLISION * COLLISION:
                        nearest = 0.0
                    inside = COLLISION * COLLISION - (apart - along * along)
                    if along > 0 and inside > 0:
                        nearest = min(nearest, max(along - np.sqrt(inside), 0.0))
                out[e, r, k] = nearest / LASER_RANGE


@kernel
def place_before(s, r, steps):
    """Where (x, z) robot r was so many steps ago, at most WINDOW - 1; before the episode began it stood at its start."""
    if s.clock - steps <= 0:
        return s.spawn[r, 0], s.spawn[r, 1]
    slot = (s.clock - 1 - steps) % WINDOW
    return float(s.window[r, slot, 0]), float(s.window[r, slot, 1])


@kernel
def write_past(s, r, who, row):
    """Where robot `who` was LAGS steps ago, as robot r stands now: ahead and right in units of HALF_HOME, into row [12]."""
    cosine, sine = np.cos(s.pose[r, 2]), np.sin(s.pose[r, 2])
    for k in range(len(LAGS)):
        x, z = place_before(s, who, LAGS[k])
        dx, dz = x - s.pose[r, 0], z - s.pose[r, 1]
        row[2 * k] = (cosine * dx - sine * dz) / HALF_HOME
        row[2 * k + 1] = (sine * dx + cosine * dz) / HALF_HOME


@kernel
def since_decision(s, r):
    """Steps since robot r last decided in this episode, in units of TIME, at most 2."""
    return min(min(s.duration[r], s.clock) / TIME, 2.0)


@kernel
def write_track(state, which, out):
    """`track` into out [E, R, 1 + 12 (R - 1)] float32: the time since the robot's last decision, then where every partner was
    LAGS steps ago, partners nearest first."""
    homes, robots = which.shape
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if not which[e, r]:
                continue
            row = out[e, r]
            row[0] = since_decision(s, r)
            taken = 1 << r
            for k in range(robots - 1):
                best, chosen = np.inf, 0
                for other in range(robots):
                    d = (s.pose[other, 0] - s.pose[r, 0]) ** 2 + (s.pose[other, 1] - s.pose[r, 1]) ** 2
                    if not (taken >> other) & 1 and d < best:
                        best, chosen = d, other
                taken |= 1 << chosen
                write_past(s, r, chosen, row[1 + 2 * len(LAGS) * k : 1 + 2 * len(LAGS) * (k + 1)])


@kernel
def write_egomotion(state, which, out):
    """`egomotion` into out [E, R, 13] float32: the time since the last decision, then where the robot itself was."""
    homes, robots = which.shape
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if which[e, r]:
                out[e, r, 0] = since_decision(s, r)
                write_past(s, r, r, out[e, r, 1:])


@njit(cache=True, nogil=True)
def write_receptacles(world, state, which, out):
    """Distance (in units of HALF_HOME), cosine and sine of the heading (positive to the right) of the nearest receptacle of
    every kind into out [E, R, 30] float32; a kind that the home does not have is far off and has no heading."""
    homes, robots = which.shape
    seen = np.empty(2)
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            if not which[e, r]:
                continue
            for kind in range(KINDS):
                row = out[e, r, PLACE_NUMBERS * kind : PLACE_NUMBERS * (kind + 1)]
                if world.homes[s.home].place_count[kind] == 0:
                    row[0], row[1], row[2] = MISSING / HALF_HOME, 0.0, 0.0
                    continue
                x, _, z = entity_point(world, s, r, 4 + kind)
                polar(s.pose[r], x, z, seen)
                row[0], row[1], row[2] = seen[0] / HALF_HOME, np.cos(seen[1]), np.sin(seen[1])
