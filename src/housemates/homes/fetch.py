"""The Fetch robot as numbers: its links and joints, limits, head camera and collision shapes.

Lengths and limits are facts of the public robot description; no file of it is part of this package. Link frames are
x forward, y left, z up with the base frame on the floor under the robot's centre. Its arm poses are in `fetch_arm`,
what it looks like in `fetch_body`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from housemates.kernels.kinematics import FIXED, PRISMATIC, REVOLUTE

TORSO = 0.15
"""Height at which the torso is held, metres (spec section 2)."""
HEAD_PAN, HEAD_TILT = 0.0, 1.45
"""Head joints, radians. Habitat asks for a tilt of pi/2 (spec section 2); the joint stops at 1.45."""


@dataclass(frozen=True)
class Link:
    """A rigid piece of the robot and the joint that carries it."""

    name: str
    parent: str
    """Name of the link it hangs on; empty for the base."""
    offset: tuple[float, float, float]
    """Origin of its frame in the parent's frame at joint value zero, metres. Frames are never turned at zero."""
    axis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Axis of its joint, zero when fixed."""
    kind: int = FIXED
    lower: float = 0.0
    upper: float = 0.0
    """Limits, radians or metres; a joint that turns for ever has -pi and pi."""
    continuous: bool = False


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

LINKS = (
    Link("base_link", "", (0.0, 0.0, 0.0)),
    Link("torso_fixed_link", "base_link", (-0.086875, 0.0, 0.377425)),
    Link("torso_lift_link", "base_link", (-0.086875, 0.0, 0.37743), Z, PRISMATIC, 0.0, 0.38615),
    Link("head_pan_link", "torso_lift_link", (0.053125, 0.0, 0.603), Z, REVOLUTE, -1.57, 1.57),
    Link("head_tilt_link", "head_pan_link", (0.14253, 0.0, 0.058), Y, REVOLUTE, -0.76, 1.45),
    Link("shoulder_pan_link", "torso_lift_link", (0.119525, 0.0, 0.34858), Z, REVOLUTE, -1.6056, 1.6056),
    Link("shoulder_lift_link", "shoulder_pan_link", (0.117, 0.0, 0.06), Y, REVOLUTE, -1.221, 1.518),
    Link("upperarm_roll_link", "shoulder_lift_link", (0.219, 0.0, 0.0), X, REVOLUTE, -np.pi, np.pi, True),
    Link("elbow_flex_link", "upperarm_roll_link", (0.133, 0.0, 0.0), Y, REVOLUTE, -2.251, 2.251),
    Link("forearm_roll_link", "elbow_flex_link", (0.197, 0.0, 0.0), X, REVOLUTE, -np.pi, np.pi, True),
    Link("wrist_flex_link", "forearm_roll_link", (0.1245, 0.0, 0.0), Y, REVOLUTE, -2.16, 2.16),
    Link("wrist_roll_link", "wrist_flex_link", (0.1385, 0.0, 0.0), X, REVOLUTE, -np.pi, np.pi, True),
    Link("gripper_link", "wrist_roll_link", (0.16645, 0.0, 0.0)),
)
"""The robot from the floor to the gripper, parents first."""

LINK = {link.name: index for index, link in enumerate(LINKS)}
"""Index of a link by name."""
ARM = tuple(range(LINK["shoulder_pan_link"], LINK["wrist_roll_link"] + 1))
"""Links moved by the seven arm joints, in the order of the joint vector."""
ARM_LIMITS = np.array([(LINKS[i].lower, LINKS[i].upper) for i in ARM])
"""[7, 2] smallest and largest angle of the arm joints, radians."""
ARM_CONTINUOUS = np.array([LINKS[i].continuous for i in ARM])
"""[7] bool: the joint turns for ever; its angle is wrapped to -pi..pi instead of being stopped."""

GRIPPER = LINK["gripper_link"]
GRIP = (0.08, 0.0, 0.0)
"""The end effector in the gripper's frame, metres (spec section 2); a held object's centre is here."""
RESTING_GRIP = (0.5, 0.0, 1.0)
"""Where the end effector should rest, base frame, metres (spec section 2)."""
WORKSPACE = np.array([(0.4, 1.2), (-0.7, 0.7), (0.25, 1.5)])
"""[3, 2] smallest and largest x, y, z of the end effector, base frame, metres (spec section 2)."""

CAMERA = (0.25, 0.0, 1.2)
"""The head camera in the base frame, metres; it moves only with the base (spec section 2)."""
CAMERA_LOOKS_AT = (0.75, 0.0, 1.0)
"""A point on its optical axis, base frame, metres: 21.8 degrees down."""
CAMERA_FOV = 90.0
"""Horizontal field of view, degrees."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The links as arrays for `kernels.kinematics`; the seven arm joints move, torso and head are held."""

    origin: np.ndarray
    """[L, 4, 4] float64: each link's frame in its parent's at joint zero."""
    axis: np.ndarray
    """[L, 3] float64."""
    kind: np.ndarray
    """[L] int64: FIXED, REVOLUTE or PRISMATIC."""
    parent: np.ndarray
    """[L] int64: index of the parent link, -1 for the base."""
    joint: np.ndarray
    """[L] int64: index into the joint vector, -1 when fixed."""


