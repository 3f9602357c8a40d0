"""Tables as data and as Markdown, LaTeX, HTML and console text, and the paper's tables beside ours."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from housemates.evaluation.metrics import Rows, efficiency_gain, learned, mean_over_partners, per_run, scripted
from housemates.evaluation.stats import Estimate, Interval, over_seeds
from housemates.reports import paper
from housemates.reports.marks import about_bdp, explain, marks_of, trained_with
from housemates.tasks.tasks import task_title

MISSING = "-"
LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}
LATEX |= {"±": r"$\pm$", "†": r"$\dagger$", "‡": r"$\ddagger$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$", "×": r"$\times$", "…": r"\ldots{}", "–": "--"}
LATEX |= {"|": r"\textbar{}", "§": r"\S{}", "¶": r"\P{}", "◊": r"$\diamond$"}


@dataclass(frozen=True)
class Cell:
    """A number in a table, as it is shown: percent where shares are meant."""

    value: float = np.nan
    error: float = np.nan
    """Shown after ±; nan shows none."""
    n: int = 0
    """Seeds; 0 where that is not ours to say."""
    digits: int = 1
    low: float = np.nan
    high: float = np.nan
    """Of an interval, shown in brackets."""
    note: str = ""
    """Shown behind the number, in parentheses."""
    mark: str = ""
    """Signs that the caption explains."""
    signed: bool = False

    @property
    def text(self) -> str:
        """The cell as plain text; `-` if there is no number."""
        if np.isnan(self.value):
            return MISSING
        sign = "+" if self.signed else ""
        parts = [f"{self.value:{sign}.{self.digits}f}{self.mark}"]
        if not np.isnan(self.error):
            parts.append(f"± {self.error:.{self.digits}f}")
        if not np.isnan(self.low):
            parts.append(f"[{self.low:{sign}.{self.digits}f}, {self.high:{sign}.{self.digits}f}]")
        behind = [self.note] if self.note else []
        behind += ["n=1"] if self.n == 1 else []
        return " ".join([*parts, *([f"({', '.join(behind)})"] if behind else [])])


@dataclass(frozen=True)
class Table:
    """Rows of text and cells under a heading."""

    name: str
    """For files and anchors."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Sentences below it."""
    printed: frozenset[int] = frozenset()
    """Rows that show what the paper printed."""

    def texts(self) -> list[list[str]]:
        """All cells as text."""
        return [[cell.text if isinstance(cell, Cell) else cell for cell in row] for row in self.rows]


def percent(found: Estimate, mark: str = "", digits: int = 1) -> Cell:
    """A share over seeds as a cell in percent."""
    return Cell(100 * found.mean, 100 * found.error, found.n, digits, mark=mark)


def interval(found: Interval, scale: float = 100.0, digits: int = 1, signed: bool = False) -> Cell:
    """A number with its interval as a cell."""
    return Cell(scale * found.value, low=scale * found.low, high=scale * found.high, digits=digits, signed=signed)


def markdown(table: Table) -> str:
    """The table for Markdown, with its title in bold and its notes below."""
    texts = [[text.replace("|", "\\|") for text in row] for row in [list(table.columns), *table.texts()]]
    lines = [f"**{table.title}**", "", _bar(texts[0]), "|" + "|".join("---" for _ in table.columns) + "|"]
    lines += [_bar(row) for row in texts[1:]]
    return "\n".join([*lines, "", *(f"{note}  " for note in table.notes)]).rstrip() + "\n"


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def latex(table: Table) -> str:
    """The table for LaTeX (needs booktabs)."""
    kinds = "".join("l" if all(isinstance(row[k], str) for row in table.rows) else "r" for k in range(len(table.columns)))
    lines = [r"\begin{table*}", r"\centering", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
    lines += [" & ".join(rf"\textbf{{{_latex(c)}}}" for c in table.columns) + r" \\", r"\midrule"]
    lines += [" & ".join(_latex(text) for text in row) + r" \\" for row in table.texts()]
    caption = " ".join([table.title + ".", *table.notes])
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_latex(caption)}}}", rf"\label{{tab:{table.name}}}"]
    return "\n".join([*lines, r"\end{table*}", ""])


def _latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def page(table: Table, heading: str = "") -> str:
    """The table for HTML; without its title where the heading above it says the same."""
    numbers = [any(isinstance(row[k], Cell) for row in table.rows) for k in range(len(table.columns))]
    titles = zip(table.columns, numbers, strict=True)
    head = "".join(f"<th{' class=number' if number else ''}>{html.escape(title)}</th>" for title, number in titles)
    caption = "" if table.title == heading else f"<caption>{html.escape(table.title)}</caption>"
    lines = [f'<table id="{html.escape(table.name)}">', caption]
    lines += [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for k, (row, texts) in enumerate(zip(table.rows, table.texts(), strict=True)):
        cells = [f"<td{'' if isinstance(c, str) else _class(c)}>{html.escape(t)}</td>" for c, t in zip(row, texts, strict=True)]
        lines.append(f"<tr{' class=paper' if k in table.printed else ''}>{''.join(cells)}</tr>")
    notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in table.notes)
    return "\n".join(["<div class=scroll>", *lines, "</tbody></table></div>", notes])


