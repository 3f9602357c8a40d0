"""Where a piece of furniture can stand: along a wall, beside another piece, free in a room, hung up.

A `Layout` is a home being furnished. It knows which floor is filled and which must stay clear, and draws random places;
the order and the taste are `arrange`'s.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from housemates.homes.home import Room
from housemates.homes.pieces import Piece, Placed
from housemates.homes.plan import wall_faces, wall_rectangles
from housemates.kernels.exact import cos, hypot, normal, sin, uniform
from housemates.kernels.rectangles import rectangles_near

TRIES = 60
"""Places tried for one piece before it is given up."""
YAW_SPREAD = np.radians(1.2)
"""Standard deviation of a wall-aligned piece's yaw (ReplicaCAD: median deviation 0.2 to 1.7 degrees)."""
YAW_LIMIT = np.radians(5.0)
"""Largest deviation of a wall-aligned piece's yaw."""
GAP = 0.015
"""Least distance between two pieces, metres."""
SNUG = 0.75
"""How often a piece along a wall stands at the end of a free stretch, beside a corner or another piece."""

Place = tuple[float, float, float]
"""Where a piece's origin is put: x, z, yaw."""


class NoPlaceError(Exception):
    """A piece that every home has found no place."""


class Layout:
    """What stands where, and which floor must stay clear."""

    def __init__(self, plan: tuple[Room, ...]) -> None:
        self.plan = plan
        self.faces = wall_faces(plan)
        self.placed: list[Placed] = []
        self.bodies = np.array([rectangle((0.0, 0.0, 0.0), *wall) for wall in wall_rectangles(plan)])
        """[N, 5] rectangles (see kernels.rectangles) that are filled."""
        self.aisles = np.empty((0, 5))
        """[N, 5] rectangles that no piece may fill."""
        self._face_rooms = [self.room_of(*_on(face, length(face) / 2, 0.1)) for face in self.faces]
        self._beside: dict[int, tuple[np.ndarray, ...]] = {}

    def room_of(self, x: float, z: float) -> str:
        """Name of the room a floor point lies in, empty if none."""
        for room in self.plan:
            if room.low[0] <= x <= room.high[0] and room.low[1] <= z <= room.high[1]:
                return room.name
        return ""

    def keep_clear(self, low: tuple[float, float], high: tuple[float, float]) -> None:
        """Let nothing stand between two floor points (opposite corners)."""
        self.aisles = np.vstack([self.aisles, rectangle((0.0, 0.0, 0.0), *low, *high)])

    def put(self, piece: Piece, place: Place, aisle: float = 0.0, around: float = 0.0) -> None:
        """Put a piece there without asking; keep `aisle` metres clear before it and `around` metres on all sides."""
        x0, z0, x1, z1 = piece.rectangle
        self.placed.append(Placed(piece, (float(place[0]), float(place[1])), float(place[2])))
        self.bodies = np.vstack([self.bodies, rectangle(place, x0, z0, x1, z1)])
        self._beside.clear()
        self.aisles = np.vstack([self.aisles, *_clear(piece, place, aisle, around)])

    def fits(self, piece: Piece, place: Place, aisle: float = 0.0, around: float = 0.0) -> bool:
        """Whether a piece can stand there: in a room, clear of all others and of their aisles, its own aisles clear."""
        body = rectangle(place, *piece.rectangle)
        if (
            not self.room_of(body[0], body[1])
            or rectangles_near(body, self.bodies, GAP)
            or rectangles_near(body, self.aisles, 0.0)
        ):
            return False
        return not any(rectangles_near(one, self.bodies, 0.0) for one in _clear(piece, place, aisle, around))

    def attempt(self, piece: Piece, draw: Callable[[], Place | None], aisle: float = 0.0, around: float = 0.0) -> bool:
        """Try places from `draw` until the piece fits, and put it there."""
        for _ in range(TRIES):
            place = draw()
            if place is not None and self.fits(piece, place, aisle, around):
                self.put(piece, place, aisle, around)
                return True
        return False

    def find(self, label: str) -> Placed:
        """The piece with this label that stands already."""
        return next(p for p in self.placed if p.piece.label == label)

    def along_wall(self, piece: Piece, rng: np.random.Generator, allowed: tuple[str, ...], off: float = 0.05) -> Place | None:
        """A place with its back to a wall of one of the allowed rooms, up to `off` metres from it."""
        x0, z0, x1, z1 = piece.rectangle
        room = allowed[int(rng.integers(len(allowed)))]
        deviation = float(np.clip(normal(rng, YAW_SPREAD), -YAW_LIMIT, YAW_LIMIT))
        c, s = cos(deviation), abs(sin(deviation))
        width, depth = (x1 - x0) * c + (z1 - z0) * s, (z1 - z0) * c + (x1 - x0) * s
        stretches = self.stretches(room, width + 0.06, depth + off)
        if not stretches:
            return None
        lengths = np.array([high - low for _, low, high in stretches])
        face, low, high = stretches[int(rng.choice(len(stretches), p=lengths / lengths.sum()))]
        low, high = low + width / 2 + 0.03, high - width / 2 - 0.03
        share = rng.random()
        if rng.random() < SNUG:
            share = min(max((share - 0.5) * 20 + 0.5, 0.0), 1.0)
        middle, back = low + (high - low) * share, depth / 2 + uniform(rng, 0.02, max(off, 0.021))
        yaw = float(face[4]) + deviation
        x, z = _on(face, middle, back)
        shift = rectangle((0.0, 0.0, yaw), x0, z0, x1, z1)
        return float(x - shift[0]), float(z - shift[1]), yaw

    def stretches(self, room: str, width: float, depth: float) -> list[tuple[np.ndarray, float, float]]:
        """Free stretches (face, from, to) of a room's walls, at least `width` long and `depth` deep."""
        found = []
        for index, face in enumerate(self.faces):
            if self._face_rooms[index] != room:
                continue
            if index not in self._beside:
                along, off = _in_face(face, self.bodies)
                order = np.argsort(along.min(1), kind="stable")
                self._beside[index] = tuple(v[order] for v in (along.min(1), along.max(1), off.min(1), off.max(1)))
            starts, ends, nearest, farthest = self._beside[index]
            near, low, total = (farthest > 0.01) & (nearest < depth), 0.0, length(face)
            for start, end in zip(starts[near].tolist(), ends[near].tolist(), strict=True):
                if min(start, total) - low >= width:
                    found.append((face, low, min(start, total)))
                low = max(low, end)
            if total - low >= width:
                found.append((face, low, total))
        return found

    def anywhere(self, rng: np.random.Generator, allowed: tuple[str, ...]) -> tuple[float, float]:
        """A floor point of one of the allowed rooms."""
        chosen = allowed[int(rng.integers(len(allowed)))]
        room = next(r for r in self.plan if r.name == chosen)
        return uniform(rng, room.low[0], room.high[0]), uniform(rng, room.low[1], room.high[1])

    def hang(self, piece: Piece, rng: np.random.Generator, allowed: tuple[str, ...], above: str = "") -> bool:
        """Hang a flat piece (its back at z = 0) on a free stretch of wall, or on the wall above a piece that stands."""
        x0, _, x1, z1 = piece.rectangle
        if above:
            under = self.find(above)
            for face in self.faces:
                along, off = _in_face(face, rectangle((*under.xz, under.yaw), *under.piece.rectangle)[None])
                middle = along.mean()
                if 0 <= off.min() < 0.3 and abs(sin((face[4] - under.yaw) / 2)) < 0.1 and 0 < middle < length(face):
                    if length(face) < x1 - x0 + 0.1:
                        return False
                    middle = float(np.clip(middle, x1 + 0.05, length(face) - x1 - 0.05))
                    place = (*_on(face, middle, 0.005), float(face[4]))
                    others = self.bodies[hypot(*(self.bodies[:, :2] - np.array(under.xz)).T) > 0.05]
                    if rectangles_near(rectangle(place, x0, 0.02, x1, z1), others, 0.0):
                        return False
                    self.put(piece, place)
                    return True
            return False
        for _ in range(TRIES):
            stretches = self.stretches(allowed[int(rng.integers(len(allowed)))], x1 - x0 + 0.1, z1 + 0.05)
            if stretches:
                face, low, high = stretches[int(rng.integers(len(stretches)))]
                middle = uniform(rng, low + x1 + 0.04, high - x1 - 0.04)
                self.put(piece, (*_on(face, middle, 0.005), float(face[4])))
                return True
        return False


