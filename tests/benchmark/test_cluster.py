"""The same cells on Ray: one machine, and a cluster of two of which one is lost in the middle."""

import os
import signal
from contextlib import contextmanager

import pytest

from chores import HANG, made
from conftest import missing
from housemates.benchmark.cluster import Cluster, play
from housemates.benchmark.run import run
from housemates.cli import main

QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}


PATIENT = {"RAY_worker_register_timeout_seconds": "300", "RAY_agent_register_timeout_ms": "300000"}
"""Ray's processes may take their time where others are busy."""


@pytest.fixture(scope="module")
def ray():
    try:
        import ray
    except ModuleNotFoundError:
        missing("ray is not installed: pip install 'housemates[cluster]'")
    before = dict(os.environ)
    os.environ.update(PATIENT)
    yield ray
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def machines(ray):
    """A cluster on this machine with a head that works at nothing."""
    from ray.cluster_utils import Cluster as Machines

    with patience():
        found = Machines(initialize_head=True, head_node_args={"num_cpus": 0})
    yield found
    ray.shutdown()
    found.shutdown()


def machine(machines, ray, cpus: int):
    """One more machine; the first also opens the door to the cluster."""
    with patience():
        node = machines.add_node(num_cpus=cpus)
        if not ray.is_initialized():
            ray.init(address=machines.address, **QUIET)
    return node


@contextmanager
def patience():
    """Ray gives a machine's helpers 15 seconds to start, whatever else it has to do (ray-project/ray#65983)."""
    try:
        yield
    except Exception as error:
        if "timed out during startup" not in str(error):
            raise
        missing("this machine is too busy for Ray to start")


class Watched(Cluster):
    """A cluster to which something happens once a file is there."""

    def __init__(self, work, path, happens) -> None:
        super().__init__(work, "auto")
        self.path, self.happens = path, happens

    def finished(self):
        if self.happens is not None and self.path.exists() and self.path.read_text().strip():
            happens, self.happens = self.happens, None
            happens(int(self.path.read_text()))
        return super().finished()


def test_cells_run_in_order_on_ray_and_a_killed_process_is_started_again(ray, machines, tmp_path):
    machine(machines, ray, 2)
    second = 'test -e "$(dirname "$0")/first" || exit 1; test -s "$0.go" || { echo 1 > "$0.go"; kill -9 $$; }'
    work = made(tmp_path, {"first": "true", "second": second, "bad": "echo no luck; exit 3"}, second=("first",))
    hands = Cluster(work, "auto")
    progress = run(work, hands)
    hands.close()
    assert progress.status == {"evaluation/first": "done", "evaluation/second": "done", "evaluation/bad": "failed"}
    assert progress.words["evaluation/bad"] == "ended with code 3: no luck"
    assert [work.tries(name) for name in ("first", "second", "bad")] == [1, 2, 1]
    assert not list(tmp_path.glob(".pause-*"))


def test_another_version_on_a_machine_of_the_cluster_is_refused(tmp_path):
    work = made(tmp_path, {"a": "true"})
    outcome, words = play(work, work.cells[0], str(tmp_path / ".pause"), "0.0.0")
    assert outcome == "failed"
    assert "install the same everywhere" in words


def test_a_folder_that_is_not_shared_is_named(tmp_path):
    import housemates

    work = made(tmp_path / "there", {"a": "true"})
    (tmp_path / "there").rmdir()
    outcome, words = play(work, work.cells[0], str(tmp_path / ".pause"), housemates.__version__)
    assert outcome == "failed"
    assert "must share it" in words


def test_a_cluster_that_does_not_answer_is_named(ray, tmp_path, capsys, monkeypatch):
    def refuse(**options):
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(ray, "init", refuse)
    place = tmp_path / "grid"
    assert main(["benchmark", "--out", str(place), "--grid", "smoke", "--cluster", "auto"]) == 2
    assert "no Ray cluster at --cluster auto" in capsys.readouterr().err


@pytest.mark.slow
def test_cells_of_a_lost_machine_go_on_elsewhere_and_a_pause_reaches_all(ray, machines, tmp_path):
    first = machine(machines, ray, 1)
    work = made(tmp_path, {"first": "true", "long": HANG, "last": "true"}, long=("first",), last=("long",))

    def lose(pid: int) -> None:
        machines.remove_node(first, allow_graceful=False)
        (tmp_path / "long.go").touch()
        machine(machines, ray, 1)

    assert run(work, Watched(work, tmp_path / "long.pid", lose)).complete
    assert [work.tries(name) for name in ("first", "long", "last")] == [1, 2, 1]

    paused = made(tmp_path / "paused", {"a": HANG, "b": "true"}, b=("a",))
    hands = Watched(paused, tmp_path / "paused" / "a.pid", lambda pid: os.kill(os.getpid(), signal.SIGINT))
    assert run(paused, hands).status == {"evaluation/a": "paused", "evaluation/b": "paused"}
    hands.close()
