"""Workers that train as one: what they exchange, and that the same workers give the same bits."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from housemates.policies.checkpoint import WEIGHTS
from housemates.training.distributed import Group, under_torchrun

HERE = Path(__file__).resolve().parent


def run_two(folder: Path) -> list[str]:
    """Two workers on this machine; returns what each has said."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    shared["PYTHONPATH"] = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE.parent)])
    command = [sys.executable, str(HERE / "workers.py"), str(folder)]
    workers = [subprocess.Popen(command, env=shared | {"RANK": str(rank)}) for rank in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    return [(folder / f"said{rank}").read_text() for rank in range(2)]


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("two") / "run"
    return folder, run_two(folder)


def test_rows_of_all_workers_are_gathered_by_rank(two):
    assert all(said.startswith("[0.0, 10.0, 11.0] (0, 2)") for said in two[1])


def test_gradients_are_averaged_by_decisions_even_if_a_worker_has_none(two):
    assert all(said.split(") ")[1].startswith("4.0 ") for said in two[1])


def test_workers_have_the_same_weights_and_count_the_same_decisions(two):
    assert two[1][0] == two[1][1]


@pytest.mark.parametrize("member", ["00", "01"])
def test_the_same_two_workers_give_the_same_bits(two, member):
    first, again = (two[0] / name / "members" / member / WEIGHTS for name in ("first", "again"))
    assert first.read_bytes() == again.read_bytes()


def test_alone_a_worker_exchanges_nothing():
    group = Group()
    layer = torch.nn.Linear(1, 1)
    group.average_gradients(layer.parameters(), 1.0)
    assert layer.weight.grad is None
    assert group.gather(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert group.sum(3.0) == 3.0


def test_without_torchruns_variables_there_is_no_group(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    assert not under_torchrun()
