"""Procedural homes: furnished flats with the plan, furniture and statistics of ReplicaCAD.

A macro layout fixes the kitchen; everything else is arranged from scratch (`arrange`) until the home is one a robot can
work in: enough free floor in one piece, and every receptacle within reach of it.
"""

from __future__ import annotations

import numpy as np

from housemates.geometry.exact import hypot
from housemates.homes.floor import CELL, REACH_3D, Floor, floor_from_footprints
from housemates.homes.home import RECEPTACLES, Home, Room
from housemates.homes.layout import NoPlaceError, arrange
from housemates.homes.pieces import Placed, assemble, footprints
from housemates.homes.statistics import CLEARANCES, clearance_shares, receptacle_geodesics

SPLITS = {
    "train": (60, (0, 1, 2)),
    "dev": (12, (0, 1, 2)),
    "eval": (20, (3,)),
    "test": (20, (4,)),
    "varied": (84, (0, 1, 2, 5, 6, 7, 8)),
    "kitchens": (12, (9, 10)),
}
"""How many homes a split has, and the macro layouts they take turns with; `eval` and `test` are of unseen ones.

The first four are the paper's, with dev homes to choose by. `varied` is for training with more kitchens than the paper's three,
`kitchens` for choices about robots in kitchens they have not seen. Homes depend on a split's place in this table."""
PAPER = ("train", "dev", "eval", "test")
"""The splits that are meant by all homes."""

OBSTACLE = (0.1, 1.5)
"""Parts that reach into these heights block a robot: above what it drives over, below its top (spec section 2)."""
AREA = (24.7, 30.0)
"""Navigable area of the main island a home must have, m2 (ReplicaCAD: 24.7 to 32.1)."""
OPEN = (0.50, 0.68)
"""Share of the navigable floor with more than 0.3 m to its border a home must have (ReplicaCAD: 0.58 in the mean)."""
SPREAD = (3.7, 5.3)
"""Mean path length between a home's receptacles, metres (ReplicaCAD: 4.4 over all homes)."""
FAR = (6.5, 9.3)
"""The path length that a tenth of a home's receptacle pairs exceed, metres (ReplicaCAD: 7.9 over all homes)."""
REACH_2D = 1.1
"""Most metres from the floor to a receptacle's centre, on the floor plan."""
ATTEMPTS = 400
"""Layouts tried for one home before giving up."""


def generate_home(split: str, index: int, seed: int = 0) -> Home:
    """Home number `index` of a split, named for example `train/07`; the same arguments give the same home."""
    count, macros = split_size(split)
    if not 0 <= index < count:
        raise ValueError(f"No home {split}/{index}: the split '{split}' has homes 0 to {count - 1}")
    macro = macros[index % len(macros)]
    for attempt in range(ATTEMPTS):
        rng = np.random.default_rng([seed, list(SPLITS).index(split), index, attempt])
        try:
            plan, placed = arrange(macro, rng, np.random.default_rng([seed, 1000 + macro]))
        except NoPlaceError:
            continue
        home = furnish(home_name(split, index), plan, placed)
        if not faults(home):
            return home
    raise ValueError(f"No layout for {home_name(split, index)} with seed {seed} in {ATTEMPTS} attempts - choose another seed")


def home_name(split: str, index: int) -> str:
    """What home number `index` of a split is called."""
    return f"{split}/{index:02d}"


def split_size(split: str) -> tuple[int, tuple[int, ...]]:
    """Number of homes and macro layouts of a split, or an error that names the splits there are."""
    if split not in SPLITS:
        raise ValueError(f"No split '{split}' - choose one of: {', '.join(SPLITS)}")
    return SPLITS[split]


def furnish(name: str, plan: tuple[Room, ...], placed: list[Placed]) -> Home:
    """The home made of these pieces, with its floor worked out from them."""
    parts, labels, joints, receptacles = assemble(placed)
    polygons, corners = footprints(parts, *OBSTACLE)
    return Home(name, parts, labels, joints, receptacles, _floor(plan, polygons, corners), plan)


def _floor(plan: tuple[Room, ...], polygons: np.ndarray, corners: np.ndarray) -> Floor:
    """The floor inside the rooms, with obstacles taken out."""
    low = (min(r.low[0] for r in plan), min(r.low[1] for r in plan))
    high = (max(r.high[0] for r in plan), max(r.high[1] for r in plan))
    width, height = (round((b - a) / CELL) + 1 for a, b in zip(low, high, strict=True))
    x, z = low[0] + np.arange(width) * CELL, low[1] + np.arange(height) * CELL
    inside = np.zeros((height, width), bool)
    for room in plan:
        rows, columns = (room.low[1] <= z) & (z <= room.high[1]), (room.low[0] <= x) & (x <= room.high[0])
        inside |= rows[:, None] & columns[None, :]
    return floor_from_footprints(polygons, corners, low, high, inside=inside)


def faults(home: Home) -> list[str]:
    """Why robots could not work well in this home, in words; empty for a good one."""
    found, floor = [], home.floor
    area = len(floor.cells) * CELL**2
    if not AREA[0] <= area <= AREA[1]:
        found.append(f"navigable area {area:.1f} m2")
    share = float(clearance_shares(floor)[CLEARANCES.index(0.3)])
    if not OPEN[0] <= share <= OPEN[1]:
        found.append(f"open share {share:.2f}")
    points = np.array(floor.origin) + floor.cells[:, ::-1] * CELL
    for receptacle in home.receptacles:
        if receptacle.kind not in RECEPTACLES or not len(points):
            continue
        center, target = np.array(receptacle.center), np.array(receptacle.target)
        near = hypot(*(points - center[[0, 2]]).T).min()
        work = np.sqrt(((points - target[[0, 2]]) ** 2).sum(1).min() + target[1] ** 2)
        if near > REACH_2D or work > REACH_3D:
            found.append(f"{receptacle.name} out of reach")
    if found:
        return found
    paths = receptacle_geodesics(home)
    mean, far = paths.mean(), np.percentile(paths, 90)
    if not (SPREAD[0] <= mean <= SPREAD[1] and FAR[0] <= far <= FAR[1]):
        found.append(f"receptacles {mean:.1f} m apart, some {far:.1f} m")
    return found
