"""Progress on the console for anything that takes more than a few seconds: how far, how long yet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

QUARTERS = 4
"""How many lines a piece of work leaves in a log file."""
PATIENCE = 2.0
"""Work that takes less than this, seconds, leaves none."""


@contextmanager
def progress(what: str) -> Generator[Callable[[int, int], None]]:
    """Yields `report(done, total)`: a bar with the time left on a terminal, elsewhere a line for each quarter of long work."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(what)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(what: str) -> Callable[[int, int], None]:
    told, began = 0, time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal told
        quarter = QUARTERS * done // max(total, 1)
        if quarter > told and time.monotonic() - began > PATIENCE:
            told = quarter
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

    return report
