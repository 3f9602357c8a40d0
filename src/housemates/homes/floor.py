"""The floor of a home as a grid of 5 cm cells: where a robot's centre may stand, and how far it is from A to B.

Cell [row, col] stands for the lattice point (x, z) = origin + (col, row) * cell; a floor point belongs to the nearest one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from housemates.geometry.distance import distance_at, distance_field, islands, nearest_free
from housemates.geometry.shapes import block_polygons

CELL = 0.05
"""Grid spacing, metres."""
ROBOT_RADIUS = 0.3
"""The disc a robot is for navigation and for collisions between robots, metres (spec section 2)."""
REACH_3D = 1.9
"""Most metres from a robot's floor point to what it works at, wherever homes and episodes are made: a little less than the
2 m within which skills may start (spec 4.1)."""
SNAP = 0.3
"""A point off the navigable floor counts as the nearest navigable point within this distance, metres."""
FIELDS_KEPT = 64
"""How many distance fields a floor remembers for `geodesic`."""


@dataclass(frozen=True, eq=False)
class Floor:
    """Where a robot can drive, and shortest paths there."""

    origin: tuple[float, float]
    """World (x, z) of cell [0, 0]."""
    free: np.ndarray
    """[H, W] bool: a robot's centre may stand here (floor level, all islands)."""
    walkable: np.ndarray
    """[H, W] bool: what `geodesic` may cross; `free`, plus whatever a source's own navigation mesh allows off the floor."""
    area: float
    """Navigable area, m2, all islands, as the source counts it."""
    cell: float = CELL
    _fields: OrderedDict = field(default_factory=OrderedDict, repr=False)

    @cached_property
    def main(self) -> np.ndarray:
        """[H, W] bool: the largest connected region of `free`, where robots live."""
        labels, _ = islands(self.free)
        return labels == 0

    @cached_property
    def cells(self) -> np.ndarray:
        """[C, 2] int32 (row, col) of the main region's cells, row by row."""
        return np.argwhere(self.main).astype(np.int32)

    @cached_property
    def cell_of(self) -> np.ndarray:
        """[H, W] int32: index into `cells`, -1 elsewhere."""
        index = np.full(self.main.shape, -1, np.int32)
        index[self.main] = np.arange(len(self.cells), dtype=np.int32)
        return index

    def grid(self, xz: tuple[float, float]) -> tuple[float, float]:
        """Continuous (row, col) of a world floor point."""
        return (float(xz[1]) - self.origin[1]) / self.cell, (float(xz[0]) - self.origin[0]) / self.cell

    def point(self, row: float, col: float) -> tuple[float, float]:
        """World (x, z) of a grid position."""
        return self.origin[0] + col * self.cell, self.origin[1] + row * self.cell

    def is_free(self, xz: tuple[float, float]) -> bool:
        """Whether a robot's centre may stand at `xz`; a point that is not finite is nowhere."""
        if not np.isfinite(xz).all():
            return False
        row, col = (round(v) for v in self.grid(xz))
        return bool(0 <= row < self.free.shape[0] and 0 <= col < self.free.shape[1] and self.free[row, col])

    def snap(self, xz: tuple[float, float], reach: float = SNAP, main: bool = True) -> tuple[int, int] | None:
        """The free cell nearest to `xz` within `reach` metres (of the main region, or of any), or None."""
        row, col = self.grid(xz)
        found = nearest_free(self.main if main else self.walkable, row, col, reach / self.cell)
        return None if found[0] < 0 else (int(found[0]), int(found[1]))

    def field(self, goal_xz: tuple[float, float]) -> np.ndarray | None:
        """Distances [H, W] in metres over `walkable` to a goal, `inf` where unreachable; None if the goal is off the floor."""
        row, col = self.grid(goal_xz)
        snapped = nearest_free(self.walkable, row, col, SNAP / self.cell)
        if snapped[0] < 0:
            return None
        if max(abs(snapped[0] - row), abs(snapped[1] - col)) > 0.5:
            row, col = float(snapped[0]), float(snapped[1])
        key = (row, col)
        if key not in self._fields:
            out = np.empty(self.walkable.shape, np.float32)
            distance_field(self.walkable, row, col, self.cell, out)
            self._fields[key] = out
            while len(self._fields) > FIELDS_KEPT:
                self._fields.popitem(last=False)
        return self._fields[key]

    def geodesic(self, start_xz: tuple[float, float], goal_xz: tuple[float, float]) -> float:
        """Length in metres of the shortest path, `inf` if there is none."""
        goal, start = self.field(goal_xz), self.grid(start_xz)
        snapped = nearest_free(self.walkable, start[0], start[1], SNAP / self.cell)
        if goal is None or snapped[0] < 0:
            return float("inf")
        end = self.grid(goal_xz)
        return float(distance_at(self.walkable, goal, start[0], start[1], end[0], end[1], self.cell))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that define the floor, by name."""
        return {"free": self.free, "walkable": self.walkable}

    def header(self) -> dict:
        """The rest, as JSON-ready values."""
        return {"origin": list(self.origin), "area": self.area, "cell": self.cell}


def floor_from_footprints(
    polygons: np.ndarray,
    corners: np.ndarray,
    low: tuple[float, float],
    high: tuple[float, float],
    radius: float = ROBOT_RADIUS,
    inside: np.ndarray | None = None,
) -> Floor:
    """A floor between the world points `low` and `high` (x, z) with obstacles taken out.

    polygons [P, M, 2] are convex footprints (x, z), polygon p has corners[p] corners; a cell is free if it is more than
    `radius` from all of them (and `inside` [H, W] is true there, if given).
    """
    width = int(np.floor((high[0] - low[0]) / CELL + 0.5)) + 1
    height = int(np.floor((high[1] - low[1]) / CELL + 0.5)) + 1
    free = np.ones((height, width), bool) if inside is None else inside.copy()
    block_polygons(
        np.ascontiguousarray(polygons, np.float64), np.asarray(corners, np.int64), radius, low[0], low[1], CELL, free
    )
    return Floor(origin=(float(low[0]), float(low[1])), free=free, walkable=free, area=float(free.sum()) * CELL**2)
