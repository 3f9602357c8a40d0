"""Laser, track, egomotion and receptacles, against slow twins."""

import numpy as np
import pytest
import torch

from helpers.batches import EPISODES, floor_points, make, put
from housemates.envs.spaces import check_names, observation_space
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.rules import COLLISION, Rules
from housemates.sim.sensor_kernels import HALF_HOME, LAGS, LASER_RANGE, LASER_STEP, RAYS, TIME
from housemates.sim.sensors import ABSENT, blindfold, sensed_alone

NEW = ("laser", "laser_robots", "track", "egomotion", "receptacles")


def anywhere(size: int, robots: int = 2, seed: int = 0) -> Batch:
    """Robots at random places and headings."""
    batch, rng = make(size=size, robots=robots), np.random.default_rng(seed)
    batch.state.pose[:, :, :2] = floor_points(size * robots, seed).reshape(size, robots, 2)
    batch.state.pose[:, :, 2] = rng.uniform(-np.pi, np.pi, (size, robots))
    return batch


def in_frame(pose: np.ndarray, point: np.ndarray) -> tuple[float, float]:
    """A floor point ahead and to the right of a pose, metres."""
    d = np.asarray(point) - pose[:2]
    return float(np.array([np.cos(pose[2]), -np.sin(pose[2])]) @ d), float(np.array([np.sin(pose[2]), np.cos(pose[2])]) @ d)


def direction(pose: np.ndarray, ray: int) -> np.ndarray:
    angle = pose[2] - ray * 2 * np.pi / RAYS
    return np.array([np.cos(angle), -np.sin(angle)])


def slow_laser(batch: Batch, e: int, r: int) -> list[float]:
    floor, pose = batch.homes[batch.state.home[e]].floor, batch.state.pose[e, r]
    steps, row = round(LASER_RANGE / LASER_STEP), []
    for ray in range(RAYS):
        points = pose[:2] + np.arange(1, steps + 1)[:, None] * LASER_STEP * direction(pose, ray)
        cols, rows = np.floor((points - np.asarray(floor.origin)) / floor.cell + 0.5).astype(int).T
        inside = (rows >= 0) & (cols >= 0) & (rows < floor.main.shape[0]) & (cols < floor.main.shape[1])
        free = np.array([ok and floor.main[row, col] for ok, row, col in zip(inside, rows, cols, strict=True)])
        row.append((steps if free.all() else int(np.argmin(free))) / steps)
    return row


def test_the_laser_agrees_with_a_slow_twin():
    batch = anywhere(60)
    expected = [[slow_laser(batch, e, r) for r in range(2)] for e in range(60)]
    # A ray that ends on the very border of a cell may be read one step apart.
    assert (np.abs(batch.observe("laser") - np.array(expected)) > 1e-6).mean() < 0.002


def test_a_robot_at_a_wall_reads_nothing_free_towards_it():
    batch = make()
    floor = batch.homes[0].floor
    x = floor.origin[0] + floor.cells[:, 1].max() * floor.cell
    z = floor.origin[1] + floor.cells[np.argmax(floor.cells[:, 1]), 0] * floor.cell
    put(batch, 0, (x, z), 0.0)
    assert batch.observe("laser")[0, 0, 0] == 0


def test_the_laser_does_not_see_robots():
    batch = anywhere(1)
    put(batch, 0, (3.5, 4.0))
    put(batch, 1, (6.6, 4.4))
    before = batch.observe("laser")[0, 0].copy()
    put(batch, 1, (4.3, 4.0))
    assert (batch.observe("laser")[0, 0] == before).all()


@pytest.mark.parametrize("robots", [2, 3])
def test_the_laser_for_robots_agrees_with_a_slow_twin(robots: int):
    batch = anywhere(100, robots)
    seen = batch.observe("laser_robots")
    along = np.arange(0, LASER_RANGE + 1e-9, 0.001)
    for e in range(100):
        pose = batch.state.pose[e, 0]
        for ray in range(RAYS):
            points = pose[:2] + along[:, None] * direction(pose, ray)
            gaps = [np.hypot(*(points - batch.state.pose[e, o, :2]).T).min(initial=9) for o in range(1, robots)]
            touching = np.zeros(len(along), bool)
            for o in range(1, robots):
                touching |= np.hypot(*(points - batch.state.pose[e, o, :2]).T) <= COLLISION
            expected = along[np.argmax(touching)] if touching.any() else LASER_RANGE
            # A ray that only grazes the other robot is a matter of rounding.
            if abs(min(gaps) - COLLISION) > 1e-3:
                assert seen[e, 0, ray] * LASER_RANGE == pytest.approx(expected, abs=0.002)


