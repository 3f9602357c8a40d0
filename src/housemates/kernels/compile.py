"""Telling people why the first run waits: kernels are compiled once, then read from the cache on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def on_disk(kernel: Any) -> bool:
    """Whether a compiled form of a numba kernel is in this process or in the cache on disk, for its present source."""
    if getattr(kernel, "signatures", None):
        return True
    try:
        # Numba has no public way to ask; the index is empty when the source has changed since.
        return bool(kernel._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return False


def announce(name: str, kernels: Iterable[Any], seconds: float) -> bool:
    """Say on stderr, in one line, that kernels will be compiled now and how long it takes; silent if they are compiled.

    `seconds` is a rough figure for one core. Returns whether it said anything.
    """
    if all(on_disk(kernel) for kernel in kernels):
        return False
    print(f"Compiling {name} kernels, once (about {seconds:.0f} s)...", file=sys.stderr, flush=True)
    return True
