"""What must hold in every step, whatever robots do."""

import numpy as np
import pytest

from helpers.batches import EPISODES, make
from housemates.homes.generate import generate_home
from housemates.sim.batch import Batch
from housemates.sim.rules import Reward, Rules
from housemates.sim.skills import OPEN_ENOUGH
from housemates.sim.state import COLLISION_END
from housemates.tasks.actions import PICK
from housemates.tasks.episodes import generate_episodes, with_approach
from housemates.tasks.tasks import TASKS

STEPS = 10_000_000


def check(batch: Batch) -> None:
    """No robot off the floor, no object lost or held twice, no door between closed and open, time within the horizon."""
    s, w = batch.state, batch.world
    where = w.homes[s.home]
    x, z = s.pose[:, :, 0], s.pose[:, :, 1]
    col = np.floor((x - where["origin"][:, 0, None]) / w.cell + 0.5).astype(int)
    row = np.floor((z - where["origin"][:, 1, None]) / w.cell + 0.5).astype(int)
    assert w.free[s.home[:, None], row, col].all()
    assert (np.abs(s.pose[:, :, 2]) <= np.pi + 1e-12).all()
    held = [(s.held == i).sum(axis=1) for i in range(2)]
    assert max(h.max() for h in held) <= 1
    assert ((s.held >= -1) & (s.held <= 1)).all()
    episode = w.episodes[s.episode]
    assert set(np.unique(s.door)) <= {0.0, 0.45, 1.22, 1.5}
    for i in range(2):
        lying = held[i] == 0
        inside = s.inside[:, i]
        value = np.take_along_axis(s.door, np.maximum(inside, 0)[:, None], axis=1)
        motion = where["door_motion"][np.arange(batch.size), np.maximum(inside, 0)]
        resting = s.rest[:, i] + np.where(inside >= 0, 1, 0)[:, None] * motion * value
        assert (np.abs(resting - s.thing[:, i])[lying] < 1e-12).all()
        at_start, at_goal = (s.rest[:, i] == episode["start"][:, i]), (s.rest[:, i] == episode["goal"][:, i])
        assert (at_start.all(axis=1) | at_goal.all(axis=1)).all()
        holder = np.argmax(s.held == i, axis=1)
        reached = np.linalg.norm(s.thing[:, i][:, [0, 2]] - s.pose[np.arange(batch.size), holder, :2], axis=1)
        assert (np.abs(reached - 0.5)[~lying] < 1e-9).all()
    assert (s.clock < batch.rules.horizon).all()
    assert np.isfinite(s.terms).all()
    assert (s.action < PICK).all()


def random_steps(batch: Batch, steps: int, seed: int = 0, every: int = 1) -> dict[str, int]:
    """Random decisions (skills more often than their share) for so many steps of all homes together."""
    rng = np.random.default_rng(seed)
    taken, call, seen = 0, 0, {"success": 0, "collision": 0, "timeout": 0}
    shape = (batch.size, batch.robots)
    while taken < steps:
        before = batch.state.clock.copy()
        actions = np.where(rng.random(shape) < 0.35, rng.integers(14, 21, shape), rng.integers(0, 25, shape))
        step = batch.step(actions)
        taken += int((np.where(step.done, batch.ended.steps, batch.state.clock) - before).sum())
        assert (batch.ended.steps <= batch.rules.horizon).all()
        assert (np.abs(step.reward - step.terms.sum(axis=2)) < 1e-12).all()
        assert (step.terms[:, :, 3][step.outcome != COLLISION_END] == 0).all()
        assert np.allclose(step.terms[:, :, 2], -0.01 * step.duration)
        if call % every == 0:
            check(batch)
        call += 1
        for k, name in enumerate(seen, start=1):
            seen[name] += int((step.outcome == k).sum())
    return seen


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("robots", [1, 2, 4])
def test_nothing_impossible_happens_in_many_random_steps(task: str, robots: int):
    batch = make(task, size=EPISODES, robots=robots, rules=Rules(horizon=150, reward=Reward(collision="timeout")))
    seen = random_steps(batch, 30_000, robots)
    assert sum(seen.values()) > 0


def test_doors_that_open_are_open_enough_to_reach_into():
    from housemates.sim.skills import OPENED

    assert all(opened > enough for opened, enough in zip(OPENED, OPEN_ENOUGH, strict=True))


@pytest.mark.slow
def test_nothing_impossible_happens_in_ten_million_random_steps():
    homes = [generate_home("dev", k) for k in range(12)]
    counts = []
    for task in TASKS:
        made = with_approach(generate_episodes(task, homes, 120, seed=5), homes)
        for robots, speed in ((2, "slow"), (2, "middle"), (3, "fast")):
            rules = Rules(speed=speed, reward=Reward(collision="timeout"))
            batch = Batch(made, homes, 512, robots=robots, rules=rules, seed=robots)
            counts.append(random_steps(batch, STEPS // 9 + 1, every=10))
    print(counts)
    assert len(counts) == 9
