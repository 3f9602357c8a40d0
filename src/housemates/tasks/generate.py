"""Draws episodes of a task in any list of homes, procedural or ReplicaCAD, and where evaluation robots start.

Episode `id` of a seed is the same whatever else is drawn: every episode has a counter-based generator of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from housemates.geometry.exact import hypot
from housemates.homes.floor import Floor
from housemates.homes.home import OPEN_RECEPTACLES, Home
from housemates.homes.objects import HAB_OBJECTS, half_extents, object_type
from housemates.tasks.actions import SPAWN_APART, START_GOAL
from housemates.tasks.files import APPROACHES, CLUTTER, SPAWNS, Episodes, empty_arrays
from housemates.tasks.place import Places, find_place, fits, places, within_reach
from housemates.tasks.task import Target, Task, initial_doors, initial_joints
from housemates.tasks.tasks import get_task

TRIES = 50
"""Points tried for one object in one receptacle before the whole episode is drawn again (as HAB does, spec 1.2)."""
REDRAWS = 200
"""Times an episode is drawn again before the home is said to have no room."""
SPAWN_TRIES = 200
"""Cells tried for one robot, and whole teams tried, before a robot is left without a start."""
HALVES = half_extents().astype(np.float64)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Spot:
    """A thing of some type in some receptacle."""

    kind: int
    receptacle: int
    box: np.ndarray
    """[7] x, y, z, yaw, half extents."""


def generate_episodes(
    task: str | Task,
    homes: Sequence[Home],
    count: int,
    seed: int,
    *,
    split: str = "own",
    clutter: int = 0,
    spawns: bool = False,
    first: int = 0,
    progress: Progress | None = None,
) -> Episodes:
    """Episodes first, first + 1, ... of a task; episode i lives in home i modulo their number.

    clutter: how many other objects (0 to 10) stand about on the open receptacles; one that finds no room is left out.
    spawns: also draw where up to four robots start. progress(done, count) is called now and then.
    """
    task = get_task(task) if isinstance(task, str) else task
    if not homes:
        raise ValueError(f"no homes given for {task.name} - load some, for example load_split('train')")
    if not 0 <= clutter <= CLUTTER:
        raise ValueError(f"clutter is a number of objects from 0 to {CLUTTER}, not {clutter}")
    known: dict[int, Places] = {}
    arrays = empty_arrays(count)
    if spawns:
        arrays["spawn"] = np.full((count, SPAWNS, 3), np.nan, np.float32)
    for row in range(count):
        identity = first + row
        index = identity % len(homes)
        if index not in known:
            known[index] = _ready(task, homes[index], clutter)
        targets, goals, others = draw_layout(task, known[index], episode_rng(seed, task.name, identity), clutter)
        arrays["id"][row], arrays["home"][row] = identity, index
        for k, (start, goal) in enumerate(zip(targets, goals, strict=True)):
            arrays["kind"][row, k] = start.kind
            arrays["start"][row, k], arrays["yaw"][row, k] = start.box[:3], start.box[3]
            arrays["goal"][row, k] = goal.box[:3]
            arrays["start_receptacle"][row, k], arrays["goal_receptacle"][row, k] = start.receptacle, goal.receptacle
        for k, spot in enumerate(others):
            arrays["clutter_kind"][row, k], arrays["clutter_receptacle"][row, k] = spot.kind, spot.receptacle
            arrays["clutter"][row, k], arrays["clutter_yaw"][row, k] = spot.box[:3], spot.box[3]
        if spawns:
            arrays["spawn"][row] = draw_spawns(homes[index].floor, episode_rng(seed, "spawns", identity))
        if progress is not None and ((row + 1) % 250 == 0 or row + 1 == count):
            progress(row + 1, count)
    arrays["doors"][:] = initial_doors(task)
    names, hashes = tuple(h.name for h in homes), tuple(h.content_hash for h in homes)
    return Episodes(task=task.name, split=split, seed=seed, homes=names, hashes=hashes, **arrays)


def episode_rng(seed: int, purpose: str, identity: int) -> np.random.Generator:
    """The generator of one episode: a function of seed, purpose (the task, or `spawns`) and episode id alone."""
    return np.random.Generator(np.random.Philox(key=[seed, crc32(purpose.encode())], counter=[0, 0, 0, identity]))


def draw_layout(
    task: Task, place: Places, rng: np.random.Generator, clutter: int = 0
) -> tuple[list[Spot], list[Spot], list[Spot]]:
    """Starts, goals and clutter of one episode in one home."""
    for _ in range(REDRAWS):
        starts: list[Spot] = []
        for target in task.targets:
            spot = _draw_start(target, place, rng, _boxes(starts))
            if spot is None:
                break
            starts.append(spot)
        goals: list[Spot] = []
        for k, target in enumerate(task.targets if len(starts) == len(task.targets) else ()):
            goal = _draw_goal(target, place, rng, starts, goals, k)
            if goal is None:
                break
            goals.append(goal)
        if len(goals) == len(task.targets):
            return starts, goals, _draw_clutter(place, rng, starts + goals, clutter)
    raise ValueError(f"{place.home.name} has no room for {task.name} ({REDRAWS} layouts tried) - use another home")


def draw_spawns(floor: Floor, rng: np.random.Generator, robots: int = SPAWNS) -> np.ndarray:
    """Starts [robots, 3] (x, z, yaw): main-island cells at least SPAWN_APART from each other, any heading.

    Every robot that can have one gets one; nan for the rest. A floor on which two robots find no room is an error.
    """
    best = np.empty((0, 2))
    points = np.asarray(floor.origin) + floor.cells[:, ::-1] * floor.cell
    for _ in range(SPAWN_TRIES):
        found = np.empty((0, 2))
        for candidate in points[rng.integers(len(points), size=SPAWN_TRIES)]:
            if (np.linalg.norm(found - candidate, axis=1) >= SPAWN_APART).all():
                found = np.concatenate([found, candidate[None]])
                if len(found) == robots:
                    break
        if len(found) > len(best):
            best = found
        if len(best) == robots:
            break
    if len(best) < min(robots, 2):
        raise ValueError(
            f"two robots cannot start {SPAWN_APART} m apart on this floor of {floor.area:.1f} m2 - use a larger home"
        )
    spawn = np.full((robots, 3), np.nan)
    spawn[: len(best), :2] = best
    spawn[: len(best), 2] = 2 * np.pi * rng.random(len(best))
    return spawn


def add_approach(episodes: Episodes, homes: Sequence[Home], approach_for: Callable[[Home, np.ndarray], np.ndarray]) -> Episodes:
    """The episodes with `approach` filled: where robots stand to work at each object and goal.

    approach_for(home, points [K, 3]) gives the approach cells [K, 4] of a home for world points, padded with -1.
    """
    found = np.full((len(episodes), 4, APPROACHES), -1, np.int16)
    for index, home in enumerate(homes):
        rows = np.flatnonzero(episodes.home == index)
        if len(rows):
            points = np.concatenate([episodes.start[rows], episodes.goal[rows]], axis=1).astype(np.float64)
            cells = approach_for(home, points.reshape(-1, 3))
            found[rows] = np.asarray(cells).reshape(len(rows), 4, APPROACHES)
    return replace(episodes, approach=found)


def _ready(task: Task, home: Home, clutter: int) -> Places:
    """A home's places, after making sure that the task can be set there at all."""
    have = {r.kind for r in home.receptacles}
    missing = [k for k in (*task.kinds, *(OPEN_RECEPTACLES if clutter else ())) if k not in have]
    if missing:
        wanted = ", ".join(dict.fromkeys(missing))
        raise ValueError(f"{task.name} needs {wanted}, which {home.name} has not; it has: {', '.join(sorted(have))}")
    place = places(home, initial_joints(task, home))
    for target in task.targets:
        spots = [i for kind in target.start for i in home.instances(kind)]
        for name in target.objects:
            if not any(fits(place, i, HALVES[object_type(name)]) for i in spots):
                raise ValueError(f"{name} does not fit into {' or '.join(target.start)} of {home.name} - use another home")
    return place


