"""Validity of the benchmark: what scripts, a solo robot and a clairvoyant robot reach.

The clairvoyant robot searches with save and restore for decisions that lead past a scripted partner. It obeys the rules of
every other robot, so it shows what a perfect coordination agent could reach. It is a reference, never a partner or a teacher.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from housemates.homes.home import OPENABLE, Home
from housemates.io import write_whole
from housemates.sim.batch import Batch
from housemates.sim.rules import ARRIVE, NAVIGATION_CAP, SPEEDS, Rules
from housemates.sim.scripts import script
from housemates.sim.skills import OPEN_ENOUGH
from housemates.sim.state import COLLISION_END, SUCCESS, TIMEOUT
from housemates.sim.world import World, pack
from housemates.tasks.actions import ENTITIES, MOVE_FORWARD, NAVIGATE, NO_OP, OPEN, PICK, PLACE, REACH, TURN_LEFT, TURN_RIGHT
from housemates.tasks.episodes import Episodes, episode_seed, generate_episodes, with_approach
from housemates.tasks.tasks import TASKS

STRATEGIES = ((0, 1), (1, 0), (0,), (1,))
"""Which objects the robot sees to, in this order; what is not named is left to the partner."""
LENGTH = 72
"""Most decisions of a deviation from the plan."""
KEPT = 12
"""Decision points of a played branch that are kept, newest first overwritten."""
BEST = 8
"""Failed branches of an episode whose decision points are searched next."""
CHUNK = 2048
"""Branches played together."""
SELF = 0


@dataclass(frozen=True)
class Effort:
    """How hard the clairvoyant robot tries."""

    rounds: int = 8
    """Rounds of branches for episodes that are not solved yet."""
    branches: int = 64
    """Branches of one episode in a round."""


@dataclass(frozen=True, eq=False)
class Played:
    """What became of n branches."""

    outcome: np.ndarray
    """[n] int8, as `Step.outcome`."""
    steps: np.ndarray
    """[n] int, length of the episode."""
    merit: np.ndarray
    """[n] float: sub-goals first, then the time until the crash."""
    nodes: np.ndarray
    """[n, KEPT] STATE, decision points of the branch."""
    count: np.ndarray
    """[n] int, how many decision points there were."""


def search(
    batch: Batch,
    roots: np.ndarray,
    rng: np.random.Generator,
    effort: Effort,
    progress: Callable[[float], None] = lambda share: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Play from each of the states roots [N] (STATE); returns the best outcome [N] int8 and its steps [N] int found.

    `batch` is only used for its homes, episodes and rules. Robot 0 searches, the other robots follow their scripts.
    progress is called with the share of the rounds that is done, 0 to 1; the last ones may not be needed.
    """
    outcome, steps = np.zeros(len(roots), np.int8), np.full(len(roots), np.iinfo(np.int32).max)
    pools: list[list[tuple[float, np.ndarray, int]]] = [[] for _ in roots]
    which = np.repeat(np.arange(len(roots)), len(STRATEGIES))
    strategy = np.tile(np.arange(len(STRATEGIES)), len(roots))
    nodes, program = roots[which], np.full((len(which), LENGTH), -1, np.int8)
    for turn in range(effort.rounds + 1):
        for low in range(0, len(which), CHUNK):
            part = slice(low, low + CHUNK)
            played = play(batch, nodes[part], strategy[part], program[part], rng)
            _learn(played, which[part], strategy[part], outcome, steps, pools)
            progress((turn + min(1.0, (low + CHUNK) / len(which))) / (effort.rounds + 1))
        open_ones = np.flatnonzero(outcome != SUCCESS)
        if turn == effort.rounds or not len(open_ones):
            break
        which = np.repeat(open_ones, effort.branches)
        nodes, strategy = np.empty(len(which), roots.dtype), np.empty(len(which), np.int64)
        for row, e in enumerate(which):
            _, kept, mine = pools[e][rng.integers(len(pools[e]))]
            # Late decision points matter most in a crash: draw them more often than early ones.
            nodes[row] = kept[max(rng.integers(len(kept)), rng.integers(len(kept)))]
            strategy[row] = mine if rng.random() < 0.7 else rng.integers(len(STRATEGIES))
        program = np.array([deviation(rng) for _ in which])
    return outcome, steps


