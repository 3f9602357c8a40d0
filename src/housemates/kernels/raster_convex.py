"""Boxes and prisms: from eight solids in picture space to outlines and planes, then into the z-buffer.

Picture space is the linear image of the camera's space in which a point (x, y, z) is seen at column x / z and row y / z, z
metres in front of the camera. A box there is a centre c and three half axes u0, u1, u2; writing the camera (the origin) in
the box's own coordinates as -q, face +i is seen when q_i < -1 and face -i when q_i > 1. No vertex is ever clipped: outline
edges are planes through the camera, which stay right when a part of the solid is behind it.
"""

import numpy as np

from housemates.kernels.raster import PLANES_MOST, STEEP, fill_many, fill_one, fill_three
from housemates.kernels.raster_prism import outline_prism
from housemates.kernels.vector import (
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
