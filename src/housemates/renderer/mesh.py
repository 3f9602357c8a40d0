"""Triangles, eight at a time: those that face the camera and cover a pixel centre go into the z-buffer.

A group holds eight triangles as 13 rows of 8: the corners a, b, c (9), the unit normal (3) and its distance from the origin,
so nothing is gathered. Groups are made of triangles that lie near each other and face the same way (`sim.scene`), so
that whole groups are turned down at once.
"""

import numpy as np

from housemates.renderer.raster import PLANES_MOST, SLACK, add_edge, fill_many, fill_one
from housemates.renderer.simd import (
    ONE,
    THREE,
    ZERO,
    bits,
    ceil8,
    count_up,
    floor8,
    fma,
    inner,
    kernel,
    load,
    lowest,
    select,
    splat,
    store,
    store_int,
    to_int,
    vmax,
    vmin,
)

GROUP = 13 * 8
"""Numbers in a group."""
MESH_ROWS = 22
"""Rows of the set-up table: 3 edges x 3, plane 3, largest 1/z, corners in picture space 9."""
PLANE, TOP, CORNERS = 9, 12, 13
FAR_OUT = 4096.0
"""Corners seen further out than this (pixels) lose too many digits; such triangles are drawn by planes through the camera."""


@inner
def _turn(m, row, x, y, z):
    """One coordinate of a point in picture space; m is a flat [3, 4] matrix."""
    at = 4 * row
    return fma(splat(m[at]), x, fma(splat(m[at + 1]), y, fma(splat(m[at + 2]), z, splat(m[at + 3]))))


@inner
def _store_edge(at, xa, ya, xb, yb, setup):
    """Edge function a col + b row + c, not negative inside, of the edge from corner a to corner b.

    Neighbours compute exactly opposite numbers for a shared edge, so every pixel on it belongs to one of them at least.
    """
    store(setup, at, ya - yb)
    store(setup, at + 8, xb - xa)
    store(setup, at + 16, xa * yb - xb * ya)


@kernel
def set_up_triangles(triangles, at, m, turn, eye, width, near, setup, box):
    """Set up the group at `triangles[at]`: bits of what to draw by edge functions, bits of what to draw through the camera.

    m: [12] from the group's frame to picture space; turn: [9] the same for normals (inverse transpose); eye: [3] the camera
    in the group's frame; box: [32] first column, last column, first row, last row of each.
    """
    nx, ny, nz = load(triangles, at + 72), load(triangles, at + 80), load(triangles, at + 88)
    # Height of the eye over the triangle's plane: only triangles seen from their outer side are drawn.
    height = fma(nx, splat(eye[0]), fma(ny, splat(eye[1]), fma(nz, splat(eye[2]), -load(triangles, at + 96))))
    facing = splat(1e-7) < height
    if bits(facing) == 0:
        return 0, 0
    one, zero, end = splat(1.0), splat(0.0), splat(width - 1)
    big, slack = splat(1e9), splat(SLACK)
    x, y, z = load(triangles, at), load(triangles, at + 8), load(triangles, at + 16)
    xa, ya, za = _turn(m, 0, x, y, z), _turn(m, 1, x, y, z), _turn(m, 2, x, y, z)
    x, y, z = load(triangles, at + 24), load(triangles, at + 32), load(triangles, at + 40)
    xb, yb, zb = _turn(m, 0, x, y, z), _turn(m, 1, x, y, z), _turn(m, 2, x, y, z)
    x, y, z = load(triangles, at + 48), load(triangles, at + 56), load(triangles, at + 64)
    xc, yc, zc = _turn(m, 0, x, y, z), _turn(m, 1, x, y, z), _turn(m, 2, x, y, z)
    inverse_a, inverse_b, inverse_c = one / za, one / zb, one / zc
    ua, va, ub, vb, uc, vc = xa * inverse_a, ya * inverse_a, xb * inverse_b, yb * inverse_b, xc * inverse_c, yc * inverse_c
    low_z = vmin(vmin(za, zb), zc)
    low_u, high_u = vmin(vmin(ua, ub), uc), vmax(vmax(ua, ub), uc)
    low_v, high_v = vmin(vmin(va, vb), vc), vmax(vmax(va, vb), vc)
    limit = splat(FAR_OUT)
    plain = (splat(near) < low_z) & (-limit < low_u) & (high_u < limit) & (-limit < low_v) & (high_v < limit)
    left, right = vmax(ceil8(vmax(low_u, -big) - slack), zero), vmin(floor8(vmin(high_u, big) + slack), end)
    first, last = vmax(ceil8(vmax(low_v, -big) - slack), zero), vmin(floor8(vmin(high_v, big) + slack), end)
    shown = facing & plain & (left <= right) & (first <= last)
    awkward = bits(facing & (splat(near) < vmax(vmax(za, zb), zc))) & ~bits(plain)
    drawn = bits(shown)
    if drawn | awkward == 0:
        return 0, 0
    # Seen in the picture the front side runs clockwise (rows grow downwards), hence the exchanged corners.
    _store_edge(0, ub, vb, ua, va, setup)
    _store_edge(24, uc, vc, ub, vb, setup)
    _store_edge(48, ua, va, uc, vc, setup)
    scale = -one / height
    for j in range(3):
        normal = fma(splat(turn[3 * j]), nx, fma(splat(turn[3 * j + 1]), ny, splat(turn[3 * j + 2]) * nz))
        store(setup, 8 * (PLANE + j), normal * scale)
    store(setup, 8 * TOP, vmax(vmax(inverse_a, inverse_b), inverse_c))
    store_int(box, 0, to_int(left))
    store_int(box, 8, to_int(right))
    store_int(box, 16, to_int(first))
    store_int(box, 24, to_int(last))
    if awkward:
        _store_corners(setup, xa, ya, za, xb, yb, zb, xc, yc, zc)
    return drawn, awkward


