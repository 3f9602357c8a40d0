"""Furnishing a home: where each piece can stand, and in which order pieces are placed.

A `Layout` is a home being furnished. It knows which floor is filled and which must stay clear, and draws random places:
along a wall, beside another piece, free in a room, hung up. `arrange` decides what is placed and in which order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from housemates.geometry.exact import atan2, cos, hypot, normal, sin, uniform
from housemates.geometry.shapes import rectangles_near
from housemates.homes.decor import beanbag, bike, clothes_hanger, plant
from housemates.homes.furniture import (
    cabinet,
    chair,
    chest,
    picture,
    rug,
    shelves,
    sofa,
    table_01,
    table_02,
    table_03,
    tv_screen,
    tvstand,
)
from housemates.homes.home import Room
from housemates.homes.kitchen import kitchen
from housemates.homes.pieces import Colour, Piece, Placed
from housemates.homes.plan import MACROS, rooms, shell, wall_faces, wall_rectangles

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


AISLE = 0.68
"""Free depth in front of what a robot must reach: its diameter and a little."""

WOODS = ((150, 111, 72), (118, 84, 56), (196, 164, 122), (92, 70, 54), (206, 196, 180), (226, 222, 214))
CLOTHS = ((108, 120, 138), (146, 128, 108), (86, 104, 92), (158, 92, 78), (120, 116, 122), (72, 84, 116))
FRONTS = ((224, 222, 216), (170, 176, 172), (126, 142, 138), (196, 176, 146))
TOPS = ((84, 82, 80), (190, 184, 174), (150, 118, 84))

MAIN = ("hall", "upper room")
WIDE = ("hall", "hall", "upper room", "upper room", "bay", "alcove")
ALL = ("hall", "upper room", "bay", "alcove", "alcove", "corridor")
"""Rooms that pieces are put in; a room named twice is chosen twice as often."""


def arrange(macro: int, rng: np.random.Generator, macro_rng: np.random.Generator) -> tuple[tuple[Room, ...], list[Placed]]:
    """Rooms and placed pieces (walls included) of one layout; what the macro layout fixes is drawn from `macro_rng`.

    Raises NoPlaceError if a piece that every home has finds no place.
    """
    plan = rooms(MACROS[macro])
    layout = Layout(plan)
    _shell(layout, macro)
    _fixed(layout, macro, macro_rng)
    _big(layout, rng, "hall" if layout.room_of(*MACROS[macro].origin) == "upper room" else "upper room")
    _small(layout, rng)
    _rugs(layout, rng)
    return plan, layout.placed


def _shell(layout: Layout, macro: int) -> None:
    """Walls and door, and the floor that stays empty: around the doorway and where hall and upper room meet."""
    for piece in shell(MACROS[macro], layout.plan):
        if piece.label == "door2":
            layout.put(piece, (0.0, 0.0, 0.0))
        else:
            layout.placed.append(Placed(piece))
    room = {r.name: r for r in layout.plan}
    passage, corridor, upper = room["passage"], room["corridor"], room["upper room"]
    layout.keep_clear((passage.low[0], passage.low[1] - 1.0), (passage.high[0], passage.high[1] + 0.9))
    layout.keep_clear((corridor.high[0] - 1.0, passage.high[1]), corridor.high)
    middle = (upper.low[0] + upper.high[0]) / 2
    layout.keep_clear((middle - 0.6, upper.low[1] - 0.6), (middle + 0.6, upper.low[1] + 0.6))


def _fixed(layout: Layout, macro: int, rng: np.random.Generator) -> None:
    """The kitchen block, the mat before its sink, a plant and the picture: the same in all homes of a macro layout."""
    front, top = _one(FRONTS, rng), _one(TOPS, rng)
    for one in kitchen(MACROS[macro], front, top):
        layout.put(one.piece, (*one.xz, one.yaw), aisle=0.8)
    spot = rectangle((*MACROS[macro].origin, MACROS[macro].yaw), -0.8, 0.2, 0.2, 0.9)
    mat = rug("mat", 0.94, 0.59, (122, 106, 92))
    layout.placed.append(Placed(mat, (float(spot[0]), float(spot[1])), MACROS[macro].yaw))
    _wall(layout, plant("indoor_plant_01", 0.50, 1.49, rng), rng, MAIN)
    if not layout.hang(picture((142, 150, 128)), rng, MAIN):
        raise NoPlaceError("no wall for the picture")


def _big(layout: Layout, rng: np.random.Generator, away: str) -> None:
    """What robots work at, and the large cabinets; sofa and dining table are mostly `away`, not where the kitchen is."""
    wood, second, cloth = _one(WOODS, rng), _one(WOODS, rng), _one(CLOTHS, rng)
    couch, dining = sofa(cloth), table_01(wood)
    if rng.random() < 0.8:
        _wall(layout, couch, rng, (*MAIN, away), aisle=AISLE, off=0.3)
    else:
        _free(layout, couch, rng, (*MAIN, away), aisle=AISLE)
    if rng.random() < 0.45:
        _free(layout, dining, rng, (*MAIN, away), around=AISLE)
    else:
        _wall(layout, dining, rng, (*MAIN, away, away, "bay", "corridor"), aisle=AISLE, off=0.3)
    _wall(layout, tvstand(second), rng, ALL, aisle=AISLE, off=0.1)
    if not (rng.random() < 0.7 and layout.hang(tv_screen(), rng, (), above="tvstand")) and not layout.hang(
        tv_screen(), rng, MAIN
    ):
        raise NoPlaceError("no wall for tv_screen")
    _wall(layout, table_02(wood), rng, (*WIDE, "corridor"), aisle=AISLE, off=0.3)
    seat = _one(CLOTHS, rng)
    for number in (1, 2):
        _chair(layout, chair(number, seat), rng)
    _wall(layout, cabinet(second, _one(WOODS, rng)), rng, WIDE, aisle=0.4)
    _wall(layout, chest(wood), rng, ALL, aisle=0.4)
    if rng.random() < 0.75:
        _coffee_table(layout, table_03(wood), rng)


def _small(layout: Layout, rng: np.random.Generator) -> None:
    """Shelves, beanbags, bicycles, plants, the coat rack. Shares of homes that have a piece: ReplicaCAD's."""
    wood = _one(WOODS, rng)
    _wall(layout, shelves("wall_cabinet_02", 0.94, 1.98, wood), rng, ALL, aisle=0.3)
    if rng.random() < 0.96:
        _wall(layout, shelves("wall_cabinet_01", 0.49, 1.96, wood), rng, ALL, aisle=0.3)
    for _ in range(int(rng.choice(3, p=(0.38, 0.24, 0.38)))):
        bag = beanbag(_one(CLOTHS, rng))
        if rng.random() < 0.35:
            layout.attempt(bag, lambda: (*layout.anywhere(rng, MAIN), uniform(rng, -np.pi, np.pi)))
        else:
            layout.attempt(bag, lambda bag=bag: layout.along_wall(bag, rng, WIDE, 0.15))
    for name, share in (("bike_01", 0.5), ("bike_02", 0.75)):
        if rng.random() < share:
            ride = bike(name, _one(CLOTHS, rng))
            layout.attempt(ride, lambda ride=ride: layout.along_wall(ride, rng, ALL))
    _wall(layout, plant("indoor_plant_02", 0.66, 1.79, rng), rng, ALL)
    _wall(layout, clothes_hanger(), rng, ALL)


