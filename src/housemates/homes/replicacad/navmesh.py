"""Detour navigation meshes (`.navmesh`, as Habitat writes them) read directly into a Floor.

The file is a header, Recast's settings, then tiles of convex polygons with detail triangles that carry the heights.
A point is navigable where a detail triangle lies above or below it, and a robot may be where that triangle is floor.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from housemates.geometry.exact import hypot, product
from housemates.homes.floor import CELL, Floor
from housemates.homes.replicacad.download import AssetError

SET_MAGIC = int.from_bytes(b"MSET", "big")
TILE_MAGIC = int.from_bytes(b"DNAV", "big")
SETTINGS = {1: 0, 2: 56, 3: 56}
"""Bytes of Recast settings that follow the header, by file version."""
TILE_HEADER = struct.Struct("<15i10f")
POLYGON = np.dtype(
    [("link", "<u4"), ("corner", "<u2", 6), ("neighbour", "<u2", 6), ("flags", "<u2"), ("corners", "u1"), ("area", "u1")]
)
DETAIL = np.dtype([("vertex", "<u4"), ("triangle", "<u4"), ("vertices", "u1"), ("triangles", "u1"), ("pad", "<u2")])
LINK_BYTES = 12
BV_NODE_BYTES = 16
OFF_MESH_BYTES = 36
OFF_MESH_KIND = 1
"""Value of a polygon's type bits (the upper two of `area`) for a jump link, which is no surface."""

TOLERANCE = 0.01
"""A lattice point this near a polygon counts as on it: Habitat's own tolerance, metres."""
FLOOR_LEVEL = 0.05
"""Cells above this stand on a slope up some furniture (an artefact of the build; rugs are 0.02 m); robots stay off, metres."""


@dataclass(frozen=True, eq=False)
class Navmesh:
    """The walkable surface as triangles."""

    triangles: np.ndarray
    """[T, 3, 3] float64, world."""
    low: np.ndarray
    """[3] smallest corner of the bounds, metres."""
    high: np.ndarray
    """[3] largest corner of the bounds."""

    @property
    def area(self) -> float:
        """Surface in m2, slopes at their true size, as Habitat's `navigable_area` counts it."""
        a, b, c = np.moveaxis(self.triangles, 1, 0)
        return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)

    @property
    def floor_height(self) -> float:
        """Height of the floor: of the lowest polygon, metres."""
        return float(self.triangles[..., 1].min())


def read_navmesh(path: Path) -> Navmesh:
    """The detail triangles of a Detour navmesh set."""
    data = path.read_bytes()
    try:
        return _parse(data)
    except (struct.error, ValueError, IndexError) as error:
        raise AssetError(
            f"{path} is not a whole navmesh ({error}) - delete it and fetch it again: housemates data replicacad"
        ) from error


def _parse(data: bytes) -> Navmesh:
    magic, version, tiles = struct.unpack_from("<3i", data, 0)
    if magic != SET_MAGIC or version not in SETTINGS:
        raise ValueError(f"it starts with {data[:4]!r}, version {version}")
    at = 12 + 28 + SETTINGS[version]
    triangles, low, high = [], [], []
    for _ in range(tiles):
        _, size = struct.unpack_from("<Ii", data, at)
        if at + 8 + size > len(data):
            raise ValueError(f"it is cut off at {len(data)} of {at + 8 + size} bytes")
        found, bounds = _tile(data[at + 8 : at + 8 + size])
        triangles.append(found)
        low.append(bounds[:3])
        high.append(bounds[3:])
        at += 8 + size
    if not triangles or not sum(map(len, triangles)):
        raise ValueError("it has no polygons")
    return Navmesh(np.concatenate(triangles), np.min(low, axis=0), np.max(high, axis=0))


