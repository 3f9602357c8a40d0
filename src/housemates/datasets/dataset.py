"""A dataset on disk (docs/howto/datasets.md): its columns, the files beside its table, and reading it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from housemates.io import file_digest, reading, unseal

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Version of the layout; another one is refused."""
DESCRIPTION, TABLE = "dataset.json", "decisions.parquet"
COLUMNS = {
    "game": "int32",
    "episode": "int32",
    "home": "string",
    "agent": "string",
    "partner": "string",
    "robot": "int8",
    "role": "string",
    "mover": "string",
    "kind": "string",
    "latent": "int16",
    "number": "int32",
    "clock": "int32",
    "start": "bool",
    "decision": "int8",
    "feasible": "bool",
    "duration": "int32",
    "reward": "double",
    "reward_discounted": "double",
    "done": "bool",
    "log_prob": "float",
    "success": "bool",
    "outcome": "string",
    "steps": "int32",
}
"""Name and type of every column of the table, in order: one row per decision, game by game, robot by robot, in time."""
WORDS = tuple(name for name, kind in COLUMNS.items() if kind == "string")
ROLES = ("agent", "partner")
PROBABILITIES = "probabilities"
"""The array [N, 25] float32 that lies beside the observations."""


def array_file(name: str) -> str:
    """The file of an array."""
    return f"{name}.npy"


def schema() -> pa.Schema:
    """The columns as a pyarrow schema."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "bool": pa.bool_(), "double": pa.float64(), "float": pa.float32()}
    kinds |= {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32()}
    return pa.schema([pa.field(name, kinds[kind], nullable=False) for name, kind in COLUMNS.items()])


if TYPE_CHECKING:
    import numpy as np


AGAIN = "export the games again"


def describe(folder: Path | str) -> dict[str, Any]:
    """What `dataset.json` says: task, players, rules, counts, what each observation means."""
    path = Path(folder) / DESCRIPTION
    if not path.is_file():
        raise FileNotFoundError(f"no dataset at {folder} - make one with: housemates export --out {folder}")
    with reading(path, AGAIN):
        found = json.loads(path.read_bytes())
        version = found["format"]
    if version != FORMAT:
        raise ValueError(f"{folder} has format {version}, this version reads {FORMAT} - {AGAIN}")
    with reading(path, AGAIN):
        return unseal(DESCRIPTION, found)


def load_dataset(folder: Path | str, names: Sequence[str] | None = None, check: bool = True) -> dict[str, np.ndarray]:
    """Columns and arrays by name, each with one entry per decision; names: only these (default: everything).

    The files of what is wanted are compared with their checksums, which means to read them all once; check=False leaves that
    out, for datasets that are far larger than the memory and have been checked before.

    Words are object arrays of strings. Observations and `probabilities` are mapped: they are read from disk where they are
    used, and cannot be written to.
    """
    folder, about = Path(folder), describe(folder)
    arrays = [*about["observations"], PROBABILITIES]
    known = [*COLUMNS, *arrays]
    for name in names or ():
        if name not in known:
            raise ValueError(f"{folder} has no '{name}' - it has: {', '.join(known)}")
    wanted = known if names is None else list(names)
    if check:
        _check(folder, about, {TABLE if name in COLUMNS else array_file(name) for name in wanted})
    found = _columns(folder, [name for name in wanted if name in COLUMNS])
    found |= {name: _array(folder, name) for name in wanted if name in arrays}
    count = about["counts"]["decisions"]
    for name, values in found.items():
        if len(values) != count:
            raise ValueError(
                f"{folder} is damaged: {len(values)} entries of '{name}' instead of {count} - export the games again"
            )
    return {name: found[name] for name in wanted}


def _columns(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    import pyarrow as pa
    from pyarrow import parquet

    if not names:
        return {}
    words = [name for name in names if name in WORDS]
    with reading(folder / TABLE, AGAIN):
        table = parquet.read_table(folder / TABLE, columns=names, read_dictionary=words)
        table = table.unify_dictionaries().combine_chunks()
        found = {}
        for name in names:
            column = table.column(name)
            if name not in WORDS:
                found[name] = column.to_numpy()
                continue
            # A word is one object however many rows have it.
            parts = column.chunks
            known = parts[0].dictionary.to_numpy(zero_copy_only=False) if parts else pa.array([], pa.string()).to_numpy(False)
            found[name] = known[parts[0].indices.to_numpy()] if parts else known
    return found


def _array(folder: Path, name: str) -> np.ndarray:
    import numpy as np

    path = folder / array_file(name)
    with reading(path, AGAIN):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _check(folder: Path, about: dict[str, Any], files: set[str]) -> None:
    """Refuse files that are not what was written."""
    for name in sorted(files):
        with reading(folder / name, AGAIN):
            if file_digest(folder / name) != about["files"][name]:
                raise ValueError("it is not what was written")
