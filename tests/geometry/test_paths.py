"""Paths along distance fields: every hop in sight, no longer than the field says, and always arriving."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.grids import furnished, noise
from housemates.geometry.distance import distance_field, islands
from housemates.geometry.paths import corner_path_length, descend, next_corners
from housemates.geometry.sight import sees

CELL = 0.05
SEED = st.integers(0, 10**6)


def corners_of(free: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """The main region, its cells, a field from one of them, the next corners and the source."""
    main = islands(free)[0] == 0
    cells = np.argwhere(main).astype(np.int32)
    cell_of = np.full(main.shape, -1, np.int32)
    cell_of[main] = np.arange(len(cells))
    source = int(np.random.default_rng(seed).integers(len(cells)))
    field = np.empty(main.shape, np.float32)
    distance_field(main, float(cells[source, 0]), float(cells[source, 1]), CELL, field)
    out = np.empty(len(cells), np.uint16)
    next_corners(main, field, cells, cell_of, out)
    return main, cells, field, out, source


GRIDS = st.one_of(SEED.map(lambda s: noise(s, 20, 24, 0.3)), st.integers(0, 30).map(lambda s: furnished(s, 40, 46, 6)))


@settings(max_examples=60, deadline=None)
@given(GRIDS, SEED)
def test_every_hop_to_the_next_corner_is_in_sight(free, seed):
    main, cells, _, corner, _ = corners_of(free, seed)
    hidden = [k for k, c in enumerate(corner) if not sees(main, *cells[k].astype(float), *cells[c].astype(float))]
    assert hidden == []


@settings(max_examples=60, deadline=None)
@given(GRIDS, SEED)
def test_following_corners_from_any_cell_leads_to_the_source(free, seed):
    _, _, _, corner, source = corners_of(free, seed)
    here = np.arange(len(corner))
    for _ in range(len(corner)):
        here = corner[here]
    assert (here == source).all()


@settings(max_examples=40, deadline=None)
@given(SEED)
def test_the_way_along_corners_is_hardly_longer_than_the_shortest(seed):
    main, cells, field, corner, _ = corners_of(furnished(seed % 40), seed)
    lengths = np.array([corner_path_length(cells, corner, k, CELL) for k in range(len(cells))])
    # Corners are centres of cells, half a cell's diagonal off an obstacle's own: up to 3.5 cm for each radian turned.
    assert (lengths <= field[main] * 1.03 + 0.12).all()


def test_the_source_is_its_own_corner():
    _, _, _, corner, source = corners_of(furnished(1), 7)
    assert corner[source] == source


def test_a_path_along_corners_adds_up_its_hops():
    cells = np.array([[0, 0], [0, 3], [4, 3]], np.int32)
    assert corner_path_length(cells, np.array([1, 2, 2], np.uint16), 0, CELL) == pytest.approx(7 * CELL)


def test_the_next_corners_come_out_the_same_twice():
    assert corners_of(furnished(2), 3)[3].tobytes() == corners_of(furnished(2), 3)[3].tobytes()


@settings(max_examples=40, deadline=None)
@given(SEED)
def test_a_descended_path_runs_from_start_to_goal_in_sight(seed):
    free, points, _ = descended(seed)
    assert all(sees(free, *a, *b) for a, b in pairwise(points))


@settings(max_examples=40, deadline=None)
@given(SEED)
def test_a_descended_path_is_hardly_longer_than_the_field_says(seed):
    _, points, distance = descended(seed)
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() * CELL <= distance * 1.03 + 0.1


def test_there_is_no_path_to_another_island():
    free = np.ones((9, 9), bool)
    free[4] = False
    field, out = np.empty(free.shape, np.float32), np.empty((10, 2))
    distance_field(free, 1.0, 1.0, CELL, field)
    assert descend(free, field, 7.0, 7.0, 1.0, 1.0, CELL, out) == 0


def descended(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """A furnished room, a path between two of its points, and the field's distance there."""
    free = islands(furnished(seed % 40))[0] == 0
    rng = np.random.default_rng(seed)
    cells = np.argwhere(free).astype(float)
    start, goal = rng.choice(cells), rng.choice(cells) + rng.uniform(-0.4, 0.4, 2)
    field, out = np.empty(free.shape, np.float32), np.empty((400, 2))
    distance_field(free, *goal, CELL, field)
    count = descend(free, field, *start, *goal, CELL, out)
    np.testing.assert_allclose(out[[0, count - 1]], [start, goal], atol=1e-5)
    return free, out[:count], float(field[tuple(start.astype(int))])
