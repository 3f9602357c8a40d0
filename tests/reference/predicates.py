"""Predicates, sub-goals and success as the specification says them, one home at a time: kernels are compared with them."""

from dataclasses import dataclass

import numpy as np

from housemates.homes.home import OPENABLE, RECEPTACLES, Home, body_poses
from housemates.tasks.actions import (
    CLOSED_BELOW,
    ENTITIES,
    GOALS,
    OBJECTS,
    OPEN_ABOVE,
    REACH,
    SUCCESS_RADIUS,
    Subgoal,
    door_of,
)


@dataclass(frozen=True, eq=False)
class Situation:
    """One home at one moment: everything that predicates, sub-goals and success depend on."""

    home: Home
    robots: np.ndarray
    """[R, 2 or more]: x, z (and yaw) of each robot's base, which stands on the floor at y = 0."""
    objects: np.ndarray
    """[2, 3] where the target objects' centres are now, metres."""
    goals: np.ndarray
    """[2, 3] where they belong."""
    held_by: tuple[int, int]
    """Which robot holds each object, -1 for nobody."""
    joints: np.ndarray
    """[J] joint values, metres or radians."""


def predicates(now: Situation, self_index: int = 0) -> np.ndarray:
    """The bits of `predicate_names`, bool, as robot `self_index` reads them: itself first, then the others by index."""
    count = len(now.robots)
    order = [self_index, *(r for r in range(count) if r != self_index)]
    bits = [robot_at(now, r, x) for r in order for x in ENTITIES]
    bits += [r in now.held_by for r in order]
    bits += [object_at(now, x, y) for x in range(len(OBJECTS)) for y in GOALS + RECEPTACLES]
    bits += [is_open(now.home, kind, now.joints) for kind in OPENABLE]
    return np.array(bits, bool)


def robot_at(now: Situation, robot: int, entity: str) -> bool:
    """Whether a robot is within REACH of one of ENTITIES; of two chairs or counter tops the nearer counts."""
    if entity in OBJECTS:
        points = now.objects[OBJECTS.index(entity)][None]
    elif entity in GOALS:
        points = now.goals[GOALS.index(entity)][None]
    else:
        points = receptacle_targets(now.home, entity, now.joints)
    base = np.array([now.robots[robot][0], 0.0, now.robots[robot][1]])
    return bool(np.linalg.norm(points - base, axis=1).min() <= REACH)


def object_at(now: Situation, index: int, place: str) -> bool:
    """Whether object `index` lies at one of GOALS, or in the volume of one of RECEPTACLES; never while it is held."""
    if now.held_by[index] >= 0:
        return False
    position = np.asarray(now.objects[index], float)
    if place in GOALS:
        return bool(np.linalg.norm(position - now.goals[GOALS.index(place)]) <= SUCCESS_RADIUS)
    poses = body_poses(now.home.joints, now.joints)
    for found in now.home.instances(place):
        receptacle = now.home.receptacles[found]
        pose = poses[receptacle.joint + 1]
        at_zero = pose[:3, :3].T @ (position - pose[:3, 3])
        if (np.abs(receptacle.local(at_zero)) <= np.asarray(receptacle.half)).all():
            return True
    return False


def receptacle_targets(home: Home, kind: str, joints: np.ndarray) -> np.ndarray:
    """Points [K, 3] a robot goes to for one kind of receptacle, one per instance; a handle moves with its door."""
    poses = body_poses(home.joints, joints)
    points = []
    for receptacle in (home.receptacles[i] for i in home.instances(kind)):
        pose = poses[(receptacle.joint if receptacle.handle is None else receptacle.door) + 1]
        points.append(pose[:3, :3] @ np.asarray(receptacle.target, float) + pose[:3, 3])
    return np.array(points)


def is_open(home: Home, kind: str, joints: np.ndarray) -> bool:
    """Whether an openable receptacle stands open far enough to reach into."""
    joint = door_of(home, kind)
    return bool(joints[joint] > OPEN_ABOVE[home.joints[joint].kind])


def is_closed(home: Home, kind: str, joints: np.ndarray) -> bool:
    """Whether an openable receptacle is shut, so that the open skill may start."""
    return bool(abs(joints[door_of(home, kind)]) < CLOSED_BELOW)


def subgoal_holds(subgoal: Subgoal, now: Situation) -> bool:
    """Whether a sub-goal is true at this moment (the simulator pays it the first time it is)."""
    if subgoal.verb == "open":
        return is_open(now.home, subgoal.thing, now.joints)
    if subgoal.verb == "pick":
        return now.held_by[subgoal.index] >= 0
    return object_at(now, subgoal.index, GOALS[subgoal.index])


def succeeded(now: Situation) -> bool:
    """Whether every object lies within SUCCESS_RADIUS of its own goal and nobody holds it (spec section 1)."""
    return all(object_at(now, i, GOALS[i]) for i in range(len(OBJECTS)))