def _learn(
    played: Played,
    which: np.ndarray,
    strategy: np.ndarray,
    outcome: np.ndarray,
    steps: np.ndarray,
    pools: list[list[tuple[float, np.ndarray, int]]],
) -> None:
    """Write down the best outcomes, and keep the decision points of the most promising failures of each episode."""
    for row, e in enumerate(which):
        if played.outcome[row] == SUCCESS:
            outcome[e], steps[e] = SUCCESS, min(steps[e], played.steps[row])
            continue
        if outcome[e] != SUCCESS and (outcome[e] == 0 or played.outcome[row] == TIMEOUT):
            outcome[e], steps[e] = played.outcome[row], played.steps[row]
        count = int(played.count[row])
        order = np.arange(max(0, count - KEPT), count) % KEPT
        if count:
            pools[e].append((float(played.merit[row]), played.nodes[row, order].copy(), int(strategy[row])))
    for e in np.unique(which):
        pools[e].sort(key=lambda item: -item[0])
        del pools[e][BEST:]


def deviation(rng: np.random.Generator) -> np.ndarray:
    """A random short detour, int8 [LENGTH] padded with -1: wait, go somewhere else first, or step aside."""
    wait = [NO_OP] * int(np.exp(rng.uniform(0, np.log(50))))
    kind = rng.integers(4)
    if kind == 0:
        actions = wait
    elif kind == 1:
        actions = [NAVIGATE + int(rng.integers(len(ENTITIES)))] + (wait if rng.random() < 0.5 else [])
    else:
        actions = []
        for _ in range(kind - 1):
            actions += [int(rng.choice([TURN_LEFT, TURN_RIGHT]))] * int(rng.integers(0, 14))
            actions += [MOVE_FORWARD] * int(rng.integers(1, 13))
        actions += wait if rng.random() < 0.5 else []
    row = np.full(LENGTH, -1, np.int8)
    row[: len(actions)] = actions[:LENGTH]
    return row


def play(batch: Batch, nodes: np.ndarray, strategy: np.ndarray, program: np.ndarray, rng: np.random.Generator) -> Played:
    """Play branches to their end: from nodes [n] through program [n, LENGTH], then straight on by strategy [n]."""
    n = len(nodes)
    game = Batch(
        batch.episodes, batch.homes, n, batch.robots, batch.rules, autoreset=False, world=batch.world, robot=batch.robot
    )
    game.records[:] = nodes
    at, chosen = np.full(n, -1), np.full(n, -1)
    kept, count = np.empty((n, KEPT), batch.records.dtype), np.zeros(n, np.int64)
    actions = np.full((n, batch.robots), -1)
    rows = np.arange(n)
    while True:
        asked = game.decide[:, SELF]
        if not asked.any():
            break
        s = game.state
        there = game.world.homes["cell_start"][s.home] + _approach_cell(game)
        away = np.linalg.norm(game.world.cell_xz[there] - s.pose[:, SELF, :2], axis=1) > ARRIVE
        again = (chosen >= 0) & (chosen < PICK) & away & (s.elapsed[:, SELF] < NAVIGATION_CAP)
        at += asked & ~again
        scripted = program[rows, np.minimum(at, LENGTH - 1)].astype(np.int64)
        scripted[at >= LENGTH] = -1
        chosen = np.where(asked, np.where(scripted >= 0, scripted, useful_action(game, strategy)), chosen)
        # While it waits or steps aside, every decision is much like the one before: keep a few of them.
        keep = np.flatnonzero(asked & ((chosen < NO_OP) | (rng.random(n) < 0.1)))
        kept[keep, count[keep] % KEPT] = game.records[keep]
        count[keep] += 1
        actions[:, SELF] = chosen
        game.step(actions)
    ended = game.ended
    subgoals = (ended.done_by >= 0).sum(axis=1)
    merit = 1000.0 * subgoals + np.where(ended.outcome == COLLISION_END, ended.steps, 0)
    return Played(ended.outcome.copy(), ended.steps.copy(), merit, kept, count)


def _approach_cell(game: Batch) -> np.ndarray:
    """Floor cell [E] of each robot's running destination."""
    first = game.world.homes["approach_start"][game.state.home]
    return game.world.approach_cell[first + np.maximum(game.state.destination[:, SELF], 0)]


