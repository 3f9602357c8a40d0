"""The batch: seeds, starts, save and restore, threads, one to four robots, and what it says to bad input."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import EPISODES, do, episodes, home, make, play, scripted, world
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.state import SUCCESS
from housemates.tasks.actions import ACTIONS


def wander(batch: Batch, calls: int, seed: int = 0) -> None:
    """Random decisions."""
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        batch.step(rng.integers(0, len(ACTIONS), (batch.size, batch.robots)))


def all_bytes(batch: Batch) -> bytes:
    return batch.records.tobytes() + batch.ended_records.tobytes()


def test_the_same_seed_gives_the_same_bits():
    a, b = make(size=16, seed=5), make(size=16, seed=5)
    wander(a, 60)
    wander(b, 60)
    assert all_bytes(a) == all_bytes(b)


def test_another_seed_gives_other_starts():
    assert (make(size=4, seed=1).state.pose != make(size=4, seed=2).state.pose).any()


@pytest.mark.parametrize("robots", [1, 2, 4])
def test_any_number_of_threads_gives_the_same_bits(robots: int):
    results = []
    for threads in (1, 2, 3):
        batch = make(size=13, robots=robots, threads=threads)
        wander(batch, 60)
        results.append(all_bytes(batch))
    assert results[0] == results[1] == results[2]


def test_homes_of_one_batch_play_on_their_own():
    """What one home does is the same whatever the other homes do."""
    batch, other = make(size=4), make(size=4)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(0, 25, (4, 2))
        batch.step(actions)
        actions[1:] = rng.integers(0, 25, (3, 2))
        other.step(actions)
    assert batch.records[0].tobytes() == other.records[0].tobytes()


def test_a_restored_batch_continues_bit_for_bit():
    batch = make("set_table", size=8)
    wander(batch, 40)
    saved = batch.save()
    wander(batch, 40, seed=1)
    first = all_bytes(batch)
    batch.restore(saved)
    wander(batch, 40, seed=1)
    assert all_bytes(batch) == first


def test_a_saved_batch_is_a_copy():
    batch = make(size=4)
    saved = batch.save()
    kept = saved["state"].tobytes()
    wander(batch, 20)
    assert saved["state"].tobytes() == kept


def test_another_batch_continues_a_saved_one():
    batch, twin = make(size=4, seed=1), make(size=4, seed=2)
    wander(batch, 20)
    twin.restore(batch.save())
    wander(batch, 20, seed=3)
    wander(twin, 20, seed=3)
    assert all_bytes(batch) == all_bytes(twin)


@pytest.mark.parametrize("robots", [2, 3, 4])
def test_robots_start_two_metres_apart(robots: int):
    batch = make(size=200, robots=robots)
    batch.reset()
    xz = batch.state.pose[:, :, :2]
    gaps = np.linalg.norm(xz[:, :, None] - xz[:, None], axis=3)[:, ~np.eye(robots, dtype=bool)]
    assert gaps.min() >= 2.0


def test_starts_are_on_the_floor_in_any_heading():
    batch = make(size=400)
    floor = home().floor
    assert all(floor.is_free((x, z)) for x, z, _ in batch.state.pose.reshape(-1, 3))
    quadrants = np.bincount(((batch.state.pose[:, :, 2].ravel() + np.pi) // (np.pi / 2)).astype(int), minlength=4)
    assert quadrants.min() > 100


def test_stored_starts_are_those_of_the_episode():
    batch = make(size=EPISODES, stored_spawns=True)
    assert (batch.state.pose == episodes().spawn[:, :2]).all()


def test_stored_starts_do_not_depend_on_the_seed():
    a, b = make(size=6, stored_spawns=True, seed=1), make(size=6, stored_spawns=True, seed=2)
    assert (a.state.pose == b.state.pose).all()


@pytest.mark.parametrize("robots", [1, 3, 4])
def test_scripted_robots_complete_the_task_with_any_company(robots: int):
    """One robot does everything; the others stand still out of its way (they are taken off the floor plan)."""
    batch = make(robots=robots, size=6, rules=Rules(horizon=2000), autoreset=False)
    scripted(batch, "solo", *["noop"] * (robots - 1))
    for r in range(1, robots):
        batch.state.pose[:, r, :2] = 100.0 + 10 * r
    play(batch)
    assert (batch.ended.outcome == SUCCESS).all()


@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_step_returns_a_row_per_robot(robots: int):
    batch = make(size=5, robots=robots)
    step = batch.step(np.zeros((5, robots), int))
    assert (step.decide.shape, step.reward.shape, step.terms.shape) == ((5, robots), (5, robots), (5, robots, 4))


@pytest.mark.parametrize(("robots", "autoreset"), [(2, True), (3, False)])
def test_step_tells_what_the_state_says(robots: int, autoreset: bool):
    batch, rng = make(size=6, robots=robots, threads=2, autoreset=autoreset), np.random.default_rng(1)
    scripted(batch, "noop")
    ended = 0
    for _ in range(400):
        step, state = batch.step(rng.integers(len(ACTIONS), size=(6, robots))), batch.state
        waits = (state.action == -1) & state.controllable & ~state.over[:, None]
        assert np.array_equal(step.decide, waits)
        assert np.array_equal(step.decide, batch.decide)
        np.testing.assert_allclose(step.reward, state.terms.sum(axis=2), rtol=0, atol=1e-12)
        assert np.array_equal(step.done, state.outcome != 0)
        ended += np.count_nonzero(step.done)
    assert ended


def test_a_lone_robot_is_never_cut_and_never_collides():
    batch = make(size=20, robots=1)
    rng = np.random.default_rng(0)
    for _ in range(100):
        step = batch.step(rng.integers(0, 14, (20, 1)))
        assert not (step.outcome == 2).any()


def test_random_episodes_are_drawn_when_none_is_chosen():
    batch = make(size=100)
    batch.reset()
    assert len(np.unique(batch.state.episode)) > EPISODES // 2


def test_only_the_homes_of_the_mask_are_reset():
    batch = make(size=3)
    for _ in range(4):
        do(batch, "no-op", "no-op")
    batch.reset(which=np.array([True, False, True]))
    assert batch.state.clock.tolist() == [0, 4, 0]


@pytest.mark.parametrize("robots", [0, 5])
def test_a_home_has_one_to_four_robots(robots: int):
    with pytest.raises(ValueError, match=f"1 to 4 robots, got {robots}"):
        make(robots=robots)


@pytest.mark.parametrize(("more", "message"), [({"size": 0}, "at least one home"), ({"threads": 0}, "at least one thread")])
def test_a_batch_needs_homes_and_threads(more: dict, message: str):
    with pytest.raises(ValueError, match=message):
        Batch(episodes(), [home()], **({"size": 1} | more), world=world())


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros((2, 2), int), r"shape \(1, 2\), got \(2, 2\)"),
        (np.zeros((1, 2)), "must be integers"),
        (np.array([[25, 0]]), "0..24"),
        (np.array([[-2, 0]]), "0..24"),
    ],
)
def test_wrong_actions_are_refused(actions: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        make().step(actions)


def test_assigning_an_action_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"0..24, got 25"):
        make().assign(0, 0, 25)


@pytest.mark.parametrize(("ids", "message"), [(np.array([EPISODES]), "below 24"), (np.zeros(2, int), r"shape \(1,\)")])
def test_episodes_that_do_not_exist_are_refused(ids: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        make().reset(ids)


def test_an_unknown_observation_is_refused():
    with pytest.raises(ValueError, match="'smell'"):
        make().observe("smell")


def test_a_buffer_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"'state' must be \(1, 2, 18\) float32"):
        make().observe("state", np.zeros((1, 2, 17), np.float32))


def test_a_saved_batch_of_another_size_is_refused():
    with pytest.raises(ValueError, match="3 homes, this one 1"):
        make().restore(make(size=3).save())


def test_a_saved_batch_with_other_robots_is_refused():
    with pytest.raises(ValueError, match=r"3 robots.*2"):
        make().restore(make(robots=3).save())


def test_something_else_than_a_saved_batch_is_refused():
    with pytest.raises(ValueError, match="not a saved batch"):
        make().restore({"state": np.zeros(1)})


def test_stored_starts_need_episodes_that_store_them():
    bare = replace(episodes(), spawn=None)
    with pytest.raises(ValueError, match="store no spawns"):
        Batch(bare, [home()], 1, stored_spawns=True, world=world())


def test_stored_starts_need_a_start_for_every_robot():
    spawn = episodes().spawn.copy()
    spawn[3, 2:] = np.nan
    with pytest.raises(ValueError, match="3 robots"):
        Batch(replace(episodes(), spawn=spawn), [home()], 1, robots=3, stored_spawns=True)


def test_an_unknown_field_is_named():
    with pytest.raises(AttributeError, match="homes have no 'velocity'"):
        _ = make().state.velocity


@pytest.mark.parametrize("shape", [(4, 3), (6, 2), (4,)])
def test_a_mask_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"mask.*shape.*4.*2"):
        make(size=4).observe("state", which=np.ones(shape, bool))


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(ValueError, match="mask of booleans"):
        make(size=4).observe("state", which=np.ones((4, 2)))


@pytest.mark.parametrize("homes", [2, 400])
def test_a_reset_of_another_number_of_homes_is_refused(homes):
    with pytest.raises(ValueError, match=r"mask.*shape.*4"):
        make(size=4).reset(which=np.ones(homes, bool))


@pytest.mark.parametrize("robot", [-1, 2, 9])
def test_a_robot_that_is_not_there_can_neither_be_told_nor_scripted(robot):
    with pytest.raises(ValueError, match=f"no robot {robot} - choose one of 0..1"):
        make().assign(0, robot, 21)
    with pytest.raises(ValueError, match=f"no robot {robot} - choose one of 0..1"):
        make().script(robot, 0)


def test_a_home_that_is_not_there_cannot_be_told():
    with pytest.raises(ValueError, match=r"no home 1 - choose one of 0\.\.0"):
        make().assign(1, 0, 21)


def test_an_unknown_plan_is_refused():
    with pytest.raises(ValueError, match="no plan 99"):
        make().script(0, 99)


def test_a_trace_holds_every_step_of_a_call():
    batch, plain = make(size=3, trace=50), make(size=3)
    actions = np.array([[1, 2], [3, 21], [5, 6]])
    batch.step(actions)
    ticks = np.zeros(3, int)
    poses = [[] for _ in range(3)]
    while (ticks < batch.traced).any():
        waiting = ticks >= batch.traced
        plain.state.over[:] = waiting
        plain.step(actions, max_ticks=1)
        for e in np.flatnonzero(~waiting):
            poses[e].append(plain.state.pose[e].copy())
        ticks += ~waiting
        actions = np.full((3, 2), -1)
    for e in range(3):
        row = batch.trace[e, : batch.traced[e]]
        assert (row["pose"][:, :2] == np.array(poses[e])).all()
        assert (row["clock"] == np.arange(1, batch.traced[e] + 1)).all()


def test_sensors_are_the_same_on_one_thread_and_two():
    one, two = make(size=9), make(size=9, threads=2)
    for name in ("state", "predicates", "gps_compass", "window", "privileged", "depth"):
        assert (one.observe(name) == two.observe(name)).all(), name
