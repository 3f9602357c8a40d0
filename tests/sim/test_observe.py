"""What robots sense, against slow twins and the plain truth tests of `tasks.goals`."""

import numpy as np
import pytest

from helpers.batches import EPISODES, FAR, action, do, floor_points, make, put, situation
from housemates.sim.batch import Batch
from housemates.sim.rules import WINDOW, Rules
from housemates.tasks.actions import NO_OP
from housemates.tasks.tasks import TASKS
from reference.predicates import predicates


def shuffle(batch: Batch, seed: int) -> None:
    """Robots anywhere, any door ajar or open, objects anywhere they could be, held or not."""
    rng, s = np.random.default_rng(seed), batch.state
    size, robots = batch.size, batch.robots
    s.pose[:, :, :2] = floor_points(size * robots, seed).reshape(size, robots, 2) + rng.uniform(-0.02, 0.02, (size, robots, 2))
    s.pose[:, :, 2] = rng.uniform(-np.pi, np.pi, (size, robots))
    s.door[:] = rng.choice([0.0, 0.1, 0.3, 0.36, 0.45, 1.0, 1.08, 1.22, 1.5], (size, 3))
    places = batch.world.homes[0]
    for e in range(size):
        for i in range(2):
            kind = rng.integers(10)
            n = rng.integers(places["place_count"][kind])
            inside = places["place_center"][kind, n] + rng.uniform(-1.1, 1.1, 3) * places["place_half"][kind, n]
            near = batch.world.episodes["goal"][s.episode[e], rng.integers(2)] + rng.normal(0, 0.08, 3)
            moved = inside + places["door_motion"][kind - 7] * s.door[e, kind - 7] if kind >= 7 else inside
            s.thing[e, i] = (near, moved, inside)[rng.integers(3)]
        s.held[e] = -1
        for i in np.flatnonzero(rng.random(2) < 0.3):
            free = np.flatnonzero(s.held[e] < 0)
            if len(free):
                s.held[e, rng.choice(free)] = i


def assert_predicates_agree(task: str, robots: int, states: int) -> None:
    batch = make(task, size=states, robots=robots)
    shuffle(batch, robots)
    bits = batch.observe("predicates")
    for e in range(states):
        r = e % robots
        assert (bits[e, r] == predicates(situation(batch, e), r)).all()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("robots", [1, 2, 3])
def test_predicates_agree_with_the_plain_truth_tests(task: str, robots: int):
    """Random states; doors and drawers at any opening."""
    assert_predicates_agree(task, robots, 120)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_predicates_agree_in_thousands_of_states(task: str, robots: int):
    assert_predicates_agree(task, robots, 1500)


def test_random_states_show_every_predicate_both_true_and_false():
    """So that the test above compares something; only the fridge shelf and drawers are rare."""
    batch = make("tidy_house", size=1000)
    shuffle(batch, 2)
    share = batch.observe("predicates").reshape(-1, 57).mean(axis=0)
    assert (share > 0).all()
    assert (share < 1).all()


def slow_polar(pose: np.ndarray, point: np.ndarray) -> tuple[float, float]:
    """Distance and heading of a floor point, from forward and right components."""
    forward = np.array([np.cos(pose[2]), -np.sin(pose[2])])
    right = np.array([np.sin(pose[2]), np.cos(pose[2])])
    d = np.asarray(point) - pose[:2]
    return float(np.hypot(*d)), float(np.arctan2(right @ d, forward @ d))


def slow_state(batch: Batch, e: int, r: int) -> np.ndarray:
    s, episode = batch.state, batch.world.episodes[batch.state.episode[e]]
    pose = s.pose[e, r]
    row = [*s.arm[e, r], float(s.held[e, r] >= 0)]
    for place in (*episode["start"], *episode["goal"]):
        row += slow_polar(pose, place[[0, 2]])
    partners = sorted((slow_polar(pose, s.pose[e, o, :2]) for o in range(batch.robots) if o != r), key=lambda p: p[0])
    return np.array(row + [value for partner in partners for value in partner])


@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_the_state_vector_agrees_with_a_slow_twin(robots: int):
    batch = make("set_table", size=100, robots=robots)
    shuffle(batch, robots)
    expected = [[slow_state(batch, e, r) for r in range(robots)] for e in range(100)]
    assert np.abs(batch.observe("state") - np.array(expected)).max() < 1e-5


