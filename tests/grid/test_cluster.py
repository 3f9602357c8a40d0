"""The same cells on a Ray cluster: order, a process that is killed, a machine that is lost, a pause."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import housemates
from conftest import missing
from helpers.chores import made
from housemates.cli.main import main
from housemates.grid.cluster import play

TESTS = Path(__file__).parents[1]
TOO_BUSY = "timed out during startup"
"""Ray gives the helpers of a machine 15 seconds to start, whatever else it has to do (ray-project/ray#65983)."""


def on_ray(what: str, folder: Path) -> dict:
    """How chores end on a cluster."""
    if importlib.util.find_spec("ray") is None:
        missing("ray is not installed: pip install 'housemates[cluster]'")
    found = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-m", "helpers.ray_chores", what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=found)
    if TOO_BUSY in done.stderr:
        missing("this machine is too busy for Ray to start")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_cells_run_in_order_on_ray_and_a_killed_process_is_started_again(tmp_path):
    ended = on_ray("order", tmp_path)
    assert ended["words"] == {"evaluation/bad": "ended with code 3: no luck"}
    assert ended["status"] == {"evaluation/first": "done", "evaluation/second": "done", "evaluation/bad": "failed"}
    assert ended["tries"] == {"first": 1, "second": 2, "bad": 1}
    assert not list(tmp_path.glob(".pause-*"))


@pytest.mark.slow
def test_the_cell_of_a_lost_machine_goes_on_elsewhere(tmp_path):
    ended = on_ray("lost", tmp_path)
    assert set(ended["status"].values()) == {"done"}
    assert ended["tries"] == {"first": 1, "long": 2, "last": 1}


@pytest.mark.slow
def test_a_pause_reaches_the_machines_of_the_cluster(tmp_path):
    ended = on_ray("pause", tmp_path)
    assert ended["status"] == {"evaluation/a": "paused", "evaluation/b": "paused"}
    assert ended["tries"] == {"a": 1, "b": 0}


def test_another_version_on_a_machine_of_the_cluster_is_refused(tmp_path):
    work = made(tmp_path, {"a": "true"})
    outcome, words = play(work, work.cells[0], str(tmp_path / ".pause"), "0.0.0")
    assert outcome == "failed"
    assert "install the same everywhere" in words


def test_a_folder_that_is_not_shared_is_named(tmp_path):
    work = made(tmp_path / "there", {"a": "true"})
    (tmp_path / "there").rmdir()
    outcome, words = play(work, work.cells[0], str(tmp_path / ".pause"), housemates.__version__)
    assert outcome == "failed"
    assert "must share it" in words


def test_a_cluster_that_does_not_answer_is_named(tmp_path, capsys, monkeypatch):
    if importlib.util.find_spec("ray") is None:
        missing("ray is not installed: pip install 'housemates[cluster]'")
    import ray

    def refuse(**options):
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(ray, "init", refuse)
    assert main(["benchmark", "--out", str(tmp_path / "grid"), "--grid", "smoke", "--cluster", "auto"]) == 2
    assert "no Ray cluster at --cluster auto" in capsys.readouterr().err
