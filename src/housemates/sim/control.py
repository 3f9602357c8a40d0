"""Low-level control: a few numbers per robot and simulation step (ten for Fetch) move its base, arm and grip (spec section 3).

It works on the same state as the skills and pays the same reward. The hand also pulls doors and drawers by their handles;
arms pass through furniture, as in the paper's kinematic simulation, but no hand takes anything out of a closed receptacle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from housemates.geometry.kinematics import forward_kinematics
from housemates.geometry.shapes import sphere_touches_box
from housemates.homes.navigation import approach_kernel
from housemates.homes.objects import half_extents
from housemates.robots import DEFAULT, Robot
from housemates.sim.habits import FIRST, after_step, paused
from housemates.sim.rules import WINDOW
from housemates.sim.sensor_kernels import moved_by_door
from housemates.sim.skills import (
    OPEN_ENOUGH,
    OPENED,
    OPENING,
    PICKING,
    PLACING,
    carry,
    draw_along,
    drive,
    finished,
    is_held,
    move,
    move_arm,
    turn,
    wrap,
)
from housemates.sim.state import MUST_DECIDE
from housemates.sim.step import begin, effects, end_step, finish, next_of_plan, uniform
from housemates.tasks.actions import (
    MOVE_FORWARD,
    NO_OP,
    OPEN,
    OPEN_END,
    PICK,
    PICK_END,
    PLACE,
    PLACE_END,
    SUCCESS_RADIUS,
    TURN_LEFT,
    TURN_RIGHT,
)

FIRST_JOINT = 2
"""Index of the first arm joint among a robot's numbers: base forward, base turn to the left, the arm joints, grip."""
GRIP_NUMBER = -1
"""Index of the grip: 0 or more tries to grasp (or keeps hold), less lets go."""
JOINT_STEP = 0.0125
"""Radians an arm joint turns in one step at full command (spec section 3)."""
SUCTION = 0.04
"""Radius of the ball around the end effector that takes what it touches, metres: it reaches back to the fingertips."""
HANDLE = 0.1
"""A grasping hand this near to a handle pulls its door along, metres."""

HALF = half_extents().astype(np.float64)


def control_size(robot: Robot = DEFAULT) -> int:
    """Numbers per robot and step; each in -1..1 (others are clipped)."""
    return FIRST_JOINT + robot.joints + 1


class Scratch(NamedTuple):
    """Memory that the kernels write into; one per batch, rows are homes."""

    links: np.ndarray
    """[E, R, L, 4, 4] float64: every link of every robot in the world."""
    hand: np.ndarray
    """[E, 3] float64: the end effector of the robot whose turn it is."""
    turned: np.ndarray
    """[E, 3, 3] float64: the turn of an object."""
    place: np.ndarray
    """[E, 1, 3] float64: where something comes to rest, or a handle is."""
    cells: np.ndarray
    """[E, 1, 4] int32: approach cells of that place."""


def new_scratch(homes: int, robots: int, robot: Robot) -> Scratch:
    """Scratch memory for E homes with R robots of that body."""
    return Scratch(
        links=np.zeros((homes, robots, len(robot.links), 4, 4)),
        hand=np.zeros((homes, 3)),
        turned=np.zeros((homes, 3, 3)),
        place=np.zeros((homes, 1, 3)),
        cells=np.zeros((homes, 1, 4), np.int32),
    )


def control(chain, world, supports, records, fields, ended, rules, actions, low, high, stored, autoreset, scratch) -> None:
    """One simulation step of homes low..high under actions [E, R, numbers] float32: drive, find the hands, let them act.

    chain: of the robot; fields: `state.Fields` of the records; robots that are not controllable follow their scripts.
    """
    move_all(world, records, rules, actions, low, high)
    forward_kinematics(
        chain.origin, chain.axis, chain.kind, chain.parent, chain.joint, fields.arm[low:high], fields.pose[low:high],
        scratch.links[low:high],
    )  # fmt: skip
    act_all(world, supports, records, ended, rules, actions, low, high, stored, autoreset, scratch)


