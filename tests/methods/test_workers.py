"""Several workers from the command line: the same bits each time, also when one of them is killed, also under torchrun."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from housemates.policies.checkpoint import WEIGHTS

pytestmark = pytest.mark.slow

RUN = ("train", "--preset", "smoke", "--decisions", "8000", "--change", "save_every=2", "--quiet")
ALONE = ("RANK", "WORLD_SIZE", "MASTER_ADDR")


def start(*command: str) -> subprocess.Popen:
    environment = {k: v for k, v in os.environ.items() if k not in ALONE} | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", *command], env=environment)


def policies(folder: Path) -> list[bytes]:
    return [(folder / "stage1" / "members" / name / WEIGHTS).read_bytes() for name in ("00", "01")]


def last_row(folder: Path) -> dict[str, float]:
    """The last row of the log without what depends on the clock."""
    row = json.loads((folder / "stage1" / "metrics.jsonl").read_text().splitlines()[-1])
    clock = ("seconds", "charts/decisions_per_second", "charts/SPS")
    return {name: value for name, value in row.items() if name not in clock and not name.startswith("time/")}


def workers_of(folder: Path) -> list[int]:
    """Process ids of the workers that train in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if str(folder).encode() in words and b"torch.distributed.run" not in words and b"--resume" in words:
            found.append(int(entry.name))
    return sorted(found)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("two") / "run"
    assert start("housemates", *RUN, "--workers", "2", "--out", str(folder)).wait() == 0
    return folder


def test_a_killed_worker_ends_in_a_clean_restart_with_the_same_result(uninterrupted, tmp_path):
    folder = tmp_path / "run"
    process = start("housemates", *RUN, "--workers", "2", "--out", str(folder))
    while not (folder / "stage1" / "resume" / "LATEST").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(workers_of(folder)[-1], signal.SIGKILL)
    assert process.wait() == 0
    assert policies(folder) == policies(uninterrupted)
    assert last_row(folder) == last_row(uninterrupted)


def test_torchrun_starts_the_same_run(uninterrupted, tmp_path):
    folder = tmp_path / "run"
    group = ("torch.distributed.run", "--standalone", "--nproc-per-node=2")
    assert start(*group, "-m", "housemates", *RUN, "--out", str(folder)).wait() == 0
    assert policies(folder) == policies(uninterrupted)


def test_an_interrupt_pauses_the_workers_without_noise(tmp_path):
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "housemates", *RUN, "--decisions", "10000000", "--workers", "2", "--out", str(folder)]
    environment = {k: v for k, v in os.environ.items() if k not in ALONE} | {"OMP_NUM_THREADS": "1"}
    at_terminal = {"start_new_session": True, "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(words, env=environment, **pipes, **at_terminal)
    while not (folder / "stage1" / "metrics.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 0
    assert f"paused - continue with: housemates train --resume {folder}" in out
    assert "Traceback" not in err
    assert (folder / "stage1" / "resume" / "LATEST").exists()
