"""Rectangles on the floor, turned by any angle: which of them touch.

A rectangle is (x, z, half width, half depth, yaw): its width runs along (cos yaw, -sin yaw), its depth along
(sin yaw, cos yaw), as the footprint of a piece of furniture that was turned about +y.
"""

from numba import njit

from housemates.kernels.exact import cos, sin


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
