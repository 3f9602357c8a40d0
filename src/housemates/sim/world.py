"""The homes of a batch as flat arrays for the kernels: navigation, receptacles, and surfaces for released objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from housemates.homes.home import OPENABLE, RECEPTACLES, Home
from housemates.homes.navigation import Navigation, approach_for_points, navigation
from housemates.robots import DEFAULT, Robot
from housemates.sim.habits import FIRST
from housemates.sim.scripts import SOLO, plans
from housemates.sim.skills import BLOCKED
from housemates.sim.state import blank
from housemates.tasks.actions import VERBS, door_of, subgoal_codes
from housemates.tasks.episodes import Episodes
from housemates.tasks.task import MOST_STEPS
from housemates.tasks.tasks import get_task

SMALLEST = 0.03
"""A top narrower than this to either side holds nothing, metres."""
LEVEL = 0.999
"""Cosine of the tilt up to which a top counts as level."""
FAVOUR = 0.02
"""A receptacle counts as this much higher than the furniture it belongs to, so that its contents are known to lie in it."""

SUPPORT = np.dtype(
    [
        ("center", "f8", (2,)),  # (x, z), joint zero
        ("axis", "f8", (2,)),  # Direction (x, z) of its first side
        ("half", "f8", (2,)),  # Half extents along and across that direction
        ("height", "f8"),  # Metres above the floor
        ("favour", "f8"),
        ("box", "i8"),  # Which of OPENABLE it lies in, -1 none
        ("motion", "f8", (3,)),  # How it moves per unit of that joint
    ],
    align=True,
)


class Supports(NamedTuple):
    """All level surfaces of n homes, furniture first, then receptacles; beneath them all lies the floor."""

    start: np.ndarray
    """[n + 1] int64: home h owns rows start[h] to start[h + 1] - 1."""
    rows: np.ndarray
    """[all] SUPPORT."""
    approach_start: np.ndarray
    """[n + 1] int64: the same for approach_xz."""
    approach_xz: np.ndarray
    """[all approach cells, 2] float64, their world (x, z)."""


def supports(world: World, homes: Sequence[Home]) -> Supports:
    """The supports of all homes of a world."""
    each = [np.concatenate([_tops(home), _receptacles(home)]) for home in homes]
    offset = world.homes["approach_start"]
    counts = np.diff(np.append(offset, len(world.approach_cell)))
    cells = world.approach_cell + np.repeat(world.homes["cell_start"], counts)
    return Supports(
        start=np.concatenate([[0], np.cumsum([len(rows) for rows in each])]).astype(np.int64),
        rows=np.concatenate(each),
        approach_start=np.append(offset, len(world.approach_cell)).astype(np.int64),
        approach_xz=np.ascontiguousarray(world.cell_xz[cells]),
    )


def _tops(home: Home) -> np.ndarray:
    """Level upper sides of a home's solids that stand still; round ones count as the square inside."""
    parts, rows = home.parts, []
    for n in np.flatnonzero(parts.body == 0):
        rotation, half = parts.rotation[n].astype(float), parts.half[n].astype(float)
        up = int(np.argmax(np.abs(rotation[1])))
        if abs(rotation[1, up]) < LEVEL or (parts.sides[n] and up != 1):
            continue
        a, b = (k for k in range(3) if k != up)
        shrink = 1.0
        if parts.sides[n]:
            shrink = np.sqrt(0.5) * (parts.taper[n] if rotation[1, up] > 0 else 1.0)
        height, size = float(parts.center[n, 1]) + half[up], half[[a, b]] * shrink
        if height > SMALLEST and size.min() >= SMALLEST:
            rows.append((parts.center[n, [0, 2]], rotation[[0, 2], a], size, height, 0.0, -1, (0.0, 0.0, 0.0)))
    return np.array(rows, SUPPORT)


def _receptacles(home: Home) -> np.ndarray:
    doors = [door_of(home, kind) for kind in OPENABLE]
    rows = np.zeros(len(home.receptacles), SUPPORT)
    for row, receptacle in zip(rows, home.receptacles, strict=True):
        row["center"], row["half"] = np.array(receptacle.center)[[0, 2]], np.array(receptacle.half)[[0, 2]]
        row["axis"] = np.cos(receptacle.yaw), -np.sin(receptacle.yaw)
        row["height"], row["favour"] = receptacle.surface, FAVOUR
        row["box"] = doors.index(receptacle.door) if receptacle.door in doors else -1
        if receptacle.joint in doors and row["box"] >= 0:
            row["motion"] = home.joints[receptacle.joint].axis
    return rows


KINDS = len(RECEPTACLES)
INSTANCES = 2
"""Two chairs, two counter tops."""


