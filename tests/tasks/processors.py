"""Makes a sample of homes and episodes of every split and prints their hashes as JSON; run in processes of other settings."""

import hashlib
import json
import sys

import numpy as np

from housemates.homes.generate import SPLITS, generate_home
from housemates.homes.navigation import Navigation, approach_cells, approach_for_points
from housemates.homes.splits import load_split
from housemates.tasks.benchmark import episodes_hash
from housemates.tasks.episodes import SEEDS, TRAINING
from housemates.tasks.generate import add_approach, generate_episodes
from housemates.tasks.tasks import TASKS

EPISODES = 12
"""Episodes made of each task and split, each in another home."""


def approach(home, points: np.ndarray) -> np.ndarray:
    """Approach cells as `tasks.episodes` finds them, without the paths that take minutes."""
    cells, start = approach_cells(home)
    return approach_for_points(home, Navigation(cells, np.empty((0, 0), np.uint16), start), points)


def as_numpy_has_it() -> str:
    """A hash of the products that headers of homes were made with before: `@` of rotations and points."""
    rng = np.random.default_rng(0)
    yaw, points = rng.uniform(-4, 4, 500), rng.normal(size=(500, 3))
    found = []
    for a, p in zip(yaw, points, strict=True):
        c, s = np.cos(a), np.sin(a)
        found.append(np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) @ p)
    return hashlib.sha256(np.array(found).tobytes()).hexdigest()


def sample() -> dict[str, str]:
    """Hashes by name."""
    found = {"numpy": as_numpy_has_it()}
    for split in SPLITS:
        found[f"{split} home"] = generate_home(split, 0).content_hash
        header = json.dumps(generate_home(split, 0).header(), sort_keys=True)
        found[f"{split} header"] = hashlib.sha256(header.encode()).hexdigest()
        homes = load_split(split)
        for task in TASKS:
            made = generate_episodes(task, homes, EPISODES, SEEDS[split], split=split, spawns=split not in TRAINING)
            found[f"{split} {task}"] = episodes_hash(add_approach(made, homes, approach))
    return found


if __name__ == "__main__":
    json.dump(sample(), sys.stdout)
