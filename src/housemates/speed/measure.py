"""A stopwatch: how many things a second, by the processor's time and by the clock on the wall, best of several turns.

Machines are shared. Rates per core count CPU time, which a busy neighbour hardly changes; the best turn is the one that was
disturbed least. What is compared (one thread and two, we and others) takes turns, so that both meet the same neighbours. For
one thread and two even that is not enough, since two cores are left alone less often than one: of each turn and the next the
ratio is taken, and of those the median.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

SHORTEST = 0.05
"""A turn lasts at least this long, seconds: shorter ones measure the clock."""
TURNS = 5


@dataclass(frozen=True)
class Figure:
    """One measured rate."""

    name: str
    """What was counted: `depth 64x64`."""
    group: str
    """Where it belongs: `depth`, `meshes`, `steps`, `peers`, `other`."""
    unit: str
    """`frames/s`, `steps/s`, ..."""
    per_core: float
    """A second of CPU time, summed over all threads."""
    wall: float
    """A second on the wall clock."""
    threads: int = 1

    def as_dict(self) -> dict:
        """The figure as JSON-ready values."""
        return asdict(self)


@dataclass(frozen=True)
class Job:
    """Something to be measured: `work` does it once and returns how many things it did."""

    name: str
    group: str
    unit: str
    work: Callable[[], int]
    threads: int = 1


def measure(jobs: Sequence[Job], seconds: float) -> list[Figure]:
    """Measure jobs for about so many seconds each; they take turns. The first call of each may compile and does not count."""
    return [figure(job, rates) for job, rates in zip(jobs, take_turns(jobs, seconds, TURNS), strict=True)]


def take_turns(jobs: Sequence[Job], seconds: float, turns: int) -> np.ndarray:
    """Rates [jobs, turns, 2] by CPU time and by the clock of jobs that take turns, about so many seconds each."""
    for job in jobs:
        job.work()
    rates = [[_turn(job.work, max(seconds / turns, SHORTEST)) for job in jobs] for _ in range(turns)]
    return np.array(rates).swapaxes(0, 1)


def figure(job: Job, rates: np.ndarray) -> Figure:
    """The figure of a job: its best turn of rates [turns, 2]."""
    return Figure(job.name, job.group, job.unit, *rates.max(axis=0).tolist(), job.threads)


def _turn(work: Callable[[], int], seconds: float) -> tuple[float, float]:
    """Things per second of CPU time and of wall time over one turn."""
    done, cpu, wall = 0, time.process_time(), time.perf_counter()
    while True:
        done += work()
        spent = time.perf_counter() - wall
        if spent >= seconds:
            return done / max(time.process_time() - cpu, 1e-9), done / spent


def machine() -> dict:
    """What the figures were measured on: processor, cores, load, versions, commit."""
    import numba
    import numpy

    from housemates import __version__

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": processor(),
        "cores": cores,
        "load": [round(v, 2) for v in os.getloadavg()],
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "housemates": __version__,
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d"),
    }


def processor_time() -> tuple[float, float]:
    """Ticks of all cores since the system began, idle ones too, and those that the host of a virtual machine took away."""
    told = Path("/proc/stat")
    if not told.is_file():
        return 0.0, 0.0
    ticks = [float(word) for word in told.read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks), ticks[7] if len(ticks) > 7 else 0.0


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package."""


def commit(folder: Path = PACKAGE) -> str:
    """The commit of the source in a folder, with a + where any of its files differ from it; empty outside a repository."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
