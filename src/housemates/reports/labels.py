"""Names on a drawing, placed so that they do not cover each other: each goes as near to its point as there is room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIRECTIONS = 16
"""In how many directions around a point room is looked for."""
STEPS = 14
"""How many distances are tried in each direction."""


@dataclass(frozen=True)
class Label:
    """A name and the point it belongs to."""

    text: str
    point: tuple[float, float]
    """Drawing coordinates."""
    colour: str = "#333333"
    bold: bool = False
    background: bool = False
    """Large and pale, behind everything else, without a line (the name of a room)."""
    at: tuple[float, float] | None = None
    """Where it would best stand, if not on its point."""


def free_spot(
    size: tuple[float, float],
    point: tuple[float, float],
    taken: np.ndarray,
    low: tuple[float, float],
    high: tuple[float, float],
) -> tuple[float, float]:
    """The centre nearest to `point` where a box of `size` overlaps none of `taken` [K, 4] (x0, y0, x1, y1) within low..high.

    The point itself is tried first; if nothing is free, it is the answer.
    """
    half = np.asarray(size) / 2
    for step in range(STEPS + 1):
        for k in range(DIRECTIONS if step else 1):
            angle = 2 * np.pi * k / DIRECTIONS + np.pi / 2
            center = np.asarray(point) + step * size[1] * 0.6 * np.array([np.cos(angle), np.sin(angle)])
            a, b = center - half, center + half
            if (a < low).any() or (b > high).any():
                continue
            if not len(taken) or not ((taken[:, :2] < b) & (taken[:, 2:] > a)).all(axis=1).any():
                return float(center[0]), float(center[1])
    return point


def place_labels(
    axes: Axes, labels: list[Label], size: float, keep_clear: list[tuple[float, float, float]] | None = None
) -> None:
    """Write the labels (font size in points), the first ones nearest to their points; a thin line leads back from a far one.

    `keep_clear` are points (x, y, radius) of the drawing that no label may cover.
    """
    from matplotlib.patheffects import withStroke

    inverse = axes.transData.inverted()
    (x0, x1), (y0, y1) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    taken = [(x - r, y - r, x + r, y + r) for x, y, r in keep_clear or ()]
    for label in labels:
        text = axes.text(*label.point, label.text, fontsize=size, color=label.colour, ha="center", va="center")
        if label.background:
            text.set(style="italic", alpha=0.55, zorder=3)
        else:
            halo = withStroke(linewidth=size * 0.3, foreground="white")
            text.set(fontweight="bold" if label.bold else "normal", zorder=20, path_effects=[halo])
        box = text.get_window_extent()
        (a, b), (c, d) = inverse.transform([(box.x0, box.y0), (box.x1, box.y1)])
        wide, high = abs(c - a), abs(d - b)
        spot = free_spot((wide, high), label.at or label.point, np.array(taken).reshape(-1, 4), (x0, y0), (x1, y1))
        text.set_position(spot)
        taken.append((spot[0] - wide / 2, spot[1] - high / 2, spot[0] + wide / 2, spot[1] + high / 2))
        far = abs(spot[1] - label.point[1]) > high or abs(spot[0] - label.point[0]) > wide * 0.6
        if far and not label.background:
            axes.plot(*zip(label.point, spot, strict=True), color=label.colour, lw=0.6, alpha=0.8, zorder=15)
            axes.plot(*label.point, marker="o", ms=2, color=label.colour, zorder=15)
