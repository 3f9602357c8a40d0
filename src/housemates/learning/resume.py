"""Resume points: arrays as safetensors and the rest as JSON, in folders that appear whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from housemates.learning.distributed import Group

LATEST = "LATEST"


def save(folder: Path, update: int, arrays: dict[str, np.ndarray], meta: dict[str, Any], group: Group) -> None:
    """Write a resume point of this worker; rank 0 publishes it when every worker has written its own."""
    name = f"{update:08d}"
    scratch, final = folder / f".{name}", folder / name
    if group.rank == 0:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
    group.wait()
    save_file(arrays, scratch / f"{group.rank}.safetensors")
    (scratch / f"{group.rank}.json").write_text(json.dumps(meta))
    for file in (scratch / f"{group.rank}.safetensors", scratch / f"{group.rank}.json"):
        _sync(file)
    group.wait()
    if group.rank == 0:
        shutil.rmtree(final, ignore_errors=True)
        scratch.rename(final)
        _sync(folder)
        pointer = folder / f".{LATEST}"
        pointer.write_text(name)
        _sync(pointer)
        pointer.replace(folder / LATEST)
        _sync(folder)
        for old in folder.iterdir():
            if old.is_dir() and old.name != name:
                shutil.rmtree(old, ignore_errors=True)
    group.wait()


def load(folder: Path, group: Group) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """This worker's part of the newest resume point, None if there is none."""
    pointer = folder / LATEST
    if not pointer.exists():
        return None
    point = folder / pointer.read_text().strip()
    try:
        meta = json.loads((point / f"{group.rank}.json").read_text())
        return load_file(point / f"{group.rank}.safetensors"), meta
    except (OSError, SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"the resume point {point} is damaged ({error}) - delete {folder} to start again") from error


def append(path: Path, row: dict[str, Any]) -> None:
    """Add one row to a log of JSON lines."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def truncate(path: Path, size: int) -> None:
    """Cut a log at what it held when the resume point was written."""
    if path.exists():
        os.truncate(path, size)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
