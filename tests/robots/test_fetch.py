"""The Fetch robot: its kinematics against other libraries, its limits, camera, poses, body and meshes."""

from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import missing
from housemates.geometry.kinematics import FIXED, PRISMATIC, REVOLUTE, forward_kinematics
from housemates.homes.floor import ROBOT_RADIUS
from housemates.homes.solids import corners
from housemates.robots import FETCH, meshes
from housemates.robots.fetch import CAMERA_CLEARANCE, RESTING_GRIP, TORSO, reach_pose
from housemates.robots.robot import Chain, Robot, base_to_world, turn

KINDS = {FIXED: "fixed", REVOLUTE: "revolute", PRISMATIC: "prismatic"}
POSES = {"rest": FETCH.rest, "carry": FETCH.carry}
POSES |= {"reach-low": reach_pose(0.4, 0.75), "reach-middle": reach_pose(0.8, 0.8), "reach-high": reach_pose(1.2, 0.8)}
angles = st.tuples(*(st.floats(low, high) for low, high in FETCH.limits))
headings = st.floats(-np.pi, np.pi)


def held_at(torso: float = TORSO, pan: float = 0.0, tilt: float = 1.45) -> Robot:
    """A Fetch whose torso (metres) and head (radians) are held elsewhere."""
    return replace(FETCH, held={"torso_lift_link": torso, "head_pan_link": pan, "head_tilt_link": tilt})


def forward(chain: Chain, q: np.ndarray) -> np.ndarray:
    """Link poses [L, 4, 4] in the base frame, one link after the other."""
    poses = np.zeros((len(chain.kind), 4, 4))
    for i, parent in enumerate(chain.parent):
        pose = chain.origin[i].copy()
        if chain.kind[i] == REVOLUTE:
            pose[:3, :3] = pose[:3, :3] @ turn(tuple(chain.axis[i]), q[chain.joint[i]])
        poses[i] = pose if parent < 0 else poses[parent] @ pose
    return poses


def grip(q: np.ndarray) -> np.ndarray:
    """End effector (3,) in the base frame."""
    return (forward(FETCH.chain, q)[FETCH.gripper_index] @ [*FETCH.grip, 1.0])[:3]


def urdf_text() -> str:
    """Our links and joints as a URDF, every joint free to move."""
    lines = ['<robot name="fetch">', *(f'<link name="{link.name}"/>' for link in FETCH.links)]
    for link in FETCH.links[1:]:
        kind = "continuous" if link.continuous else KINDS[link.kind]
        lines.append(f'<joint name="{link.name}_joint" type="{kind}">')
        lines.append(f'<parent link="{link.parent}"/><child link="{link.name}"/>')
        lines.append(f'<origin xyz="{" ".join(map(str, link.offset))}" rpy="0 0 0"/>')
        if link.kind != FIXED:
            lines.append(f'<axis xyz="{" ".join(map(str, link.axis))}"/>')
            lines.append(f'<limit lower="{link.lower}" upper="{link.upper}" effort="1" velocity="1"/>')
        lines.append("</joint>")
    return "\n".join([*lines, "</robot>"])


@pytest.fixture(scope="module")
def urdf(tmp_path_factory):
    yourdfpy = pytest.importorskip("yourdfpy")
    path = tmp_path_factory.mktemp("fetch") / "fetch.urdf"
    path.write_text(urdf_text())
    return yourdfpy.URDF.load(str(path), load_meshes=False, build_scene_graph=True)


@pytest.fixture(scope="module")
def mujoco_fetch():
    """(mujoco, model) of the Fetch that gymnasium-robotics ships."""
    spec = find_spec("gymnasium_robotics")
    if spec is None or spec.origin is None or find_spec("mujoco") is None:
        missing("gymnasium-robotics with mujoco is not installed (the meshes extra)")
    import mujoco

    assert spec is not None
    assert spec.origin is not None
    return mujoco, mujoco.MjModel.from_xml_path(str(Path(spec.origin).parent / "envs/assets/fetch/reach.xml"))


