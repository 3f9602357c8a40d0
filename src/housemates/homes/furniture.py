"""Movable furniture built of boxes, in the sizes of ReplicaCAD: tables, seats, shelves, cabinets, rugs, screens.

Every function returns a new `Piece` in its own frame (front along +z). Support heights and placement volumes are HAB's.
"""

from __future__ import annotations

from housemates.homes.pieces import Colour, Piece

METAL, BLACK = (96, 98, 102), (28, 28, 32)


def _legs(piece: Piece, width: float, depth: float, top: float, thick: float, colour: Colour, inset: float = 0.02) -> None:
    """Four square legs under a rectangle of the given size."""
    x, z = width / 2 - inset, depth / 2 - inset
    for sx in (-1, 1):
        for sz in (-1, 1):
            low, high = sorted((sx * x, sx * (x - thick))), sorted((sz * z, sz * (z - thick)))
            piece.box((low[0], 0.0, high[0]), (low[1], top, high[1]), colour)


def table_01(wood: Colour) -> Piece:
    """The dining table."""
    piece = Piece("table_01")
    piece.box((-0.70, 0.72, -0.425), (0.70, 0.76, 0.425), wood)
    piece.box((-0.60, 0.64, -0.33), (0.60, 0.72, 0.33), wood)
    _legs(piece, 1.40, 0.85, 0.72, 0.07, wood, 0.04)
    piece.receptacle("table_01", "table_01", (0.0, 0.76, 0.0), (0.696, 0.095, 0.424))
    return piece


def table_02(wood: Colour) -> Piece:
    """The console table with two lower shelves."""
    piece = Piece("table_02")
    for height in (0.20, 0.56, 0.92):
        piece.box((-0.64, height - 0.03, -0.405), (0.64, height, 0.405), wood)
    _legs(piece, 1.28, 0.81, 0.89, 0.05, METAL, 0.0)
    piece.receptacle("table_02", "table_02", (0.0, 0.92, 0.0), (0.634, 0.137, 0.397))
    piece.receptacle("table_02_shelf", "shelf", (0.0, 0.56, 0.0), (0.56, 0.13, 0.33))
    return piece


def table_03(wood: Colour) -> Piece:
    """The coffee table."""
    piece = Piece("table_03")
    piece.box((-0.605, 0.37, -0.355), (0.605, 0.41, 0.355), wood)
    piece.box((-0.53, 0.14, -0.28), (0.53, 0.16, 0.28), wood)
    _legs(piece, 1.21, 0.71, 0.37, 0.06, wood, 0.03)
    piece.receptacle("table_03", "table_03", (0.0, 0.41, 0.0), (0.59, 0.10, 0.34))
    return piece


def tvstand(wood: Colour) -> Piece:
    """The TV stand: three open compartments on short legs."""
    piece = Piece("tvstand")
    piece.box((-0.76, 0.585, -0.25), (0.76, 0.62, 0.25), wood)
    piece.box((-0.76, 0.12, -0.25), (0.76, 0.145, 0.25), wood)
    piece.box((-0.735, 0.145, -0.25), (0.735, 0.585, -0.235), wood)
    for x in (-0.76, -0.255, 0.23, 0.735):
        piece.box((x, 0.145, -0.235), (x + 0.025, 0.585, 0.25), wood)
    piece.box((-0.23, 0.36, -0.235), (0.23, 0.375, 0.23), wood)
    _legs(piece, 1.52, 0.50, 0.12, 0.05, METAL, 0.04)
    piece.receptacle("tvstand", "tvstand", (0.0, 0.62, 0.0), (0.755, 0.091, 0.244))
    return piece


def sofa(cloth: Colour) -> Piece:
    """The sofa: base, three seat and three back cushions, two arms."""
    piece = Piece("sofa")
    dark = (int(cloth[0] * 0.85), int(cloth[1] * 0.85), int(cloth[2] * 0.85))
    piece.box((-0.84, 0.10, -0.48), (0.84, 0.30, 0.47), dark)
    piece.box((-0.84, 0.30, -0.48), (0.84, 0.80, -0.36), dark)
    for x in (-1.07, 0.84):
        piece.box((x, 0.10, -0.48), (x + 0.23, 0.62, 0.48), dark)
    for number in range(3):
        x = -0.84 + number * 0.56
        piece.box((x, 0.30, -0.36), (x + 0.56, 0.44, 0.48), cloth)
        piece.box((x + 0.01, 0.44, -0.36), (x + 0.55, 0.76, -0.20), cloth)
    _legs(piece, 2.14, 0.96, 0.10, 0.06, BLACK, 0.05)
    piece.receptacle("sofa", "sofa", (0.0, 0.44, 0.10), (0.731, 0.133, 0.260))
    return piece


def chair(number: int, cloth: Colour) -> Piece:
    """Armchair `chair_1` or `chair_2`."""
    piece = Piece(f"chair_{number}")
    dark = (int(cloth[0] * 0.8), int(cloth[1] * 0.8), int(cloth[2] * 0.8))
    piece.box((-0.29, 0.24, -0.25), (0.29, 0.40, 0.34), cloth)
    piece.box((-0.40, 0.18, -0.355), (0.40, 0.24, 0.35), dark)
    piece.box((-0.40, 0.24, -0.355), (0.40, 0.76, -0.25), cloth)
    for x in (-0.40, 0.29):
        piece.box((x, 0.24, -0.25), (x + 0.11, 0.58, 0.32), dark)
    _legs(piece, 0.80, 0.71, 0.18, 0.05, (90, 66, 46), 0.04)
    piece.receptacle(f"chair_{number}", "chair", (0.0, 0.40, 0.05), (0.230, 0.095, 0.215))
    return piece