@njit(cache=True, nogil=True)
def command(actions, e, r, n):
    """One of a robot's numbers, clipped to -1..1."""
    return min(max(float(actions[e, r, n]), -1.0), 1.0)


@njit(cache=True, nogil=True)
def move_all(world, state, rules, actions, low, high):
    """Bases and arms of homes low..high make their step, all from the old state."""
    for e in range(low, high):
        s = state[e]
        s.outcome = 0
        if s.over:
            continue
        for r in range(s.robots):
            if s.controllable[r]:
                move_robot(world, s, rules, actions, e, r)


@njit(cache=True, nogil=True)
def move_robot(world, s, rules, actions, e, r):
    """Base (no sliding: a blocked robot stays) and arm of one robot."""
    s.action[r], s.executed[r] = MUST_DECIDE, NO_OP
    s.terms[r, :] = 0.0
    s.discounted[r], s.factor[r], s.duration[r] = 0.0, 1.0, 0
    left = command(actions, e, r, 1) * rules.turn
    if left != 0.0:
        turn(s, r, left, rules.turn)
        s.executed[r] = TURN_LEFT if left > 0 else TURN_RIGHT
    ahead = command(actions, e, r, 0) * rules.forward
    if ahead != 0.0 and drive(world, s, r, ahead):
        s.executed[r] = MOVE_FORWARD
    task = world.task[0]
    for j in range(s.arm.shape[1]):
        angle = s.arm[r, j] + command(actions, e, r, FIRST_JOINT + j) * JOINT_STEP
        s.arm[r, j] = wrap(angle) if task.arm_turns[j] else min(max(angle, task.arm_limits[j, 0]), task.arm_limits[j, 1])
        s.arm_goal[r, j] = s.arm[r, j]


@njit(cache=True, nogil=True)
def end_effector(link, grip, out):
    """World point of the end effector into out [3], from the gripper's transform [4, 4]; grip [3]: where it is there."""
    for k in range(3):
        out[k] = link[k, 0] * grip[0] + link[k, 1] * grip[1] + link[k, 2] * grip[2] + link[k, 3]


@njit(cache=True, nogil=True)
def touches(world, s, i, hand, turned, place):
    """Whether the suction ball at hand [3] touches object i."""
    c, n = np.cos(s.thing_yaw[i]), np.sin(s.thing_yaw[i])
    turned[:, :] = 0.0
    turned[0, 0], turned[0, 2], turned[1, 1], turned[2, 0], turned[2, 2] = c, n, 1.0, -n, c
    place[:] = s.thing[i]
    return sphere_touches_box(hand, SUCTION, place, turned, HALF[world.episodes[s.episode].kind[i]])


@njit(cache=True, nogil=True)
def grasp(world, s, r, hand, turned, place):
    """Robot r's empty hand takes the nearest object it touches, if no robot has it and no closed door is between."""
    best, chosen = np.inf, -1
    for i in range(2):
        box = s.inside[i]
        if is_held(s, i) or (box >= 0 and s.door[box] <= OPEN_ENOUGH[box]):
            continue
        distance = 0.0
        for k in range(3):
            distance += (s.thing[i, k] - hand[k]) ** 2
        if distance < best and touches(world, s, i, hand, turned, place):
            best, chosen = distance, i
    if chosen >= 0:
        s.held[r], s.executed[r] = chosen, PICK + chosen
        # In a hand an object turns with the robot: its yaw is then counted from the robot's (see `cameras`).
        s.thing_yaw[chosen] = wrap(s.thing_yaw[chosen] - s.pose[r, 2])
    return chosen