def played(robots: int, steps: int) -> tuple[Batch, np.ndarray]:
    """A batch after random decisions, and everybody's places [steps + 1, E, R, 2] since the start."""
    batch, rng = make(size=EPISODES, robots=robots, rules=Rules(thresholds=(1.0,)), autoreset=False), np.random.default_rng(4)
    history = [batch.state.pose[:, :, :2].copy()]
    for _ in range(steps):
        batch.tick(rng.integers(0, 25, (EPISODES, robots)))
        history.append(batch.state.pose[:, :, :2].copy())
    return batch, np.array(history)


def slow_track(batch: Batch, history: np.ndarray, e: int, r: int, who: list[int]) -> list[float]:
    row = [min(min(batch.state.duration[e, r], batch.state.clock[e]) / TIME, 2.0)]
    for other in who:
        for lag in LAGS:
            ahead, right = in_frame(batch.state.pose[e, r], history[max(len(history) - 1 - lag, 0), e, other])
            row += [ahead / HALF_HOME, right / HALF_HOME]
    return row


@pytest.mark.parametrize("robots", [2, 3])
@pytest.mark.parametrize("steps", [0, 1, 5, 60])
def test_track_and_egomotion_agree_with_slow_twins(robots: int, steps: int):
    batch, history = played(robots, steps)
    track, own = batch.observe("track"), batch.observe("egomotion")
    running = np.flatnonzero(batch.state.clock == steps)
    assert len(running)
    for e in running:
        for r in range(robots):
            gaps = np.hypot(*(batch.state.pose[e, :, :2] - batch.state.pose[e, r, :2]).T)
            order = sorted((o for o in range(robots) if o != r), key=lambda o: gaps[o])
            assert track[e, r] == pytest.approx(slow_track(batch, history, e, r, order), abs=1e-5)
            assert own[e, r] == pytest.approx(slow_track(batch, history, e, r, [r]), abs=1e-5)


def test_tracks_continue_exactly_from_a_saved_batch():
    batch, _ = played(2, 30)
    saved, seen = batch.save(), batch.observe("track").copy()
    batch.tick(np.zeros((EPISODES, 2), int))
    batch.restore(saved)
    assert (batch.observe("track") == seen).all()


def test_a_new_episode_has_no_track_of_the_one_before():
    batch, _ = played(2, 30)
    batch.reset(np.arange(EPISODES))
    seen = batch.observe("track")
    assert (seen[..., 0] == 0).all()
    assert (seen[..., 1:].reshape(EPISODES, 2, len(LAGS), 2) == seen[..., None, 1:3]).all()


def test_the_receptacles_agree_with_a_slow_twin():
    batch = anywhere(60)
    seen, places = batch.observe("receptacles").reshape(60, 2, 10, 3), batch.world.homes[0]
    for e in range(60):
        pose = batch.state.pose[e, 1]
        for kind in range(10):
            targets = places["place_target"][kind, : places["place_count"][kind]]
            ahead, right = min((in_frame(pose, t[[0, 2]]) for t in targets), key=lambda found: np.hypot(*found))
            metres = np.hypot(ahead, right)
            assert seen[e, 1, kind] == pytest.approx([metres / HALF_HOME, ahead / metres, right / metres], abs=1e-5)


def test_the_blind_read_a_partner_that_is_far_off_in_track():
    batch = anywhere(1)
    values = batch.observe("track")[:, 0].copy()
    blindfold("track", values, 2)
    assert values[0, 1:].tolist() == pytest.approx([-ABSENT[0] / HALF_HOME, 0.0] * len(LAGS))


def test_the_blind_read_no_robot_with_their_laser():
    values = np.zeros((3, RAYS), np.float32)
    blindfold("laser_robots", values, 2)
    assert (values == 1).all()


@pytest.mark.parametrize("name", NEW)
def test_a_lone_robot_senses_what_a_blind_one_of_two_does(name: str):
    alone, pair = make(robots=1), make(robots=2)
    pair.state.pose[:, 0], pair.state.spawn[:, 0] = alone.state.pose[:, 0], alone.state.spawn[:, 0]
    seen, hidden = sensed_alone(name, alone.observe(name)[:, 0], 2), pair.observe(name)[:, 0].copy()
    blindfold(name, hidden, 2)
    assert seen == pytest.approx(hidden, abs=1e-6)


@pytest.mark.parametrize("name", NEW)
def test_environments_have_a_space_that_holds_every_reading(name: str):
    space, batch = observation_space(check_names([name]), 2, 64)[name], anywhere(50)
    assert all(space.contains(row) for row in batch.observe(name).reshape(100, -1))


def test_policies_take_them_as_vectors():
    batch, config = anywhere(4), PolicyConfig.state(observations=("state", *NEW))
    policy = Policy(config)
    seen = {name: torch.from_numpy(batch.observe(name)[:, 0].copy()) for name in config.observations}
    assert policy.act(seen, policy.initial_memory(4)).logits.shape == (4, 25)
