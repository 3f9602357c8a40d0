"""Figures of a report: success, partners, cross-play heat map, learning curves. Matplotlib is imported on use.

All figures are light, 8 inches wide and safe for colour-blind readers; each is written as PNG and SVG, same rows, same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.evaluation.bounds import known_bounds
from housemates.evaluation.metrics import (
    Rows,
    agent_runs,
    bounds,
    by_partner,
    mean_over_partners,
    per_run,
    subgoal_shares,
    success_matrix,
)
from housemates.evaluation.stats import bootstrap_mean, scores
from housemates.io import write_whole
from housemates.reports import paper
from housemates.reports.paper import label
from housemates.reports.summary import partners_in_order, references, short_names
from housemates.reports.tables import EVALUATIONS, Cell, Table, groups
from housemates.run_folder import RunFolder
from housemates.tasks.tasks import known_task, task_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

WIDTH = 8.0
"""Inches: what fits a README."""
DPI = 150
INK, FAINT, GRID = "#222222", "#777777", "#dddddd"
COLOURS = {
    "sp": "#0072B2", "pbt": "#E69F00", "bdp": "#D55E00", "fcp": "#009E73", "trajedi": "#CC79A7", "pbt_state": "#56B4E9",
    "gt_coord": "#555555", "solo": "#999999", "bdp_no_discriminator": "#8c564b", "bdp_no_latent_no_discriminator": "#5e4fa2",
    "bdp_shared_encoder": "#117733", "bdp_separate": "#882255", "bdp_rgb": "#AA4499", "bdp_state": "#332288",
    "bdp_literal": "#b2182b", "hidden_utility": "#8DA0CB", "cec": "#A6761D", "e3t": "#66A61E", "upd": "#7570B3",
}  # fmt: skip
"""One colour per method, after Okabe and Ito."""
MARKERS = "osD^vhp<>H8d"
DASHES = ("-", "--", "-.", ":")
"""One per kind of observation, and for reference lines."""


def check_figures() -> None:
    """Refuse early where nothing can be drawn."""
    if find_spec("matplotlib") is None:
        raise ValueError("figures need matplotlib, which is not installed - run: pip install 'housemates[report]'")


@contextmanager
def drawing() -> Generator[None]:
    """The look of all figures; nothing of it stays behind."""
    import matplotlib as mpl

    look: dict[Any, Any] = {
        "font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "xtick.labelsize": 8, "ytick.labelsize": 8,
        "legend.fontsize": 8, "axes.edgecolor": FAINT, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK,
        "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": False,
        "figure.facecolor": "white", "axes.facecolor": "white", "svg.hashsalt": "housemates", "svg.fonttype": "path",
        "axes.titlelocation": "left", "axes.titleweight": "bold", "legend.frameon": False,
    }  # fmt: skip
    with mpl.rc_context(look):
        yield


def canvas(rows: int, columns: int, height: float, **more: Any) -> tuple[Figure, np.ndarray]:
    """A figure WIDTH x height inches and its axes [rows, columns]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **more)
    return figure, axes


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as NAME.png and NAME.svg; the files do not tell when."""
    written = []
    # The layout is found once, not again for each file.
    figure.dpi = DPI
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        path = folder / f"{name}.{kind}"
        write_whole(
            path, lambda file, kind=kind, metadata=metadata: figure.savefig(file, format=kind, dpi=DPI, metadata=metadata)
        )
        written.append(path)
    return written


def colour(method: str) -> str:
    """The colour of a method."""
    return COLOURS.get(method, INK)


def success_by_method(rows: Rows, task: str, seed: int = 0) -> Figure:
    """Bars of train-pop and zero-shot success with bootstrap intervals, seeds as dots, the paper's numbers as diamonds.

    A panel for each evaluation that was played; the zero-shot one has a line for every reference (see `references`).
    """
    mine = rows.only(task=task)
    found = list(groups(mine.only(evaluation=tuple(EVALUATIONS))))
    played = [e for e in EVALUATIONS if len(mine.only(evaluation=e))]
    figure, axes = canvas(1, len(played), 3.2, sharey=True)
    for axis, evaluation in zip(axes[0], played, strict=True):
        _bars(axis, found, task, evaluation, seed)
        axis.set_title(f"{task_title(task)}: {'training population' if evaluation == 'train_pop' else 'held-out partners'}")
        axis.grid(axis="y", color=GRID, lw=0.6, zorder=0)
        if evaluation == "zsc":
            for (words, value), dash in zip(references(rows, task).items(), DASHES[1:], strict=False):
                axis.axhline(100 * value, color=INK, lw=1, ls=dash, zorder=3, label=f"{words}: {100 * value:.0f} %")
    shown = {word: handle for axis in axes[0] for handle, word in zip(*axis.get_legend_handles_labels(), strict=True)}
    if shown:
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3)
    axes[0][0].set_ylabel("success, percent")
    return figure


def _bars(axis: Axes, found: list[tuple[str, str, str, Rows]], task: str, evaluation: str, seed: int) -> None:
    """One bar for each method, its number above it."""
    for x, (_, method, _, group) in enumerate(found):
        mine = group.only(evaluation=evaluation)
        printed = paper.SUCCESS.get((task, evaluation), {}).get(method)
        printed = printed or paper.ABLATIONS.get((task, evaluation), {}).get(method)
        if len(mine):
            mean = bootstrap_mean(scores(mine), seed)
            error = 100 * np.array([[mean.value - mean.low], [mean.high - mean.value]]).clip(0)
            axis.bar(x, 100 * mean.value, 0.66, color=colour(method), alpha=0.85, zorder=2)
            axis.errorbar(x, 100 * mean.value, error, color=INK, lw=1.2, capsize=3, zorder=4)
            seeds = 100 * per_run(mine, mean_over_partners)
            if len(seeds) > 1:
                across = x + np.linspace(-0.12, 0.12, len(seeds))
                axis.plot(across, seeds, "o", ms=3, mfc="white", mec=INK, mew=0.7, zorder=5, label="one seed")
            above = 100 * max(mean.high, mean.value) + 1.5
            axis.text(x, above, f"{100 * mean.value:.0f}", ha="center", fontsize=8, weight="bold", zorder=6)
        if printed is not None:
            axis.plot(x - 0.25, printed[0], "D", ms=5, mfc="white", mec="black", mew=1.2, zorder=7, label="the paper's")
    several = len({seen for *_, seen, _ in found}) > 1
    names = [label(m) + (f"\n({seen})" if several else "") for _, m, seen, _ in found]
    many = len(found) > 4
    axis.set_xticks(range(len(found)), names, rotation=30 if many else 0, ha="right" if many else "center")
    room = max(0.0, 3 - len(found)) / 2
    axis.set(ylim=(0, 108), yticks=range(0, 101, 20), xlim=(-0.6 - room, len(found) - 0.4 + room))


def success_by_partner(rows: Rows, task: str) -> Figure:
    """A dot for every method and held-out partner, hardest partners at the bottom of each kind."""
    mine = rows.only(task=task, evaluation="zsc")
    overall = by_partner(mine)
    kinds = dict(zip(mine["partner"].tolist(), mine["partner_kind"].tolist(), strict=True))
    order = sorted(partners_in_order(mine), key=lambda p: (kinds[p] != "script", -overall[p]))
    names = short_names(order)
    found = list(groups(mine))
    figure, axes = canvas(1, 1, 1.5 + (0.2 + 0.07 * len(found)) * len(order))
    axis = axes[0][0]
    for y in range(1, len(order), 2):
        axis.axhspan(y - 0.5, y + 0.5, color="#f4f6f8", zorder=0)
    # Methods are drawn beside each other, so that no marker hides another.
    beside = np.linspace(-0.28, 0.28, len(found)) if len(found) > 1 else np.zeros(1)
    for k, (_, method, seen, group) in enumerate(found):
        values = by_partner(group)
        shown = [(100 * values[p], y + beside[k]) for y, p in enumerate(order) if p in values]
        name = f"{label(method)} ({seen})"
        axis.plot(
            *zip(*shown, strict=True), MARKERS[k % len(MARKERS)], color=colour(method), ms=6, mec="white", label=name, zorder=3
        )
    reached = bounds(mine, known_bounds(rows.only(task=task)))
    if reached:
        shown = [(100 * reached[p], y) for y, p in enumerate(order) if p in reached]
        axis.plot(*zip(*shown, strict=True), "|", color=INK, ms=15, mew=1.5, label="best response", zorder=2)
    axis.set_yticks(range(len(order)), [("script: " if kinds[p] == "script" else "") + names[p] for p in order])
    axis.set(xlim=(-2, 102), ylim=(len(order) - 0.5, -0.5), xlabel="success, percent")
    axis.set_title(f"{task_title(task)}: success with each held-out partner")
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=min(len(found) + bool(reached), 4))
    return figure


def cross_play(rows: Rows, task: str) -> Figure:
    """Success of every agent (rows) with every partner (columns)."""
    mine = rows.only(task=task)
    left, found, matrix = success_matrix(mine)
    right = partners_in_order(mine)
    matrix = matrix[:, [found.index(partner) for partner in right]]
    figure, axes = canvas(1, 1, min(1.6 + 0.32 * len(left), 11.0))
    agents, partners = short_names(left), short_names(right)
    draw_matrix(axes[0][0], 100 * matrix, [agents[a] for a in left], [partners[p] for p in right], "success, percent", 100)
    axes[0][0].set_title(f"{task_title(task)}: agents (rows) with partners (columns)")
    return figure


def draw_matrix(
    axis: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    name: str,
    top: float,
    digits: int = 0,
    bar: bool = True,
    small: bool = False,
) -> AxesImage:
    """Numbers [rows, columns] from 0 to `top` as shades of blue with the numbers written in; nan stays white."""
    image = axis.imshow(values, cmap="Blues", vmin=0, vmax=top * 1.15, aspect="auto")
    many = values.shape[1] > 26
    for (y, x), value in np.ndenumerate(values):
        if not np.isnan(value) and not many:
            dark = value > 0.72 * top
            axis.text(
                x,
                y,
                f"{value:.{digits}f}",
                ha="center",
                va="center",
                fontsize=5.5 if small else 7,
                color="white" if dark else INK,
            )
    long = max(map(len, columns), default=0) > 3 and len(columns) > 5
    axis.set_xticks(
        range(len(columns)), columns, rotation=45 if long else 0, ha="right" if long else "center", rotation_mode="anchor"
    )
    axis.set_yticks(range(len(rows)), rows)
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    if bar:
        draw_scale(image, [axis], name, top)
    return image


def draw_scale(image: AxesImage, axes: Sequence[Axes], name: str, top: float) -> None:
    """The colour bar of `draw_matrix` beside some axes."""
    scale = axes[0].figure.colorbar(image, ax=list(axes), label=name, shrink=min(1.0, 0.8 / len(axes) ** 0.5), pad=0.02)
    scale.ax.set_ylim(0, top)


MOST_METHODS = 4
"""Methods side by side in one figure."""
FIRST = ("bdp", "pbt", "sp", "trajedi", "fcp")
"""Who is shown if there are more; the paper shows the first two."""
THINGS = {"obj0": "object 0", "obj1": "object 1", "drawer_right": "drawer"}


def shares(rows: Rows, evaluation: str) -> tuple[list[str], np.ndarray]:
    """(partners [P], p(E_i | partner) [S, P]) of rows of one method and task.

    With holdouts all seeds together; with the training population of the first seed, since every seed has its own.
    """
    mine = rows.only(evaluation=evaluation)
    if evaluation == "train_pop":
        mine = mine.only(agent_run=agent_runs(mine)[0])
    names, found = subgoal_shares(mine)
    order = partners_in_order(mine)
    return order, found[:, [names.index(name) for name in order]]


def subgoal_table(rows: Rows, task: str) -> Table:
    """The upper half of the heat map as numbers, for every method and unseen partner, percent."""
    lines: list[tuple[str | Cell, ...]] = []
    for _, method, seen, mine in groups(rows.only(task=task, evaluation="zsc")):
        partners, found = shares(mine, "zsc")
        names_of = short_names(partners)
        for partner, column in zip(partners, found.T, strict=True):
            lines.append((label(method), seen, names_of[partner], *(Cell(100 * share, digits=0) for share in column)))
    title = f"{task_title(task)}: how often the agent itself achieves each sub-goal, percent of episodes"
    notes = ("All seeds together. The rest to 100 was achieved by the partner or not at all.",)
    names = subgoal_names(task, max((len(line) - 3 for line in lines), default=0))
    return Table(f"subgoals_{task}", title, ("method", "sees", "partner", *names), tuple(lines), notes)


def subgoal_names(task: str, count: int) -> list[str]:
    """The sub-goals of a task in words; of a task that is not known here as many as there are in its rows, numbered."""
    known = known_task(task)
    if known is None:
        return [f"sub-goal {k + 1}" for k in range(count)]
    return [f"{s.verb} {THINGS.get(s.thing, s.thing)}" for s in known.subgoals]


def heat_map(rows: Rows, task: str, observations: str) -> Figure:
    """Held-out partners above, training population below; a column of panels for each method."""
    wanted = rows.only(task=task, evaluation=("zsc", "train_pop"), observations=observations)
    found = {m: mine for _, m, _, mine in groups(wanted) if len(mine.only(evaluation="zsc"))}
    methods = sorted(found, key=lambda m: FIRST.index(m) if m in FIRST else len(FIRST))[:MOST_METHODS]
    names = subgoal_names(task, int((wanted["subgoals"] >= 0).any(axis=0).sum()))
    both = [e for e in ("zsc", "train_pop") if any(len(found[m].only(evaluation=e)) for m in methods)]
    figure, axes = canvas(len(both), len(methods), 0.5 + len(both) * (1.4 + 0.24 * len(names)), sharey=True)
    for column, method in enumerate(methods):
        for axis, evaluation in zip(axes[:, column], both, strict=True):
            mine = found[method].only(evaluation=evaluation)
            if not len(mine):
                axis.set_axis_off()
                continue
            partners, done = shares(mine, evaluation)
            run = agent_runs(mine)[0] if evaluation == "train_pop" else ""
            short = short_names(partners, run)
            columns = [short[partner].replace("GT Coord", "GT") for partner in partners]
            image = draw_matrix(axis, done, names, columns, "", 1.0, 1, bar=False, small=len(methods) > 2)
            axis.tick_params(axis="x", labelsize=7)
            who = "held-out partners" if evaluation == "zsc" else f"own population, seed {_seed(mine, run)}"
            axis.set_title(f"{label(method)}\n{who}", fontsize=8)
    draw_scale(image, axes.ravel().tolist(), "share of episodes", 1.0)
    figure.suptitle(f"{task_title(task)} ({observations}): how often the agent itself achieves each sub-goal", fontsize=10)
    return figure


def _seed(rows: Rows, run: str) -> int:
    return int(rows.only(agent_run=run)["agent_seed"][0])


OUTCOMES = {"success": "success", "collision": "collision", "timeout": "time-out"}
STAGE_TITLES = {1: "stage 1: population", 2: "stage 2: agent"}
POINTS = 200
"""Most points of a drawn curve; more are averaged in equal pieces."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One stage of one run."""

    run: str
    method: str
    task: str
    observations: str
    stage: int
    decisions: np.ndarray
    """[U] after each update."""
    shares: dict[str, np.ndarray]
    """[U] by OUTCOMES: of the episodes that ended lately."""


def read_curves(run: Path) -> list[Curve]:
    """The curves of a run folder: one for each stage that has a log."""
    config = RunFolder(run).read_config()
    found = []
    for stage in STAGE_TITLES:
        path = RunFolder(run).stage(stage).metrics
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
    stages = [s for s in STAGE_TITLES if any(c.stage == s for c in mine)]
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
        axes[row][0].set_ylabel(f"{STAGE_TITLES[stage]}\npercent of episodes")
    for axis in axes[-1]:
        axis.set_xlabel(f"decisions, {scale}")
    figure.suptitle(f"{task_title(task)}: how the episodes of the training ended", fontsize=10)
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), 5))
    return figure
