"""Means through shared memory: the same bits for everybody, in a fixed order, and no waiting for the dead."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from torch import distributed

from housemates.training import distributed as shared
from housemates.training.distributed import SharedMeans, WorkerLostError, possible

pytestmark = pytest.mark.skipif(not shared.FOLDER.is_dir(), reason="this system has no folder in memory (/dev/shm)")


def together(size, work):
    """Call work(rank, store) in as many threads; what they returned, by rank."""
    store, found, errors = distributed.HashStore(), [None] * size, []

    def run(rank):
        try:
            found[rank] = work(rank, store)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not errors, errors
    return found


def numbers(rank, turn):
    return torch.from_numpy(np.random.default_rng([rank, turn]).normal(size=50 + turn).astype(np.float32))


WEIGHTS = (1.0, 0.0, 4.0)


def test_everybody_gets_the_same_mean_by_the_weights_of_the_workers():
    def work(rank, store):
        means, found = SharedMeans(100, rank, 3, store, "a"), []
        for turn in range(40):
            flat = numbers(rank, turn)
            means.average(flat, WEIGHTS[rank])
            found.append(flat)
        return found

    found = together(3, work)
    for turn in range(40):
        expected = sum(weight * numbers(rank, turn) for rank, weight in enumerate(WEIGHTS)) / sum(WEIGHTS)
        assert all(torch.equal(mine[turn], found[0][turn]) for mine in found)
        torch.testing.assert_close(found[0][turn], expected)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("many", [2, 100])
def test_means_are_those_of_additions_in_rank_order_whoever_adds(size, many, monkeypatch):
    monkeypatch.setattr(shared, "MANY", many)

    def work(rank, store):
        means, found = SharedMeans(100, rank, size, store, "a"), []
        for turn in range(10):
            flat = numbers(rank, turn)
            means.average(flat, 2.0 + rank)
            found.append(flat)
        return found

    found = together(size, work)
    for turn in range(10):
        expected = 2.0 * numbers(0, turn)
        for rank in range(1, size):
            expected += (2.0 + rank) * numbers(rank, turn)
        expected /= sum(2.0 + rank for rank in range(size))
        assert all(torch.equal(mine[turn], expected) for mine in found)


def test_means_are_zero_where_nobody_has_a_weight():
    def work(rank, store):
        flat = numbers(rank, 0)
        SharedMeans(100, rank, 2, store, "a").average(flat, 0.0)
        return flat

    assert all(not flat.any() for flat in together(2, work))


def test_no_file_stays_behind():
    before = set(shared.FOLDER.glob("housemates-*"))
    together(2, lambda rank, store: SharedMeans(10, rank, 2, store, "a").turn)
    assert set(shared.FOLDER.glob("housemates-*")) <= before


def test_a_dead_worker_is_told(monkeypatch):
    monkeypatch.setattr(shared, "PATIENCE", 0.01)
    alone, _ = together(2, lambda rank, store: SharedMeans(10, rank, 2, store, "a"))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    alone._counters[1, 1] = gone.pid
    with pytest.raises(WorkerLostError, match="worker 1 has died"):
        alone.average(torch.zeros(9), 1.0)


@pytest.mark.parametrize(("local", "size", "expected"), [("2", 2, True), ("2", 4, False), (None, 2, False), ("1", 1, False)])
def test_memory_is_shared_only_on_one_machine(local, size, expected, monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    if local is not None:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", local)
    assert possible(size) == expected