@njit(cache=True, nogil=True)
def pull(world, s, r, hand, place):
    """A grasping empty hand at a handle takes the door or drawer along. Returns which one it pulls, -1 if none."""
    home = world.homes[s.home]
    for box in range(3):
        moved_by_door(world, s.home, box, s.door[box], home.handle[box], place)
        gap = np.sqrt((place[0] - hand[0]) ** 2 + (place[1] - hand[1]) ** 2 + (place[2] - hand[2]) ** 2)
        if gap > HANDLE:
            continue
        axis, origin, handle = home.door_axis[box], home.door_origin[box], home.handle[box]
        if home.door_turns[box]:
            value = angle_about(axis, origin, handle, hand)
        else:
            value = 0.0
            for k in range(3):
                value += axis[k] * (hand[k] - handle[k])
        s.door[box] = min(max(value, 0.0), max(OPENED[box], s.door[box]))
        for i in range(2):
            if s.inside[i] == box and not is_held(s, i):
                draw_along(world, s, i)
        s.executed[r] = OPEN + box
        return box
    return -1


@njit(cache=True, nogil=True)
def angle_about(axis, origin, start, end):
    """Radians from point start [3] to point end [3] about a unit axis [3] through origin [3]."""
    ax, ay, az = axis[0], axis[1], axis[2]
    ux, uy, uz = start[0] - origin[0], start[1] - origin[1], start[2] - origin[2]
    vx, vy, vz = end[0] - origin[0], end[1] - origin[1], end[2] - origin[2]
    along_u, along_v = ux * ax + uy * ay + uz * az, vx * ax + vy * ay + vz * az
    across = ax * (uy * vz - uz * vy) + ay * (uz * vx - ux * vz) + az * (ux * vy - uy * vx)
    return np.arctan2(across, ux * vx + uy * vy + uz * vz - along_u * along_v)


@njit(cache=True, nogil=True)
def release(world, supports, s, r, place, cells):
    """Robot r lets go: the object comes to rest on the highest surface below its middle, and skills find it there.

    place [1, 3] and cells [1, 4] are scratch. Returns the object.
    """
    i, h = s.held[r], s.home
    s.held[r], s.inside[i] = -1, -1
    s.thing_yaw[i] = wrap(s.thing_yaw[i] + s.pose[r, 2])
    kind = world.episodes[s.episode].kind[i]
    x, y, z = s.thing[i, 0], s.thing[i, 1], s.thing[i, 2]
    best, sx, sy, sz = 0.0, 0.0, 0.0, 0.0
    for row in range(supports.start[h], supports.start[h + 1]):
        support = supports.rows[row]
        opened = s.door[support.box] if support.box >= 0 else 0.0
        mx, my, mz = support.motion[0] * opened, support.motion[1] * opened, support.motion[2] * opened
        dx, dz = x - support.center[0] - mx, z - support.center[1] - mz
        along, across = dx * support.axis[0] + dz * support.axis[1], dz * support.axis[0] - dx * support.axis[1]
        top = support.height + my
        if abs(along) <= support.half[0] and abs(across) <= support.half[1] and best - support.favour <= top <= y:
            best, sx, sy, sz = top, mx, my, mz
            s.inside[i] = support.box
    s.rest[i, 0], s.rest[i, 1], s.rest[i, 2] = x - sx, best - sy + HALF[kind, 1], z - sz
    draw_along(world, s, i)
    place[0, :] = s.rest[i]
    first, last = supports.approach_start[h], supports.approach_start[h + 1]
    approach_kernel(supports.approach_xz[first:last], place, cells)
    for k in range(4):
        s.approach[i, k] = cells[0, k]
    goal, distance = world.episodes[s.episode].goal[i], 0.0
    for k in range(3):
        distance += (s.thing[i, k] - goal[k]) ** 2
    if distance <= SUCCESS_RADIUS**2:
        s.executed[r] = PLACE + i
    return i


@njit(cache=True, nogil=True)
def achieve(world, s, r):
    """Whether what robot r has just done is a sub-goal that was not achieved before; it is then this robot's."""
    action, reached = s.executed[r], -1
    if PICK <= action < PICK_END:
        reached = world.task[0].subgoal_of[PICKING, action - PICK]
    elif PLACE <= action < PLACE_END:
        reached = world.task[0].subgoal_of[PLACING, action - PLACE]
    elif OPEN <= action < OPEN_END and s.door[action - OPEN] > OPEN_ENOUGH[action - OPEN]:
        reached = world.task[0].subgoal_of[OPENING, action - OPEN]
    if reached >= 0 and s.done_by[reached] < 0:
        s.done_by[reached] = r
        return True
    return False


