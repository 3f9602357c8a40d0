"""`housemates holdouts best-responses`: what can be reached with each held-out partner by an agent trained for it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from housemates.cli.evaluate import show
from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress
from housemates.run_folder import ROWS, RunFolder, is_run, runs_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from housemates.agents.agent import Agent


def best_responses(
    partners: Positional[tuple[str, ...]] = (),
    /,
    *,
    task: TaskName,
    holdouts: tuple[Path, ...] = (),
    seeds: tuple[int, ...] = (0,),
    start: str | None = None,
    preset: str = "state",
    observations: str | None = None,
    decisions: int | None = None,
    steps: int | None = None,
    change: tuple[str, ...] = (),
    workers: int | None = None,
    hours: float | None = None,
    split: SplitName = "eval",
    episodes: int = 100,
    look_ahead: bool = False,
    out: Path = Path("best_responses"),
    quiet: bool = False,
) -> None:
    """Train a best response to every holdout: an agent for that partner alone, which says what could be reached with it.

    At the end all that are in OUT/TASK play with their partners, and learned holdouts with the mates of their own training;
    `housemates report RUN OUT/TASK/episodes.parquet` then gives BR-Prox, an agent's success as a share of that. The same
    command continues. Two robots only.

    Args:
        partners: Answer only these; default: all holdouts of the task.
        task: What is to be done.
        holdouts: Folders of further holdouts (see `housemates holdouts train`) beside those that come with the package.
        seeds: One run each for every partner; the best one counts.
        start: Begin with the weights of this agent (RUN/agent, pretrained/NAME) instead of fresh ones.
        preset: How long and with which network.
        observations: What they see; default: the preset's.
        decisions: How long to train each run; default: the preset's.
        steps: The same in simulation steps of all homes.
        change: Settings to change, as for `housemates train`.
        workers: Processes that train together.
        hours: Pause after so long.
        split: The homes in which they play at the end: those in which the agents are evaluated.
        episodes: How many of the split's episodes.
        look_ahead: At the end they also play with look-ahead; the better of both counts.
        out: The folder of the runs and of the rows, TASK/episodes.parquet.
        quiet: Show nothing while training.
    """
    from housemates.agents.agent import BEST_RESPONSE
    from housemates.evaluation.crossplay import check_count, crossplay, identity
    from housemates.evaluation.evaluate import common_rules, held_out, look_ahead_pairs
    from housemates.evaluation.holdouts import learned_holdouts
    from housemates.evaluation.protocol import response_pairs, summary
    from housemates.evaluation.rows import write_rows
    from housemates.io import check_place
    from housemates.methods.ego import check_partners
    from housemates.runs.presets import PRESETS
    from housemates.runs.run import partners_of, read
    from housemates.runs.train import train_one

    if not seeds:
        raise ValueError("best responses of which seeds? - give --seeds, such as 0 1 2")
    # Whatever may be wrong is found before hours of training.
    folder = out / task
    check_place(folder / ROWS)
    homes = load_homes(split)
    played = load_set(task, split, homes)
    check_count(episodes, played)
    PRESETS.find(preset)
    found = held_out(task, partners, holdouts)
    names = named(found)
    for partner in found:
        check_partners([partner], one=True)
    until = None if hours is None else time.monotonic() + hours * 3600
    always = {"observations": observations, "decisions": decisions, "steps": steps, "workers": workers, "quiet": quiet}
    wanted = [(partner, seed) for seed in seeds for partner in found]
    for done, (partner, seed) in enumerate(wanted):
        run = folder / f"{partner.name.replace('/', '-')}-{preset}-{seed}"
        begin = {"method": BEST_RESPONSE, "task": task, "preset": preset, "seed": seed, "change": change, "start": start}
        if is_run(run) and [identity(p) for p in partners_of(run)] != [identity(partner)]:
            raise ValueError(f"{run} answers another partner of that name, or it has changed since - choose another --out")
        if not train_one(run, begin | {"population": (names[partner.name],)}, always, until):
            print(f"paused - continue with the same command; {done} of {len(wanted)} are trained in {folder}")
            return
    runs = runs_in(folder)
    runs = [run for run in runs if read(run).method == BEST_RESPONSE and RunFolder(run).complete()]
    pairs = response_pairs(runs, [*found, *learned_holdouts(task, holdouts)])
    pairs += look_ahead_pairs(pairs, look_ahead) if look_ahead else []
    with progress("evaluation") as report:
        threads = len(os.sched_getaffinity(0))
        rows = crossplay(pairs, played, homes, common_rules(runs), count=episodes, threads=threads, progress=report)
    write_rows(folder / ROWS, rows)
    show(summary(rows))
    print(f"{len(runs)} best responses - BR-Prox of a run: housemates report RUN {folder / ROWS}")


def named(partners: Sequence[Agent]) -> dict[str, str]:
    """For each partner, by its name, a name that means it alone."""
    from housemates.agents.agent import resolve
    from housemates.evaluation.crossplay import identity
    from housemates.evaluation.holdouts import run_of

    names = {}
    for partner in partners:
        run = run_of(partner)
        # A name out of a file is never read as that of a function.
        written = {"script": (f"script/{partner.script}",), "function": (partner.path,), "random": ("random",)}
        plain = partner.name.removeprefix(f"{partner.disturbed}/")
        learned = [str(run / plain.rpartition("/")[2]) if run else plain, partner.path]
        if partner.disturbed:
            learned = [f"{partner.disturbed}/{text}" for text in learned]
        for text in written.get(partner.kind, [text for text in learned if ":" not in text or Path(text).exists()]):
            try:
                meant = resolve(text)
            except (ValueError, OSError):
                continue
            if [(p.name, identity(p)) for p in meant] == [(partner.name, identity(partner))]:
                names[partner.name] = text
                break
        else:
            raise ValueError(f"{partner.name} cannot be named alone - give its run another name, and it as RUN/3 or RUN/z5")
    return names
