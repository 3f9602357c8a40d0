"""What a task is: a table of which object comes from where and goes where, which doors are open, what is paid for.

The three tables themselves stand in `set_table`, `tidy_house` and `prepare_groceries`; `tasks` finds them by name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.homes.home import OPENABLE, Home
from housemates.tasks.actions import Subgoal, door_of


@dataclass(frozen=True)
class Target:
    """One of the two objects that must be moved."""

    objects: tuple[str, ...]
    """The object is one of these, each equally likely."""
    start: tuple[str, ...]
    """It lies on one of these kinds of receptacle, each equally likely."""
    goal: tuple[str, ...]
    """It belongs on one of these kinds."""
    other_piece: bool = False
    """The goal is on another kind of receptacle, and another piece of furniture, than the start."""
    goal_above: int = -1
    """Index of the target whose goal it joins, `goal_lift` above it; -1 for a goal of its own."""
    goal_lift: float = 0.0
    """Metres."""


@dataclass(frozen=True)
class Task:
    """One task of the paper, as a table."""

    name: str
    targets: tuple[Target, Target]
    subgoals: tuple[Subgoal, ...]
    opened: tuple[tuple[str, float], ...] = ()
    """Doors and drawers of OPENABLE that stand open at the start, with their joint value; all others are closed."""

    @property
    def subgoal_names(self) -> tuple[str, ...]:
        """What each sub-goal is called in logs and heat maps."""
        return tuple(str(s) for s in self.subgoals)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The receptacle kinds a home must have for this task, each once."""
        moved = (kind for target in self.targets for kind in target.start + target.goal)
        return tuple(dict.fromkeys((*moved, *(kind for kind, _ in self.opened))))


def initial_doors(task: Task) -> np.ndarray:
    """Joint values [3] of OPENABLE at the start of an episode, radians or metres."""
    return np.array([dict(task.opened).get(kind, 0.0) for kind in OPENABLE])


def initial_joints(task: Task, home: Home) -> np.ndarray:
    """All joint values [J] at the start of an episode: zero clamped to the limits, and what the task's table says."""
    values = np.array([min(max(0.0, j.lower), j.upper) for j in home.joints])
    for kind, value in task.opened:
        values[door_of(home, kind)] = value
    return values
