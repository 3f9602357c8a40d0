"""`housemates homes ...`: look at homes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional
from tyro.constructors import PrimitiveConstructorSpec

if TYPE_CHECKING:
    from housemates.homes.home import Home
    from housemates.reports.labels import Scene
    from housemates.tasks.episodes import Episodes


def word(metavar: str, resolve: Callable[[str], str]) -> PrimitiveConstructorSpec[Any]:
    """What the parser does with a word that names something open to users: resolve(text) gives its name."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: resolve(words[0]),
        is_instance=lambda value: isinstance(value, str),
        str_from_instance=lambda value: [value],
    )


def task_name(text: str) -> str:
    """The name of a task; one that is given as package.module:NAME is registered."""
    from housemates.tasks.tasks import resolve_task

    return resolve_task(text).name


TaskName = Annotated[str, word("set_table|tidy_house|prepare_groceries|MODULE:NAME", task_name)]


def split_name(text: str) -> str:
    """The name of homes; a source that is given as package.module:NAME is registered."""
    from housemates.homes.sources import resolve_homes

    return resolve_homes(text)


SPLIT_WORDS = "train|dev|eval|test|varied|kitchens|replicacad[-train|-dev|-eval]|folder:PATH|seeds:A-B|MODULE:NAME"
SplitName = Annotated[str, word(SPLIT_WORDS, split_name)]


def observations_name(text: str) -> str:
    """The word for observations; sensors that are given as package.module:NAME are registered."""
    from housemates.sim.sensors import resolve_sensors

    return resolve_sensors(text)


ObservationsName = Annotated[str, word("state|depth|blind|predicates|rgb|NAME+NAME+...", observations_name)]


def show(
    home: Positional[str] = "train/00",
    /,
    task: TaskName | None = None,
    episode: int = 0,
    out: Path = Path("floor_plan.png"),
    folder: Path | None = None,
    split: SplitName | None = None,
) -> None:
    """Draw a labelled floor plan as a PNG, with an episode if a task is given.

    Args:
        home: A home's name: train/00 ... train/59, dev/.., eval/.., test/.., or a ReplicaCAD scene (v3_sc0_staging_00).
        task: Show an episode of this task: objects, goals, paths, robots.
        episode: Which episode, counted among those that play in this home.
        out: The picture.
        folder: Where ReplicaCAD is, if not in the usual places (see `housemates data replicacad`).
        split: Where homes of your own come from, such as folder:my_homes.
    """
    from housemates.reports.floor_plan import check_drawing, draw_floor_plan

    check_drawing(out)
    found = find_home(home, folder, split)
    draw_floor_plan(found, out, find_scene(found, task, episode, split) if task else None)
    for note in found.notes:
        print(f"note: {note}")
    print(f"{found.name}: {out} ({out.stat().st_size / 1000:.0f} kB)")


def stats(split: SplitName | None = None) -> None:
    """Print the homes' statistics beside those of ReplicaCAD.

    Args:
        split: Only the homes of one split; all 112 if not given.
    """
    print_statistics(load_homes(split))


def sheet(out: Path = Path("homes.png"), count: int = 12, split: SplitName | None = None) -> None:
    """Draw a contact sheet of small floor plans.

    Args:
        out: The picture.
        count: How many homes.
        split: Only homes of one split; taken evenly from train, dev, eval and test if not given.
    """
    from housemates.reports.floor_plan import check_drawing, contact_sheet

    check_drawing(out)
    homes = load_homes(split)
    if not 1 <= count <= len(homes):
        raise ValueError(f"a sheet of {count} homes cannot be drawn: choose --count from 1 to {len(homes)}")
    contact_sheet([homes[i * len(homes) // count] for i in range(count)], out)
    print(f"{out} ({out.stat().st_size / 1000:.0f} kB)")


def find_home(name: str, folder: Path | None = None, source: str | None = None) -> Home:
    """A procedural home by split and number (`train/07`), one of a source by its name, or a ReplicaCAD scene by its name."""
    from housemates.homes.generate import SPLITS, split_size

    split, _, number = name.partition("/")
    if number or source:
        homes = load_homes(source or (f"seeds:{number}" if split == "seeds" else split))
        known = {home.name: home for home in homes}
        if name not in known:
            raise ValueError(f"no home '{name}' - {source or split} has {homes[0].name} to {homes[-1].name}")
        return known[name]
    if split in SPLITS:
        raise ValueError(f"'{name}' is a split, not a home - name one of its homes, such as {name}/00")
    from housemates.homes.replicacad.download import AssetError, find_replicacad
    from housemates.homes.replicacad.scene import load_replicacad

    try:
        return load_replicacad(folder or find_replicacad(), name)
    except AssetError as error:
        if folder is not None or not str(error).startswith(("No scene", "No ReplicaCAD")):
            raise
        there = ", ".join(f"{one}/00 to {one}/{split_size(one)[0] - 1:02d}" for one in SPLITS)
        raise ValueError(f"no home '{name}' - there are {there}; for a scene of ReplicaCAD: {error}") from error


def find_scene(home: Home, task: str, number: int, source: str | None = None) -> Scene:
    """The number-th episode of a task that plays in this home (of the homes `source`, if given), ready for drawing."""
    from housemates.reports.labels import scene_of
    from housemates.tasks.episodes import SIZES, generate_episodes

    if number < 0:
        raise ValueError(f"episode {number} does not exist: episodes are counted from 0")
    split = source or home.name.partition("/")[0]
    if source or split in SIZES:
        found = load_set(task, split, load_homes(split))
        rows = [row for row in range(len(found)) if found.homes[found.home[row]] == home.name]
    else:
        found = generate_episodes(task, [home], number + 1, seed=0, spawns=True)
        rows = list(range(len(found)))
    if number >= len(rows):
        raise ValueError(f"{home.name} has {len(rows)} episodes of {task}: choose --episode from 0 to {len(rows) - 1}")
    return scene_of(home, found.episode(rows[number]))


def load_homes(split: str | None) -> list[Home]:
    """The homes of one split, or of the paper's and dev; with progress where they must be generated first."""
    from housemates.envs import loading
    from housemates.homes.generate import PAPER

    return [home for name in ([split] if split else PAPER) for home in loading.load_homes(name)]


def load_set(task: str, split: str, homes: list[Home]) -> Episodes:
    """The episodes of a task in a split; with progress where paths or episodes must be computed first."""
    from housemates.envs import loading

    return loading.load_set(task, split, homes)


def print_statistics(homes: list[Home]) -> None:
    """A table: each number of these homes beside ReplicaCAD's."""
    from rich.console import Console
    from rich.table import Table

    from housemates.homes.statistics import statistics_table

    table = Table(title=f"{len(homes)} homes", title_justify="left")
    table.add_column("")
    table.add_column("these homes", justify="right")
    table.add_column("ReplicaCAD", justify="right")
    for name, measured, reference in statistics_table(homes):
        table.add_row(name, f"{measured:.2f}", f"{reference:.2f}")
    Console().print(table)