@lru_cache(maxsize=8)
def chain(torso: float = TORSO, pan: float = HEAD_PAN, tilt: float = HEAD_TILT) -> Chain:
    """The robot with its torso (metres) and head (radians) held at the given values."""
    held = {"torso_lift_link": torso, "head_pan_link": pan, "head_tilt_link": tilt}
    for name, value in held.items():
        link = LINKS[LINK[name]]
        if not link.lower <= value <= link.upper:
            raise ValueError(f"{name} cannot be held at {value}; choose a value from {link.lower} to {link.upper}")
    origin = np.tile(np.eye(4), (len(LINKS), 1, 1))
    for index, link in enumerate(LINKS):
        origin[index, :3, 3] = link.offset
        value = held.get(link.name, 0.0)
        if link.kind == PRISMATIC:
            origin[index, :3, 3] += np.multiply(link.axis, value)
        elif link.kind == REVOLUTE:
            origin[index, :3, :3] = turn(link.axis, value)
    return Chain(
        origin=origin,
        axis=np.array([link.axis for link in LINKS]),
        kind=np.array([link.kind if index in ARM else FIXED for index, link in enumerate(LINKS)], np.int64),
        parent=np.array([LINK.get(link.parent, -1) for link in LINKS], np.int64),
        joint=np.array([ARM.index(index) if index in ARM else -1 for index in range(len(LINKS))], np.int64),
    )


def base_to_world(base: np.ndarray) -> np.ndarray:
    """Transforms [..., 4, 4] from the base frame (x forward, y left, z up) to the world for base poses [..., 3] (x, z, yaw)."""
    base = np.asarray(base, dtype=float)
    c, s = np.cos(base[..., 2]), np.sin(base[..., 2])
    out = np.zeros((*base.shape[:-1], 4, 4))
    out[..., 0, 0], out[..., 2, 0] = c, -s
    out[..., 0, 1], out[..., 2, 1] = -s, -c
    out[..., 1, 2] = 1.0
    out[..., 0, 3], out[..., 2, 3] = base[..., 0], base[..., 1]
    out[..., 3, 3] = 1.0
    return out


def camera_to_base() -> np.ndarray:
    """Pose [4, 4] of the head camera in the base frame; the camera looks along its -z, +x is right and +y up."""
    forward = np.subtract(CAMERA_LOOKS_AT, CAMERA)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, Z) / np.linalg.norm(np.cross(forward, Z))
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = right, np.cross(right, forward), -forward, CAMERA
    return pose


def camera_to_world(base: np.ndarray) -> np.ndarray:
    """Poses [..., 4, 4] of the head camera in the world for base poses [..., 3] (x, z, yaw)."""
    return base_to_world(base) @ camera_to_base()


@dataclass(frozen=True, eq=False)
class Capsules:
    """C thick line segments around the moving arm, for collisions and contact."""

    link: np.ndarray
    """[C] int64: the link each is fixed to."""
    start: np.ndarray
    """[C, 3] float64, link frame, metres."""
    end: np.ndarray
    """[C, 3] float64, link frame, metres."""
    radius: np.ndarray
    """[C] float64, metres."""


# Motor housings stick out to one side of the joints, hence the ends beside the axis.
_CAPSULES = (
    ("shoulder_pan_link", (0.0, 0.0, 0.0), (0.11, -0.02, 0.06), 0.075),
    ("shoulder_lift_link", (0.0, 0.015, 0.0), (0.14, 0.0, 0.0), 0.07),
    ("upperarm_roll_link", (0.0, 0.0, 0.0), (0.125, -0.015, 0.0), 0.07),
    ("elbow_flex_link", (0.0, 0.015, 0.0), (0.13, 0.0, 0.0), 0.07),
    ("forearm_roll_link", (0.0, 0.0, 0.0), (0.125, -0.045, 0.0), 0.065),
    ("wrist_flex_link", (0.0, 0.005, 0.0), (0.08, 0.0, 0.0), 0.07),
    ("wrist_roll_link", (0.0, 0.0, 0.0), (0.01, 0.0, 0.0), 0.065),
    ("gripper_link", (-0.11, 0.0, 0.0), (0.0, 0.0, 0.0), 0.075),
)


def capsules() -> Capsules:
    """The arm's capsules, one for each link from the shoulder to the gripper."""
    names, starts, ends, radii = zip(*_CAPSULES, strict=True)
    return Capsules(np.array([LINK[n] for n in names], np.int64), np.array(starts), np.array(ends), np.array(radii))


def turn(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    """Rotation matrix [3, 3] by `angle` radians about a unit axis."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
