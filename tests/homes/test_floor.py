"""The floor grid: where a robot may stand, and geodesics between continuous points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housemates.homes.floor import CELL, FIELDS_KEPT, Floor, floor_from_footprints

WALL = np.array([[[-0.1, -2.0], [0.1, -2.0], [0.1, 1.0], [-0.1, 1.0]]])


@pytest.fixture(scope="module")
def floor() -> Floor:
    """Five by four metres around the origin, with a wall from the edge to (0, 1)."""
    return floor_from_footprints(WALL, np.array([4]), (-2.5, -2.0), (2.5, 2.0))


XZ = st.tuples(st.floats(-2.4, 2.4), st.floats(-1.9, 1.9))


def round_the_wall(start: tuple[float, float], goal: tuple[float, float], radius: float = 0.3) -> float:
    """Metres from left of the wall to right of it: straight lines and arcs around its two corners, by fine sampling."""
    angles = np.linspace(0, np.pi / 2, 200)
    left = np.stack([-0.1 - radius * np.cos(angles), 1 + radius * np.sin(angles)], axis=1)
    chain = [np.array(start), *left, *(left * [-1, 1])[::-1], np.array(goal)]
    # The tight rope over the convex chain is its upper hull.
    hull = []
    for p in chain:
        while len(hull) > 1 and np.cross(np.append(hull[-1] - hull[-2], 0), np.append(p - hull[-1], 0))[2] >= 0:
            hull.pop()
        hull.append(p)
    return float(np.linalg.norm(np.diff(hull, axis=0), axis=1).sum())


def test_a_robot_cannot_stand_closer_to_a_wall_than_its_radius(floor):
    assert [floor.is_free((x, -1.0)) for x in (-0.5, -0.45, -0.35, 0.0, 0.35, 0.45)] == [True, True, False, False, False, True]


def test_the_area_is_that_of_the_free_cells(floor):
    assert floor.area == pytest.approx(floor.free.sum() * CELL**2)


def test_a_point_belongs_to_the_nearest_cell(floor):
    assert floor.point(*(round(v) for v in floor.grid((1.02, 0.49)))) == pytest.approx((1.0, 0.5))


@settings(max_examples=40, deadline=None)
@given(XZ, XZ)
def test_geodesics_on_one_side_of_the_wall_are_straight(floor, start, goal):
    start, goal = (0.5 + abs(start[0]) * 0.8, start[1]), (0.5 + abs(goal[0]) * 0.8, goal[1])
    assert floor.geodesic(start, goal) == pytest.approx(np.hypot(start[0] - goal[0], start[1] - goal[1]), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(-2.3, -0.5), st.floats(-1.9, 0.5), st.floats(0.5, 2.3), st.floats(-1.9, 0.5))
def test_geodesics_round_the_wall_are_as_long_as_a_tight_rope_within_half_a_cell(floor, x0, z0, x1, z1):
    # Blocked squares reach up to half a cell's diagonal beyond the robot's radius, free ones as far inside it.
    doubt = CELL * np.sqrt(0.5) + 0.001
    shortest, longest = (round_the_wall((x0, z0), (x1, z1), 0.3 + d) for d in (-doubt, doubt))
    assert shortest <= floor.geodesic((x0, z0), (x1, z1)) <= longest


@settings(max_examples=40, deadline=None)
@given(XZ, XZ)
def test_no_geodesic_is_shorter_than_the_straight_line(floor, start, goal):
    straight = np.hypot(start[0] - goal[0], start[1] - goal[1])
    # Points in the wall's margin are moved to its edge, up to 0.3 m each.
    moved = 0.3 * ((not floor.is_free(start)) + (not floor.is_free(goal)))
    assert floor.geodesic(start, goal) >= straight - moved - 1e-6


def test_a_point_deep_in_a_wall_cannot_be_reached():
    wide = np.array([[[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]])
    floor = floor_from_footprints(wide, np.array([4]), (-2.0, -2.0), (2.0, 2.0))
    assert floor.geodesic((0.0, 0.0), (1.8, 1.8)) == float("inf")


def test_a_point_just_inside_the_margin_counts_as_the_nearest_free_one(floor):
    assert floor.geodesic((0.3, -1.0), (1.4, -1.0)) == pytest.approx(1.0, abs=CELL)


def test_a_floor_remembers_only_so_many_fields(floor):
    for k in range(FIELDS_KEPT + 3):
        floor.field((1.0 + k * 0.011, 0.0))
    assert len(floor._fields) == FIELDS_KEPT


def test_cells_and_their_index_belong_together(floor):
    rows, cols = floor.cells.T
    np.testing.assert_array_equal(floor.cell_of[rows, cols], np.arange(len(floor.cells)))


def test_only_the_largest_region_is_where_robots_live():
    split = np.array([[[-3.0, 0.9], [3.0, 0.9], [3.0, 1.0], [-3.0, 1.0]]])
    floor = floor_from_footprints(split, np.array([4]), (-2.0, -2.0), (2.0, 2.0))
    assert floor.main[:50].any()
    assert not floor.main[65:].any()


@pytest.mark.parametrize("xz", [(np.nan, 0.0), (0.0, np.nan), (np.inf, 0.0), (0.0, -np.inf)])
def test_a_point_that_is_not_finite_is_nowhere(floor, xz):
    assert not floor.is_free(xz)
    assert floor.snap(xz) is None
    assert floor.geodesic(xz, (1.0, 0.0)) == floor.geodesic((1.0, 0.0), xz) == np.inf
