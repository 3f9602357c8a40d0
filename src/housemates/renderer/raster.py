"""Filling convex outlines in the z-buffer, a span of pixels per row, eight pixels at a time.

The buffer keeps 1/z (0 is nothing), because 1/z of a plane is linear in column and row and "nearest" is then one `max`.
An outline is a list of edges: each bounds the columns of a row from the left and from the right by `slope * row + offset`
(one of the two is out of the way). Behind an outline stand one or more planes; a convex solid is entered where the last of
its front planes is crossed, so the solid's 1/z is the smallest of its front planes'.
"""

import numpy as np

from housemates.renderer.simd import (
    ceil8,
    count_up,
    floor8,
    fma,
    inner,
    kernel,
    load,
    load_int,
    select,
    splat,
    splat_int,
    store,
    store_int,
    to_int,
    vmax,
    vmin,
)

SLACK = 1e-3
"""Outlines are this much wider (pixels), so that two parts that touch leave no crack between them."""
PLANES_MOST = 24
"""Room in a list of planes [4, 24]: a, b, c of 1/z = a col + b row + c, and space for their values at the start of a row."""
STEEP = 1e-25
"""The smallest column coefficient an edge may have: a horizontal edge becomes a very steep one, never a division by zero."""


@inner
def add_edge(mx, my, mz, inside, width, edges, count):
    """Append the half plane mx col + my row + mz >= 0 (turned round if `inside` is negative) to `edges`; the new count."""
    if inside < 0:
        mx, my, mz = -mx, -my, -mz
    at = 4 * count
    steep = np.float32(STEEP)
    if abs(mx) < steep:
        mx = steep
    scale = np.float32(-1.0) / mx
    slope, offset = my * scale, mz * scale
    if mx > 0:
        edges[at], edges[at + 1], edges[at + 2], edges[at + 3] = slope, offset, 0, width
    else:
        edges[at], edges[at + 1], edges[at + 2], edges[at + 3] = 0, 0, slope, offset
    return count + 1


@inner
def span_ends(edges, lane, stride, count, top, width, spans):
    """First and last column inside the outline for the rows top .. top + 7, into spans[0:8] and spans[8:16].

    edges: flat float32; entry e of edge list `lane` is (left slope, left offset, right slope, right offset) at
    (4 e + 0..3) * stride + lane.
    """
    rows = splat(top) + count_up()
    low, high = splat(0.0), splat(width - 1)
    for e in range(count):
        at = 4 * e * stride + lane
        low = vmax(low, fma(splat(edges[at]), rows, splat(edges[at + stride])))
        high = vmin(high, fma(splat(edges[at + 2 * stride]), rows, splat(edges[at + 3 * stride])))
    low, high = vmin(low, splat(width)), vmax(high, splat(-1.0))
    store_int(spans, 0, to_int(ceil8(low - splat(SLACK))))
    store_int(spans, 8, to_int(floor8(high + splat(SLACK))))


@kernel
def fill_one(z, width, y0, y1, edges, lane, stride, count, a, b, c, spans):
    """Rows y0 .. y1 of an outline with one plane behind it, 1/z = a col + b row + c."""
    lanes, wide_a, step = count_up(), splat(a), splat(np.float32(8) * a)
    for top in range(y0, y1 + 1, 8):
        span_ends(edges, lane, stride, count, top, width, spans)
        for j in range(min(8, y1 + 1 - top)):
            x = spans[j]
            left = spans[8 + j] - x + 1
            if left <= 0:
                continue
            at = (top + j) * width + x
            start = splat(b * np.float32(top + j) + c)
            value = fma(wide_a, splat(x) + lanes, start)
            if left > 8:
                # Long spans go in whole vectors at multiples of eight: stores across cache lines cost twice as much.
                skip = at & 7
                value = fma(wide_a, splat(x - skip) + lanes, start)
                at -= skip
                store(z, at, vmax(load(z, at), select(splat(skip) <= lanes, value, splat(0.0))))
                value = value + step
                at += 8
                left -= 8 - skip
            while left > 8:
                store(z, at, vmax(load(z, at), value))
                value = value + step
                at += 8
                left -= 8
            store(z, at, vmax(load(z, at), select(lanes < splat(left), value, splat(0.0))))


