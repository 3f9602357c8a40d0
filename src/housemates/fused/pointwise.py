"""Loops over rows that belong to no matrix product: activations, biases, copies, sums. All arrays are float32 unless said.

`error_model="numpy"` and the rational functions below are what lets LLVM make vector code of them.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

FAST = {"reassoc", "contract", "arcp", "nsz"}
"""Sums may be reordered for vector code; what is not a number stays so, since training looks for it."""
loop = njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy", _nrt=False)
"""Compiles a loop that allocates nothing: without numba's reference counts, which would change with every row."""
SQUARE = 16
"""Side of what `transpose` turns at once."""
F = np.float32
ZERO, HALF, ONE, MINUS = F(0), F(0.5), F(1), F(-1)
# tanh as a rational function of degree 13 over 6 (the coefficients of Eigen), exact to some units of the last place.
_P = [F(v) for v in (4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08)]
_P += [F(v) for v in (-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16)]
_Q = [F(v) for v in (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)]
P0, P1, P2, P3, P4, P5, P6 = _P
Q0, Q1, Q2, Q3 = _Q
TANH_END = F(7.90531110763549805)
"""Beyond it tanh counts as 1."""
TANH_START = F(-TANH_END)
EXP_START, EXP_END = F(-87.0), F(87.0)
"""Beyond them exp leaves float32's range."""
LOG2E, LN2_HIGH, LN2_LOW = F(1.44269504088896341), F(0.693359375), F(-2.12194440e-4)
E0, E1, E2, E3, E4, E5 = (
    F(v) for v in (0.5, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4)
)


@njit(cache=True, nogil=True, inline="always", fastmath=FAST, error_model="numpy")
def tanh(x):
    """Hyperbolic tangent of a float32."""
    if x >= TANH_END or x <= TANH_START:
        # Exactly, so that units at their ends have no gradient at all.
        return ONE if x > ZERO else MINUS
    y = x * x
    p = (((((P6 * y + P5) * y + P4) * y + P3) * y + P2) * y + P1) * y + P0
    q = ((Q3 * y + Q2) * y + Q1) * y + Q0
    return x * p / q


@njit(cache=True, nogil=True, inline="always", fastmath=FAST, error_model="numpy")
def sigmoid(x):
    """Logistic function of a float32."""
    return HALF * tanh(HALF * x) + HALF


@intrinsic
def _power_of_two(typing, k):
    """2^k of an int32 from -126 to 127, as float32: k becomes the exponent's bits."""

    def build(context, builder, signature, args):
        bits = builder.shl(builder.add(args[0], ir.Constant(ir.IntType(32), 127)), ir.Constant(ir.IntType(32), 23))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.int32), build


@intrinsic
def _floor(typing, x):
    """A float32 rounded down."""

    def build(context, builder, signature, args):
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.floor.f32"), args)

    return types.float32(types.float32), build


# Without a word about fastmath it would take over that of its callers, and the two parts of ln 2 would become one.
@njit(cache=True, nogil=True, fastmath=False, error_model="numpy", _nrt=False, forceinline=True)
def exp(x):
    """Exponential of a float32 (Cephes), exact to some units of the last place."""
    x = max(min(x, EXP_END), EXP_START)
    k = _floor(x * LOG2E + HALF)
    r = x - k * LN2_HIGH
    r = r - k * LN2_LOW
    p = ((((E5 * r + E4) * r + E3) * r + E2) * r + E1) * r + E0
    return (p * r * r + r + ONE) * _power_of_two(np.int32(k))


@loop
def bias_relu(y, bias):
    """y [n, m] = max(y + bias [m], 0)."""
    for i in range(y.shape[0]):
        row = y[i]
        for j in range(row.size):
            row[j] = max(row[j] + bias[j], ZERO)


@loop
def add_bias(y, bias):
    """y [n, m] += bias [m]."""
    for i in range(y.shape[0]):
        row = y[i]
        for j in range(row.size):
            row[j] += bias[j]


@loop
def relu_gradient(dy, y):
    """dy [n, m] becomes 0 where the output y [n, m] of a relu is 0."""
    for i in range(y.shape[0]):
        row, out = dy[i], y[i]
        for j in range(row.size):
            row[j] = row[j] if out[j] > ZERO else ZERO


@loop
def column_sums(dy, out):
    """out [m] += sums of the columns of dy [n, m]: gradients of a bias."""
    for i in range(dy.shape[0]):
        row = dy[i]
        for j in range(row.size):
            out[j] += row[j]


@loop
def take_rows(source, at, out):
    """out [n, m] = source [N, m] at rows at [n]."""
    for i in range(at.size):
        row, to = source[at[i]], out[i]
        for j in range(to.size):
            to[j] = row[j]


@loop
def transpose(source, out):
    """out [m, n] = source [n, m] transposed, in squares that stay in a core's nearest cache."""
    n, m = source.shape
    for low in range(0, n, SQUARE):
        for left in range(0, m, SQUARE):
            for j in range(left, min(left + SQUARE, m)):
                for i in range(low, min(low + SQUARE, n)):
                    out[j, i] = source[i, j]


@loop
def to_floats(levels, scale, out):
    """out [m] = scale * levels [m] uint8."""
    for j in range(out.size):
        out[j] = F(levels[j]) * scale


@loop
def take_bytes(source, at, scale, out):
    """out [n, m] = scale * source [N, m] uint8 at rows at [n]."""
    for i in range(at.size):
        to_floats(source[at[i]], scale, out[i])
