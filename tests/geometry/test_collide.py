"""Contact tests against dense sampling and plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from housemates.geometry.shapes import (
    block_polygons,
    capsules_touch,
    disc_touches_capsule,
    discs_touch,
    point_box_distance,
    point_polygon_distance,
    point_segment_distance,
    segment_segment_distance,
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


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.1, 1), st.floats(0.1, 1))
def test_discs_touch_when_their_centres_are_close(x, z, a, b):
    gap = np.hypot(x, z) - a - b
    assert discs_touch(0.0, 0.0, a, x, z, b) == (gap <= 1e-9) or abs(gap) < 1e-8


@given(SEED, st.sampled_from([2, 3]))
def test_the_distance_to_a_segment_is_that_to_its_nearest_point(seed, dimensions):
    point, start, end = np.random.default_rng(seed).uniform(-1, 1, (3, dimensions))
    assert point_segment_distance(point, start, end) == pytest.approx(to_segment(point, start, end), abs=1e-12)


@given(SEED, st.sampled_from([2, 3]), st.booleans())
def test_the_distance_of_two_segments_is_the_least_over_their_points(seed, dimensions, parallel):
    a, b, c, d = np.random.default_rng(seed).uniform(-1, 1, (4, dimensions))
    if parallel:
        d = c + 0.7 * (b - a)
    sampled = min(to_segment(a + t * (b - a), c, d) for t in np.linspace(0, 1, 201))
    found = segment_segment_distance(a, b, c, d)
    # Between two of 201 samples the distance falls by at most half a step.
    assert sampled - np.linalg.norm(b - a) / 400 - 1e-9 <= found <= sampled + 1e-9


def test_crossing_segments_are_at_distance_zero():
    points = np.array([[-1.0, 0.0], [1.0, 0.0], [0.3, -1.0], [0.3, 1.0]])
    assert segment_segment_distance(*points) == pytest.approx(0, abs=1e-12)


def test_a_segment_without_length_is_a_point():
    a, b = np.array([0.0, 1.0]), np.array([[-1.0, 0.0], [1.0, 0.0]])
    assert segment_segment_distance(a, a, b[0], b[1]) == 1.0


def test_capsules_touch_up_to_the_sum_of_their_radii():
    ends = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [1.0, 0.5, 0.0]])
    touching = [capsules_touch(ends[0], ends[1], radius, ends[2], ends[3], 0.2) for radius in (0.29, 0.3, 0.31)]
    assert touching == [False, True, True]


def test_a_disc_touches_a_capsule_beside_it():
    start, end = np.array([0.0, 0.0]), np.array([1.0, 0.0])
    touching = [disc_touches_capsule(np.array([x, 0.5]), 0.3, start, end, 0.2) for x in (0.5, 1.0, 1.1)]
    assert touching == [True, True, False]


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
