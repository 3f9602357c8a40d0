"""Eight numbers at once against numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit

from housemates.renderer import simd as v

eight = arrays(np.float32, 8, elements=st.floats(-1e6, 1e6, width=32))


@njit
def arithmetic(a, b, out):
    x, y = v.load(a, 0), v.load(b, 0)
    v.store(out, 0, x + y)
    v.store(out, 8, x - y)
    v.store(out, 16, x * y)
    v.store(out, 24, v.vmax(x, y))
    v.store(out, 32, v.vmin(x, y))
    v.store(out, 40, v.select(x < y, -x, v.abs8(y)))
    v.store(out, 48, v.ceil8(x))
    v.store(out, 56, v.floor8(x))


@njit
def integers(a, out):
    v.store_int(out, 0, v.to_int(v.load(a, 0)))


@njit
def mask(a, b):
    return v.bits((v.load(a, 0) < v.load(b, 0)) | (v.load(b, 0) <= v.splat(0.0)))


@njit
def narrow(a, out):
    whole = v.to_int(v.load(a, 0))
    v.store_u8(out, 1, whole)
    v.store_u16(out, 9, whole)


@njit
def lowest(number):
    return v.lowest(number)


@given(a=eight, b=eight)
def test_arithmetic_is_numpys(a, b):
    out = np.empty(64, np.float32)
    arithmetic(a, b, out)
    with np.errstate(over="ignore"):
        want = [
            a + b,
            a - b,
            a * b,
            np.maximum(a, b),
            np.minimum(a, b),
            np.where(a < b, -a, np.abs(b)),
            np.ceil(a),
            np.floor(a),
        ]
    assert np.array_equal(out, np.concatenate(want))


@given(a=eight)
def test_floats_become_ints_towards_zero(a):
    out = np.empty(8, np.int32)
    integers(a, out)
    assert np.array_equal(out, a.astype(np.int32))


@given(a=eight, b=eight)
def test_a_mask_has_lane_zero_in_its_lowest_bit(a, b):
    assert mask(a, b) == sum(1 << i for i in range(8) if a[i] < b[i] or b[i] <= 0)


@given(a=arrays(np.float32, 8, elements=st.integers(0, 255)))
def test_narrow_stores_touch_their_own_bytes_only(a):
    out = np.full(32, 77, np.uint8)
    narrow(a, out)
    want = np.concatenate([[77], a.astype(np.uint8), a.astype(np.uint16).view(np.uint8), np.full(7, 77)])
    assert np.array_equal(out, want)


@given(number=st.integers(1, 2**62))
def test_the_lowest_bit_is_found(number):
    assert lowest(number) == (number & -number).bit_length() - 1
