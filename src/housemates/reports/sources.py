"""What a report reads: run folders with their rows, or rows alone (a parquet file, or a folder that holds one)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.evaluation.metrics import Rows, rows_of
from housemates.evaluation.rows import join_rows, read_rows
from housemates.io import read_json
from housemates.run_folder import ROWS, RunFolder

if TYPE_CHECKING:
    import pyarrow as pa

AGAIN = "restore it from a copy, or make it again"
SAME = ("evaluation", "control", "task", "split", "agent", "partner", "episode", "robot", "seed", "greedy", "environment")
SAME += ("method", "observations")
"""Rows that agree in these are one game; several runs may each have played the same control."""


@dataclass(frozen=True, eq=False)
class Source:
    """A run, or rows without their run."""

    name: str
    folder: Path | None
    """Of the run; None for rows alone."""
    config: dict[str, Any]
    """What config.json says; empty for rows alone."""
    rows: tuple[Path, ...]
    diversity: dict[str, Any] | None
    """The run's diversity audit, if it was made."""


def read_source(path: Path) -> Source:
    """A run folder, a parquet file, or a folder with an episodes.parquet."""
    if path.is_file():
        return Source(path.stem, None, {}, (path,), None)
    if not path.is_dir():
        raise FileNotFoundError(f"no run at {path} - give the folder of a run, or a parquet file of an evaluation")
    run = RunFolder(path)
    if not run.exists():
        if (path / ROWS).is_file():
            return Source(path.name, None, {}, (path / ROWS,), None)
        raise FileNotFoundError(
            f"no {run.config.name} in {path} - give the folder of a run, or a parquet file of an evaluation"
        )
    rows = tuple(run.all_rows())
    if not rows:
        raise FileNotFoundError(f"{path} has not been evaluated yet - run: housemates evaluate {path}")
    audit = run.diversity()
    found = read_json(audit, AGAIN) if audit.is_file() else None
    return Source(path.resolve().name, path, run.read_config(AGAIN), rows, found)


def gather(sources: Sequence[Source]) -> pa.Table:
    """The rows of all sources, every game once; rows of one game that disagree are of two runs with one name: refused."""
    table = join_rows(read_rows(source.rows) for source in sources)
    versions = sorted({version for version in np.unique(table.column("suite").to_numpy()).tolist() if version > 0})
    if len(versions) > 1:
        words = " and ".join(map(str, versions))
        raise ValueError(f"these rows are of versions {words} of the held-out suite - report them apart, or evaluate again")
    _, first, game = np.unique(_keys(table), return_index=True, return_inverse=True)
    trained = table.column("decisions").to_numpy() > 0
    for name in ("decisions", "steps", "success"):
        values = table.column(name).to_numpy(zero_copy_only=False)
        other = np.flatnonzero((values != values[first][game]) & trained)
        if len(other):
            who = table.column("agent")[int(other[0])].as_py()
            raise ValueError(
                f"these rows are of two different runs called '{who}' - report them apart, or evaluate one renamed"
            )
    return table.take(np.sort(first))


def _keys(table: pa.Table) -> np.ndarray:
    """One number per row, equal for rows of the same game."""
    key = np.zeros(len(table), np.int64)
    for name in SAME:
        values = table.column(name).combine_chunks().dictionary_encode()
        key = np.unique(key, return_inverse=True)[1] * (len(values.dictionary) + 1) + values.indices.to_numpy()
    return key


def select(table: pa.Table, split: str | None, greedy: bool) -> tuple[Rows, list[str]]:
    """The rows that tables are made of (one split, one way of acting), and what a reader must know about those left out.

    split: None takes `eval` if it was played, else the only one there is.
    """
    rows, notes = rows_of(table), []
    if not len(rows):
        raise ValueError("there are no rows in these files - run: housemates evaluate RUN")
    splits = rows.distinct("split")
    chosen = split or ("eval" if "eval" in splits else splits[0])
    if chosen not in splits:
        raise ValueError(f"nothing was played on the split '{chosen}' - there is: {', '.join(splits)}")
    if len(splits) > 1:
        notes.append(
            f"Only rows of the split {chosen} are shown; there are also rows of {', '.join(s for s in splits if s != chosen)}."
        )
    rows = rows.only(split=chosen)
    way = "likeliest" if greedy else "sampled"
    if len(rows.distinct("greedy")) > 1:
        notes.append(f"Only rows with {way} actions are shown.")
        rows = rows.only(greedy=greedy)
    elif bool(rows["greedy"][0]) != greedy:
        if greedy:
            raise ValueError("no rows were played with --greedy - run: housemates evaluate RUN --greedy")
        notes.append("All actions were the likeliest ones (--greedy), not sampled ones.")
    for task in rows.distinct("task"):
        found = rows.only(task=task).distinct("environment")
        if len(found) > 1:
            notes.append(f"{task}: rows of {len(found)} environments ({', '.join(found)}) are mixed; they are not comparable.")
    if chosen != "eval":
        notes.append(f"These are episodes of the split {chosen}, not of the evaluation homes.")
    return rows, notes
