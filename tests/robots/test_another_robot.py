"""A body of one's own beside the Fetch: six arm joints, a lower torso and a lower camera, without a change in the package."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import batches
from housemates.recordings.film import Studio
from housemates.recordings.recording import load_recording, record_batch, replay, resume, save_recording
from housemates.robots import FETCH, ROBOTS, Robot, register_robot
from housemates.sim.batch import Batch
from housemates.sim.control import control_size
from housemates.web.validation import check_recording
from housemates.web.views import bodies

STIFF = replace(
    FETCH,
    name="stiff_wrist",
    arm=FETCH.arm[:-1],
    held=FETCH.held | {"torso_lift_link": 0.05},
    rest=FETCH.rest[:-1],
    carry=FETCH.carry[:-1],
    reach=FETCH.reach[..., :-1],
    camera=(0.25, 0.0, 0.9),
    camera_looks_at=(0.75, 0.0, 0.7),
)
"""A Fetch whose wrist does not roll, with a lower torso and camera."""


@pytest.fixture(autouse=True)
def known():
    register_robot(STIFF)
    yield
    del ROBOTS[STIFF.name]


def make(robot: Robot = STIFF, **more) -> Batch:
    """A home of two such robots in the hall."""
    return Batch(batches.episodes(), [batches.home()], 1, 2, robot=robot, stored_spawns=True, autoreset=False, **more)


@pytest.fixture
def recorded():
    batch = make()
    batches.scripted(batch, "first_half", "second_half")
    return record_batch(batch)


def test_the_arm_has_the_joints_of_the_body():
    batch = make()
    assert batch.state.arm.shape == (1, 2, 6)
    assert (batch.state.arm[0] == STIFF.rest).all()


def test_the_observation_of_the_arm_has_the_joints_of_the_body():
    batch = make()
    seen = batch.observe("state")[0, 0]
    assert seen.shape == (batch.observation("state")[0][0],) == (17,)
    assert (seen[6:] == make(FETCH).observe("state")[0, 0, 7:]).all()


def test_pictures_are_taken_by_the_camera_of_the_body():
    low = replace(FETCH, camera=STIFF.camera, camera_looks_at=STIFF.camera_looks_at)
    ours, theirs, lowered = (make(robot, pixels=32).observe("depth") for robot in (STIFF, FETCH, low))
    assert (ours != theirs).mean() > 0.5
    assert (ours != lowered).mean() < 0.25, "with the same camera only the robots' own bodies differ"


def test_low_level_control_takes_a_number_for_every_joint():
    batch = make()
    command = np.zeros((1, 2, control_size(STIFF)), np.float32)
    command[0, 0, 2:8] = 1.0
    batch.control(command)
    assert command.shape[2] == 9
    assert (batch.state.arm[0, 0] > STIFF.rest).all()
    assert (batch.state.arm[0, 1] == STIFF.rest).all()


def test_skills_play_the_same_game_with_another_body(recorded):
    batch = make(FETCH)
    batches.scripted(batch, "first_half", "second_half")
    fetch = record_batch(batch)
    assert recorded.header["outcome"] == fetch.header["outcome"]
    assert (recorded.frames["pose"] == fetch.frames["pose"]).all()
    assert (recorded.frames["arm"] == fetch.frames["arm"][..., :6]).all()


def test_a_recording_names_the_body_and_is_played_again_with_it(recorded, tmp_path):
    path = tmp_path / "game.npz"
    save_recording(path, recorded)
    kept = load_recording(path)
    assert kept.robot is STIFF
    assert replay(kept, batches.home()).header["digest"] == recorded.header["digest"]
    assert resume(kept, 5, batches.home()).robot is STIFF


def test_the_page_accepts_the_recording_and_draws_the_body(recorded):
    check_recording(recorded)
    shown = bodies()["robots"][STIFF.name]
    assert shown["joints"] == recorded.frames["arm"].shape[2] == 6


def test_a_film_shows_the_body(recorded):
    assert Studio(recorded, batches.home()).picture(0).size[0] > 0


def test_a_world_of_another_body_is_refused():
    with pytest.raises(ValueError, match="stiff_wrist"):
        make(world=batches.world())


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"gripper": "claw"}, "claw"), ({"held": {"torso_lift_link": 9.0}}, "9.0"), ({"rest": FETCH.rest}, "rest")],
)
def test_a_body_that_contradicts_itself_is_refused_by_name(changes, named):
    with pytest.raises(ValueError, match=named):
        replace(STIFF, **changes)
