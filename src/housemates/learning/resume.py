"""Resume points: arrays as safetensors and the rest as JSON, in folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from housemates.learning.distributed import Group

LATEST = "LATEST"


def save(folder: Path, update: int, arrays: dict[str, np.ndarray], meta: dict[str, Any], group: Group) -> None:
    """Write a resume point of this worker; rank 0 publishes it when every worker has written its own."""
    name = f"{update:08d}"
    scratch, final = folder / f".{name}", folder / name
    try:
        if group.rank == 0:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
        group.wait()
        content, text = pack(arrays), json.dumps(meta)
        write(scratch / f"{group.rank}.safetensors", content)
        digests = {"arrays": hashlib.sha256(content).hexdigest(), "meta": hashlib.sha256(text.encode()).hexdigest()}
        write(scratch / f"{group.rank}.json", json.dumps({"sha256": digests, "meta": meta}).encode())
        group.wait()
        if group.rank == 0:
            shutil.rmtree(final, ignore_errors=True)
            scratch.rename(final)
            sync(folder)
            replace(folder / LATEST, name.encode())
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
    if not pointer.exists():
        return None
    point = folder / pointer.read_text().strip()
    try:
        described = json.loads((point / f"{group.rank}.json").read_text())
        content = (point / f"{group.rank}.safetensors").read_bytes()
        if hashlib.sha256(content).hexdigest() != described["sha256"]["arrays"]:
            raise ValueError(f"{group.rank}.safetensors is not what was written")
        if hashlib.sha256(json.dumps(described["meta"]).encode()).hexdigest() != described["sha256"]["meta"]:
            raise ValueError(f"{group.rank}.json was edited")
        return unpack(content), described["meta"]
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the resume point {point} is damaged ({error}) - delete {folder} to start again") from error


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


def replace(path: Path, content: bytes) -> None:
    """Write a file so that it holds either the old content or the new, whatever happens."""
    scratch = path.with_name(f".{path.name}.new")
    try:
        write(scratch, content)
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
    sync(path.parent)


def write(path: Path, content: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Wait until the disk has a file or the entries of a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
