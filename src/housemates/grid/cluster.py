"""The same cells as tasks of a Ray cluster, in a folder that all its machines share. Needs the extra `cluster`."""

from __future__ import annotations

import logging
import secrets
import time
from pathlib import Path
from typing import Any

import housemates
from housemates.grid.cells import Cell, Ended, Work
from housemates.grid.run import begin

RETRIES = 3
"""How often Ray starts a task again that was lost with its worker or machine."""
LOOK = 0.5
"""Seconds between two looks of a worker at its process."""
PATIENCE = 600.0
"""Seconds that a restarted task waits for the process of a lost one to leave its resume point."""


class Cluster:
    """Workers of a Ray cluster."""

    def __init__(self, work: Work, address: str, jobs: int | None = None, gpus: float = 0.0) -> None:
        """address: auto, HOST:PORT or ray://HOST:PORT. jobs: tasks at a time, as many as fit if None. gpus: of each cell."""
        import ray
        from ray import exceptions

        self.work, self.jobs, self.gpus = work, jobs, gpus
        self.pauses = work.root / f".pause-{secrets.token_hex(4)}"
        self.running: dict[Any, Cell] = {}
        try:
            if not ray.is_initialized():
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"no Ray cluster at --cluster {address} ({_line(error)}) - start one with: ray start --head"
            ) from error
        self.ray, self.errors = ray, exceptions
        self.play = ray.remote(play)

    def cores(self) -> int:
        """Cores of all its machines."""
        return int(self.ray.cluster_resources().get("CPU", 1))

    def room(self, cell: Cell) -> bool:
        """Ray keeps a queue of its own; --jobs bounds it."""
        return self.jobs is None or len(self.running) < self.jobs

    def start(self, cell: Cell) -> None:
        """Hand a cell to the cluster."""
        options = {"num_cpus": cell.cores, "num_gpus": self.gpus, "max_retries": RETRIES, "name": cell.name}
        asked = self.play.options(**options)
        self.running[asked.remote(self.work, cell, str(self.pauses), housemates.__version__)] = cell

    def finished(self) -> list[Ended]:
        """Cells that have ended since the last call."""
        if not self.running:
            return []
        ready, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=0)
        found = []
        for task in ready:
            cell = self.running.pop(task)
            try:
                found.append(Ended(cell, *self.ray.get(task)))
            except self.errors.TaskCancelledError:
                found.append(Ended(cell, "paused"))
            except self.errors.RayError as error:
                found.append(Ended(cell, "failed", _line(error)))
        return found

    def pause(self) -> None:
        """Tell all workers to let their processes pause; what has not begun is taken back by them."""
        self.pauses.touch()

    def stop(self) -> None:
        """End everything now."""
        for task in self.running:
            self.ray.cancel(task, force=True)

    def close(self) -> None:
        """Leave the cluster."""
        self.pauses.unlink(missing_ok=True)
        self.ray.shutdown()


def play(work: Work, cell: Cell, pauses: str, version: str) -> tuple[str, str]:
    """One cell in a Ray worker: outcome and words of `Ended`."""
    import platform

    here = platform.node()
    if housemates.__version__ != version:
        return "failed", f"{here} has housemates {housemates.__version__}, not {version} - install the same everywhere"
    if not work.root.is_dir():
        return "failed", f"{here} does not see {work.root} - all machines of the cluster must share it"
    until = time.monotonic() + PATIENCE
    while True:
        if Path(pauses).exists():
            return "paused", ""
        job = begin(work, cell)
        if not isinstance(job, Ended):
            break
        if job.outcome != "busy" or time.monotonic() > until:
            return job.outcome, job.words
        time.sleep(LOOK)
    while (ended := job.ended()) is None:
        if Path(pauses).exists():
            job.pause()
        time.sleep(LOOK)
    return ended.outcome, ended.words


def _line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
