"""Workers that train one discriminator: the same weights and numbers everywhere, each with samples of its own."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> list[str]:
    """What each of two workers has written."""
    folder = tmp_path_factory.mktemp("two")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "discriminators.py"), str(folder)]
    workers = [subprocess.Popen(command, env=shared | {"RANK": str(rank)}) for rank in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    return [(folder / f"said{rank}").read_text() for rank in range(2)]


def test_all_workers_have_the_same_discriminator_and_log_the_same(said):
    assert said[0] == said[1]


def test_the_workers_share_the_buffer_of_samples(said):
    assert [text.split()[-1] for text in said] == ["50", "50"]