def _tile(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Detail triangles [T, 3, 3] and bounds [6] of one tile."""
    header = TILE_HEADER.unpack_from(data, 0)
    if header[0] != TILE_MAGIC or header[1] != 7:
        raise ValueError(f"unknown tile version {header[1]}")
    n_polygons, n_vertices, n_links, n_meshes, n_details, n_triangles, n_nodes, n_jumps = header[6:14]
    sizes = (n_vertices * 12, n_polygons * POLYGON.itemsize, n_links * LINK_BYTES, n_meshes * DETAIL.itemsize)
    sizes += (n_details * 12, n_triangles * 4, n_nodes * BV_NODE_BYTES, n_jumps * OFF_MESH_BYTES)
    if TILE_HEADER.size + sum(sizes) != len(data):
        raise ValueError(f"a tile of {len(data)} bytes should have {TILE_HEADER.size + sum(sizes)}")
    starts = TILE_HEADER.size + np.cumsum((0, *sizes))
    vertices = np.frombuffer(data, "<f4", n_vertices * 3, starts[0]).reshape(-1, 3).astype(float)
    polygons = np.frombuffer(data, POLYGON, n_polygons, starts[1])
    meshes = np.frombuffer(data, DETAIL, n_meshes, starts[3])
    details = np.frombuffer(data, "<f4", n_details * 3, starts[4]).reshape(-1, 3).astype(float)
    corners = np.frombuffer(data, "u1", n_triangles * 4, starts[5]).reshape(-1, 4)
    found = []
    for polygon, mesh in zip(polygons, meshes, strict=False):
        if polygon["area"] >> 6 == OFF_MESH_KIND:
            continue
        own = vertices[polygon["corner"][: polygon["corners"]]]
        # A detail triangle's corners number first the polygon's own corners, then its extra vertices.
        extra = details[mesh["vertex"] : mesh["vertex"] + mesh["vertices"]]
        points = np.concatenate([own, extra])
        found.append(points[corners[mesh["triangle"] : mesh["triangle"] + mesh["triangles"], :3]])
    bounds = np.array(header[18:24], float)
    return np.concatenate(found) if found else np.zeros((0, 3, 3)), bounds


def rise(navmesh: Navmesh, cell: float = CELL) -> np.ndarray:
    """[H, W]: height of the surface over the floor at each lattice point, nearest to the floor first; inf off the mesh.

    Lattice point [row, col] is (low x + col * cell, low z + row * cell), as in Habitat's top-down map.
    """
    width, height = (int((navmesh.high[k] - navmesh.low[k]) / cell) for k in (0, 2))
    found = np.full((height, width), np.inf)
    for triangle in navmesh.triangles:
        flat = triangle[:, [0, 2]] - navmesh.low[[0, 2]]
        first = np.maximum(np.ceil((flat.min(axis=0) - TOLERANCE) / cell).astype(int), 0)
        last = np.minimum(np.floor((flat.max(axis=0) + TOLERANCE) / cell).astype(int), (width - 1, height - 1))
        if (last < first).any():
            continue
        col, row = np.meshgrid(np.arange(first[0], last[0] + 1), np.arange(first[1], last[1] + 1))
        at = np.stack([col, row], axis=-1).reshape(-1, 2) * cell
        on, level = _on_triangle(at, flat, triangle[:, 1] - navmesh.floor_height)
        rows, cols = row.reshape(-1)[on], col.reshape(-1)[on]
        level = level[on]
        nearer = np.abs(level) < np.abs(found[rows, cols])
        found[rows[nearer], cols[nearer]] = level[nearer]
    return found


def _on_triangle(at: np.ndarray, flat: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which points [N, 2] are within TOLERANCE of the triangle [3, 2], and its height [N] there (of its nearest point)."""
    nearest, distance = np.zeros(len(at)), np.full(len(at), np.inf)
    turn = np.zeros((3, len(at)))
    for k in range(3):
        start, edge = flat[k], flat[(k + 1) % 3] - flat[k]
        offset = at - start
        turn[k] = edge[0] * offset[:, 1] - edge[1] * offset[:, 0]
        along = np.clip(product(offset, edge) / max(product(edge[None], edge)[0], 1e-12), 0, 1)
        away = hypot(*(offset - along[:, None] * edge).T)
        closer = away < distance
        distance[closer] = away[closer]
        nearest[closer] = (level[k] + along * (level[(k + 1) % 3] - level[k]))[closer]
    inside = (turn > 0).all(axis=0) | (turn < 0).all(axis=0)
    weight = np.roll(turn, -1, axis=0)  # the edge opposite a corner weighs it
    total = weight.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        nearest[inside] = ((weight * level[:, None]).sum(axis=0) / total)[inside]
    return inside | (distance <= TOLERANCE), nearest


def floor_from_navmesh(path: Path) -> Floor:
    """The Floor of a navmesh: `walkable` is all of it, `free` what lies at floor level, `area` Habitat's own figure."""
    navmesh = read_navmesh(path)
    level = rise(navmesh)
    return Floor(
        origin=(float(navmesh.low[0]), float(navmesh.low[2])),
        free=np.abs(level) <= FLOOR_LEVEL,
        walkable=np.isfinite(level),
        area=navmesh.area,
    )
