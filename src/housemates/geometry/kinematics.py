"""Forward kinematics: where every link of every robot is, from base poses and joint values.

A robot is a tree of links in topological order, given as arrays (see `forward_kinematics`); its own frames have x forward,
y left and z up, as robot descriptions do, while the world has y up.
"""

from math import cos, sin

import numpy as np
from numba import njit

FIXED, REVOLUTE, PRISMATIC = 0, 1, 2
"""Kinds of joints."""


@njit(cache=True, nogil=True)
def forward_kinematics(origin, axis, kind, parent, joint, q, base, out):
    """World transforms out f64[E, R, L, 4, 4] of the L links of R robots in E homes.

    origin f64[L, 4, 4]: link frame in its parent's at joint zero; axis f64[L, 3], unit, in the link frame; kind i64[L]: FIXED,
    REVOLUTE or PRISMATIC; parent i64[L]: an earlier link or -1, the base; joint i64[L]: index into q [E, R, J] (radians or
    metres), -1 if fixed; base [E, R, 3]: x, z, yaw on the floor.
    """
    ground, moved = np.zeros((4, 4)), np.zeros((3, 4))
    ground[1, 2] = 1.0
    for e in range(q.shape[0]):
        for r in range(q.shape[1]):
            c, s = cos(base[e, r, 2]), sin(base[e, r, 2])
            # Columns: forward (c, 0, -s), left (-s, 0, -c), up (0, 1, 0).
            ground[0, 0], ground[2, 0], ground[0, 1], ground[2, 1] = c, -s, -s, -c
            ground[0, 3], ground[2, 3] = base[e, r, 0], base[e, r, 1]
            for n in range(origin.shape[0]):
                _move(origin[n], axis[n], kind[n], q[e, r, joint[n]] if joint[n] >= 0 else 0.0, moved)
                before = ground if parent[n] < 0 else out[e, r, parent[n]]
                here = out[e, r, n]
                for i in range(3):
                    for j in range(4):
                        total = before[i, 3] if j == 3 else 0.0
                        for k in range(3):
                            total += before[i, k] * moved[k, j]
                        here[i, j] = total
                here[3, 0], here[3, 1], here[3, 2], here[3, 3] = 0.0, 0.0, 0.0, 1.0


@njit(cache=True, nogil=True)
def _move(origin, axis, kind, value, out):
    """out [3, 4] = origin times the motion of one joint."""
    x, y, z = axis[0], axis[1], axis[2]
    for i in range(3):
        for j in range(4):
            out[i, j] = origin[i, j]
    if kind == PRISMATIC:
        for i in range(3):
            out[i, 3] += value * (origin[i, 0] * x + origin[i, 1] * y + origin[i, 2] * z)
    elif kind == REVOLUTE:
        # Rodrigues: each row of the rotation, a vector v, becomes v R = c v + (1 - c) (v . a) a + s (v x a).
        c, s = cos(value), sin(value)
        for i in range(3):
            a, b, d = origin[i, 0], origin[i, 1], origin[i, 2]
            along = (1.0 - c) * (a * x + b * y + d * z)
            out[i, 0] = c * a + along * x + s * (b * z - d * y)
            out[i, 1] = c * b + along * y + s * (d * x - a * z)
            out[i, 2] = c * d + along * z + s * (a * y - b * x)
