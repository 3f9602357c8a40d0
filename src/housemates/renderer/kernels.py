"""Depth, colour and label pictures of many homes: the loop over pictures, what is in view, and the last pass into the output.

A template is a rigid thing made of solids and triangles in its own frame: the still part of a home, a door, a robot's link,
an object. A picture shows one home's template and the placed templates (instances) of one environment.
"""

from typing import NamedTuple

import numpy as np

from housemates.parallel import take
from housemates.renderer.convex import PRISM_WORK, SETUP_ROWS, draw_slots
from housemates.renderer.mesh import GROUP, draw_triangles
from housemates.renderer.raster import PLANES_MOST
from housemates.renderer.simd import (
    ONE,
    ZERO,
    bits,
    fma,
    inner,
    kernel,
    load,
    lowest,
    select,
    splat,
    spliced,
    store,
    store_f32,
    store_u8,
    store_u16,
    to_int,
    vmin,
)
from housemates.renderer.surfaces import draw_slot_surfaces, draw_triangle_surfaces

METRES, MILLIMETRES, INVERSE, COLOUR, LABEL = range(5)
"""What the last pass writes: float32 metres, uint16 millimetres, uint8 inverse depth, uint8 RGB, int16 labels."""
INVERSE_FULL = 0.5
"""Inverse depth is 255 at this distance (metres) and nearer, 255 * INVERSE_FULL / z beyond; 0 is nothing
(or 255 m away and more)."""


class Shapes(NamedTuple):
    """Everything that can be drawn. Solids and clusters of triangles come in blocks of eight, padded with negative radii."""

    spheres: np.ndarray
    """[B * 32] float32: bounding spheres of the solids, blocks of x, y, z, radius x 8."""
    solids: np.ndarray
    """[B * 8 * 12] float32: centre and three half axes of each solid."""
    sides: np.ndarray
    """[B * 8] int32: 0 for a box, else the sides of a prism."""
    taper: np.ndarray
    """[B * 8] float32."""
    paint: np.ndarray
    """[B * 8] int32: 0xRRGGBB."""
    label: np.ndarray
    """[B * 8] int32."""
    cluster_spheres: np.ndarray
    """[C * 32] float32, as `spheres`, of clusters of triangle groups."""
    cluster_groups: np.ndarray
    """[C * 8, 2] int32: first group and the one past the last."""
    triangles: np.ndarray
    """[G * 104] float32: groups of eight triangles, see `raster_mesh`."""
    triangle_paint: np.ndarray
    """[G * 8] int32."""
    triangle_label: np.ndarray
    """[G * 8] int32."""
    templates: np.ndarray
    """[K, 4] int32: first and past-the-last block of solids, first and past-the-last block of clusters."""
    bounds: np.ndarray
    """[K, 4] float32: bounding sphere in the template's frame; a negative radius is an empty template."""


class Scratch(NamedTuple):
    """Memory of one thread, made once; the z-buffer is left clean after every picture."""

    z: np.ndarray
    ids: np.ndarray
    slots: np.ndarray
    slot_sides: np.ndarray
    slot_taper: np.ndarray
    slot_paint: np.ndarray
    slot_label: np.ndarray
    setup: np.ndarray
    box: np.ndarray
    work: np.ndarray
    edges: np.ndarray
    planes: np.ndarray
    spans: np.ndarray
    to_picture: np.ndarray
    matrix: np.ndarray
    turn: np.ndarray
    eye: np.ndarray
    axes: np.ndarray
    paints: np.ndarray
    labels: np.ndarray


def _aligned(count: int) -> np.ndarray:
    """Zeros [count] float32 that begin at a cache line."""
    room = np.zeros(count + 16, np.float32)
    skip = -room.ctypes.data // 4 % 16
    return room[skip : skip + count]


