"""How long a grid takes and how much it writes, from speeds that were measured or given, and the grid as tables."""

from __future__ import annotations

import functools
import heapq
import json
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from housemates.grid.cells import Cell, last_lines, log_of
from housemates.grid.plan import Grid
from housemates.grid.run import Progress
from housemates.methods import METHODS
from housemates.run_folder import RunFolder
from housemates.runs.presets import PRESETS

SPEEDS = {"state": 12_000.0, "predicates": 12_000.0, "blind": 12_000.0, "depth": 4_500.0, "rgb": 3_000.0}
"""Decisions a second of one worker with a core of its own and the laptop networks (measured: docs/benchmark/grid.md)."""
AGENT_SHARE = 0.64
"""Decisions a second of stage 2, as a share: partners decide too, but only the agent's decisions count."""
STEPS_A_DECISION, AGENT_STEPS = 1.5, 3.5
"""Simulation steps per decision of the learners: stage 1 (all robots learn) and stage 2 (docs/concepts/populations.md)."""
PAPER_SLOWER = 30.0
"""How many times slower the paper's networks are without a GPU."""
GAMES = {"depth": 8.0, "rgb": 6.0}
"""Games a second of an evaluation on one core, by what the agent sees."""
OTHER_GAMES = 20.0
SECONDS_TO_START = 15.0
"""Of every cell: imports, homes, episodes."""
LOG_BYTES = 1_200
"""One line of metrics.jsonl, and its mirror for TensorBoard."""
ROW_BYTES = 120
"""One game in a parquet file."""


@dataclass(frozen=True)
class Speeds:
    """Decisions a second of one worker by observations; what is not given or measured comes from the table."""

    given: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)

    def of(self, observations: str, networks: str, agent: bool = False) -> float:
        """For a cell that sees `observations` with a family of networks (laptop, paper); agent: in stage 2."""
        if observations not in self.given and (name := _measured_as(observations, agent)) in self.measured:
            return self.measured[name]
        share = AGENT_SHARE if agent else 1.0
        for known in (self.given, self.measured):
            if observations in known:
                return known[observations] * share
        return SPEEDS[observations] * share / (PAPER_SLOWER if networks == "paper" else 1.0)

    def source(self, observations: str) -> str:
        """Where a number comes from."""
        if observations in self.given:
            return "given"
        return "measured in this grid" if observations in self.measured else "from the table"


def parse_speeds(texts: tuple[str, ...]) -> dict[str, float]:
    """`depth=3000` and the like."""
    found = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = 0.0
        if name not in SPEEDS or found[name] <= 0:
            raise ValueError(f"--speed {text} - write it as OBSERVATIONS=DECISIONS_PER_SECOND with one of: {', '.join(SPEEDS)}")
    return found


def measure(grid: Grid) -> dict[str, float]:
    """Decisions a second of one worker, by observations and stage, over everything that this grid has trained so far."""
    decisions: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for cell in grid.cells:
        row = _last_row(grid, cell) if cell.trains and not cell.shares else None
        if row is not None and row.get("seconds"):
            name = _measured_as(cell.observations, cell.kind == "agent")
            decisions[name] = decisions.get(name, 0.0) + row["decisions"]
            seconds[name] = seconds.get(name, 0.0) + row["seconds"] * cell.cores
    return {name: decisions[name] / seconds[name] for name in decisions}


def _measured_as(observations: str, agent: bool) -> str:
    return f"{observations}, stage 2" if agent else observations


def share_done(grid: Grid, cell: Cell) -> float:
    """How much of a cell that is under way is done, from 0 to 1; evaluations tell nothing before their end."""
    row = _last_row(grid, cell) if cell.trains else None
    unit, whole = cell.budget
    return min(1.0, row.get(unit, 0) / (whole * cell.times)) if row is not None else 0.0


def decisions_of(cell: Cell) -> float:
    """About how many decisions a cell trains with."""
    once = cell.decisions or cell.steps / (AGENT_STEPS if cell.kind == "agent" else STEPS_A_DECISION)
    return once * cell.times


def _last_row(grid: Grid, cell: Cell) -> dict | None:
    lines = last_lines(RunFolder(grid.folder(cell)).stage(2 if cell.kind == "agent" else 1).metrics, 1)
    try:
        row = json.loads(lines[0]) if lines else None
    except ValueError:
        return None
    return row if isinstance(row, dict) and "decisions" in row else None


