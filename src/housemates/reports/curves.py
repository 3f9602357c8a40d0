"""Learning curves: how episodes of the training ended, over decisions, in both stages of every run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.checksums import read_json
from housemates.reports import paper
from housemates.reports.figures import GRID, canvas, colour
from housemates.reports.summary import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUTCOMES = {"success": "success", "collision": "collision", "timeout": "time-out"}
STAGES = {"stage1": "stage 1: population", "stage2": "stage 2: agent"}
POINTS = 200
"""Most points of a drawn curve; more are averaged in equal pieces."""
DASHES = ("-", "--", "-.", ":")
"""One per kind of observation."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One stage of one run."""

    run: str
    method: str
    task: str
    observations: str
    stage: str
    decisions: np.ndarray
    """[U] after each update."""
    shares: dict[str, np.ndarray]
    """[U] by OUTCOMES: of the episodes that ended lately."""


def read_curves(run: Path) -> list[Curve]:
    """The curves of a run folder: one for each stage that has a log."""
    config = read_json(run / "config.json", "restore it from a copy")
    found = []
    for stage in STAGES:
        path = run / stage / "metrics.jsonl"
        if not path.is_file():
            continue
        rows = []
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path} is damaged in line {number} ({error}) - restore it, or cut it there") from error
        # Before the first episode has ended there is nothing to show.
        rows = [row for row in rows if row.get("charts/episodes", 1) > 0 and "charts/success" in row]
        if rows:
            shares = {name: np.array([row[f"charts/{name}"] for row in rows]) for name in OUTCOMES}
            about = (config["method"], config["task"], config["observations"])
            found.append(Curve(run.name, *about, stage, np.array([row["decisions"] for row in rows]), shares))
    return found


def thinned(x: np.ndarray, y: np.ndarray, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """A curve averaged in equal pieces, so that it has at most `points` points."""
    if len(x) <= points:
        return x, y
    pieces = np.array_split(np.arange(len(x)), points)
    return np.array([x[p].mean() for p in pieces]), np.array([y[p].mean() for p in pieces])


def learning_curves(curves: list[Curve], task: str) -> Figure:
    """A row of panels for each stage, a panel for each outcome, a line for each run."""
    mine = [c for c in curves if c.task == task]
    stages = [s for s in STAGES if any(c.stage == s for c in mine)]
    kinds = sorted({c.observations for c in mine})
    figure, axes = canvas(len(stages), 3, 0.7 + 2.0 * len(stages), sharey=True)
    few = max(c.decisions[-1] for c in mine) < 1e6
    unit, scale = (1e3, "thousands") if few else (1e6, "millions")
    handles: dict[str, Any] = {}
    for row, stage in enumerate(stages):
        for axis, (name, title) in zip(axes[row], OUTCOMES.items(), strict=True):
            for curve in mine:
                if curve.stage == stage:
                    x, y = thinned(curve.decisions / unit, 100 * curve.shares[name])
                    dash = DASHES[kinds.index(curve.observations) % len(DASHES)]
                    (line,) = axis.plot(x, y, dash, color=colour(curve.method), lw=1.1, alpha=0.9)
                    words = label(curve.method) + (f" ({curve.observations})" if len(kinds) > 1 else "")
                    handles.setdefault(words, line)
            axis.set_title(title, fontsize=9)
            axis.grid(color=GRID, lw=0.5)
            axis.set(ylim=(0, 100), xlim=(0, None))
            axis.locator_params(axis="x", nbins=5)
        axes[row][0].set_ylabel(f"{STAGES[stage]}\npercent of episodes")
    for axis in axes[-1]:
        axis.set_xlabel(f"decisions, {scale}")
    figure.suptitle(f"{paper.task_title(task)}: how the episodes of the training ended", fontsize=10)
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), 5))
    return figure
