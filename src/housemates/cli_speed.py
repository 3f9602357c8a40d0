"""`housemates speed`: how fast the kernels are on this machine, one core each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from housemates.homes.home import Home

CAMERAS = 64
"""Pictures drawn by one call."""


def speed(seconds: float = 2.0) -> None:
    """Measure the kernels on one core of this machine, in one generated home.

    Args:
        seconds: How long to measure each (after it has been compiled).
    """
    from housemates.homes.generate import generate_home

    if seconds <= 0:
        raise ValueError(f"--seconds must be positive, not {seconds}")
    home = generate_home("train", 0)
    print(f"CPU time of one core; home train/00, {len(home.parts)} solids, {len(home.floor.cells)} floor cells")
    report("homes generated", lambda: generate_home("train", 0), seconds)
    _paths(home, seconds)
    for size in (64, 128, 256):
        _pictures(home, size, seconds)


def _paths(home: Home, seconds: float) -> None:
    from housemates.homes.navigation import navigation
    from housemates.kernels.distance import distance_field
    from housemates.kernels.paths import corner_path_length

    floor, way = home.floor, navigation(home)
    row, col = (float(v) for v in floor.cells[-1])
    field = np.empty(floor.main.shape, np.float32)
    report("distance fields", lambda: distance_field(floor.main, row, col, floor.cell, field), seconds)
    towards = np.ascontiguousarray(way.corner[0])
    starts = np.random.default_rng(0).integers(len(floor.cells), size=100)

    def queries() -> None:
        for start in starts:
            corner_path_length(floor.cells, towards, start, floor.cell)

    report("path lengths", queries, seconds, each=len(starts))


def _pictures(home: Home, size: int, seconds: float) -> None:
    from housemates.homes.fetch import CAMERA_FOV, camera_to_world
    from housemates.sim.pictures import Renderer
    from housemates.sim.scene import home_templates, nothing_placed

    rng = np.random.default_rng(0)
    cells = home.floor.cells[rng.integers(len(home.floor.cells), size=CAMERAS)]
    points = np.asarray(home.floor.origin) + cells[:, ::-1] * home.floor.cell
    camera = camera_to_world(np.column_stack([points, rng.uniform(0, 2 * np.pi, CAMERAS)]))
    bodies = home_templates(home)
    placed = nothing_placed(1, len(bodies) - 1)
    placed.home[0], placed.template[0] = 0, np.arange(1, len(bodies))
    renderer, out = Renderer(bodies, size, CAMERA_FOV), np.empty((CAMERAS, size, size), np.float32)
    env = np.zeros(CAMERAS, np.int64)
    report(f"depth pictures {size} x {size}", lambda: renderer.depth(placed, env, camera, out), seconds, each=CAMERAS)


def report(what: str, work: Callable[[], object], seconds: float, each: int = 1) -> None:
    """Call `work`, which does `each` things, for about so many seconds of CPU time; print how many of them per second."""
    work()
    count, started, spent = 0, time.process_time(), 0.0
    while spent < seconds:
        work()
        count += each
        spent = time.process_time() - started
    print(f"{what:<26} {count / spent:>12,.0f} /s   {spent / count * 1e6:>12,.1f} us each", flush=True)
