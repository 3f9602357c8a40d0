"""Scripted robots: non-reactive plans that never avoid anybody (spec 11.1), and a lone robot that does the whole task.

A plan is a row of actions; what is infeasible when its turn comes costs a step and is skipped, and after the last
action the robot stands still. The three plans S0, S1, S2 of each task are the paper's holdouts; FURTHER are scripts with
a habit (`sim.habits`). All of these are never partners in training.
"""

from __future__ import annotations

import numpy as np

from housemates.sim import habits
from housemates.sim.state import BOTH_HALVES
from housemates.tasks.actions import ACTIONS
from housemates.tasks.tasks import get_task

PAPER = ("noop", "first_half", "second_half")
"""The paper's scripted partners S0, S1, S2."""
FURTHER = {
    "slow": (habits.SLOW, "does the whole task at half the speed"),
    "stubborn": (habits.STUBBORN, "does the whole task, and waits for an object that somebody else has taken"),
    "changes_mind": (habits.CHANGES_MIND, "does the whole task, and three times turns to the other object on its way"),
    "opens_nothing": (habits.OPENS_NOTHING, "does the second half of each object: opens nothing, carries what lies open"),
    "other_order": (habits.OTHER_ORDER, "does the whole task, in the order with the longer way"),
    "blocks": (habits.BLOCKS, "stands at the first object's goal until step 250, then sees to the second object"),
    "hands_over": (habits.HANDS_OVER, "carries each object half of the way, puts it on the floor and leaves it to others"),
}
"""Number and meaning of the scripts with a habit."""
SCRIPTS = {"noop": 0, "first_half": 1, "second_half": 2, "solo": BOTH_HALVES, "solo_first": 3, "solo_second": 4}
SCRIPTS |= {name: number for name, (number, _) in FURTHER.items()}
"""Names for `Batch.script`: the holdouts S0, S1, S2, the whole task in the better order, and in either order; then FURTHER."""
SOLO = (SCRIPTS["solo_first"], SCRIPTS["solo_second"])
HELD_OUT = (*PAPER, *FURTHER)
"""Scripts of the evaluation: never partners in training."""


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
