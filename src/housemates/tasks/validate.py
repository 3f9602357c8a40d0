"""Checks episodes rule by rule, slowly and in plain words, with none of the code that drew them.

Every rule is a function that yields what is wrong with one episode; an empty list means the set can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from housemates.homes.floor import REACH_3D
from housemates.homes.home import OPEN_RECEPTACLES, OPENABLE, Home, Receptacle, body_poses
from housemates.homes.navigation import navigation
from housemates.homes.objects import HAB_OBJECTS, NAMES, OBJECTS
from housemates.homes.solids import corners
from housemates.tasks.actions import REACH, SPAWN_APART, START_GOAL
from housemates.tasks.files import CLUTTER, Episodes
from housemates.tasks.task import Task, initial_joints
from housemates.tasks.tasks import get_task

TOLERANCE = 0.001
"""Metres by which stored float32 positions may be off."""
SUPPORT = 0.02
"""Metres between a receptacle's surface and the part that carries it."""
SETTLED = 0.005
"""Metres a part may rise above the surface and still count as the surface."""


class Box:
    """A named object that stands somewhere: middle, yaw and half extents, metres."""

    def __init__(self, name: str, kind: int, position: np.ndarray, yaw: float) -> None:
        self.name, self.kind, self.yaw = name, kind, float(yaw)
        self.position = np.asarray(position, float)
        self.half = np.array(OBJECTS[kind].half)

    @property
    def bottom(self) -> float:
        return self.position[1] - self.half[1]

    @property
    def top(self) -> float:
        return self.position[1] + self.half[1]

    def outline(self) -> np.ndarray:
        """Corners [4, 2] (x, z) of the footprint, in order."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        x, z = np.array([c, -s]) * self.half[0], np.array([s, c]) * self.half[2]
        return self.position[[0, 2]] + np.array([x + z, x - z, -x - z, -x + z])


def validate(episodes: Episodes, homes: Sequence[Home]) -> list[str]:
    """What is wrong with the episodes, one line each, naming episode, home and rule; empty if all is well."""
    task = get_task(episodes.task)
    if [h.content_hash for h in homes] != list(episodes.hashes):
        return [f"the episodes were made for other homes than the {len(homes)} given"]
    problems = []
    around = {i: Surroundings(home, initial_joints(task, home)) for i, home in enumerate(homes)}
    for row in range(len(episodes)):
        index = int(episodes.home[row])
        if not 0 <= index < len(homes):
            problems.append(f"episode {episodes.id[row]}: home {index} does not exist")
            continue
        found = _problems(task, episodes, row, homes[index], around[index])
        problems += [f"episode {episodes.id[row]} in {homes[index].name}: {problem}" for problem in found]
    return problems


def _problems(task: Task, episodes: Episodes, row: int, home: Home, around: Surroundings) -> Iterator[str]:
    kinds = [*episodes.kind[row], *(k for k in episodes.clutter_kind[row] if k >= 0)]
    places = [*episodes.start_receptacle[row], *episodes.goal_receptacle[row]]
    if any(not 0 <= k < len(NAMES) for k in kinds) or any(not 0 <= p < len(home.receptacles) for p in places):
        yield "an object type or receptacle does not exist"
        return
    yield from _table(task, episodes, row, home)
    yield from _doors(task, episodes, row, home)
    starts = [Box(f"obj{k}", episodes.kind[row, k], episodes.start[row, k], episodes.yaw[row, k]) for k in range(2)]
    goals = [Box(f"goal{k}", episodes.kind[row, k], episodes.goal[row, k], episodes.yaw[row, k]) for k in range(2)]
    shown = [k for k in range(CLUTTER) if episodes.clutter_kind[row, k] >= 0]
    clutter = [
        Box(f"clutter{k}", episodes.clutter_kind[row, k], episodes.clutter[row, k], episodes.clutter_yaw[row, k]) for k in shown
    ]
    standing = list(zip(starts, episodes.start_receptacle[row], strict=True))
    standing += [(g, p) for g, p, t in zip(goals, episodes.goal_receptacle[row], task.targets, strict=True) if t.goal_above < 0]
    standing += [(c, episodes.clutter_receptacle[row, k]) for c, k in zip(clutter, shown, strict=True)]
    for box, place in standing:
        receptacle = home.receptacles[place]
        yield from _stands(box, receptacle)
        yield from around.problems(box, receptacle, int(place))
    for box in starts + goals + clutter:
        distance = around.reach(box.position)
        if distance > REACH_3D + TOLERANCE:
            yield f"{box.name} is out of reach ({distance:.2f} m from the nearest floor cell, at most {REACH_3D})"
    for start, goal in zip(starts, goals, strict=True):
        distance = np.hypot(*(start.position - goal.position)[[0, 2]])
        if distance < START_GOAL - TOLERANCE:
            yield f"{start.name} starts {distance:.2f} m from its goal, at least {START_GOAL} wanted"
    for a, b in _pairs(task, starts, goals, clutter):
        if _overlap(a, b):
            yield f"{a.name} and {b.name} overlap"
    if episodes.spawn is not None:
        yield from _spawns(home, episodes.spawn[row])
    if episodes.approach is not None:
        yield from _approaches(home, around, starts + goals, episodes.approach[row])


def _pairs(task: Task, starts: list[Box], goals: list[Box], clutter: list[Box]) -> Iterator[tuple[Box, Box]]:
    """Things that can stand somewhere at the same time; the fruit's goal is in the bowl's on purpose."""
    yield starts[0], starts[1]
    yield starts[0], goals[1]
    yield starts[1], goals[0]
    if all(t.goal_above < 0 for t in task.targets):
        yield goals[0], goals[1]
    yield from product(starts + goals, clutter)
    yield from combinations(clutter, 2)


def _table(task: Task, episodes: Episodes, row: int, home: Home) -> Iterator[str]:
    """Objects, starts and goals are those of the task's table."""
    for k, target in enumerate(task.targets):
        start = home.receptacles[episodes.start_receptacle[row, k]]
        goal = home.receptacles[episodes.goal_receptacle[row, k]]
        if NAMES[episodes.kind[row, k]] not in target.objects:
            yield f"obj{k} is {NAMES[episodes.kind[row, k]]}, which {task.name} does not use there"
        if start.kind not in target.start:
            yield f"obj{k} starts on {start.name}, but {task.name} wants {' or '.join(target.start)}"
        if goal.kind not in target.goal:
            yield f"goal{k} is on {goal.name}, but {task.name} wants {' or '.join(target.goal)}"
        if target.other_piece and start.furniture == goal.furniture:
            yield f"obj{k} starts on the same piece of furniture as its goal ({start.furniture})"
        if target.goal_above >= 0:
            lift = episodes.goal[row, k] - episodes.goal[row, target.goal_above]
            if np.abs(lift - [0.0, target.goal_lift, 0.0]).max() > TOLERANCE:
                yield f"goal{k} is not {target.goal_lift} m above goal{target.goal_above}"
    for k in np.flatnonzero(episodes.clutter_kind[row] >= 0):
        place = int(episodes.clutter_receptacle[row, k])
        if NAMES[episodes.clutter_kind[row, k]] not in HAB_OBJECTS:
            yield f"clutter{k} is {NAMES[episodes.clutter_kind[row, k]]}, not one of the nine household objects"
        if not 0 <= place < len(home.receptacles) or home.receptacles[place].kind not in OPEN_RECEPTACLES:
            yield f"clutter{k} is not on an open receptacle"