@kernel
def fill_three(z, width, y0, y1, edges, lane, stride, count, p, q, r, spans):
    """Rows y0 .. y1 of an outline with three planes p, q, r = (a, b, c) behind it; a box seen from a corner."""
    lanes, eight = count_up(), splat(8.0)
    pa, qa, ra = splat(p[0]), splat(q[0]), splat(r[0])
    for top in range(y0, y1 + 1, 8):
        span_ends(edges, lane, stride, count, top, width, spans)
        for j in range(min(8, y1 + 1 - top)):
            x = spans[j]
            left = spans[8 + j] - x + 1
            if left <= 0:
                continue
            row = np.float32(top + j)
            at = (top + j) * width + x
            xs = splat(x) + lanes
            p0, q0, r0 = splat(p[1] * row + p[2]), splat(q[1] * row + q[2]), splat(r[1] * row + r[2])
            if left > 8:
                skip = at & 7
                xs = splat(x - skip) + lanes
                at -= skip
                value = vmin(vmin(fma(pa, xs, p0), fma(qa, xs, q0)), fma(ra, xs, r0))
                store(z, at, vmax(load(z, at), select(splat(skip) <= lanes, value, splat(0.0))))
                xs = xs + eight
                at += 8
                left -= 8 - skip
            while left > 8:
                value = vmin(vmin(fma(pa, xs, p0), fma(qa, xs, q0)), fma(ra, xs, r0))
                store(z, at, vmax(load(z, at), value))
                xs = xs + eight
                at += 8
                left -= 8
            value = vmin(vmin(fma(pa, xs, p0), fma(qa, xs, q0)), fma(ra, xs, r0))
            store(z, at, vmax(load(z, at), select(lanes < splat(left), value, splat(0.0))))


@inner
def _start_row(planes, n_planes, row):
    """b row + c of all planes, into the fourth row of the list."""
    for k in range(0, n_planes, 8):
        start = fma(load(planes, PLANES_MOST + k), splat(row), load(planes, 2 * PLANES_MOST + k))
        store(planes, 3 * PLANES_MOST + k, start)


@kernel
def fill_many(z, width, y0, y1, edges, lane, stride, count, planes, n_planes, nearest, spans):
    """Rows y0 .. y1 of an outline with any number of planes behind it; nothing with 1/z over `nearest`."""
    lanes = count_up()
    limit, nothing = splat(nearest), splat(0.0)
    for top in range(y0, y1 + 1, 8):
        span_ends(edges, lane, stride, count, top, width, spans)
        for j in range(min(8, y1 + 1 - top)):
            first, last = spans[j], spans[8 + j]
            if last < first:
                continue
            _start_row(planes, n_planes, np.float32(top + j))
            for x in range(first, last + 1, 8):
                xs = splat(x) + lanes
                value = fma(splat(planes[0]), xs, splat(planes[3 * PLANES_MOST]))
                for k in range(1, n_planes):
                    value = vmin(value, fma(splat(planes[k]), xs, splat(planes[3 * PLANES_MOST + k])))
                value = select((xs <= splat(last)) & (value <= limit), value, nothing)
                at = (top + j) * width + x
                store(z, at, vmax(load(z, at), value))


@kernel
def fill_surfaces(z, ids, width, y0, y1, edges, lane, stride, count, planes, n_planes, nearest, first, spans):
    """As `fill_many`, also writing into `ids` the number `first + k` of the plane k that is seen at each pixel."""
    lanes = count_up()
    limit, nothing = splat(nearest), splat(0.0)
    for top in range(y0, y1 + 1, 8):
        span_ends(edges, lane, stride, count, top, width, spans)
        for j in range(min(8, y1 + 1 - top)):
            last = spans[8 + j]
            _start_row(planes, n_planes, np.float32(top + j))
            for x in range(spans[j], last + 1, 8):
                xs = splat(x) + lanes
                value, seen = fma(splat(planes[0]), xs, splat(planes[3 * PLANES_MOST])), splat_int(first)
                for k in range(1, n_planes):
                    found = fma(splat(planes[k]), xs, splat(planes[3 * PLANES_MOST + k]))
                    seen = select(found < value, splat_int(first + k), seen)
                    value = vmin(value, found)
                value = select((xs <= splat(last)) & (value <= limit), value, nothing)
                at = (top + j) * width + x
                old = load(z, at)
                store_int(ids, at, select(old < value, seen, load_int(ids, at)))
                store(z, at, vmax(value, old))
