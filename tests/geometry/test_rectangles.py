"""Rectangles touch exactly when their corners or edges do."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from housemates.geometry.shapes import rectangles_near

RECTANGLE = st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.05, 1.5), st.floats(0.05, 1.5), st.floats(-4, 4))


def outline(one, grow=0.0):
    x, z, width, depth, yaw = one
    local = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [width + grow, depth + grow]
    c, s = np.cos(yaw), np.sin(yaw)
    return local @ np.array([[c, -s], [s, c]]) + [x, z]


def slowly_touch(a, b):
    """Whether the convex hull of all differences of corners holds the origin (Minkowski)."""
    points = (outline(a)[:, None] - outline(b)[None]).reshape(-1, 2)
    angle = np.linspace(0, np.pi * 2, 20000, endpoint=False)
    reach = (points @ np.stack([np.cos(angle), np.sin(angle)])).max(0)
    return reach.min()


@settings(max_examples=150, deadline=None)
@given(RECTANGLE, RECTANGLE)
def test_touching_agrees_with_the_difference_of_corners(a, b):
    depth = slowly_touch(a, b)
    if abs(depth) > 1e-3:
        assert rectangles_near(np.array(a), np.array([b]), 0.0) == (depth > 0)


@settings(max_examples=50, deadline=None)
@given(RECTANGLE, RECTANGLE, st.floats(0, 0.5))
def test_touching_does_not_depend_on_who_asks(a, b, margin):
    assert rectangles_near(np.array(a), np.array([b]), margin) == rectangles_near(np.array(b), np.array([a]), margin)


def test_nothing_is_near_no_rectangles():
    assert not rectangles_near(np.array([0.0, 0, 1, 1, 0]), np.empty((0, 5)), 1.0)


def test_a_margin_reaches_across_a_gap():
    one, other = np.array([0.0, 0, 1, 1, 0]), np.array([[2.1, 0, 1, 1, 0]])
    assert not rectangles_near(one, other, 0.09)
    assert rectangles_near(one, other, 0.11)