def new_scratch(size: int, surfaces: int = 0) -> Scratch:
    """Memory for pictures of size x size pixels showing at most `surfaces` faces (0: depth only)."""
    f, i, pixels = np.float32, np.int32, size * size + 16
    return Scratch(
        z=_aligned(pixels),
        ids=np.zeros(pixels if surfaces else 8, i),
        slots=np.zeros(12 * 8, f),
        slot_sides=np.zeros(8, i),
        slot_taper=np.zeros(8, f),
        slot_paint=np.zeros(8, i),
        slot_label=np.zeros(8, i),
        setup=np.zeros(SETUP_ROWS * 8, f),
        box=np.zeros(32, i),
        work=np.zeros(PRISM_WORK, f),
        edges=np.zeros(4 * 64, f),
        planes=np.zeros(4 * PLANES_MOST, f),
        spans=np.zeros(16, i),
        to_picture=np.zeros((3, 4)),
        matrix=np.zeros(12, f),
        turn=np.zeros(9, f),
        eye=np.zeros(3, f),
        axes=np.zeros(9, f),
        paints=np.zeros(surfaces + 1, i),
        labels=np.full(surfaces + 1, -1, i),
    )


@inner
def in_view(spheres, block, m, norm, width, near):
    """Bits of the eight spheres of a block that reach into the picture. norm: length of the rows of m that give x and y."""
    at = 32 * block
    x, y, z, radius = load(spheres, at), load(spheres, at + 8), load(spheres, at + 16), load(spheres, at + 24)
    u = fma(splat(m[0]), x, fma(splat(m[1]), y, fma(splat(m[2]), z, splat(m[3]))))
    v = fma(splat(m[4]), x, fma(splat(m[5]), y, fma(splat(m[6]), z, splat(m[7]))))
    w = fma(splat(m[8]), x, fma(splat(m[9]), y, fma(splat(m[10]), z, splat(m[11]))))
    far_side = splat(width - 1) * w
    inside = fma(splat(norm), radius, vmin(vmin(u, far_side - u), vmin(v, far_side - v)))
    return bits((splat(0.0) <= inside) & (splat(near) < w + radius))


@inner
def _put(shapes, solid, m, label, scratch, slot):
    """Carry one solid into picture space, into lane `slot` of the slots."""
    at = 12 * solid
    for k in range(4):
        x, y, z = shapes.solids[at + 3 * k], shapes.solids[at + 3 * k + 1], shapes.solids[at + 3 * k + 2]
        for j in range(3):
            value = m[4 * j] * x + m[4 * j + 1] * y + m[4 * j + 2] * z
            scratch.slots[8 * (3 * k + j) + slot] = value + m[4 * j + 3] if k == 0 else value
    scratch.slot_sides[slot] = shapes.sides[solid]
    scratch.slot_taper[slot] = shapes.taper[solid]
    scratch.slot_paint[slot] = shapes.paint[solid]
    scratch.slot_label[slot] = shapes.label[solid] if label < 0 else label


@spliced
def _draw_slots(scratch, filled, width, near, lens, count):
    """Draw the filled slots; the new surface count (0: depth only)."""
    s = scratch
    if count == 0:
        draw_slots(
            s.slots, filled, s.slot_sides, s.slot_taper, width, near, s.z, s.setup, s.box, s.work, s.edges, s.planes, s.spans
        )
        return count
    shape = s.slot_sides, s.slot_taper, s.slot_paint, s.slot_label
    table = s.setup, s.box, s.work, s.edges, s.planes, s.spans
    return draw_slot_surfaces(s.slots, filled, shape, width, near, s.z, s.ids, table, lens, s.axes, count, s.paints, s.labels)


@spliced
def _draw_template(shapes, k, label, scratch, width, near, norm, lens, filled, count):
    """Draw template k under scratch.matrix; the slots filled and the surface count afterwards."""
    first, last = shapes.templates[k, 0], shapes.templates[k, 1]
    first_cluster, last_cluster = shapes.templates[k, 2], shapes.templates[k, 3]
    m = scratch.matrix
    for block in range(first, last):
        seen = in_view(shapes.spheres, block, m, norm, width, near)
        while seen:
            _put(shapes, 8 * block + lowest(seen), m, label, scratch, filled)
            seen &= seen - 1
            filled += 1
            if filled == 8:
                count = _draw_slots(scratch, filled, width, near, lens, count)
                filled = ZERO
    first_surface = count
    for block in range(first_cluster, last_cluster):
        seen = in_view(shapes.cluster_spheres, block, m, norm, width, near)
        while seen:
            cluster = 8 * block + lowest(seen)
            seen &= seen - 1
            for group in range(shapes.cluster_groups[cluster, 0], shapes.cluster_groups[cluster, 1]):
                count = _draw_group(shapes, group, scratch, width, near, lens, count)
    if label >= 0:
        for surface in range(first_surface, count):
            scratch.labels[surface] = label
    return filled, count