def _doors(task: Task, episodes: Episodes, row: int, home: Home) -> Iterator[str]:
    """Doors and drawers stand as the table says, within their joints' limits."""
    for k, kind in enumerate(OPENABLE):
        value, wanted = float(episodes.doors[row, k]), dict(task.opened).get(kind, 0.0)
        if abs(value - wanted) > TOLERANCE:
            yield f"the {kind} stands at {value:.2f}, but {task.name} starts with it at {wanted:.2f}"
        for receptacle in home.receptacles:
            if receptacle.kind == kind and receptacle.door >= 0:
                joint = home.joints[receptacle.door]
                if not joint.lower - TOLERANCE <= value <= joint.upper + TOLERANCE:
                    yield f"the {kind} stands at {value:.2f}, outside its limits {joint.lower} to {joint.upper}"


def _stands(box: Box, receptacle: Receptacle) -> Iterator[str]:
    """The object stands on the receptacle's surface, whole footprint inside, under the ceiling of a closed place."""
    if abs(box.bottom - receptacle.surface) > TOLERANCE:
        yield f"{box.name} is {box.bottom - receptacle.surface:+.3f} m off the surface of {receptacle.name}"
    outline = box.outline()
    points = np.stack([outline[:, 0], np.full(4, receptacle.center[1]), outline[:, 1]], axis=1)
    out = np.abs(receptacle.local(points))[:, [0, 2]] - np.array(receptacle.half)[[0, 2]]
    if out.max() > TOLERANCE:
        yield f"{box.name} sticks {out.max():.3f} m out of {receptacle.name}"
    if receptacle.kind == "fridge":
        off = np.abs(receptacle.local(box.position))[[0, 2]] - 0.5 * np.array(receptacle.half)[[0, 2]]
        if off.max() > TOLERANCE:
            yield f"{box.name} is not in the central half of {receptacle.name}"
    if receptacle.door >= 0 and box.top > receptacle.center[1] + receptacle.half[1] + TOLERANCE:
        yield f"{box.name} is too tall for {receptacle.name}"


