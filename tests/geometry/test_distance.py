"""Distance fields, islands, clearance and snapping against scipy and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from helpers.grids import exact_distances, furnished, noise, octile_distances
from housemates.geometry.distance import clearance, distance_at, distance_field, islands, nearest_free

CELL = 0.05
SEED = st.integers(0, 10**6)


def field(free: np.ndarray, row: float, col: float) -> np.ndarray:
    out = np.empty(free.shape, np.float32)
    distance_field(free, row, col, CELL, out)
    return out


def some_point(free: np.ndarray, seed: int) -> tuple[float, float]:
    """A point inside a free cell."""
    rng = np.random.default_rng(seed)
    row, col = rng.choice(np.argwhere(free)) + rng.uniform(-0.4, 0.4, 2)
    return float(row), float(col)


@pytest.mark.parametrize("seed", range(4))
def test_distances_in_a_furnished_room_are_nearly_exact(seed):
    free = furnished(seed)
    point = some_point(free, seed)
    exact, found = exact_distances(free, point) * CELL, field(free, *point)
    far = np.isfinite(exact) & (exact > 0.5)
    error = np.abs(found[far] / exact[far] - 1)
    assert np.median(error) <= 0.002
    assert error.max() <= 0.025


@settings(deadline=None)
@given(SEED)
def test_no_distance_is_longer_than_a_walk_from_cell_to_cell(seed):
    free = noise(seed)
    row, col = (int(v) for v in np.random.default_rng(seed).choice(np.argwhere(free)))
    walk = octile_distances(free, (row, col))
    found = field(free, float(row), float(col)) / CELL
    reached = np.isfinite(walk)
    assert (found[reached] <= walk[reached] + 1e-3).all()


@settings(max_examples=25, deadline=None)
@given(SEED)
def test_no_distance_is_shorter_than_the_shortest_path(seed):
    free = noise(seed, 14, 17, 0.2)
    point = some_point(free, seed)
    exact, found = exact_distances(free, point), field(free, *point) / CELL
    reached = np.isfinite(exact)
    assert (found[reached] >= exact[reached] - 1e-3).all()


@settings(deadline=None)
@given(SEED)
def test_exactly_the_cells_of_the_sources_island_are_reached(seed):
    free = noise(seed, blocked=0.4)
    row, col = np.random.default_rng(seed).choice(np.argwhere(free))
    labels, _ = islands(free)
    np.testing.assert_array_equal(np.isfinite(field(free, float(row), float(col))), labels == labels[row, col])


def test_open_floor_has_straight_distances_from_a_point_between_cells():
    rows, cols = np.mgrid[:40, :30]
    found = field(np.ones((40, 30), bool), 11.3, 17.8)
    np.testing.assert_allclose(found, CELL * np.hypot(rows - 11.3, cols - 17.8), rtol=1e-5)


def test_a_source_in_the_wall_counts_as_the_nearest_free_cell():
    free = np.ones((10, 10), bool)
    free[:, :3] = False
    np.testing.assert_array_equal(field(free, 5.0, 0.6), field(free, 5.0, 3.0))


def test_without_free_cells_nothing_is_reached():
    assert np.isinf(field(np.zeros((5, 5), bool), 2.0, 2.0)).all()


def test_the_same_field_comes_out_twice():
    free = furnished(3)
    assert field(free, 20.3, 40.1).tobytes() == field(free, 20.3, 40.1).tobytes()


@settings(max_examples=30, deadline=None)
@given(SEED)
def test_a_distance_between_two_points_is_the_same_both_ways(seed):
    free = furnished(seed % 5)
    start, goal = some_point(free, seed), some_point(free, seed + 1)
    there = distance_at(free, field(free, *goal), *start, *goal, CELL)
    back = distance_at(free, field(free, *start), *goal, *start, CELL)
    assert there == back or abs(there - back) <= 0.02 * there + 0.01


@settings(max_examples=30, deadline=None)
@given(SEED)
def test_a_distance_between_points_off_the_lattice_is_nearly_exact(seed):
    free = furnished(seed % 5, 30, 36, 3)
    start, goal = some_point(free, seed), some_point(free, seed + 1)
    cells = np.argwhere(free)
    # The start as one more source: the exact way to the goal's cell, then from there, bounds it from above.
    exact = exact_distances(free, start)
    nearest = cells[np.argmin(np.hypot(*(cells - goal).T))]
    slack = np.hypot(*(nearest - goal))
    found = distance_at(free, field(free, *goal), *start, *goal, CELL) / CELL
    expected = exact[tuple(nearest)]
    assert found == expected or expected - slack - 1e-3 <= found <= 1.03 * (expected + slack) + 0.1


def test_points_in_sight_are_as_far_as_the_crow_flies():
    free = np.ones((20, 20), bool)
    assert distance_at(free, field(free, 3.2, 4.1), 10.7, 15.9, 3.2, 4.1, CELL) == CELL * np.hypot(7.5, 11.8)


def test_a_start_off_the_grid_counts_as_its_nearest_cell():
    free = np.ones((20, 20), bool)
    assert distance_at(free, field(free, 5.0, 5.0), 5.0, -3.0, 5.0, 5.0, CELL) == pytest.approx(5 * CELL)


@given(SEED)
def test_islands_are_scipys_components(seed):
    free = noise(seed, blocked=0.45)
    labels, sizes = islands(free)
    expected, count = ndimage.label(free)
    pairs = {(a, b) for a, b in zip(labels[free], expected[free], strict=True)}
    assert len(pairs) == count == len(sizes)


@given(SEED)
def test_islands_come_by_size_then_by_first_cell(seed):
    free = noise(seed, blocked=0.45)
    labels, sizes = islands(free)
    first = [int(np.flatnonzero(labels.ravel() == k)[0]) for k in range(len(sizes))]
    keys = [(-int((labels == k).sum()), first[k]) for k in range(len(sizes))]
    assert keys == sorted(keys)
    assert [-k[0] for k in keys] == sizes.tolist()


def test_blocked_cells_belong_to_no_island():
    free = noise(5)
    assert (islands(free)[0][~free] == -1).all()


def test_cells_that_meet_at_a_corner_are_two_islands():
    assert len(islands(np.eye(2, dtype=bool))[1]) == 2


@given(SEED, st.floats(-3, 15), st.floats(-3, 18), st.floats(0, 6))
def test_the_nearest_free_cell_is_the_first_of_the_nearest(seed, row, col, reach):
    free = noise(seed, blocked=0.7)
    cells = np.argwhere(free)
    squares = (cells[:, 0] - row) ** 2 + (cells[:, 1] - col) ** 2
    best = int(np.argmin(squares))
    expected = tuple(cells[best]) if squares[best] <= reach * reach + 1e-9 else (-1, -1)
    assert nearest_free(free, row, col, reach) == expected


def test_ties_go_to_the_smallest_row_and_column():
    assert nearest_free(np.ones((4, 4), bool), 1.5, 1.5, 3.0) == (1, 1)


@given(SEED, st.integers(1, 25), st.integers(1, 25), st.floats(0, 1))
def test_clearance_is_scipys_distance_transform(seed, height, width, blocked):
    free = np.random.default_rng(seed).random((height, width)) >= blocked
    out = np.empty(free.shape, np.float32)
    clearance(free, CELL, out)
    expected = ndimage.distance_transform_edt(np.pad(free, 1))[1:-1, 1:-1] * CELL
    np.testing.assert_allclose(out, expected, rtol=1e-6)
