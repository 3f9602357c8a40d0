"""The real smoke grid from the command line, killed in the middle: the rerun does what is missing and nothing twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from housemates.agents.agent import population, read_partners
from housemates.evaluation.rows import read_rows
from housemates.grid.folder import read

SMALL = ("--grid", "smoke", "--methods", "sp", "fcp")


def start(folder: Path, *more: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "housemates", "benchmark", "--out", str(folder), "--jobs", "2", "--no-films", *more]
    return subprocess.Popen(command, start_new_session=True)


def started(folder: Path) -> dict[str, int]:
    """How often each cell was started."""
    logs = sorted((folder / "logs").rglob("*.log"))
    return {
        f"{log.parent.name}/{log.stem}": sum(line.startswith("$ ") for line in log.read_text().splitlines()) for log in logs
    }


def wait_for(what, seconds: float = 600.0):
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.05)
    return found


def process_of(run: str) -> int | None:
    """The process that trains a run, found by its command line."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if (
            b"train" in words
            and b"housemates.grid.die_with_parent" not in words
            and any(w.endswith(run.encode()) for w in words)
        ):
            return int(place.name)
    return None


@pytest.mark.slow
def test_a_grid_whose_runner_and_worker_are_killed_does_only_what_is_missing(tmp_path):
    sp, fcp = "sp-tidy_house-smoke-0", "fcp-tidy_house-smoke-0"
    runner = start(tmp_path, *SMALL)
    wait_for(lambda: (tmp_path / "runs" / sp / "stage1" / "population.json").exists())
    worker = wait_for(lambda: process_of(f"runs/{sp}"))
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: (tmp_path / "runs" / fcp / "config.json").exists())
    runner.kill()
    runner.wait()
    before = started(tmp_path)
    done = {cell.name for cell in read(tmp_path).cells(tmp_path).cells if read(tmp_path).cells(tmp_path).done(cell)}
    assert f"population/{sp}" in done
    again = start(tmp_path)
    assert again.wait(timeout=1800) == 0
    after = started(tmp_path)
    assert {name: after[name] for name in done if name in before} == {name: before[name] for name in done if name in before}
    grid = read(tmp_path).cells(tmp_path)
    assert all(map(grid.done, grid.cells))
    shared = population(tmp_path / "runs" / fcp)
    assert [p.name.partition("/")[2] for p in shared] == ["0", "1", "0-start", "1-start", "0-middle", "1-middle"]
    assert read_partners(tmp_path / "runs" / fcp / "stage2" / "partners.json", tmp_path / "runs" / fcp) == shared
    for run, games in ((sp, 2 + 3 * 5 + 1), (fcp, 6 + 3 * 5 + 1)):
        assert read_rows(tmp_path / "runs" / run / "evaluation" / "episodes-dev.parquet").num_rows == 2 * games
    assert (tmp_path / "report" / "index.html").is_file()
    last = start(tmp_path)
    assert last.wait(timeout=900) == 0
    assert started(tmp_path) == after
