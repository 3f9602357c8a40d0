"""Transforms against numpy and scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from housemates.geometry.transforms import apply, compose, from_quaternion, from_yaw, rigid_inverse, wrap_angle

SEED = st.integers(0, 10**6)


def transforms(seed: int, count: int = 5) -> np.ndarray:
    out = np.tile(np.eye(4), (count, 1, 1))
    out[:, :3, :3] = Rotation.random(count, random_state=seed).as_matrix()
    out[:, :3, 3] = np.random.default_rng(seed).uniform(-3, 3, (count, 3))
    return out


@given(st.floats(-1e4, 1e4))
def test_a_wrapped_angle_points_the_same_way(angle):
    np.testing.assert_allclose(
        [np.cos(wrap_angle(angle)), np.sin(wrap_angle(angle))], [np.cos(angle), np.sin(angle)], atol=1e-9
    )


@given(st.floats(-1e6, 1e6))
def test_a_wrapped_angle_is_above_minus_pi_and_at_most_pi(angle):
    assert -np.pi < wrap_angle(angle) <= np.pi


@pytest.mark.parametrize("turns", [-3, -1, 1, 3])
def test_half_turns_wrap_to_plus_pi(turns):
    assert wrap_angle(turns * np.pi) == pytest.approx(np.pi)


@given(st.floats(-10, 10))
def test_a_yaw_faces_as_robots_do(yaw):
    out = np.empty((1, 4, 4))
    from_yaw(np.zeros((1, 3)), np.array([yaw]), out)
    np.testing.assert_allclose(out[0, :3, 0], [np.cos(yaw), 0, -np.sin(yaw)], atol=1e-12)


@given(SEED)
def test_a_yaw_is_a_rotation_about_y_and_a_move(seed):
    rng = np.random.default_rng(seed)
    position, yaw, out = rng.uniform(-3, 3, (4, 3)), rng.uniform(-7, 7, 4), np.empty((4, 4, 4))
    from_yaw(position, yaw, out)
    expected = np.tile(np.eye(4), (4, 1, 1))
    expected[:, :3, :3] = Rotation.from_rotvec(yaw[:, None] * [0.0, 1.0, 0.0]).as_matrix()
    expected[:, :3, 3] = position
    np.testing.assert_allclose(out, expected, atol=1e-12)


@given(SEED, st.floats(0.01, 100))
def test_quaternions_of_any_length_are_scipys_rotations(seed, length):
    rng = np.random.default_rng(seed)
    wxyz, position, out = rng.normal(size=(4, 4)) * length, rng.uniform(-3, 3, (4, 3)), np.empty((4, 4, 4))
    from_quaternion(wxyz, position, out)
    np.testing.assert_allclose(out[:, :3, :3], Rotation.from_quat(wxyz[:, [1, 2, 3, 0]]).as_matrix(), atol=1e-12)


def test_a_quaternion_of_length_zero_is_no_turn():
    out = np.empty((1, 4, 4))
    from_quaternion(np.zeros((1, 4)), np.zeros((1, 3)), out)
    np.testing.assert_array_equal(out[0], np.eye(4))


@given(SEED)
def test_composing_is_multiplying_matrices(seed):
    a, b, out = transforms(seed), transforms(seed + 1), np.empty((5, 4, 4))
    compose(a, b, out)
    np.testing.assert_allclose(out, a @ b, atol=1e-12)


@given(SEED)
def test_the_rigid_inverse_is_the_matrix_inverse(seed):
    a, out = transforms(seed), np.empty((5, 4, 4))
    rigid_inverse(a, out)
    np.testing.assert_allclose(out, np.linalg.inv(a), atol=1e-12)


@given(SEED)
def test_points_are_carried_as_by_the_matrix(seed):
    a, points = transforms(seed), np.random.default_rng(seed).normal(size=(5, 7, 3))
    expected = np.einsum("nij,npj->npi", a[:, :3, :3], points) + a[:, None, :3, 3]
    apply(a, points, points)
    np.testing.assert_allclose(points, expected, atol=1e-12)
