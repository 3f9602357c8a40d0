"""Where robots go in a home and the way there: approach cells at the furniture, and from every floor cell the next corner.

Computed once per home, kept in the cache folder and memory-mapped, so that a step of a robot is one look-up.
"""

from __future__ import annotations

import hashlib
import io
import warnings
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit

from housemates.geometry import distance, exact, paths, sight
from housemates.geometry.distance import distance_field, nearest_free
from housemates.geometry.exact import hypot
from housemates.geometry.paths import corner_path_length, next_corners
from housemates.homes.floor import REACH_3D, Floor
from housemates.homes.home import Home, Receptacle
from housemates.io import cache_folder, read_arrays, reading, write_whole
from housemates.parallel import announce

SPACING = 0.05
"""Points at which a receptacle's area is sampled for approach cells, metres apart."""
THIN = 0.08
"""Every cell nearest to some point of a receptacle has an approach cell within this distance, metres."""
EXTRA_2D = 0.35
"""A second robot at the same point stands at most this much farther away on the floor plan, metres."""
APART = 0.7
"""Approach cells offered for one point are this far apart, metres: two robots of radius 0.3 m and some air."""
MOST = 4
"""Most approach cells offered for one point."""


@dataclass(frozen=True, eq=False)
class Navigation:
    """Approach cells of a home and the shortest paths to them."""

    approach: np.ndarray
    """[A] int32, indices into `floor.cells`."""
    corner: np.ndarray
    """[A, C] uint16, memory-mapped: from cell c towards approach cell a, the next cell (index into `floor.cells`) to drive
    straight to; the approach cell itself points to itself."""
    start: tuple[np.ndarray, ...]
    """Per receptacle of the home: indices into `approach` (int32), nearest to the receptacle's target first."""


_known: WeakKeyDictionary[Home, Navigation] = WeakKeyDictionary()


def navigation(home: Home) -> Navigation:
    """The home's navigation, from this process, the cache folder, or computed now (about a second) and kept."""
    if home not in _known:
        _known[home] = _load(home) or _make(home)
    return _known[home]


def prepare(homes: Iterable[Home], threads: int = 2, progress: Callable[[int, int], None] | None = None) -> None:
    """Compute what is missing for many homes at once; `progress(done, total)` is called after each home."""
    homes = list(homes)
    if homes:
        navigation(homes[0])  # kernels are compiled here, before the threads start
    with ThreadPoolExecutor(max(1, threads)) as pool:
        for done, _ in enumerate(pool.map(navigation, homes), start=1):
            if progress is not None:
                progress(done, len(homes))


def approach_for(home: Home, paths: Navigation, point: tuple[float, float, float] | np.ndarray) -> np.ndarray:
    """Approach indices int32[K <= 4] from which a robot can work at a world point (x, y, z); the nearest comes first."""
    found = approach_for_points(home, paths, np.asarray(point, float)[None])[0]
    return found[found >= 0]


def approach_for_points(home: Home, paths: Navigation, points: np.ndarray) -> np.ndarray:
    """`approach_for` of world points [N, 3]: int32[N, 4], padded with -1."""
    out = np.empty((len(points), MOST), np.int32)
    approach_kernel(_cells_xz(home.floor, paths.approach), np.ascontiguousarray(points, np.float64), out)
    return out


def path_length(paths: Navigation, home: Home, cell: int, a: int) -> float:
    """Metres along corners from floor cell `cell` (index into `floor.cells`) to approach cell `a` (index into `approach`)."""
    if not (0 <= cell < paths.corner.shape[1] and 0 <= a < paths.corner.shape[0]):
        limits = f"cells 0 to {paths.corner.shape[1] - 1}, approach cells 0 to {paths.corner.shape[0] - 1}"
        raise IndexError(f"No path from cell {cell} to approach cell {a}: {home.name} has {limits}")
    return float(corner_path_length(home.floor.cells, paths.corner[a], cell, home.floor.cell))


