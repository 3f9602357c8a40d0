"""Floors measured from triangles: what is walked over, around and under."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.tiny_replicacad import box, room
from housemates.geometry.shapes import point_polygon_distance
from housemates.homes.replicacad.receptacles import floor_from_triangles, is_floor, slab_footprints

NOTHING = np.zeros((0, 3, 3))


def free_at(furniture, xz):
    return floor_from_triangles(room(), furniture).is_free(xz)


def test_a_rug_is_walked_over():
    assert free_at(box((2.0, 0.02, 1.0), (3.0, 0.01, 2.0)), (3.0, 2.0))


def test_a_lamp_is_walked_under():
    assert free_at(box((0.5, 0.3, 0.5), (3.0, 1.7, 2.0)), (3.0, 2.0))


def test_a_table_top_without_legs_is_in_the_way():
    assert not free_at(box((1.0, 0.04, 1.0), (3.0, 0.75, 2.0)), (3.0, 2.0))


def test_a_column_from_floor_to_ceiling_is_in_the_way():
    assert not free_at(box((0.2, 6.0, 0.2), (3.0, 0.0, 2.0)), (3.25, 2.0))


def test_a_stage_without_a_floor_is_refused():
    with pytest.raises(ValueError, match="no floor at height 0"):
        floor_from_triangles(room() + np.array([0.0, 5.0, 0.0]), NOTHING)


def test_a_ceiling_is_not_floor():
    assert is_floor(room()).sum() == 2
    assert not is_floor(room()[:, ::-1]).any()


@given(
    arrays(np.float64, (3, 3), elements=st.floats(-2, 2, width=32)),
    arrays(np.float64, 3, elements=st.floats(0.0625, 1, width=32)),
)
def test_a_footprint_covers_what_is_between_the_heights_and_no_more_than_the_triangle(triangle, weights):
    polygons, corners = slab_footprints(triangle[None], -0.5, 0.75)
    point = weights @ triangle / weights.sum()
    if -0.5 <= point[1] <= 0.75 and np.ptp(triangle[:, 1]) > 1e-3:
        assert point_polygon_distance(polygons[0], corners[0], point[0], point[2]) < 1e-6
    for polygon, count in zip(polygons, corners, strict=True):
        middle = polygon[:count].mean(axis=0)
        edges = triangle[:, [0, 2]]
        assert (middle >= edges.min(axis=0) - 1e-9).all()
        assert (middle <= edges.max(axis=0) + 1e-9).all()
