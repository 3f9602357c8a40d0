"""What only a critic in training sees, against a slow twin; and contacts that need not end an episode."""

import numpy as np
import pytest

from helpers.batches import do, floor_points, make, put
from housemates.sim.control import control_size
from housemates.sim.sensors import privileged_size

ROBOTS = (1, 2, 3)


def slow_privileged(batch, e: int, r: int) -> np.ndarray:
    s = batch.state
    order = [r, *(k for k in range(batch.robots) if k != r)]
    poses = [
        f(s.pose[e, k])
        for k in order
        for f in (lambda p: p[0] / 5, lambda p: p[1] / 5, lambda p: np.sin(p[2]), lambda p: np.cos(p[2]))
    ]
    left = 1 - s.clock[e] / batch.rules.horizon
    return np.concatenate([batch.observe("predicates")[e, r], poses, [left], s.done_by[e] >= 0])


@pytest.mark.parametrize("robots", ROBOTS)
def test_the_critic_sees_predicates_poses_time_and_subgoals(robots):
    batch = make(size=6, robots=robots)
    rng = np.random.default_rng(robots)
    batch.state.pose[:, :, :2] = floor_points(6 * robots, robots).reshape(6, robots, 2)
    batch.state.pose[:, :, 2] = rng.uniform(-3, 3, (6, robots))
    batch.state.clock[:] = rng.integers(0, 750, 6)
    batch.state.done_by[:] = rng.integers(-1, robots, (6, 6))
    seen = batch.observe("privileged")
    assert seen.shape[2] == privileged_size(robots)
    for e in range(6):
        for r in range(robots):
            assert seen[e, r] == pytest.approx(slow_privileged(batch, e, r), abs=1e-6)


def touching(control: str):
    """A step of both robots in one place."""
    batch = make(size=4)
    for e in range(4):
        put(batch, 0, (6.0, 4.0), home=e)
        put(batch, 1, (6.3, 4.0), home=e)
    return do(batch, "no-op", "no-op") if control == "skills" else batch.control(np.zeros((4, 2, control_size())))


@pytest.mark.parametrize("control", ["skills", "low_level"])
def test_a_contact_ends_the_episode(control):
    assert (touching(control).outcome == 2).all()