@njit(cache=True, nogil=True)
def approach_kernel(approach_xz, points, out):
    """Approach cells for world points f64[N, 3] into out i32[N, K]: the nearest first, then others in reach, else -1.

    approach_xz f64[A, 2] are the cells' (x, z).
    """
    for n in range(points.shape[0]):
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        out[n] = -1
        limit = np.inf
        for k in range(out.shape[1]):
            best = np.inf
            for a in range(approach_xz.shape[0]):
                flat = hypot(approach_xz[a, 0] - x, approach_xz[a, 1] - z)
                if flat >= best or flat > limit or (k > 0 and flat * flat + y * y > REACH_3D * REACH_3D):
                    continue
                apart = True
                for other in range(k):
                    b = out[n, other]
                    gap = hypot(approach_xz[a, 0] - approach_xz[b, 0], approach_xz[a, 1] - approach_xz[b, 1])
                    apart = apart and gap >= APART
                if apart:
                    best, out[n, k] = flat, a
            if out[n, k] < 0:
                break
            if k == 0:
                limit = best + EXTRA_2D


@njit(cache=True, nogil=True)
def _corners_towards(free, cells, cell_of, approach, cell, out):
    """out u16[A, C]: next_corners of every approach cell i32[A]."""
    field = np.empty(free.shape, np.float32)
    for a in range(approach.shape[0]):
        distance_field(free, float(cells[approach[a], 0]), float(cells[approach[a], 1]), cell, field)
        next_corners(free, field, cells, cell_of, out[a])


@njit(cache=True, nogil=True)
def _nearest_cells(mask, cell_of, points, out):
    """out i32[N]: index of the true cell of mask nearest to each grid point f64[N, 2] (row, col)."""
    for n in range(points.shape[0]):
        reach, r, c = 16.0, -1, -1
        while r < 0:
            r, c = nearest_free(mask, points[n, 0], points[n, 1], reach)
            reach *= 4.0
        out[n] = cell_of[r, c]


@njit(cache=True, nogil=True)
def _thin(xz, gap, kept):
    """Mark in kept bool[N] the points f64[N, 2] that stay when each, in turn, is dropped if one kept before is within `gap`."""
    for n in range(xz.shape[0]):
        kept[n] = True
        for k in range(n):
            if kept[k] and hypot(xz[n, 0] - xz[k, 0], xz[n, 1] - xz[k, 1]) <= gap:
                kept[n] = False
                break


def _make(home: Home) -> Navigation:
    """Compute and keep the navigation of a home."""
    floor = home.floor
    if not 0 < len(floor.cells) <= np.iinfo(np.uint16).max:
        raise ValueError(f"{home.name} has {len(floor.cells)} connected free floor cells; navigation needs 1 to 65535")
    announce("navigation", (_corners_towards, _nearest_cells, _thin), 15)
    approach, start = approach_cells(home)
    corner = np.empty((len(approach), len(floor.cells)), np.uint16)
    _corners_towards(floor.main, floor.cells, floor.cell_of, approach, floor.cell, corner)
    if len(approach):
        with suppress(OSError):  # on a full or read-only disk, work from memory
            corner = _save(home, approach, corner, start)
    return Navigation(approach, corner, start)


def approach_cells(home: Home) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """`Navigation.approach` and `Navigation.start` of a home."""
    candidates = [_candidates(home.floor, receptacle) for receptacle in home.receptacles]
    if not candidates:
        return np.empty(0, np.int32), ()
    # The cell nearest to each target first, then everything else, receptacle by receptacle.
    order = np.concatenate([np.array([c[0] for c in candidates], np.int32), *candidates])
    order = order[np.sort(np.unique(order, return_index=True)[1])]
    kept = np.empty(len(order), bool)
    _thin(_cells_xz(home.floor, order), THIN, kept)
    approach = order[kept]
    where = _cells_xz(home.floor, approach)
    start = []
    for receptacle, cells in zip(home.receptacles, candidates, strict=True):
        gaps = np.linalg.norm(_cells_xz(home.floor, cells)[:, None] - where[None], axis=2)
        serving = np.unique(gaps.argmin(axis=1))
        away = np.linalg.norm(where[serving] - np.asarray(receptacle.target)[[0, 2]], axis=1)
        start.append(serving[np.argsort(away, kind="stable")].astype(np.int32))
    return approach, tuple(start)