def square_yaw(rng: np.random.Generator) -> float:
    """One of the four wall-aligned headings, give or take a little."""
    return float(rng.integers(4) * np.pi / 2 + np.clip(normal(rng, YAW_SPREAD), -YAW_LIMIT, YAW_LIMIT))


def rectangle(place: Place, x0: float, z0: float, x1: float, z1: float) -> np.ndarray:
    """World rectangle [5] of a rectangle given in the frame of a piece that stands at `place`."""
    c, s, x, z = cos(place[2]), sin(place[2]), (x0 + x1) / 2, (z0 + z1) / 2
    return np.array([place[0] + c * x + s * z, place[1] - s * x + c * z, (x1 - x0) / 2, (z1 - z0) / 2, place[2]])


def length(face: np.ndarray) -> float:
    """Length of a piece of wall, metres."""
    return float(abs(face[2] - face[0]) + abs(face[3] - face[1]))


def _clear(piece: Piece, place: Place, aisle: float, around: float) -> list[np.ndarray]:
    """Rectangles that stay empty once a piece stands there."""
    x0, z0, x1, z1 = piece.rectangle
    found = []
    if aisle:
        found.append(rectangle(place, x0, z1, x1, z1 + aisle))
    if around:
        found.append(rectangle(place, x0 - around, z0 - around, x1 + around, z1 + around))
    return found


def _on(face: np.ndarray, along: float, off: float) -> tuple[float, float]:
    """The floor point `along` metres from the start of a wall and `off` metres before it."""
    x, z = face[:2] + (face[2:4] - face[:2]) * along / length(face) + off * np.array([sin(face[4]), cos(face[4])])
    return float(x), float(z)


def _in_face(face: np.ndarray, rectangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of rectangles [N, 5] as distances along a wall and before it, each [N, 4]."""
    c, s = cos(rectangles[:, 4, None]), sin(rectangles[:, 4, None])
    x, z = rectangles[:, 2, None] * [-1, 1, 1, -1], rectangles[:, 3, None] * [-1, -1, 1, 1]
    dx, dz = rectangles[:, 0, None] + c * x + s * z - face[0], rectangles[:, 1, None] - s * x + c * z - face[1]
    direction = (face[2:4] - face[:2]) / length(face)
    return dx * direction[0] + dz * direction[1], dx * sin(face[4]) + dz * cos(face[4])
