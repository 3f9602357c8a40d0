"""Everything that writes files, as small chores in the hand-made hall which a test can start, kill and start again."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from two_stages import RUN, train

from helpers import batches, chores, exports
from helpers.evaluations import run_folder
from helpers.learners import trainer
from helpers.rooms import hall
from helpers.small_runs import small_run
from housemates.agents.agent import scripted
from housemates.evaluation import resume as kept
from housemates.evaluation.crossplay import crossplay, pair_up
from housemates.evaluation.holdouts import ship_agent
from housemates.evaluation.protocol import run_pairs
from housemates.evaluation.recordings import save_examples
from housemates.evaluation.rows import write_rows
from housemates.grid.run import Local, run
from housemates.homes import navigation, splits
from housemates.homes.generate import home_name
from housemates.reports.report import Options, write_report
from housemates.run_folder import RECORDINGS, RunFolder
from housemates.runs.run import create, work
from housemates.sim.rules import Rules
from housemates.tasks import episodes as sets

WARM = "HOUSEMATES_WARM"
"""Environment variable that is set where this module is imported for others."""


def one_worker(folder: Path) -> None:
    """Training by one process."""
    running = trainer(folder / "run")
    running.load()
    running.run()


def both_stages(folder: Path) -> None:
    """A population and its agent."""
    train(folder / "run")


def two_workers(folder: Path) -> None:
    """One of two processes that train together; the environment says which."""
    if os.environ["RANK"] == "0" and not (folder / "run" / "config.json").exists():
        create(folder / "run", replace(RUN, workers=2))
    while not (folder / "run" / "config.json").exists():
        os.sched_yield()
    work(folder / "run", lambda _: ([batches.home()], batches.episodes()), quiet=True)


def evaluate(folder: Path) -> None:
    """An evaluation with its rows and recordings; games that were played before it was killed are kept."""
    made, file = folder.parent / "made", folder / "evaluation" / "episodes.parquet"
    pairs = run_pairs(made, [scripted(name) for name in ("noop", "first_half", "second_half")], 2, False)
    games = pairs, batches.episodes(), [batches.home()], Rules(horizon=60)
    kept.SAVE_EVERY = 0.0
    played = kept.kept_beside(file, *games, count=4, seed=0, greedy=False)
    assert played is not None
    write_rows(file, crossplay(*games, count=4, kept=played))
    played.remove()
    save_examples(file.parent / RECORDINGS, *games, count=4)


def export(folder: Path) -> None:
    """A dataset; one that is there is whole."""
    if not (folder / "data").exists():
        exports.export(folder / "data", pair_up([scripted("solo")], [scripted("first_half"), scripted("noop")]))


def report(folder: Path) -> None:
    """A page of tables and figures."""
    write_report(
        [folder.parent / "runs" / f"{method}-tidy_house-state-0" for method in ("sp", "bdp")], folder / "report", Options()
    )


def ship(folder: Path) -> None:
    """An agent for the package, with the index."""
    ship_agent(folder.parent / "made", folder / "agents")


def benchmark(folder: Path) -> None:
    """Cells one after the other."""
    bodies = dict.fromkeys(("first", "second", "third", "fourth"), "sleep 0.1")
    todo = chores.made(folder / "grid", bodies, third=("first",), fourth=("third",))
    run(todo, Local(todo, 2))


def cache(folder: Path) -> None:
    """Homes, episodes and navigation."""
    os.environ["HOUSEMATES_CACHE"] = str(folder / "cache")
    splits.make_split = lambda *_: [replace(hall(), name=home_name("dev", index)) for index in range(2)]
    splits.split_size = lambda _: (2, 0)
    sets.SIZES["dev"] = 20
    homes = splits.load_split("dev", 1)
    sets.load_episodes("tidy_house", "dev", homes=homes)
    navigation.prepare(homes)


CHORES: dict[str, Callable[[Path], None]] = {
    chore.__name__: chore for chore in (one_worker, both_stages, two_workers, evaluate, export, report, ship, benchmark, cache)
}


def prepare(folder: Path) -> None:
    """What chores read: a run with its rows on dev, and evaluated runs for a report."""
    made = small_run(folder / "made", "pbt")
    pairs = run_pairs(made, [scripted("noop")], 2, False)
    write_rows(RunFolder(made).rows("dev"), crossplay(pairs, batches.episodes(), [batches.home()], Rules(horizon=30), count=2))
    for method in ("sp", "bdp"):
        run_folder(folder / "runs", method, 0)


def perform(name: str, folder: Path, environment: dict[str, str], begun: Path, said: Path) -> None:
    """Do a chore in this process; `begun` appears when it begins, `said` gets what goes wrong."""
    os.environ.update(environment)
    with said.open("w") as file:
        os.dup2(file.fileno(), 2)
    torch.set_num_threads(1)
    batches.episodes()  # not part of the chore
    begun.touch()
    try:
        CHORES[name](folder)
    except BaseException:
        traceback.print_exc()
        raise SystemExit(1) from None


if os.environ.get(WARM):
    # In the process that all others are forked from: what they need is compiled and loaded once.
    torch.set_num_threads(1)
    batches.make(size=2).tick()
    navigation.navigation(batches.home())
