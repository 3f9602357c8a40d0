"""A floor from bare triangles, for homes whose navigation mesh is missing.

The floor is what the stage's level triangles cover at the height of the feet; whatever a robot of 1.5 m would bump into
is taken out, with the robot's radius around it.
"""

from __future__ import annotations

import numpy as np

from housemates.homes.floor import CELL, Floor, floor_from_footprints
from housemates.kernels.collide import block_polygons

OBSTACLE_LOW = 0.1
"""What stays below this is walked over (rugs, thresholds), metres."""
OBSTACLE_HIGH = 1.5
"""What begins above this is walked under: the height of the robot, metres (replicacad.md 1)."""
LEVEL = 0.7
"""Smallest upward part of a floor triangle's unit normal."""


def is_floor(triangles: np.ndarray) -> np.ndarray:
    """[T] bool: which triangles [T, 3, 3] are floor: level, seen from above, and not higher than a threshold."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    level = normal[:, 1] > LEVEL * np.maximum(length, 1e-12)
    return level & (np.abs(triangles[..., 1]).max(axis=1) <= OBSTACLE_LOW)


def floor_from_triangles(stage: np.ndarray, furniture: np.ndarray) -> Floor:
    """The floor of a home of triangles [S, 3, 3] (walls and floor) and [T, 3, 3] (furniture), world, metres."""
    ground = stage[is_floor(stage)]
    if not len(ground):
        raise ValueError("the stage has no floor at height 0")
    flat = np.ascontiguousarray(ground[:, :, [0, 2]])
    low, high = flat.min(axis=(0, 1)), flat.max(axis=(0, 1))
    width, height = (int(np.floor((high[k] - low[k]) / CELL + 0.5)) + 1 for k in (0, 1))
    outside = np.ones((height, width), bool)
    block_polygons(flat, np.full(len(flat), 3), 0.0, low[0], low[1], CELL, outside)
    polygons, corners = slab_footprints(np.concatenate([stage, furniture]), OBSTACLE_LOW, OBSTACLE_HIGH)
    return floor_from_footprints(
        polygons, corners, (float(low[0]), float(low[1])), (float(high[0]), float(high[1])), inside=~outside
    )


def slab_footprints(triangles: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Footprints of the parts of triangles [T, 3, 3] between two heights: polygons [P, 5, 2] (x, z), corners [P]."""
    y = triangles[..., 1]
    touched = (y.max(axis=1) > low) & (y.min(axis=1) < high)
    whole = touched & (y.min(axis=1) >= low) & (y.max(axis=1) <= high)
    cut = [_clip(_clip(t, low, 1.0), high, -1.0) for t in triangles[touched & ~whole]]
    cut = [piece for piece in cut if len(piece)]
    polygons = np.zeros((int(whole.sum()) + len(cut), 5, 2))
    corners = np.full(len(polygons), 3, np.int64)
    polygons[: len(polygons) - len(cut), :3] = triangles[whole][:, :, [0, 2]]
    for index, piece in enumerate(cut, start=len(polygons) - len(cut)):
        polygons[index, : len(piece)] = piece[:, [0, 2]]
        corners[index] = len(piece)
    return polygons, corners


def _clip(polygon: np.ndarray, height: float, side: float) -> np.ndarray:
    """The part of a polygon [N, 3] above (side 1) or below (side -1) a height (Sutherland and Hodgman)."""
    kept = []
    for here, there in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        a, b = side * (here[1] - height), side * (there[1] - height)
        if a >= 0:
            kept.append(here)
        if a * b < 0:
            kept.append(here + a / (a - b) * (there - here))
    return np.array(kept).reshape(-1, 3)
