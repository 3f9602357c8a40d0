"""Finished runs from elsewhere become runs of a grid, if they are what the grid would have trained."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from housemates.config import to_json
from housemates.evaluation.holdouts import read_mark
from housemates.grid.cells import Cell
from housemates.grid.plan import Grid
from housemates.io import whole_folder
from housemates.run_folder import ONLY_FOR_TRAINING, RunFolder, is_run, runs_below
from housemates.runs.run import Run, read
from housemates.runs.train import new_run

ELSEWHERE = ("stages", "workers", "threads", "device", "versions", "population")
"""What two runs of one recipe may differ in."""
EVALUATIONS = "evaluation*"
"""Not taken over: the grid evaluates with its own partners and split."""


def adopt(grid: Grid, folders: Iterable[Path]) -> tuple[list[str], list[str]]:
    """Copy finished runs below folders into a grid; returns what was taken, and why a run of its name was not.

    Runs that the grid has already stay as they are. Evaluations are made again.
    """
    wanted = {(c.kind == "holdout", c.method, c.task, c.seed): c for c in grid.cells if c.kind in ("holdout", "population")}
    taken, refused = [], []
    for folder in folders:
        if not folder.is_dir():
            raise FileNotFoundError(f"no folder {folder} to adopt runs from - give one with finished runs")
        for place in runs_below(folder):
            run = read(place)
            held_out = RunFolder(place).mark.is_file()
            cell = wanted.get((held_out, run.method, run.task, run.training.seed))
            if cell is None or is_run(grid.folder(cell)):
                continue
            if why := _unlike(grid, cell, run) or _unfinished(cell, place):
                refused.append(f"{place}: {why}")
                continue
            _copy(place, grid.folder(cell))
            taken.append(f"{cell.run} from {place}")
    return taken, refused


def recipe(grid: Grid, cell: Cell) -> Run:
    """The run that a cell would begin."""
    words = grid.training_options(cell)
    at = words.index("--change") + 1 if "--change" in words else len(words)
    unit, many = cell.budget if cell.trains else _budget_of(grid, cell)
    asked = {"method": cell.method, "task": cell.task, "seed": cell.seed, unit: many, "observations": cell.observations}
    if grid.settings.train_split is not None and cell.kind != "holdout":
        asked["split"] = grid.settings.train_split
    preset = grid.holdout_preset if cell.kind == "holdout" else grid.settings.preset
    return new_run(asked | {"preset": preset}, words[at:], "cpu")


def _budget_of(grid: Grid, cell: Cell) -> tuple[str, int]:
    """The budget of a run whose population is another's."""
    agent = next(other for other in grid.cells if other.kind == "agent" and other.run == cell.run)
    return agent.budget


def _unlike(grid: Grid, cell: Cell, run: Run) -> str:
    """The first setting in which a run is not what the cell wants, in words; nothing if it is."""
    theirs, ours = (_flat(to_json(replace(one, stages=(1,)))) for one in (run, recipe(grid, cell)))
    for name in sorted(theirs.keys() | ours.keys()):
        if name.partition(".")[0] not in ELSEWHERE and theirs.get(name) != ours.get(name):
            return f"{name} is {theirs.get(name)}, the grid has {ours.get(name)}"
    return ""


def _flat(values: object, before: str = "") -> dict[str, object]:
    if not isinstance(values, dict):
        return {before: values}
    return {
        name: v for key, value in values.items() for name, v in _flat(value, f"{before}.{key}" if before else str(key)).items()
    }


def _unfinished(cell: Cell, place: Path) -> str:
    if not RunFolder(place).complete(1):
        return "its first stage is not trained to its end"
    if cell.kind == "holdout" and not read_mark(place).get("members"):
        return "its members were not measured - run: housemates holdouts train"
    return ""


def _copy(source: Path, folder: Path) -> None:
    """A run with what is needed to use it; a second stage that is under way keeps its resume points."""
    complete = RunFolder(source).complete(2)
    left_out = shutil.ignore_patterns(*(ONLY_FOR_TRAINING[:1] if complete else ()), EVALUATIONS, ".lock", ".*.tmp")
    with whole_folder(folder) as scratch:
        shutil.copytree(source, scratch, dirs_exist_ok=True, ignore=left_out)
