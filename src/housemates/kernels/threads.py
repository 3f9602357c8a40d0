"""Work shared among threads: blocks are taken as threads become free, and the caller's own thread takes its part.

Kernels release Python's lock, so threads run at once; which thread does a block never changes what it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

SMALLEST = 32
"""The last blocks are this part of a thread's even share: the longest that one thread waits for another."""


class Threads:
    """A fixed number of threads that share work; thread 0 is the caller's."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"threads is {count} - choose 1 or more")
        self.count = count
        self._pool = ThreadPoolExecutor(count - 1) if count > 1 else None

    def share(self, size: int, work: Callable[[int, int, int], None]) -> None:
        """Call work(thread, low, high) for blocks that cover 0..size; returns when all is done."""
        if self._pool is None or size < 2:
            work(0, 0, size)
            return
        # Taking the next item of a list's iterator is one step under Python's lock: no block is taken twice.
        blocks = iter(list(pairwise(edges(size, self.count))))

        def take(thread: int) -> None:
            for low, high in blocks:
                work(thread, low, high)

        others = [self._pool.submit(take, thread) for thread in range(1, self.count)]
        try:
            take(0)
        finally:
            for job in others:
                job.result()


def edges(size: int, threads: int) -> list[int]:
    """Where blocks that cover 0..size begin and end: large ones first, so that there are few, then smaller and smaller ones.

    With equal blocks a thread that is a little slower leaves the other waiting for a whole one.
    """
    ends, smallest = [0], max(1, size // (SMALLEST * threads))
    while ends[-1] < size:
        left = size - ends[-1]
        ends.append(ends[-1] + min(left, max(smallest, left // (2 * threads))))
    return ends
