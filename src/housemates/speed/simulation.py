"""Speed of simulation steps and of depth pictures.

A picture counts from state to bytes (inverse depth): poses of doors, robots and objects, then drawing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from housemates.homes.replicacad.scene import load_replicacad, replicacad_scenes
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead
from housemates.sim.batch import Batch
from housemates.speed.measure import Job
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import generate_episodes, with_approach

SHUFFLE = 20
"""Decisions that robots take at random before pictures are drawn."""


def head_depth(batch: Batch, what: str, group: str) -> Job:
    """Depth pictures of all robots of a batch."""
    rng = np.random.default_rng(0)
    for _ in range(SHUFFLE):
        batch.step(rng.integers(len(ACTIONS), size=(batch.size, batch.robots)))
    out = batch.observe("depth")
    which = np.ones((batch.size, batch.robots), np.bool_)

    def work() -> int:
        batch.observe("depth", out, which)
        return which.size

    return Job(f"{what} {batch.pixels}x{batch.pixels}", group, "frames/s", work, batch.threads)


def real_batches(folder: Path, sizes: tuple[int, ...], homes: int) -> list[Batch]:
    """Batches in a real ReplicaCAD home, drawn as triangles, one for each picture size."""
    home = load_replicacad(folder, replicacad_scenes(folder)[0])
    episodes = with_approach(generate_episodes("tidy_house", [home], homes, seed=0), [home])
    return [Batch(episodes, [home], homes, pixels=size) for size in sizes]


CALLS = 16 * 1024
"""Homes times calls of `Batch.step` in one measured piece of work, about a tenth of a second."""
ROUND = 64
"""Random actions are drawn in advance, for this many calls."""


def without_pictures(batch: Batch) -> Job:
    """Steps of a batch whose robots read their state and decide at random.

    The same steps every time, whatever the number of threads: some take longer than others.
    """
    actions = _actions(batch)
    for some in actions:
        batch.step(some)
    state, start = batch.observe("state"), batch.save()

    def work() -> int:
        batch.restore(start)
        steps = -int(batch.state.clock.sum())
        for some in actions[: max(1, CALLS // batch.size)]:
            step = batch.step(some)
            steps += int(batch.ended.steps[step.done].sum())
            batch.observe("state", state, step.decide)
        return steps + int(batch.state.clock.sum())

    return Job(f"steps, {batch.size:,} homes", "steps", "steps/s", work, batch.threads)


def with_pictures(batch: Batch, every_step: bool) -> Job:
    """Steps of a batch with depth pictures: of all robots after every step, or only of those that must decide."""
    actions, calls = _actions(batch), 0
    depth = np.zeros((batch.size, batch.robots, batch.pixels, batch.pixels, 1), np.uint8)
    everybody = np.ones((batch.size, batch.robots), np.bool_)

    def work() -> int:
        nonlocal calls
        before = int(batch.state.clock.sum())
        step = batch.step(actions[calls % ROUND], max_ticks=int(every_step))
        batch.observe("depth", depth, everybody if every_step else step.decide)
        calls += 1
        return int(batch.state.clock.sum()) - before + int(batch.ended.steps[step.done].sum())

    what = f"all {batch.robots} cameras every step" if every_step else "cameras of deciding robots"
    return Job(f"steps, {what}, {batch.pixels}x{batch.pixels}", "steps", "steps/s", work, batch.threads)


def look_ahead(batch: Batch) -> Job:
    """Random decisions of robots that look ahead, all of them checked, however far their partner is."""
    rng, shape = np.random.default_rng(0), (batch.size, batch.robots)
    for _ in range(SHUFFLE):
        batch.step(rng.integers(len(ACTIONS), size=shape))
    planner, rows = Planner(batch, LookAhead(near=100.0)), np.arange(batch.size * batch.robots)
    logits, wanted = rng.normal(size=(len(rows), len(ACTIONS))), rng.integers(len(ACTIONS), size=len(rows))
    decided = np.full(shape, -1)

    def work() -> int:
        planner.forget()
        planner.revise(rows, logits, wanted, decided)
        return len(rows)

    return Job("decisions with look-ahead", "other", "decisions/s", work)


def _actions(batch: Batch) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(len(ACTIONS), size=(ROUND, batch.size, batch.robots))
