"""One episode made ready for drawing: what lies where, where it belongs, and the way between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from housemates.homes.floor import Floor
from housemates.homes.home import Home
from housemates.kernels.distance import distance_field
from housemates.kernels.paths import descend

if TYPE_CHECKING:
    from housemates.tasks.storage import Episode

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
