"""The episodes of benchmark version 1: those that come with the package, and the hashes of all others.

`python -m housemates.tasks.benchmark` makes every home and every episode again and says where they differ from the manifest;
with `--write` it writes the package's files, which is how a new version of the benchmark is made.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from housemates.homes.files import FOLDER, MANIFEST, VERSION, homes_file, homes_hash, manifest, save_homes
from housemates.io import write_whole
from housemates.tasks.files import Episodes
from housemates.tasks.tasks import PAPER_TASKS


def episodes_hash(episodes: Episodes) -> str:
    """A short hash of a set of episodes: task, homes and every bit of its arrays."""
    digest = hashlib.sha256(json.dumps([episodes.task, list(episodes.hashes)]).encode())
    for name, array in episodes.arrays().items():
        digest.update(f"{name} {array.shape} {array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]


def expected_hash(task: str, split: str) -> str | None:
    """The hash of a split's episodes (without clutter) in the manifest; None for tasks and splits it does not know."""
    return manifest()["episodes"].get(split, {}).get(task)


def episodes_file(task: str, split: str) -> Path:
    """The package's file of a set of episodes, whether it is there or not."""
    return FOLDER / f"{task}-{split}.npz"


def save_packaged(episodes: Episodes) -> None:
    """Write a set of episodes as package data."""
    header = {"seed": episodes.seed, "homes": episodes.homes, "hashes": episodes.hashes}
    arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8), **episodes.arrays()}
    write_whole(episodes_file(episodes.task, episodes.split), lambda file: np.savez_compressed(file, **arrays))


def packaged_episodes(task: str, split: str) -> Episodes | None:
    """The episodes of a split that come with the package, compared with the manifest; None if it has none."""
    path = episodes_file(task, split)
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as data:
            header = json.loads(bytes(data["header"]))
            arrays = {name: data[name] for name in data.files if name != "header"}
        homes, hashes = tuple(header["homes"]), tuple(header["hashes"])
        episodes = Episodes(task=task, split=split, seed=header["seed"], homes=homes, hashes=hashes, **arrays)
        whole = episodes_hash(episodes) == expected_hash(task, split)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        whole = False
    if not whole:
        raise ValueError(f"{path} is damaged: it is not of benchmark version {VERSION} - reinstall housemates")
    return episodes


def main(write: bool) -> int:
    """Make the whole benchmark again; returns how many of its hashes differ from the manifest's (all are written if asked)."""
    from housemates.homes.generate import SPLITS
    from housemates.homes.splits import make_split
    from housemates.tasks.episodes import SHIPPED, make_episodes

    found: dict[str, dict] = {"homes": {}, "episodes": {}}
    for split in SPLITS:
        homes = make_split(split)
        found["homes"][split], found["episodes"][split] = homes_hash(homes), {}
        if write:
            save_homes(homes_file(split), homes, compressed=True)
        for task in (one.name for one in PAPER_TASKS):
            episodes = make_episodes(task, split, homes)
            found["episodes"][split][task] = episodes_hash(episodes)
            if write and split in SHIPPED:
                save_packaged(episodes)
            print(f"{split} {task}: {found['homes'][split]} {found['episodes'][split][task]}", flush=True)
    if write:
        text = json.dumps({"version": VERSION, **found}, indent=1) + "\n"
        write_whole(MANIFEST, lambda file: file.write(text.encode()))
        return 0
    known = manifest()
    differ = [s for s in SPLITS if found["homes"][s] != known["homes"].get(s)]
    differ += [f"{t.name} {s}" for s in SPLITS for t in PAPER_TASKS if found["episodes"][s][t.name] != expected_hash(t.name, s)]
    print(f"benchmark version {known['version']}: {', '.join(differ) or 'nothing'} differs")
    return len(differ)


if __name__ == "__main__":
    sys.exit(min(1, main("--write" in sys.argv[1:])))
