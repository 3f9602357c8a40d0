"""A grid as a folder: benchmark.json says how its runs are made and which were wanted last, so that it can be continued."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from housemates.config import from_json, to_json
from housemates.grid.plan import SMOKE, Grid, Settings, make_grid, selection
from housemates.io import read_json, write_json

FILE = "benchmark.json"


@dataclass(frozen=True)
class Benchmark:
    """Which runs are wanted, and how they are made."""

    grid: str = "paper"
    methods: tuple[str, ...] = ()
    """Empty for all of the grid."""
    tasks: tuple[str, ...] = ()
    """Empty for all of the grid."""
    seeds: tuple[int, ...] = (0, 1, 2)
    settings: Settings = field(default_factory=Settings)

    def cells(self, root: Path) -> Grid:
        """The grid in a folder."""
        if not self.seeds:
            raise ValueError("runs of which seeds? - give --seeds, such as 0 1 2")
        return make_grid(root, selection(self.grid, self.methods, self.tasks), self.seeds, self.settings)


def read(root: Path) -> Benchmark | None:
    """What a folder's grid is; None if it has none."""
    path = root / FILE
    if not path.is_file():
        return None
    values = read_json(path, "restore it from a copy, or choose another --out")
    return from_json(Benchmark, values, str(path))


def write(root: Path, benchmark: Benchmark) -> None:
    """Note what a folder's grid is."""
    try:
        write_json(root / FILE, to_json(benchmark))
    except OSError as error:
        raise OSError(f"cannot write to {root}: {error.strerror or error} - choose another --out") from error


def asked(root: Path, chosen: dict[str, Any], settings: dict[str, Any]) -> Benchmark:
    """What is wanted: what the folder says, or the grid's defaults, with what was given (None: not given).

    chosen: grid, methods, tasks, seeds; they may change from time to time. settings: fields of Settings; they may not.
    """
    there = read(root)
    chosen = {name: value for name, value in chosen.items() if value is not None}
    settings = {name: value for name, value in settings.items() if value is not None}
    if there is None:
        smoke = chosen.get("grid") == "smoke"
        first = Benchmark(seeds=(0,), settings=SMOKE) if smoke else Benchmark()
        return replace(first, **chosen, settings=replace(first.settings, **settings))
    for name in (f.name for f in fields(Settings)):
        if name in settings and settings[name] != getattr(there.settings, name):
            option, old = f"--{name.replace('_', '-')}", getattr(there.settings, name)
            raise ValueError(
                f"the runs in {root} have {option} {_shown(old)}, not {_shown(settings[name])} - choose another --out"
            )
    return replace(there, **chosen)


def _shown(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
