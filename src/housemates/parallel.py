"""Threads that share the homes of a batch, where compiled kernels are kept, and a notice when they must be compiled first.

Compiled kernels are kept in the cache folder, so that a read-only install works and a second process starts at once.
Every package with kernels imports this module first.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from housemates.io import cache_folder

KERNEL_PACKAGES = ("geometry", "homes", "robots", "tasks", "renderer", "sim", "policies", "lookahead", "fused")
"""Packages whose kernels use constants and functions of each other."""


def kernel_sources() -> str:
    """A short hash of every file that a compiled kernel may depend on.

    numba notices a change in a kernel's own file only, not in the kernels it calls nor in the constants it takes from other
    files; a folder per hash makes up for that.
    """
    digest, package = hashlib.sha256(), Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if path.relative_to(package).parts[0] in KERNEL_PACKAGES or b"@njit" in text:
            digest.update(path.name.encode() + text)
    return digest.hexdigest()[:12]


if "NUMBA_CACHE_DIR" not in os.environ:
    # Set on the module, not in the environment: numba reads the environment once, when it is first imported.
    numba.config.CACHE_DIR = str(cache_folder() / "numba" / kernel_sources())


def on_disk(kernel: Any) -> bool:
    """Whether a compiled form of a numba kernel is in this process or in the cache on disk, for its present source."""
    if getattr(kernel, "signatures", None):
        return True
    try:
        # Numba has no public way to ask; the index is empty when the source has changed since.
        return bool(kernel._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return False


SAID: set[str] = set()
"""Kernels whose compilation was announced in this process: they are compiled when they are first used, which may be later."""


def announce(name: str, kernels: Iterable[Any], seconds: float) -> bool:
    """Say on stderr, in one line and once a process, that kernels will be compiled now and how long it takes; silent if they
    are compiled.

    `seconds` is a rough figure for one core. Returns whether it said anything.
    """
    if name in SAID or all(on_disk(kernel) for kernel in kernels):
        return False
    SAID.add(name)
    print(f"Compiling {name} kernels, once (about {seconds:.0f} s)...", file=sys.stderr, flush=True)
    return True


FINE, COARSE = 64, 8
"""The last blocks are this part of a thread's share, the longest that one thread waits for another: of kernels that take their
blocks themselves, and of Python, where a block costs some microseconds."""
LINE = 16
"""Numbers of a share's row, so that no two threads write to the same cache lines."""


class Threads:
    """A fixed number of threads that share work; thread 0 is the caller's."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"threads is {count} - choose 1 or more")
        self.count = count
        self._helpers = [Helper() for _ in range(count - 1)]
        for helper in self._helpers:
            weakref.finalize(self, helper.stop)

    def run(self, size: int, work: Callable[[int, np.ndarray], None], finest: int = FINE) -> None:
        """Call work(thread, shares) once on every thread; they `take` blocks of 0..size until none is left."""
        shares = even(size, self.count, finest)
        if self.count == 1 or size < 2:
            work(0, shares)
            return
        for thread, helper in enumerate(self._helpers, 1):
            helper.begin(partial(work, thread, shares))
        try:
            work(0, shares)
        finally:
            for error in [helper.end() for helper in self._helpers]:
                if error is not None:
                    raise error

    def share(self, size: int, work: Callable[[int, int, int], None]) -> None:
        """Call work(thread, low, high) for blocks that cover 0..size; returns when all is done."""

        def blocks(thread: int, shares: np.ndarray) -> None:
            low, high = take(shares, thread)
            while low < high:
                work(thread, low, high)
                low, high = take(shares, thread)

        self.run(size, blocks, COARSE if self.count > 1 else 1)


def even(size: int, count: int, finest: int = 1) -> np.ndarray:
    """Shares [count, LINE] int64 of the work 0..size: the first piece left, the end, the smallest block."""
    shares = np.zeros((count, LINE), np.int64)
    for row in range(count):
        low, high = size * row // count, size * (row + 1) // count
        shares[row, :3] = low, high, max(1, (high - low) // finest)
    return shares


@intrinsic
def _swap(typing, array, row, old, new):
    """array[row, 0] of an int64 array becomes `new` if it is `old`, in one step that no thread comes between; what it was."""

    def build(context, builder, signature, args):
        shares = context.make_array(signature.args[0])(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, signature.args[0], shares, [args[1], ir.Constant(ir.IntType(64), 0)])
        return builder.extract_value(builder.cmpxchg(place, args[2], args[3], "acq_rel", "acquire"), 0)

    return types.int64(array, types.int64, types.int64, types.int64), build


@njit(cache=True, nogil=True, _nrt=False)
def take(shares, thread):
    """The next block (low, high) for a thread, of its own share first, then of the others'; low = high: nothing is left.

    Large blocks first, so that there are few, then smaller and smaller ones: with equal blocks a thread that is a little slower
    leaves the other waiting for a whole one.
    """
    count = shares.shape[0]
    for k in range(count):
        row = (thread + k) % count
        low, end = shares[row, 0], shares[row, 1]
        while low < end:
            high = min(end, low + max(shares[row, 2], (end - low) // 2))
            found = _swap(shares, row, low, high)
            if found == low:
                return low, high
            low = found
    return np.int64(0), np.int64(0)


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
