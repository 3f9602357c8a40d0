"""Forward kinematics against a plain product of matrices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from housemates.geometry.kinematics import FIXED, PRISMATIC, REVOLUTE, forward_kinematics
from housemates.robots import FETCH
from housemates.robots.robot import base_to_world

SEED = st.integers(0, 10**6)


def tree(seed: int, links: int = 6) -> tuple[np.ndarray, ...]:
    """A random tree of links: origin, axis, kind, parent, joint."""
    rng = np.random.default_rng(seed)
    origin = np.tile(np.eye(4), (links, 1, 1))
    origin[:, :3, :3] = Rotation.random(links, random_state=seed).as_matrix()
    origin[:, :3, 3] = rng.uniform(-1, 1, (links, 3))
    axis = rng.normal(size=(links, 3))
    kind = rng.integers(0, 3, links)
    parent = np.array([rng.integers(-1, k) if k else -1 for k in range(links)])
    joint = np.where(kind == FIXED, -1, np.cumsum(kind != FIXED) - 1)
    return origin, axis / np.linalg.norm(axis, axis=1, keepdims=True), kind, parent, joint


def twin(origin, axis, kind, parent, joint, q, base) -> np.ndarray:
    """The links [L, 4, 4] of one robot, matrix by matrix."""
    out = np.empty_like(origin)
    for k in range(len(origin)):
        motion = np.eye(4)
        if kind[k] == REVOLUTE:
            motion[:3, :3] = Rotation.from_rotvec(axis[k] * q[joint[k]]).as_matrix()
        elif kind[k] == PRISMATIC:
            motion[:3, 3] = axis[k] * q[joint[k]]
        out[k] = (base_to_world(base) if parent[k] < 0 else out[parent[k]]) @ origin[k] @ motion
    return out


@given(SEED)
def test_a_tree_of_links_moves_as_the_product_of_its_matrices(seed):
    links, rng = tree(seed), np.random.default_rng(seed)
    q, base = rng.uniform(-3, 3, (2, 3, 6)), rng.uniform(-4, 4, (2, 3, 3))
    out = np.empty((2, 3, 6, 4, 4))
    forward_kinematics(*links, q, base, out)
    expected = [[twin(*links, q[e, r], base[e, r]) for r in range(3)] for e in range(2)]
    np.testing.assert_allclose(out, expected, atol=1e-10)


def test_a_robot_in_the_origin_has_forward_left_and_up_along_x_minus_z_and_y():
    out = np.empty((1, 1, 1, 4, 4))
    arrays = np.eye(4)[None], np.array([[0.0, 0.0, 1.0]]), np.array([0]), np.array([-1]), np.array([-1])
    forward_kinematics(*arrays, np.zeros((1, 1, 1)), np.zeros((1, 1, 3)), out)
    np.testing.assert_array_equal(out[0, 0, 0, :3, :3], [[1, 0, 0], [0, 0, 1], [0, -1, 0]])


def test_the_links_of_the_fetch_stay_rigid():
    robot, rng = FETCH.chain, np.random.default_rng(0)
    out = np.empty((4, 2, len(robot.kind), 4, 4))
    links = robot.origin, robot.axis, robot.kind, robot.parent, robot.joint
    forward_kinematics(*links, rng.uniform(-1, 1, (4, 2, 7)), rng.uniform(-3, 3, (4, 2, 3)), out)
    turns = out[..., :3, :3]
    np.testing.assert_allclose(turns @ turns.swapaxes(-1, -2), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)
