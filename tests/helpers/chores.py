"""Cells that need no training: each is a small program that writes its result, for tests of whoever runs cells."""

import sys
from dataclasses import dataclass
from pathlib import Path

from housemates.grid.cells import Cell

SHELL = "sh"
WRITE = 'echo start >> "$0.tries"; echo $$ > "$0.pid"; {body}; echo done > "$0.part"; mv "$0.part" "$0"'


def chore(name: str, *after: str, cores: int = 1) -> Cell:
    """A cell called evaluation/NAME."""
    return Cell("evaluation", name, "sp", "tidy_house", 0, "state", tuple(f"evaluation/{a}" for a in after), cores=cores)


@dataclass(frozen=True)
class Chores:
    """Work whose cells do `bodies[run]`, shell commands, before they write their result."""

    root: Path
    cells: tuple[Cell, ...]
    bodies: tuple[tuple[str, str], ...] = ()

    def result(self, cell: Cell) -> Path:
        """Where a cell's result is."""
        return self.root / cell.run

    def done(self, cell: Cell) -> bool:
        return self.result(cell).is_file()

    def command(self, cell: Cell) -> list[str]:
        return [SHELL, "-c", WRITE.format(body=dict(self.bodies).get(cell.run, "true")), str(self.result(cell))]

    def tries(self, name: str) -> int:
        """How often a cell was started."""
        path = self.root / f"{name}.tries"
        return len(path.read_text().splitlines()) if path.exists() else 0


def made(root: Path, bodies: dict[str, str], **after: tuple[str, ...]) -> Chores:
    """Chores by name with their bodies; after: what each needs."""
    root.mkdir(parents=True, exist_ok=True)
    return Chores(root, tuple(chore(name, *after.get(name, ())) for name in bodies), tuple(bodies.items()))


HANG = 'trap "exit 1" INT; until test -e "$0.go"; do sleep 0.05; done'
"""Waits until somebody has written RESULT.go; an interrupt ends it."""


if __name__ == "__main__":
    from housemates.grid.run import Local, run

    work = made(Path(sys.argv[1]), {"first": "true", "second": HANG, "third": "true"}, third=("second",))
    run(work, Local(work, 2))
