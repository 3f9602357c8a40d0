"""Agents in other homes than those of their training: generated homes and real ones (ReplicaCAD), both ways."""

from __future__ import annotations

from dataclasses import replace

from housemates.evaluation.metrics import Rows, agent_runs
from housemates.evaluation.stats import RESAMPLES, Interval, bootstrap_mean, compare_homes, scores
from housemates.reports.marks import LOOKED, explain, looked_apart
from housemates.reports.paper import label
from housemates.reports.tables import Cell, Table, groups, interval, success_cell
from housemates.tasks.tasks import task_title

REAL = "replicacad-"
"""How names of splits with real homes begin; behind it stands the generated split that corresponds to it."""
KINDS = ("generated", "real")
NOT_RECORDED = "not recorded"


def kind_of(split: str) -> str:
    """One of KINDS, for the split that an agent was trained or evaluated in; nothing is known of rows from before that."""
    return NOT_RECORDED if not split else KINDS[split.startswith(REAL.rstrip("-"))]


def at_home(split: str, trained: str) -> str:
    """The split that corresponds to a split, with homes of the kind that an agent was trained in."""
    plain = split.removeprefix(REAL)
    return f"{REAL}{plain}" if trained == KINDS[1] else plain


def transfer_table(rows: Rows, seed: int = 0, resamples: int = RESAMPLES) -> Table:
    """Zero-shot success of agents trained in one kind of homes and evaluated in both; rows of any splits.

    A line without anything to compare is left out: agents must have been evaluated in homes of both kinds.
    """
    held_out, lines = rows.only(evaluation="zsc"), []
    for task, method, seen, mine in groups(held_out):
        for trained in (*KINDS, NOT_RECORDED):
            splits = tuple(name for name in mine.distinct("trained_in") if kind_of(name) == trained)
            here = mine.only(trained_in=splits)
            played = {split: here.only(split=split) for split in here.distinct("split")}
            if len({kind_of(split) for split in played}) < 2:
                continue
            for split in sorted(played, key=lambda name: (name.removeprefix(REAL), name)):
                found = played[split]
                other = at_home(split, trained)
                known = other != split and trained != NOT_RECORDED
                apart = difference(found, played.get(other), seed, resamples) if known else None
                mark = LOOKED if looked_apart(here.only(split=(split, other))) else ""
                lines.append(
                    (
                        task_title(task),
                        label(method),
                        seen,
                        trained,
                        split,
                        str(len(found.distinct("partner"))),
                        success_cell(found),
                        interval(bootstrap_mean(scores(found), seed, resamples)),
                        Cell()
                        if apart is None or trained == NOT_RECORDED
                        else replace(interval(apart, signed=True), mark=mark),
                        lacking(found),
                    )
                )
    columns = ("task", "method", "sees", "trained in", "evaluated in", "partners", "success", "mean [95 %]")
    columns += ("against its own kind of homes [95 %]", "files lack")
    notes = (
        "Percent and points, zero-shot. Success: mean ± standard error over seeds. Last difference: the same agents with the "
        "same partners, minus their success in the corresponding split of the kind of homes of their training; seeds and "
        "partners are drawn together, episodes for each split. It is empty at home, and where the training did not record its "
        "homes. Layouts that stand in for a kitchen that the files lack are named in the last column.",
        *explain(lines),
    )
    return Table("transfer", "Generated and real homes", columns, tuple(lines), notes)


def lacking(rows: Rows) -> str:
    """What the files of the homes lack, in short."""
    entries = [entry for words in rows.distinct("lacks") for entry in words.split(", ") if entry]
    return f"{entries[0]} and {len(entries) - 1} more" if len(entries) > 2 else ", ".join(entries) or "nothing"


def difference(found: Rows, home: Rows | None, seed: int, resamples: int) -> Interval | None:
    """Success of the agents of both in one split minus that in another, with partners of both; None if there are none."""
    if home is None:
        return None
    runs = tuple(run for run in agent_runs(found) if run in agent_runs(home))
    partners = tuple(name for name in found.distinct("partner") if name in home.distinct("partner"))
    if not runs or not partners:
        return None
    first, second = (scores(rows.only(agent_run=runs, partner=partners)) for rows in (found, home))
    return compare_homes(first, second, seed, resamples)