HOME = np.dtype(
    [
        ("origin", "f8", (2,)),  # (x, z) of cell [0, 0]
        ("size", "i4", (2,)),  # Rows and columns of the floor grid
        ("cells", "i8"),  # Floor cells
        ("cell_start", "i8"),  # Offset into World.cell_xz
        ("approach_start", "i8"),  # Offset into World.approach_cell
        ("corner_start", "i8"),  # Offset into World.corner
        ("place_count", "i1", (KINDS,)),  # Instances of each receptacle kind
        ("place_target", "f8", (KINDS, INSTANCES, 3)),  # The point robots go to (joint zero)
        ("place_approach", "i2", (KINDS, INSTANCES, 4)),  # Approach cells, -1 for none
        ("place_center", "f8", (KINDS, INSTANCES, 3)),  # Middle of the placement volume
        ("place_yaw", "f8", (KINDS, INSTANCES)),
        ("place_half", "f8", (KINDS, INSTANCES, 3)),
        ("handle", "f8", (3, 3)),  # Handles of fridge and drawers, closed
        ("door_joint", "i8", (3,)),  # Index into Home.joints
        ("door_axis", "f8", (3, 3)),
        ("door_origin", "f8", (3, 3)),
        ("door_turns", "u1", (3,)),  # Revolute (1) or prismatic (0)
        ("door_motion", "f8", (3, 3)),  # How things inside move per unit of joint value (zero in the fridge)
    ],
    align=True,
)
"""What the kernels know of one home."""

EPISODE = np.dtype(
    [
        ("home", "i4"),  # Index into the homes
        ("kind", "i8", (2,)),  # Type of each object
        ("start", "f8", (2, 3)),  # Objects at the start
        ("yaw", "f8", (2,)),
        ("start_inside", "i1", (2,)),  # Which openable receptacle each object starts in, -1 none
        ("start_approach", "i2", (2, 4)),
        ("goal", "f8", (2, 3)),
        ("goal_inside", "i1", (2,)),
        ("goal_approach", "i2", (2, 4)),
        ("spawn", "f8", (4, 3)),  # Stored starts of robots (x, z, yaw)
    ],
    align=True,
)
"""One episode."""


PLANS, PLAN_STEPS = FIRST, MOST_STEPS


@lru_cache
def task_type(reach: tuple[int, int, int]) -> np.dtype:
    """The record TASK: what is the same in every episode of a task. reach: shape [heights, distances, J] of `Robot.reach`."""
    joints = reach[2]
    return np.dtype(
        [
            ("door_start", "f8", (3,)),  # Joint values at the start of an episode
            ("subgoal_of", "i8", (len(VERBS), 3)),  # Number of the sub-goal, -1 if it is none
            ("plans", "i1", (PLANS, PLAN_STEPS)),  # Scripted plans, padded with -1
            ("solo", "i8", (2,)),  # The plans that do the whole task
            ("arm_poses", "f8", (2, joints)),  # Rest and carry
            ("reach", "f8", reach),  # The arm reaching out, as `Robot.reach`
            ("workspace", "f8", (3, 2)),  # As `Robot.workspace`
            ("arm_limits", "f8", (joints, 2)),  # Radians
            ("arm_turns", "u1", (joints,)),  # Whether a joint turns for ever
            ("gripper", "i8"),  # Index of the gripper's link
            ("grip", "f8", (3,)),  # The end effector in the gripper's frame
        ],
        align=True,
    )


class World(NamedTuple):
    """Everything that never changes while robots play; n homes, N episodes."""

    cell: float
    """Grid spacing, metres."""
    homes: np.ndarray
    """[n] HOME."""
    episodes: np.ndarray
    """[N] EPISODE."""
    free: np.ndarray
    """[n, H, W] bool, the main region of each floor."""
    cell_of: np.ndarray
    """[n, H, W] uint16, index of the floor cell, BLOCKED elsewhere."""
    cell_xz: np.ndarray
    """[all cells, 2] float64, their world (x, z)."""
    approach_cell: np.ndarray
    """[all approach cells] int64, their floor cells."""
    corner: np.ndarray
    """uint16: from floor cell c towards approach cell a of home h the next corner is [corner_start + a * cells + c]."""
    task: np.ndarray
    """[1] TASK."""


