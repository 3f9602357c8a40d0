"""`housemates benchmark`: the whole paper as a grid of trainings and evaluations, on this machine or on a Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from housemates.cli.homes import ObservationsName, SplitName, TaskName

if TYPE_CHECKING:
    from housemates.grid.folder import Benchmark
    from housemates.grid.plan import Grid


def benchmark(
    out: Path,
    grid: str | None = None,
    tasks: tuple[TaskName, ...] | None = None,
    methods: tuple[str, ...] | None = None,
    seeds: tuple[int, ...] | None = None,
    preset: str | None = None,
    observations: ObservationsName | None = None,
    decisions: int | None = None,
    steps: int | None = None,
    change: tuple[str, ...] | None = None,
    workers: int | None = None,
    holdout_seeds: tuple[int, ...] | None = None,
    holdout_preset: str | None = None,
    holdout_decisions: int | None = None,
    holdout_steps: int | None = None,
    split: SplitName | None = None,
    episodes: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    gpus: float = 0.0,
    hours: float | None = None,
    speed: tuple[str, ...] = (),
    plan: bool = False,
    cells: bool = False,
    tables: bool = False,
    adopt: tuple[Path, ...] = (),
    films: bool = True,
) -> None:
    """Train and evaluate everything the paper's tables need, cell by cell, then write one report.

    Each cell is a process of its own that runs what you would type: holdouts train, train, evaluate. Kill it whenever you like:
    the same command (or `housemates benchmark --out FOLDER` alone) does what is missing and nothing twice.

    Args:
        out: The folder of everything; on a cluster all machines must see it.
        grid: paper (all of it, the default), main (7 methods x 3 tasks), ablations (on Set Table), observations (RGB and ground
            truth, on Prepare Groceries), rivals (methods of other papers on two tasks), smoke (minutes; whether it works here).
        tasks: Only these tasks of the grid, or tasks of your own.
        methods: Only these methods of the grid, or methods of your own (package.module:Class).
        seeds: One whole training each (default 0 1 2; smoke: 0).
        preset: How long and with which network (default laptop).
        observations: What robots see where the method does not say it; default: the preset's.
        decisions: How long to train each stage; default: the preset's.
        steps: The same in simulation steps of all homes.
        change: Settings to change, as for `housemates train`; those of a method with its name, such as bdp.weight=0.02.
        workers: Processes that train one run together (default 1).
        holdout_seeds: One run of two holdouts each (default 100 101 102 103); none for the package's own.
        holdout_preset: How holdouts are trained; default: as the runs.
        holdout_decisions: How long holdouts are trained; default: as the runs, or their own preset's.
        holdout_steps: The same in simulation steps of all homes.
        split: Homes of the evaluation (default eval).
        episodes: Of the evaluation (default 100).
        jobs: Cores in use at a time, on a cluster cells in its queue; default: all cores here, everything on a cluster.
        cluster: Give the cells to a Ray cluster: auto, HOST:PORT or ray://HOST:PORT.
        gpus: Of each cell on a cluster, such as 0.25.
        hours: Pause after so long, cleanly.
        speed: Decisions a second of one worker for the estimates, such as depth=3000 state=9000.
        plan: Print a table of cells, hours and disk, and do nothing.
        cells: With --plan, a line for every cell too.
        tables: Print what the grid has of each of the paper's tables and what is missing, and do nothing.
        adopt: Folders with finished runs; those that are what this grid would train are copied into it first.
        films: Play three games again for the report and film them.
    """
    from housemates.grid import folder
    from housemates.grid.estimate import Speeds, measure, outcome_lines, parse_speeds, plan_lines, showing
    from housemates.grid.run import Local, cores, run
    from housemates.grid.tables import table_lines
    from housemates.io import check_place
    from housemates.methods import resolve_method

    methods = None if methods is None else tuple(resolve_method(method) for method in methods)
    for name, value in (("hours", hours), ("jobs", jobs)):
        if value is not None and value <= 0:
            raise ValueError(f"--{name} {value} - it must be positive")
    given = parse_speeds(speed)
    chosen = {"grid": grid, "methods": methods, "tasks": tasks, "seeds": seeds}
    settings = {
        "preset": preset, "observations": observations, "decisions": decisions, "steps": steps, "change": change,
        "workers": workers, "holdout_seeds": holdout_seeds, "holdout_preset": holdout_preset,
        "holdout_decisions": holdout_decisions, "holdout_steps": holdout_steps, "split": split, "episodes": episodes,
    }  # fmt: skip
    wanted = folder.asked(out, chosen, settings)
    work = wanted.cells(out)
    at_once = jobs or cores()
    if adopt:
        _adopt(out, wanted, work, adopt)
    if tables:
        print("\n".join(table_lines(work)))
    if plan:
        print("\n".join(plan_lines(work, Speeds(given, measure(work)), at_once, cells)))
    if plan or tables:
        print(f"next: housemates benchmark --out {out}")
        return
    check_place(out / "benchmark.json")
    folder.write(out, wanted)
    if cluster is None:
        hands = Local(work, at_once)
    else:
        from housemates.grid.cluster import Cluster

        hands = Cluster(work, cluster, jobs, gpus)
        at_once = jobs or hands.cores()
    try:
        with showing(work, given, at_once) as tell:
            progress = run(work, hands, hours, tell)
    finally:
        hands.close()
    print("\n".join(outcome_lines(work, progress)))
    if progress.pausing and not progress.complete:
        print(f"paused - continue with: housemates benchmark --out {out}")
        return
    tell_all(work, films)
    if not progress.complete:
        raise ValueError(f"some cells of {out} failed, see above - when that is mended, the same command does what is missing")


def _adopt(out: Path, wanted: Benchmark, work: Grid, folders: tuple[Path, ...]) -> None:
    """Take finished runs into the grid, and say which."""
    from housemates.grid import folder
    from housemates.grid.adopt import adopt
    from housemates.io import check_place

    check_place(out / "benchmark.json")
    folder.write(out, wanted)
    taken, refused = adopt(work, folders)
    for line in taken:
        print(f"adopted {line}")
    for line in refused:
        print(f"not adopted: {line}")
    print(f"{len(taken)} runs adopted")


def tell_all(grid: Grid, films: bool) -> None:
    """One report over every run of the grid that was evaluated."""
    from housemates.cli.report import report
    from housemates.grid.plan import HOLDOUTS

    done = [cell for cell in grid.cells if cell.kind == "evaluation" and grid.done(cell)]
    if not done:
        print("nothing was evaluated, so there is no report")
        return
    page = grid.root / "report" / "index.html"
    if page.is_file() and all(page.stat().st_mtime > grid.rows(cell).stat().st_mtime for cell in done):
        print(f"report: {page} (nothing was evaluated since)")
        return
    holdouts = (grid.root / HOLDOUTS,) if grid.settings.holdout_seeds else ()
    out, split = grid.root / "report", grid.settings.split
    report(tuple(map(grid.folder, done)), out=out, split=split, films=films, holdouts=holdouts)