def useful_action(game: Batch, strategy: np.ndarray) -> np.ndarray:
    """The next action [E] of a robot that sees to the objects of its strategy and nothing else."""
    s, world = game.state, game.world
    rows = np.arange(game.size)
    goal = world.episodes["goal"][s.episode]
    order = np.array([(*objects, -1)[:2] for objects in STRATEGIES])[strategy]
    action = np.full(game.size, NO_OP)
    for i in order.T[::-1]:
        here = np.maximum(i, 0)
        lies = (s.rest[rows, here] != goal[rows, here]).any(axis=1) & ~(s.held == here[:, None]).any(axis=1) & (i >= 0)
        box = np.maximum(s.inside[rows, here], 0)
        closed = (s.inside[rows, here] >= 0) & (s.door[rows, box] <= np.array(OPEN_ENOUGH)[box])
        handle = world.homes["handle"][s.home, box]
        opening = np.where(_near(s, handle), OPEN + box, NAVIGATE + len(ENTITIES) - len(OPENABLE) + box)
        picking = np.where(_near(s, s.thing[rows, here]), PICK + here, NAVIGATE + here)
        action = np.where(lies, np.where(closed, opening, picking), action)
    held = np.maximum(s.held[:, SELF], 0)
    placing = np.where(_near(s, goal[rows, held]), PLACE + held, NAVIGATE + 2 + held)
    return np.where(s.held[:, SELF] >= 0, placing, action)


def _near(s, points: np.ndarray) -> np.ndarray:
    """Whether the robot's skills reach world points [E, 3]."""
    flat = ((points[:, [0, 2]] - s.pose[:, SELF, :2]) ** 2).sum(axis=1)
    return flat + points[:, 1] ** 2 <= REACH * REACH


HOLDOUTS = ("noop", "first_half", "second_half")
"""The scripted partners of the paper (spec 11.1)."""
BLIND = {"blind": ("solo", "solo", "solo"), "blind half": ("solo", "second_half", "first_half")}
"""What robots that never look at their partner do with each holdout: all the work, or what is left."""
NOBODY = "nobody"
"""The partner of the robot that is alone."""
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
    """`alone` (does everything, without a partner), `blind` (does everything), `blind half` (does the half its partner does not
    do) or `clairvoyant`."""
    holdout: str
    success: float
    collision: float
    timeout: float
    steps: float
    """Mean length of the successful episodes, nan if there is none."""


def first_episodes(task: str, split: str, homes: Sequence[Home], count: int) -> Episodes:
    """The first `count` episodes of a split, with starts; beyond those that are stored they go on in the same way."""
    made = generate_episodes(task, homes, count, episode_seed(split), split=split, spawns=True)
    return with_approach(made, homes)


def alone(episodes: Episodes, homes: Sequence[Home], world: World, speed: str) -> list[Row]:
    """The scripted robot that does the whole task, with nobody else in the home: whether the home can be worked in at all."""
    rules = replace(Rules(), speed=speed)
    batch = Batch(episodes, homes, len(episodes), 1, rules, stored_spawns=True, autoreset=False, world=world)
    batch.script(0, script("solo"))
    batch.reset(np.arange(len(episodes)))
    batch.step(np.full((batch.size, 1), -1))
    return [_row(episodes.task, speed, "", "alone", NOBODY, batch.ended.outcome, batch.ended.steps)]


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
    parts = zip(HOLDOUTS, np.split(outcome, len(HOLDOUTS)), np.split(steps, len(HOLDOUTS)), strict=True)
    return [_row(task, speed, warning, robot, name, ends, lengths) for name, ends, lengths in parts]


def _row(task: str, speed: str, warning: str, robot: str, partner: str, outcome: np.ndarray, steps: np.ndarray) -> Row:
    share = [float((outcome == end).mean()) for end in (SUCCESS, COLLISION_END, TIMEOUT)]
    mean = float(steps[outcome == SUCCESS].mean()) if share[0] else float("nan")
    return Row(task, speed, warning, robot, partner, *share, mean)


def validity(
    homes: Sequence[Home],
    tasks: Sequence[str] = tuple(TASKS),
    speeds: Sequence[str] = tuple(SPEEDS),
    warnings: Sequence[str] = tuple(THRESHOLDS),
    count: int = 200,
    effort: Effort | None = None,
    tell: Callable[[list[Row]], None] = lambda rows: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    split: str = "dev",
) -> list[Row]:
    """All rows of the homes of a split; `tell` is called with each setting's rows as soon as they are known.

    warnings: none leaves the clairvoyant robot out.

    progress(done, total) is called in parts of a thousand for each search of the clairvoyant robot, which take nearly all the
    time.
    """
    if count < 1:
        raise ValueError(f"validity needs at least one episode, not {count}")
    rows: list[Row] = []
    searched, total = 0, SHARES * len(tasks) * len(speeds) * len(warnings)
    for task in tasks:
        episodes = first_episodes(task, split, homes, count)
        world = pack(episodes, homes)
        for speed in speeds:
            found = alone(episodes, homes, world, speed)
            found += [row for robot in BLIND for row in blind(episodes, homes, world, speed, robot)]
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
    write_whole(path, text.encode())
