"""From observations to the rows that matrix products read: engineered features, and pictures in block order.

Block order: the pixels of a patch lie side by side, so do the four patches that merge into one, and so on; then patches,
merges and the linear layer are products on views of one array, and nothing is moved between them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from housemates.fused.layout import ALIGN, GRID, Sizes
from housemates.fused.pointwise import ONE, ZERO, F
from housemates.policies.encoders import BODY, FAR, NEAR, PATCH

_FAR, _NEAR = F(FAR), F(NEAR)
WORD = 8
"""Bytes that are moved at once: a line of a patch has so many pixels."""


def padded(count: int) -> int:
    """A row length that begins every row on a cache line."""
    return -(-count // ALIGN) * ALIGN


def raw_vectors(parts: list[np.ndarray], out: np.ndarray) -> np.ndarray:
    """Vectors [n, ...] of any number type side by side as float32 in out [n, raw]."""
    at = 0
    for part in parts:
        out[:, at : at + part.shape[1]] = part
        at += part.shape[1]
    return out


def block_order(sizes: Sizes) -> np.ndarray:
    """Where each patch begins in a picture read row by row, [patches] int64, in block order."""
    if not sizes.pixels:
        return np.zeros(0, np.int64)
    corners = [(y, x) for y in range(GRID) for x in range(GRID)]
    for _ in range(sizes.merges):
        corners = [(2 * y + j, 2 * x + i) for y, x in corners for j in range(2) for i in range(2)]
    line = sizes.pixels * sizes.channels
    return np.array([y * PATCH * line + x * PATCH * sizes.channels for y, x in corners], np.int64)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_features(raw, latent, sizes, out):
    """Features out [inputs] of one robot's vectors raw [raw] and latent, as `networks.Encoder.vectors` makes them."""
    at = 0
    for j in range(sizes.state_at):
        out[at] = raw[j]
        at += 1
    if sizes.state:
        for j in range(sizes.state_at, sizes.state_at + BODY):
            out[at] = raw[j]
            at += 1
        for j in range(sizes.state_at + BODY, sizes.state_at + sizes.state, 2):
            distance, heading = raw[j], raw[j + 1]
            scaled, ahead, right = distance / _FAR, F(math.cos(heading)), F(math.sin(heading))
            out[at], out[at + 1], out[at + 2], out[at + 3] = scaled, ONE / (distance + _NEAR), ahead, right
            out[at + 4], out[at + 5] = scaled * ahead, scaled * right
            at += 6
    for j in range(sizes.state_at + sizes.state, sizes.raw):
        out[at] = raw[j]
        at += 1
    for j in range(sizes.latent):
        out[at + j] = ONE if j == latent else ZERO


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def all_features(raw, latent, sizes, out):
    """`write_features` for raw [n, raw] and latent [n] into out [n, padded inputs]."""
    for i in range(raw.shape[0]):
        write_features(raw[i], latent[i], sizes, out[i])


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def order_picture(picture, corners, sizes, out):
    """One picture [words] uint64 (eight pixels' bytes each) in block order, out likewise; corners: see `block_order`."""
    line, width = sizes.pixels * sizes.channels // WORD, PATCH * sizes.channels // WORD
    at = 0
    for p in range(corners.size):
        start = corners[p] // WORD
        for _ in range(PATCH):
            for x in range(width):
                out[at] = picture[start + x]
                at += 1
            start += line


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def order_pictures(pictures, corners, sizes, out):
    """`order_picture` for pictures [n, words] uint64."""
    for i in range(pictures.shape[0]):
        order_picture(pictures[i], corners, sizes, out[i])


def picture_words(name: str, pictures: np.ndarray) -> np.ndarray:
    """Pictures [n, S, S, C] uint8 as rows [n, words] uint64, the same memory; other types are refused."""
    if pictures.dtype != np.uint8:
        raise ValueError(f"{name} of type {pictures.dtype} - the fused path reads uint8, use the torch path for others")
    return np.ascontiguousarray(pictures).reshape(len(pictures), math.prod(pictures.shape[1:])).view(np.uint64)
