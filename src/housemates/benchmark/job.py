"""One cell as one process, with its log. Who holds the log's lock works at the cell, so no two ever do."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time

from housemates.benchmark.cells import Cell, Ended, Outcome, Work, last_lines, log_of
from housemates.benchmark.leash import on_leash

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
