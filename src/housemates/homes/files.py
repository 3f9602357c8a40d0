"""Homes as files, and the homes of benchmark version 1.

A file is one `.npz` of arrays with a JSON header, no pickle. The homes of all splits and episodes that are not trained on are
package data, so no evaluation depends on the generator. The manifest has the hash of every split's homes and of every task's
episodes; another hash is another version of the benchmark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from housemates.homes.floor import Floor
from housemates.homes.home import Home, Joint, Meshes, Parts, Receptacle, Room
from housemates.io import read_arrays, reading, write_whole


def save_homes(path: Path | str, homes: Iterable[Home], compressed: bool = False) -> None:
    """Write several homes into one file; compressed ones are a tenth as large and slower to write."""
    path = Path(path)
    arrays, headers, hashes = {}, [], []
    for index, home in enumerate(homes):
        headers.append(home.header())
        arrays |= {f"{index}/{name}": array for name, array in home.arrays().items()}
        hashes.append(home.content_hash)
    arrays["header"] = np.frombuffer(json.dumps(headers).encode(), np.uint8)
    arrays["hashes"] = np.array(hashes)
    write = np.savez_compressed if compressed else np.savez
    write_whole(path, lambda file: write(file, **arrays))


def load_homes(path: Path, remedy: str = "delete it; it is made again on the next use") -> list[Home]:
    """Read the homes of one file, in the order they were written; each must have the hash it had then.

    remedy: what to do about a damaged file.
    """
    with reading(path, remedy):
        arrays = read_arrays(path)
        headers, hashes = json.loads(arrays.pop("header").tobytes()), arrays.pop("hashes", None)
        homes = [_home(header, arrays, index) for index, header in enumerate(headers)]
        # The package's own homes are compared with the manifest.
        if hashes is not None and [home.content_hash for home in homes] != hashes.tolist():
            raise ValueError("its homes are not those that were written")
        return homes


def _home(header: dict, arrays: dict[str, np.ndarray], index: int) -> Home:
    def group(name: str) -> dict[str, np.ndarray]:
        prefix = f"{index}/{name}."
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    floor, grid = header["floor"], group("floor")
    meshes = group("meshes")
    return Home(
        name=header["name"],
        parts=Parts(**group("parts")),
        labels=tuple(header["labels"]),
        joints=tuple(Joint(**_tuples(j)) for j in header["joints"]),
        receptacles=tuple(Receptacle(**_tuples(r)) for r in header["receptacles"]),
        floor=Floor(tuple(floor["origin"]), grid["free"], grid["walkable"], floor["area"], floor["cell"]),
        rooms=tuple(Room(**_tuples(r)) for r in header["rooms"]),
        meshes=Meshes(**meshes) if meshes else None,
        notes=tuple(header["notes"]),
    )


def _tuples(values: dict) -> dict:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


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
