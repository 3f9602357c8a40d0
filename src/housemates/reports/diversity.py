"""The diversity audit as a picture: who works with whom, who does what, and how much that tells about who it was."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.io import check_place, write_whole
from housemates.reports.figures import THINGS
from housemates.reports.paper import label
from housemates.tasks.tasks import task_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, BAR, NULL = "#333333", "#1f5fa8", "#b3541e"
SHIPPED = re.compile(r"^(?P<method>\w+?)-\w+-(?:state|depth|rgb)-(?P<seed>\d+)-(?P<member>z?\d+)$")
"""Members that come with the package."""
SMALL = 12
"""Populations beyond this size get heat maps without numbers in them."""


def check_drawing(path: Path) -> None:
    """Refuse early what cannot be drawn: without matplotlib, or where no file can be written."""
    if find_spec("matplotlib") is None:
        raise ValueError("the figure needs matplotlib, which is not installed - run: pip install 'housemates[report]'")
    check_place(path)


def draw_diversity(audit: dict[str, Any], paths: list[Path], dpi: int = 130) -> None:
    """Write the figure of an audit (see `evaluation.diversity.audit`) to paths that end in .png or .svg."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    audit = audit | {"members": [short_member(name) for name in audit["members"]]}
    # Without these the same audit would give other bytes each time.
    with rc_context({"svg.hashsalt": "housemates", "svg.fonttype": "none", "font.size": 9}):
        members = len(audit["members"])
        side = min(max(3.8, 2.2 + 0.36 * members), 8.0)
        # Long names of members stand left of two panels and below one.
        room = 0.07 * max(0, *(len(name) - 4 for name in audit["members"]))
        layout, widths = ConstrainedLayoutEngine(wspace=0.06, w_pad=0.12), (side + room, 4.2 + room, 5.6)
        figure = Figure(figsize=(sum(widths), max(4.4, side) + 0.6 * room), facecolor="white", layout=layout)
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, 3, width_ratios=widths)
        _cross_play(panels[0], audit, figure)
        _who_does_what(panels[1], audit, figure)
        _information(panels[2], audit)
        whose = f"{members} members" if " " in audit["population"] else audit["population"]
        games = f"{audit['episodes']} {audit['split']} episodes for each ordered pair"
        figure.suptitle(f"{task_title(audit['task'])}, {whose}: {games}", color=INK, fontsize=11)
        for path in paths:
            kind = path.suffix.removeprefix(".")
            empty = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
            write_whole(path, lambda file, k=kind, m=empty: figure.savefig(file, dpi=dpi, format=k, metadata=m))


def short_member(name: str) -> str:
    """A member's name for axes: method, training seed and number of a policy of the package; others as they are."""
    shipped = SHIPPED.match(name)
    return f"{label(shipped['method'])} {shipped['seed']}-{shipped['member']}" if shipped else name


def in_words(subgoal: str) -> str:
    """A sub-goal of the audit for axes: `pick object 0`."""
    verb, _, thing = subgoal.partition(" ")
    return f"{verb} {THINGS.get(thing, thing)}"


def _cross_play(axes: Axes, audit: dict[str, Any], figure: Figure) -> None:
    found = audit["success"]
    _heat(axes, 100 * np.array(audit["cross_play"]), audit["members"], audit["members"], figure, "success, %")
    with_others = f"with others {100 * found['cross_play']:.0f} %"
    gap = f"gap {100 * found['gap']:+.0f} ± {100 * found['gap_error']:.0f}"
    title = f"Who works with whom\nwith itself {100 * found['self_play']:.0f} %, {with_others}, {gap}"
    axes.set_title(title, color=INK, fontsize=9)
    axes.set_xlabel("the other robots")
    axes.set_ylabel("robot 0")


def _who_does_what(axes: Axes, audit: dict[str, Any], figure: Figure) -> None:
    shares = 100 * np.array(audit["who_does_what"])
    _heat(axes, shares, audit["members"], [in_words(name) for name in audit["subgoals"]], figure, "of its games, %")
    axes.set_title("Who does what\nsub-goals a member achieves itself", color=INK, fontsize=9)
    axes.set_ylabel("member")


def _heat(axes: Axes, values: np.ndarray, rows: list[str], columns: list[str], figure: Figure, unit: str) -> None:
    """A heat map of percentages."""
    picture = axes.imshow(values, cmap="viridis", vmin=0, vmax=100, aspect="auto" if len(rows) != len(columns) else "equal")
    figure.colorbar(picture, ax=axes, label=unit, shrink=0.8, pad=0.02)
    long = max(map(len, columns)) > 3
    axes.set_xticks(range(len(columns)), columns, rotation=40 if long else 0, ha="right" if long else "center")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0, colors=INK)
    if len(rows) > SMALL:
        return
    for (i, j), value in np.ndenumerate(values):
        axes.text(j, i, f"{value:.0f}", ha="center", va="center", fontsize=8, color="black" if value > 60 else "white")


def _information(axes: Axes, audit: dict[str, Any]) -> None:
    found = audit["information"]
    rows = [
        ("all sub-goals together", found["subgoals"]),
        ("the same, in self-play", found["subgoals_in_self_play"]),
        *((in_words(name), one) for name, one in found["each_subgoal"].items()),
        ("skills", found["skills"]),
        ("skills, in self-play", found["skills_in_self_play"]),
    ]
    most = found["subgoals"]["most"]
    # A weak population would be invisible on an axis that reaches to what is possible.
    longest = max(max(one["bits"], one["null_95"]) for _, one in rows)
    right = min(1.15 * most, max(1.35 * longest, 0.1))
    for y, (_, one) in enumerate(rows):
        axes.barh(y, max(one["bits"], 0.0), color=BAR, height=0.62, zorder=2)
        axes.plot([one["null_95"]] * 2, [y - 0.36, y + 0.36], color=NULL, lw=1.8, zorder=3)
        said = f"{one['bits'] + 0.0:.2f}".replace("-0.00", "0.00") + ("" if one["p"] < 0.05 else "  chance")
        axes.text(max(one["bits"], one["null_95"], 0.0) + 0.015 * right, y, said, va="center", color=INK, fontsize=8)
    if most < right:
        axes.axvline(most, color=INK, lw=1, ls="--", zorder=1)
    axes.set_xlim(0, right)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.grid(axis="x", color="#dddddd", zorder=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    explained = f"(at most {most:.2f}; chance stays left\nof the orange mark in 95 % of cases)"
    axes.set_xlabel(f"bits of information about the member\n{explained}")
    title = f"What one game tells about the member\nequivalent to {audit['behaviours']:.1f} distinct behaviours"
    axes.set_title(title, color=INK, fontsize=9)
