"""Boxes and prisms: from eight solids in picture space to outlines and planes, then into the z-buffer.

Picture space is the linear image of the camera's space in which a point (x, y, z) is seen at column x / z and row y / z, z
metres in front of the camera. A box there is a centre c and three half axes u0, u1, u2; writing the camera (the origin) in
the box's own coordinates as -q, face +i is seen when q_i < -1 and face -i when q_i > 1. No vertex is ever clipped: outline
edges are planes through the camera, which stay right when a part of the solid is behind it.
"""

import numpy as np

from housemates.renderer.raster import PLANES_MOST, STEEP, fill_many, fill_one, fill_three
from housemates.renderer.simd import (
    EIGHT,
    ONE,
    SIX,
    ZERO,
    abs8,
    bits,
    ceil8,
    floor8,
    fma,
    inner,
    kernel,
    load,
    lowest,
    select,
    splat,
    spliced,
    store,
    store_int,
    to_int,
    vmax,
    vmin,
)

EDGES, PLANES, DUAL, Q = 0, 24, 33, 42
"""First row of each group in the set-up table [45, 8]: 6 outline edges x 4, 3 planes x 3, dual axes 3 x 3, q."""
SETUP_ROWS = 45


@inner
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inner
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner
def _load3(table, row):
    return load(table, 8 * row), load(table, 8 * row + 8), load(table, 8 * row + 16)


@inner
def _store_edges(k, around, first, second, f_first, f_second, q_first, q_second, width, setup):
    """The outline's two edges along axis k, or none if neither neighbouring axis shows a face.

    around: c x u_k; first, second: u_i x u_k and u_j x u_k of the two other axes; f: which face of an axis is seen.
    An edge belongs to the outline when exactly one of its two faces is seen.
    """
    one, zero = splat(1.0), splat(0.0)
    has_first, has_second = zero < abs8(f_first), zero < abs8(f_second)
    for side in range(2):
        if side == 0:
            s = select(has_first, f_first, one)
            t = select(has_second, select(has_first, -f_second, f_second), one)
        else:
            s = select(has_first, select(has_second, -f_first, f_first), -one)
            t = select(has_second, f_second, -one)
        # The solid's centre is inside its outline; its distance from the edge's plane is this, up to a positive factor.
        inside = fma(s, q_first, t * q_second)
        turn = select(inside < zero, -one, one)
        a = turn * fma(s, first[0], fma(t, second[0], around[0]))
        b = turn * fma(s, first[1], fma(t, second[1], around[1]))
        c = turn * fma(s, first[2], fma(t, second[2], around[2]))
        steep = splat(STEEP)
        a = select(abs8(a) < steep, steep, a)
        scale = -one / a
        slope, offset = b * scale, c * scale
        is_edge = has_first | has_second
        from_left, from_right = is_edge & (zero < a), is_edge & (a < zero)
        at = 8 * (EDGES + 8 * k + 4 * side)
        store(setup, at, select(from_left, slope, zero))
        store(setup, at + 8, select(from_left, offset, zero))
        store(setup, at + 16, select(from_right, slope, zero))
        store(setup, at + 24, select(from_right, offset, splat(width)))


@inner
def _store_planes(i, dual, q, setup):
    """1/z of the seen face of axis i as a function of column and row; which face it is (-1, 0, 1)."""
    one, zero, edge = splat(1.0), splat(0.0), splat(1.00001)
    seen = select(edge < q, -one, select(q < -edge, one, zero))
    scale = one / (q + select(zero < abs8(seen), seen, one))
    at = 8 * (PLANES + 3 * i)
    store(setup, at, dual[0] * scale)
    store(setup, at + 8, dual[1] * scale)
    store(setup, at + 16, dual[2] * scale)
    for j in range(3):
        store(setup, 8 * (DUAL + 3 * i + j), dual[j])
    store(setup, 8 * (Q + i), q)
    return seen


@inner
def _rows(c, u0, u1, u2, width, near, rows):
    """First and last row of eight boxes into rows[0:8], rows[8:16]; bits of those in the picture, of those cut by `near`."""
    big = splat(1e9)
    low_x, high_x, low_y, high_y, low_z, high_z = big, -big, big, -big, big, -big
    for corner in range(4):
        s = splat(1.0) if corner & 1 else splat(-1.0)
        t = splat(1.0) if corner & 2 else splat(-1.0)
        x0, y0, z0 = fma(t, u1[0], fma(s, u0[0], c[0])), fma(t, u1[1], fma(s, u0[1], c[1])), fma(t, u1[2], fma(s, u0[2], c[2]))
        for end in range(2):
            r = splat(1.0) if end else splat(-1.0)
            x, y, z = fma(r, u2[0], x0), fma(r, u2[1], y0), fma(r, u2[2], z0)
            low_z, high_z = vmin(low_z, z), vmax(high_z, z)
            scale = splat(1.0) / z
            x, y = x * scale, y * scale
            low_x, high_x, low_y, high_y = vmin(low_x, x), vmax(high_x, x), vmin(low_y, y), vmax(high_y, y)
    cut = low_z <= splat(near)
    end, slack, zero = splat(width - 1), splat(1e-2), splat(0.0)
    low_y = select(cut, zero, ceil8(vmin(vmax(low_y - slack, zero), splat(width))))
    high_y = select(cut, end, floor8(vmax(vmin(high_y + slack, end), splat(-1.0))))
    low_x = select(cut, zero, ceil8(vmax(low_x - slack, zero)))
    high_x = select(cut, end, floor8(vmin(high_x + slack, end)))
    store_int(rows, 0, to_int(low_y))
    store_int(rows, 8, to_int(high_y))
    on = (low_y <= high_y) & (low_x <= high_x) & (splat(near) < high_z)
    return bits(on), bits(cut)


