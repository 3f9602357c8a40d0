"""Depth pictures: what the head cameras of a batch see, its robots wherever random play has taken them.

Counted is the whole way from state to picture: poses of doors, robots and objects, then drawing, into bytes (inverse depth).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from housemates.homes.replicacad import load_replicacad, replicacad_scenes
from housemates.sim.batch import Batch
from housemates.speed.measure import Job
from housemates.tasks.episodes import generate_episodes, with_approach
from housemates.tasks.goals import ACTIONS

SHUFFLE = 20
"""Decisions that robots take at random before pictures are drawn."""


def head_depth(batch: Batch, what: str, group: str) -> Job:
    """Depth pictures of all robots of a batch."""
    rng = np.random.default_rng(0)
    for _ in range(SHUFFLE):
        batch.step(rng.integers(len(ACTIONS), size=(batch.size, batch.robots)))
    out = batch.observe("depth")
    which = np.ones((batch.size, batch.robots), np.bool_)

    def work() -> int:
        batch.observe("depth", out, which)
        return which.size

    return Job(f"{what} {batch.pixels}x{batch.pixels}", group, "frames/s", work, batch.threads)


def real_batches(folder: Path, sizes: tuple[int, ...], homes: int) -> list[Batch]:
    """Batches in a real ReplicaCAD home, drawn as triangles, one for each picture size."""
    home = load_replicacad(folder, replicacad_scenes(folder)[0])
    episodes = with_approach(generate_episodes("tidy_house", [home], homes, seed=0), [home])
    return [Batch(episodes, [home], homes, pixels=size) for size in sizes]
