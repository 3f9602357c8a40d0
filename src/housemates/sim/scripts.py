"""Scripted robots: non-reactive plans that never avoid anybody (spec 11.1), and a lone robot that does the whole task.

A plan is a row of actions; what is infeasible when its turn comes costs a step and is skipped, and after the last
action the robot stands still. The three plans S0, S1, S2 of each task are holdouts: never partners in training.
"""

from __future__ import annotations

import numpy as np

from housemates.sim.state import BOTH_HALVES
from housemates.tasks.actions import ACTIONS

HALVES = {
    "tidy_house": (
        ("nav obj0", "pick obj0", "nav goal0", "place goal0"),
        ("nav obj1", "pick obj1", "nav goal1", "place goal1"),
    ),
    "prepare_groceries": (
        ("nav obj0", "pick obj0", "nav goal0", "place goal0"),
        ("nav obj1", "pick obj1", "nav goal1", "place goal1"),
    ),
    "set_table": (
        ("nav drawer_right", "open drawer_right", "nav obj0", "pick obj0", "nav goal0", "place goal0"),
        ("nav fridge", "open fridge", "nav obj1", "pick obj1", "nav goal1", "place goal1"),
    ),
}
"""The two halves of each task: what S1 and S2 do."""

SCRIPTS = {"noop": 0, "first_half": 1, "second_half": 2, "solo": BOTH_HALVES, "solo_first": 3, "solo_second": 4}
"""Names for `Batch.script`: the holdouts S0, S1, S2, the whole task in the better order, and in either order."""
SOLO = (SCRIPTS["solo_first"], SCRIPTS["solo_second"])


def plans(task: str) -> np.ndarray:
    """All plans of a task, int8 [5, L], padded with -1; rows as SCRIPTS numbers them."""
    first, second = HALVES[task]
    rows = ((), first, second, first + second, second + first)
    table = np.full((len(rows), max(len(row) for row in rows)), -1, np.int8)
    for k, row in enumerate(rows):
        table[k, : len(row)] = [ACTIONS.index(action) for action in row]
    return table


def script(name: str) -> int:
    """The number of a script by name."""
    if name not in SCRIPTS:
        raise ValueError(f"no scripted robot '{name}' - choose one of: {', '.join(SCRIPTS)}")
    return SCRIPTS[name]
