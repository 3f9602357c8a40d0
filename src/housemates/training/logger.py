"""What a run looks like while it trains: a panel on the console, TensorBoard and Weights & Biases where they are wanted.

The log itself is metrics.jsonl, which the trainer writes; everything here only repeats its rows.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from housemates.run_folder import StageFolder
from housemates.training.checks import COLLAPSED, PATIENCE

if TYPE_CHECKING:
    from rich.panel import Panel

LINE_EVERY = 10.0
"""Seconds between two lines where the console is not a terminal."""
SHARES = ("simulation", "observation", "inference", "update")

Row = dict[str, Any]
Budget = tuple[str, int]
"""(`decisions` or `steps`, how many of them)."""


class Record:
    """Shows rows of the log wherever they are wanted; use it as a context and call it with each row."""

    def __init__(self, folder: Path, title: str, budget: Budget, wandb: bool = False, config: Row | None = None) -> None:
        """folder: of the stage; budget: see `Training.budget`; config: what Weights & Biases keeps with the run."""
        self.title, self.budget = title, budget
        self.folder, self.wandb, self.config = folder, wandb, config
        self.sinks: list[Callable[[Row], None]] = []
        self.collapsed: dict[str, int] = {}
        """For how many updates on end each learner has had next to no choices left."""
        self.told: set[str] = set()
        self.stack = ExitStack()

    def __enter__(self) -> Record:
        if self.wandb:
            self.sinks.append(_wandb(self.folder, self.title, self.config or {}, self.stack))
        if importlib.util.find_spec("tensorboard") is not None:
            self.sinks.append(_tensorboard(StageFolder(self.folder).tensorboard, self.stack))
        # Closing the terminal that training writes to does not stop it.
        self.stack.enter_context(suppress(OSError))
        self.sinks.append(_until_closed(_console(self.title, self.budget, self.stack)))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stack.close()

    def __call__(self, row: Row) -> None:
        for sink in self.sinks:
            sink(row)
        self._warn(row)

    def _warn(self, row: Row) -> None:
        """Say once of every learner that its entropy has collapsed."""
        names = row.get("collapsed", [])
        self.collapsed = {name: self.collapsed.get(name, 0) + 1 for name in names}
        for name in (name for name, updates in self.collapsed.items() if updates == PATIENCE and name not in self.told):
            self.told.add(name)
            words = f"warning: {name} nearly always decides the same: entropy below {COLLAPSED:.2f} for {PATIENCE} updates"
            remedy = "it will hardly learn any more; lower ppo.learning_rate or raise ppo.entropy in a new run"
            with suppress(OSError):  # a terminal that was closed
                print(f"{words} (now update {row['update']:,}) - {remedy}", file=sys.stderr, flush=True)


def _until_closed(sink: Callable[[Row], None]) -> Callable[[Row], None]:
    """A sink that is left alone once it cannot be written to any more."""
    closed = False

    def tell(row: Row) -> None:
        nonlocal closed
        if not closed:
            try:
                sink(row)
            except OSError:
                closed = True

    return tell


def line(row: Row, budget: Budget) -> str:
    """A row of the log as one line of text."""
    return (
        f"{row['decisions']:>10,} decisions  {row['steps']:>11,} steps  {spent(row, budget):4.0%}  "
        f"success {row['charts/success']:5.1%}  "
        f"collision {row['charts/collision']:5.1%}  timeout {row['charts/timeout']:5.1%}  "
        f"return {row['charts/episodic_return']:6.2f}  entropy {row.get('losses/entropy', 0.0):.2f}  "
        f"{row['charts/decisions_per_second']:,.0f} decisions/s  left {left(row, budget)}{agent(row)}"
    )


def agent(row: Row) -> str:
    """What stage 2 knows of its agent, for a line of text; empty in stage 1."""
    found = ""
    if "charts/agent_subgoals" in row:
        found += f"  agent does {row['charts/agent_subgoals']:.0%} of the sub-goals"
    if "charts/standing_partner" in row:
        found += f"  beside a standing robot {row['charts/standing_partner']:.0%}"
    return found


def spent(row: Row, budget: Budget) -> float:
    """Which share of the budget is spent."""
    return row[budget[0]] / budget[1]


def left(row: Row, budget: Budget) -> str:
    """The time that is left at the speed of the run so far, as hours and minutes or minutes and seconds."""
    unit, whole = budget
    seconds = max(0.0, whole - row[unit]) * row["seconds"] / max(row[unit], 1)
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    return f"{hours} h {minutes % 60:02d} min" if hours else f"{minutes} min {int(seconds) % 60:02d} s"


def panel(row: Row, title: str, budget: Budget) -> Panel:
    """A row of the log as a panel for a terminal."""
    from rich.panel import Panel
    from rich.table import Table

    table = Table.grid(padding=(0, 3))
    share = min(1.0, spent(row, budget))
    bar = "█" * int(24 * share) + "░" * (24 - int(24 * share))
    unit, whole = budget
    other = "steps" if unit == "decisions" else "decisions"
    rows: Sequence[tuple[str, ...]] = (
        (unit, f"{row[unit]:,} of {whole:,}", "", bar + f" {share:.0%}", "left", left(row, budget)),
        ("success", f"{row['charts/success']:.1%}", "collisions", f"{row['charts/collision']:.1%}", "time-outs",
         f"{row['charts/timeout']:.1%}"),
        ("return", f"{row['charts/episodic_return']:.2f}", "steps an episode", f"{row['charts/episodic_length']:.0f}",
         "entropy", f"{row.get('losses/entropy', 0.0):.2f}"),
        ("decisions/s", f"{row['charts/decisions_per_second']:,.0f}", "shares of time",
         "  ".join(f"{name} {row.get(f'time/{name}', 0.0):.0%}" for name in SHARES), "update", f"{row['update']:,}"),
        (other, f"{row[other]:,}", "", "", "", ""),
    )  # fmt: skip
    if "charts/agent_subgoals" in row:
        alone = row.get("charts/standing_partner")
        beside = "not probed yet" if alone is None else f"{alone:.0%}"
        rows = (*rows, ("agent does", f"{row['charts/agent_subgoals']:.0%} of the sub-goals", "standing partner", beside))
    for cells in rows:
        table.add_row(*cells)
    return Panel(table, title=title, title_align="left")


def _console(title: str, budget: Budget, stack: ExitStack) -> Callable[[Row], None]:
    """A panel that changes in place on a terminal, a line every LINE_EVERY seconds elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        from rich.live import Live

        live = stack.enter_context(Live(console=console, auto_refresh=False))
        return lambda row: live.update(panel(row, title, budget), refresh=True)
    print(title, file=sys.stderr, flush=True)
    told = 0.0

    def tell(row: Row) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= LINE_EVERY or spent(row, budget) >= 1:
            told = now
            print(line(row, budget), file=sys.stderr, flush=True)

    return tell


def _tensorboard(folder: Path, stack: ExitStack) -> Callable[[Row], None]:
    """A mirror of the log for TensorBoard; a resumed run hides what it had written beyond its resume point."""
    writer: Any = None

    def write(row: Row) -> None:
        nonlocal writer
        if writer is None:
            from torch.utils.tensorboard import SummaryWriter

            writer = SummaryWriter(str(folder), purge_step=row["decisions"])
            stack.callback(writer.close)
        for name, value in row.items():
            if "/" in name:
                writer.add_scalar(name, value, row["decisions"])

    return write


def _wandb(folder: Path, title: str, config: Row, stack: ExitStack) -> Callable[[Row], None]:
    """A mirror of the log at Weights & Biases; a resumed run continues its own."""
    if importlib.util.find_spec("wandb") is None:
        raise ValueError("--wandb needs the package wandb - run: pip install wandb")
    import wandb  # ty: ignore[import-not-found]

    name = folder.parent.name
    run = wandb.init(project="housemates", id=name, name=name, notes=title, config=config, resume="allow", dir=str(folder))
    stack.callback(run.finish)
    return lambda row: run.log(row, step=row["update"])
