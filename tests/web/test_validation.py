"""Recordings from outside: true ones pass, and nothing that a kernel would trip over does."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import batches, pages
from housemates.recordings.recording import Recording
from housemates.web.validation import check_in_home, check_recording


@pytest.fixture
def true() -> Recording:
    kept = pages.scripted()
    return replace(
        kept,
        header=dict(kept.header),
        start=kept.start.copy(),
        frames={k: v.copy() for k, v in kept.frames.items()},
        episode={k: v.copy() for k, v in kept.episode.items()},
        decisions=kept.decisions.copy(),
    )


def test_a_true_recording_passes(true):
    check_recording(true)
    check_in_home(true, batches.home())


HEADERS = [
    ("task", "rob_house"), ("outcome", "won"), ("robots", []), ("robots", ["a"] * 5), ("robots", [1, 2]), ("home", "../../etc"),
    ("home", "train/007"), ("home", "x" * 300), ("steps", 10**9), ("steps", True), ("steps", "3"), ("return", float("nan")),
    ("actions", ["jump"]), ("rules", []), ("rules", {"speed": "warp"}), ("events", [{"tick": 0}]), ("events", {}),
    ("events", [{"tick": -1, "kind": "subgoal", "robot": 0, "what": ""}]),
    ("events", [{"tick": 0, "kind": "magic", "robot": 0, "what": ""}]),
    ("events", [{"tick": 0, "kind": "subgoal", "robot": 9, "what": ""}]),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), HEADERS, ids=range(len(HEADERS)))
def test_a_header_with_nonsense_is_refused(true, key, value):
    true.header[key] = value
    with pytest.raises((ValueError, KeyError, TypeError)):
        check_recording(true)


STATES = [
    ("robots", 3), ("home", 1), ("episode", 7), ("held", 5), ("inside", 3), ("action", 25), ("plan", 99), ("plan_at", 100),
    ("script", 64), ("done_by", 2), ("pose", np.nan), ("pose", 1e9), ("thing_yaw", 1e300), ("door", np.inf), ("thing", 1e6),
    ("following", 3), ("elapsed", -1), ("clock", -5),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), STATES, ids=[f"{n}={v}" for n, v in STATES])
def test_a_state_that_kernels_would_trip_over_is_refused(true, name, value):
    true.start[name] = value
    with pytest.raises(ValueError, match=r"range|number"):
        check_recording(true)


@pytest.mark.parametrize("name", ["approach", "destination", "waypoint"])
def test_cells_that_the_home_does_not_have_are_refused(true, name):
    true.start[name] = 30_000
    with pytest.raises(ValueError, match="out of range"):
        check_in_home(true, batches.home())


def test_a_robot_in_a_wall_is_refused(true):
    true.start["pose"][0, 0, :2] = (-5.0, -5.0)
    with pytest.raises(ValueError, match="does not stand on the floor"):
        check_in_home(true, batches.home())


@pytest.mark.parametrize(("name", "value"), [("kind", 99), ("kind", -1), ("clutter_kind", 50), ("goal", np.nan), ("yaw", 1e30)])
def test_an_episode_with_nonsense_is_refused(true, name, value):
    true.episode[name][...] = value
    with pytest.raises(ValueError, match=r"range|number"):
        check_recording(true)


@pytest.mark.parametrize("name", ["approach", "start_receptacle", "goal_receptacle"])
def test_an_episode_of_another_home_is_refused(true, name):
    true.episode[name][...] = 20_000
    with pytest.raises(ValueError, match="out of range"):
        check_in_home(true, batches.home())


@pytest.mark.parametrize(("name", "value"), [("tick", 10**6), ("robot", 2), ("action", 77), ("source", 9)])
def test_decisions_that_nobody_took_are_refused(true, name, value):
    true.decisions[name][-1] = value
    with pytest.raises(ValueError, match="out of range"):
        check_recording(true)


def test_decisions_out_of_order_are_refused(true):
    with pytest.raises(ValueError, match="not in order"):
        check_recording(
            replace(true, decisions=true.decisions[::-1].copy(), value=true.value, probabilities=true.probabilities)
        )


@pytest.mark.parametrize("wanted", [[25], [-2], [0, 0], [0.5]])
def test_wanted_actions_that_nobody_wanted_are_refused(true, wanted):
    values = np.zeros(len(true.decisions), np.array(wanted).dtype if wanted == [0.5] else np.int8)
    values = values[:-1] if len(wanted) > 1 else values
    values[-1] = wanted[-1]
    with pytest.raises(ValueError, match="wanted"):
        check_recording(replace(true, wanted=values))


@pytest.mark.parametrize("name", ["pose", "held", "action", "thing"])
def test_frames_of_another_shape_are_refused(true, name):
    true.frames[name] = true.frames[name][:-1]
    with pytest.raises(ValueError, match=name):
        check_recording(true)
