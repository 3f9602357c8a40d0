"""Scripted robots: non-reactive plans that never avoid anybody (spec 11.1), and a lone robot that does the whole task.

A plan is a row of actions; what is infeasible when its turn comes costs a step and is skipped, and after the last
action the robot stands still. The three plans S0, S1, S2 of each task are holdouts: never partners in training.
"""

from __future__ import annotations

import numpy as np

from housemates.sim.state import BOTH_HALVES
from housemates.tasks.actions import ACTIONS
from housemates.tasks.tasks import get_task

SCRIPTS = {"noop": 0, "first_half": 1, "second_half": 2, "solo": BOTH_HALVES, "solo_first": 3, "solo_second": 4}
"""Names for `Batch.script`: the holdouts S0, S1, S2, the whole task in the better order, and in either order."""
SOLO = (SCRIPTS["solo_first"], SCRIPTS["solo_second"])


def plans(task: str) -> np.ndarray:
    """All plans of a task, int8 [5, L], padded with -1; rows as SCRIPTS numbers them."""
    first, second = get_task(task).halves
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