def _spawns(home: Home, spawn: np.ndarray) -> Iterator[str]:
    """Robots start on the main island, apart from each other; at least two of them."""
    present = [k for k in range(len(spawn)) if np.isfinite(spawn[k]).all()]
    if present[:2] != [0, 1]:
        yield "the first two robots have no start"
    for k in present:
        row, col = (round(v) for v in home.floor.grid((spawn[k, 0], spawn[k, 1])))
        height, width = home.floor.main.shape
        if not (0 <= row < height and 0 <= col < width and home.floor.main[row, col]):
            yield f"robot {k} starts off the main island"
    for a, b in combinations(present, 2):
        distance = np.hypot(*(spawn[a, :2] - spawn[b, :2]).astype(float))
        if distance < SPAWN_APART - TOLERANCE:
            yield f"robots {a} and {b} start {distance:.2f} m apart, at least {SPAWN_APART} wanted"


def _approaches(home: Home, around: Surroundings, boxes: list[Box], approach: np.ndarray) -> Iterator[str]:
    """From each stored approach cell a robot's skills reach the object or goal, and there is at least one."""
    cells = navigation(home).approach
    for box, indices in zip(boxes, approach, strict=True):
        given = indices[indices >= 0]
        if len(given) == 0 or indices[0] < 0:
            yield f"{box.name} has no approach cell"
        elif given.max() >= len(cells):
            yield f"{box.name} has approach cell {given.max()}, but there are only {len(cells)}"
        else:
            flat = np.linalg.norm(around.cells[cells[given]] - box.position[[0, 2]], axis=1)
            distance = np.hypot(flat, box.position[1]).max()
            if distance > REACH:
                yield f"{box.name} is {distance:.2f} m from one of its approach cells, at most {REACH} wanted"


class Part:
    """What a part of the furniture covers: footprint and heights, metres."""

    def __init__(self, points: np.ndarray) -> None:
        self.outline, self.bottom, self.top = _hull(points[:, [0, 2]]), points[:, 1].min(), points[:, 1].max()


