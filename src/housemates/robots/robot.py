"""A robot body as data: links and joints, arm poses, workspace, head camera, appearance. Other packages read its fields.

Link frames are x forward, y left, z up, with the base frame on the floor under the robot's centre.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from housemates.geometry.kinematics import FIXED, PRISMATIC, REVOLUTE
from housemates.homes.home import Meshes, Parts
from housemates.homes.solids import Colour, Solid, stack

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Link:
    """A rigid piece of the robot and the joint that carries it."""

    name: str
    parent: str
    """Name of the link it hangs on; empty for the base."""
    offset: Point
    """Origin of its frame in the parent's frame at joint value zero, metres. Frames are never turned at zero."""
    axis: Point = (0.0, 0.0, 0.0)
    """Axis of its joint, zero when fixed."""
    kind: int = FIXED
    lower: float = 0.0
    upper: float = 0.0
    """Limits, radians or metres; a joint that turns for ever has -pi and pi."""
    continuous: bool = False


@dataclass(frozen=True, eq=False)
class Chain:
    """The links as arrays for `geometry.kinematics`; the J arm joints move, all others are held."""

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


@dataclass(frozen=True, eq=False)
class Robot:
    """One body. A variation is `dataclasses.replace(FETCH, name=..., camera=...)`."""

    name: str
    """What users call it and recordings keep."""
    links: tuple[Link, ...]
    """From the floor to the gripper, parents first."""
    arm: tuple[str, ...]
    """Links moved by the J arm joints, which all turn, in the order of the joint vector."""
    held: Mapping[str, float]
    """Links of other joints and the values at which those are held, metres or radians; 0 where nothing is said."""
    gripper: str
    """The link of the gripper."""
    grip: Point
    """The end effector in the gripper's frame, metres; a held object's centre is here."""
    workspace: np.ndarray
    """[3, 2] smallest and largest x, y, z of the end effector, base frame, metres."""
    rest: np.ndarray
    """[J] the arm at rest, radians."""
    carry: np.ndarray
    """[J] the arm with an object in hand, radians."""
    reach: np.ndarray
    """[heights, distances, J] the arm reaching straight ahead, radians, on an even grid over the workspace's z and x."""
    camera: Point
    """The head camera in the base frame, metres; it moves only with the base."""
    camera_looks_at: Point
    """A point on its optical axis, base frame, metres."""
    camera_fov: float
    """Horizontal field of view, degrees."""
    solids: Mapping[str, tuple[Solid, ...]]
    """What it looks like: solids by link, link frame, metres."""
    accent: Colour
    """The colour of its solids that the page replaces by the colour of each robot."""
    read_meshes: Callable[[Mapping[str, int]], Meshes | None] | None = None
    """Gives its real triangles for the link indices by name, None where they are not installed; None: it has none."""

    def __post_init__(self) -> None:
        for name in (*self.arm, *self.held, *self.solids, self.gripper):
            if name not in self.index:
                raise ValueError(f"the robot '{self.name}' has no link '{name}' - its links are: {', '.join(self.index)}")
        for name in self.arm:
            if self.links[self.index[name]].kind != REVOLUTE:
                raise ValueError(f"the arm joint of '{name}' does not turn - give links with revolute joints")
        for name, value in self.held.items():
            link = self.links[self.index[name]]
            if not link.lower <= value <= link.upper:
                raise ValueError(f"{name} cannot be held at {value}; choose a value from {link.lower} to {link.upper}")
        for name in ("rest", "carry", "reach"):
            if getattr(self, name).shape[-1] != self.joints:
                raise ValueError(f"{name} has {getattr(self, name).shape[-1]} joints - the arm has {self.joints}")

    @property
    def joints(self) -> int:
        """How many joints the arm has: J."""
        return len(self.arm)

    @cached_property
    def index(self) -> dict[str, int]:
        """Index of a link by name."""
        return {link.name: index for index, link in enumerate(self.links)}

    @property
    def gripper_index(self) -> int:
        """Index of the gripper's link."""
        return self.index[self.gripper]

    @cached_property
    def arm_links(self) -> tuple[int, ...]:
        """Indices of the links that the arm joints move."""
        return tuple(self.index[name] for name in self.arm)

    @cached_property
    def limits(self) -> np.ndarray:
        """[J, 2] smallest and largest angle of the arm joints, radians."""
        return np.array([(self.links[i].lower, self.links[i].upper) for i in self.arm_links])

    @cached_property
    def continuous(self) -> np.ndarray:
        """[J] bool: the joint turns for ever; its angle is wrapped to -pi..pi instead of being stopped."""
        return np.array([self.links[i].continuous for i in self.arm_links])

    @cached_property
    def chain(self) -> Chain:
        """The links as arrays, with everything but the arm held."""
        origin = np.tile(np.eye(4), (len(self.links), 1, 1))
        for index, link in enumerate(self.links):
            origin[index, :3, 3] = link.offset
            value = self.held.get(link.name, 0.0)
            if link.kind == PRISMATIC:
                origin[index, :3, 3] += np.multiply(link.axis, value)
            elif link.kind == REVOLUTE:
                origin[index, :3, :3] = turn(link.axis, value)
        arm = self.arm_links
        return Chain(
            origin=origin,
            axis=np.array([link.axis for link in self.links]),
            kind=np.array([link.kind if index in arm else FIXED for index, link in enumerate(self.links)], np.int64),
            parent=np.array([self.index.get(link.parent, -1) for link in self.links], np.int64),
            joint=np.array([arm.index(index) if index in arm else -1 for index in range(len(self.links))], np.int64),
        )

    @cached_property
    def parts(self) -> Parts:
        """Its solids in their links' frames, with body = link index and label 0."""
        return stack([replace(solid, body=self.index[name]) for name, solids in self.solids.items() for solid in solids])

    def meshes(self) -> Meshes | None:
        """Its real triangles in their links' frames, body = link index and label 0; None where there are none."""
        return None if self.read_meshes is None else self.read_meshes(self.index)

    @cached_property
    def camera_to_base(self) -> np.ndarray:
        """Pose [4, 4] of the head camera in the base frame; the camera looks along its -z, +x is right and +y up."""
        forward = np.subtract(self.camera_looks_at, self.camera)
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, Z) / np.linalg.norm(np.cross(forward, Z))
        pose = np.eye(4)
        pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = right, np.cross(right, forward), -forward, self.camera
        return pose

    def camera_to_world(self, base: np.ndarray) -> np.ndarray:
        """Poses [..., 4, 4] of the head camera in the world for base poses [..., 3] (x, z, yaw)."""
        return base_to_world(base) @ self.camera_to_base


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


def turn(axis: Point, angle: float) -> np.ndarray:
    """Rotation matrix [3, 3] by `angle` radians about a unit axis."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
