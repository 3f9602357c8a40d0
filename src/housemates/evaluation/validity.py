"""Whether the game measures coordination: a robot blind to its partner must fail often, a clairvoyant one hardly ever.

Both meet the scripted holdouts of each task, at every speed. The speed and the interruption thresholds at which the gap
between the two is wide are the ones worth training and testing at (docs/validity.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from housemates.evaluation.clairvoyant import Effort, search
from housemates.homes.home import Home
from housemates.kernels.files import write_whole
from housemates.sim.batch import Batch
from housemates.sim.rules import SPEEDS, Rules
from housemates.sim.scripted import script
from housemates.sim.state import COLLISION_END, SUCCESS, TIMEOUT
from housemates.sim.world import World, pack
from housemates.tasks.episodes import SEEDS, Episodes, generate_episodes, with_approach
from housemates.tasks.tasks import TASKS

HOLDOUTS = ("noop", "first_half", "second_half")
"""The scripted partners of the paper (spec 11.1)."""
BLIND = {"blind": ("solo", "solo", "solo"), "blind half": ("solo", "second_half", "first_half")}
"""What robots that never look at their partner do with each holdout: all the work, or what is left."""
THRESHOLDS = {"2.5 m": (2.5, 1.5, 1.2, 0.95, 0.8, 0.65), "1.5 m": (1.5, 1.2, 0.95, 0.8, 0.65)}
"""Interruption thresholds compared, by the first warning."""
CLAIRVOYANT_LEAST, GAP_LEAST = 0.92, 0.25
"""A valid game: the clairvoyant robot succeeds at least this often, and the blind one this much less."""

SHARES = 1000
"""Parts of a search in which progress is told."""


@dataclass(frozen=True)
class Row:
    """One kind of robot with one holdout, over all episodes."""

    task: str
    speed: str
    warning: str
    """Key of THRESHOLDS; empty for the blind robot, which is never interrupted."""
    robot: str
    """`blind` (does everything), `blind half` (does the half its partner does not do) or `clairvoyant`."""
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
    """Home k * N + e begins episode e with holdout k as robot 1; robot 0 is scripted if it is in BLIND, else asked."""
    count = len(episodes)
    size = count * len(HOLDOUTS)
    batch = Batch(episodes, homes, size, 2, rules, stored_spawns=True, autoreset=False, world=world)
    for k, name in enumerate(HOLDOUTS):
        block = slice(k * count, (k + 1) * count)
        batch.script(1, script(name), block)
        if robot in BLIND:
            batch.script(0, script(BLIND[robot][k]), block)
    batch.reset(np.tile(np.arange(count), len(HOLDOUTS)))
    return batch


def blind(episodes: Episodes, homes: Sequence[Home], world: World, speed: str, robot: str = "blind") -> list[Row]:
    """A plan of BLIND, carried out as if the partner were not there."""
    batch = starts(episodes, homes, world, replace(Rules(), speed=speed), robot)
    batch.step(np.full((batch.size, 2), -1))
    return _rows(episodes.task, speed, "", robot, batch.ended.outcome, batch.ended.steps)


def clairvoyant(
    episodes: Episodes,
    homes: Sequence[Home],
    world: World,
    speed: str,
    warning: str,
    effort: Effort,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Row]:
    """The robot that searches for a way past its partner."""
    rules = replace(Rules(), speed=speed, thresholds=THRESHOLDS[warning])
    batch = starts(episodes, homes, world, rules, "clairvoyant")
    outcome, steps = search(batch, batch.records.copy(), np.random.default_rng(seed), effort, progress)
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
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Row]:
    """All rows; `tell` is called with each setting's rows as soon as they are known.

    progress(done, total) is called in parts of a thousand for each search of the clairvoyant robot, which take nearly all the
    time.
    """
    if count < 1:
        raise ValueError(f"validity needs at least one episode, not {count}")
    rows: list[Row] = []
    searched, total = 0, SHARES * len(tasks) * len(speeds) * len(warnings)
    for task in tasks:
        episodes = dev_episodes(task, homes, count)
        world = pack(episodes, homes)
        for speed in speeds:
            found = [row for robot in BLIND for row in blind(episodes, homes, world, speed, robot)]
            for warning in warnings:
                before = SHARES * searched
                found += clairvoyant(
                    episodes, homes, world, speed, warning, effort or Effort(),
                    progress=lambda share, before=before: progress(before + int(SHARES * share), total),
                )  # fmt: skip
                searched += 1
                progress(SHARES * searched, total)
            tell(found)
            rows += found
    return rows


@dataclass(frozen=True)
class Verdict:
    """A speed and a first warning, over all tasks and holdouts."""

    speed: str
    warning: str
    blind: float
    """Mean success."""
    clairvoyant: float
    """Mean success."""
    least: float
    """Success of the clairvoyant robot in the task where it is lowest (mean of the holdouts)."""
    gap: float
    """Clairvoyant less blind, in the task where it is smallest."""

    @property
    def valid(self) -> bool:
        """Whether this game tells coordination from its absence, in every task."""
        return self.least >= CLAIRVOYANT_LEAST and self.gap >= GAP_LEAST


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """One per speed and first warning, valid ones and then the widest gap first."""
    found = []
    rows = [r for r in rows if r.robot in ("blind", "clairvoyant")]
    for speed in dict.fromkeys(r.speed for r in rows):
        for warning in dict.fromkeys(r.warning for r in rows if r.warning):
            tasks = dict.fromkeys(r.task for r in rows)
            low, high = (
                np.array([np.mean([r.success for r in rows if (r.task, r.speed, r.warning) == (t, speed, w)]) for t in tasks])
                for w in ("", warning)
            )
            means = float(low.mean()), float(high.mean())
            found.append(Verdict(speed, warning, *means, float(high.min()), float((high - low).min())))
    return sorted(found, key=lambda v: (not v.valid, -v.gap))


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
    head = "| speed | first warning | blind | clairvoyant | clairvoyant, worst task | gap, worst task | valid |"
    lines = [head, "|" + "---|" * 7]
    for v in verdicts(rows):
        shares = " | ".join(f"{100 * share:.1f} %" for share in (v.blind, v.clairvoyant, v.least))
        gap = f"{100 * v.gap:.1f} points"
        lines.append(f"| {v.speed} | {v.warning} | {shares} | {gap} | {'yes' if v.valid else 'no'} |")
    return "\n".join(lines)


def save(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as JSON, whole or not at all."""
    text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
    write_whole(path, lambda file: file.write(text.encode()))
