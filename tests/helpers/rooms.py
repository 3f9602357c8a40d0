"""A small home made by hand for tests: one hall of 7 x 6 m with all ten receptacles, three joints and simple boxes.

Kitchen along x = 0 (fridge, then counter with two drawers), dining table in the middle, the rest along the walls; the two
chairs stand askew. x runs from 0 to 7, z from 0 to 6.
"""

import numpy as np

from housemates.homes.floor import floor_from_footprints
from housemates.homes.home import Home, Joint, Receptacle, Room
from housemates.homes.solids import Solid, box, corners, stack

FRIDGE_DOOR, DRAWER_RIGHT, DRAWER_LEFT = 0, 1, 2
JOINTS = (
    Joint("fridge/top_door", "revolute", (0.0, 1.0, 0.0), (0.69, 0.0, 0.1), 0.0, 2.3),
    Joint("kitchen_counter/drawer3", "prismatic", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.5),
    Joint("kitchen_counter/drawer1_top", "prismatic", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.5),
)
RECEPTACLES = (
    Receptacle("chair_1", "chair", "chair_1", (2.0, 0.495, 4.6), 0.3, (0.23, 0.095, 0.215)),
    Receptacle("chair_2", "chair", "chair_2", (5.4, 0.495, 2.6), -0.6, (0.23, 0.095, 0.215)),
    Receptacle("table_01", "table_01", "table_01", (3.4, 0.855, 2.6), 0.0, (0.69, 0.095, 0.42)),
    Receptacle("table_02", "table_02", "table_02", (5.6, 1.067, 0.5), 0.0, (0.63, 0.137, 0.39)),
    Receptacle("tvstand", "tvstand", "tvstand", (3.6, 0.711, 5.65), 0.0, (0.75, 0.091, 0.24)),
    Receptacle("sofa", "sofa", "sofa", (5.8, 0.573, 5.35), np.pi, (0.73, 0.133, 0.26)),
    Receptacle("counter_left", "counter", "kitchen_counter", (0.33, 1.051, 3.35), 0.0, (0.3, 0.191, 0.45)),
    Receptacle("counter_right", "counter", "kitchen_counter", (0.33, 1.051, 1.65), 0.0, (0.3, 0.191, 0.7)),
    Receptacle("sink", "sink", "kitchen_counter", (0.33, 0.809, 2.6), 0.0, (0.11, 0.099, 0.17)),
    Receptacle(
        "fridge_shelf", "fridge", "fridge", (0.35, 1.421, 0.45), 0.0, (0.27, 0.161, 0.29), -1, FRIDGE_DOOR, (0.76, 1.2, 0.72)
    ),
    Receptacle(
        "drawer_right",
        "drawer_right",
        "kitchen_counter",
        (0.33, 0.6, 1.4),
        0.0,
        (0.24, 0.08, 0.39),
        1,
        DRAWER_RIGHT,
        (0.7, 0.6, 1.4),
    ),
    Receptacle(
        "drawer_left",
        "drawer_left",
        "kitchen_counter",
        (0.33, 0.6, 3.3),
        0.0,
        (0.24, 0.08, 0.39),
        2,
        DRAWER_LEFT,
        (0.7, 0.6, 3.3),
    ),
)


def hall(name: str = "hall", receptacles: tuple[Receptacle, ...] = RECEPTACLES, extra: tuple[Solid, ...] = ()) -> Home:
    """The hall, with other receptacles or with extra solids that stand still (label 0) where a test needs them."""
    solids: list[Solid] = []
    labels: list[str] = []
    for label, group in [("extra", list(extra)), *_furniture().items()]:
        solids += [_labelled(s, len(labels)) for s in group]
        labels.append(label)
    parts = stack(solids)
    blocking = [corners(parts, i)[:, [0, 2]] for i in range(len(parts)) if _blocks(corners(parts, i)[:, 1])]
    polygons = np.array([_rectangle(points) for points in blocking])
    floor = floor_from_footprints(polygons, np.full(len(polygons), 4), (0.0, 0.0), (7.0, 6.0))
    return Home(name, parts, tuple(labels), JOINTS, receptacles, floor, (Room("hall", (0.0, 0.0), (7.0, 6.0)),))


