"""Benchmark version 1: the homes and episodes it consists of, by hash, and those that come with the package.

The homes of all splits and the episodes nobody trains on are package data, so that no evaluation depends on the generator;
training episodes are made on first use (`tasks.packaged`). Another hash anywhere is another version of the benchmark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from housemates.homes.home import Home
from housemates.homes.storage import load_homes

VERSION = 1
"""Of the benchmark."""
FOLDER = Path(__file__).parent / "data"
MANIFEST = FOLDER / "manifest.json"


@lru_cache(maxsize=1)
def manifest() -> dict[str, Any]:
    """{"version": 1, "homes": {split: hash}, "episodes": {split: {task: hash}}}."""
    try:
        return json.loads(MANIFEST.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{MANIFEST} cannot be read ({error}) - reinstall housemates") from error


def homes_hash(homes: Sequence[Home]) -> str:
    """A short hash of homes in their order."""
    return hashlib.sha256(json.dumps([home.content_hash for home in homes]).encode()).hexdigest()[:24]


def homes_file(split: str) -> Path:
    """The package's file of a split's homes, whether it is there or not."""
    return FOLDER / f"{split}.npz"


def packaged_homes(split: str) -> list[Home] | None:
    """The homes of a split that come with the package, compared with the manifest; None if it has none."""
    path = homes_file(split)
    if not path.is_file():
        return None
    try:
        homes = load_homes(path)
    except ValueError:
        homes = []
    if homes_hash(homes) != manifest()["homes"].get(split):
        raise ValueError(f"{path} is damaged: its homes are not those of benchmark version {VERSION} - reinstall housemates")
    return homes
