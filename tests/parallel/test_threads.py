"""Work shared among threads: every piece is done exactly once, and a failure is told."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numba import njit

from housemates.parallel import FINE, Threads, even, take


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


def taken(size: int, count: int, thread: int, finest: int) -> list[tuple[int, int]]:
    """All blocks, when one thread takes them."""
    shares, blocks = even(size, count, finest), []
    while (block := take(shares, thread)) != (0, 0):
        blocks.append(block)
    return blocks


@pytest.mark.parametrize("size", [1, 2, 31, 512, 4096])
def test_blocks_shrink_to_a_small_part_of_a_threads_share(size: int):
    blocks = np.array(taken(size, 1, 0, FINE))
    assert (blocks[1:, 0] == blocks[:-1, 1]).all()
    assert (blocks[0, 0], blocks[-1, 1]) == (0, size)
    sizes = np.diff(blocks, axis=1)[:, 0]
    assert (np.diff(sizes) <= 0).all()
    assert sizes[-1] <= max(1, size // FINE)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, 5, 100])
def test_one_thread_alone_takes_everything_its_own_share_first(count: int, size: int):
    thread = count - 1
    blocks = taken(size, count, thread, FINE)
    assert sorted(piece for low, high in blocks for piece in range(low, high)) == list(range(size))
    if size >= count:
        assert blocks[0][0] == size * thread // count


def test_few_blocks_cover_many_pieces():
    assert len(taken(50_000, 1, 0, FINE)) < 20


@njit(nogil=True)
def count_up(shares, thread, done):
    """Add one to each piece, without Python's lock."""
    low, high = take(shares, thread)
    while low < high:
        for piece in range(low, high):
            done[piece] += 1
        low, high = take(shares, thread)


def test_no_block_is_taken_twice_by_threads_that_run_at_once():
    threads, done = Threads(4), np.zeros(10_007, np.int64)
    for _ in range(200):
        threads.run(len(done), lambda thread, shares: count_up(shares, thread, done))
    assert (done == 200).all()


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