@kernel
def set_up_boxes(slots, width, near, setup, rows):
    """Outlines and planes of the eight boxes in slots [12, 8] (c, u0, u1, u2 in picture space).

    Returns bits: which are on the picture, which are cut by the near plane, and which show a face on axis 0, 1, 2.
    """
    c, u0, u1, u2 = _load3(slots, 0), _load3(slots, 3), _load3(slots, 6), _load3(slots, 9)
    on, cut = _rows(c, u0, u1, u2, width, near, rows)
    n0, n1, n2 = _cross(u1, u2), _cross(u2, u0), _cross(u0, u1)
    scale = splat(1.0) / _dot(u0, n0)
    d0 = n0[0] * scale, n0[1] * scale, n0[2] * scale
    d1 = n1[0] * scale, n1[1] * scale, n1[2] * scale
    d2 = n2[0] * scale, n2[1] * scale, n2[2] * scale
    q0, q1, q2 = _dot(d0, c), _dot(d1, c), _dot(d2, c)
    f0, f1, f2 = _store_planes(0, d0, q0, setup), _store_planes(1, d1, q1, setup), _store_planes(2, d2, q2, setup)
    # Edges carry any positive factor: dividing the cross products by the determinant saves turning them by its sign.
    k0, k1, k2 = _cross(c, u0), _cross(c, u1), _cross(c, u2)
    k0 = k0[0] * scale, k0[1] * scale, k0[2] * scale
    k1 = k1[0] * scale, k1[1] * scale, k1[2] * scale
    k2 = k2[0] * scale, k2[1] * scale, k2[2] * scale
    _store_edges(0, k0, (-d2[0], -d2[1], -d2[2]), d1, f1, f2, -q2, q1, width, setup)
    _store_edges(1, k1, d2, (-d0[0], -d0[1], -d0[2]), f0, f2, q2, -q0, width, setup)
    _store_edges(2, k2, (-d1[0], -d1[1], -d1[2]), d0, f0, f1, -q1, q0, width, setup)
    zero = splat(0.0)
    return on, cut, bits(zero < abs8(f0)), bits(zero < abs8(f1)), bits(zero < abs8(f2))


@inner
def copy_planes(setup, lane, shows, planes):
    """The seen planes of a box as a list; how many."""
    count = ZERO
    for i in range(3):
        if shows >> i & 1:
            for j in range(3):
                planes[PLANES_MOST * j + count] = setup[8 * (PLANES + 3 * i + j) + lane]
            count += 1
    return count


@inner
def _plane(setup, lane, i):
    at = 8 * (PLANES + 3 * i) + lane
    return setup[at], setup[at + 8], setup[at + 16]


@inner
def _comes_near(setup, lane, shows, width, nearest):
    """Whether a box may be seen nearer than the near plane: a floor under the camera or a wall beside it is not.

    It is entered at the smallest 1/z of its planes, so one plane that stays below `nearest` in all corners is enough.
    """
    for i in range(3):
        if shows >> i & 1:
            a, b, c = _plane(setup, lane, i)
            end = np.float32(width - 1)
            if c + max(a * end, np.float32(0)) + max(b * end, np.float32(0)) < nearest:
                return False
    return True


@spliced
def _draw_box(z, width, y0, y1, setup, lane, shows, spans):
    """A box of which one, two or three faces are seen."""
    if shows == 1 or shows == 2 or shows == 4:
        a, b, c = _plane(setup, lane, shows >> 1)
        fill_one(z, width, y0, y1, setup, lane, 8, 6, a, b, c, spans)
        return
    p = _plane(setup, lane, 0 if shows & 1 else 1)
    q = _plane(setup, lane, 1 if shows & 2 else 2)
    r = _plane(setup, lane, 2 if shows & 4 else 0)
    fill_three(z, width, y0, y1, setup, lane, 8, 6, p, q, r, spans)


@kernel
def draw_slots(slots, count, sides, taper, width, near, z, setup, rows, work, edges, planes, spans):
    """Draw the first `count` of eight solids into the z-buffer. sides, taper: [8] shape of each."""
    on, cut, face0, face1, face2 = set_up_boxes(slots, width, near, setup, rows)
    nearest = np.float32(1.0) / np.float32(near)
    left = on & ((1 << count) - 1)
    while left:
        lane = lowest(left)
        left &= left - 1
        y0, y1 = np.int64(rows[lane]), np.int64(rows[8 + lane])
        if sides[lane] > 0:
            n_edges, n_planes = outline_prism(
                slots, setup[8 * DUAL :], setup[8 * Q :], lane, sides[lane], taper[lane], width, work, edges, planes
            )
            if n_planes > 0:
                fill_many(z, width, y0, y1, edges, ZERO, ONE, n_edges, planes, n_planes, nearest, spans)
            continue
        shows = (face0 >> lane & 1) | (face1 >> lane & 1) << 1 | (face2 >> lane & 1) << 2
        if shows == 0:
            continue
        if cut >> lane & 1 and _comes_near(setup, lane, shows, width, nearest):
            n_planes = copy_planes(setup, lane, shows, planes)
            fill_many(z, width, y0, y1, setup, lane, EIGHT, SIX, planes, n_planes, nearest, spans)
        else:
            _draw_box(z, width, y0, y1, setup, lane, shows, spans)


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
