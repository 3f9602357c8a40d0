"""An older commit beside this source: both train and act in turns, each in a process of its own, counted in CPU time.

Each tree runs `speed.driver` with its own modules, presets and kernels. Of every turn the ratio is taken, and of those the
median: on a shared machine neighbours slow down both alike, and no ratio of two days says anything.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from housemates.io import cache_folder
from housemates.speed import driver

SOURCE = Path(__file__).parents[2]
"""The folder with the package that this is part of."""


@dataclass(frozen=True)
class Turns:
    """What to compare, and how often."""

    learning: tuple[str, ...] = ("state", "depth", "state_partners", "depth_partners")
    """Trainings, see `speed.driver`."""
    acting: tuple[str, ...] = ("state", "depth")
    """Networks that act."""
    rows: tuple[int, ...] = (1, 8, 64, 256)
    """Robots that one call decides for."""
    warm: int = 3
    """Turns that do not count: kernels compile in the first, and robots that know nothing walk longest in the next."""
    turns: int = 7
    """Turns that count."""
    num_envs: int = 256
    """Homes of each training."""


QUICK = Turns(("state",), ("state",), (8,), warm=2, turns=3)
"""For a first look."""


@dataclass(frozen=True)
class Compared:
    """One figure of both trees, microseconds of CPU time per decision (medians), and how many times as fast this one is."""

    name: str
    before: float
    now: float
    ratio: float
    """Median of the turns' ratios."""
    lowest: float
    highest: float
    """Of the turns' ratios."""


def compare(commit: str, plan: Turns, say: Callable[[str], None]) -> list[Compared]:
    """This source beside a commit of its repository, or beside a folder with the files of one."""
    found = []
    with ExitStack() as open_things:
        folder = open_things.enter_context(older(commit))
        ask = [open_things.enter_context(running(source, plan.num_envs)) for source in (folder / "src", SOURCE)]
        for kind in plan.learning:
            say(f"learning: {kind}")
            turns = [[_cost(one({"learn": kind})) for one in ask] for _ in range(plan.warm + plan.turns)]
            found.append(_compared(f"learning, {kind}", turns[plan.warm :]))
        for kind in plan.acting:
            say(f"acting: {kind}")
            for rows in plan.rows:
                turns = [[one({"act": kind, "rows": rows})["microseconds"] for one in ask] for _ in range(plan.turns)]
                found.append(_compared(f"acting, {kind}, {rows} in a call", turns))
    return found


def _cost(answer: dict[str, float]) -> float:
    """Microseconds of CPU time per decision."""
    return 1e6 * answer["seconds"] / answer["decisions"]


def _compared(name: str, turns: list[list[float]]) -> Compared:
    ratios = [before / now for before, now in turns]
    middle = (statistics.median(values) for values in zip(*turns, strict=True))
    return Compared(name, *middle, statistics.median(ratios), min(ratios), max(ratios))


@contextmanager
def older(commit: str) -> Generator[Path]:
    """A folder with the files of a commit for as long as it is needed; a folder that is given is taken as it is."""
    if (Path(commit) / "src" / "housemates").is_dir():
        yield Path(commit).resolve()
        return
    full = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", commit=commit).decode().strip()
    # Always the same place: compiled kernels are found again by where their source lies.
    folder = cache_folder() / "compare" / full[:12]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", full, "src", commit=commit))) as files:
            files.extractall(folder, filter="data")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _git(*words: str, commit: str) -> bytes:
    """What git says about the repository of this source."""
    # `git archive` gives only what lies below its folder.
    top = SOURCE.parent
    try:
        return subprocess.run(["git", "-C", str(top), *words], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise ValueError(f"no commit '{commit}' in {top} - run this in a clone of the repository that has it") from None


@contextmanager
def running(source: Path, num_envs: int) -> Generator[Callable[[dict[str, Any]], dict[str, float]]]:
    """A process that measures with the package in `source`; calling what is given asks it, see `speed.driver`."""
    command = [sys.executable, "-P", str(Path(driver.__file__)), str(num_envs)]
    # More threads would be counted as CPU time that decides nothing.
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(request: dict[str, Any]) -> dict[str, float]:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        try:
            print(json.dumps(request), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise ValueError(f"{source} cannot be measured - what it said is above; choose another commit") from None

    with process:
        try:
            yield ask
        finally:
            process.kill()
