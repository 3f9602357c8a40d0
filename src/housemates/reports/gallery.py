"""All figures of a report: what can be drawn from these rows, logs and audits, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from housemates.evaluation.metrics import Rows
from housemates.reports import paper
from housemates.reports.curves import learning_curves, read_curves
from housemates.reports.figures import cross_play, drawing, save, success_by_method, success_by_partner
from housemates.reports.heat_map import heat_map
from housemates.reports.page import Picture
from housemates.reports.runs import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = ("success", "partners", "heat_map", "cross_play", "curves", "diversity")
Progress = Callable[[str, int, int], None]


def draw_all(
    rows: Rows, sources: Sequence[Source], folder: Path, seed: int = 0, progress: Progress | None = None
) -> dict[str, list[Picture]]:
    """Draw everything there is data for as PNG and SVG; the pictures by GROUPS."""
    jobs = _jobs(rows, sources, seed)
    drawn: dict[str, list[Picture]] = {group: [] for group in GROUPS}
    for number, (group, name, title, draw) in enumerate(jobs, start=1):
        with drawing():
            save(draw(), folder, name)
        drawn[group].append(Picture(folder / f"{name}.png", title))
        if progress is not None:
            progress("figures", number, len(jobs))
    for source in sources:
        if source.diversity is not None:
            from housemates.reports.diversity import draw_diversity

            path = folder / f"diversity_{source.name}.png"
            draw_diversity(source.diversity, [path, path.with_suffix(".svg")])
            drawn["diversity"].append(Picture(path, f"{source.name}: diversity audit"))
    return drawn


def _jobs(rows: Rows, sources: Sequence[Source], seed: int) -> list[tuple[str, str, str, Callable[[], Figure]]]:
    """(group, file name, title, how to draw it) of every figure."""
    logs = [curve for source in sources if source.folder is not None for curve in read_curves(source.folder)]
    jobs: list[tuple[str, str, str, Callable[[], Figure]]] = []

    def add(group: str, words: str, draw: Callable[[], Figure], more: str = "") -> None:
        jobs.append((group, f"{group}_{task}{more}", f"{paper.task_title(task)}: {words}", draw))

    for task in paper.in_order(rows.distinct("task")):
        mine = rows.only(task=task)
        strangers, everybody = mine.only(evaluation="zsc"), mine.only(evaluation="crossplay")
        if len(mine.only(evaluation=("zsc", "train_pop"))):
            add("success", "success by method", lambda t=task: success_by_method(rows, t, seed))
        if len(strangers):
            add("partners", "success by partner", lambda t=task: success_by_partner(rows, t))
        for seen in strangers.distinct("observations"):
            add("heat_map", f"who does what ({seen})", lambda t=task, o=seen: heat_map(rows, t, o), f"_{seen}")
        if len(strangers) or len(everybody):
            shown = everybody if len(everybody) else strangers
            add("cross_play", "agents with partners", lambda t=task, e=shown: cross_play(e, t))
        if any(curve.task == task for curve in logs):
            add("curves", "learning curves", lambda t=task: learning_curves(logs, t))
    return jobs
