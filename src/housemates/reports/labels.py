"""Labels on a drawing that do not cover each other, and the objects and robots of an episode drawn on a floor plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from housemates.geometry.distance import distance_field
from housemates.geometry.paths import descend
from housemates.homes.floor import Floor
from housemates.homes.home import Home

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIRECTIONS = 16
"""In how many directions around a point room is looked for."""
STEPS = 14
"""How many distances are tried in each direction."""


@dataclass(frozen=True)
class Label:
    """A name and the point it belongs to."""

    text: str
    point: tuple[float, float]
    """Drawing coordinates."""
    colour: str = "#333333"
    bold: bool = False
    background: bool = False
    """Large and pale, behind everything else, without a line (the name of a room)."""
    at: tuple[float, float] | None = None
    """Where it would best stand, if not on its point."""


def free_spot(
    size: tuple[float, float],
    point: tuple[float, float],
    taken: np.ndarray,
    low: tuple[float, float],
    high: tuple[float, float],
) -> tuple[float, float]:
    """The centre nearest to `point` where a box of `size` overlaps none of `taken` [K, 4] (x0, y0, x1, y1) within low..high.

    The point itself is tried first; if nothing is free, it is the answer.
    """
    half = np.asarray(size) / 2
    for step in range(STEPS + 1):
        for k in range(DIRECTIONS if step else 1):
            angle = 2 * np.pi * k / DIRECTIONS + np.pi / 2
            center = np.asarray(point) + step * size[1] * 0.6 * np.array([np.cos(angle), np.sin(angle)])
            a, b = center - half, center + half
            if (a < low).any() or (b > high).any():
                continue
            if not len(taken) or not ((taken[:, :2] < b) & (taken[:, 2:] > a)).all(axis=1).any():
                return float(center[0]), float(center[1])
    return point


def place_labels(
    axes: Axes, labels: list[Label], size: float, keep_clear: list[tuple[float, float, float]] | None = None
) -> None:
    """Write the labels (font size in points), the first ones nearest to their points; a thin line leads back from a far one.

    `keep_clear` are points (x, y, radius) of the drawing that no label may cover.
    """
    from matplotlib.patheffects import withStroke

    inverse = axes.transData.inverted()
    (x0, x1), (y0, y1) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    taken = [(x - r, y - r, x + r, y + r) for x, y, r in keep_clear or ()]
    for label in labels:
        text = axes.text(*label.point, label.text, fontsize=size, color=label.colour, ha="center", va="center")
        if label.background:
            text.set(style="italic", alpha=0.55, zorder=3)
        else:
            halo = withStroke(linewidth=size * 0.3, foreground="white")
            text.set(fontweight="bold" if label.bold else "normal", zorder=20, path_effects=[halo])
        box = text.get_window_extent()
        (a, b), (c, d) = inverse.transform([(box.x0, box.y0), (box.x1, box.y1)])
        wide, high = abs(c - a), abs(d - b)
        spot = free_spot((wide, high), label.at or label.point, np.array(taken).reshape(-1, 4), (x0, y0), (x1, y1))
        text.set_position(spot)
        taken.append((spot[0] - wide / 2, spot[1] - high / 2, spot[0] + wide / 2, spot[1] + high / 2))
        far = abs(spot[1] - label.point[1]) > high or abs(spot[0] - label.point[0]) > wide * 0.6
        if far and not label.background:
            axes.plot(*zip(label.point, spot, strict=True), color=label.colour, lw=0.6, alpha=0.8, zorder=15)
            axes.plot(*label.point, marker="o", ms=2, color=label.colour, zorder=15)


if TYPE_CHECKING:
    from housemates.tasks.files import Episode

REACH = 2.0
"""How far from the floor a thing may lie for a path to lead to it, metres (the skills' reach, spec section 4.1)."""
TURNS = 256
"""Most corners a drawn path can have."""
ROBOTS = 2
"""How many of the stored starts are drawn: the paper's teams are two robots."""


@dataclass(frozen=True, eq=False)
class Thing:
    """One object of an episode."""

    name: str
    start: tuple[float, float]
    """(x, z)."""
    goal: tuple[float, float]
    """(x, z)."""
    path: np.ndarray
    """[K, 2] (x, z): the shortest way for a robot from start to goal; empty if there is none."""


@dataclass(frozen=True)
class Scene:
    """One episode."""

    title: str
    things: tuple[Thing, ...]
    spawns: tuple[tuple[float, float, float], ...] = ()
    """(x, z, yaw) of each robot, where the episode stores them."""


def scene_of(home: Home, episode: Episode) -> Scene:
    """What a floor plan shows of an episode that plays in `home`."""
    things = []
    for k, name in enumerate(episode.objects):
        start = (float(episode.start[k, 0]), float(episode.start[k, 2]))
        goal = (float(episode.goal[k, 0]), float(episode.goal[k, 2]))
        origin = home.receptacles[episode.start_receptacle[k]].name
        target = home.receptacles[episode.goal_receptacle[k]].name
        things.append(Thing(f"{name}, {origin} to {target}", start, goal, path_between(home.floor, start, goal)))
    spawns = () if episode.spawn is None else episode.spawn[:ROBOTS]
    where = tuple((float(x), float(z), float(yaw)) for x, z, yaw in spawns if np.isfinite(x))
    return Scene(f"{episode.task} episode {episode.id}", tuple(things), where)


def path_between(floor: Floor, start: tuple[float, float], goal: tuple[float, float]) -> np.ndarray:
    """Points [K, 2] (x, z) of the shortest path between the floor cells nearest to two things; empty if there is none."""
    first, last = floor.snap(start, REACH), floor.snap(goal, REACH)
    if first is None or last is None:
        return np.empty((0, 2))
    field = np.empty(floor.main.shape, np.float32)
    distance_field(floor.main, float(last[0]), float(last[1]), floor.cell, field)
    turns = np.empty((TURNS, 2))
    ends = float(first[0]), float(first[1]), float(last[0]), float(last[1])
    count = descend(floor.main, field, *ends, floor.cell, turns)
    return turns[:count, ::-1] * floor.cell + np.asarray(floor.origin)
