"""Start a program that is interrupted when its parent dies, so that none is left training in a folder that another run has
taken over. Usage: python -m housemates.grid.die_with_parent PARENT PROGRAM ARGUMENT ..."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl; it outlives exec."""


def hold(parent: int) -> bool:
    """Interrupt this process when its parent dies; False if that has happened already."""
    # Programs that a shell starts in the background ignore interrupts; a cell must hear them.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGINT)
    return os.getppid() == parent


def on_leash(command: Sequence[str]) -> list[str]:
    """The command that starts another one that ends when this process ends."""
    return [sys.executable, "-m", "housemates.grid.die_with_parent", str(os.getpid()), *command]


if __name__ == "__main__":
    if hold(int(sys.argv[1])):
        os.execvp(sys.argv[2], sys.argv[2:])
