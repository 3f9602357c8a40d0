"""Sums over the workers of one machine through shared memory, without a socket between them.

Everybody writes its numbers into a row of its own, waits until all rows are there, and adds them up in the order of the
workers, so that all get the same bits. Two tables take turns: nobody writes into one that somebody may still read.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import torch
from torch import distributed

LINE = 8
"""Counters lie this many apart, so that each has a cache line of its own."""
HASTE = 0.002
"""Seconds a waiting worker keeps asking before it begins to sleep between questions."""
NAP = 0.0001
"""Seconds it sleeps then."""
PATIENCE = 1.0
"""Seconds after which it looks whether the others are still alive, again and again."""
FOLDER = Path("/dev/shm")


class WorkerLostError(RuntimeError):
    """Another worker of the group has died."""


def possible(size: int) -> bool:
    """Whether all workers of this group run on this machine, and it has a folder in memory."""
    return size > 1 and os.environ.get("LOCAL_WORLD_SIZE") == str(size) and FOLDER.is_dir() and os.access(FOLDER, os.W_OK)


class SharedSums:
    """Sums of float32 tensors of at most `capacity` numbers. All workers must make it, and call it, in the same order."""

    def __init__(self, capacity: int, rank: int, size: int, store: distributed.Store, name: str) -> None:
        """store: where the workers find each other; name: of this object in it, never used before."""
        self.rank, self.size, self.capacity, self.turn = rank, size, capacity, 0
        head = (size + 1) * LINE * 8
        if rank == 0:
            handle, path = tempfile.mkstemp(dir=FOLDER, prefix="housemates-")
            os.ftruncate(handle, head + 2 * size * capacity * 4)
            os.close(handle)
            store.set(f"{name}/path", path)
        path = store.get(f"{name}/path").decode()
        self._counters = np.memmap(path, np.int64, "r+", 0, ((size + 1), LINE))
        self._rows = torch.from_numpy(np.memmap(path, np.float32, "r+", head, (2, size, capacity)))
        self._fence = threading.Lock()
        self._counters[rank, 1] = os.getpid()
        self._arrive()
        if rank == 0:
            # Whoever has the file open keeps it; from here on nothing stays behind, however the run ends.
            Path(path).unlink()

    def sum(self, flat: torch.Tensor) -> None:
        """Replace numbers [n] by their sums over all workers."""
        rows = self._rows[self.turn % 2, :, : flat.numel()]
        rows[self.rank].copy_(flat)
        self._arrive()
        flat.copy_(rows[0])
        for other in range(1, self.size):
            flat += rows[other]

    def _arrive(self) -> None:
        """Tell the others that this worker has written, and wait until all have."""
        self.turn += 1
        with self._fence:  # what was written before is seen before the counter is
            self._counters[self.rank, 0] = self.turn
        began = time.perf_counter()
        asked = began + PATIENCE
        while (self._counters[: self.size, 0] < self.turn).any():
            now = time.perf_counter()
            if now - began > HASTE:
                time.sleep(NAP)
            if now > asked:
                asked = now + PATIENCE
                self._check()
        with self._fence:
            pass

    def _check(self) -> None:
        for other in range(self.size):
            pid = int(self._counters[other, 1])
            if pid and not _alive(pid) and self._counters[other, 0] < self.turn:
                raise WorkerLostError(f"worker {other} has died")


def _alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