@settings(max_examples=30, deadline=None)
@given(q=angles, torso=st.floats(0, 0.386), pan=st.floats(-1.5, 1.5), tilt=st.floats(-0.7, 1.4))
def test_forward_kinematics_agree_with_yourdfpy(urdf, q, torso, pan, tilt):
    held = {"torso_lift_link_joint": torso, "head_pan_link_joint": pan, "head_tilt_link_joint": tilt}
    urdf.update_cfg(held | {f"{FETCH.links[i].name}_joint": q[j] for j, i in enumerate(FETCH.arm_links)})
    poses = forward(held_at(torso, pan, tilt).chain, np.array(q))
    reference = np.array([urdf.get_transform(link.name, "base_link") for link in FETCH.links])
    np.testing.assert_allclose(poses, reference, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(q=angles, torso=st.floats(0.04, 0.386), pan=st.floats(-1.5, 1.5))
def test_link_positions_agree_with_mujocos_fetch(mujoco_fetch, q, torso, pan):
    mujoco, model = mujoco_fetch
    data = mujoco.MjData(model)
    joints = {f"robot0:{FETCH.links[i].name.removesuffix('_link')}_joint": q[j] for j, i in enumerate(FETCH.arm_links)}
    for name, value in (joints | {"robot0:torso_lift_joint": torso, "robot0:head_pan_joint": pan}).items():
        data.joint(name).qpos[0] = value
    mujoco.mj_kinematics(model, data)
    base = data.body("robot0:base_link").xpos
    # MuJoCo's model gives offsets to a tenth of a millimetre.
    for link, pose in zip(FETCH.links, forward(held_at(torso, pan).chain, np.array(q)), strict=True):
        np.testing.assert_allclose(data.body(f"robot0:{link.name}").xpos - base, pose[:3, 3], atol=0.001)


@settings(max_examples=30, deadline=None)
@given(q=angles, x=st.floats(-5, 5), z=st.floats(-5, 5), yaw=headings)
def test_the_kernel_puts_every_link_into_the_world(q, x, z, yaw):
    chain, base = FETCH.chain, np.array([[[x, z, yaw]]])
    out = np.zeros((1, 1, len(FETCH.links), 4, 4))
    forward_kinematics(chain.origin, chain.axis, chain.kind, chain.parent, chain.joint, np.array([[q]]), base, out)
    np.testing.assert_allclose(out[0, 0], base_to_world(base[0, 0]) @ forward(chain, np.array(q)), atol=1e-9)


def test_arm_limits_agree_with_mujocos_fetch(mujoco_fetch):
    _, model = mujoco_fetch
    for index, (low, high), free in zip(FETCH.arm_links, FETCH.limits, FETCH.continuous, strict=True):
        joint = model.joint(f"robot0:{FETCH.links[index].name.removesuffix('_link')}_joint")
        assert bool(joint.limited[0]) != free
        if not free:
            np.testing.assert_allclose(joint.range, (low, high), atol=1e-6)


def test_there_are_seven_arm_joints_and_torso_and_head_are_held():
    chain = FETCH.chain
    assert chain.joint[chain.joint >= 0].tolist() == list(range(7))
    assert (chain.kind > 0).sum() == 7


def test_parents_come_before_their_children():
    parent = FETCH.chain.parent
    assert (parent < np.arange(len(parent))).all()


def test_the_torso_stands_at_fifteen_centimetres():
    lifted, lowered = (forward(held_at(torso).chain, FETCH.rest)[FETCH.gripper_index, 2, 3] for torso in (TORSO, 0.0))
    assert lifted - lowered == pytest.approx(0.15)


def test_a_torso_beyond_its_stop_is_refused_with_the_range():
    with pytest.raises(ValueError, match=r"torso_lift_link.*0\.5.*0\.38615"):
        held_at(torso=0.5)


def test_an_outstretched_arm_reaches_as_far_as_its_lengths_say():
    lengths = -0.086875 + 0.119525 + 0.117 + 0.219 + 0.133 + 0.197 + 0.1245 + 0.1385 + 0.16645 + 0.08
    np.testing.assert_allclose(grip(np.zeros(7)), [lengths, 0.0, 0.37743 + 0.15 + 0.34858 + 0.06], atol=1e-9)


def test_at_rest_the_gripper_points_down_beside_the_robots_right_hand():
    np.testing.assert_allclose(grip(FETCH.rest), [0.642, -0.241, 0.913], atol=0.001)
    assert forward(FETCH.chain, FETCH.rest)[FETCH.gripper_index, 2, 0] < -0.98


def test_a_carried_object_is_near_the_desired_resting_place():
    assert np.linalg.norm(grip(FETCH.carry) - RESTING_GRIP) < 0.12


@pytest.mark.parametrize("name", POSES)
def test_every_named_pose_is_within_the_limits(name):
    low, high = FETCH.limits.T
    assert ((low <= POSES[name]) & (POSES[name] <= high)).all()


@pytest.mark.parametrize(("name", "height", "distance"), [("low", 0.4, 0.75), ("middle", 0.8, 0.8), ("high", 1.2, 0.8)])
def test_reaching_poses_bring_the_gripper_to_their_height_and_distance(name, height, distance):
    np.testing.assert_allclose(grip(POSES[f"reach-{name}"]), [distance, 0.0, height], atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.25, 0.9), st.floats(0.4, 0.9))
