"""Who does the work: an agent's share of the sub-goals, its success beside a standing robot, and warnings of free-riding."""

from __future__ import annotations

import numpy as np

from housemates.evaluation.metrics import Rows, agent_runs, agent_share, mean_over_partners
from housemates.reports import paper
from housemates.reports.tables import Cell, Table, groups
from housemates.tasks.tasks import task_title
from housemates.training.checks import free_riding

STANDING = "script/noop"


def work_table(rows: Rows) -> Table:
    """A line for each run whose agent played with its own population or beside a standing robot."""
    lines: list[tuple[str | Cell, ...]] = []
    for task, method, seen, group in groups(rows.only(evaluation=("train_pop", "zsc"))):
        for run in agent_runs(group):
            success, share, alone = work(group.only(agent_run=run))
            cells = (Cell(100 * number) for number in (success, share, alone))
            said = "not judged" if np.isnan(success) else _verdict(success, share, alone) or "no"
            lines.append((run, paper.label(method), task_title(task), seen, *cells, said))
    columns = ("run", "method", "task", "sees", "own population", "agent's sub-goals", "standing robot", "leaves the work?")
    notes = (
        "Percent. Own population: success with the partners of its training; agent's sub-goals: those of the sub-goals "
        "achieved there that the agent achieved. Standing robot: success beside a partner that never moves. Not judged: it did "
        "not play with its own population.",
    )
    return Table("work", "Who does the work", columns, tuple(lines), notes)


def work(rows: Rows) -> tuple[float, float, float]:
    """Of one agent: success and its share of the sub-goals with its own population, success beside a standing robot; nan
    where that was not played."""
    own = rows.only(evaluation="train_pop")
    beside = rows.only(evaluation="zsc", partner=STANDING)
    return mean_over_partners(own), agent_share(own), mean_over_partners(beside)


def warnings(rows: Rows) -> list[str]:
    """A sentence for each run whose agent leaves the work to its partners."""
    found = []
    for _, _, _, group in groups(rows.only(evaluation=("train_pop", "zsc"))):
        for run in agent_runs(group):
            words = _verdict(*work(group.only(agent_run=run)))
            found += [f"{run}: {words}."] if words else []
    return found


def _verdict(success: float, share: float, alone: float) -> str | None:
    known = (None if np.isnan(value) else value for value in (share, alone))
    return None if np.isnan(success) else free_riding(success, *known)