def test_two_robots_read_18_numbers():
    assert make().observe("state").shape == (1, 2, 18)


def test_headings_are_positive_to_the_right():
    batch = make()
    put(batch, 0, (2.0, 3.5), 0.0)
    put(batch, 1, (2.0, 4.5))
    assert batch.observe("state")[0, 0, 16:].tolist() == pytest.approx([1.0, np.pi / 2])


def test_start_sensors_stay_when_the_object_moves():
    batch = make()
    before = batch.observe("state")[0, 0, 8:12].copy()
    batch.state.thing[0] += 1.0
    assert (batch.observe("state")[0, 0, 8:12] == before).all()


def test_gps_and_compass_tell_the_way_since_the_start():
    batch = make(size=200)
    spawn = batch.state.spawn.copy()
    shuffle(batch, 0)
    seen = batch.observe("gps_compass")
    for e in range(200):
        x, z, yaw = batch.state.pose[e, 0] - spawn[e, 0]
        a = spawn[e, 0, 2]
        ahead, right = np.cos(a) * x - np.sin(a) * z, np.sin(a) * x + np.cos(a) * z
        turned = -np.angle(np.exp(1j * yaw))
        assert seen[e, 0] == pytest.approx([ahead, right, turned], abs=1e-5)


def test_a_robot_that_turned_left_reads_a_negative_compass():
    batch = make()
    do(batch, "turn-left", "no-op")
    assert batch.observe("gps_compass")[0, 0, 2] < 0


@pytest.mark.parametrize("steps", [1, 7, WINDOW, WINDOW + 13])
def test_windows_hold_the_last_steps_oldest_first(steps: int):
    batch = make(size=EPISODES, rules=Rules(thresholds=(1.0,)))
    rng = np.random.default_rng(2)
    ended = np.zeros(EPISODES, bool)
    history = []
    for _ in range(steps):
        ended |= batch.tick(rng.integers(0, 25, (EPISODES, 2))).done
        history.append(np.concatenate([batch.state.pose[:, :, :2], batch.state.executed[:, :, None]], axis=2))
    shown = np.zeros((EPISODES, 2, WINDOW, 3))
    for k, entry in enumerate(history[-WINDOW:]):
        shown[:, :, WINDOW - min(steps, WINDOW) + k] = entry
    assert (~ended).sum() > EPISODES // 4
    assert np.abs(batch.observe("window") - shown)[~ended].max() < 1e-5


def test_windows_never_cross_the_start_of_an_episode():
    batch = make(rules=Rules(horizon=5))
    for _ in range(7):
        do(batch, "turn-left", "no-op")
    window = batch.observe("window")[0, 0]
    assert (window[:-2] == 0).all()
    assert (window[-2:, 2] == action("turn-left")).all()


def test_an_infeasible_choice_is_a_no_op_in_the_window():
    batch = make()
    put(batch, 0, FAR)
    batch.state.held[0, 0] = 1
    do(batch, "pick obj0", "no-op")
    assert batch.observe("window")[0, 0, -1, 2] == NO_OP


def test_the_window_at_the_end_of_an_episode_is_kept():
    from housemates.sim.sensors import write_window

    batch = make(rules=Rules(horizon=3))
    for _ in range(3):
        do(batch, "turn-right", "no-op")
    out = np.zeros((1, 2, WINDOW, 3), np.float32)
    write_window(batch.ended.window, batch.ended.steps, np.ones((1, 2), bool), out)
    assert (out[0, 0, -3:, 2] == action("turn-right")).all()


@pytest.mark.parametrize("name", ["state", "predicates", "gps_compass", "window"])
def test_only_robots_that_are_asked_for_are_written(name: str):
    batch = make()
    do(batch, "turn-left", "turn-left")
    out = batch.observe(name)
    out[:] = 77
    batch.observe(name, out, np.array([[True, False]]))
    assert (out[0, 1] == 77).all()
    assert (out[0, 0] != 77).any()


@pytest.mark.parametrize("name", ["state", "predicates", "gps_compass", "window"])
def test_observing_changes_nothing(name: str):
    batch = make(size=3)
    before = batch.records.tobytes()
    batch.observe(name)
    assert batch.records.tobytes() == before
