"""Short experiments that answer one question each: the same methods under several conditions, compared with the first.

Every condition is a grid in a folder of its own, so a study is paused, continued and adopted like `housemates benchmark`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from housemates.config import from_json, to_json
from housemates.grid.plan import Grid, Settings, make_grid
from housemates.io import read_json, write_json
from housemates.methods import find_method
from housemates.plugins import Table

FILE = "study.json"


@dataclass(frozen=True)
class Condition:
    """What is different in some runs of a study."""

    name: str
    """One word: its folder."""
    label: str
    """A few words for tables and figures."""
    change: tuple[str, ...] = ()
    """As for `housemates benchmark`."""
    train_split: str | None = None
    """Homes of training; None for the preset's."""


@dataclass(frozen=True)
class Study:
    """A question, and the runs that answer it."""

    name: str
    question: str
    """In one sentence."""
    methods: tuple[str, ...]
    conditions: tuple[Condition, ...]
    """All are compared with the first."""
    tasks: tuple[str, ...] = ("tidy_house",)
    seen: bool = False
    """Whether agents are evaluated in the homes of their training as well."""


AS_EVER = Condition("base", "as in the preset")
STUDIES: Table[Study] = Table(
    "study",
    "housemates.studies",
    Study,
    (
        Study(
            "draws",
            "Does one draw of partners for all homes, as in the paper's text and its released code, harm SP and PBT?",
            ("sp", "pbt", "bdp"),
            (AS_EVER, Condition("one_draw", "one draw for all homes", ("one_draw=true",))),
        ),
        Study(
            "homes",
            "Do more training homes replace more diverse partners?",
            ("sp", "bdp"),
            tuple(
                Condition(f"homes{count}", f"{count} homes" if count > 1 else "one home", (), f"seeds:0-{count - 1}")
                for count in (60, 1, 3, 10, 300)
            ),
            seen=True,
        ),
        Study(
            "converged",
            "Does a population that was trained eight times as long bring back the gap between the methods?",
            ("sp", "pbt", "bdp"),
            (AS_EVER, Condition("eight", "stage 1 eight times as long", ("stage1_times=8",))),
        ),
        Study(
            "conditions",
            "Does the ranking of the methods depend on speed, reward or interruption?",
            ("sp", "pbt", "bdp"),
            (
                AS_EVER,
                Condition("slow", "slow robots, 400 steps", ("rules.speed=slow", "rules.horizon=400")),
                Condition("literal", "a collision only ends the episode", ("rules.reward.collision=none",)),
                Condition("always", "interrupted at every step below 1.5 m", ("rules.interruption=always",)),
            ),
        ),
    ),
)
"""All studies by name: those of the package, then those that users have added."""


def register_study(study: Study) -> Study:
    """Make a study of your own known by its name; returns it."""
    return STUDIES.register(study)


@dataclass(frozen=True)
class Plan:
    """A study in a folder: which one, and how its runs are made."""

    study: str
    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    settings: Settings
    """Of the first condition; the others add their own changes."""


def plan(root: Path, study: str | None, methods: Sequence[str], tasks: Sequence[str], settings: Settings | None) -> Plan:
    """What is wanted in a folder: what its study.json says, or what was given; another study or other settings are refused."""
    path = root / FILE
    if path.is_file():
        there = from_json(Plan, read_json(path, "restore it from a copy, or choose another --out"), str(path))
        given = {"study": study, "methods": tuple(methods) or None, "tasks": tuple(tasks) or None, "settings": settings}
        for name, value in given.items():
            if value is not None and value != getattr(there, name):
                raise ValueError(f"{root} is a study with other {name} - leave them out, or choose another --out")
        return there
    if study is None:
        raise ValueError(f"which study? - choose one of: {', '.join(STUDIES)}")
    found = STUDIES.find(study)
    for method in methods:
        find_method(method)
    return Plan(study, tuple(methods) or found.methods, tuple(tasks) or found.tasks, settings or Settings())


def write(root: Path, wanted: Plan) -> None:
    """Note what a folder's study is."""
    write_json(root / FILE, to_json(wanted))


def grids(root: Path, wanted: Plan, seeds: Sequence[int]) -> Iterator[tuple[int, Condition, Grid]]:
    """The grids of a study, seed by seed, so that what is done early can be compared: (seed, condition, grid)."""
    study = STUDIES.find(wanted.study)
    pairs = [(method, task) for task in wanted.tasks for method in wanted.methods]
    for seed in seeds:
        for condition in study.conditions:
            settings = condition_settings(wanted.settings, condition)
            yield seed, condition, make_grid(root / condition.name, pairs, (seed,), settings)
            if study.seen and condition.train_split:
                settings = replace(settings, split=condition.train_split)
                yield seed, condition, make_grid(root / condition.name, pairs, (seed,), settings)


def condition_settings(settings: Settings, condition: Condition) -> Settings:
    """The settings of a condition's runs."""
    return replace(settings, change=(*settings.change, *condition.change), train_split=condition.train_split)
