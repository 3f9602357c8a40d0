"""The things in a home that are no receptacles: plants, beanbags, bicycles, the clothes hanger."""

from __future__ import annotations

import numpy as np

from housemates.geometry.exact import atan2, cos, hypot, product, sin, uniform
from housemates.homes.pieces import Colour, Piece, turn

LEAF, STEM, POT = (74, 118, 62), (96, 82, 52), (168, 98, 66)
METAL, BLACK = (96, 98, 102), (34, 34, 38)


def _pitch(angle: float) -> np.ndarray:
    """Rotation [3, 3] about local z: +x is lifted by `angle`."""
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def plant(name: str, spread: float, height: float, rng: np.random.Generator) -> Piece:
    """A pot plant: a pot that widens upwards, a stem, and leaves around it that fill a circle of diameter `spread`."""
    piece = Piece(name)
    pot = 0.22 * height
    piece.prism((0.0, pot / 2, 0.0), (0.13, pot / 2, 0.13), POT, sides=10, taper=1.35)
    piece.prism((0.0, (pot + 0.8 * height) / 2, 0.0), (0.02, (0.8 * height - pot) / 2, 0.02), STEM, sides=6)
    start = uniform(rng, 0, 2 * np.pi)
    for number in range(8):
        low = pot + (height - pot) * (0.35 + 0.55 * number / 8)
        length = spread / 2 * uniform(rng, 0.8, 0.95) / cos(0.5) / 2
        lift = uniform(rng, 0.35, 0.65)
        direction = turn(start + number * 2.4)
        center = product(direction, [cos(lift) * length, 0.0, 0.0]) + np.array([0.0, low + sin(lift) * length, 0.0])
        shade = int(rng.integers(-12, 13))
        colour = (LEAF[0] + shade, LEAF[1] + shade, LEAF[2] + shade)
        center_point = (float(center[0]), float(min(center[1], height - 0.1)), float(center[2]))
        piece.tilted_box(center_point, (length, 0.008, 0.06), product(direction, _pitch(lift)), colour)
    return piece


def beanbag(cloth: Colour) -> Piece:
    """A beanbag: a wide lower and a narrower upper frustum."""
    piece = Piece("beanbag")
    piece.prism((0.0, 0.17, 0.0), (0.50, 0.17, 0.48), cloth, sides=12, taper=1.05)
    piece.prism((0.0, 0.545, -0.05), (0.50, 0.205, 0.45), cloth, sides=12, taper=0.55)
    return piece


def bike(name: str, colour: Colour) -> Piece:
    """A bicycle seen from its side (wheels along x), standing upright."""
    piece, radius = Piece(name), 0.33
    axle = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    for x in (-0.52, 0.52):
        piece.prism((x, radius, 0.0), (radius, 0.02, radius), BLACK, sides=16, rotation=axle)
    for (x0, y0), (x1, y1) in (
        ((-0.52, 0.33), (-0.06, 0.30)),
        ((-0.06, 0.30), (-0.20, 0.88)),
        ((-0.06, 0.30), (0.40, 0.72)),
        ((-0.17, 0.72), (0.40, 0.76)),
        ((-0.52, 0.33), (-0.17, 0.72)),
        ((0.52, 0.33), (0.38, 0.98)),
    ):
        length, angle = hypot(x1 - x0, y1 - y0), atan2(y1 - y0, x1 - x0)
        piece.tilted_box(((x0 + x1) / 2, (y0 + y1) / 2, 0.0), (float(length / 2), 0.016, 0.016), _pitch(float(angle)), colour)
    piece.box((-0.33, 0.88, -0.07), (-0.08, 0.93, 0.07), BLACK)
    piece.box((0.34, 0.96, -0.25), (0.39, 0.99, 0.25), BLACK)
    return piece


def clothes_hanger() -> Piece:
    """A standing coat rack: round foot, pole, four arms."""
    piece = Piece("clothes_hanger_02")
    piece.prism((0.0, 0.02, 0.0), (0.20, 0.02, 0.20), METAL, sides=12)
    piece.prism((0.0, 0.90, 0.0), (0.02, 0.86, 0.02), METAL, sides=8)
    for number in range(4):
        direction = turn(number * np.pi / 2 + np.pi / 4)
        center = product(direction, [0.1, 0.0, 0.0])
        piece.tilted_box(
            (float(center[0]), 1.66, float(center[2])), (0.11, 0.012, 0.012), product(direction, _pitch(0.5)), METAL
        )
    piece.box((0.05, 0.95, -0.16), (0.13, 1.60, 0.10), (78, 92, 128))
    return piece