def _class(cell: Cell) -> str:
    return " class=none" if np.isnan(cell.value) else " class=number"


def console(table: Table) -> str:
    """The table as aligned text."""
    texts = [list(table.columns), *table.texts()]
    widths = [max(len(row[k]) for row in texts) for k in range(len(table.columns))]
    number = [any(isinstance(row[k], Cell) for row in table.rows) for k in range(len(table.columns))]
    lines = [
        "  ".join(t.rjust(w) if right else t.ljust(w) for t, w, right in zip(row, widths, number, strict=True)).rstrip()
        for row in texts
    ]
    return "\n".join([table.title, "", lines[0], "-" * len(lines[0]), *lines[1:], *table.notes])


EVALUATIONS = {"train_pop": "train-pop", "zsc": "ZSC"}
"""The paper's names of the two evaluations."""
SEEN = ("depth", "rgb", "state", "predicates")
"""The order of our lines."""
LITERAL = "bdp_literal"
PRINTED_NOTE = (
    "paper: value ± as printed (a mixture of fractions and points). ours: mean ± standard error over seeds, in points."
)
Measure = Callable[[Rows], Cell]


def paper_tables(rows: Rows) -> list[Table]:
    """All of them; `rows` may hold any methods and tasks, of one split."""
    tables = [success_table(rows), gain_table(rows), discriminator_table(rows), architecture_table(rows), type_table(rows)]
    return [*tables, *observations_table(rows)]


def with_ours(table: Table) -> Table | None:
    """A table of the paper without the methods, tasks and evaluations of which there is no number of ours; None if nothing
    is left."""
    ours = {row[:2] for k, row in enumerate(table.rows) if k not in table.printed and _numbers(row)}
    kept = [k for k, row in enumerate(table.rows) if row[:2] in ours and (k in table.printed or _numbers(row))]
    if not kept:
        return None
    measured = [
        c for c in range(3, len(table.columns)) if any(c in _numbers(table.rows[k]) for k in kept if k not in table.printed)
    ]
    columns = [0, 1, 2, *measured]
    rows = tuple(tuple(table.rows[k][c] for c in columns) for k in kept)
    printed = frozenset(new for new, old in enumerate(kept) if old in table.printed)
    return Table(table.name, table.title, tuple(table.columns[c] for c in columns), rows, table.notes, printed)


def _numbers(row: Sequence[str | Cell]) -> set[int]:
    """Which cells of a row hold a number."""
    return {c for c, cell in enumerate(row) if isinstance(cell, Cell) and not np.isnan(cell.value)}


def success_table(rows: Rows) -> Table:
    """Table 1: success with the training population and with held-out partners, percent."""
    title = "Table 1. Success with the training population (train-pop) and with held-out partners (ZSC), percent"
    kinds = {name: (label, rows.only(evaluation=name)) for name, label in EVALUATIONS.items()}
    return _table("table1", title, with_literal(paper.METHODS, rows), paper.SUCCESS, kinds, _tasks(rows), success_cell)


