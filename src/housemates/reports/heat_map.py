"""The paper's heat map: how likely the coordination agent itself does each sub-goal, depending on who its partner is.

An agent that adapts has columns that differ; one that is set in its ways looks the same with everybody (paper, section 5.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from housemates.evaluation.metrics import Rows, agent_runs, subgoal_shares
from housemates.reports import paper
from housemates.reports.figures import canvas, draw_matrix, short
from housemates.reports.summary import groups, label, partners_in_order
from housemates.reports.tables import Cell, Table
from housemates.tasks.tasks import TASKS

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

MOST_METHODS = 4
"""Methods side by side in one figure."""
FIRST = ("bdp", "pbt", "sp", "trajedi", "fcp")
"""Who is shown if there are more; the paper shows the first two."""
THINGS = {"obj0": "object 0", "obj1": "object 1", "drawer_right": "drawer"}


def shares(rows: Rows, evaluation: str) -> tuple[list[str], np.ndarray]:
    """(partners [P], p(E_i | partner) [S, P]) of rows of one method and task.

    With holdouts all seeds together; with the training population of the first seed, since every seed has its own.
    """
    mine = rows.only(evaluation=evaluation)
    if evaluation == "train_pop":
        mine = mine.only(agent_run=agent_runs(mine)[0])
    names, found = subgoal_shares(mine)
    order = partners_in_order(mine)
    return order, found[:, [names.index(name) for name in order]]


def subgoal_table(rows: Rows, task: str) -> Table:
    """The upper half of the heat map as numbers, for every method and unseen partner, percent."""
    lines: list[tuple[str | Cell, ...]] = []
    for _, method, seen, mine in groups(rows.only(task=task, evaluation="zsc")):
        partners, found = shares(mine, "zsc")
        for partner, column in zip(partners, found.T, strict=True):
            lines.append((label(method), seen, partner, *(Cell(100 * share, digits=0) for share in column)))
    title = f"{paper.task_title(task)}: p(sub-goal done by the coordination agent given the partner), percent"
    notes = ("All seeds together. What is missing to 100 was done by the partner or by nobody.",)
    names = subgoal_names(task, max((len(line) - 3 for line in lines), default=0))
    return Table(f"subgoals_{task}", title, ("method", "sees", "partner", *names), tuple(lines), notes)


def subgoal_names(task: str, count: int) -> list[str]:
    """The sub-goals of a task in words; of a task that is not known here as many as there are in its rows, numbered."""
    if task not in TASKS:
        return [f"sub-goal {k + 1}" for k in range(count)]
    return [f"{s.verb} {THINGS.get(s.thing, s.thing)}" for s in TASKS[task].subgoals]


def heat_map(rows: Rows, task: str, observations: str) -> Figure:
    """Unseen partners above, training population below; a column of panels for each method."""
    wanted = rows.only(task=task, evaluation=("zsc", "train_pop"), observations=observations)
    wide = {m: mine for _, m, _, mine in groups(wanted) if len(mine.only(evaluation="zsc"))}
    methods = sorted(wide, key=lambda m: FIRST.index(m) if m in FIRST else len(FIRST))[:MOST_METHODS]
    names = subgoal_names(task, int((wanted["subgoals"] >= 0).any(axis=0).sum()))
    both = [e for e in ("zsc", "train_pop") if any(len(wide[m].only(evaluation=e)) for m in methods)]
    tall = 0.9 + len(both) * (1.0 + 0.26 * len(names))
    figure, axes = canvas(len(both) * _lines(methods), _across(methods), tall * _lines(methods) - 0.4, sharey=True)
    for k, method in enumerate(methods):
        for b, evaluation in enumerate(both):
            axis = axes[len(both) * (k // _across(methods)) + b][k % _across(methods)]
            mine = wide[method]
            if not len(mine.only(evaluation=evaluation)):
                axis.set_axis_off()
                continue
            partners, found = shares(mine, evaluation)
            run = agent_runs(mine.only(evaluation=evaluation))[0] if evaluation == "train_pop" else ""
            draw_matrix(axis, found, names, [short(p, run) for p in partners], "", 1.0, 1, bar=False)
            who = "unseen partners" if evaluation == "zsc" else f"training population, seed {_seed(mine, run)}"
            axis.set_title(f"{label(method)}: {who}", fontsize=9)
    for k in range(len(methods), _lines(methods) * _across(methods)):
        for b in range(len(both)):
            axes[len(both) * (k // _across(methods)) + b][k % _across(methods)].set_axis_off()
    title = f"{paper.task_title(task)} ({observations}): p(sub-goal done by the coordination agent | partner)"
    figure.suptitle(title, fontsize=10)
    return figure


def _across(methods: list[str]) -> int:
    return min(len(methods), 2)


def _lines(methods: list[str]) -> int:
    return -(-len(methods) // _across(methods))


def _seed(rows: Rows, run: str) -> int:
    return int(rows.only(agent_run=run)["agent_seed"][0])
