"""The empty apartment: rooms, walls, ceiling and the door, for each macro layout.

The outline is the non-convex flat of ReplicaCAD (7.0 x 12.5 m, seven rooms in one piece); a macro layout moves some inner
walls a little and decides where the kitchen block stands. Furniture is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.homes.home import Room
from housemates.homes.pieces import Piece

WALL_HEIGHT = 2.6
"""Metres from floor to ceiling."""
WALL_THICKNESS = 0.15
"""Metres; walls that are nearer than twice this grow together."""
DOOR_HEIGHT = 2.45
"""Clear height of the doorway, metres."""
LEAF = (0.92, 2.43, 0.05)
"""Width, height and thickness of the door leaf, metres."""

WALL_COLOUR = (226, 222, 214)
CEILING_COLOUR = (240, 240, 238)
FLOORS = ((181, 148, 110), (164, 130, 95), (196, 170, 136), (150, 141, 130), (176, 139, 108))
"""Floor colours; macro layouts take turns with them."""


@dataclass(frozen=True)
class Macro:
    """One macro layout: where the kitchen block stands, and how far inner walls are shifted."""

    origin: tuple[float, float]
    """Floor point (x, z) of the counter's origin, 0.5 m in front of its wall."""
    yaw: float
    """Heading of the kitchen block about +y; its doors and drawers open towards (sin yaw, 0, cos yaw)."""
    fridge_right: bool
    """Whether the fridge stands to the right of the counter for a robot that faces it."""
    gap: float
    """Metres between fridge and counter."""
    block: tuple[float, float, float]
    """Shift of the solid block between corridor and bay: its left face, right face, upper face (metres)."""
    alcove: tuple[float, float]
    """Shift of the alcove's left and right face (metres)."""
    outer: tuple[float, float]
    """Where the right-hand outer wall (x) and the upper room's far wall (z) stand."""


MACROS = (
    Macro((0.735, 6.37), np.pi / 2, True, 0.07, (0.0, 0.0, 0.0), (0.0, 0.0), (4.40, 7.95)),
    Macro((-2.0, 0.87), np.pi / 2, True, 0.06, (0.03, -0.08, 0.04), (0.06, -0.04), (4.36, 7.72)),
    Macro((-2.0, 1.64), np.pi / 2, True, 0.03, (-0.04, 0.07, -0.05), (-0.05, 0.05), (4.38, 7.80)),
    Macro((-2.0, 1.63), np.pi / 2, False, 0.10, (0.05, 0.05, 0.06), (0.04, 0.08), (4.36, 7.85)),
    Macro((1.82, 7.28), np.pi, False, 0.05, (-0.05, -0.05, -0.06), (0.08, 0.02), (4.40, 7.78)),
    Macro((3.88, 6.20), -np.pi / 2, False, 0.05, (0.02, -0.03, 0.02), (0.03, -0.02), (4.38, 7.85)),
    Macro((-2.0, -0.90), np.pi / 2, False, 0.08, (0.04, 0.02, -0.03), (-0.02, 0.04), (4.37, 7.80)),
    Macro((3.88, 2.00), -np.pi / 2, True, 0.04, (-0.03, 0.04, 0.03), (0.05, 0.03), (4.38, 7.90)),
    Macro((3.86, 5.20), -np.pi / 2, True, 0.50, (0.00, -0.06, 0.05), (-0.03, 0.06), (4.36, 7.75)),
    Macro((3.88, 2.60), -np.pi / 2, False, 0.06, (0.03, 0.03, 0.0), (0.02, 0.02), (4.38, 7.82)),
    Macro((3.87, 1.20), -np.pi / 2, True, 1.00, (-0.02, 0.05, -0.04), (0.04, -0.03), (4.37, 7.88)),
)
"""The four kitchens of ReplicaCAD (sc0 to sc3), a fifth on the upper room's far wall, facing another way, and six more along
the right-hand wall and the corridor, four to train in (5 to 8) and two to choose by (9 and 10)."""


def rooms(macro: Macro) -> tuple[Room, ...]:
    """The seven rooms of a macro layout: rectangles that share edges and never overlap."""
    left, right, top = -0.35 + macro.block[0], 1.2 + macro.block[1], -0.7 + macro.block[2]
    east, north = macro.outer
    return (
        Room("hall", (-2.5, top), (east, 4.2)),
        Room("upper room", (0.25, 4.2), (east, north)),
        Room("corridor", (-2.5, -2.8), (left, top)),
        Room("bay", (right, -1.2), (east, top)),
        Room("alcove", (1.5 + macro.alcove[0], -2.0), (3.65 + macro.alcove[1], -1.2)),
        Room("passage", (-1.85, -3.1), (-0.45, -2.8)),
        Room("entry", (-2.05, -4.56), (0.35, -3.1)),
    )


