"""Tables 1 to 5 of the paper, each line of the paper followed by our own from the rows of evaluations.

Agents that see different things are never averaged: there is one line of ours for each kind of observation. Empty cells stay
empty, a single seed has no error, and what was not zero-shot says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from housemates.evaluation.metrics import Rows, efficiency_gain, learned, mean_over_partners, per_run, scripted
from housemates.evaluation.stats import over_seeds
from housemates.reports import paper
from housemates.reports.tables import Cell, Table, percent

EVALUATIONS = {"train_pop": "train-pop", "zsc": "ZSC"}
"""The paper's names of the two evaluations."""
SEEN = ("depth", "rgb", "state", "predicates")
"""The order of our lines."""
NOT_ZERO_SHOT, MIXED = "†", "‡"
SAME_BUDGET = 0.01
"""Trainings end with a whole rollout: budgets that differ by less are the same."""
PRINTED_NOTE = (
    "paper: value ± as printed (a mixture of fractions and points). ours: mean ± standard error over seeds, in points."
)
MARKS = {
    NOT_ZERO_SHOT: f"{NOT_ZERO_SHOT} not zero-shot: some of these partners had a part in the training.",
    MIXED: f"{MIXED} the seeds were trained with different numbers of decisions.",
}
Measure = Callable[[Rows], Cell]


def paper_tables(rows: Rows) -> list[Table]:
    """All of them; `rows` may hold any methods and tasks, of one split."""
    tables = [success_table(rows), gain_table(rows), discriminator_table(rows), architecture_table(rows), type_table(rows)]
    return [*tables, *observations_table(rows)]


def success_table(rows: Rows) -> Table:
    """Table 1: success with the training population and with holdouts, percent."""
    title = "Table 1. Success with the training population (train-pop) and with unseen partners (ZSC), percent"
    kinds = {name: (label, rows.only(evaluation=name)) for name, label in EVALUATIONS.items()}
    return _table("table1", title, paper.METHODS, paper.SUCCESS, kinds, tuple(paper.TASKS), success_cell)


def gain_table(rows: Rows) -> Table:
    """Table 2: cooperation efficiency gain, percent."""
    title = "Table 2. Cooperation efficiency gain L1 / L2 - 1 over the scripted solo robot, percent"
    kinds = {name: (label, rows.only(evaluation=name)) for name, label in EVALUATIONS.items()}
    lines: dict[str, Measure] = {"": gain_cell, "failures = 750 steps": _gain("failures")}
    table = _table("table2", title, paper.GAIN_METHODS, paper.GAIN, kinds, tuple(paper.TASKS), lines)
    notes = (
        "ours: only episodes in which both the team and the solo robot succeed, the team's success rate behind it; "
        "the second line counts every failure as 750 steps.",
        *_actual_lengths(kinds),
    )
    return Table(table.name, table.title, table.columns, table.rows, (*notes, *table.notes), table.printed)


def discriminator_table(rows: Rows) -> Table:
    """Table 3: BDP without its discriminator, and without its latent too."""
    return _ablation("table3", "Table 3. Ablations of the diversity objective", paper.DISCRIMINATOR, rows)


def architecture_table(rows: Rows) -> Table:
    """Table 4: BDP with separate policies instead of a latent."""
    return _ablation("table4", "Table 4. Ablations of the shared policy", paper.ARCHITECTURE, rows)


def type_table(rows: Rows) -> Table:
    """Table 5: zero-shot success by the type of the holdout, percent."""
    title = "Table 5. Zero-shot success by the type of the unseen partner, percent"
    strangers = rows.only(evaluation="zsc")
    kinds = {"scripted": ("scripted", scripted(strangers)), "learned": ("learned", learned(strangers))}
    return _table("table5", title, paper.GAIN_METHODS, paper.BY_TYPE, kinds, tuple(paper.TASKS), success_cell)


def observations_table(rows: Rows) -> list[Table]:
    """The paper's comparison of observations in the text, if there is anything of ours to compare."""
    methods = tuple(paper.OBSERVATIONS["prepare_groceries", "zsc"])
    tasks = tuple(t for t in paper.TASKS if len(rows.only(task=t, method=("bdp_rgb", "bdp_state"))))
    if not tasks:
        return []
    title = "Other observations (numbers of the paper's text, two seeds), zero-shot success, percent"
    kinds = {"zsc": ("ZSC", rows.only(evaluation="zsc"))}
    return [_table("observations", title, methods, paper.OBSERVATIONS, kinds, tasks, success_cell)]


def success_cell(rows: Rows) -> Cell:
    """Plain mean over partners per run, then mean and standard error over runs, percent."""
    return percent(over_seeds(per_run(rows, mean_over_partners)), marks_of(rows)) if len(rows) else Cell()


