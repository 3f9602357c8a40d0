"""The episode sets of the benchmark: 10,000 to train on and 100 each to tune on, evaluate on and keep for a release.

The small ones come with the package. Training sets are made on first use, compared with the benchmark's manifest, kept in
the cache folder and loaded memory-mapped.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from housemates.homes.files import VERSION, homes_hash, manifest
from housemates.homes.home import Home
from housemates.homes.sources import load_split, source_of
from housemates.io import cache_folder, file_word
from housemates.tasks.benchmark import episodes_hash, expected_hash, packaged_episodes
from housemates.tasks.files import FORMAT, Episode, Episodes, read_episodes, save_episodes
from housemates.tasks.generate import Progress, add_approach, generate_episodes
from housemates.tasks.tasks import get_task, task_key

__all__ = [
    "SIZES",
    "Episode",
    "Episodes",
    "episode_count",
    "generate_episodes",
    "load_episodes",
    "read_episodes",
    "save_episodes",
    "with_approach",
]

SIZES = {"train": 10_000, "dev": 100, "eval": 100, "test": 100, "varied": 10_000, "kitchens": 100}
"""Episodes per task and split (paper, appendix A: 10,000 to train, 100 to evaluate)."""
TRAINING = ("train", "varied")
"""Splits to train in: robots start somewhere else each time."""
SHIPPED = tuple(split for split in SIZES if split not in TRAINING)
"""Splits whose episodes come with the package."""
SEEDS = {"train": 0, "dev": 1, "eval": 2, "test": 3, "varied": 4, "kitchens": 5}
SOURCES = (
    "tasks/*.py",
    *(f"homes/{name}.py" for name in ("floor", "home", "navigation", "objects", "solids")),
    *(f"geometry/{name}.py" for name in ("distance", "exact", "paths", "sight")),
)
"""Code that decides what is in an episode; when it changes, cached sets are made again."""


def load_episodes(
    task: str, split: str, *, homes: Sequence[Home] | None = None, clutter: int = 0, progress: Progress | None = None
) -> Episodes:
    """The episodes of a task in a split, with approach cells, and in splits that are not trained on with the robots' starts.

    homes: the split's homes, if they are loaded already. progress(done, count) is called while episodes are made.
    """
    task = get_task(task).name
    if split not in SIZES:
        source_of(split)
    if homes is None:
        homes = load_split(split)
    if clutter == 0 and (packaged := packaged_episodes(task, split)) is not None and _same_homes(packaged, homes):
        return packaged
    folder = cache_folder() / "episodes" / f"{task}-{file_word(split)}-{_digest(task, split, homes, clutter)}"
    found = _cached(folder, task, split, homes)
    if found is not None:
        return found
    made = make_episodes(task, split, homes, clutter, progress)
    expected = expected_hash(task, split) if clutter == 0 and homes_hash(homes) == manifest()["homes"].get(split) else None
    if expected is not None and episodes_hash(made) != expected:
        print(
            f"housemates: the {task} episodes of '{split}' made here are not those of benchmark version {VERSION} - "
            "please report it with this machine's processor; results from here cannot be compared bit for bit",
            file=sys.stderr,
        )
    # Another process may have made them meanwhile; a folder that is whole is left alone, since it may be in use.
    if (found := _cached(folder, task, split, homes)) is not None:
        return found
    save_episodes(folder, made)
    # Not read back: another process may be replacing the folder.
    return made


def _cached(folder: Path, task: str, split: str, homes: Sequence[Home]) -> Episodes | None:
    """The episodes in a folder of the cache; None if it is absent or damaged."""
    try:
        found = read_episodes(folder, homes)
        if (found.task, found.split) == (task, split):
            return found
        raise ValueError(f"{folder} is damaged (it holds {found.task} {found.split})")
    except FileNotFoundError:
        return None
    except ValueError as error:
        warnings.warn(f"{str(error).partition(' - ')[0]} - these episodes are made again", stacklevel=3)
        return None


def make_episodes(task: str, split: str, homes: Sequence[Home], clutter: int = 0, progress: Progress | None = None) -> Episodes:
    """The episodes of a task in a split, made now."""
    count, seed = _size(split)
    made = generate_episodes(
        task, homes, count, seed, split=split, clutter=clutter, spawns=not for_training(split), progress=progress
    )
    return with_approach(made, homes)


def episode_count(split: str) -> int:
    """How many episodes of each task there are in the homes of that name."""
    return _size(split)[0]


def episode_seed(split: str) -> int:
    """The seed with which the episodes in the homes of that name are drawn."""
    return _size(split)[1]


def for_training(split: str) -> bool:
    """Whether homes are for training: their episodes store no starts of robots."""
    return split in TRAINING if split in SIZES else source_of(split)[0].trains


def _size(split: str) -> tuple[int, int]:
    """How many episodes of each task there are in some homes, and the seed they are drawn with."""
    source = source_of(split)[0]
    return (SIZES[split], SEEDS[split]) if split in SIZES else (source.episodes, source.seed)


def _same_homes(episodes: Episodes, homes: Sequence[Home]) -> bool:
    """Whether episodes were made for these homes."""
    return episodes.hashes == tuple(home.content_hash for home in homes)


def with_approach(episodes: Episodes, homes: Sequence[Home]) -> Episodes:
    """The episodes with the approach cells of their homes' navigation, which is computed where it is missing."""
    from housemates.homes.navigation import prepare

    used = np.unique(episodes.home)
    prepare([homes[i] for i in used])
    return add_approach(episodes, homes, approach_cells)


def approach_cells(home: Home, points: np.ndarray) -> np.ndarray:
    """Approach cells [K, 4] of a home for world points [K, 3], padded with -1."""
    from housemates.homes.navigation import approach_for_points, navigation

    return approach_for_points(home, navigation(home), points)


def _digest(task: str, split: str, homes: Sequence[Home], clutter: int) -> str:
    """A name for everything a cached set depends on."""
    key = [FORMAT, task_key(task), split, *_size(split), clutter, [h.content_hash for h in homes]]
    digest = hashlib.sha256(json.dumps(key).encode())
    root = Path(__file__).parents[1]
    for pattern in SOURCES:
        for path in sorted(root.glob(pattern)):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
