"""kill -9 at random instants: a run that is resumed ends with the weights of one that was left alone."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.learners import trainer
from housemates.policies.checkpoint import WEIGHTS

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module", params=["torch", "fused"])
def learner(request) -> str:
    """Both paths of learning."""
    return request.param


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, learner) -> list[bytes]:
    folder = tmp_path_factory.mktemp("whole")
    trainer(folder, learner=learner).run()
    return policies(folder)


def policies(folder: Path) -> list[bytes]:
    return [(folder / "members" / name / WEIGHTS).read_bytes() for name in ("00", "01")]


def start(folder: Path, learner: str) -> subprocess.Popen:
    """The run of `learners.trainer` in a process of its own, from its last resume point."""
    environment = os.environ | {"PYTHONPATH": f"{TESTS.parent / 'src'}{os.pathsep}{TESTS}", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, str(TESTS / "helpers" / "learners.py"), str(folder), learner], env=environment)


def kill_at_random(folder: Path, learner: str, rng: random.Random) -> bool:
    """Kill the run some time after it has written its next row; returns False if it was faster."""
    log = folder / "metrics.jsonl"
    before = log.stat().st_mtime_ns if log.exists() else 0
    process = start(folder, learner)
    while process.poll() is None and (not log.exists() or log.stat().st_mtime_ns == before):
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.3))
    alive = process.poll() is None
    if alive:
        process.send_signal(signal.SIGKILL)
    process.wait()
    return alive


def killed_and_resumed(folder: Path, learner: str, kills: int, seed: int) -> list[bytes]:
    rng = random.Random(seed)
    for _ in range(kills):
        if not kill_at_random(folder, learner, rng):
            break
    assert start(folder, learner).wait() == 0
    return policies(folder)


def test_a_run_killed_at_two_instants_ends_with_the_same_weights(uninterrupted, learner, tmp_path):
    assert killed_and_resumed(tmp_path / "run", learner, 2, seed=0) == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_run_killed_at_any_instant_ends_with_the_same_weights(seed, uninterrupted, learner, tmp_path):
    assert killed_and_resumed(tmp_path / "run", learner, 1, seed) == uninterrupted