def pack(episodes: Episodes, homes: Sequence[Home], robot: Robot = DEFAULT) -> World:
    """Everything the kernels need to play these episodes in these homes, all robots with that body."""
    if tuple(home.content_hash for home in homes) != tuple(episodes.hashes):
        raise ValueError("these episodes were made for other homes - load both with load_episodes and load_split")
    if episodes.approach is None:
        raise ValueError("these episodes have no approach cells - make them with housemates.tasks.episodes.with_approach")
    ways = [navigation(home) for home in homes]
    floors = [home.floor for home in homes]
    height, width = (max(f.free.shape[k] for f in floors) for k in range(2))
    free = np.zeros((len(homes), height, width), np.bool_)
    cell_of = np.full((len(homes), height, width), BLOCKED, np.uint16)
    for k, floor in enumerate(floors):
        rows, cols = floor.main.shape
        free[k, :rows, :cols] = floor.main
        cell_of[k, :rows, :cols] = np.where(floor.main, floor.cell_of, BLOCKED)
    return World(
        cell=float(floors[0].cell),
        homes=_homes(homes, ways),
        episodes=_episodes(episodes, episodes.approach, homes),
        free=free,
        cell_of=cell_of,
        cell_xz=np.concatenate([np.asarray(f.origin) + f.cells[:, ::-1] * f.cell for f in floors]),
        approach_cell=np.concatenate([way.approach for way in ways]).astype(np.int64),
        corner=np.concatenate([np.ascontiguousarray(way.corner).reshape(-1) for way in ways]),
        task=_task(episodes, robot),
    )


def _homes(homes: Sequence[Home], ways: Sequence[Navigation]) -> np.ndarray:
    out = blank(len(homes), HOME)
    out["place_approach"] = -1
    for name, sizes in (
        ("cell_start", [len(home.floor.cells) for home in homes]),
        ("approach_start", [len(way.approach) for way in ways]),
        ("corner_start", [way.corner.size for way in ways]),
    ):
        out[name] = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for row, home, way in zip(out, homes, ways, strict=True):
        row["origin"], row["size"], row["cells"] = home.floor.origin, home.floor.free.shape, len(home.floor.cells)
        for k, kind in enumerate(RECEPTACLES):
            instances = home.instances(kind)[:INSTANCES]
            row["place_count"][k] = len(instances)
            for n, index in enumerate(instances):
                receptacle = home.receptacles[index]
                row["place_target"][k, n], row["place_center"][k, n] = receptacle.target, receptacle.center
                row["place_yaw"][k, n], row["place_half"][k, n] = receptacle.yaw, receptacle.half
            points = row["place_target"][k, : len(instances)]
            row["place_approach"][k, : len(instances)] = approach_for_points(home, way, points)
        for k, kind in enumerate(OPENABLE):
            receptacle, joint = home.receptacles[home.instances(kind)[0]], home.joints[door_of(home, kind)]
            row["handle"][k], row["door_joint"][k] = receptacle.target, door_of(home, kind)
            row["door_axis"][k], row["door_origin"][k] = joint.axis, joint.origin
            row["door_turns"][k] = joint.kind == "revolute"
            if receptacle.joint >= 0:
                row["door_motion"][k] = home.joints[receptacle.joint].axis
    return out


def _episodes(episodes: Episodes, approach: np.ndarray, homes: Sequence[Home]) -> np.ndarray:
    out = blank(len(episodes), EPISODE)
    out["home"], out["kind"], out["yaw"] = episodes.home, episodes.kind, episodes.yaw
    out["start"], out["goal"] = episodes.start, episodes.goal
    out["start_approach"], out["goal_approach"] = approach[:, :2], approach[:, 2:]
    inside = [_inside(home) for home in homes]
    for row, h, start, goal in zip(out, episodes.home, episodes.start_receptacle, episodes.goal_receptacle, strict=True):
        row["start_inside"], row["goal_inside"] = inside[h][start], inside[h][goal]
    if episodes.spawn is not None:
        out["spawn"] = episodes.spawn
    return out


def _task(episodes: Episodes, robot: Robot) -> np.ndarray:
    heights, distances, joints = robot.reach.shape
    out = blank(1, task_type((heights, distances, joints)))
    table = plans(episodes.task)
    out["plans"] = -1
    out["plans"][0, : len(table), : table.shape[1]] = table
    out["door_start"], out["solo"] = episodes.doors[0], SOLO
    out["subgoal_of"] = _subgoal_table(subgoal_codes(get_task(episodes.task).subgoals))
    out["arm_poses"], out["reach"], out["workspace"] = (robot.rest, robot.carry), robot.reach, robot.workspace
    out["arm_limits"], out["arm_turns"] = robot.limits, robot.continuous
    out["gripper"], out["grip"] = robot.gripper_index, robot.grip
    return out


def _inside(home: Home) -> np.ndarray:
    """[receptacles] int8: which of OPENABLE must be open to reach into each receptacle, -1 none."""
    doors = [door_of(home, kind) for kind in OPENABLE]
    return np.array([doors.index(r.door) if r.door in doors else -1 for r in home.receptacles], np.int8)


def _subgoal_table(codes: np.ndarray) -> np.ndarray:
    table = np.full((len(VERBS), len(OPENABLE)), -1, np.int64)
    for number, (verb, thing) in enumerate(codes):
        table[verb, thing] = number
    return table
