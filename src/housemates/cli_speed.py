"""`housemates speed`: how fast the kernels are on this machine, one core each."""

from __future__ import annotations

import time
from collections.abc import Callable


def speed(seconds: float = 2.0) -> None:
    """Measure the kernels on one core of this machine, in one generated home.

    Args:
        seconds: How long to measure each (after it has been compiled).
    """
    import numpy as np

    from housemates.homes.generate import generate_home
    from housemates.kernels.distance import distance_at, distance_field

    if seconds <= 0:
        raise ValueError(f"--seconds must be positive, not {seconds}")
    print("CPU time of one core, home train/00")
    report("homes generated", lambda: generate_home("train", 0), seconds)
    floor = generate_home("train", 0).floor
    start, goal = (tuple(float(v) for v in floor.cells[i]) for i in (0, -1))
    field = np.empty(floor.main.shape, np.float32)
    report("distance fields", lambda: distance_field(floor.main, *goal, floor.cell, field), seconds)
    report("distances read from a field", lambda: distance_at(floor.main, field, *start, *goal, floor.cell), seconds)


def report(what: str, work: Callable[[], object], seconds: float) -> None:
    """Call `work` for about so many seconds of CPU time and print how often per second it was done."""
    work()
    count, started, spent = 0, time.process_time(), 0.0
    while spent < seconds:
        work()
        count += 1
        spent = time.process_time() - started
    print(f"{what:<28} {count / spent:>12,.0f} /s   {spent / count * 1e6:>12,.1f} us each")
