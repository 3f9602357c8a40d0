"""Work shared among threads: every piece is done exactly once, and a failure is told."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from housemates.kernels.threads import Threads, edges


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, 5, 64, 1000])
def test_every_piece_is_done_exactly_once(count: int, size: int):
    done = np.zeros(size, np.int64)

    def work(thread: int, low: int, high: int) -> None:
        done[low:high] += 1

    Threads(count).share(size, work)
    assert (done == 1).all()


def test_a_thread_number_is_used_by_one_thread_only():
    seen: dict[int, set[int]] = {}

    def work(thread: int, low: int, high: int) -> None:
        seen.setdefault(thread, set()).add(threading.get_ident())

    Threads(3).share(300, work)
    assert all(len(identities) == 1 for identities in seen.values())
    assert seen.get(0, {threading.get_ident()}) == {threading.get_ident()}


def test_an_error_in_any_block_reaches_the_caller():
    def work(thread: int, low: int, high: int) -> None:
        if low <= 77 < high:
            raise ValueError("block of 77")

    with pytest.raises(ValueError, match="block of 77"):
        Threads(2).share(100, work)


@pytest.mark.parametrize("low", [0, 100])
@pytest.mark.parametrize("size", [1, 2, 31, 512, 4096])
def test_blocks_shrink_to_a_small_part_of_a_threads_share(size: int, low: int):
    sizes = np.diff(edges(low, low + size, 8))
    assert sizes.sum() == size
    assert (np.diff(sizes) <= 0).all()
    assert sizes[-1] <= max(1, size // 8)


def test_few_blocks_cover_many_pieces():
    assert len(edges(0, 50_000, 32)) < 20


def test_a_thread_begins_with_its_own_share_and_helps_with_the_other():
    """Thread 0 is held up in its first block until thread 1 has done all the rest."""
    blocks, begun, rest = {0: [], 1: []}, threading.Event(), threading.Event()

    def work(thread: int, low: int, high: int) -> None:
        blocks[thread].append((low, high))
        if thread == 0:
            begun.set()
            assert rest.wait(10)
            return
        assert begun.wait(10)
        if sum(high - low for low, high in blocks[1]) == 75:
            rest.set()

    Threads(2).share(100, work)
    assert blocks[0] == [(0, 25)]
    assert blocks[1][0][0] == 50


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="choose 1 or more"):
        Threads(0)
