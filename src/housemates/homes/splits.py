"""The homes of a split. Those of the benchmark come with the package; others are made once, by two processes, and kept.

The cache is keyed by the source of everything that shapes a home, so a changed generator never meets old homes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from housemates.homes.files import load_homes, packaged_homes, save_homes
from housemates.homes.generate import generate_home, home_name, split_size
from housemates.homes.home import Home
from housemates.io import cache_folder

PROCESSES = 2
"""Processes that make homes side by side."""
SOURCES = (
    *(f"homes/{n}.py" for n in ("decor", "files", "floor", "furniture", "generate", "home", "kitchen", "layout", "pieces")),
    *(f"homes/{n}.py" for n in ("plan", "statistics")),
    *(f"geometry/{n}.py" for n in ("distance", "exact", "shapes", "sight")),
)
"""Files that decide what a home looks like, relative to the package."""

Progress = Callable[[int, int], None]
"""Called with how many homes are done and how many there will be."""
Job = tuple[str, str, int, int]
"""A home to make: its name, then split, index and seed for `generate_home`."""


def load_split(split: str, seed: int = 0, progress: Progress | None = None) -> list[Home]:
    """The homes of any source by its name, as `sources.load_split`."""
    from housemates.homes import sources

    return sources.load_split(split, seed, progress)


def generated(split: str, seed: int = 0, progress: Progress | None = None) -> list[Home]:
    """All homes of a generated split in order: with seed 0 those of the benchmark, else from the cache or made now."""
    count, _ = split_size(split)
    if seed == 0 and (packaged := packaged_homes(split)) is not None:
        return packaged
    names = [home_name(split, index) for index in range(count)]
    return _kept(cache_path(split, seed), names, lambda: make_split(split, seed, progress))


def seeded_cache(name: str, names: list[str], make: Callable[[], list[Home]]) -> list[Home]:
    """Homes with these names from the cache, or made now and kept there under a name of their own."""
    return _kept(cache_folder() / "homes" / f"{name}-{_source_hash()}.npz", names, make)


def _kept(path: Path, names: list[str], make: Callable[[], list[Home]]) -> list[Home]:
    if path.exists():
        try:
            homes = load_homes(path)
            if [home.name for home in homes] == names:
                return homes
            raise ValueError(f"{path} is damaged (it holds other homes)")
        except ValueError as error:
            warnings.warn(f"{str(error).partition(' - ')[0]} - these homes are made again", stacklevel=2)
            path.unlink(missing_ok=True)
    homes = make()
    save_homes(path, homes)
    return homes


def cache_path(split: str, seed: int = 0) -> Path:
    """Where the homes of a split are kept."""
    return cache_folder() / "homes" / f"{split}-{seed}-{_source_hash()}.npz"


def make_split(split: str, seed: int = 0, progress: Progress | None = None) -> list[Home]:
    """All homes of a split in order, made now; which process makes a home does not change it."""
    count, _ = split_size(split)
    return make_homes([(home_name(split, index), split, index, seed) for index in range(count)], progress)


def make_homes(jobs: Sequence[Job], progress: Progress | None = None) -> list[Home]:
    """Generated homes in the order of the jobs, made by two processes."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{first}.npz" for first in range(PROCESSES)]
        # Plain processes, not multiprocessing: nothing of the caller's program is imported again or forked.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        workers = [_start(jobs[first::PROCESSES], file, environment) for first, file in enumerate(files)]
        try:
            _wait(workers, files, len(jobs), progress)
        finally:
            for worker in workers:
                worker.kill()
                worker.communicate()
        shares = [load_homes(file) for file in files]
    return [shares[index % PROCESSES][index // PROCESSES] for index in range(len(jobs))]


def _start(jobs: Sequence[Job], file: Path, environment: dict[str, str]) -> subprocess.Popen:
    place = file.with_suffix(".json")
    place.write_text(json.dumps(jobs))
    command = [sys.executable, "-m", "housemates.homes.splits", str(place), str(file)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def _wait(workers: list[subprocess.Popen], files: list[Path], count: int, progress: Progress | None) -> None:
    """Wait until all workers are through; each adds a byte to a file beside its own for every home it made."""
    told = 0
    while True:
        running = any(worker.poll() is None for worker in workers)
        failed = next((worker for worker in workers if worker.poll()), None)
        if failed is not None:
            reason = failed.communicate()[1].strip().splitlines() or [f"exit code {failed.returncode}"]
            raise ValueError(f"Making homes failed: {reason[-1]}")
        done = sum(_ticks(file).stat().st_size for file in files if _ticks(file).exists())
        if progress is not None and done > told:
            progress(done, count)
            told = done
        if not running:
            return
        time.sleep(0.05)


def _ticks(file: Path) -> Path:
    return file.with_suffix(".ticks")


def _source_hash() -> str:
    """A short hash of the generator's source files."""
    package, digest = Path(__file__).resolve().parent.parent, hashlib.sha256()
    for name in SOURCES:
        digest.update(name.encode())
        digest.update((package / name).read_bytes())
    return digest.hexdigest()[:16]


def _work(jobs: Sequence[Job], file: Path) -> None:
    """Make homes one after the other and save them."""
    homes = []
    for name, split, index, seed in jobs:
        homes.append(replace(_some_home(split, index, seed), name=name))
        with _ticks(file).open("ab") as ticks:
            ticks.write(b".")
    save_homes(file, homes)


def _some_home(split: str, index: int, seed: int) -> Home:
    """The home with that index; of a seed for which it finds no layout, the next one that does (never for the benchmark)."""
    count, _ = split_size(split)
    for later in range(count):
        try:
            return generate_home(split, (index + later) % count, seed)
        except ValueError:
            if seed == 0 or later == count - 1:
                raise
    raise ValueError(f"{split} has no homes")


if __name__ == "__main__":
    _work(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
