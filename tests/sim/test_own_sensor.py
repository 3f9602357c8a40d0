"""A sensor of one's own: registered outside the package, it is observed, trained with, hidden from the blind, and described."""

import numpy as np
import pytest

from helpers.batches import make
from housemates.envs.spaces import check_names, observation_space
from housemates.policies.config import PolicyConfig
from housemates.runs.presets import PRESETS
from housemates.sim.sensors import SENSORS, SETS, Sensor, blindfold, register_sensor, sensed_alone, sensor_names, sensors_word


def write_gap(world, state, rules, which, out):
    """Metres to robot 0's and robot 1's middle, for both."""
    between = np.hypot(*(state["pose"][:, 0, :2] - state["pose"][:, 1, :2]).T)
    out[which] = np.broadcast_to(between[:, None, None], out.shape)[which]


def hide(values, robots):
    values[:] = 8.0


GAP = Sensor("gap", (1,), np.float32, (0.0, 100.0), write_gap, "metres between the two robots", hide)


@pytest.fixture
def gap(monkeypatch):
    monkeypatch.setenv("HOUSEMATES_USE", "")
    yield register_sensor(GAP)
    del SENSORS["gap"]


def test_a_batch_observes_it(gap):
    batch = make(size=3)
    expected = np.hypot(*(batch.state.pose[:, 0, :2] - batch.state.pose[:, 1, :2]).T).astype(np.float32)
    assert (batch.observe("gap") == expected[:, None, None]).all()


def test_rows_of_robots_that_are_not_asked_for_stay_as_they_are(gap):
    batch, out = make(size=2), np.full((2, 2, 1), -1.0, np.float32)
    batch.observe("gap", out, np.array([[True, False], [False, True]]))
    assert (out[..., 0] < 0).tolist() == [[False, True], [True, False]]


def test_environments_have_a_space_for_it(gap):
    assert check_names(["gap"]) == ("gap",)
    space = observation_space(["gap"], 2, 64)["gap"]
    assert (space.shape, space.dtype, float(space.high[0])) == ((1,), np.float32, 100.0)


def test_the_blind_do_not_see_it(gap):
    values = np.zeros((2, 1), np.float32)
    blindfold("gap", values, 2)
    assert values.tolist() == [[8.0], [8.0]]


def test_a_lone_robot_has_what_the_shape_needs(gap):
    assert sensed_alone("gap", np.ones((1, 1)), 2).tolist() == [[1.0]]


def test_a_shape_that_depends_on_the_robots_needs_a_word_about_being_alone(monkeypatch):
    wide = Sensor("wide", lambda robots: (robots,), np.float32, (0, 1), write_gap, "anything")
    monkeypatch.setitem(SENSORS, "wide", wide)
    with pytest.raises(ValueError, match="give it `alone`"):
        sensed_alone("wide", np.ones((1, 1)), 2)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_network_for_it(gap, preset):
    config = PRESETS[preset].policy("state+predicates+gap", 2)
    assert config.observations == ("state", "predicates", "gap")
    assert config.shape("gap") == (1,)
    assert config.observation_spec()["gap"] == {"shape": [1], "types": ["float32"]}


def test_pictures_and_vectors_mix(gap):
    assert PRESETS["laptop"].policy("depth+gap", 2).network == "patches"


def test_a_policy_of_a_sensor_that_is_not_known_says_how_to_name_it(monkeypatch):
    monkeypatch.setenv("HOUSEMATES_USE", "")
    with pytest.raises(ValueError, match=r"'gap'.*--use"):
        PolicyConfig(("state", "gap"), "vector")


@pytest.mark.parametrize("name", ["privileged", "window", "segmentation"])
def test_policies_take_vectors_only(name):
    with pytest.raises(ValueError, match=r"depth.*rgb.*gps_compass"):
        PolicyConfig((name,), "vector")


@pytest.mark.parametrize("word", SETS)
def test_a_word_stands_for_a_set_of_sensors_and_back(word):
    assert sensors_word(sensor_names(word)) == word


def test_one_sensor_alone_is_a_set():
    assert sensor_names("gps_compass") == ("gps_compass",)


@pytest.mark.parametrize(
    ("text", "words"), [("dept", "did you mean 'depth'"), ("state+dept", "no observation 'dept'"), ("", "no obs")]
)
def test_what_is_no_set_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        sensor_names(text)


def test_a_sensor_without_kernel_is_refused():
    with pytest.raises(ValueError, match="has no kernel"):
        Sensor("gap", (1,), np.float32, (0, 1), None, "nothing")
