"""Rectangles and discs on the floor: which of them touch.

A rectangle is (x, z, half width, half depth, yaw): its width runs along (cos yaw, -sin yaw), its depth along
(sin yaw, cos yaw), as the footprint of a piece of furniture that was turned about +y.
"""

from math import inf, sqrt

import numpy as np
from numba import njit

from housemates.geometry.exact import cos, sin


@njit(cache=True, nogil=True)
def rectangles_near(one, others, margin):
    """Whether f64[5] `one` comes within about `margin` metres of any of f64[N, 5] `others`.

    Separating axes of both: exact for a margin of zero; a positive margin is measured along those axes.
    """
    ca, sa = cos(one[4]), sin(one[4])
    for k in range(others.shape[0]):
        b = others[k]
        dx, dz = one[0] - b[0], one[1] - b[1]
        cb, sb = cos(b[4]), sin(b[4])
        cosine, sine = abs(ca * cb + sa * sb), abs(sa * cb - ca * sb)
        if (
            abs(dx * ca - dz * sa) <= one[2] + b[2] * cosine + b[3] * sine + margin
            and abs(dx * sa + dz * ca) <= one[3] + b[2] * sine + b[3] * cosine + margin
            and abs(dx * cb - dz * sb) <= b[2] + one[2] * cosine + one[3] * sine + margin
            and abs(dx * sb + dz * cb) <= b[3] + one[2] * sine + one[3] * cosine + margin
        ):
            return True
    return False


TOUCH = 1e-9
"""Gaps up to this many metres count as contact."""


@njit(cache=True, nogil=True)
def point_polygon_distance(polygon, corners, x, z):
    """Metres from (x, z) to a convex polygon: the first `corners` rows of polygon f64[M, 2], either winding; 0 inside.

    One corner is a point, two are a segment.
    """
    nearest = inf
    left, right = False, False
    for k in range(corners):
        ax, az = polygon[k, 0], polygon[k, 1]
        n = k + 1 if k + 1 < corners else 0
        ex, ez = polygon[n, 0] - ax, polygon[n, 1] - az
        px, pz = x - ax, z - az
        cross = ex * pz - ez * px
        if cross > 0.0:
            left = True
        elif cross < 0.0:
            right = True
        length = ex * ex + ez * ez
        t = min(1.0, max(0.0, (px * ex + pz * ez) / length)) if length > 0.0 else 0.0
        dx, dz = px - t * ex, pz - t * ez
        nearest = min(nearest, dx * dx + dz * dz)
    # Strictly on one side of some edge and never on the other: inside. A polygon without area has both signs or none.
    if left != right:
        return 0.0
    return sqrt(nearest)


@njit(cache=True, nogil=True)
def block_polygons(polygons, corners, radius, origin_x, origin_z, cell, free):
    """Mark every cell whose lattice point is within `radius` metres of a convex polygon (inside counts) as not free.

    polygons f64[P, M, 2] (x, z), polygon p has corners i64[p] corners; free bool[H, W], cell [row, col] stands for the
    point (origin_x + col * cell, origin_z + row * cell).
    """
    height, width = free.shape
    reach = radius + TOUCH
    for p in range(polygons.shape[0]):
        if corners[p] == 0:
            continue
        low_x, high_x, low_z, high_z = inf, -inf, inf, -inf
        for k in range(corners[p]):
            low_x, high_x = min(low_x, polygons[p, k, 0]), max(high_x, polygons[p, k, 0])
            low_z, high_z = min(low_z, polygons[p, k, 1]), max(high_z, polygons[p, k, 1])
        first_row = max(0, int(np.floor((low_z - reach - origin_z) / cell)))
        last_row = min(height - 1, int(np.ceil((high_z + reach - origin_z) / cell)))
        first_col = max(0, int(np.floor((low_x - reach - origin_x) / cell)))
        last_col = min(width - 1, int(np.ceil((high_x + reach - origin_x) / cell)))
        for row in range(first_row, last_row + 1):
            z = origin_z + row * cell
            for col in range(first_col, last_col + 1):
                if free[row, col] and point_polygon_distance(polygons[p], corners[p], origin_x + col * cell, z) <= reach:
                    free[row, col] = False


@njit(cache=True, nogil=True)
def point_box_distance(point, center, rotation, half):
    """Metres from point f64[3] to an oriented box, 0 inside; column i of rotation [3, 3] is the box's axis i, half [3]."""
    total = 0.0
    for i in range(3):
        along = 0.0
        for k in range(3):
            along += rotation[k, i] * (point[k] - center[k])
        gap = max(0.0, abs(along) - half[i])
        total += gap * gap
    return sqrt(total)


@njit(cache=True, nogil=True)
def sphere_touches_box(point, radius, center, rotation, half):
    """Whether a sphere (a gripper's suction cup) touches an oriented box; radius 0 tests the point itself."""
    return point_box_distance(point, center, rotation, half) <= radius + TOUCH
