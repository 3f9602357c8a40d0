"""Rigid transforms as 4x4 matrices in batches, on plain arrays.

The world has y up; a yaw `a` turns about +y, so that local +x points to (cos a, 0, -sin a).
"""

from math import ceil, cos, pi, sin, sqrt

from numba import njit


@njit(cache=True, nogil=True)
def wrap_angle(angle):
    """The same direction in (-pi, pi], radians."""
    wrapped = angle - 2.0 * pi * ceil((angle - pi) / (2.0 * pi))
    # Rounding can leave a value a hair outside; both ends are the same direction.
    return pi if wrapped <= -pi else min(wrapped, pi)


@njit(cache=True, nogil=True)
def from_yaw(position, yaw, out):
    """Transforms out f64[N, 4, 4] that turn by yaw [N] about +y, then move to position [N, 3]."""
    for n in range(out.shape[0]):
        c, s = cos(yaw[n]), sin(yaw[n])
        out[n] = 0.0
        out[n, 0, 0], out[n, 0, 2] = c, s
        out[n, 1, 1] = 1.0
        out[n, 2, 0], out[n, 2, 2] = -s, c
        for i in range(3):
            out[n, i, 3] = position[n, i]
        out[n, 3, 3] = 1.0


@njit(cache=True, nogil=True)
def from_quaternion(quaternion, position, out):
    """Transforms out f64[N, 4, 4] from quaternions [N, 4] (w, x, y, z; of any length but zero) and position [N, 3].

    A quaternion of length zero counts as no turn.
    """
    for n in range(out.shape[0]):
        w, x, y, z = quaternion[n, 0], quaternion[n, 1], quaternion[n, 2], quaternion[n, 3]
        length = sqrt(w * w + x * x + y * y + z * z)
        if length > 0.0:
            w, x, y, z = w / length, x / length, y / length, z / length
        out[n, 0, 0], out[n, 0, 1], out[n, 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
        out[n, 1, 0], out[n, 1, 1], out[n, 1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
        out[n, 2, 0], out[n, 2, 1], out[n, 2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
        out[n, 3, 0], out[n, 3, 1], out[n, 3, 2], out[n, 3, 3] = 0.0, 0.0, 0.0, 1.0
        for i in range(3):
            out[n, i, 3] = position[n, i]


@njit(cache=True, nogil=True)
def compose(first, second, out):
    """out[n] = first[n] @ second[n], all f64[N, 4, 4] with last row (0, 0, 0, 1): apply `second`, then `first`.

    `out` must be another array than `first` and `second`.
    """
    for n in range(out.shape[0]):
        for i in range(3):
            for j in range(4):
                total = first[n, i, 3] if j == 3 else 0.0
                for k in range(3):
                    total += first[n, i, k] * second[n, k, j]
                out[n, i, j] = total
        out[n, 3, 0], out[n, 3, 1], out[n, 3, 2], out[n, 3, 3] = 0.0, 0.0, 0.0, 1.0


@njit(cache=True, nogil=True)
def rigid_inverse(transform, out):
    """Inverses out f64[N, 4, 4] of rigid transforms f64[N, 4, 4]; `out` must be another array."""
    for n in range(out.shape[0]):
        for i in range(3):
            back = 0.0
            for k in range(3):
                out[n, i, k] = transform[n, k, i]
                back += transform[n, k, i] * transform[n, k, 3]
            out[n, i, 3] = -back
        out[n, 3, 0], out[n, 3, 1], out[n, 3, 2], out[n, 3, 3] = 0.0, 0.0, 0.0, 1.0


@njit(cache=True, nogil=True)
def apply(transform, points, out):
    """Points [N, P, 3] carried by their transform f64[N, 4, 4] into out f64[N, P, 3]; `out` may be `points`."""
    for n in range(points.shape[0]):
        for p in range(points.shape[1]):
            x, y, z = points[n, p, 0], points[n, p, 1], points[n, p, 2]
            for i in range(3):
                out[n, p, i] = transform[n, i, 0] * x + transform[n, i, 1] * y + transform[n, i, 2] * z + transform[n, i, 3]