def hours_of(grid: Grid, cell: Cell, speeds: Speeds) -> float:
    """How long a cell takes from its beginning, in hours by the clock."""
    preset = PRESETS[grid.holdout_preset if cell.kind == "holdout" else grid.settings.preset]
    seconds = SECONDS_TO_START
    if cell.trains:
        seconds += decisions_of(cell) / (speeds.of(cell.observations, preset.networks, cell.kind == "agent") * cell.cores)
    if cell.games:
        seconds += cell.games / (GAMES.get(cell.observations, OTHER_GAMES) * cell.cores)
    return seconds / 3600


def bytes_of(grid: Grid, cell: Cell) -> int:
    """About how much a cell leaves on the disk."""
    if cell.kind == "evaluation":
        return cell.games * ROW_BYTES
    preset = PRESETS[grid.holdout_preset if cell.kind == "holdout" else grid.settings.preset]
    training = preset.training
    rollout = training.num_envs * (2 * training.rollout_decisions or training.rollout_steps / STEPS_A_DECISION)
    log = int(decisions_of(cell) / rollout) * LOG_BYTES
    weights = 4 * parameters("" if cell.kind == "agent" else cell.method, cell.observations, preset_name(grid, cell))
    # The policy now, at the start and in the middle; the resume point has it with the optimiser's two moments.
    return log + weights * (3 if cell.shares else 6)


def preset_name(grid: Grid, cell: Cell) -> str:
    """The preset that a cell is trained with."""
    return grid.holdout_preset if cell.kind == "holdout" else grid.settings.preset


@functools.cache
def parameters(method: str, observations: str, preset: str) -> int:
    """Numbers in all policies of a method's population, or in one agent (method "")."""
    from housemates.policies.policy import Policy
    from housemates.policies.threads import one_thread

    config = PRESETS[preset].policy(observations, 2)
    make = METHODS[method].make if method else None
    with one_thread():
        policies = [Policy(config)] if make is None else make(config, 2, 0, METHODS[method].settings).policies
    return sum(p.numel() for policy in policies for p in policy.parameters())


def finish(grid: Grid, hours: Callable[[Cell], float], jobs: int) -> float:
    """Hours until the last cell is done, if `jobs` cores take cells as the runner would; hours: what is left of each."""
    waiting = [(cell, left) for cell in grid.cells if (left := hours(cell)) > 0]
    open_cells = {cell.name for cell, _ in waiting}
    running: list[tuple[float, int, Cell]] = []
    free, now = max(1, jobs), 0.0
    while waiting or running:
        for cell, left in list(waiting):
            cores = min(cell.cores, max(1, jobs))
            if cores <= free and not open_cells & set(cell.after):
                waiting.remove((cell, left))
                free -= cores
                heapq.heappush(running, (now + left, len(waiting), cell))
        if not running:
            break
        now, _, cell = heapq.heappop(running)
        free += min(cell.cores, max(1, jobs))
        open_cells.discard(cell.name)
    return now


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


def plan_lines(grid: Grid, speeds: Speeds, jobs: int, every: bool = False) -> list[str]:
    """Cells by kind, hours and disk, before anything runs; every: a line for each cell first."""
    left = {cell.name: 0.0 if grid.done(cell) else hours_left(grid, cell, speeds) for cell in grid.cells}
    lines = cell_lines(grid, left) if every else []
    lines.append(f"{'cells':<22}  {'number':>6}  {'done':>5}  {'begun':>5}  {'hours left':>10}  {'disk':>9}")
    for kind, title in KINDS.items():
        mine = [cell for cell in grid.cells if cell.kind == kind]
        if mine:
            over = sum(not left[cell.name] for cell in mine)
            begun = sum(bool(left[cell.name] and share_done(grid, cell)) for cell in mine)
            hours, disk = sum(left[cell.name] for cell in mine), size(sum(bytes_of(grid, cell) for cell in mine))
            lines.append(f"{title:<22}  {len(mine):>6}  {over:>5}  {begun:>5}  {hours:>10.1f}  {disk:>9}")
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


def cell_lines(grid: Grid, left: dict[str, float]) -> list[str]:
    """A line for each cell, and an empty one; left: hours that are left, by the name of the cell."""
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
    return [*lines, ""]


def hours_left(grid: Grid, cell: Cell, speeds: Speeds) -> float:
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
    return finish(grid, lambda cell: hours_left(grid, cell, speeds) if cell.name in alive else 0.0, jobs)


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
