"""Room for one more thing: where in a receptacle an object can stand without touching anything, within reach of a skill.

An object is its bounding box, upright, turned by its yaw: a row (x, y, z, yaw, half x, half y, half z), y being the box's
middle. Furniture is what reaches into a volume: convex footprints with a lowest and a highest point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from housemates.geometry.distance import nearest_free
from housemates.geometry.exact import cos, hypot, product, sin
from housemates.homes.floor import REACH_3D
from housemates.homes.home import Home, Receptacle, body_poses
from housemates.homes.solids import corners

CENTRAL = {"fridge": 0.5}
"""Share of a volume's width and depth in which an object's middle may lie: HAB fills the fridge shelf centrally (spec 1.2)."""
GAP = 0.01
"""Free space kept between two objects and between an object and furniture, metres."""
SETTLED = 0.005
"""Furniture that rises less than this above the supporting surface is the surface, metres."""
MESH_SETTLED = 0.03
"""The same for scanned furniture, whose cushions and table tops are not flat."""
TALLEST = 0.25
"""No object is taller than this, metres; furniture further above a surface is not in the way."""


@dataclass(frozen=True, eq=False)
class Furniture:
    """What reaches into one receptacle's volume."""

    outline: np.ndarray
    """[P, M, 2] float64 convex footprints (x, z), metres, padded."""
    corners: np.ndarray
    """[P] int64 corners of each."""
    height: np.ndarray
    """[P, 2] float64 lowest and highest point, metres."""


@dataclass(frozen=True, eq=False)
class Places:
    """The receptacles of one home, ready for placing things."""

    home: Home
    volume: np.ndarray
    """[N, 7] float64 centre x, y, z, yaw, half extents x, y, z of each receptacle."""
    central: np.ndarray
    """[N] float64, CENTRAL by receptacle."""
    furniture: tuple[Furniture, ...]
    """One per receptacle."""


def places(home: Home, joints: np.ndarray) -> Places:
    """The receptacles of a home whose joints [J] stand at the given values."""
    rows = [(*r.center, r.yaw, *r.half) for r in home.receptacles]
    solids = _solids(home, joints)
    return Places(
        home=home,
        volume=np.array(rows, np.float64).reshape(-1, 7),
        central=np.array([CENTRAL.get(r.kind, 1.0) for r in home.receptacles]),
        furniture=tuple(_inside(solids, r) for r in home.receptacles),
    )


def fits(place: Places, receptacle: int, half: np.ndarray) -> bool:
    """Whether a box of the given half extents [3] can stand in a volume at some yaw; only closed places have a ceiling."""
    volume, deep = place.volume[receptacle], place.home.receptacles[receptacle].door >= 0
    across, along = sorted((half[0], half[2])), sorted((volume[4], volume[6]))
    return across[0] <= along[0] and across[1] <= along[1] and not (deep and half[1] > volume[5])


def find_place(
    place: Places,
    receptacle: int,
    half: np.ndarray,
    draws: np.ndarray,
    taken: np.ndarray,
    yaw: float | None = None,
    apart_from: np.ndarray | None = None,
    apart: float = 0.0,
) -> np.ndarray | None:
    """A free spot for a box of the given half extents [3] in a receptacle: (x, y, z, yaw, half extents), or None.

    draws [T, 3] are uniform numbers in [0, 1), one row per try: two for the point, one for the yaw if none is given.
    taken [K, 7] are boxes to keep clear of; the spot is at least `apart` metres (2D) from the point `apart_from` (x, y, z).
    """
    if not fits(place, receptacle, half):
        return None
    out, around, floor = np.empty(7), place.furniture[receptacle], place.home.floor
    found = first_room(
        draws,
        place.volume[receptacle],
        place.central[receptacle],
        half,
        np.nan if yaw is None else yaw,
        taken,
        around.outline,
        around.corners,
        around.height,
        floor.main,
        floor.origin[0],
        floor.origin[1],
        floor.cell,
        out if apart_from is None else apart_from,
        0.0 if apart_from is None else apart,
        out,
    )
    return out if found >= 0 else None


def within_reach(place: Places, point: np.ndarray) -> bool:
    """Whether a robot on the main island can work at a point (x, y, z)."""
    floor = place.home.floor
    return bool(floor_distance(floor.main, floor.origin[0], floor.origin[1], floor.cell, point) <= REACH_3D)