def _candidates(floor: Floor, receptacle: Receptacle) -> np.ndarray:
    """Cells (indices int32) of the main region nearest to points all over a receptacle, nearest to its target first."""
    half = receptacle.half
    axes = [np.linspace(-h, h, int(np.ceil(2 * h / SPACING)) + 1) for h in (half[0], half[2])]
    x, z = (a.ravel() for a in np.meshgrid(*axes, indexing="ij"))
    area = receptacle.world(np.stack([x, np.zeros_like(x), z], axis=1))
    special = [p for p in (receptacle.target, receptacle.center, receptacle.handle) if p is not None]
    xz = np.concatenate([np.asarray(special, float), area])[:, [0, 2]]
    points = (xz - np.asarray(floor.origin))[:, ::-1] / floor.cell
    found = np.empty(len(points), np.int32)
    _nearest_cells(floor.main, floor.cell_of, np.ascontiguousarray(points), found)
    first, cells = found[0], np.unique(found)
    away = np.linalg.norm(_cells_xz(floor, cells) - xz[0], axis=1)
    cells = cells[np.argsort(away, kind="stable")]
    return np.concatenate([[first], cells[cells != first]]).astype(np.int32)


def _cells_xz(floor: Floor, cells: np.ndarray) -> np.ndarray:
    """World (x, z) [N, 2] of cells (indices [N])."""
    return np.asarray(floor.origin) + floor.cells[cells][:, ::-1] * floor.cell


@lru_cache(maxsize=1)
def _version() -> str:
    """Changes with the code that computes navigation, so that no old result is ever used with new code."""
    sources = sorted(str(m.__file__) for m in (distance, exact, paths, sight))
    return hashlib.sha256(b"".join(Path(name).read_bytes() for name in (*sources, __file__))).hexdigest()[:8]


def _files(home: Home) -> tuple[Path, Path]:
    """Cache files of a home: the small arrays, and the corners."""
    stem = cache_folder() / "navigation" / f"{home.content_hash}-{_version()}"
    return stem.with_suffix(".npz"), stem.with_suffix(".npy")


def _load(home: Home) -> Navigation | None:
    """What the cache folder holds for a home; None if it holds nothing or something damaged."""
    small, large = _files(home)
    if not small.exists() or not large.exists():
        return None
    try:
        with reading(small, "it is made again"):
            arrays = read_arrays(small)
            approach, flat, counts = (arrays[k] for k in ("approach", "start", "counts"))
            if str(arrays["home"]) != home.content_hash or int(arrays["check"]) != zlib.crc32(large.read_bytes()):
                raise ValueError("it is not what was written for this home")
            corner = np.asarray(np.load(large, mmap_mode="r", allow_pickle=False))
    except ValueError as error:
        warnings.warn(str(error), stacklevel=2)
        return None
    return Navigation(approach, corner, tuple(np.split(flat, np.cumsum(counts)[:-1])))


def _save(home: Home, approach: np.ndarray, corner: np.ndarray, start: tuple[np.ndarray, ...]) -> np.ndarray:
    """Write the cache files, the small one with a checksum of the large one; returns the corners, memory-mapped."""
    small, large = _files(home)
    counts = np.array([len(s) for s in start], np.int64)
    flat = np.concatenate([*start, np.empty(0, np.int32)]).astype(np.int32)
    content = io.BytesIO()
    np.save(content, corner)
    arrays = {"approach": approach, "start": flat, "counts": counts, "home": np.array(home.content_hash)}
    arrays["check"] = np.array(zlib.crc32(content.getbuffer()), np.uint32)
    write_whole(large, lambda file: file.write(content.getbuffer()))
    write_whole(small, lambda file: np.savez(file, **arrays))  # ty: ignore[invalid-argument-type]
    return np.asarray(np.load(large, mmap_mode="r", allow_pickle=False))
