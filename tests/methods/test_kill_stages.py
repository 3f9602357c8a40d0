"""kill -9 in either stage: a resumed run ends with the agent of one that was left alone."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from two_stages import train

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert train(folder)
    return results(folder)


def results(folder: Path) -> dict[str, bytes]:
    """All weights that a run leaves, with its lists of partners."""
    kept = [p for name in ("policy.safetensors", "population.json", "partners.json") for p in folder.rglob(name)]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in kept}


def start(folder: Path) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": f"{HERE.parents[1] / 'src'}{os.pathsep}{HERE.parent}", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, str(HERE / "two_stages.py"), str(folder)], env=environment)


def kill_in(stage: str, folder: Path, delay: float) -> None:
    """Kill the run some time after it has written a row of a stage."""
    process, log = start(folder), folder / stage / "metrics.jsonl"
    while process.poll() is None and not (log.exists() and log.stat().st_size):
        time.sleep(0.002)
    time.sleep(delay)
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_run_killed_in_its_second_stage_ends_with_the_same_agent(uninterrupted, tmp_path):
    folder = tmp_path / "run"
    kill_in("stage2", folder, 0.05)
    assert train(folder)
    assert results(folder) == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_run_killed_in_both_stages_ends_with_the_same_agent(seed, uninterrupted, tmp_path):
    rng, folder = random.Random(seed), tmp_path / "run"
    for stage in ("stage1", "stage1", "stage2", "stage2"):
        kill_in(stage, folder, rng.uniform(0.0, 0.3))
    assert train(folder)
    assert results(folder) == uninterrupted