@njit(cache=True, nogil=True)
def first_room(
    draws, volume, central, half, yaw, taken, outline, corner_count, height, main, origin_x, origin_z, cell, other, apart, out
):
    """The first row of draws [T, 3] that gives a valid spot, or -1; out [7] is the box there. A yaw of nan is drawn too."""
    cv, sv = cos(volume[3]), sin(volume[3])
    out[4:] = half
    out[1] = volume[1] - volume[5] + half[1]
    for t in range(len(draws)):
        out[3] = draws[t, 2] * 2 * np.pi if np.isnan(yaw) else yaw
        c, s = abs(cos(out[3] - volume[3])), abs(sin(out[3] - volume[3]))
        # The middle stays in the central share, the whole footprint in the volume.
        room_x = min(volume[4] * central, volume[4] - c * half[0] - s * half[2])
        room_z = min(volume[6] * central, volume[6] - s * half[0] - c * half[2])
        if room_x < 0 or room_z < 0:
            continue
        px, pz = (2 * draws[t, 0] - 1) * room_x, (2 * draws[t, 1] - 1) * room_z
        out[0] = volume[0] + cv * px + sv * pz
        out[2] = volume[2] - sv * px + cv * pz
        if apart > 0 and hypot(out[0] - other[0], out[2] - other[2]) < apart:
            continue
        clear = True
        for k in range(len(taken)):
            if boxes_touch(out, taken[k], GAP):
                clear = False
                break
        if not clear:
            continue
        for p in range(len(outline)):
            level = height[p, 1] > out[1] - half[1] and height[p, 0] < out[1] + half[1]
            if level and polygon_touches(outline[p], corner_count[p], out, GAP):
                clear = False
                break
        if clear and floor_distance(main, origin_x, origin_z, cell, out) <= REACH_3D:
            return t
    return -1


@njit(cache=True, nogil=True)
def floor_distance(main, origin_x, origin_z, cell, point):
    """3D distance in metres of a point (x, y, z) from the nearest cell of main [H, W] at floor level, inf beyond reach."""
    row, col = (point[2] - origin_z) / cell, (point[0] - origin_x) / cell
    found = nearest_free(main, row, col, REACH_3D / cell)
    if found[0] < 0:
        return np.inf
    flat = hypot(row - found[0], col - found[1]) * cell
    return hypot(flat, point[1])


@njit(cache=True, nogil=True)
def boxes_touch(a, b, gap):
    """Whether two upright boxes [7] come nearer than `gap` (metres), by separating axes of their footprints."""
    if abs(a[1] - b[1]) >= a[5] + b[5]:
        return False
    dx, dz = b[0] - a[0], b[2] - a[2]
    c, s = abs(cos(a[3] - b[3])), abs(sin(a[3] - b[3]))
    if abs(along_x(a[3], dx, dz)) >= a[4] + c * b[4] + s * b[6] + gap:
        return False
    if abs(along_z(a[3], dx, dz)) >= a[6] + s * b[4] + c * b[6] + gap:
        return False
    if abs(along_x(b[3], dx, dz)) >= b[4] + c * a[4] + s * a[6] + gap:
        return False
    return abs(along_z(b[3], dx, dz)) < b[6] + s * a[4] + c * a[6] + gap


@njit(cache=True, nogil=True)
def polygon_touches(outline, count, box, gap):
    """Whether a convex footprint outline [M, 2] (x, z) comes nearer than `gap` to a box's footprint, by separating axes."""
    for axis in range(2):
        low, high = np.inf, -np.inf
        for k in range(count):
            dx, dz = outline[k, 0] - box[0], outline[k, 1] - box[2]
            value = along_x(box[3], dx, dz) if axis == 0 else along_z(box[3], dx, dz)
            low, high = min(low, value), max(high, value)
        reach = (box[4] if axis == 0 else box[6]) + gap
        if low >= reach or high <= -reach:
            return False
    for k in range(count):
        nx = outline[(k + 1) % count, 1] - outline[k, 1]
        nz = outline[k, 0] - outline[(k + 1) % count, 0]
        length = hypot(nx, nz)
        if length < 1e-9:
            continue
        nx, nz = nx / length, nz / length
        low, high = np.inf, -np.inf
        for j in range(count):
            value = nx * (outline[j, 0] - box[0]) + nz * (outline[j, 1] - box[2])
            low, high = min(low, value), max(high, value)
        reach = abs(along_x(box[3], nx, nz)) * box[4] + abs(along_z(box[3], nx, nz)) * box[6] + gap
        if low >= reach or high <= -reach:
            return False
    return True


