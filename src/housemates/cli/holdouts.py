"""`housemates holdouts ...`: the partners of the zero-shot evaluation; list them, train more, put them into the package."""

from __future__ import annotations

import time
from pathlib import Path

from tyro.conf import Positional

from housemates.cli.homes import TaskName, load_homes, load_set
from housemates.run_folder import RunFolder


def list_holdouts(folders: Positional[tuple[Path, ...]] = (), /, task: TaskName | None = None) -> None:
    """List the holdouts: who they are, how they were trained, how often they succeed alone (and which share of the sub-goals
    they achieve then) and with the mate they were trained with.

    Args:
        folders: Folders with holdouts beside those that come with the package.
        task: Only those of one task.
    """
    from housemates.evaluation.holdouts import COMPETENCE, learned_holdouts, runs_in, scripted_holdouts
    from housemates.tasks.tasks import TASKS

    rows: list[tuple[str, ...]] = [
        ("holdout", "task", "seed", "recipe", "sees", "decisions", "alone", "sub-goals", "with mate")
    ]
    for name in [task] if task else list(TASKS):
        rows += [(p.name, name, "-", "-", "-", "-", "-", "-", "-") for p in scripted_holdouts()]
        for p in learned_holdouts(name, folders):
            rates = [f"{100 * p.meta[k]:.0f} %" if k in p.meta else "?" for k in COMPETENCE]
            seen, length = p.meta.get("observations", "?"), f"{p.meta.get('decisions', 0):,}"
            rows.append((p.name, name, str(p.meta.get("seed", "?")), p.meta.get("recipe", "?"), seen, length, *rates))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for folder in folders:
        for run in runs_in(folder):
            if not RunFolder(run).complete():
                print(f"note: {run} is not trained to its end - continue it with: housemates holdouts train")


def train_holdouts(
    task: TaskName,
    seeds: tuple[int, ...] = (100, 101, 102, 103),
    preset: str = "state",
    observations: str | None = None,
    decisions: int | None = None,
    steps: int | None = None,
    change: tuple[str, ...] = (),
    workers: int | None = None,
    hours: float | None = None,
    episodes: int = 100,
    out: Path = Path("holdouts"),
    quiet: bool = False,
) -> None:
    """Train holdouts: two robots that learn together, for each seed; both become holdouts. The same command continues.

    Args:
        task: What is to be done.
        seeds: One run each; never those of agents that are evaluated with them.
        preset: How long and with which network.
        observations: What they see; default: the preset's.
        decisions: How long to train each run; default: the preset's.
        steps: The same in simulation steps of all homes.
        change: Settings to change, as for `housemates train`.
        workers: Processes that train together.
        hours: Pause after so long.
        episodes: Dev episodes on which their competence is measured when they are trained.
        out: The folder of the runs; nobody trains with what lies in it.
        quiet: Show nothing while training.
    """
    from housemates.evaluation.holdouts import METHOD, mark, measure, read_mark
    from housemates.io import check_place
    from housemates.runs.presets import PRESETS
    from housemates.runs.train import train_one

    if not seeds:
        raise ValueError("holdouts of which seeds? - give --seeds, such as 100 101 102 103")
    PRESETS.find(preset).policy(observations or PRESETS[preset].observations, 2)
    check_place(RunFolder(out).mark)
    until = None if hours is None else time.monotonic() + hours * 3600
    always = {"observations": observations, "decisions": decisions, "steps": steps, "workers": workers, "quiet": quiet}
    for seed in seeds:
        folder = out / f"{METHOD}-{task}-{preset}-{seed}"
        begin = {"method": METHOD, "task": task, "preset": preset, "seed": seed, "change": change}
        # Marked before it exists, so that nobody takes it for a partner while it is trained.
        if not train_one(folder, begin, always, until, lambda folder=folder: mark(folder)):
            break
        if not read_mark(folder).get("members"):
            homes = load_homes("dev")
            mark(folder, measure(folder, load_set(task, "dev", homes), homes, episodes))
    else:
        print(f"{len(seeds)} runs of holdouts in {out} - meet them with: housemates evaluate RUN --holdouts {out}")
        return
    print(f"paused - continue with the same command; what is there: housemates holdouts {out}")


def ship(runs: Positional[tuple[Path, ...]], /, root: Path | None = None) -> None:
    """Copy the members of trained holdouts into the package, for maintainers.

    Args:
        runs: Folders of holdouts.
        root: Another folder than the package's `agents`.
    """
    from housemates.evaluation.holdouts import runs_in
    from housemates.evaluation.holdouts import ship as copy

    for run in [run for folder in runs for run in runs_in(folder)]:
        for place in copy(run, root):
            print(f"{place} ({sum(f.stat().st_size for f in place.iterdir()) / 1000:.0f} kB)")
