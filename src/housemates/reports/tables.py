"""Tables as data, and the same table as Markdown, LaTeX, HTML and text for a console."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from housemates.evaluation.stats import Estimate, Interval

MISSING = "-"
LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}
LATEX |= {"±": r"$\pm$", "†": r"$\dagger$", "‡": r"$\ddagger$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "−": "$-$", "×": r"$\times$", "…": r"\ldots{}", "–": "--"}
LATEX |= {"|": r"\textbar{}", "§": r"\S{}", "¶": r"\P{}"}


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


def page(table: Table) -> str:
    """The table for HTML."""
    numbers = [any(isinstance(row[k], Cell) for row in table.rows) for k in range(len(table.columns))]
    titles = zip(table.columns, numbers, strict=True)
    head = "".join(f"<th{' class=number' if number else ''}>{html.escape(title)}</th>" for title, number in titles)
    lines = [f'<table id="{html.escape(table.name)}">', f"<caption>{html.escape(table.title)}</caption>"]
    lines += [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for k, (row, texts) in enumerate(zip(table.rows, table.texts(), strict=True)):
        cells = [f"<td{'' if isinstance(c, str) else _class(c)}>{html.escape(t)}</td>" for c, t in zip(row, texts, strict=True)]
        lines.append(f"<tr{' class=paper' if k in table.printed else ''}>{''.join(cells)}</tr>")
    notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in table.notes)
    return "\n".join([*lines, "</tbody></table>", notes])


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
