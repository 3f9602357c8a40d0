"""Work shared among threads: each has its own even share, always the same, and helps the others when it is done.

A thread that begins with the same homes every time finds them in its own cache. The caller's thread takes its part.

Kernels release Python's lock, so threads run at once; which thread does a block never changes what it computes.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise


class Threads:
    """A fixed number of threads that share work; thread 0 is the caller's."""

    def __init__(self, count: int, finest: int = 8) -> None:
        """finest: the last blocks are this part of a thread's share, the longest that one thread waits for another. A block
        costs some microseconds, so heavy work may be cut finer."""
        if count < 1:
            raise ValueError(f"threads is {count} - choose 1 or more")
        self.count, self.finest = count, finest
        self._helpers = [Helper() for _ in range(count - 1)]
        for helper in self._helpers:
            weakref.finalize(self, helper.stop)

    def share(self, size: int, work: Callable[[int, int, int], None]) -> None:
        """Call work(thread, low, high) for blocks that cover 0..size; returns when all is done."""
        if self.count == 1 or size < 2:
            work(0, 0, size)
            return
        # Taking an item from either end of a deque is one step under Python's lock: no block is taken twice.
        ends = [size * k // self.count for k in range(self.count + 1)]
        shares = [deque(pairwise(edges(low, high, self.finest))) for low, high in pairwise(ends)]

        def take(thread: int) -> None:
            for block in emptied(shares[thread].popleft):
                work(thread, *block)
            for other in shares[thread + 1 :] + shares[:thread]:
                for block in emptied(other.pop):
                    work(thread, *block)

        for thread, helper in enumerate(self._helpers, 1):
            helper.begin(partial(take, thread))
        try:
            take(0)
        finally:
            for error in [helper.end() for helper in self._helpers]:
                if error is not None:
                    raise error


class Helper(threading.Thread):
    """A thread that does what it is given, one thing at a time. Two bare locks hand over: a pool's futures take much longer."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._job: Callable[[], None] | None = None
        self._error: BaseException | None = None
        self._given, self._done = threading.Lock(), threading.Lock()
        self._given.acquire()
        self._done.acquire()
        self.start()

    def run(self) -> None:
        """Until it is stopped: wait for something to do, do it, say so."""
        while self._given.acquire() and self._job is not None:
            try:
                self._job()
            except BaseException as error:
                self._error = error
            self._job = None
            self._done.release()

    def begin(self, job: Callable[[], None]) -> None:
        """Give it something to do; `end` must follow."""
        self._job = job
        self._given.release()

    def end(self) -> BaseException | None:
        """Wait until it is done; returns the error that ended it, if one did."""
        self._done.acquire()
        error, self._error = self._error, None
        return error

    def stop(self) -> None:
        """Nothing more will come."""
        self._given.release()


def emptied(take: Callable[[], tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What `take` gives until nothing is left."""
    while True:
        try:
            block = take()
        except IndexError:
            return
        yield block


def edges(low: int, high: int, finest: int) -> list[int]:
    """Where blocks that cover low..high begin and end: large ones first, so that there are few, then smaller and smaller ones.

    With equal blocks a thread that is a little slower leaves the other waiting for a whole one.
    """
    ends, smallest = [low], max(1, (high - low) // finest)
    while ends[-1] < high:
        left = high - ends[-1]
        ends.append(ends[-1] + min(left, max(smallest, left // 2)))
    return ends
