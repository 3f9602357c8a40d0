"""How many threads torch uses for a while."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Generator[None]:
    """One thread of torch: small calls are slower if threads wait for each other, and how sums are shared would decide their
    last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
