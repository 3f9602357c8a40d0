"""Whether the game measures coordination: a robot blind to its partner must fail often, a clairvoyant one hardly ever.

Both meet the scripted holdouts of each task, at every speed. The speed and the interruption thresholds at which the gap
between the two is wide are the ones worth training and testing at (docs/validity.md).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from housemates.evaluation.clairvoyant import Effort, search
from housemates.homes.home import Home
from housemates.sim.batch import Batch
from housemates.sim.rules import SPEEDS, Rules
from housemates.sim.scripted import script
from housemates.sim.state import COLLISION_END, SUCCESS, TIMEOUT
from housemates.sim.world import World, pack
from housemates.tasks.episodes import SEEDS, Episodes, generate_episodes, with_approach
from housemates.tasks.tasks import TASKS

HOLDOUTS = ("noop", "first_half", "second_half")
"""The scripted partners of the paper (spec 11.1)."""
THRESHOLDS = {"2.5 m": (2.5, 1.5, 1.2, 0.95, 0.8, 0.65), "1.5 m": (1.5, 1.2, 0.95, 0.8, 0.65)}
"""Interruption thresholds compared, by the first warning."""
CLAIRVOYANT_LEAST, GAP_LEAST = 0.92, 0.25
"""A valid game: the clairvoyant robot succeeds at least this often, and the blind one this much less."""


@dataclass(frozen=True)
class Row:
    """One kind of robot with one holdout, over all episodes."""

    task: str
    speed: str
    warning: str
    """Key of THRESHOLDS; empty for the blind robot, which is never interrupted."""
    robot: str
    """`blind` or `clairvoyant`."""
    holdout: str
    success: float
    collision: float
    timeout: float
    steps: float
    """Mean length of the successful episodes, nan if there is none."""


def dev_episodes(task: str, homes: Sequence[Home], count: int) -> Episodes:
    """The first `count` dev episodes; beyond the stored hundred they go on in the same way."""
    made = generate_episodes(task, homes, count, SEEDS["dev"], split="dev", spawns=True)
    return with_approach(made, homes)


def starts(episodes: Episodes, homes: Sequence[Home], world: World, rules: Rules, robot: str) -> Batch:
    """Home k * N + e begins episode e with holdout k as robot 1; robot 0 is scripted if blind, else it is asked."""
    count = len(episodes)
    size = count * len(HOLDOUTS)
    batch = Batch(episodes, homes, size, 2, rules, stored_spawns=True, autoreset=False, world=world)
    for k, name in enumerate(HOLDOUTS):
        batch.script(1, script(name), slice(k * count, (k + 1) * count))
    if robot == "blind":
        batch.script(0, script("solo"))
    batch.reset(np.tile(np.arange(count), len(HOLDOUTS)))
    return batch


def blind(episodes: Episodes, homes: Sequence[Home], world: World, speed: str) -> list[Row]:
    """A lone robot's plan, carried out as if the partner were not there."""
    batch = starts(episodes, homes, world, replace(Rules(), speed=speed), "blind")
    batch.step(np.full((batch.size, 2), -1))
    return _rows(episodes.task, speed, "", "blind", batch.ended.outcome, batch.ended.steps)


def clairvoyant(
    episodes: Episodes, homes: Sequence[Home], world: World, speed: str, warning: str, effort: Effort, seed: int = 0
) -> list[Row]:
    """The robot that searches for a way past its partner."""
    rules = replace(Rules(), speed=speed, thresholds=THRESHOLDS[warning])
    batch = starts(episodes, homes, world, rules, "clairvoyant")
    outcome, steps = search(batch, batch.records.copy(), np.random.default_rng(seed), effort)
    return _rows(episodes.task, speed, warning, "clairvoyant", outcome, steps)


def _rows(task: str, speed: str, warning: str, robot: str, outcome: np.ndarray, steps: np.ndarray) -> list[Row]:
    rows = []
    for name, ends, lengths in zip(HOLDOUTS, np.split(outcome, len(HOLDOUTS)), np.split(steps, len(HOLDOUTS)), strict=True):
        share = [float((ends == end).mean()) for end in (SUCCESS, COLLISION_END, TIMEOUT)]
        mean = float(lengths[ends == SUCCESS].mean()) if share[0] else float("nan")
        rows.append(Row(task, speed, warning, robot, name, *share, mean))
    return rows


def validity(
    homes: Sequence[Home],
    tasks: Sequence[str] = tuple(TASKS),
    speeds: Sequence[str] = tuple(SPEEDS),
    warnings: Sequence[str] = tuple(THRESHOLDS),
    count: int = 200,
    effort: Effort | None = None,
    tell: Callable[[list[Row]], None] = lambda rows: None,
) -> list[Row]:
    """All rows; `tell` is called with each setting's rows as soon as they are known."""
    if count < 1:
        raise ValueError(f"validity needs at least one episode, not {count}")
    rows: list[Row] = []
    for task in tasks:
        episodes = dev_episodes(task, homes, count)
        world = pack(episodes, homes)
        for speed in speeds:
            found = blind(episodes, homes, world, speed)
            for warning in warnings:
                found += clairvoyant(episodes, homes, world, speed, warning, effort or Effort())
            tell(found)
            rows += found
    return rows


@dataclass(frozen=True)
class Verdict:
    """A speed and a first warning, over all tasks and holdouts."""

    speed: str
    warning: str
    blind: float
    clairvoyant: float

    @property
    def valid(self) -> bool:
        """Whether this game tells coordination from its absence."""
        return self.clairvoyant >= CLAIRVOYANT_LEAST and self.clairvoyant - self.blind >= GAP_LEAST


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Mean success per speed and first warning, the widest gap first."""
    found = []
    for speed in dict.fromkeys(r.speed for r in rows):
        low = np.mean([r.success for r in rows if r.speed == speed and r.robot == "blind"])
        for warning in dict.fromkeys(r.warning for r in rows if r.warning):
            high = [r.success for r in rows if r.speed == speed and r.warning == warning]
            found.append(Verdict(speed, warning, float(low), float(np.mean(high))))
    return sorted(found, key=lambda v: (not v.valid, -(v.clairvoyant - v.blind)))


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| task | speed | robot | first warning | partner | success | collision | time-out | steps |", "|" + "---|" * 9]
    for r in rows:
        share = " | ".join(f"{100 * v:.1f} %" for v in (r.success, r.collision, r.timeout))
        line = f"| {r.task} | {r.speed} | {r.robot} | {r.warning or '-'} | {r.holdout} | {share} | {r.steps:.0f} |"
        lines.append(line)
    return "\n".join(lines)


def summary(rows: Sequence[Row]) -> str:
    """The verdicts as a Markdown table."""
    lines = ["| speed | first warning | blind | clairvoyant | gap | valid |", "|" + "---|" * 6]
    for v in verdicts(rows):
        gap = 100 * (v.clairvoyant - v.blind)
        shares = f"{100 * v.blind:.1f} % | {100 * v.clairvoyant:.1f} % | {gap:.1f} points"
        lines.append(f"| {v.speed} | {v.warning} | {shares} | {'yes' if v.valid else 'no'} |")
    return "\n".join(lines)


def save(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as JSON, whole or not at all."""
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent} for {path.name} - make it first")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    with os.fdopen(handle, "w") as file:
        json.dump([asdict(row) for row in rows], file, indent=1)
    Path(temporary).replace(path)