def test_everything_up_to_counter_height_and_ninety_centimetres_is_reached_exactly(height, distance):
    np.testing.assert_allclose(grip(reach_pose(height, distance)), [distance, 0.0, height], atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(-1, 3), st.floats(0, 3))
def test_any_height_and_distance_gives_a_pose_within_the_limits_at_the_nearest_workable_height(height, distance):
    pose = reach_pose(height, distance)
    low, high = FETCH.limits.T
    assert ((low <= pose) & (pose <= high)).all()
    assert grip(pose)[2] == pytest.approx(np.clip(height, 0.25, 1.5), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.25, 1.5), st.floats(0.4, 1.2))
def test_a_reaching_arm_keeps_clear_of_the_camera(height, distance):
    poses = forward(FETCH.chain, reach_pose(height, distance))
    line = [*poses[FETCH.arm_links[1] :, :3, 3], (poses[FETCH.gripper_index] @ [*FETCH.grip, 1.0])[:3]]
    share = np.linspace(0, 1, 21)[:, None]
    points = np.concatenate([a + share * (b - a) for a, b in pairwise(line)])
    assert np.linalg.norm(points - FETCH.camera, axis=1).min() >= CAMERA_CLEARANCE - 1e-6


def test_fingers_open_sideways_when_reaching():
    assert abs(forward(FETCH.chain, POSES["reach-middle"])[FETCH.gripper_index, 2, 1]) < 1e-6


def test_the_table_for_kernels_holds_reach_poses():
    heights, distances = (np.linspace(*FETCH.workspace[axis], count) for axis, count in ((2, 11), (0, 9)))
    np.testing.assert_array_equal(FETCH.reach[3, 5], reach_pose(heights[3], distances[5]))


def test_the_camera_looks_down_by_21_8_degrees():
    looking = -FETCH.camera_to_world(np.zeros(3))[:3, 2]
    assert np.degrees(np.arcsin(-looking[1])) == pytest.approx(21.8, abs=0.01)


def test_the_camera_stands_ahead_of_the_base_at_its_height():
    np.testing.assert_allclose(FETCH.camera_to_world(np.array([1.0, 2.0, np.pi / 2]))[:3, 3], [1.0, 1.2, 1.75], atol=1e-12)


@given(headings)
def test_the_camera_is_level_and_looks_where_the_robot_faces(yaw):
    pose = FETCH.camera_to_world(np.array([0.0, 0.0, yaw]))
    right, up, looking = pose[:3, 0], pose[:3, 1], -pose[:3, 2]
    np.testing.assert_allclose(right, [np.sin(yaw), 0.0, np.cos(yaw)], atol=1e-12)
    assert looking[0] * np.cos(yaw) - looking[2] * np.sin(yaw) > 0.9
    assert up[1] > 0.9


@given(headings)
def test_the_base_frame_is_right_handed_with_forward_left_and_up(yaw):
    pose = base_to_world(np.array([3.0, -2.0, yaw]))
    np.testing.assert_allclose(pose[:3, 0], [np.cos(yaw), 0.0, -np.sin(yaw)], atol=1e-12)
    np.testing.assert_allclose(pose[:3, 1], [-np.sin(yaw), 0.0, -np.cos(yaw)], atol=1e-12)
    np.testing.assert_allclose(np.cross(pose[:3, 0], pose[:3, 1]), pose[:3, 2], atol=1e-12)


