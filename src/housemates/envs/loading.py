"""The homes and episodes of a split, with progress on the console where they must be made first."""

from __future__ import annotations

from collections.abc import Sequence

from housemates.envs.progress import Report, progress
from housemates.homes import navigation
from housemates.homes.home import Home
from housemates.homes.splits import load_split
from housemates.kernels import cache_folder
from housemates.kernels.files import check_place
from housemates.tasks.episodes import Episodes, load_episodes


def load_homes(split: str, show: bool = True) -> list[Home]:
    """The homes of a split. show: whether progress is shown where they must be made."""
    with progress(f"homes of {split}", show) as report:
        return load_split(split, progress=_kept(report))


def load_set(task: str, split: str, homes: Sequence[Home], show: bool = True) -> Episodes:
    """The episodes of a task in a split, and the ways through its homes, which whoever plays them needs."""
    with progress(f"ways through the homes of {split}", show) as report:
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