def gain_cell(rows: Rows, kind: str = "success") -> Cell:
    """Efficiency gain per run, then mean and standard error over runs, percent; the success rate beside the headline."""
    if not len(rows):
        return Cell()
    found = over_seeds(per_run(rows, lambda mine: efficiency_gain(mine, kind)))
    share = 100 * over_seeds(per_run(rows, mean_over_partners)).mean
    note = f"success {share:.0f} %" if kind == "success" else ""
    return Cell(100 * found.mean, 100 * found.error, found.n, 1, note=note, mark=marks_of(rows), signed=True)


def marks_of(rows: Rows) -> str:
    """Signs for what a reader must know of a cell."""
    mixed = rows["decisions"].max() > (1 + SAME_BUDGET) * rows["decisions"].min()
    strangers = rows["evaluation"] == "zsc"
    return (NOT_ZERO_SHOT if (strangers & ~rows["zero_shot"]).any() else "") + (MIXED if mixed else "")


def explain(rows: Sequence[Sequence[str | Cell]]) -> tuple[str, ...]:
    """What the marks in these rows mean."""
    used = "".join(cell.mark for row in rows for cell in row if isinstance(cell, Cell))
    return tuple(text for mark, text in MARKS.items() if mark in used)


def lines_of(rows: Rows, methods: Sequence[str]) -> list[tuple[str, dict[str, Rows]]]:
    """(`ours, depth`, rows by method), one line per kind of observation; methods that name theirs stand in the first line."""
    other = rows.only(method=tuple(m for m in methods if m not in paper.OWN_OBSERVATIONS))
    seen = sorted(other.distinct("observations"), key=lambda o: (SEEN.index(o) if o in SEEN else len(SEEN), o))
    found = []
    for k, observations in enumerate(seen or [""]):
        cells = {m: other.only(method=m, observations=observations) for m in methods if m not in paper.OWN_OBSERVATIONS}
        own = {m: rows.only(method=m if k == 0 else ()) for m in methods if m in paper.OWN_OBSERVATIONS}
        found.append((f"ours, {observations}" if observations else "ours", cells | own))
    return found


def _table(
    name: str,
    title: str,
    methods: tuple[str, ...],
    printed: paper.PrintedTable,
    kinds: dict[str, tuple[str, Rows]],
    tasks: tuple[str, ...],
    measure: Measure | dict[str, Measure],
) -> Table:
    """For each task and kind of evaluation a line of the paper and lines of ours, one for each measure and observation."""
    measures = measure if isinstance(measure, dict) else {"": measure}
    rows: list[tuple[str | Cell, ...]] = []
    theirs: set[int] = set()
    digits = 2 if any(error is not None for line in printed.values() for _, error in line.values()) else 0
    for task in tasks:
        for kind, (label, found) in kinds.items():
            known = printed.get((task, kind), {})
            if known:
                theirs.add(len(rows))
                cells = [_printed(known.get(method), digits) for method in methods]
                rows.append((paper.TASKS[task], label, "paper", *cells))
            for source, by_method in lines_of(found.only(task=task), methods):
                for what, each in measures.items():
                    cells = [each(by_method[method]) for method in methods]
                    if not what or any(not np.isnan(c.value) for c in cells):
                        rows.append((paper.TASKS[task], label, source + (f", {what}" if what else ""), *cells))
    columns = ("task", "partners", "source", *(paper.LABELS[method] for method in methods))
    return Table(name, title, columns, tuple(rows), (PRINTED_NOTE, *explain(rows)), frozenset(theirs))


def _printed(value: paper.Printed | None, digits: int) -> Cell:
    return Cell() if value is None else Cell(value[0], np.nan if value[1] is None else value[1], digits=digits)


def _ablation(name: str, title: str, methods: tuple[str, ...], rows: Rows) -> Table:
    """The paper has these on Set Table only; ours stand there and wherever an ablation was trained."""
    special = tuple(m for m in methods if m not in ("pbt", "bdp"))
    tasks = tuple(t for t in paper.TASKS if t == "set_table" or len(rows.only(task=t, method=special)))
    kinds = {kind: (label, rows.only(evaluation=kind)) for kind, label in EVALUATIONS.items()}
    return _table(name, f"{title}, success in percent", methods, paper.ABLATIONS, kinds, tasks, success_cell)


def _gain(kind: str) -> Measure:
    return lambda rows: gain_cell(rows, kind)


def _actual_lengths(kinds: dict[str, tuple[str, Rows]]) -> tuple[str, ...]:
    """The third reading of the gain, for a footnote: it rewards teams that crash early."""
    told = []
    for task, title in paper.TASKS.items():
        for label, found in kinds.values():
            for source, by_method in lines_of(found.only(task=task), paper.GAIN_METHODS):
                cells = {paper.LABELS[m]: gain_cell(mine, "actual") for m, mine in by_method.items()}
                values = [f"{m} {cell.value:+.0f} %" for m, cell in cells.items() if not np.isnan(cell.value)]
                if values:
                    told.append(f"{title} {label} ({source}): {', '.join(values)}")
    return (
        ("With every episode as long as it really was (this rewards early crashes): " + "; ".join(told) + ".",) if told else ()
    )
