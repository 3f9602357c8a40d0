"""Lines of sight against a test of every blocked square."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.grids import blocked_cells, noise, sees_all
from housemates.geometry.sight import obstacle, sees

# Eighths of a cell: segments hit edges and corners of cells exactly.
ROW, COL = st.integers(-12, 100).map(lambda k: k / 8), st.integers(-12, 124).map(lambda k: k / 8)


@given(st.integers(0, 10**6), ROW, COL, ROW, COL)
def test_sight_agrees_with_a_test_of_every_blocked_square(seed, row0, col0, row1, col1):
    free = noise(seed, blocked=0.05)
    expected = sees_all(blocked_cells(free), np.array([row0, col0]), np.array([[row1, col1]]))[0]
    assert sees(free, row0, col0, row1, col1) == expected


@given(st.integers(0, 10**6), ROW, COL, ROW, COL)
def test_sight_is_mutual(seed, row0, col0, row1, col1):
    free = noise(seed, blocked=0.1)
    assert sees(free, row0, col0, row1, col1) == sees(free, row1, col1, row0, col0)


@given(st.integers(0, 10**6), ROW, COL, ROW, COL)
def test_what_hides_a_point_is_a_blocked_cell(seed, row0, col0, row1, col1):
    free = noise(seed)
    found = obstacle(free, row0, col0, row1, col1)
    assert found < 0 or not free.flat[found]


def test_a_line_through_a_shared_corner_needs_both_side_cells():
    free = np.array([[True, False], [True, True]])
    assert not sees(free, 0.0, 0.0, 1.0, 1.0)


def test_a_line_through_a_corner_of_four_free_cells_is_free():
    assert sees(np.ones((2, 2), bool), 0.0, 0.0, 1.0, 1.0)


def test_a_line_along_a_wall_is_free():
    free = np.ones((3, 9), bool)
    free[2] = False
    assert sees(free, 1.49, 0.0, 1.49, 8.0)


def test_nothing_is_seen_off_the_grid():
    assert not sees(np.ones((4, 4), bool), 1.0, 1.0, 1.0, 3.6)