@njit(cache=True, nogil=True)
def along_x(yaw, dx, dz):
    """How far (dx, dz) goes along the x axis of something turned by yaw."""
    return cos(yaw) * dx - sin(yaw) * dz


@njit(cache=True, nogil=True)
def along_z(yaw, dx, dz):
    """How far (dx, dz) goes along its z axis."""
    return sin(yaw) * dx + cos(yaw) * dz


def convex_outline(points: np.ndarray) -> np.ndarray:
    """Corners [M, 2] of the convex hull of points [N, 2], in order (Andrew's monotone chain)."""
    ordered = sorted({(x, z) for x, z in np.round(points, 9).tolist()})
    if len(ordered) <= 3:
        return np.array(ordered)
    halves = []
    for sequence in (ordered, ordered[::-1]):
        chain: list[tuple[float, float]] = []
        for p in sequence:
            while len(chain) >= 2 and _turn(chain[-2], chain[-1], p) <= 1e-12:
                chain.pop()
            chain.append(p)
        halves.append(chain[:-1])
    return np.array(halves[0] + halves[1])


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@dataclass(frozen=True, eq=False)
class _Solids:
    """Everything solid in a home: parts, and triangles where it was read from files."""

    points: list[np.ndarray]
    """Corners [M, 3] of each, where the joints put them."""
    low: np.ndarray
    """[S, 3] smallest x, y, z of each."""
    high: np.ndarray
    """[S, 3] largest."""
    body: np.ndarray
    """[S] as in Parts."""
    settled: np.ndarray
    """[S] how far each may rise above a surface and still be the surface."""


def _solids(home: Home, joints: np.ndarray) -> _Solids:
    poses = body_poses(home.joints, joints)
    points: list[np.ndarray] = []
    for i, b in enumerate(home.parts.body):
        points.append(product(corners(home.parts, i), poses[b, :3, :3].T) + poses[b, :3, 3])
    low, high = ([f(p, axis=0) for p in points] for f in (np.min, np.max))
    body, settled = home.parts.body.astype(int), np.full(len(points), SETTLED)
    if home.meshes is not None:
        pose = poses[home.meshes.body]
        triangles = product(home.meshes.vertices[home.meshes.faces], pose[:, :3, :3].transpose(0, 2, 1))
        triangles += pose[:, None, :3, 3]
        points += list(triangles)
        low, high = [*low, *triangles.min(axis=1)], [*high, *triangles.max(axis=1)]
        body = np.concatenate([body, home.meshes.body.astype(int)])
        settled = np.concatenate([settled, np.full(len(triangles), MESH_SETTLED)])
    return _Solids(points, np.reshape(low, (-1, 3)), np.reshape(high, (-1, 3)), body, settled)


def _inside(solids: _Solids, receptacle: Receptacle) -> Furniture:
    """The solids that reach into a receptacle's volume above its surface, as footprints."""
    c, s = abs(cos(receptacle.yaw)), abs(sin(receptacle.yaw))
    hx, _, hz = receptacle.half
    reach = np.array([c * hx + s * hz, s * hx + c * hz]) + GAP
    middle, surface = np.array(receptacle.center)[[0, 2]], receptacle.surface
    near = (solids.low[:, [0, 2]] < middle + reach).all(axis=1) & (solids.high[:, [0, 2]] > middle - reach).all(axis=1)
    near &= (solids.high[:, 1] > surface + solids.settled) & (solids.low[:, 1] < surface + TALLEST)
    if receptacle.joint >= 0:
        # A drawer slides past whatever surrounds it, so only its own sides can be in the way of what lies in it.
        near &= solids.body == receptacle.joint + 1
    found = np.flatnonzero(near)
    outlines = [convex_outline(solids.points[i][:, [0, 2]]) for i in found]
    padded = np.zeros((len(found), max((len(o) for o in outlines), default=3), 2))
    for row, outline in zip(padded, outlines, strict=True):
        row[: len(outline)] = outline
    height = np.stack([solids.low[found, 1], solids.high[found, 1]], axis=1).reshape(-1, 2)
    return Furniture(padded, np.array([len(o) for o in outlines], np.int64), height)
