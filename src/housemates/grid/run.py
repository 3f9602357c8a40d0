"""Running a grid on this machine: one process per cell, with its log.

The process that holds the lock of a cell's log works at that cell, so no two ever do.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from housemates.grid.cells import Cell, Ended, Hands, Outcome, Work, last_lines, log_of
from housemates.grid.die_with_parent import on_leash

GRACE = 300.0
"""Seconds between asking a process to pause and ending it."""


class Job:
    """A cell's process."""

    def __init__(self, work: Work, cell: Cell, process: subprocess.Popen) -> None:
        self.work, self.cell, self.process = work, cell, process
        self.asked: float | None = None
        """When it was asked to pause."""
        self.told = 0

    def pause(self) -> None:
        """Ask it to end at its next resume point; after GRACE seconds it must."""
        if self.asked is None:
            self.asked = time.monotonic()
            self._signal(signal.SIGINT)
        elif time.monotonic() > self.asked + GRACE * (self.told + 1):
            self.told += 1
            self._signal(signal.SIGTERM if self.told == 1 else signal.SIGKILL)

    def stop(self) -> None:
        """End it now."""
        self.asked = self.asked or time.monotonic()
        self._signal(signal.SIGTERM)

    def ended(self) -> Ended | None:
        """How it has ended; None while it runs."""
        if self.asked is not None:
            self.pause()
        code = self.process.poll()
        if code is None:
            return None
        if self.work.done(self.cell):
            return Ended(self.cell, "done")
        if self.asked is not None:
            return Ended(self.cell, "paused")
        said = (last_lines(log_of(self.work.root, self.cell), 1) or ["nothing in its log"])[0]
        outcome: Outcome = "lost" if code < 0 else "failed"
        return Ended(self.cell, outcome, f"killed by signal {-code}" if code < 0 else f"ended with code {code}: {said}")

    def _signal(self, number: int) -> None:
        try:
            # It leads a session of its own. Only the leader is asked to pause: it knows how to tell its workers.
            if number == signal.SIGINT:
                os.kill(self.process.pid, number)
            else:
                os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