@njit(cache=True, nogil=True)
def use_hands(world, supports, s, actions, e, scratch):
    """All hands of a home act, in random order; returns how many new sub-goals they achieved."""
    new, robots, task = 0, s.robots, world.task[0]
    first = int(uniform(s) * robots) if robots > 1 else 0
    for k in range(robots):
        r = (first + k) % robots
        if not s.controllable[r]:
            continue
        end_effector(scratch.links[e, r, task.gripper], task.grip, scratch.hand[e])
        if s.held[r] >= 0:
            for n in range(3):
                s.thing[s.held[r], n] = scratch.hand[e, n]
            if command(actions, e, r, GRIP_NUMBER) < 0:
                release(world, supports, s, r, scratch.place[e], scratch.cells[e])
        elif command(actions, e, r, GRIP_NUMBER) >= 0:
            taken = grasp(world, s, r, scratch.hand[e], scratch.turned[e], scratch.place[e, 0])
            if taken >= 0:
                for n in range(3):
                    s.thing[taken, n] = scratch.hand[e, n]
            else:
                pull(world, s, r, scratch.hand[e], scratch.place[e, 0])
        new += achieve(world, s, r)
    return new


@njit(cache=True, nogil=True)
def follow_script(world, s, rules, r):
    """The motion of a robot that is not controlled from outside. True when a navigation has arrived."""
    if s.action[r] == MUST_DECIDE:
        begin(world, s, r, next_of_plan(world, s, r))
    return not paused(s, r) and move(world, s, rules, r)


@njit(cache=True, nogil=True)
def act(world, supports, s, rules, actions, e, scratch):
    """The rest of a home's step after bases and arms have moved. Returns the outcome, 0 if the episode goes on."""
    robots, arrived, scripted = s.robots, 0, False
    new = use_hands(world, supports, s, actions, e, scratch)
    for r in range(robots):
        if s.controllable[r]:
            s.idle[r] += s.executed[r] == NO_OP
        else:
            scripted = True
            arrived |= int(follow_script(world, s, rules, r)) << r
    if scripted:
        new += scripted_effects(world, s)
    slot = s.clock % WINDOW
    s.clock += 1
    for r in range(robots):
        if not s.controllable[r]:
            carry(s, r)
            move_arm(s, r)
            s.elapsed[r] += 1
            if finished(s, r, (arrived >> r) & 1 == 1):
                s.action[r] = MUST_DECIDE
            if s.script[r] >= FIRST:
                after_step(world, s, r)
        s.window[r, slot, 0], s.window[r, slot, 1], s.window[r, slot, 2] = s.pose[r, 0], s.pose[r, 1], s.executed[r]
    return end_step(world, s, rules, new)


@njit(cache=True, nogil=True)
def scripted_effects(world, s):
    """`effects` of the scripted robots alone: what the others did in this step stays written down."""
    kept = 0
    for r in range(s.robots):
        kept |= int(s.executed[r]) << (8 * r)
    new = effects(world, s)
    for r in range(s.robots):
        if s.controllable[r]:
            # `effects` took a robot without a skill for an idle one.
            s.executed[r] = (kept >> (8 * r)) & 255
            s.idle[r] -= 1
    return new


@njit(cache=True, nogil=True)
def act_all(world, supports, state, ended, rules, actions, low, high, stored, autoreset, scratch):
    """`act` in homes low..high; ended episodes are written down and, with autoreset, the next ones begin."""
    for e in range(low, high):
        s = state[e]
        if s.over:
            continue
        outcome = act(world, supports, s, rules, actions, e, scratch)
        if outcome > 0:
            finish(world, s, ended[e], outcome, rules, stored, autoreset)
