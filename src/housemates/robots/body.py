"""What the Fetch robot looks like: some thirty boxes and prisms, each in the frame of the link that carries it.

Sizes follow the public robot's outlines to about a centimetre, so that in a depth image a partner has a Fetch's shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from housemates.homes.solids import Colour, Solid, box, drum

WHITE: Colour = (236, 238, 240)
GREY: Colour = (91, 92, 96)
BLUE: Colour = (22, 129, 196)
BLACK: Colour = (32, 32, 36)
RED: Colour = (204, 24, 20)

UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""A prism standing along the link's z."""
ALONG_X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""A prism lying along the link's x: the tubes of the arm."""
ALONG_Y = np.eye(3)
"""A prism lying along the link's y: the flexing joints."""
FINGER_GAP = 0.06
"""How far the fingers stand apart, metres."""


def _span(low: Sequence[float], high: Sequence[float], colour: Colour) -> Solid:
    """A box between two corners of the link's frame, metres."""
    return box((np.add(low, high) / 2).tolist(), np.subtract(high, low).tolist(), colour)


def _column(x: float, bottom: float, top: float, length: float, width: float, colour: Colour, lid: float = 1.0) -> Solid:
    """An upright round part: `length` along x and `width` along y at the bottom, `lid` times that at the top, metres."""
    upright = drum((x, 0.0, (bottom + top) / 2), length, top - bottom, colour, UP, depth=width)
    return replace(upright, taper=lid)


def _tube(start: float, end: float, diameter: float, colour: Colour, tip: float | None = None, side: float = 0.0) -> Solid:
    """A round part along x from `start` to `end`, `side` metres to the left of the axis."""
    return drum(((start + end) / 2, side, 0.0), diameter, end - start, colour, ALONG_X, top=tip, sides=10)


def _knuckle(right: float, left: float, diameter: float, colour: Colour, x: float = 0.0, z: float = 0.0) -> Solid:
    """A round part along y from `right` to `left` through (x, z): the housing of a flexing joint."""
    return drum((x, (right + left) / 2, z), diameter, left - right, colour, ALONG_Y, sides=10)


BODY: dict[str, tuple[Solid, ...]] = {
    "base_link": (
        _column(0.0, 0.015, 0.25, 0.572, 0.527, GREY),
        _span((-0.19, -0.18, 0.25), (0.05, 0.18, 0.315), GREY),
        drum((0.19, 0.0, 0.283), 0.085, 0.066, BLACK, UP, sides=8),
        _column(0.0, 0.315, 0.359, 0.568, 0.524, GREY, lid=0.965),
        drum((-0.125, 0.245, 0.311), 0.04, 0.03, RED, ALONG_Y, sides=8),
    ),
    "torso_fixed_link": (_span((-0.168, -0.155, -0.019), (-0.032, 0.155, 0.443), BLUE),),
    "torso_lift_link": (
        _span((-0.033, -0.149, -0.298), (0.043, 0.149, 0.029), BLACK),
        _span((-0.185, -0.168, 0.028), (0.037, 0.168, 0.5), WHITE),
        _span((0.03, -0.05, 0.19), (0.165, 0.05, 0.298), GREY),
        _column(-0.05, 0.5, 0.585, 0.27, 0.335, WHITE, lid=0.75),
        _column(0.053, 0.53, 0.603, 0.15, 0.16, GREY),
    ),
    "head_pan_link": (
        _column(0.0, 0.0, 0.07, 0.24, 0.24, GREY),
        _span((0.0, -0.143, 0.01), (0.1, 0.143, 0.1), GREY),
        _span((0.09, -0.143, 0.015), (0.19, -0.107, 0.1), GREY),
        _span((0.09, 0.107, 0.015), (0.19, 0.143, 0.1), GREY),
    ),
    "head_tilt_link": (
        _knuckle(-0.105, 0.105, 0.11, BLUE),
        _span((0.03, -0.085, 0.0), (0.062, 0.085, 0.045), BLACK),
    ),
    "shoulder_pan_link": (
        drum((0.0, 0.0, 0.015), 0.104, 0.126, WHITE, UP, sides=10),
        _span((0.02, -0.065, -0.01), (0.125, 0.02, 0.1), WHITE),
        _knuckle(-0.075, 0.012, 0.12, WHITE, x=0.117, z=0.06),
    ),
    "shoulder_lift_link": (_knuckle(-0.012, 0.071, 0.118, BLUE), _tube(0.0, 0.171, 0.116, BLUE, tip=0.104)),
    "upperarm_roll_link": (_tube(-0.048, 0.1, 0.108, WHITE), _knuckle(-0.071, 0.012, 0.104, WHITE, x=0.133)),
    "elbow_flex_link": (_knuckle(-0.012, 0.071, 0.104, BLUE), _tube(0.0, 0.165, 0.106, BLUE)),
    "forearm_roll_link": (
        _tube(-0.032, 0.04, 0.106, WHITE),
        _tube(0.03, 0.1, 0.1, WHITE, side=-0.035),
        _knuckle(-0.087, -0.03, 0.104, WHITE, x=0.1245),
    ),
    "wrist_flex_link": (_knuckle(-0.054, 0.067, 0.104, BLUE), _tube(0.0, 0.115, 0.104, BLUE)),
    "wrist_roll_link": (_tube(-0.023, 0.02, 0.104, WHITE, tip=0.075),),
    "gripper_link": (
        _span((-0.154, -0.063, -0.039), (-0.032, 0.063, 0.039), GREY),
        _span((-0.04, FINGER_GAP / 2, -0.0135), (0.0385, FINGER_GAP / 2 + 0.014, 0.0135), BLACK),
        _span((-0.04, -FINGER_GAP / 2 - 0.014, -0.0135), (0.0385, -FINGER_GAP / 2, 0.0135), BLACK),
    ),
}
"""Solids by link, link frame (x forward, y left, z up), metres."""
