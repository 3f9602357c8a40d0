"""The audit of the held-out suite as a figure and as a table: who succeeds with whom, and who behaves like whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from housemates.evaluation.audit import GROUPS, LIMIT, Audit
from housemates.io import write_whole
from housemates.reports.summary import short_names
from housemates.reports.tables import Cell, Table
from housemates.tasks.tasks import task_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#333333"
CELL = 0.17
"""Inches of a cell of the heat maps."""


def audit_table(found: Audit, families: Mapping[str, str], task: str, how: str) -> Table:
    """A line for each partner: with which success it plays, who is nearest to it, and whether it is in the suite.

    families: of each partner, by name; how: command, seed and commit, in one sentence.
    """
    names, lines = short_names(found.partners), []
    for k, partner in enumerate(found.partners):
        other = found.nearest(k)
        apart = [Cell(100 * float(group[k, other])) for group in found.groups]
        like = found.dropped.get(partner)
        verdict = "yes" if like is None else f"no, like {names[like]}"
        mean = Cell(100 * float(found.success[k].mean()))
        lines.append((names[partner], families[partner], mean, names[found.partners[other]], *apart, verdict))
    columns = ("partner", "family", "success", "nearest", *GROUPS, "in the suite")
    notes = (
        f"Percent and points. Success: mean over {len(found.mates)} mates. Nearest: the partner that differs least, and by how "
        f"much. A partner that differs by less than {100 * LIMIT:.0f} points in all three from one before it is not in the "
        "suite; the paper's partners always are.",
        how,
    )
    return Table(f"audit_{task}", f"{task_title(task)}: audit of the held-out suite", columns, tuple(lines), notes)


def draw_audit(found: Audit, families: Mapping[str, str], paths: Sequence[Path], dpi: int = 110) -> None:
    """Write the figure to paths that end in .png or .svg: success with every mate, and differences of all partners."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Without these the same audit would give other bytes each time.
    with rc_context({"svg.hashsalt": "housemates", "svg.fonttype": "none", "font.size": 7}):
        partners, mates = (list(short_names(names).values()) for names in (found.partners, found.mates))
        room = 0.06 * max(map(len, partners))
        size = (CELL * (len(partners) + len(mates)) + 2 * room + 2.4, CELL * len(partners) + room + 1.2)
        figure = Figure(figsize=(max(size[0], 7.0), max(size[1], 3.6)), facecolor="white", layout=ConstrainedLayoutEngine())
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2, width_ratios=(len(mates) + 6, len(partners) + 6))
        _heat(left, 100 * found.success, partners, mates, figure, "success, %", "viridis", 100)
        left.set_title("Success of partner and mate", color=INK, fontsize=9)
        _heat(right, 100 * found.difference, partners, partners, figure, "difference, points", "magma", 60)
        right.set_title(f"Differences of partners; framed: below {100 * LIMIT:.0f} points", color=INK, fontsize=9)
        near = np.argwhere(np.tril(found.difference < LIMIT, -1))
        for row, column in near.tolist():
            for y, x in ((row, column), (column, row)):
                right.plot(*_frame(x, y), color="#33ccff", lw=0.9)
        borders = [k for k in range(1, len(partners)) if families[found.partners[k]] != families[found.partners[k - 1]]]
        for k in borders:
            for axes in (left, right):
                axes.axhline(k - 0.5, color="white", lw=1.0)
            right.axvline(k - 0.5, color="white", lw=1.0)
        for path in paths:
            kind = path.suffix[1:]
            empty = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
            write_whole(
                path, lambda file, k=kind, m=empty: figure.savefig(file, dpi=dpi, format=k, metadata=m, bbox_inches="tight")
            )


def _frame(x: int, y: int) -> tuple[list[float], list[float]]:
    """The outline of a cell."""
    return [x - 0.5, x + 0.5, x + 0.5, x - 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5, y - 0.5]


def _heat(
    axes: Axes, values: np.ndarray, rows: list[str], columns: list[str], figure: Figure, unit: str, colours: str, most: float
) -> None:
    picture = axes.imshow(values, cmap=colours, vmin=0, vmax=most, aspect="equal")
    figure.colorbar(picture, ax=axes, label=unit, shrink=0.6, pad=0.01)
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0, colors=INK, labelsize=6)
