"""Writes a dataset game by game: rows into one parquet file, arrays into one `.npy` file each, all in a folder beside its
place that is renamed when everything is there, with checksums in its description. Same games, same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import numpy as np

from housemates import __version__
from housemates.agents.agent import Agent
from housemates.datasets.dataset import (
    COLUMNS,
    DESCRIPTION,
    FORMAT,
    PROBABILITIES,
    ROLES,
    TABLE,
    WORDS,
    array_file,
    schema,
)
from housemates.evaluation.trajectories import Game
from housemates.io import aside, check_place, file_digest, sync, write_json, writing
from housemates.sim.sensors import SENSORS
from housemates.sim.state import OUTCOMES, SUCCESS
from housemates.tasks.actions import ACTIONS

ROWS = 1 << 16
"""Decisions in one row group of the table, at least."""
KNOWN = ("method", "observations", "task", "seed", "decisions", "sha256", "holdout")
"""What is told of a player, where it is known."""


class Seat(NamedTuple):
    """Who moved one robot of a game."""

    who: Agent
    role: str
    """One of ROLES."""


def check_folder(folder: Path) -> None:
    """Refuse a place where no new folder can be written, before anything is played."""
    if Path(folder).exists():
        raise ValueError(f"{folder} exists already - name another folder with --out, or remove it")
    check_place(folder)


class Writer:
    """A dataset that is being written; leaving it with an error, or without `finish`, leaves nothing behind."""

    def __init__(self, folder: Path, shapes: Mapping[str, tuple[tuple[int, ...], Any]]) -> None:
        """shapes: shape and type of every observation."""
        from pyarrow import parquet

        check_folder(folder)
        self.folder = Path(folder).absolute()
        self.scratch = aside(self.folder)
        self.shapes = {name: (tuple(shape), np.dtype(kind)) for name, (shape, kind) in shapes.items()}
        self.games = self.decisions = self.successes = self.pending = 0
        self._rows: list[dict[str, Any]] = []
        arrays = self.shapes | {PROBABILITIES: ((len(ACTIONS),), np.dtype("f4"))}
        with writing(self.folder):
            try:
                self.scratch.mkdir(parents=True)
                self._table = parquet.ParquetWriter(self.scratch / TABLE, schema(), compression="zstd")
                self._arrays = {name: _Growing(self.scratch / array_file(name), *arrays[name]) for name in arrays}
            except BaseException:
                shutil.rmtree(self.scratch, ignore_errors=True)
                raise

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with suppress(OSError):  # what could not be written is of no use any more
                self._close()
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def add(self, game: Game, home: str, seats: Sequence[Seat], agent: str, partner: str) -> None:
        """Append one game; seats: who moved each robot, in the order of the robots."""
        rows, robot = game.rows, game.rows["robot"]
        n = len(robot)
        first = np.ones(n, np.bool_)
        first[1:] = robot[1:] != robot[:-1]
        number = np.arange(n) - np.maximum.accumulate(np.where(first, np.arange(n), 0))
        same = {"game": self.games, "episode": game.episode, "home": home, "agent": agent, "partner": partner}
        same |= {"success": game.outcome == SUCCESS, "outcome": OUTCOMES[game.outcome], "steps": game.steps}
        by_robot = {
            "role": [seat.role for seat in seats],
            "mover": [seat.who.name for seat in seats],
            "kind": [seat.who.kind for seat in seats],
            "latent": [seat.who.latent for seat in seats],
        }
        made: dict[str, Any] = {name: np.full(n, value, object if name in WORDS else None) for name, value in same.items()}
        made |= {name: np.array(values, object if name in WORDS else None)[robot] for name, values in by_robot.items()}
        made |= {"number": number, "start": first, "done": np.roll(first, -1)}
        made |= {name: values for name, values in rows.items() if name in COLUMNS}
        self._rows.append(made)
        with writing(self.folder):
            for name, array in self._arrays.items():
                array.add(rows[name] if name == PROBABILITIES else game.seen[name])
        self.games, self.decisions = self.games + 1, self.decisions + n
        self.successes += game.outcome == SUCCESS
        self.pending += n
        if self.pending >= ROWS:
            self._flush()

    def finish(self, about: Mapping[str, Any]) -> None:
        """Describe the dataset and put it into its place."""
        self._flush()
        with writing(self.folder):
            self._close()
        files = [TABLE, *map(array_file, self._arrays)]
        described = {
            "format": FORMAT,
            "version": __version__,
            **about,
            "counts": {"games": self.games, "decisions": self.decisions, "successes": int(self.successes)},
            "actions": list(ACTIONS),
            "columns": COLUMNS,
            "observations": {
                name: {"file": array_file(name), "shape": list(shape), "type": kind.name, "what": SENSORS.find(name).meaning}
                for name, (shape, kind) in self.shapes.items()
            },
            "files": {name: file_digest(self.scratch / name) for name in files},
        }
        with writing(self.folder):
            for name in files:
                sync(self.scratch / name)
            write_json(self.scratch / DESCRIPTION, described)
            check_folder(self.folder)
            self.scratch.rename(self.folder)
            sync(self.folder.parent)

    def _flush(self) -> None:
        """Write the waiting rows as one row group."""
        import pyarrow as pa

        if not self._rows:
            return
        columns = {name: np.concatenate([rows[name] for rows in self._rows]) for name in COLUMNS}
        table = pa.table({name: pa.array(values, schema().field(name).type) for name, values in columns.items()}, schema())
        with writing(self.folder):
            self._table.write_table(table, row_group_size=max(len(table), 1))
        self._rows, self.pending = [], 0

    def _close(self) -> None:
        with ExitStack() as stack:  # all of them, whatever one of them says
            for one in (self._table, *self._arrays.values()):
                stack.callback(one.close)


class _Growing:
    """An `.npy` file that is written piece by piece; numpy leaves room in its header for the final length."""

    def __init__(self, path: Path, shape: tuple[int, ...], kind: np.dtype) -> None:
        self.shape, self.kind, self.length = shape, kind, 0
        self.file: IO[bytes] = path.open("w+b")
        self._header()

    def add(self, values: np.ndarray) -> None:
        """Append values [n, ...]."""
        if values.shape[1:] != self.shape or values.dtype != self.kind:
            raise ValueError(f"{self.file.name} takes {self.shape} {self.kind}, got {values.shape[1:]} {values.dtype}")
        self.file.write(np.ascontiguousarray(values).data)
        self.length += len(values)

    def close(self) -> None:
        """Write the final length."""
        if not self.file.closed:
            with self.file:
                self.file.seek(0)
                self._header()

    def _header(self) -> None:
        described = np.lib.format.dtype_to_descr(self.kind)
        header = {"descr": described, "fortran_order": False, "shape": (self.length, *self.shape)}
        np.lib.format.write_array_header_1_0(self.file, header)


def told(partner: Agent) -> dict[str, Any]:
    """A player as dataset.json tells of it: nothing about folders of this machine."""
    known = {name: partner.meta[name] for name in KNOWN if partner.meta.get(name) not in (None, "")}
    return {"name": partner.name, "kind": partner.kind, "latent": partner.latent, **known}


def roles(robots: int, agent: int) -> list[str]:
    """The role of each robot, where the agent moves one of them."""
    return [ROLES[int(r != agent)] for r in range(robots)]