@spliced
def _draw_group(shapes, group, scratch, width, near, lens, count):
    s = scratch
    if count == 0:
        draw_triangles(
            shapes.triangles,
            GROUP * group,
            s.matrix,
            s.turn,
            s.eye,
            width,
            near,
            s.z,
            s.setup,
            s.box,
            s.edges,
            s.planes,
            s.spans,
        )
        return count
    table = s.setup, s.box, s.work, s.edges, s.planes, s.spans
    skin = shapes.triangle_paint, shapes.triangle_label
    return draw_triangle_surfaces(
        shapes.triangles, group, s.matrix, s.turn, s.eye, skin, width, near, s.z, s.ids, table, s.box, lens, s.axes, count,
        s.paints, s.labels,
    )  # fmt: skip


@inner
def _view(camera, job, focal, middle, rows):
    """The matrix [3, 4] from the world to picture space for camera [J, 3, 4] number `job`; it looks along its -z with y up."""
    for i in range(3):
        right, up, forward = camera[job, i, 0], camera[job, i, 1], -camera[job, i, 2]
        rows[0, i] = focal * right + middle * forward
        rows[1, i] = -focal * up + middle * forward
        rows[2, i] = forward
    for j in range(3):
        rows[j, 3] = -(rows[j, 0] * camera[job, 0, 3] + rows[j, 1] * camera[job, 1, 3] + rows[j, 2] * camera[job, 2, 3])


@kernel
def _set_turn(m, turn):
    """The matrix for normals that belongs to the matrix m [12] for points: its inverse transpose."""
    for j in range(3):
        b, c = 4 * ((j + 1) % 3), 4 * ((j + 2) % 3)
        turn[3 * j] = m[b + 1] * m[c + 2] - m[b + 2] * m[c + 1]
        turn[3 * j + 1] = m[b + 2] * m[c] - m[b] * m[c + 2]
        turn[3 * j + 2] = m[b] * m[c + 1] - m[b + 1] * m[c]
    volume = m[0] * turn[0] + m[1] * turn[1] + m[2] * turn[2]
    for j in range(9):
        turn[j] /= volume


@inner
def _place(shapes, k, pose, e, i, camera, job, norm, width, near, scratch):
    """Matrices and eye for template k at pose[e, i] (i < 0: as packed); whether its bounding sphere is in view."""
    view, m, bounds = scratch.to_picture, scratch.matrix, shapes.bounds
    for j in range(3):
        for c in range(4):
            if i < 0:
                value = view[j, c]
            else:
                value = view[j, 0] * pose[e, i, 0, c] + view[j, 1] * pose[e, i, 1, c] + view[j, 2] * pose[e, i, 2, c]
                value += view[j, 3] if c == 3 else 0.0
            m[4 * j + c] = value
    x, y, z, radius = bounds[k, 0], bounds[k, 1], bounds[k, 2], bounds[k, 3]
    u = m[0] * x + m[1] * y + m[2] * z + m[3]
    v = m[4] * x + m[5] * y + m[6] * z + m[7]
    w = m[8] * x + m[9] * y + m[10] * z + m[11]
    far_side = (width - 1) * w
    if radius < 0 or w + radius <= near or min(min(u, far_side - u), min(v, far_side - v)) + norm * radius < 0:
        return False
    if shapes.templates[k, 2] < shapes.templates[k, 3]:
        for j in range(3):
            scratch.eye[j] = camera[job, j, 3]
        if i >= 0:
            x = camera[job, 0, 3] - pose[e, i, 0, 3]
            y = camera[job, 1, 3] - pose[e, i, 1, 3]
            z = camera[job, 2, 3] - pose[e, i, 2, 3]
            for j in range(3):
                scratch.eye[j] = pose[e, i, 0, j] * x + pose[e, i, 1, j] * y + pose[e, i, 2, j] * z
        _set_turn(m, scratch.turn)
    return True


