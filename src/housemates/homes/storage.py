"""Homes as files: one `.npz` of arrays with a JSON header, no pickle; written to a temporary file, then renamed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from housemates.checksums import reading
from housemates.homes.floor import Floor
from housemates.homes.home import Home, Joint, Meshes, Parts, Receptacle, Room
from housemates.kernels.files import read_arrays, write_whole


def save_homes(path: Path, homes: Iterable[Home], compressed: bool = False) -> None:
    """Write several homes into one file; compressed ones are a tenth as large and slower to write."""
    arrays, headers, hashes = {}, [], []
    for index, home in enumerate(homes):
        headers.append(home.header())
        arrays |= {f"{index}/{name}": array for name, array in home.arrays().items()}
        hashes.append(home.content_hash)
    arrays["header"] = np.frombuffer(json.dumps(headers).encode(), np.uint8)
    arrays["hashes"] = np.array(hashes)
    write = np.savez_compressed if compressed else np.savez
    write_whole(path, lambda file: write(file, **arrays))


def load_homes(path: Path) -> list[Home]:
    """Read the homes of one file, in the order they were written; each must have the hash it had then."""
    with reading(path, "delete it; it is made again on the next use"):
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
