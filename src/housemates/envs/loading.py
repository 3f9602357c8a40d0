"""Homes and episodes for environments, with progress on the console for anything that takes more than a few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager

from housemates.homes import navigation
from housemates.homes.home import Home
from housemates.homes.splits import load_split
from housemates.io import cache_folder, check_place
from housemates.tasks.episodes import Episodes, load_episodes

QUARTERS = 4
"""Lines that a piece of work leaves in a log file: one for each of its quarters,"""
LINE_EVERY = 60.0
"""and one at least every so many seconds."""
PATIENCE = 2.0
"""Work that takes less than this, seconds, leaves none."""
DELAY = 0.5
"""A bar appears after so many seconds: what lies in the cache is there before."""

Report = Callable[[int, int], None]
"""Called with how much is done and how much there will be."""


@contextmanager
def progress(what: str, show: bool = True, at_once: bool = False) -> Generator[Report]:
    """Yields `report(done, total)`: a bar with the time left on a terminal, elsewhere lines of long work; on stderr.

    show: False shows nothing. at_once: the bar does not wait for the first report.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not show:
        yield lambda done, total: None
    elif not console.is_terminal:
        yield _lines(what)
    else:
        with ExitStack() as stack:
            yield _bar(what, console, stack, at_once)


def time_left(seconds: float) -> str:
    """A time as hours and minutes, or minutes and seconds."""
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    return f"{hours} h {minutes % 60:02d} min" if hours else f"{minutes} min {int(seconds) % 60:02d} s"


def _bar(what: str, console: object, stack: ExitStack, at_once: bool) -> Report:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"))
    # What is printed meanwhile goes above the bar, but not where it is written to a file.
    same = sys.stdout is not None and sys.stdout.isatty()
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, redirect_stdout=same)  # ty: ignore
    task, shown, began = bar.add_task(what, total=None), False, time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal shown
        if not shown and time.monotonic() - began >= DELAY:
            shown = True
            stack.enter_context(bar)
        bar.update(task, completed=done, total=total)

    if at_once:
        shown = True
        stack.enter_context(bar)
    return report


def _lines(what: str) -> Report:
    told, began = 0, time.monotonic()
    last, first = began, None

    def report(done: int, total: int) -> None:
        nonlocal told, first, last
        now, quarter = time.monotonic(), QUARTERS * done // max(total, 1)
        if first is None:
            # What was there before (an evaluation that goes on) says nothing about the speed.
            first = done, now
        if now - began > PATIENCE and (quarter > told or now - last > LINE_EVERY):
            told, last = quarter, now
            speed = (done - first[0]) / max(now - first[1], 1e-9)
            left = f", {time_left((total - done) / speed)} left" if speed and done < total else ""
            print(f"{what}: {done} of {total}{left}", file=sys.stderr, flush=True)

    return report


def load_homes(split: str, show: bool = True) -> list[Home]:
    """The homes of a split. show: whether progress is shown where they must be made."""
    with progress(f"homes of {split}", show) as report:
        return load_split(split, progress=_kept(report))


def load_set(task: str, split: str, homes: Sequence[Home], show: bool = True) -> Episodes:
    """The episodes of a task in a split, and the shortest paths in its homes, which every game needs."""
    with progress(f"shortest paths in the homes of {split}", show) as report:
        navigation.prepare(homes, progress=report)
    with progress(f"episodes of {task}, {split}", show) as report:
        return load_episodes(task, split, homes=homes, progress=_kept(report))


def check_cache() -> None:
    """Refuse a cache folder that cannot be written, before the work that belongs there is done."""
    folder = cache_folder()
    try:
        check_place(folder / "new")
    except ValueError as error:
        raise ValueError(f"the cache cannot be written, {error}; HOUSEMATES_CACHE says where it is") from error


def _kept(report: Report) -> Report:
    """A report of something that is made for the cache: when the first part is there, it is sure that it can be kept."""
    checked = False

    def checking(done: int, total: int) -> None:
        nonlocal checked
        if not checked:
            check_cache()
            checked = True
        report(done, total)

    return checking
