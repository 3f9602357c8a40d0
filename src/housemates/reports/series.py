"""A figure of repeated interaction: success by the number of the game with the same partner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from housemates.evaluation.metrics import Rows
from housemates.evaluation.series import by_place
from housemates.reports.figures import canvas, check_figures, drawing, save


def draw_series(found: Mapping[str, Rows], place: Path) -> list[Path]:
    """Success and steps by game, a line for each entry of `found`; writes PLACE.png and PLACE.svg, returns both.

    Steps are of the episodes that succeed at every place of a series.
    """
    check_figures()
    with drawing():
        figure, axes = canvas(1, 2, 2.6)
        success, steps = axes.ravel()
        for label, rows in found.items():
            places = by_place(rows)
            number = np.array([p.game for p in places]) + 1
            success.plot(number, [100 * p.success for p in places], marker="o", label=label)
            base = 100 * places[0].success
            success.fill_between(
                number, [base + 100 * p.low for p in places], [base + 100 * p.high for p in places], alpha=0.15, linewidth=0
            )
            steps.plot(number, [p.steps for p in places], marker="o", label=label)
        for axis, name in ((success, "success, %"), (steps, "steps to success")):
            axis.set_xlabel("game with the same partner")
            axis.set_ylabel(name)
            axis.set_xticks(number)
        # Wide enough that noise does not look like a trend.
        low, high = success.get_ylim()
        success.set_ylim(max(0.0, low - 10), min(101.0, high + 10))
        steps.set_ylim(0, 1.15 * steps.get_ylim()[1])
        success.legend(frameon=False, fontsize="small")
        return save(figure, place.parent, place.name)