class Surroundings:
    """The floor cells of a home, and its parts where the joints stand at the start."""

    def __init__(self, home: Home, joints: np.ndarray) -> None:
        poses = body_poses(home.joints, joints)
        self.body = [int(b) for b in home.parts.body]
        self.points = [corners(home.parts, i) @ poses[b, :3, :3].T + poses[b, :3, 3] for i, b in enumerate(self.body)]
        self.near: dict[int, list[Part]] = {}
        self.cells = np.asarray(home.floor.origin) + home.floor.cells[:, ::-1] * home.floor.cell

    def reach(self, point: np.ndarray) -> float:
        """3D distance of a point from the base of a robot on the main island's cell nearest to it, metres."""
        flat = np.sqrt(((self.cells - point[[0, 2]]) ** 2).sum(axis=1).min())
        return float(np.hypot(flat, point[1]))

    def problems(self, box: Box, receptacle: Receptacle, place: int) -> Iterator[str]:
        """The object rests on some part and touches no other; homes read as meshes have no parts to ask."""
        if not self.points:
            return
        if place not in self.near:
            near = [i for i, p in enumerate(self.points) if self._is_near(p, receptacle)]
            own = [i for i in near if receptacle.joint < 0 or self.body[i] == receptacle.joint + 1]
            self.near[place] = [Part(self.points[i]) for i in own]
        outline, middle = box.outline(), box.position[[0, 2]]
        for part in self.near[place]:
            crosses = part.top > receptacle.surface + SETTLED + TOLERANCE and part.bottom < box.top - TOLERANCE
            if crosses and _area(_clip(outline, part.outline)) > TOLERANCE**2:
                yield f"{box.name} overlaps a part of the furniture in {receptacle.name}"
        below = [p for p in self.near[place] if abs(p.top - receptacle.surface) <= SUPPORT]
        if not any(_contains(part.outline, middle) for part in below):
            yield f"{box.name} has nothing under it on {receptacle.name}"

    @staticmethod
    def _is_near(points: np.ndarray, receptacle: Receptacle) -> bool:
        reach = np.hypot(receptacle.half[0], receptacle.half[2])
        low, high = points.min(axis=0), points.max(axis=0)
        middle = np.array(receptacle.center)
        beside = (low[[0, 2]] > middle[[0, 2]] + reach).any() or (high[[0, 2]] < middle[[0, 2]] - reach).any()
        return not beside and high[1] > receptacle.surface - 0.1 and low[1] < receptacle.surface + 0.5


def _overlap(a: Box, b: Box) -> bool:
    """Whether two objects share space."""
    if min(a.top, b.top) - max(a.bottom, b.bottom) <= TOLERANCE:
        return False
    if np.hypot(*(a.position - b.position)[[0, 2]]) > np.hypot(*a.half[[0, 2]]) + np.hypot(*b.half[[0, 2]]):
        return False
    return _area(_clip(a.outline(), _hull(b.outline()))) > TOLERANCE**2


def _hull(points: np.ndarray) -> np.ndarray:
    """Convex hull [M, 2] of points [N, 2], counter-clockwise, by gift wrapping."""
    points = np.unique(np.round(points, 6), axis=0)
    start = current = int(np.lexsort((points[:, 1], points[:, 0]))[0])
    hull = []
    for _ in range(len(points)):
        hull.append(points[current])
        to = points - points[current]
        ahead = (current + 1) % len(points)
        for k in range(len(points)):
            cross = to[ahead, 0] * to[k, 1] - to[ahead, 1] * to[k, 0]
            if k != current and (cross < -1e-12 or (abs(cross) <= 1e-12 and (to[k] ** 2).sum() > (to[ahead] ** 2).sum())):
                ahead = k
        current = ahead
        if current == start:
            break
    return np.array(hull)


def _clip(polygon: np.ndarray, window: np.ndarray) -> np.ndarray:
    """The part of a convex polygon [N, 2] inside a convex counter-clockwise window [M, 2] (Sutherland and Hodgman)."""
    for k in range(len(window)):
        a, b = window[k], window[(k + 1) % len(window)]
        edge = b - a
        side = edge[0] * (polygon[:, 1] - a[1]) - edge[1] * (polygon[:, 0] - a[0])
        kept = []
        for i in range(len(polygon)):
            j = (i + 1) % len(polygon)
            if side[i] >= 0:
                kept.append(polygon[i])
            if side[i] * side[j] < 0:
                kept.append(polygon[i] + (polygon[j] - polygon[i]) * side[i] / (side[i] - side[j]))
        if len(kept) < 3:
            return np.empty((0, 2))
        polygon = np.array(kept)
    return polygon


def _area(polygon: np.ndarray) -> float:
    """Area of a polygon [N, 2], m2."""
    if len(polygon) < 3:
        return 0.0
    x, y = polygon[:, 0], polygon[:, 1]
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _contains(hull: np.ndarray, point: np.ndarray) -> bool:
    """Whether a counter-clockwise convex polygon [M, 2] contains a point."""
    edge, to = np.roll(hull, -1, axis=0) - hull, point - hull
    return bool((edge[:, 0] * to[:, 1] - edge[:, 1] * to[:, 0] >= -1e-9).all())
