"""The runner, with cells that are small programs: order, pauses, failures, and death of everybody involved."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import chores
from helpers.chores import HANG, chore, made
from housemates.grid.cells import last_lines, log_of
from housemates.grid.run import RETRIES, Local, begin, run


def wait_for(what, seconds: float = 60.0):
    """What a function returns as soon as it is true."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.02)
    return found


def pid_of(work, name: str) -> int:
    path = work.root / f"{name}.pid"
    return int(wait_for(lambda: path.exists() and path.read_text().strip()))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_a_cell_starts_only_when_what_it_needs_is_done(tmp_path):
    work = made(tmp_path, {"b": 'test -e "$(dirname "$0")/a" || exit 1', "a": "true"}, b=("a",))
    assert run(work, Local(work, 2)).complete


def test_what_is_done_is_not_done_again(tmp_path):
    work = made(tmp_path, {"a": "true", "b": "true"})
    (tmp_path / "a").touch()
    assert run(work, Local(work, 1)).began == {"evaluation/b"}
    assert run(work, Local(work, 1)).began == set()


def test_a_failed_cell_does_not_stop_the_others(tmp_path):
    work = made(tmp_path, {"bad": "echo no luck; exit 3", "good": "true", "needs": "true"}, needs=("bad",))
    progress = run(work, Local(work, 1))
    assert progress.status == {"evaluation/bad": "failed", "evaluation/good": "done", "evaluation/needs": "blocked"}
    assert progress.words["evaluation/bad"] == "ended with code 3: no luck"
    assert last_lines(log_of(tmp_path, work.cells[0]), 1) == ["no luck"]


def test_a_cell_that_ends_well_without_a_result_has_failed(tmp_path):
    work = made(tmp_path, {"a": "exit 0"})
    assert run(work, Local(work, 1)).names("failed") == ["evaluation/a"]


def test_a_cell_whose_process_is_killed_is_started_again(tmp_path):
    work = made(tmp_path, {"a": 'test "$(wc -l < "$0.tries")" -gt 1 || kill -9 $$'})
    assert run(work, Local(work, 1)).complete
    assert work.tries("a") == 2


def test_a_cell_that_is_killed_again_and_again_is_given_up(tmp_path):
    work = made(tmp_path, {"a": "kill -9 $$"})
    progress = run(work, Local(work, 1))
    assert progress.words == {"evaluation/a": "killed by signal 9"}
    assert work.tries("a") == 1 + RETRIES


def test_an_interrupt_pauses_what_runs_and_nothing_new_starts(tmp_path):
    note = 'trap "touch $0.note; exit 1" INT; touch "$0.up"; while true; do sleep 0.05; done'
    work = made(tmp_path, {"a": note, "b": "true"}, b=("a",))

    class UntilUp(Local):
        """Interrupts the runner as soon as the cell is under way."""

        def finished(self):
            if (tmp_path / "a.up").exists():
                os.kill(os.getpid(), signal.SIGINT)
                (tmp_path / "a.up").unlink()
            return super().finished()

    progress = run(work, UntilUp(work, 1))
    assert (tmp_path / "a.note").exists()
    assert progress.pausing
    assert progress.status == {"evaluation/a": "paused", "evaluation/b": "paused"}


def test_nothing_starts_when_there_is_no_time(tmp_path):
    work = made(tmp_path, {"a": "true"})
    assert run(work, Local(work, 1), hours=-1).status == {"evaluation/a": "paused"}
    assert work.tries("a") == 0


def test_no_more_cores_are_busy_than_there_are_jobs(tmp_path):
    work = made(tmp_path, {"a": "true", "b": "true"})
    hands = Local(work, 2)
    hands.start(chore("a"))
    assert hands.room(chore("b"))
    assert not hands.room(chore("b", cores=2))
    hands.stop()
    wait_for(hands.finished)


def test_two_processes_never_work_at_one_cell(tmp_path):
    work = made(tmp_path, {"a": HANG})
    job = begin(work, work.cells[0])
    assert begin(work, work.cells[0]).outcome == "busy"
    job.stop()
    assert wait_for(job.ended).outcome == "paused"


@pytest.fixture
def runner(tmp_path):
    """A runner in a process of its own, in the middle of the cell `second`; with its work."""
    work = made(tmp_path, {"first": "true", "second": HANG, "third": "true"}, third=("second",))
    process = subprocess.Popen([sys.executable, chores.__file__, str(tmp_path)])
    wait_for(lambda: (tmp_path / "first").exists())
    yield process, work, pid_of(work, "second")
    if process.poll() is None:
        process.kill()
    process.wait()


def test_after_the_runner_is_killed_its_processes_end_and_the_next_one_does_what_is_missing(runner):
    process, work, child = runner
    process.kill()
    process.wait()
    wait_for(lambda: not alive(child))
    (work.root / "second.go").touch()
    assert run(work, Local(work, 1)).began == {"evaluation/second", "evaluation/third"}
    assert [work.tries(name) for name in ("first", "second", "third")] == [1, 2, 1]


def test_after_a_worker_is_killed_the_runner_finishes(runner):
    process, work, child = runner
    (work.root / "second.go").touch()
    os.kill(child, signal.SIGKILL)
    assert process.wait(timeout=60) == 0
    assert [work.tries(name) for name in ("first", "second", "third")] == [1, 2, 1]


def test_an_interrupted_runner_ends_its_processes(runner):
    process, work, child = runner
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    assert not alive(child)
    assert work.tries("third") == 0
