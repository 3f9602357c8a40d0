"""Straight lines on a grid of free cells: what a segment touches, and whether two points see each other.

Cell [row, col] is the closed unit square around the grid point (row, col); grids must be contiguous arrays.
"""

from numba import njit

SLACK = 1e-9
"""Rounding allowed for in line-of-sight tests, cells."""


@njit(cache=True, nogil=True, _nrt=False)
def obstacle(free, row0, col0, row1, col1):
    """The first blocked cell (row * W + col) that a segment touches, looking from its left or upper end; -1 if none.

    -2 if the segment leaves the grid.
    """
    height, width = free.shape
    flat = free.reshape(height * width)
    # u runs along the longer side of the segment, v along the shorter one.
    u0, v0, u1, v1, u_step, v_step, u_size, v_size = col0, row0, col1, row1, 1, width, width, height
    if abs(row1 - row0) > abs(col1 - col0):
        u0, v0, u1, v1, u_step, v_step, u_size, v_size = row0, col0, row1, col1, width, 1, height, width
    if u1 < u0:
        u0, v0, u1, v1 = u1, v1, u0, v0
    if not (u0 > SLACK - 0.5 and u1 < u_size - 0.5 - SLACK):
        return -2
    if not (min(v0, v1) > SLACK - 0.5 and max(v0, v1) < v_size - 0.5 - SLACK):
        return -2
    slope = (v1 - v0) / (u1 - u0) if u1 > u0 else 0.0
    # Coordinates are at least -0.5 here, so int() rounds them down after + 0.5. Where the segment enters and leaves
    # column u, it touches the cells on both sides of an edge that is within rounding.
    below, above = (0.5 - SLACK, 0.5 + SLACK) if slope >= 0.0 else (0.5 + SLACK, 0.5 - SLACK)
    start = v0
    for u in range(int(u0 + 0.5 - SLACK), int(u1 + 0.5 + SLACK) + 1):
        end = v0 + slope * (min(u + 0.5, u1) - u0)
        first, last = int(start + below), int(end + above)
        base = u * u_step
        # At most three cells: the slope is at most one.
        if not (flat[base + first * v_step] and flat[base + last * v_step] and flat[base + (first + last) // 2 * v_step]):
            if not flat[base + first * v_step]:
                return base + first * v_step
            return base + (last if not flat[base + last * v_step] else (first + last) // 2) * v_step
        start = end
    return -1


@njit(cache=True, nogil=True, _nrt=False)
def sees(free, row0, col0, row1, col1):
    """Whether the straight segment between two continuous grid points touches only free cells of free bool[H, W].

    A segment through a shared corner or along a shared edge touches the cells on all sides; off the grid nothing is free.
    """
    return obstacle(free, row0, col0, row1, col1) == -1