def _one(choices: tuple[Colour, ...], rng: np.random.Generator) -> Colour:
    return choices[int(rng.integers(len(choices)))]


def _wall(layout: Layout, piece: Piece, rng, allowed: tuple[str, ...], aisle: float = 0.0, off: float = 0.05) -> None:
    if not layout.attempt(piece, lambda: layout.along_wall(piece, rng, allowed, off), aisle):
        raise NoPlaceError(f"no place along a wall for {piece.label}")


def _free(layout: Layout, piece: Piece, rng, allowed: tuple[str, ...], aisle: float = 0.0, around: float = 0.0) -> None:
    if not layout.attempt(piece, lambda: (*layout.anywhere(rng, allowed), square_yaw(rng)), aisle, around):
        raise NoPlaceError(f"no free place for {piece.label}")


def _chair(layout: Layout, piece: Piece, rng: np.random.Generator) -> None:
    """An armchair: facing the dining table, the sofa or the other chair, or by a wall; its yaw is free."""
    beside = ("table_01", "sofa", "") if piece.label == "chair_1" else ("chair_1", "chair_1", "chair_1", "")
    anchor = beside[int(rng.integers(len(beside)))]

    def by_wall() -> Place | None:
        place = layout.along_wall(piece, rng, WIDE, 0.2)
        if place is None:
            return None
        tilt = normal(rng, np.radians(25))
        push = 0.25 * abs(sin(tilt))
        return place[0] + push * sin(place[2]), place[1] + push * cos(place[2]), place[2] + tilt

    def facing() -> Place:
        near = layout.find(anchor)
        distance, angle = uniform(rng, 0.9, 1.7), uniform(rng, -np.pi, np.pi)
        x, z = near.xz[0] + distance * sin(angle), near.xz[1] + distance * cos(angle)
        return x, z, float(atan2(near.xz[0] - x, near.xz[1] - z) + normal(rng, np.radians(20)))

    if not (anchor and layout.attempt(piece, facing, aisle=0.5)) and not layout.attempt(piece, by_wall, aisle=0.5):
        raise NoPlaceError(f"no place for {piece.label}")


def _coffee_table(layout: Layout, piece: Piece, rng: np.random.Generator) -> None:
    """Before the sofa with room to walk between, else by a wall; left out where neither fits."""
    couch = layout.find("sofa")
    x0, _, x1, front = couch.piece.rectangle
    spot = rectangle((*couch.xz, couch.yaw), x0, front + AISLE + 0.02, x1, front + AISLE + 0.75)
    place = (float(spot[0]), float(spot[1]), couch.yaw)
    if rng.random() < 0.5 and layout.fits(piece, place):
        layout.put(piece, place)
    else:
        layout.attempt(piece, lambda: layout.along_wall(piece, rng, WIDE, 0.2))


def _rugs(layout: Layout, rng: np.random.Generator) -> None:
    """Two rugs in the big rooms, square to the walls, never across one another; furniture may stand on them."""
    mat = layout.find("mat")
    lying = rectangle((*mat.xz, mat.yaw), -0.47, -0.3, 0.47, 0.3)[None]
    for name, width, depth in (("rug_02", 2.79, 2.51), ("rug_01", 1.71, 2.49)):
        piece = rug(name, width, depth, _one(CLOTHS, rng))
        for _ in range(TRIES):
            chosen = MAIN[int(rng.integers(2))]
            room = next(r for r in layout.plan if r.name == chosen)
            yaw = float(rng.integers(2) * np.pi / 2)
            half = (width / 2, depth / 2) if yaw == 0 else (depth / 2, width / 2)
            x = uniform(rng, room.low[0] + half[0], room.high[0] - half[0])
            z = uniform(rng, room.low[1] + half[1], room.high[1] - half[1])
            body = rectangle((x, z, yaw), -width / 2, -depth / 2, width / 2, depth / 2)
            if not rectangles_near(body, lying, 0.05):
                layout.placed.append(Placed(piece, (x, z), yaw))
                lying = np.vstack([lying, body])
                break