def gain_table(rows: Rows) -> Table:
    """Table 2: cooperation efficiency gain, percent."""
    title = "Table 2. Cooperation efficiency gain L1 / L2 - 1 over a robot that works alone, percent"
    kinds = {name: (label, rows.only(evaluation=name)) for name, label in EVALUATIONS.items()}
    lines: dict[str, Measure] = {"": gain_cell, "failures = 750 steps": _gain("failures")}
    lines["learned solo agent"] = lambda mine: gain_cell(mine, reference="learned_solo_steps")
    table = _table("table2", title, with_literal(paper.GAIN_METHODS, rows), paper.GAIN, kinds, _tasks(rows), lines)
    notes = (
        "ours: only episodes in which both the team and the solo robot succeed, the team's success rate behind it; "
        "the second line counts every failure as 750 steps. Both are over the scripted solo robot; the third line, where rows "
        "of an agent of the method solo are given, is as the first but over that learned agent.",
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
    """Table 5: zero-shot success by the type of the held-out partner, percent."""
    title = "Table 5. Zero-shot success by the type of the held-out partner, percent"
    held_out = rows.only(evaluation="zsc")
    kinds = {"scripted": ("scripted", scripted(held_out)), "learned": ("learned", learned(held_out))}
    methods = with_literal(paper.GAIN_METHODS, rows)
    return _table("table5", title, methods, paper.BY_TYPE, kinds, _tasks(rows), success_cell)


def with_literal(methods: tuple[str, ...], rows: Rows) -> tuple[str, ...]:
    """Columns of a table, with one for BDP as the paper has it if that was trained (our presets' BDP is a variant)."""
    return (*methods, LITERAL) if len(rows.only(method=LITERAL)) else methods


def _tasks(rows: Rows) -> tuple[str, ...]:
    """The paper's tasks, and those of the rows that it does not have."""
    return paper.in_order([*paper.TASKS, *rows.distinct("task")])


def observations_table(rows: Rows) -> list[Table]:
    """The paper's comparison of observations in the text, if there is anything of ours to compare."""
    methods = tuple(paper.OBSERVATIONS["prepare_groceries", "zsc"])
    tasks = tuple(t for t in _tasks(rows) if len(rows.only(task=t, method=("bdp_rgb", "bdp_state"))))
    if not tasks:
        return []
    title = "Other observations (numbers of the paper's text, two seeds), zero-shot success, percent"
    kinds = {"zsc": ("ZSC", rows.only(evaluation="zsc"))}
    return [_table("observations", title, methods, paper.OBSERVATIONS, kinds, tasks, success_cell)]


def success_cell(rows: Rows) -> Cell:
    """Plain mean over partners per run, then mean and standard error over runs, percent."""
    return percent(over_seeds(per_run(rows, mean_over_partners)), marks_of(rows)) if len(rows) else Cell()


def gain_cell(rows: Rows, kind: str = "success", reference: str = "solo_steps") -> Cell:
    """Efficiency gain over one of `metrics.REFERENCES` per run, then mean and standard error over runs, percent; the success
    rate beside the headline."""
    if not len(rows):
        return Cell()
    found = over_seeds(per_run(rows, lambda mine: efficiency_gain(mine, kind, reference=reference)))
    if not found.n:
        return Cell()
    share = 100 * over_seeds(per_run(rows, mean_over_partners)).mean
    note = f"success {share:.0f} %" if kind == "success" else ""
    return Cell(100 * found.mean, 100 * found.error, found.n, 1, note=note, mark=marks_of(rows), signed=True)


def groups(rows: Rows) -> Iterator[tuple[str, str, str, Rows]]:
    """(task, method, observations, rows), in the order of the paper's tables."""
    for task in paper.in_order(rows.distinct("task")):
        mine = rows.only(task=task)
        for method in sorted(mine.distinct("method"), key=paper.method_order):
            here = mine.only(method=method)
            for seen in sorted(here.distinct("observations"), key=lambda o: (SEEN.index(o) if o in SEEN else len(SEEN), o)):
                yield task, method, seen, here.only(observations=seen)


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
                rows.append((task_title(task), label, "paper", *cells))
            for source, by_method in lines_of(found.only(task=task), methods):
                for what, each in measures.items():
                    cells = [each(by_method[method]) for method in methods]
                    if not what or any(not np.isnan(c.value) for c in cells):
                        rows.append((task_title(task), label, source + (f", {what}" if what else ""), *cells))
    columns = ("task", "partners", "source", *(paper.LABELS[method] for method in methods))
    everybody = [found.only(method=methods, task=tasks) for _, found in kinds.values()]
    notes = (PRINTED_NOTE, *dict.fromkeys(note for found in everybody for note in trained_with(found)), *explain(rows))
    notes += tuple(dict.fromkeys(note for found in everybody for note in about_bdp(found)))
    return Table(name, title, columns, tuple(rows), notes, frozenset(theirs))


def _printed(value: paper.Printed | None, digits: int) -> Cell:
    return Cell() if value is None else Cell(value[0], np.nan if value[1] is None else value[1], digits=digits)


def _ablation(name: str, title: str, methods: tuple[str, ...], rows: Rows) -> Table:
    """The paper has these on Set Table only; ours stand there and wherever an ablation was trained."""
    special = tuple(m for m in methods if m not in ("pbt", "bdp"))
    tasks = tuple(t for t in _tasks(rows) if t == "set_table" or len(rows.only(task=t, method=special)))
    methods = with_literal(methods, rows)
    kinds = {kind: (label, rows.only(evaluation=kind)) for kind, label in EVALUATIONS.items()}
    return _table(name, f"{title}, success in percent", methods, paper.ABLATIONS, kinds, tasks, success_cell)


def _gain(kind: str) -> Measure:
    return lambda rows: gain_cell(rows, kind)


def _actual_lengths(kinds: dict[str, tuple[str, Rows]]) -> tuple[str, ...]:
    """The third reading of the gain, for a footnote: it rewards teams that crash early."""
    told = []
    everything = [task for _, found in kinds.values() for task in found.distinct("task")]
    for task in paper.in_order(everything):
        title = task_title(task)
        for label, found in kinds.values():
            for source, by_method in lines_of(found.only(task=task), with_literal(paper.GAIN_METHODS, found)):
                cells = {paper.LABELS[m]: gain_cell(mine, "actual") for m, mine in by_method.items()}
                values = [f"{m} {cell.value:+.0f} %" for m, cell in cells.items() if not np.isnan(cell.value)]
                if values:
                    told.append(f"{title} {label} ({source}): {', '.join(values)}")
    return (
        ("With every episode as long as it really was (this rewards early crashes): " + "; ".join(told) + ".",) if told else ()
    )
