"""`housemates prepare`, `episodes`, `data` and `validity`: make, check and fetch what robots train and are tested on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set, print_statistics
from housemates.envs.loading import progress


def replicacad(folder: Path | None = None) -> None:
    """Download the ReplicaCAD homes from the Hugging Face Hub; prints their licence.

    Args:
        folder: Where to put them; default: replica_cad in $HOUSEMATES_DATA, else in ./data.
    """
    from housemates.homes.replicacad.download import download_replicacad

    print(download_replicacad(folder))


def where_is_replicacad() -> str:
    """The folder with ReplicaCAD, or how to get one."""
    from housemates.homes.replicacad.download import AssetError, find_replicacad

    try:
        return str(find_replicacad())
    except AssetError as error:
        return str(error)


def episodes(task: TaskName | None = None, split: SplitName | None = None) -> None:
    """Generate episodes where they are missing, check every rule and print counts and sizes.

    Args:
        task: Only this task.
        split: Only this split.
    """
    print_episodes([task] if task else None, [split] if split else None)


def print_episodes(tasks: list[str] | None, splits: list[str] | None) -> None:
    """Load (or make) and check episode sets, print a line for each; an error if one breaks a rule."""
    from housemates.homes.generate import PAPER
    from housemates.tasks.tasks import TASKS
    from housemates.tasks.validate import validate

    broken = []
    print(f"{'task':<18} {'split':<6} {'episodes':>8} {'homes':>5} {'size':>8} {'load or make':>12} {'check':>8}  rules")
    for split in splits or PAPER:
        homes = load_homes(split)
        for task in tasks or TASKS:
            started = time.perf_counter()
            found = load_set(task, split, homes)
            loaded = time.perf_counter()
            with progress(f"checking {task}, {split}", at_once=True):
                problems = validate(found, homes)
            checked = time.perf_counter() - loaded
            size = sum(array.nbytes for array in found.arrays().values()) / 1e6
            verdict = "all hold" if not problems else f"{len(problems)} broken"
            print(
                f"{task:<18} {split:<6} {len(found):>8} {len(homes):>5} {size:>5.1f} MB "
                f"{loaded - started:>10.1f} s {checked:>6.1f} s  {verdict}"
            )
            broken += problems
    if broken:
        raise ValueError(f"{len(broken)} broken rules, the first: {broken[0]}")


def prepare(out: Path = Path("runs/prepare")) -> None:
    """Generate and check all homes and episodes, print their statistics and draw one of each.

    Training does what it needs of this by itself; this command does all of it, checks it and shows it.

    Args:
        out: Folder for the pictures.
    """
    from housemates.cli.homes import find_scene
    from housemates.reports.floor_plan import check_drawing, contact_sheet, draw_floor_plan

    check_drawing(out / "homes.png")
    print("Preparing homes and episodes.")
    started = time.perf_counter()
    homes = load_homes(None)
    print(f"{len(homes)} homes in {time.perf_counter() - started:.1f} s")
    print_statistics(homes)
    print_episodes(None, None)
    drawn = homes[0]
    draw_floor_plan(drawn, out / "floor_plan.png", find_scene(drawn, "tidy_house", 0))
    contact_sheet([homes[i * len(homes) // 12] for i in range(12)], out / "homes.png")
    print(f"Pictures: {out / 'floor_plan.png'} and {out / 'homes.png'}")


SpeedName = Literal["slow", "middle", "fast"]


def validity(
    task: TaskName | None = None,
    speed: SpeedName | None = None,
    split: SplitName = "dev",
    episodes: int = 200,
    search: bool = True,
    rounds: int = 8,
    branches: int = 64,
    json: Path | None = None,
) -> None:
    """Compare a robot blind to its partner with a clairvoyant one, both with the scripted partners, and with a robot alone.

    Args:
        task: Only this task.
        speed: Only this speed.
        split: Where the homes come from.
        episodes: Episodes of each task; beyond those of the split they go on in the same way.
        search: Also let the clairvoyant robot play, whose search takes nearly all the time.
        rounds: Rounds in which the clairvoyant robot searches episodes it has not solved yet.
        branches: Branches it tries in one round of an episode.
        json: Also write the rows to this file.
    """
    from housemates.evaluation.validity import THRESHOLDS, Effort, Row, save, summary, table, validity
    from housemates.homes.navigation import prepare
    from housemates.io import check_place
    from housemates.sim.rules import SPEEDS
    from housemates.tasks.tasks import TASKS

    if rounds < 0 or branches < 1:
        raise ValueError(f"--rounds must be 0 or more and --branches 1 or more, not {rounds} and {branches}")
    if json is not None:
        check_place(json)
    head, _, _ = table([]).partition("\n")

    def tell(rows: list[Row]) -> None:
        print(table(rows).split("\n", 2)[2], flush=True)

    homes = load_homes(split)
    with progress(f"shortest paths in the homes of {split}") as report:
        prepare(homes, progress=report)
    print(head + "\n|" + "---|" * (head.count("|") - 1))
    with progress("games of the clairvoyant robot, in thousandths") as report:
        rows = validity(
            homes,
            tasks=(task,) if task else tuple(TASKS),
            speeds=(speed,) if speed else tuple(SPEEDS),
            warnings=tuple(THRESHOLDS) if search else (),
            count=episodes,
            effort=Effort(rounds, branches),
            tell=tell,
            progress=report,
            split=split,
        )
    if search:
        print("\n" + summary(rows))
    if json is not None:
        save(rows, json)
        print(f"\n{json}")
