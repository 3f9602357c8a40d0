"""What a study found: success with held-out partners under each condition, and differences to the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from housemates.evaluation.metrics import Rows, mean_over_partners, per_run
from housemates.evaluation.stats import RESAMPLES, bootstrap_mean, compare, over_seeds, scores
from housemates.reports import paper
from housemates.reports.figures import GRID, INK, canvas, colour, drawing, save
from housemates.reports.paper import label
from housemates.reports.tables import Table, interval, percent
from housemates.tasks.tasks import task_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Conditions = Mapping[str, Rows]
"""Rows of each condition, by its label; the first is what the others are compared with."""


def methods_of(found: Conditions) -> list[str]:
    """The methods that were evaluated under any condition, in the order of the paper's tables."""
    order = {method: k for k, method in enumerate(paper.LABELS)}
    known = {str(method) for rows in found.values() for method in rows.distinct("method")}
    return sorted(known, key=lambda method: (order.get(method, len(order)), method))


def study_table(
    found: Conditions, task: str, split: str, paired: bool = True, seed: int = 0, resamples: int = RESAMPLES
) -> Table:
    """Success by condition and method, percent, mean and standard error over seeds, and differences to the first condition.

    paired: whether all conditions played the same episodes; else there are no differences.
    """
    first, lines = next(iter(found)), []
    for name, rows in found.items():
        for method in methods_of(found):
            mine, base = _held_out(rows, task, method), _held_out(found[first], task, method)
            if not len(mine):
                continue
            difference: object = ""
            if paired and name != first and len(base):
                difference = interval(compare(scores(mine), scores(base), seed, resamples).difference, signed=True)
            pop = rows.only(task=task, method=method, evaluation="train_pop")
            train = percent(over_seeds(per_run(pop, mean_over_partners))) if len(pop) else ""
            success = percent(over_seeds(per_run(mine, mean_over_partners)))
            collision = percent(over_seeds(per_run(mine, lambda one: mean_over_partners(one, "collision"))))
            lines.append((name, label(method), train, success, collision, difference))
    columns = ("condition", "method", "training population", "held-out partners", "collisions", f"difference to {first}")
    words = f"Success in percent in the homes of {split}, mean and standard error over seeds."
    if paired:
        words += " Differences: 95 % bootstrap over seeds, runs of held-out partners and episodes; paired."
    else:
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    return Table("study", f"{task_title(task)}, {split} homes", columns, tuple(lines), (words,))


def draw_study(found: Conditions, task: str, split: str, folder: Path, seed: int = 0) -> list[Path]:
    """Bars of success with held-out partners for every condition, methods beside each other; PNG and SVG."""
    with drawing():
        return save(_bars(found, task, split, seed), folder, f"study-{task}-{split.replace(':', '_')}")


def _bars(found: Conditions, task: str, split: str, seed: int) -> Figure:
    methods = methods_of(found)
    figure, axes = canvas(1, 1, 3.2)
    axis, wide = axes[0][0], 0.8 / max(1, len(methods))
    for k, method in enumerate(methods):
        shown = False
        for x, rows in enumerate(found.values()):
            mine = _held_out(rows, task, method)
            if not len(mine):
                continue
            mean, at = bootstrap_mean(scores(mine), seed), x + (k - (len(methods) - 1) / 2) * wide
            error = 100 * np.array([[mean.value - mean.low], [mean.high - mean.value]]).clip(0)
            name = None if shown else label(method)
            axis.bar(at, 100 * mean.value, 0.9 * wide, color=colour(method), alpha=0.85, zorder=2, label=name)
            axis.errorbar(at, 100 * mean.value, error, color=INK, lw=1, capsize=2, zorder=4)
            axis.text(at, 100 * mean.high + 1.5, f"{100 * mean.value:.0f}", ha="center", fontsize=8, zorder=5)
            shown = True
    axis.set_xticks(range(len(found)), _folded(list(found)))
    axis.set(ylim=(0, 108), yticks=range(0, 101, 20), ylabel="success with held-out partners, percent")
    axis.set_title(f"{task_title(task)}, homes: {split}")
    axis.grid(axis="y", color=GRID, lw=0.6, zorder=0)
    figure.legend(loc="outside lower center", ncols=max(1, len(methods)))
    return figure


def _held_out(rows: Rows, task: str, method: str) -> Rows:
    return rows.only(task=task, method=method, evaluation="zsc", control="")


def _folded(labels: Sequence[str]) -> list[str]:
    """Labels of at most two lines."""
    folded = []
    for text in labels:
        words = text.split()
        half = (len(words) + 1) // 2
        folded.append(text if len(text) < 16 else f"{' '.join(words[:half])}\n{' '.join(words[half:])}")
    return folded