@inner
def _store_corners(setup, xa, ya, za, xb, yb, zb, xc, yc, zc):
    at = 8 * CORNERS
    store(setup, at, xa)
    store(setup, at + 8, ya)
    store(setup, at + 16, za)
    store(setup, at + 24, xb)
    store(setup, at + 32, yb)
    store(setup, at + 40, zb)
    store(setup, at + 48, xc)
    store(setup, at + 56, yc)
    store(setup, at + 64, zc)


@inner
def _fill_narrow(z, width, x, y0, y1, setup, lane):
    """A triangle at most eight pixels wide: one block of pixels per row, kept where no edge function is negative."""
    xs, row, one, zero = splat(x) + count_up(), splat(y0), splat(1.0), splat(0.0)
    a0, b0, c0 = splat(setup[lane]), splat(setup[8 + lane]), splat(setup[16 + lane])
    a1, b1, c1 = splat(setup[24 + lane]), splat(setup[32 + lane]), splat(setup[40 + lane])
    a2, b2, c2 = splat(setup[48 + lane]), splat(setup[56 + lane]), splat(setup[64 + lane])
    a, b, c = splat(setup[72 + lane]), splat(setup[80 + lane]), splat(setup[88 + lane])
    top = splat(setup[96 + lane])
    at = y0 * width + x
    for _ in range(y0, y1 + 1):
        inside = vmin(fma(a0, xs, fma(b0, row, c0)), fma(a1, xs, fma(b1, row, c1)))
        inside = vmin(inside, fma(a2, xs, fma(b2, row, c2)))
        # No point of a triangle is nearer than its nearest corner; this stops slivers seen edge-on from sparkling.
        value = vmin(fma(a, xs, fma(b, row, c)), top)
        store(z, at, vmax(load(z, at), select(zero <= inside, value, zero)))
        row = row + one
        at += width


@kernel
def list_edges(setup, lane, awkward, width, edges):
    """The three edges of one triangle as an outline for `render.raster`."""
    count = ZERO
    for k in range(3):
        if awkward:
            a, b = 8 * (CORNERS + 3 * k) + lane, 8 * (CORNERS + 3 * ((k + 1) % 3)) + lane
            c = 8 * (CORNERS + 3 * ((k + 2) % 3)) + lane
            dx, dy, dz = setup[b] - setup[a], setup[b + 8] - setup[a + 8], setup[b + 16] - setup[a + 16]
            mx = setup[a + 8] * dz - setup[a + 16] * dy
            my = setup[a + 16] * dx - setup[a] * dz
            mz = setup[a] * dy - setup[a + 8] * dx
            inside = mx * setup[c] + my * setup[c + 8] + mz * setup[c + 16]
        else:
            at = 24 * k + lane
            mx, my, mz, inside = setup[at], setup[at + 8], setup[at + 16], np.float32(1)
        count = add_edge(mx, my, mz, inside, width, edges, count)
    return count


@kernel
def draw_triangles(triangles, at, m, turn, eye, width, near, z, setup, box, edges, planes, spans):
    """Draw the group of eight triangles at `triangles[at]` into the z-buffer."""
    drawn, awkward = set_up_triangles(triangles, at, m, turn, eye, width, near, setup, box)
    while drawn:
        lane = lowest(drawn)
        drawn &= drawn - 1
        x, y0, y1 = box[lane], box[16 + lane], box[24 + lane]
        if box[8 + lane] - x < 8:
            # At the right border the block starts further left, so that it does not run into the next row.
            _fill_narrow(z, width, min(x, width - 8), y0, y1, setup, lane)
        else:
            list_edges(setup, lane, lane < 0, width, edges)
            a, b, c = setup[72 + lane], setup[80 + lane], setup[88 + lane]
            fill_one(z, width, y0, y1, edges, 0, 1, 3, a, b, c, spans)
    while awkward:
        lane = lowest(awkward)
        awkward &= awkward - 1
        list_edges(setup, lane, lane >= 0, width, edges)
        for j in range(3):
            planes[PLANES_MOST * j] = setup[8 * (PLANE + j) + lane]
        fill_many(z, width, ZERO, width - 1, edges, ZERO, ONE, THREE, planes, ONE, np.float32(1.0) / np.float32(near), spans)