def shelves(name: str, width: float, height: float, wood: Colour) -> Piece:
    """Standing open shelves (wall_cabinet_01 and wall_cabinet_02) with boards, sides and a back."""
    piece, depth, half = Piece(name), 0.38, width / 2
    for x in (-half, half - 0.02):
        piece.box((x, 0.0, -depth / 2), (x + 0.02, height, depth / 2), wood)
    piece.box((-half + 0.02, 0.05, -depth / 2), (half - 0.02, height, -depth / 2 + 0.01), wood)
    for number in range(6):
        top = 0.08 + number * (height - 0.08) / 5
        piece.box((-half + 0.02, top - 0.025, -depth / 2 + 0.01), (half - 0.02, top, depth / 2), wood)
    step = (height - 0.08) / 5
    piece.receptacle(f"{name}_shelf", "shelf", (0.0, 0.08 + 2 * step, 0.0), (half - 0.04, 0.13, depth / 2 - 0.03))
    return piece


def cabinet(wood: Colour, door: Colour) -> Piece:
    """The low cabinet with two sliding doors, one behind the other."""
    piece = Piece("cabinet")
    piece.box((-0.795, 0.74, -0.215), (0.795, 0.78, 0.215), wood)
    piece.box((-0.795, 0.08, -0.215), (0.795, 0.11, 0.215), wood)
    piece.box((-0.765, 0.11, -0.215), (0.765, 0.74, -0.20), wood)
    for x in (-0.795, -0.0125, 0.77):
        piece.box((x, 0.11, -0.20), (x + 0.025, 0.74, 0.165 if x < 0 < x + 0.03 else 0.215), wood)
    piece.box((-0.77, 0.42, -0.20), (-0.0125, 0.435, 0.155), wood)
    left = piece.joint("left_door", "prismatic", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.76)
    right = piece.joint("right_door", "prismatic", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), -0.76, 0.0)
    piece.box((-0.77, 0.115, 0.17), (0.01, 0.735, 0.185), door, left)
    piece.box((-0.01, 0.115, 0.19), (0.77, 0.735, 0.205), door, right)
    _legs(piece, 1.59, 0.43, 0.08, 0.05, METAL, 0.03)
    piece.receptacle("cabinet_top", "cabinet", (0.0, 0.78, 0.0), (0.76, 0.12, 0.19))
    return piece


def chest(wood: Colour) -> Piece:
    """The chest of six drawers in two columns, each drawer a full box behind a front."""
    piece, face = Piece("chestOfDrawers_01"), 0.155
    piece.box((-0.44, 1.24, -0.185), (0.44, 1.27, 0.185), wood)
    piece.box((-0.44, 0.0, -0.185), (0.44, 0.08, face - 0.02), wood)
    piece.box((-0.42, 0.08, -0.185), (0.42, 1.24, -0.17), wood)
    for x in (-0.44, -0.01, 0.42):
        piece.box((x, 0.08, -0.17), (x + 0.02, 1.24, face), wood)
    for number in range(6):
        row, column = divmod(number, 2)
        x0, x1 = (-0.42, -0.01) if column == 0 else (0.01, 0.42)
        y0, y1 = 0.085 + row * 0.385, 0.085 + (row + 1) * 0.385 - 0.006
        link = piece.joint(f"drawer{number + 1}", "prismatic", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 0.0, 0.2)
        piece.box((x0 + 0.004, y0, face), (x1 - 0.004, y1, face + 0.02), wood, link)
        piece.box((x0 + 0.01, y0 + 0.01, -0.16), (x1 - 0.01, y1 - 0.06, face), (222, 214, 200), link)
        middle = (x0 + x1) / 2
        piece.box((middle - 0.05, (y0 + y1) / 2, face + 0.02), (middle + 0.05, (y0 + y1) / 2 + 0.015, face + 0.03), METAL, link)
    piece.receptacle("chest_top", "chest", (0.0, 1.27, 0.0), (0.40, 0.12, 0.16))
    return piece


def rug(name: str, width: float, depth: float, cloth: Colour) -> Piece:
    """A rug or mat lying on the floor; robots drive over it."""
    piece, border = Piece(name), 0.12 if width > 1 else 0.05
    light = (min(cloth[0] + 28, 255), min(cloth[1] + 28, 255), min(cloth[2] + 28, 255))
    piece.box((-width / 2, 0.0, -depth / 2), (width / 2, 0.014, depth / 2), cloth)
    piece.box((-width / 2 + border, 0.014, -depth / 2 + border), (width / 2 - border, 0.018, depth / 2 - border), light)
    return piece


def tv_screen() -> Piece:
    """The television on its wall arm; its back (-z) hangs on the wall, its lower edge 1.05 m above the floor."""
    piece = Piece("tv_screen")
    piece.box((-0.895, 1.05, 0.06), (0.895, 1.91, 0.11), BLACK)
    piece.box((-0.15, 1.33, 0.0), (0.15, 1.63, 0.02), METAL)
    piece.box((-0.04, 1.44, 0.02), (0.04, 1.52, 0.06), METAL)
    return piece


def picture(colour: Colour) -> Piece:
    """A framed picture on the wall, its back at z = 0."""
    piece = Piece("picture_01")
    piece.box((-0.45, 1.55, 0.0), (0.45, 2.15, 0.03), BLACK)
    piece.box((-0.41, 1.59, 0.03), (0.41, 2.11, 0.035), colour)
    return piece