@inner
def _write_depth(z, at, form, out, byte):
    """Eight pixels of the z-buffer into the output."""
    inverse, zero = load(z, at), splat(0.0)
    if form == METRES:
        store_f32(out, byte + 4 * at, select(zero < inverse, splat(1.0) / inverse, zero))
    elif form == MILLIMETRES:
        far = vmin(splat(1000.0) / inverse + splat(0.5), splat(65535.0))
        store_u16(out, byte + 2 * at, to_int(select(zero < inverse, far, zero)))
    else:
        store_u8(out, byte + at, to_int(vmin(fma(inverse, splat(255.0 * INVERSE_FULL), splat(0.5)), splat(255.0))))


@inner
def _write_all(z, whole, form, out, byte):
    for at in range(0, whole, 8):
        _write_depth(z, at, form, out, byte)
        store(z, at, splat(0.0))


@kernel
def _finish_depth(z, pixels, form, out, byte):
    """Write the picture at byte offset `byte` of the output and clean the z-buffer."""
    whole = pixels - pixels % 8
    if whole < pixels:
        _write_depth(z, pixels - 8, form, out, byte)
    if form == METRES:
        _write_all(z, whole, METRES, out, byte)
    elif form == MILLIMETRES:
        _write_all(z, whole, MILLIMETRES, out, byte)
    else:
        _write_all(z, whole, INVERSE, out, byte)
    for at in range(whole, pixels + 8):
        z[at] = 0


@kernel
def _finish_surfaces(scratch, pixels, form, out, byte):
    """Look up colour or label of every pixel's surface and clean both buffers."""
    for at in range(pixels):
        surface = scratch.ids[at]
        if form == COLOUR:
            paint = scratch.paints[surface]
            out[byte + 3 * at], out[byte + 3 * at + 1], out[byte + 3 * at + 2] = (
                paint >> 16 & 255,
                paint >> 8 & 255,
                paint & 255,
            )
        else:
            label = scratch.labels[surface]
            out[byte + 2 * at], out[byte + 2 * at + 1] = label & 255, label >> 8 & 255
    for at in range(pixels + 8):
        scratch.z[at] = 0
        scratch.ids[at] = 0


@kernel
def draw_pictures(
    shares, thread, shapes, home, template, pose, label, env, camera, lens, width, near, form, slot, scratch, out
):  # fmt: skip
    """Draw a thread's part of a list of jobs.

    home [E] template of each environment's home (-1: none); template [E, N] (-1: none), pose [E, N, 3, 4] and label [E, N]
    (-1: as in the template) of its instances; env [J] and camera [J, 3, 4] (camera to world) of each job; lens: (focal
    length, middle of the picture) in pixels; slot [J] index of each job's picture in `out`, flat uint8.
    """
    focal, middle = lens
    norm = np.sqrt(focal * focal + middle * middle)
    view = scratch.to_picture
    pixels = width * width
    size = pixels * (4 if form == METRES else 2 if form in (MILLIMETRES, LABEL) else 1 if form == INVERSE else 3)
    first, last = take(shares, thread)
    while first < last:
        for job in range(first, last):
            e = env[job]
            _view(camera, job, focal, middle, view)
            for j in range(9):
                scratch.axes[j] = camera[job, j % 3, j // 3] if j < 6 else -camera[job, j % 3, 2]
            filled, count = ZERO, ZERO if form <= INVERSE else ONE
            for i in range(-1, template.shape[1]):
                # Place -1 is the home, which stands where it was packed.
                k, name = (home[e], np.int32(-1)) if i < 0 else (template[e, i], label[e, i])
                if k >= 0 and _place(shapes, k, pose, e, i, camera, job, norm, width, near, scratch):
                    filled, count = _draw_template(shapes, k, name, scratch, width, near, norm, lens, filled, count)
            if filled > 0:
                count = _draw_slots(scratch, filled, width, near, lens, count)
            if form <= INVERSE:
                _finish_depth(scratch.z, pixels, form, out, slot[job] * size)
            else:
                _finish_surfaces(scratch, pixels, form, out, slot[job] * size)
        first, last = take(shares, thread)
