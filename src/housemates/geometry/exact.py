"""Functions whose last bit is the same on every processor: homes and episodes are made with these.

`np.sin`, `np.hypot`, `@`, `einsum` and the C library differ in the last bit between processors, library versions and SIMD
paths. Sums, products, quotients, square roots and roundings do not: IEEE 754 fixes every bit of them, and everything here
is made of those alone. `sin`, `cos` and `hypot` take numbers and arrays, in Python and inside kernels.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numba.extending import register_jitable
from numpy.typing import ArrayLike

HIGH, MIDDLE, LOW = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
"""pi / 2 as a sum of three; products of the first two with whole numbers up to a million are exact."""
PER_QUARTER = 2 / np.pi
SINE = tuple((-1) ** k / factorial(2 * k + 1) for k in range(9))
COSINE = tuple((-1) ** k / factorial(2 * k) for k in range(10))
"""Taylor coefficients; up to pi / 4 the next term is below 1e-19."""
ARCS = (
    0.0,
    0.06241880999595735,
    0.12435499454676144,
    0.18534794999569476,
    0.24497866312686414,
    0.3028848683749714,
    0.35877067027057225,
    0.4124104415973873,
    0.4636476090008061,
    0.5123894603107377,
    0.5585993153435624,
    0.6022873461349642,
    0.6435011087932844,
    0.6823165548747481,
    0.7188299996216245,
    0.7531512809621944,
    0.7853981633974483,
)
"""Arc tangents of 0, 1/16, ..., 1, rounded to the nearest float64."""
TAIL = 3.65
"""Normal draws beyond this many deviations come from the C library's logarithm (ziggurat method), all others do not."""


@register_jitable
def _quarters(x):
    """Number of quarter turns nearest to x, and what is left of x, within pi / 4 of zero."""
    turns = np.floor(x * PER_QUARTER + 0.5)
    return turns, ((x - turns * HIGH) - turns * MIDDLE) - turns * LOW


@register_jitable
def _sine(r):
    """Sine of small angles."""
    q = r * r
    a = SINE[8]
    a = a * q + SINE[7]
    a = a * q + SINE[6]
    a = a * q + SINE[5]
    a = a * q + SINE[4]
    a = a * q + SINE[3]
    a = a * q + SINE[2]
    a = a * q + SINE[1]
    return r + r * q * a


@register_jitable
def _cosine(r):
    """Cosine of small angles."""
    q = r * r
    a = COSINE[9]
    a = a * q + COSINE[8]
    a = a * q + COSINE[7]
    a = a * q + COSINE[6]
    a = a * q + COSINE[5]
    a = a * q + COSINE[4]
    a = a * q + COSINE[3]
    a = a * q + COSINE[2]
    return 1.0 - (0.5 * q - q * q * a)


@register_jitable
def _at_turn(turns, r):
    """Sine of `turns` quarter turns and the small angle r; factors are 0, 1 or -1, so nothing is rounded here."""
    turns = turns - 4.0 * np.floor(turns * 0.25)
    odd = turns - 2.0 * np.floor(turns * 0.5)
    sign = 1.0 - 2.0 * np.floor(turns * 0.5)
    return sign * ((1.0 - odd) * _sine(r) + odd * _cosine(r))


@register_jitable
def sin(x):
    """Sine of an angle in radians, up to a million; a number or an array."""
    turns, r = _quarters(x)
    return _at_turn(turns, r)


@register_jitable
def cos(x):
    """Cosine of an angle in radians, up to a million; a number or an array."""
    turns, r = _quarters(x)
    return _at_turn(turns + 1.0, r)


@register_jitable
def hypot(x, y):
    """Length of (x, y), for lengths whose squares are ordinary numbers; numbers or arrays."""
    return np.sqrt(x * x + y * y)


def atan2(y: float, x: float) -> float:
    """Angle of the point (x, y) in radians, -pi to pi; 0 for (0, 0)."""
    small, large = sorted((abs(float(x)), abs(float(y))))
    if large == 0.0:
        return 0.0
    ratio = small / large
    near = int(ratio * 16 + 0.5)
    u = (ratio - near / 16) / (1 + ratio * (near / 16))
    q = u * u
    series = 0.0
    for k in range(6, 0, -1):
        series = (series + (-1) ** k / (2 * k + 1)) * q
    angle = ARCS[near] + (u + u * series)
    if abs(y) > abs(x):
        angle = np.pi / 2 - angle
    if x < 0:
        angle = np.pi - angle
    return float(-angle if y < 0 else angle)


def product(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """`first @ second` for arrays [..., I, J] and [..., J, K] or [J], with every sum from left to right."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    if b.ndim == 1:
        return product(a, b[:, None])[..., 0]
    total = a[..., :, 0, None] * b[..., None, 0, :]
    for j in range(1, b.shape[-2]):
        total = total + a[..., :, j, None] * b[..., None, j, :]
    return total + 0.0  # no negative zeros


def uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """`rng.uniform` with the product and the sum rounded one after the other."""
    return float(low + (high - low) * rng.random())


def normal(rng: np.random.Generator, deviation: float) -> float:
    """A normal draw with mean 0; the rare ones that depend on the C library's logarithm are rounded to a billionth."""
    drawn = float(rng.standard_normal())
    return deviation * (round(drawn, 9) if abs(drawn) > TAIL else drawn)
