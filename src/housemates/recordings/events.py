"""What happened in one step of one home, in words: read off the states before and after it.

Only for people and recordings; the simulator itself never asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from housemates.sim.batch import Batch
from housemates.sim.rules import ARRIVE, COLLISION, FACING, NAVIGATION_CAP
from housemates.sim.skills import entity_point, heading_error
from housemates.sim.state import COLLISION_END, MUST_DECIDE, OUTCOMES
from housemates.sim.step import planned
from housemates.tasks.actions import ACTIONS, NO_OP, PICK
from housemates.tasks.tasks import get_task

KINDS = ("subgoal", "infeasible", "interruption", "success", "collision", "timeout")
"""What can happen: a sub-goal reached, a choice that could not start, a skill cut by a near partner, the three ends."""


def happened(batch: Batch, home: int, before: np.ndarray, chosen: list[int], tick: int) -> list[dict[str, Any]]:
    """Events of the step that led from the STATE `before` to the batch's present one, dated `tick`.

    chosen: what each robot did in it, -1 for nothing.
    """
    state, found = batch.state, []

    def event(kind: str, robot: int, what: str) -> None:
        found.append({"tick": tick, "kind": kind, "robot": robot, "what": what})

    names = get_task(batch.episodes.task).subgoal_names
    for number, name in enumerate(names):
        robot = int(state.done_by[home, number])
        if robot >= 0 and before["done_by"][number] < 0:
            event("subgoal", robot, name)
    for robot, action in enumerate(chosen):
        if PICK <= action < NO_OP and state.executed[home, robot] == NO_OP:
            event("infeasible", robot, ACTIONS[action])
        ended = 0 <= action < PICK and state.action[home, robot] == MUST_DECIDE
        if ended and not _arrived(batch, home, before, robot, action):
            event("interruption", robot, ACTIONS[action])
    if state.over[home]:
        outcome = int(batch.ended.outcome[home])
        # The end of an episode closes running skills too; that is no interruption.
        found = [e for e in found if e["kind"] != "interruption"]
        event(OUTCOMES[outcome], -1, ", ".join(_touching(batch, home)) if outcome == COLLISION_END else "")
    return found


def plan_of(batch: Batch, home: int, robot: int) -> int:
    """What a scripted robot does next: its plan's next action, a no-op when the plan is done."""
    action = planned(batch.world, batch.records[home], robot)
    return NO_OP if action < 0 else action


def _arrived(batch: Batch, home: int, before: np.ndarray, robot: int, action: int) -> bool:
    """Whether a navigation ended by itself: there and facing its target (as `skills.navigate` sees it), or out of time."""
    if batch.state.elapsed[home, robot] >= NAVIGATION_CAP:
        return True
    destination = int(batch.state.destination[home, robot])
    if destination < 0:
        return True
    place = batch.world.homes[int(before["home"])]
    cell = place["cell_start"] + batch.world.approach_cell[place["approach_start"] + destination]
    away = np.hypot(*(batch.world.cell_xz[cell] - before["pose"][robot, :2]))
    x, _, z = entity_point(batch.world, before, robot, action)
    return bool(away <= ARRIVE and abs(heading_error(before, robot, x, z)) < FACING + batch.numbers.turn)


def _touching(batch: Batch, home: int) -> list[str]:
    """The pairs of robots that touch."""
    place = batch.state.pose[home, :, :2]
    pairs = [(a, b) for a in range(batch.robots) for b in range(a)]
    return [f"robots {b} and {a}" for a, b in pairs if np.hypot(*(place[a] - place[b])) < COLLISION]
