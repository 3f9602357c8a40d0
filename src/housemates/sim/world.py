"""Homes and episodes packed into flat arrays: everything the kernels read and never write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from housemates.homes import fetch
from housemates.homes.home import OPENABLE, RECEPTACLES, Home
from housemates.homes.navigation import approach_for_points, navigation
from housemates.sim.scripted import SOLO, plans
from housemates.sim.skills import BLOCKED
from housemates.tasks.episodes import Episodes
from housemates.tasks.goals import OBJECTS, VERBS, door_of, subgoal_codes
from housemates.tasks.tasks import get_task

MOST_INSTANCES = 2
"""Two chairs, two counter tops."""


class World(NamedTuple):
    """Axes: n homes, N episodes, 10 receptacle kinds with up to 2 instances, 3 things that open, 4 approach cells."""

    cell: float
    """Grid spacing, metres."""
    origin: np.ndarray
    """[n, 2] float64 (x, z) of cell [0, 0]."""
    size: np.ndarray
    """[n, 2] int32 rows and columns."""
    free: np.ndarray
    """[n, H, W] bool, the main region of each floor."""
    cell_of: np.ndarray
    """[n, H, W] uint16, index of the floor cell, BLOCKED elsewhere."""
    cells: np.ndarray
    """[n] int64, floor cells of each home."""
    cell_start: np.ndarray
    """[n] int64, offset into cell_xz."""
    cell_xz: np.ndarray
    """[all cells, 2] float64, their world (x, z)."""
    approach_start: np.ndarray
    """[n] int64, offset into approach_cell."""
    approach_cell: np.ndarray
    """[all approach cells] int64, their floor cells."""
    corner_start: np.ndarray
    """[n] int64, offset into corner."""
    corner: np.ndarray
    """uint16: from floor cell c towards approach cell a of home h the next corner is [corner_start[h] + a * cells[h] + c]."""
    place_count: np.ndarray
    """[n, 10] int8, instances of each receptacle kind."""
    place_target: np.ndarray
    """[n, 10, 2, 3] float64, the point robots go to (joint zero)."""
    place_approach: np.ndarray
    """[n, 10, 2, 4] int16, approach cells, -1 for none."""
    place_center: np.ndarray
    """[n, 10, 2, 3] float64, middle of the placement volume."""
    place_yaw: np.ndarray
    """[n, 10, 2] float64."""
    place_half: np.ndarray
    """[n, 10, 2, 3] float64."""
    handle: np.ndarray
    """[n, 3, 3] float64, handles of fridge and drawers, closed."""
    door_joint: np.ndarray
    """[n, 3] int64, index into `Home.joints`."""
    door_axis: np.ndarray
    """[n, 3, 3] float64."""
    door_origin: np.ndarray
    """[n, 3, 3] float64."""
    door_turns: np.ndarray
    """[n, 3] bool, revolute or prismatic."""
    door_motion: np.ndarray
    """[n, 3, 3] float64, how things inside move per unit of joint value (zero in the fridge)."""
    episode_home: np.ndarray
    """[N] int32."""
    start: np.ndarray
    """[N, 2, 3] float64, objects at the start."""
    start_yaw: np.ndarray
    """[N, 2] float64."""
    start_inside: np.ndarray
    """[N, 2] int8, which openable receptacle each object starts in, -1 none."""
    start_approach: np.ndarray
    """[N, 2, 4] int16."""
    goal: np.ndarray
    """[N, 2, 3] float64."""
    goal_inside: np.ndarray
    """[N, 2] int8."""
    goal_approach: np.ndarray
    """[N, 2, 4] int16."""
    spawn: np.ndarray
    """[N, 4, 3] float64, stored starts of robots; empty for training episodes."""
    kind: np.ndarray
    """[N, 2] int64, type of each object."""
    door_start: np.ndarray
    """[3] float64, joint values at the start of an episode."""
    subgoal_of: np.ndarray
    """[3 verbs, 3 things] int64, number of the sub-goal, -1 if it is none."""
    plans: np.ndarray
    """[P, L] int8, scripted plans."""
    solo: np.ndarray
    """[2] int64, the plans that do the whole task."""
    arm_poses: np.ndarray
    """[2, 7] float64: rest and carry."""
    reach: np.ndarray
    """[heights, distances, 7] float64: the arm reaching out, on the grid of `fetch.reach_table`."""


def pack(episodes: Episodes, homes: Sequence[Home]) -> World:
    """Everything the kernels need to play these episodes in these homes."""
    if tuple(home.content_hash for home in homes) != tuple(episodes.hashes):
        raise ValueError("these episodes were made for other homes - load both with load_episodes and load_split")
    if episodes.approach is None:
        raise ValueError("these episodes have no approach cells - make them with housemates.tasks.episodes.add_approach")
    task = get_task(episodes.task)
    ways = [navigation(home) for home in homes]
    floors = [home.floor for home in homes]
    height, width = (max(f.free.shape[k] for f in floors) for k in range(2))
    free = np.zeros((len(homes), height, width), np.bool_)
    cell_of = np.full((len(homes), height, width), BLOCKED, np.uint16)
    for k, floor in enumerate(floors):
        rows, cols = floor.main.shape
        free[k, :rows, :cols] = floor.main
        cell_of[k, :rows, :cols] = np.where(floor.main, floor.cell_of, BLOCKED)
    doors = [[home.joints[door_of(home, kind)] for kind in OPENABLE] for home in homes]
    inside = [_inside(home) for home in homes]
    return World(
        cell=float(floors[0].cell),
        origin=np.array([f.origin for f in floors], np.float64),
        size=np.array([f.free.shape for f in floors], np.int32),
        free=free,
        cell_of=cell_of,
        cells=np.array([len(f.cells) for f in floors], np.int64),
        cell_start=_offsets([len(f.cells) for f in floors]),
        cell_xz=np.concatenate([np.asarray(f.origin) + f.cells[:, ::-1] * f.cell for f in floors]),
        approach_start=_offsets([len(way.approach) for way in ways]),
        approach_cell=np.concatenate([way.approach for way in ways]).astype(np.int64),
        corner_start=_offsets([way.corner.size for way in ways]),
        corner=np.concatenate([np.ascontiguousarray(way.corner).reshape(-1) for way in ways]),
        **_places(homes),
        handle=np.array([[home.receptacles[home.instances(kind)[0]].target for kind in OPENABLE] for home in homes]),
        door_joint=np.array([[door_of(home, kind) for kind in OPENABLE] for home in homes], np.int64),
        door_axis=np.array([[j.axis for j in row] for row in doors], np.float64),
        door_origin=np.array([[j.origin for j in row] for row in doors], np.float64),
        door_turns=np.array([[j.kind == "revolute" for j in row] for row in doors], np.bool_),
        door_motion=np.array([_motion(home) for home in homes], np.float64),
        episode_home=np.ascontiguousarray(episodes.home, np.int32),
        start=np.ascontiguousarray(episodes.start, np.float64),
        start_yaw=np.ascontiguousarray(episodes.yaw, np.float64),
        start_inside=_lookup(inside, episodes.home, episodes.start_receptacle),
        start_approach=np.ascontiguousarray(episodes.approach[:, :2], np.int16),
        goal=np.ascontiguousarray(episodes.goal, np.float64),
        goal_inside=_lookup(inside, episodes.home, episodes.goal_receptacle),
        goal_approach=np.ascontiguousarray(episodes.approach[:, 2:], np.int16),
        spawn=np.zeros((0, 4, 3)) if episodes.spawn is None else np.ascontiguousarray(episodes.spawn, np.float64),
        kind=np.ascontiguousarray(episodes.kind, np.int64),
        door_start=np.ascontiguousarray(episodes.doors[0], np.float64),
        subgoal_of=_subgoal_table(subgoal_codes(task.subgoals)),
        plans=plans(episodes.task),
        solo=np.array(SOLO, np.int64),
        arm_poses=np.array([fetch.REST, fetch.CARRY]),
        reach=fetch.reach_table()[2],
    )


def _offsets(sizes: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def _places(homes: Sequence[Home]) -> dict[str, np.ndarray]:
    shape = (len(homes), len(RECEPTACLES), MOST_INSTANCES)
    found = {
        "place_count": np.zeros(shape[:2], np.int8),
        "place_target": np.zeros((*shape, 3)),
        "place_approach": np.full((*shape, 4), -1, np.int16),
        "place_center": np.zeros((*shape, 3)),
        "place_yaw": np.zeros(shape),
        "place_half": np.zeros((*shape, 3)),
    }
    for h, home in enumerate(homes):
        for k, kind in enumerate(RECEPTACLES):
            instances = home.instances(kind)[:MOST_INSTANCES]
            found["place_count"][h, k] = len(instances)
            for n, index in enumerate(instances):
                receptacle = home.receptacles[index]
                found["place_target"][h, k, n] = receptacle.target
                found["place_center"][h, k, n] = receptacle.center
                found["place_yaw"][h, k, n] = receptacle.yaw
                found["place_half"][h, k, n] = receptacle.half
            points = found["place_target"][h, k, : len(instances)]
            found["place_approach"][h, k, : len(instances)] = approach_for_points(home, navigation(home), points)
    return found


def _inside(home: Home) -> np.ndarray:
    """[receptacles] int8: which of OPENABLE must be open to reach into each receptacle, -1 none."""
    doors = [door_of(home, kind) for kind in OPENABLE]
    return np.array([doors.index(r.door) if r.door in doors else -1 for r in home.receptacles], np.int8)


def _lookup(inside: list[np.ndarray], home: np.ndarray, receptacle: np.ndarray) -> np.ndarray:
    return np.array([inside[h][row] for h, row in zip(home, receptacle, strict=True)], np.int8).reshape(-1, len(OBJECTS))


def _motion(home: Home) -> np.ndarray:
    """[3, 3]: how things in each of OPENABLE move per unit of its joint."""
    motion = np.zeros((len(OPENABLE), 3))
    for k, kind in enumerate(OPENABLE):
        receptacle = home.receptacles[home.instances(kind)[0]]
        if receptacle.joint >= 0:
            motion[k] = home.joints[receptacle.joint].axis
    return motion


def _subgoal_table(codes: np.ndarray) -> np.ndarray:
    table = np.full((len(VERBS), len(OPENABLE)), -1, np.int64)
    for number, (verb, thing) in enumerate(codes):
        table[verb, thing] = number
    return table
