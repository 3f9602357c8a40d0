"""One micro layout: all movable furniture, arranged from scratch around the fixed kitchen block.

Big pieces come first; what must be reached keeps an aisle before it. Which pieces a home has, and how often, follows
ReplicaCAD's 84 layouts. `generate` judges whether the result is a home a robot can work in.
"""

from __future__ import annotations

import numpy as np

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
from housemates.homes.places import TRIES, Layout, NoPlaceError, Place, rectangle, square_yaw
from housemates.homes.plan import MACROS, rooms, shell
from housemates.kernels.exact import atan2, cos, normal, sin, uniform
from housemates.kernels.rectangles import rectangles_near

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