def begin(work: Work, cell: Cell) -> Job | Ended:
    """Start a cell's process; or how it has ended already: done, or busy elsewhere."""
    path = log_of(work.root, cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as log:
        try:
            # The process and whatever it starts inherit the open log, and with it the lock, until the last of them ends.
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return Ended(cell, "busy", "another process works at it")
        if work.done(cell):
            return Ended(cell, "done")
        command = work.command(cell)
        log.write(f"\n$ {' '.join(command)}\n".encode())
        log.flush()
        environment = {"OMP_NUM_THREADS": "1"} | os.environ
        process = subprocess.Popen(
            on_leash(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    return Job(work, cell, process)


RETRIES = 2
"""How often a cell whose process was killed is started again; it continues at its last resume point."""
AGAIN = 5.0
"""Seconds until a cell that another process works at is looked at again."""
TICK = 0.2
"""Seconds between two looks at everything."""

Status = Literal["waiting", "running", "done", "failed", "paused", "blocked"]


@dataclass
class Progress:
    """How far a grid is."""

    status: dict[str, Status]
    """Of every cell, by name."""
    words: dict[str, str] = field(default_factory=dict)
    """Why cells have failed or are blocked."""
    began: set[str] = field(default_factory=set)
    """Cells that were started here."""
    pausing: bool = False

    def names(self, *status: Status) -> list[str]:
        """Cells with one of some statuses."""
        return [name for name, s in self.status.items() if s in status]

    @property
    def complete(self) -> bool:
        """Whether everything is done."""
        return all(status == "done" for status in self.status.values())


class Local:
    """Processes of this machine."""

    def __init__(self, work: Work, jobs: int) -> None:
        """jobs: how many cores may be busy."""
        self.work, self.jobs = work, jobs
        self.running: list[Job] = []
        self.at_once: list[Ended] = []

    def room(self, cell: Cell) -> bool:
        """Whether enough cores are free; a cell that needs more than there are runs alone."""
        busy = sum(job.cell.cores for job in self.running)
        return not busy or busy + cell.cores <= self.jobs

    def start(self, cell: Cell) -> None:
        """Begin a cell."""
        job = begin(self.work, cell)
        if isinstance(job, Ended):
            self.at_once.append(job)
        else:
            self.running.append(job)

    def finished(self) -> list[Ended]:
        """Cells that have ended since the last call."""
        found, self.at_once = self.at_once, []
        for job in list(self.running):
            if (ended := job.ended()) is not None:
                self.running.remove(job)
                found.append(ended)
        return found

    def pause(self) -> None:
        """Ask every process to end at its next resume point."""
        for job in self.running:
            job.pause()

    def stop(self) -> None:
        """End every process now."""
        for job in self.running:
            job.stop()

    def close(self) -> None:
        """Nothing was taken."""


def run(work: Work, hands: Hands, hours: float | None = None, tell: Callable[[Progress], None] | None = None) -> Progress:
    """Do all cells that are not done; returns when they are, when the time is over, or after an interrupt.

    The first interrupt pauses (every process gets one, and leaves a resume point), the second ends everything at once.
    """
    progress = Progress({cell.name: "done" if work.done(cell) else "waiting" for cell in work.cells})
    until = None if hours is None else time.monotonic() + hours * 3600
    lost: dict[str, int] = {}
    later: dict[str, float] = {}
    with interrupts() as count:
        while True:
            if not progress.pausing and (count() or (until is not None and time.monotonic() > until)):
                progress.pausing = True
                hands.pause()
            if count() > 1:
                hands.stop()
            for ended in hands.finished():
                _note(progress, ended, lost, later)
            if not progress.pausing:
                _start(work, hands, progress, later)
            if tell is not None:
                tell(progress)
            waiting = not progress.pausing and progress.names("waiting")
            if not progress.names("running") and not waiting:
                break
            time.sleep(TICK)
    for name in progress.names("waiting"):
        progress.status[name] = "paused"
    return progress


def _note(progress: Progress, ended: Ended, lost: dict[str, int], later: dict[str, float]) -> None:
    """Take down how a cell has ended."""
    name = ended.cell.name
    if ended.outcome == "busy":
        progress.status[name], later[name] = "waiting", time.monotonic() + AGAIN
        progress.words[name] = ended.words
        return
    progress.words.pop(name, None)
    if ended.outcome == "lost" and lost.get(name, 0) < RETRIES:
        lost[name] = lost.get(name, 0) + 1
        progress.status[name] = "waiting"
        return
    progress.status[name] = "failed" if ended.outcome == "lost" else ended.outcome
    if progress.status[name] == "failed":
        progress.words[name] = ended.words


def _start(work: Work, hands: Hands, progress: Progress, later: dict[str, float]) -> None:
    """Start whatever may start now; what needs a failed cell is blocked."""
    for cell in work.cells:
        if progress.status[cell.name] != "waiting":
            continue
        before = {name: progress.status[name] for name in cell.after}
        broken = next((name for name, status in before.items() if status in ("failed", "blocked")), None)
        if broken is not None:
            progress.status[cell.name], progress.words[cell.name] = "blocked", f"needs {broken}"
        elif all(status == "done" for status in before.values()) and time.monotonic() >= later.get(cell.name, 0.0):
            if not hands.room(cell):
                break
            progress.status[cell.name] = "running"
            progress.began.add(cell.name)
            hands.start(cell)


@contextmanager
def interrupts() -> Generator[Callable[[], int]]:
    """Yields a function that tells how many interrupts have come."""
    count = 0

    def note(number: int, frame: object) -> None:
        nonlocal count
        count += 1

    if threading.current_thread() is not threading.main_thread():
        yield lambda: count
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: count
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
