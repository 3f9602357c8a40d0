"""Contact tests against dense sampling and plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from housemates.geometry.shapes import (
    block_polygons,
    point_box_distance,
    point_polygon_distance,
    sphere_touches_box,
)

SEED = st.integers(0, 10**6)


def polygon(seed: int) -> np.ndarray:
    """Corners [M, 2] of a random convex polygon, of either winding."""
    points = np.random.default_rng(seed).uniform(-1, 1, (8, 2))
    corners = points[ConvexHull(points).vertices]
    return corners[::-1].copy() if seed % 2 else corners


def to_segment(point: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
    edge = end - start
    t = np.clip((point - start) @ edge / max(edge @ edge, 1e-300), 0, 1)
    return float(np.linalg.norm(point - start - t * edge))


def to_polygon(point: np.ndarray, corners: np.ndarray) -> float:
    edges = np.roll(corners, -1, axis=0) - corners
    away = point - corners
    cross = edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]
    if (cross >= 0).all() or (cross <= 0).all():
        return 0.0
    return min(to_segment(point, a, a + e) for a, e in zip(corners, edges, strict=True))


@given(SEED, st.floats(-2, 2), st.floats(-2, 2))
def test_the_distance_to_a_polygon_is_that_to_its_nearest_edge(seed, x, z):
    corners = polygon(seed)
    expected = to_polygon(np.array([x, z]), corners)
    assert point_polygon_distance(corners, len(corners), x, z) == pytest.approx(expected, abs=1e-12)


def test_a_point_on_the_line_through_a_flat_polygon_is_outside():
    flat = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    assert point_polygon_distance(flat, 3, 3.0, 0.0) == 1.0


@settings(max_examples=15, deadline=None)
@given(SEED, st.floats(0.0, 0.5))
def test_cells_within_the_radius_of_a_polygon_are_blocked_and_no_others(seed, radius):
    corners = [polygon(seed), polygon(seed + 1) * 0.3]
    padded = np.zeros((2, 8, 2))
    for k, c in enumerate(corners):
        padded[k, : len(c)] = c
    free = np.ones((30, 26), bool)
    block_polygons(padded, np.array([len(c) for c in corners]), radius, -1.2, -1.5, 0.1, free)
    points = [(row, col, np.array([-1.2 + col * 0.1, -1.5 + row * 0.1])) for row in range(30) for col in range(26)]
    expected = {(row, col): min(to_polygon(p, c) for c in corners) - radius for row, col, p in points}
    clear = {cell for cell, gap in expected.items() if gap > 1e-8}
    hit = {cell for cell, gap in expected.items() if gap < 0}
    assert all(free[cell] for cell in clear)
    assert not any(free[cell] for cell in hit)


def test_a_cell_at_exactly_the_radius_is_blocked():
    wall = np.array([[[-1.0, 0.0], [1.0, 0.0], [1.0, -0.1], [-1.0, -0.1]]])
    free = np.ones((20, 1), bool)
    block_polygons(wall, np.array([4]), 0.3, 0.0, 0.0, 0.05, free)
    assert free[:, 0].tolist() == [False] * 7 + [True] * 13


def test_cells_that_were_blocked_stay_blocked():
    free = np.zeros((5, 5), bool)
    block_polygons(np.zeros((0, 4, 2)), np.zeros(0, np.int64), 0.3, 0.0, 0.0, 0.05, free)
    assert not free.any()


@given(SEED)
def test_the_distance_to_a_box_is_measured_in_its_own_frame(seed):
    rng = np.random.default_rng(seed)
    point, center, half = rng.uniform(-2, 2, 3), rng.uniform(-1, 1, 3), rng.uniform(0.1, 1, 3)
    rotation = Rotation.random(random_state=seed).as_matrix()
    local = rotation.T @ (point - center)
    expected = np.linalg.norm(local - np.clip(local, -half, half))
    assert point_box_distance(point, center, rotation, half) == pytest.approx(expected, abs=1e-12)


def test_a_suction_cup_touches_the_face_it_rests_on():
    point, center = np.array([0.0, 0.12, 0.0]), np.zeros(3)
    touching = [sphere_touches_box(point, radius, center, np.eye(3), np.full(3, 0.1)) for radius in (0.019, 0.02, 0.021)]
    assert touching == [False, True, True]
