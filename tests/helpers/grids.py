"""Small floor grids for tests, and slow twins of the kernels that work on them."""

import numpy as np
from scipy import ndimage
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

TOUCH = 1e-9


def noise(seed: int, height: int = 12, width: int = 15, blocked: float = 0.25) -> np.ndarray:
    """Free cells bool[H, W] with single cells blocked at random; at least one is free."""
    free = np.random.default_rng(seed).random((height, width)) >= blocked
    free[seed % height, seed % width] = True
    return free


def furnished(seed: int, height: int = 50, width: int = 56, pieces: int = 6) -> np.ndarray:
    """Free cells bool[H, W] of a room with rounded and slanted furniture, as robots of some radius see it."""
    rng = np.random.default_rng(seed)
    rows, cols = np.mgrid[:height, :width]
    free = np.ones((height, width), bool)
    free[:2], free[-2:], free[:, :2], free[:, -2:] = False, False, False, False
    free[height // 2 : height // 2 + 3, : width * 2 // 3] = False  # a wall with a gap
    for _ in range(pieces):
        r, c = rng.uniform((0, 0), (height, width))
        half, angle = rng.uniform(1, 7, 2), rng.uniform(0, np.pi)
        u = np.cos(angle) * (cols - c) + np.sin(angle) * (rows - r)
        v = -np.sin(angle) * (cols - c) + np.cos(angle) * (rows - r)
        free &= np.hypot(np.maximum(np.abs(u) - half[0], 0), np.maximum(np.abs(v) - half[1], 0)) > 4
    return free


def blocked_cells(free: np.ndarray) -> np.ndarray:
    """Grid points [B, 2] of the blocked cells, with a ring of them around the grid."""
    return np.argwhere(np.pad(~free, 1, constant_values=True)) - 1.0


def sees_all(blocked: np.ndarray, start: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Whether the segments from start [2] to ends [N, 2] touch none of the closed unit squares around blocked [B, 2]."""
    low, high = np.zeros((len(ends), len(blocked))), np.ones((len(ends), len(blocked)))
    for axis in range(2):
        step = (ends[:, axis] - start[axis])[:, None]
        gap = blocked[:, axis][None] - start[axis]
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = (gap - 0.5 - TOUCH) / step, (gap + 0.5 + TOUCH) / step
        inside = np.abs(gap) <= 0.5 + TOUCH
        still = step == 0
        low = np.maximum(low, np.where(still, np.where(inside, 0.0, np.inf), np.minimum(a, b)))
        high = np.minimum(high, np.where(still, np.where(inside, 1.0, -np.inf), np.maximum(a, b)))
    return ~(low <= high).any(axis=1)


def exact_distances(free: np.ndarray, source: tuple[float, float]) -> np.ndarray:
    """Length in cells [H, W] of the shortest path from every cell to a point: Dijkstra on the whole visibility graph."""
    turns = []
    for r in range(free.shape[0] - 1):
        for c in range(free.shape[1] - 1):
            if free[r : r + 2, c : c + 2].sum() == 3:
                i, j = np.argwhere(~free[r : r + 2, c : c + 2])[0]
                turns.append((r + 0.5 + 1e-4 * (1 - 2 * i), c + 0.5 + 1e-4 * (1 - 2 * j)))
    cells = np.argwhere(free).astype(float)
    points = np.concatenate([[source], np.array(turns).reshape(-1, 2), cells])
    # Whoever comes from a free cell meets a blocked one beside a free one first.
    edge = ndimage.binary_dilation(np.pad(free, 1), np.ones((3, 3))) & np.pad(~free, 1, constant_values=True)
    blocked = np.argwhere(edge) - 1.0
    rows, cols, lengths = [], [], []
    for a in range(1 + len(turns)):
        seen = np.flatnonzero(sees_all(blocked, points[a], points))
        rows.append(np.full(len(seen), a))
        cols.append(seen)
        lengths.append(np.maximum(np.linalg.norm(points[seen] - points[a], axis=1), 1e-12))
    weights = (np.concatenate(lengths), (np.concatenate(rows), np.concatenate(cols)))
    found = dijkstra(csr_matrix(weights, shape=(len(points), len(points))), directed=False, indices=0)
    out = np.full(free.shape, np.inf)
    out[free] = found[1 + len(turns) :]
    return out


def octile_distances(free: np.ndarray, cell: tuple[int, int]) -> np.ndarray:
    """Length in cells [H, W] of the shortest path of steps to the eight neighbours, cutting no corner: an upper bound."""
    height, width = free.shape
    index = np.arange(height * width).reshape(height, width)
    rows, cols, lengths = [], [], []
    for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
        a = (slice(0, height - down), slice(max(0, -across), width - max(0, across)))
        b = (slice(down, height), slice(max(0, across), width + min(0, across)))
        sides = free[a[0], b[1]] & free[b[0], a[1]]
        allowed = free[a] & free[b] & sides
        rows.append(index[a][allowed])
        cols.append(index[b][allowed])
        lengths.append(np.full(allowed.sum(), np.hypot(down, across)))
    weights = (np.concatenate(lengths), (np.concatenate(rows), np.concatenate(cols)))
    graph = csr_matrix(weights, shape=(index.size, index.size))
    return dijkstra(graph, directed=False, indices=index[cell]).reshape(height, width)
