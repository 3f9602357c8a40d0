"""Resume points: arrays as safetensors and the rest as JSON, in folders that appear whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from housemates.io import reading, seal, sync, unseal, write_synced, write_whole
from housemates.run_folder import RunFolder
from housemates.training.distributed import Group

LATEST = "LATEST"
"""The file that names the newest resume point."""
NONE = "none"
"""What it says before the first point is whole."""
TIMED = ("seconds", "metrics_bytes")
"""What is kept apart because it depends on the machine's speed; everything else is the same bytes in equal runs."""


def save(folder: Path, update: int, arrays: dict[str, np.ndarray], meta: dict[str, Any], group: Group) -> None:
    """Write a resume point of this worker; rank 0 publishes it when every worker has written its own."""
    name = f"{update:08d}"
    scratch, final = folder / f".{name}", folder / name
    try:
        if group.rank == 0:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
        group.wait()
        content = pack(arrays)
        write_synced(scratch / f"{group.rank}.safetensors", content)
        same = {key: value for key, value in meta.items() if key not in TIMED}
        described = {"arrays": hashlib.sha256(content).hexdigest(), "meta": same}
        timed = {key: value for key, value in meta.items() if key in TIMED}
        for part, values in ((f"{group.rank}.json", described), (f"{group.rank}.time.json", timed)):
            write_synced(scratch / part, json.dumps(seal(part, values)).encode())
        group.wait()
        if group.rank == 0:
            if not (folder / LATEST).exists():
                write_whole(folder / LATEST, NONE.encode())
            shutil.rmtree(final, ignore_errors=True)
            scratch.rename(final)
            sync(folder)
            write_whole(folder / LATEST, name.encode())
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        reason = error.strerror or str(error)
        raise OSError(
            f"cannot write a resume point to {folder}: {reason} - free it and use --resume; the last is kept"
        ) from error
    if group.rank == 0:
        for old in folder.iterdir():
            if old.is_dir() and old.name != name:
                shutil.rmtree(old, ignore_errors=True)
    group.wait()


def load(folder: Path, group: Group) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """This worker's part of the newest resume point, None if there is none."""
    pointer = folder / LATEST
    points = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name.isdigit()) if folder.is_dir() else []
    if not pointer.exists():
        if points:
            remedy = f"write {points[-1]} into that file to continue, or delete {folder} to start again"
            raise ValueError(f"{folder} has resume points but no {LATEST}, which names the newest - {remedy}")
        return None
    name = pointer.read_text(errors="replace").strip()
    if name == NONE:
        return None
    if name not in points:
        there = f"write the name of one into it ({', '.join(points)})" if points else f"delete {folder} to start again"
        raise ValueError(f"{pointer} names the resume point {name!r}, which is not there - {there}")
    point = folder / name
    with reading(point, f"delete {folder} to start again"):
        described, timed = (_part(point / f"{group.rank}.{kind}") for kind in ("json", "time.json"))
        content = (point / f"{group.rank}.safetensors").read_bytes()
        if hashlib.sha256(content).hexdigest() != described["arrays"]:
            raise ValueError(f"{group.rank}.safetensors is not what was written")
        return unpack(content), described["meta"] | timed


def _part(path: Path) -> dict[str, Any]:
    """What one of the JSON files of a resume point holds."""
    try:
        return unseal(path.name, json.loads(path.read_bytes()))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


@contextmanager
def held(folder: Path) -> Generator[None]:
    """Keep other processes from training the run in a folder. The lock ends with the process, however that ends."""
    with RunFolder(folder).lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            who = file.read(100).strip() or "another process"
            raise ValueError(f"{folder} is being trained by {who} - wait until it is done, or stop it first") from error
        except OSError as error:
            warnings.warn(f"{folder} cannot be locked ({error.strerror}): let no other process train it", stacklevel=3)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def append(path: Path, row: dict[str, Any]) -> None:
    """Add one row to a log of JSON lines."""
    try:
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error} - free it and use --resume; nothing is lost") from error


def length(path: Path) -> int:
    """Bytes of a log that are safely on the disk."""
    if not path.exists():
        return 0
    sync(path)
    return path.stat().st_size


def truncate(path: Path, size: int) -> None:
    """Cut a log at what it held when the resume point was written."""
    if path.exists() and path.stat().st_size > size:
        os.truncate(path, size)