def _draw_start(target: Target, place: Places, rng: np.random.Generator, taken: np.ndarray) -> Spot | None:
    receptacle = _receptacle(place.home, target.start, rng)
    kind = object_type(target.objects[rng.integers(len(target.objects))])
    box = find_place(place, receptacle, HALVES[kind], rng.random((TRIES, 3)), taken)
    return None if box is None else Spot(kind, receptacle, box)


def _draw_goal(
    target: Target, place: Places, rng: np.random.Generator, starts: list[Spot], goals: list[Spot], index: int
) -> Spot | None:
    """Where target `index` belongs, clear of the other target's start and goal; None if this draw had no room."""
    start = starts[index]
    if target.goal_above >= 0:
        below = goals[target.goal_above]
        lifted = below.box[:3] + np.array([0.0, target.goal_lift, 0.0])
        apart = hypot(lifted[0] - start.box[0], lifted[2] - start.box[2]) >= START_GOAL
        if not apart or not within_reach(place, lifted):
            return None
        return Spot(start.kind, below.receptacle, np.concatenate([lifted, start.box[3:]]))
    kinds, home = target.goal, place.home
    if target.other_piece:
        kinds = tuple(k for k in kinds if k != home.receptacles[start.receptacle].kind)
    receptacle = _receptacle(home, kinds, rng)
    if target.other_piece and home.receptacles[receptacle].furniture == home.receptacles[start.receptacle].furniture:
        return None
    taken = _boxes([s for k, s in enumerate(starts) if k != index] + goals)
    draws = rng.random((TRIES, 3))
    box = find_place(place, receptacle, start.box[4:], draws, taken, start.box[3], start.box[:3], START_GOAL)
    return None if box is None else Spot(start.kind, receptacle, box)


def _draw_clutter(place: Places, rng: np.random.Generator, spots: list[Spot], count: int) -> list[Spot]:
    found: list[Spot] = []
    for _ in range(count):
        receptacle = _receptacle(place.home, OPEN_RECEPTACLES, rng)
        kind = object_type(HAB_OBJECTS[rng.integers(len(HAB_OBJECTS))])
        box = find_place(place, receptacle, HALVES[kind], rng.random((TRIES, 3)), _boxes(spots + found))
        if box is not None:
            found.append(Spot(kind, receptacle, box))
    return found


def _receptacle(home: Home, kinds: tuple[str, ...], rng: np.random.Generator) -> int:
    """A kind, each equally likely, then one of its instances."""
    instances = home.instances(kinds[rng.integers(len(kinds))])
    return instances[rng.integers(len(instances))]


def _boxes(spots: list[Spot]) -> np.ndarray:
    return np.array([s.box for s in spots]).reshape(-1, 7)
