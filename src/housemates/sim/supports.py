"""Surfaces on which a released object can come to rest, and the approach cells from which robots then work at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from housemates.homes.home import OPENABLE, Home
from housemates.sim.world import World
from housemates.tasks.goals import door_of

SMALLEST = 0.03
"""A top narrower than this to either side holds nothing, metres."""
LEVEL = 0.999
"""Cosine of the tilt up to which a top counts as level."""
FAVOUR = 0.02
"""A receptacle counts as this much higher than the furniture it belongs to, so that its contents are known to lie in it."""

SUPPORT = np.dtype(
    [
        ("center", "f8", (2,)),  # (x, z), joint zero
        ("axis", "f8", (2,)),  # Direction (x, z) of its first side
        ("half", "f8", (2,)),  # Half extents along and across that direction
        ("height", "f8"),  # Metres above the floor
        ("favour", "f8"),
        ("box", "i8"),  # Which of OPENABLE it lies in, -1 none
        ("motion", "f8", (3,)),  # How it moves per unit of that joint
    ],
    align=True,
)


class Supports(NamedTuple):
    """All level surfaces of n homes, furniture first, then receptacles; beneath them all lies the floor."""

    start: np.ndarray
    """[n + 1] int64: home h owns rows start[h] to start[h + 1] - 1."""
    rows: np.ndarray
    """[all] SUPPORT."""
    approach_start: np.ndarray
    """[n + 1] int64: the same for approach_xz."""
    approach_xz: np.ndarray
    """[all approach cells, 2] float64, their world (x, z)."""


def supports(world: World, homes: Sequence[Home]) -> Supports:
    """The supports of all homes of a world."""
    each = [np.concatenate([_tops(home), _receptacles(home)]) for home in homes]
    offset = world.homes["approach_start"]
    counts = np.diff(np.append(offset, len(world.approach_cell)))
    cells = world.approach_cell + np.repeat(world.homes["cell_start"], counts)
    return Supports(
        start=np.concatenate([[0], np.cumsum([len(rows) for rows in each])]).astype(np.int64),
        rows=np.concatenate(each),
        approach_start=np.append(offset, len(world.approach_cell)).astype(np.int64),
        approach_xz=np.ascontiguousarray(world.cell_xz[cells]),
    )


def _tops(home: Home) -> np.ndarray:
    """Level upper sides of a home's solids that stand still; round ones count as the square inside."""
    parts, rows = home.parts, []
    for n in np.flatnonzero(parts.body == 0):
        rotation, half = parts.rotation[n].astype(float), parts.half[n].astype(float)
        up = int(np.argmax(np.abs(rotation[1])))
        if abs(rotation[1, up]) < LEVEL or (parts.sides[n] and up != 1):
            continue
        a, b = (k for k in range(3) if k != up)
        shrink = 1.0
        if parts.sides[n]:
            shrink = np.sqrt(0.5) * (parts.taper[n] if rotation[1, up] > 0 else 1.0)
        height, size = float(parts.center[n, 1]) + half[up], half[[a, b]] * shrink
        if height > SMALLEST and size.min() >= SMALLEST:
            rows.append((parts.center[n, [0, 2]], rotation[[0, 2], a], size, height, 0.0, -1, (0.0, 0.0, 0.0)))
    return np.array(rows, SUPPORT)


def _receptacles(home: Home) -> np.ndarray:
    doors = [door_of(home, kind) for kind in OPENABLE]
    rows = np.zeros(len(home.receptacles), SUPPORT)
    for row, receptacle in zip(rows, home.receptacles, strict=True):
        row["center"], row["half"] = np.array(receptacle.center)[[0, 2]], np.array(receptacle.half)[[0, 2]]
        row["axis"] = np.cos(receptacle.yaw), -np.sin(receptacle.yaw)
        row["height"], row["favour"] = receptacle.surface, FAVOUR
        row["box"] = doors.index(receptacle.door) if receptacle.door in doors else -1
        if receptacle.joint in doors and row["box"] >= 0:
            row["motion"] = home.joints[receptacle.joint].axis
    return rows
