"""How long a grid takes and how much it writes, from speeds that were measured or given: before it runs and while it does."""

from __future__ import annotations

import functools
import heapq
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from housemates.benchmark.cells import Cell, last_lines
from housemates.benchmark.plan import Grid
from housemates.populations import METHODS
from housemates.presets import PRESETS

SPEEDS = {"state": 12_000.0, "predicates": 12_000.0, "blind": 12_000.0, "depth": 4_500.0, "rgb": 3_000.0}
"""Decisions a second of one worker with a core of its own and the laptop networks (docs/benchmark.md says where measured)."""
AGENT_SHARE = 0.64
"""Decisions a second of stage 2, as a share: partners decide too, but only the agent's decisions count."""
STEPS_A_DECISION, AGENT_STEPS = 1.5, 3.5
"""Simulation steps for each decision of the learners, in stage 1 (all robots learn) and stage 2 (docs/populations.md)."""
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
    return min(1.0, row.get(unit, 0) / whole) if row is not None else 0.0


def decisions_of(cell: Cell) -> float:
    """About how many decisions a cell trains with."""
    return cell.decisions or cell.steps / (AGENT_STEPS if cell.kind == "agent" else STEPS_A_DECISION)


def _last_row(grid: Grid, cell: Cell) -> dict | None:
    lines = last_lines(grid.folder(cell) / ("stage2" if cell.kind == "agent" else "stage1") / "metrics.jsonl", 1)
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
    rollout = training.homes * (2 * training.rollout or training.rollout_steps / STEPS_A_DECISION)
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

    config = PRESETS[preset].policy(observations, 2)
    make = METHODS[method].make if method else None
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
