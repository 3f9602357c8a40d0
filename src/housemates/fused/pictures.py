"""The patch encoder over pictures in block order, forward and backward: products on views, SLICE pictures at a time.

A slice's pixels as floats stay in a core's cache; they are made from bytes once more in the backward pass.
"""

from __future__ import annotations

from numba import njit

from housemates.fused.gemm import outer, plain, product
from housemates.fused.layout import GRID, MERGE_WIDTH, PATCH_WIDTH
from housemates.fused.pointwise import ONE, ZERO, bias_relu, column_sums, relu_gradient, take_bytes
from housemates.policies.encoders import PATCH

SLICE = 64
"""Pictures whose pixels are floats at once."""
LAST = GRID * GRID * MERGE_WIDTH
"""Numbers of a picture that the linear layer reads."""


@njit(cache=True, nogil=True, error_model="numpy")
def pictures_forward(at, pictures, sizes, offsets, scale, theta, room):
    """Pictures [N, bytes] uint8 at rows at [n] to their features room.encoded [n, :picture]; keeps what backward needs."""
    n = at.size
    count, numbers = (sizes.pixels // PATCH) ** 2, PATCH * PATCH * sizes.channels
    weight = theta[offsets.patch : offsets.patch + PATCH_WIDTH * numbers].reshape(PATCH_WIDTH, numbers)
    for low in range(0, n, SLICE):
        high = min(low + SLICE, n)
        pixels = room.pixels[: (high - low) * count]
        take_bytes(pictures, at[low:high], scale, pixels.reshape(high - low, count * numbers))
        inner = room.patches[low * count : high * count]
        product(pixels, weight, ZERO, inner)
        bias_relu(inner, theta[offsets.patch_bias : offsets.patch_bias + PATCH_WIDTH])
        left, width = count, PATCH_WIDTH
        for k in range(sizes.merges):
            left //= 4
            below = inner.reshape((high - low) * left, 4 * width)
            merge = theta[offsets.merge[k] : offsets.merge[k] + MERGE_WIDTH * 4 * width].reshape(MERGE_WIDTH, 4 * width)
            inner = room.merged[k][low * left : high * left]
            product(below, merge, ZERO, inner)
            bias_relu(inner, theta[offsets.merge_bias[k] : offsets.merge_bias[k] + MERGE_WIDTH])
            width = MERGE_WIDTH
    last = room.merged[sizes.merges - 1][: n * GRID * GRID].reshape(n, LAST)
    out = room.encoded[:n, : sizes.picture]
    product(last, theta[offsets.linear : offsets.linear + sizes.picture * LAST].reshape(sizes.picture, LAST), ZERO, out)
    bias_relu(out, theta[offsets.linear_bias : offsets.linear_bias + sizes.picture])


@njit(cache=True, nogil=True, error_model="numpy")
def pictures_backward(at, pictures, sizes, offsets, scale, theta, room, grad):
    """Gradients of the picture encoder's weights from room.dencoded [n, :picture] (already through its relu)."""
    n = at.size
    count, numbers = (sizes.pixels // PATCH) ** 2, PATCH * PATCH * sizes.channels
    top = sizes.merges - 1
    dout = room.dencoded[:n, : sizes.picture]
    last = room.merged[top][: n * GRID * GRID].reshape(n, LAST)
    outer(dout, last, ZERO, grad[offsets.linear : offsets.linear + sizes.picture * LAST].reshape(sizes.picture, LAST))
    column_sums(dout, grad[offsets.linear_bias : offsets.linear_bias + sizes.picture])
    linear = theta[offsets.linear : offsets.linear + sizes.picture * LAST].reshape(sizes.picture, LAST)
    dpatch = grad[offsets.patch : offsets.patch + PATCH_WIDTH * numbers].reshape(PATCH_WIDTH, numbers)
    for low in range(0, n, SLICE):
        high = min(low + SLICE, n)
        some = high - low
        dinner = room.dmerged[top][: some * GRID * GRID]
        plain(dout[low:high], linear, ZERO, dinner.reshape(some, LAST))
        left = GRID * GRID
        for k in range(top, -1, -1):
            relu_gradient(dinner, room.merged[k][low * left : high * left])
            column_sums(dinner, grad[offsets.merge_bias[k] : offsets.merge_bias[k] + MERGE_WIDTH])
            width = MERGE_WIDTH if k else PATCH_WIDTH
            size = MERGE_WIDTH * 4 * width
            if k:
                below = room.merged[k - 1][low * left * 4 : high * left * 4]
                dbelow = room.dmerged[k - 1][: some * left * 4]
            else:
                below = room.patches[low * count : high * count]
                dbelow = room.dpatches[: some * count]
            dmerge = grad[offsets.merge[k] : offsets.merge[k] + size].reshape(MERGE_WIDTH, 4 * width)
            outer(dinner, below.reshape(some * left, 4 * width), ONE, dmerge)
            merge = theta[offsets.merge[k] : offsets.merge[k] + size].reshape(MERGE_WIDTH, 4 * width)
            plain(dinner, merge, ZERO, dbelow.reshape(some * left, 4 * width))
            dinner = dbelow
            left *= 4
        relu_gradient(dinner, room.patches[low * count : high * count])
        column_sums(dinner, grad[offsets.patch_bias : offsets.patch_bias + PATCH_WIDTH])
        pixels = room.pixels[: some * count]
        take_bytes(pictures, at[low:high], scale, pixels.reshape(some, count * numbers))
        outer(dinner, pixels, ONE, dpatch)
