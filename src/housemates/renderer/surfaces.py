"""Pictures in colour and of labels: the same outlines, drawn with a buffer that remembers which surface is seen.

Every face that comes into a picture gets the next surface number; its shaded colour and its label wait in a table until
the last pass looks them up. Number 0 is nothing.
"""

import numpy as np

from housemates.renderer.convex import DUAL, Q, copy_planes, outline_prism, set_up_boxes
from housemates.renderer.mesh import PLANE, list_edges, set_up_triangles
from housemates.renderer.raster import PLANES_MOST, fill_surfaces
from housemates.renderer.simd import EIGHT, ONE, SIX, ZERO, kernel, lowest

AMBIENT, FROM_ABOVE, FROM_SIDE, FROM_CAMERA = 0.48, 0.27, 0.10, 0.15
"""Shares of the light: everywhere, on faces that look up, on faces that look along +x, on faces that look at the camera."""


@kernel
def shade(paint, a, b, c, lens, axes):
    """Colour 0xRRGGBB of a face with 1/z = a col + b row + c, lit from above, from one side and from the camera.

    lens: (focal length, middle column and row), pixels; axes: [9] the camera's right, up and forward in the world.
    """
    focal, middle = lens
    # The normal in metres, seen from the camera, pointing at it: picture space is a linear image of the camera's space.
    right, up, forward = -focal * a, focal * b, -(middle * (a + b) + c)
    length = np.sqrt(right * right + up * up + forward * forward) + 1e-20
    world_x = (right * axes[0] + up * axes[3] + forward * axes[6]) / length
    world_y = (right * axes[1] + up * axes[4] + forward * axes[7]) / length
    light = (
        AMBIENT + FROM_ABOVE * max(world_y, 0.0) + FROM_SIDE * (0.5 + 0.5 * world_x) + FROM_CAMERA * max(-forward / length, 0.0)
    )
    red, green, blue = int((paint >> 16 & 255) * light), int((paint >> 8 & 255) * light), int((paint & 255) * light)
    return min(red, 255) << 16 | min(green, 255) << 8 | min(blue, 255)


@kernel
def _add_surfaces(planes, n_planes, paint, label, lens, axes, count, paints, labels):
    """Give numbers to the planes of one solid; the new count."""
    for k in range(n_planes):
        paints[count + k] = shade(paint, planes[k], planes[PLANES_MOST + k], planes[2 * PLANES_MOST + k], lens, axes)
        labels[count + k] = label
    return count + n_planes


@kernel
def draw_slot_surfaces(slots, filled, shape, width, near, z, ids, table, lens, axes, count, paints, labels):
    """`draw_slots` with surface numbers. shape: (sides, taper, paint, label) of the eight solids; the new surface count."""
    sides, taper, paint, label = shape
    setup, rows, work, edges, planes, spans = table
    on, _, face0, face1, face2 = set_up_boxes(slots, width, near, setup, rows)
    nearest = np.float32(1.0) / np.float32(near)
    left = on & ((1 << filled) - 1)
    while left:
        lane = lowest(left)
        left &= left - 1
        first = count
        if sides[lane] > 0:
            n_edges, n_planes = outline_prism(
                slots, setup[8 * DUAL :], setup[8 * Q :], lane, sides[lane], taper[lane], width, work, edges, planes
            )
        else:
            shows = (face0 >> lane & 1) | (face1 >> lane & 1) << 1 | (face2 >> lane & 1) << 2
            n_edges, n_planes = SIX, copy_planes(setup, lane, shows, planes)
        if n_planes == 0:
            continue
        count = _add_surfaces(planes, n_planes, paint[lane], label[lane], lens, axes, count, paints, labels)
        y0, y1 = np.int64(rows[lane]), np.int64(rows[8 + lane])
        if sides[lane] > 0:
            fill_surfaces(z, ids, width, y0, y1, edges, ZERO, ONE, n_edges, planes, n_planes, nearest, first, spans)
        else:
            fill_surfaces(z, ids, width, y0, y1, setup, lane, EIGHT, n_edges, planes, n_planes, nearest, first, spans)
    return count


@kernel
def draw_triangle_surfaces(
    triangles, group, m, turn, eye, skin, width, near, z, ids, table, box, lens, axes, count, paints, labels
):
    """`draw_triangles` with surface numbers. skin: (paint, label) of all triangles; the new surface count."""
    setup, _, _, edges, planes, spans = table
    drawn, awkward = set_up_triangles(triangles, group * 104, m, turn, eye, width, near, setup, box)
    nearest = np.float32(1.0) / np.float32(near)
    left = drawn | awkward
    while left:
        lane = lowest(left)
        left &= left - 1
        cut = awkward >> lane & 1 == 1
        n_edges = list_edges(setup, lane, cut, width, edges)
        for j in range(3):
            planes[PLANES_MOST * j] = setup[8 * (PLANE + j) + lane]
        y0, y1 = (ZERO, width - 1) if cut else (np.int64(box[16 + lane]), np.int64(box[24 + lane]))
        first, which = count, 8 * group + lane
        count = _add_surfaces(planes, ONE, skin[0][which], skin[1][which], lens, axes, count, paints, labels)
        fill_surfaces(z, ids, width, y0, y1, edges, ZERO, ONE, n_edges, planes, ONE, nearest, first, spans)
    return count