def test_camera_poses_come_in_batches():
    base = np.random.default_rng(0).uniform(-3, 3, (4, 2, 3))
    np.testing.assert_allclose(FETCH.camera_to_world(base)[3, 1], FETCH.camera_to_world(base[3, 1]))


def body_points(q: np.ndarray) -> np.ndarray:
    """Corners [M, 3] of the whole body in the base frame."""
    parts, poses = FETCH.parts, forward(FETCH.chain, q)
    return np.concatenate([corners(parts, i) @ poses[b][:3, :3].T + poses[b][:3, 3] for i, b in enumerate(parts.body)])


def test_the_body_has_a_fetchs_height_and_stands_on_the_floor():
    torso_and_head = FETCH.parts.body <= FETCH.index["head_tilt_link"]
    parts, poses = FETCH.parts, forward(FETCH.chain, FETCH.rest)
    heights = np.concatenate(
        [
            (corners(parts, i) @ poses[b][:3, :3].T + poses[b][:3, 3])[:, 2]
            for i, b in enumerate(parts.body)
            if torso_and_head[i]
        ]
    )
    assert 0.0 <= heights.min() < 0.03
    assert 1.2 < heights.max() < 1.27


def test_every_link_of_the_robot_has_a_body():
    assert set(FETCH.parts.body.tolist()) == set(range(len(FETCH.links)))


def test_the_body_is_twenty_to_thirty_five_solids():
    assert 20 <= len(FETCH.parts) <= 35


def test_the_robots_base_fits_its_disc():
    points = body_points(FETCH.rest)
    low = points[points[:, 2] < 0.37]
    assert np.hypot(low[:, 0], low[:, 1]).max() < ROBOT_RADIUS


def test_rotations_of_the_body_are_proper():
    rotation = FETCH.parts.rotation
    np.testing.assert_allclose(rotation @ rotation.transpose(0, 2, 1), np.tile(np.eye(3), (len(rotation), 1, 1)), atol=1e-6)
    np.testing.assert_allclose(np.linalg.det(rotation), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", ["rest", "carry"])
def test_the_resting_and_carrying_arm_leaves_most_of_the_picture_free(name):
    points = body_points(POSES[name])
    seen = (np.c_[points, np.ones(len(points))] @ np.linalg.inv(FETCH.camera_to_base).T)[:, :3]
    seen = seen[seen[:, 2] < -0.05]
    # The left half of the picture, where x is negative, shows nothing of the robot but at its inner edge.
    inside = seen[(np.abs(seen[:, 0]) < -seen[:, 2]) & (np.abs(seen[:, 1]) < -seen[:, 2])]
    assert (inside[:, 0] / -inside[:, 2]).min() > -0.2


@pytest.fixture(scope="module")
def real() -> meshes.Meshes:
    found = FETCH.meshes()
    if found is None:
        missing("gymnasium-robotics is not installed (the meshes extra)")
    assert found is not None
    return found


@pytest.mark.parametrize("link", range(len(FETCH.links)))
def test_solids_and_real_meshes_of_a_link_have_the_same_bounds_to_two_centimetres(real, link):
    parts = FETCH.parts
    ours = np.concatenate([corners(parts, i) for i in np.flatnonzero(parts.body == link)])
    theirs = real.vertices[np.unique(real.faces[real.body == link])]
    np.testing.assert_allclose(ours.min(axis=0), theirs.min(axis=0), atol=0.02)
    np.testing.assert_allclose(ours.max(axis=0), theirs.max(axis=0), atol=0.02)


def test_real_meshes_turn_their_faces_outwards(real):
    a, b, c = (real.vertices[real.faces[:, i]].astype(float) for i in range(3))
    volumes = np.bincount(real.body, np.einsum("ij,ij->i", a, np.cross(b, c)) / 6)
    assert (volumes > 0).all()


def test_without_the_package_there_are_no_meshes(monkeypatch):
    monkeypatch.setattr(meshes, "find_spec", lambda name: None)
    assert FETCH.meshes() is None
