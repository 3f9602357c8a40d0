"""Prisms: which of up to sixteen sides are seen, and the outline they make, eight sides at a time.

In its own coordinates a prism is upright with corner k of its lower ring at (cos, -1, sin) of an angle, the upper ring at
height 1 scaled by `taper`. Faces are judged there (the camera is at -q, see `raster_convex`); corners go to picture space.
"""

import numpy as np

from housemates.kernels.raster import PLANES_MOST, STEEP
from housemates.kernels.vector import ZERO, abs8, bits, fma, inner, kernel, load, lowest, select, splat, store

SIDES = 16
"""The most sides a prism can have."""
ROW = 24
"""Numbers per row of the tables here: sixteen sides, the first corner again, and room for a whole vector behind it."""
LOW, HIGH, FACE, EDGE = 0, 3 * ROW, 6 * ROW, 9 * ROW
"""Groups of rows in the work table: lower and upper corners in picture space (x, y, z), planes (a, b, c), edges (4)."""
PRISM_WORK = 13 * ROW


def _circle(shift: float) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin, flat [(SIDES + 1) * ROW] float32: entry [n, k] belongs to the angle 2 pi (k + shift) / n."""
    n = np.maximum(np.arange(SIDES + 1), 1)[:, None]
    angle = 2 * np.pi * (np.arange(ROW)[None, :] + shift) / n
    return np.cos(angle).astype(np.float32).ravel(), np.sin(angle).astype(np.float32).ravel()


(CORNER_X, CORNER_Z), (MIDDLE_X, MIDDLE_Z) = _circle(0.5), _circle(1.0)


@inner
def _lane(table, row, lane):
    return table[8 * row + lane], table[8 * row + 8 + lane], table[8 * row + 16 + lane]


@inner
def _sides(slots, dual, q, lane, sides, taper, work):
    """Corners and side planes of one prism into the work table; bits of the sides that are seen."""
    flat = np.float32(np.cos(np.pi / sides))
    lean, reach = np.float32(0.5) * flat * (1 - taper), np.float32(0.5) * flat * (1 + taper)
    seen = 0
    for at in range(0, sides + 1, 8):
        x, z = load(CORNER_X, ROW * sides + at), load(CORNER_Z, ROW * sides + at)
        nx, nz = load(MIDDLE_X, ROW * sides + at), load(MIDDLE_Z, ROW * sides + at)
        height = fma(nx, splat(q[0]), fma(nz, splat(q[2]), splat(reach + lean * q[1])))
        seen |= bits(height < splat(-1e-5)) << at
        scale = splat(1.0) / height
        for j in range(3):
            middle, up = slots[8 * j + lane], slots[48 + 8 * j + lane]
            out = fma(x, splat(slots[24 + 8 * j + lane]), z * splat(slots[72 + 8 * j + lane]))
            store(work, LOW + ROW * j + at, out + splat(middle - up))
            store(work, HIGH + ROW * j + at, fma(out, splat(taper), splat(middle + up)))
            normal = fma(nx, splat(dual[j]), fma(nz, splat(dual[6 + j]), splat(lean * dual[3 + j])))
            store(work, FACE + ROW * j + at, normal * scale)
    return seen & ((1 << sides) - 1)


@inner
def _edges(start_a, start_b, at, centre, width, work):
    """Outline edges between eight pairs of corners, in the form of `raster.add_edge`, to the EDGE rows at column `at`."""
    ax, ay, az = load(work, start_a), load(work, start_a + ROW), load(work, start_a + 2 * ROW)
    dx, dy, dz = load(work, start_b) - ax, load(work, start_b + ROW) - ay, load(work, start_b + 2 * ROW) - az
    mx, my, mz = ay * dz - az * dy, az * dx - ax * dz, ax * dy - ay * dx
    zero, one, steep = splat(0.0), splat(1.0), splat(STEEP)
    inside = fma(mx, splat(centre[0]), fma(my, splat(centre[1]), mz * splat(centre[2])))
    turn = select(inside < zero, -one, one)
    mx = mx * turn
    mx = select(abs8(mx) < steep, steep, mx)
    scale = -turn / mx
    slope, offset, from_left = my * scale, mz * scale, zero < mx
    store(work, EDGE + at, select(from_left, slope, zero))
    store(work, EDGE + ROW + at, select(from_left, offset, zero))
    store(work, EDGE + 2 * ROW + at, select(from_left, zero, slope))
    store(work, EDGE + 3 * ROW + at, select(from_left, splat(width), offset))


@inner
def _add_edges(start_a, start_b, chosen, sides, centre, width, work, edges, count):
    """Append the chosen edges from corners a to corners b; the new count."""
    if chosen == 0:
        return count
    for at in range(0, sides, 8):
        _edges(start_a + at, start_b + at, at, centre, width, work)
    while chosen:
        k = lowest(chosen)
        chosen &= chosen - 1
        for j in range(4):
            edges[4 * count + j] = work[EDGE + ROW * j + k]
        count += 1
    return count


@inner
def _add_lid(dual, height, sign, planes, count):
    """Append the top (sign 1) or bottom (-1) plane, its height over the camera being given; the new count."""
    for j in range(3):
        planes[PLANES_MOST * j + count] = sign * dual[3 + j] / height
    return count + 1


@kernel
def outline_prism(slots, dual_table, q_table, lane, sides, taper, width, work, edges, planes):
    """Outline edges and seen planes of the prism in one lane; the number of each.

    slots: [12, 8] c, u0, u1, u2; dual_table: [9, 8] and q_table: [3, 8] as set up for the box around it, both flat.
    """
    d0, d1, d2 = _lane(dual_table, 0, lane), _lane(dual_table, 3, lane), _lane(dual_table, 6, lane)
    dual = d0[0], d0[1], d0[2], d1[0], d1[1], d1[2], d2[0], d2[1], d2[2]
    q, centre = _lane(q_table, 0, lane), _lane(slots, 0, lane)
    seen = _sides(slots, dual, q, lane, sides, taper, work)
    every, n_planes, n_edges = (1 << sides) - 1, ZERO, ZERO
    over, under = 1 + q[1], 1 - q[1]
    edge = np.float32(-1e-5)
    if over < edge:
        n_planes = _add_lid(dual, over, np.float32(1), planes, n_planes)
    if under < edge:
        n_planes = _add_lid(dual, under, np.float32(-1), planes, n_planes)
    left = seen
    while left:
        k = lowest(left)
        left &= left - 1
        for j in range(3):
            planes[PLANES_MOST * j + n_planes] = work[FACE + ROW * j + k]
        n_planes += 1
    # An edge belongs to the outline when exactly one of the two faces that meet there is seen.
    before = (seen << 1 | seen >> (sides - 1)) & every
    n_edges = _add_edges(LOW, HIGH, seen ^ before, sides, centre, width, work, edges, n_edges)
    n_edges = _add_edges(LOW, LOW + 1, every & ~seen if under < edge else seen, sides, centre, width, work, edges, n_edges)
    n_edges = _add_edges(HIGH, HIGH + 1, every & ~seen if over < edge else seen, sides, centre, width, work, edges, n_edges)
    return n_edges, n_planes