def _furniture() -> dict[str, list[Solid]]:
    grey, wood, white = (150, 150, 150), (150, 100, 60), (230, 230, 230)
    walls = [((-0.05, 1.3, 3), (0.1, 2.6, 6)), ((7.05, 1.3, 3), (0.1, 2.6, 6)), ((3.5, 1.3, -0.05), (7, 2.6, 0.1))]
    walls.append(((3.5, 1.3, 6.05), (7, 2.6, 0.1)))
    fridge = [
        box((0.02, 1.0, 0.45), (0.04, 1.9, 0.7), white),
        box((0.35, 1.0, 0.12), (0.62, 1.9, 0.04), white),
        box((0.35, 1.0, 0.78), (0.62, 1.9, 0.04), white),
        box((0.35, 1.25, 0.45), (0.58, 0.02, 0.62), white),
        _moving(box((0.69, 1.35, 0.45), (0.06, 1.1, 0.7), white), FRIDGE_DOOR),
        box((0.69, 0.4, 0.45), (0.06, 0.75, 0.7), white),
    ]
    counter = [
        box((0.33, 0.84, 1.62), (0.66, 0.04, 1.54), grey),
        box((0.33, 0.84, 3.36), (0.66, 0.04, 1.08), grey),
        box((0.33, 0.68, 2.6), (0.5, 0.06, 0.4), grey),
        box((0.02, 0.43, 2.38), (0.04, 0.82, 3.04), grey),
        box((0.64, 0.25, 2.38), (0.04, 0.4, 3.04), grey),
    ]
    for joint, z in ((DRAWER_RIGHT, 1.4), (DRAWER_LEFT, 3.3)):
        counter.append(_moving(box((0.33, 0.51, z), (0.5, 0.02, 0.8), wood), joint))
        counter.append(_moving(box((0.64, 0.6, z), (0.04, 0.2, 0.88), wood), joint))
    sofa = [
        box((5.8, 0.22, 5.4), (2.1, 0.44, 0.9), grey),
        box((5.8, 0.6, 5.8), (2.1, 0.4, 0.2), grey),
        box((4.83, 0.5, 5.4), (0.16, 0.2, 0.9), grey),
        box((6.77, 0.5, 5.4), (0.16, 0.2, 0.9), grey),
    ]
    return {
        "floor": [box((3.5, -0.05, 3.0), (7, 0.1, 6), wood)],
        "wall": [box(center, size, white) for center, size in walls],
        "fridge": fridge,
        "kitchen_counter": counter,
        "table_01": _table((3.4, 2.6), (1.4, 0.85), 0.76),
        "table_02": _table((5.6, 0.5), (1.28, 0.81), 0.93),
        "tvstand": [box((3.6, 0.31, 5.65), (1.52, 0.62, 0.5), wood)],
        "sofa": sofa,
        "chair_1": _chair((2.0, 4.6), 0.3),
        "chair_2": _chair((5.4, 2.6), -0.6),
    }


def _table(xz: tuple[float, float], size: tuple[float, float], top: float) -> list[Solid]:
    wood, (x, z), (w, d) = (150, 100, 60), xz, size
    legs = [(x + i * (w / 2 - 0.05), z + j * (d / 2 - 0.05)) for i in (-1, 1) for j in (-1, 1)]
    slab = box((x, top - 0.02, z), (w, 0.04, d), wood)
    return [slab, *(box((lx, (top - 0.04) / 2, lz), (0.06, top - 0.04, 0.06), wood) for lx, lz in legs)]


def _chair(xz: tuple[float, float], yaw: float) -> list[Solid]:
    red, turn = (170, 60, 60), _turn(yaw)
    back = np.array([xz[0], 0.55, xz[1]]) + turn @ [0, 0, -0.28]
    return [box((xz[0], 0.2, xz[1]), (0.6, 0.4, 0.5), red, turn), box(back, (0.6, 0.4, 0.1), red, turn)]


def _turn(yaw: float) -> np.ndarray:
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _moving(solid: Solid, joint: int) -> Solid:
    return Solid(solid.center, solid.half, solid.colour, solid.rotation, body=joint + 1)


def _labelled(solid: Solid, label: int) -> Solid:
    return Solid(solid.center, solid.half, solid.colour, solid.rotation, solid.sides, solid.taper, solid.body, label)


def _blocks(heights: np.ndarray) -> bool:
    return heights.max() > 0.1 and heights.min() < 1.5


def _rectangle(points: np.ndarray) -> np.ndarray:
    """The four corners [4, 2] of an upright box's footprint, in order, from its eight corners [8, 2]."""
    middle = points.mean(axis=0)
    unique = np.unique(np.round(points, 6), axis=0)
    return unique[np.argsort(np.arctan2(*(unique - middle).T))]