def wall_rectangles(plan: tuple[Room, ...]) -> np.ndarray:
    """Rectangles [W, 4] (low x, low z, high x, high z) that close the rooms in: everything within one wall thickness."""
    inner = np.array([[*room.low, *room.high] for room in plan])
    outer = inner + WALL_THICKNESS * np.array([-1, -1, 1, 1])
    xs = np.unique(np.concatenate([inner[:, [0, 2]], outer[:, [0, 2]]]).ravel().round(6))
    zs = np.unique(np.concatenate([inner[:, [1, 3]], outer[:, [1, 3]]]).ravel().round(6))
    middle_x, middle_z = (xs[1:] + xs[:-1]) / 2, (zs[1:] + zs[:-1]) / 2
    solid = _covered(outer, middle_x, middle_z) & ~_covered(inner, middle_x, middle_z)
    found = []
    while solid.any():
        row, col = (int(v) for v in np.argwhere(solid)[0])
        found.append(max((_grow(solid, row, col, first) for first in (0, 1)), key=lambda r: _area(r, xs, zs)))
        row0, col0, row1, col1 = found[-1]
        solid[row0:row1, col0:col1] = False
    return np.array([[xs[c0], zs[r0], xs[c1], zs[r1]] for r0, c0, r1, c1 in found])


def _covered(rectangles: np.ndarray, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """[len(z), len(x)] bool: which lattice points lie in one of the rectangles."""
    in_x = (rectangles[:, None, 0] < x) & (x < rectangles[:, None, 2])
    in_z = (rectangles[:, None, 1] < z) & (z < rectangles[:, None, 3])
    return np.any(in_z[:, :, None] & in_x[:, None, :], axis=0)


def _grow(solid: np.ndarray, row: int, col: int, first: int) -> tuple[int, int, int, int]:
    """The rectangle of solid cells from (row, col), grown along columns first (0) or rows first (1)."""
    row1, col1 = row + 1, col + 1
    for axis in (first, 1 - first):
        if axis == 0:
            while col1 < solid.shape[1] and solid[row:row1, col1].all():
                col1 += 1
        else:
            while row1 < solid.shape[0] and solid[row1, col:col1].all():
                row1 += 1
    return row, col, row1, col1


def _area(cells: tuple[int, int, int, int], xs: np.ndarray, zs: np.ndarray) -> float:
    row0, col0, row1, col1 = cells
    return float((xs[col1] - xs[col0]) * (zs[row1] - zs[row0]))


def wall_faces(plan: tuple[Room, ...]) -> np.ndarray:
    """Straight pieces of wall seen from inside, [F, 5]: start x, z, end x, z and the yaw of the normal (into the room)."""
    found = []
    for room in plan:
        (x0, z0), (x1, z1) = room.low, room.high
        for start, end, yaw in (
            ((x0, z0), (x1, z0), 0.0),
            ((x0, z0), (x0, z1), np.pi / 2),
            ((x0, z1), (x1, z1), np.pi),
            ((x1, z0), (x1, z1), -np.pi / 2),
        ):
            along = 0 if start[1] == end[1] else 1
            spans = [(start[along], end[along])]
            for other in plan:
                touches = other.low[1 - along] <= start[1 - along] <= other.high[1 - along]
                if other is not room and touches:
                    spans = [part for span in spans for part in _without(span, (other.low[along], other.high[along]))]
            for low, high in spans:
                ends = [list(start), list(end)]
                ends[0][along], ends[1][along] = low, high
                found.append((*ends[0], *ends[1], yaw))
    return np.array(found)


def _without(span: tuple[float, float], hole: tuple[float, float]) -> list[tuple[float, float]]:
    low, high = max(span[0], hole[0]), min(span[1], hole[1])
    if low >= high:
        return [span]
    return [part for part in ((span[0], low), (high, span[1])) if part[1] - part[0] > 1e-6]


def shell(macro: Macro, plan: tuple[Room, ...]) -> list[Piece]:
    """Floor, ceiling, walls and the door leaf (open, flat against the corridor's wall) as pieces in world coordinates."""
    floor, ceiling, walls = Piece("floor"), Piece("ceiling"), Piece("wall")
    colour = FLOORS[MACROS.index(macro) % len(FLOORS)]
    for room in plan:
        floor.box((room.low[0], -0.05, room.low[1]), (room.high[0], 0.0, room.high[1]), colour)
        ceiling.box((room.low[0], WALL_HEIGHT, room.low[1]), (room.high[0], WALL_HEIGHT + 0.05, room.high[1]), CEILING_COLOUR)
    for x0, z0, x1, z1 in wall_rectangles(plan):
        walls.box((x0, 0.0, z0), (x1, WALL_HEIGHT, z1), WALL_COLOUR)
    passage = next(room for room in plan if room.name == "passage")
    walls.box((passage.low[0], DOOR_HEIGHT, passage.low[1]), (passage.high[0], WALL_HEIGHT, passage.high[1]), WALL_COLOUR)
    corridor = next(room for room in plan if room.name == "corridor")
    return [floor, ceiling, walls, _door(corridor.high[0], passage.high[1])]


def _door(wall_x: float, doorway_z: float) -> Piece:
    """The leaf `door2`, hinged beside the doorway; at joint zero it stands open along the wall x = wall_x."""
    door, (width, height, thickness) = Piece("door2"), LEAF
    x, z = wall_x - 0.02, doorway_z + 0.04
    leaf = door.joint("leaf", "revolute", (0.0, 1.0, 0.0), (x - thickness / 2, 0.0, z), -2.0, 0.0)
    door.box((x - thickness, 0.01, z), (x, height, z + width), (204, 196, 182), leaf)
    door.box((x - thickness - 0.04, 1.0, z + width - 0.16), (x - thickness, 1.03, z + width - 0.04), (120, 120, 122), leaf)
    return door
