"""What a grid looks like on the console: the plan before it runs, a table while it does, and what went wrong at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from housemates.benchmark.cells import Cell, last_lines, log_of
from housemates.benchmark.estimate import Speeds, bytes_of, finish, hours_of, measure, share_done
from housemates.benchmark.plan import Grid
from housemates.benchmark.run import Progress

if TYPE_CHECKING:
    from rich.table import Table

KINDS = {
    "holdout": "holdouts to train",
    "population": "populations (stage 1)",
    "agent": "agents (stage 2)",
    "evaluation": "evaluations",
}
REFRESH = 2.0
"""Seconds between two tables on a terminal."""
LINE_EVERY = 60.0
"""Seconds between two lines elsewhere, if nothing ends before."""
SHOWN = 12
"""Running cells in the table."""
LOG_LINES = 6
"""What is shown of the log of a failed cell."""


def plan_lines(grid: Grid, speeds: Speeds, jobs: int) -> list[str]:
    """Cells, hours and disk, before anything runs."""
    left = {cell.name: 0.0 if grid.done(cell) else _left(grid, cell, speeds) for cell in grid.cells}
    width = max(len(cell.name) for cell in grid.cells)
    lines = [f"{'cell':<{width}}  {'sees':<10}  {'budget':>21}  {'games':>6}  {'hours':>7}  {'disk':>9}  state"]
    for cell in grid.cells:
        state = "done" if not left[cell.name] else "begun" if share_done(grid, cell) else ""
        if cell.shares:
            state = f"{state} takes over {cell.shares}".strip()
        unit, many = cell.budget
        trained = f"{many:,} {unit}" if cell.trains else "-"
        cells = f"{cell.observations:<10}  {trained:>21}  {cell.games or '-':>6}  {left[cell.name]:>7.2f}"
        lines.append(f"{cell.name:<{width}}  {cells}  {size(bytes_of(grid, cell)):>9}  {state}".rstrip())
    lines.append("")
    for kind, title in KINDS.items():
        mine = [cell for cell in grid.cells if cell.kind == kind]
        if mine:
            over = sum(not left[cell.name] for cell in mine)
            lines.append(f"{title}: {len(mine)} cells, {over} done, {sum(left[c.name] for c in mine):.1f} hours left")
    total = sum(bytes_of(grid, cell) for cell in grid.cells)
    clock = finish(grid, lambda cell: left[cell.name], jobs)
    core = sum(left[cell.name] * cell.cores for cell in grid.cells)
    lines.append(
        f"in all: {len(grid.cells)} cells, {core:.1f} core hours left, {clock:.1f} hours on {jobs} cores, {size(total)}"
    )
    seen = dict.fromkeys(cell.observations for cell in grid.cells if cell.trains)
    paper = "paper" if grid.settings.preset == "paper" else "laptop"
    told = [f"{name} {speeds.of(name, paper):,.0f} ({speeds.source(name)})" for name in seen]
    lines.append(f"decisions a second of one worker: {', '.join(told)}; change with --speed")
    return lines


def _left(grid: Grid, cell: Cell, speeds: Speeds) -> float:
    return hours_of(grid, cell, speeds) * (1 - share_done(grid, cell)) + 1e-6


def size(count: int) -> str:
    """Bytes for people."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count / 1e3:.1f} kB"


def clock(hours: float) -> str:
    """Hours for people."""
    minutes = round(hours * 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min" if minutes else "under a minute"


def eta(grid: Grid, progress: Progress, given: dict[str, float], jobs: int) -> float:
    """Hours until everything is done that still can be, with the speeds this grid has shown."""
    speeds = Speeds(given, measure(grid))
    alive = {name for name, status in progress.status.items() if status in ("waiting", "running", "paused")}
    return finish(grid, lambda cell: _left(grid, cell, speeds) if cell.name in alive else 0.0, jobs)


@contextmanager
def showing(grid: Grid, given: dict[str, float], jobs: int) -> Generator[Callable[[Progress], None]]:
    """Yields what the runner tells its progress to: a table on a terminal, lines elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(grid, given, jobs)
        return
    from rich.live import Live

    shown = 0.0
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def tell(progress: Progress) -> None:
            nonlocal shown
            if time.monotonic() - shown >= REFRESH:
                shown = time.monotonic()
                live.update(table(grid, progress, given, jobs), refresh=True)

        yield tell


def table(grid: Grid, progress: Progress, given: dict[str, float], jobs: int) -> Table:
    """How far everything is."""
    from rich.table import Table

    found = Table(title=headline(grid, progress, given, jobs), title_justify="left")
    for column in ("running", "done", "last words"):
        found.add_column(column, no_wrap=True, overflow="ellipsis")
    cells = {cell.name: cell for cell in grid.cells}
    for name in progress.names("running")[:SHOWN]:
        said = last_lines(log_of(grid.root, cells[name]), 1)
        found.add_row(name, f"{share_done(grid, cells[name]):.0%}", said[0].strip() if said else "")
    return found


def headline(grid: Grid, progress: Progress, given: dict[str, float], jobs: int) -> str:
    """One line: how many cells, how long yet."""
    done, failed, running = (len(progress.names(status)) for status in ("done", "failed", "running"))
    words = f"{done} of {len(progress.status)} cells done, {running} running"
    words += f", {failed} failed" if failed else ""
    return f"{words}, pausing" if progress.pausing else f"{words}, about {clock(eta(grid, progress, given, jobs))} left"


def _lines(grid: Grid, given: dict[str, float], jobs: int) -> Callable[[Progress], None]:
    told: dict[str, str] = {}
    last = 0.0

    def tell(progress: Progress) -> None:
        nonlocal last
        # What was done before is no news, and what waits is none either.
        news = [
            n for n, s in progress.status.items() if s != told.get(n, "waiting") and n in {*progress.began, *progress.words}
        ]
        for name in news:
            why = progress.words.get(name, "")
            print(f"{name}: {progress.status[name]}{f' - {why}' if why else ''}", file=sys.stderr, flush=True)
        told.update(progress.status)
        if news or time.monotonic() - last > LINE_EVERY:
            last = time.monotonic()
            print(headline(grid, progress, given, jobs), file=sys.stderr, flush=True)

    return tell


def outcome_lines(grid: Grid, progress: Progress) -> list[str]:
    """What was done, and what was not: failed cells with the end of their logs, blocked ones with what they need."""
    cells = {cell.name: cell for cell in grid.cells}
    lines = [f"{len(progress.names('done'))} of {len(cells)} cells are done"]
    for name in progress.names("failed"):
        lines.append(f"failed: {name} - {progress.words.get(name, '')}")
        lines += [f"    {line}" for line in last_lines(log_of(grid.root, cells[name]), LOG_LINES)]
        lines.append(f"    (all of it: {log_of(grid.root, cells[name])})")
    lines += [f"not done: {name} - {progress.words.get(name, '')}" for name in progress.names("blocked")]
    return lines
