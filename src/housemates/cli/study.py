"""`housemates study`: one question, the same methods under several conditions, one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from housemates.cli.homes import SplitName, TaskName

if TYPE_CHECKING:
    from housemates.grid.studies import Plan


def study(
    out: Path,
    name: str | None = None,
    methods: tuple[str, ...] = (),
    tasks: tuple[TaskName, ...] = (),
    seeds: tuple[int, ...] = (0, 1, 2),
    preset: str | None = None,
    decisions: int | None = None,
    steps: int | None = None,
    change: tuple[str, ...] | None = None,
    split: SplitName | None = None,
    episodes: int | None = None,
    jobs: int | None = None,
    hours: float | None = None,
    plan: bool = False,
) -> None:
    """Answer one question with short runs: train and evaluate some methods under several conditions, and compare.

    Kill it whenever you like: the same command (or `housemates study --out FOLDER` alone) does what is missing and nothing
    twice. Conditions share nothing but the held-out partners of the package.

    Args:
        out: The folder of everything; each condition has a folder in it.
        name: draws (one draw of partners for all homes), homes (1 to 300 training homes), converged (populations trained eight
            times as long), conditions (slow robots, literal reward, interruption at every step), or one of your own.
        methods: These methods instead of the study's.
        tasks: These tasks instead of the study's.
        seeds: One whole training of every method and condition each.
        preset: How long and with which network (default state).
        decisions: How long to train each stage; default: the preset's.
        steps: The same in simulation steps of all homes.
        change: Settings to change under all conditions, as for `housemates benchmark`.
        split: Homes of the evaluation (default dev: a study is for choosing).
        episodes: Of the evaluation (default 100).
        jobs: Cores in use at a time; default: all cores here.
        hours: Pause after so long, cleanly.
        plan: Print the conditions and how long they take, and do nothing.
    """
    import time
    from dataclasses import replace
    from functools import partial

    from housemates.grid import studies
    from housemates.grid.estimate import Speeds, finish, hours_left, measure, outcome_lines, showing
    from housemates.grid.plan import Settings
    from housemates.grid.run import Local, cores, run
    from housemates.io import check_place
    from housemates.methods import resolve_method

    given = {"preset": preset, "decisions": decisions, "steps": steps, "change": change, "split": split, "episodes": episodes}
    given = {key: value for key, value in given.items() if value is not None}
    default = Settings(preset="state", holdout_seeds=(), split="dev")
    for key, value in (("hours", hours), ("jobs", jobs)):
        if value is not None and value <= 0:
            raise ValueError(f"--{key} {value} - it must be positive")
    settings = replace(default, **given) if given or not (out / studies.FILE).is_file() else None
    wanted = studies.plan(out, name, [resolve_method(method) for method in methods], tasks, settings)
    found, at_once = studies.STUDIES.find(wanted.study), jobs or cores()
    print(found.question)
    works = list(studies.grids(out, wanted, seeds))
    if plan:
        for seed, condition, work in works:
            if work.settings.split != wanted.settings.split:
                continue  # the same runs, evaluated elsewhere
            speeds = Speeds({}, measure(work))
            left = finish(work, partial(hours_left, work, speeds=speeds), at_once)
            print(f"seed {seed}, {condition.label}, homes of {work.settings.split}: {left:.2f} hours left on {at_once} cores")
        print(f"next: housemates study --out {out}")
        return
    check_place(out / studies.FILE)
    studies.write(out, wanted)
    until = None if hours is None else time.monotonic() + 3600 * hours
    for seed, condition, work in works:
        left = None if until is None else (until - time.monotonic()) / 3600
        if left is not None and left <= 0:
            break
        print(f"seed {seed}, {condition.label}, homes of {work.settings.split}")
        hands = Local(work, at_once)
        with showing(work, {}, at_once) as tell:
            progress = run(work, hands, left, tell)
        if not progress.complete:
            print("\n".join(outcome_lines(work, progress)))
            if not progress.pausing:
                raise ValueError(f"some cells of {work.root} failed, see above - when mended, the same command goes on")
            print(f"paused - continue with: housemates study --out {out}")
            break
    show(out, wanted, seeds)


def show(out: Path, wanted: Plan, seeds: tuple[int, ...]) -> None:
    """Print and write the tables and figures of everything that is done."""
    from housemates.evaluation.metrics import rows_of
    from housemates.evaluation.rows import read_rows
    from housemates.grid import studies
    from housemates.io import write_whole
    from housemates.reports.study import draw_study, study_table
    from housemates.reports.tables import console, markdown

    unseen, seen = {}, {}
    for _, condition, work in studies.grids(out, wanted, seeds):
        files = [work.rows(cell) for cell in work.cells if cell.kind == "evaluation" and work.done(cell)]
        if files:
            where = unseen if work.settings.split == wanted.settings.split else seen
            where.setdefault(condition.label, []).extend(files)
    texts = []
    for words, files in ((wanted.settings.split, unseen), ("training", seen)):
        rows = {name: rows_of(read_rows(places)) for name, places in files.items()}
        for task in wanted.tasks if rows else ():
            table = study_table(rows, task, words, paired=words != "training")
            print(console(table))
            texts.append(markdown(table))
            for place in draw_study(rows, task, words, out):
                print(place)
    if not texts:
        print("nothing was evaluated yet")
        return
    text = f"{studies.STUDIES.find(wanted.study).question}\n\n" + "\n\n".join(texts) + "\n"
    write_whole(out / "study.md", text.encode())
    print(f"tables: {out / 'study.md'}")
