"""What a runner knows of work: cells with names, dependencies, a command each and a result file that is there or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

Kind = Literal["holdout", "population", "agent", "evaluation"]
Outcome = Literal["done", "paused", "failed", "lost", "busy"]
"""lost: its process was killed; busy: another process works at it."""


@dataclass(frozen=True)
class Cell:
    """One piece of work: a process that leaves a result."""

    kind: Kind
    run: str
    """The name of its run folder."""
    method: str
    task: str
    seed: int
    observations: str
    after: tuple[str, ...] = ()
    """Names of the cells that must be done before."""
    shares: str = ""
    """The run whose population this one takes over instead of training the same again."""
    cores: int = 1
    decisions: int = 0
    """How many it trains; 0 if it trains nothing, or as many as its steps need."""
    steps: int = 0
    """The same in simulation steps of all homes; 0 if its budget is in decisions."""
    times: int = 1
    """How often it trains through that budget."""
    games: int = 0
    """How many it plays; 0 if it evaluates nothing."""

    @property
    def trains(self) -> bool:
        """Whether anything is trained."""
        return bool(self.decisions or self.steps)

    @property
    def budget(self) -> tuple[str, int]:
        """In what its training is counted, and how much it is."""
        return ("steps", self.steps) if self.steps else ("decisions", self.decisions)

    @property
    def name(self) -> str:
        """Unique in a grid."""
        return f"{self.kind}/{self.run}"


class Ended(NamedTuple):
    """How a cell's process has ended."""

    cell: Cell
    outcome: Outcome
    words: str = ""
    """What went wrong, in a line."""


class Work(Protocol):
    """Cells, how to do them, and whether they are done."""

    @property
    def root(self) -> Path:
        """The folder that everything is written to."""
        ...

    @property
    def cells(self) -> Sequence[Cell]:
        """In the order they are wanted; whatever a cell needs comes before it."""
        ...

    def done(self, cell: Cell) -> bool:
        """Whether the result of a cell was written whole."""
        ...

    def command(self, cell: Cell) -> list[str]:
        """The program and its arguments that do a cell, or continue it."""
        ...


class Hands(Protocol):
    """Whoever does cells: processes of this machine, or a cluster."""

    def room(self, cell: Cell) -> bool:
        """Whether another cell may be started."""
        ...

    def start(self, cell: Cell) -> None:
        """Begin a cell."""
        ...

    def finished(self) -> list[Ended]:
        """Cells that have ended since the last call."""
        ...

    def pause(self) -> None:
        """Let everything end at its next resume point."""
        ...

    def stop(self) -> None:
        """End everything now."""
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...


def log_of(root: Path, cell: Cell) -> Path:
    """Where a cell's process writes what it says."""
    return root / "logs" / f"{cell.name}.log"


def last_lines(path: Path, count: int = 5) -> list[str]:
    """The end of a log."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 20_000))
        lines = file.read().decode(errors="replace").splitlines()
    return [line for line in lines if line.strip()][-count:]
