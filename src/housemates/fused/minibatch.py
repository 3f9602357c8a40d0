"""Forward and backward pass of a policy over one minibatch of chunks, by hand.

Chunks come longest first, so those that are still running at a time are the first ones: nothing is padded or masked, and all
decisions of a time lie side by side. n is the number of decisions, H the memory's units, E what it takes in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from housemates.fused.gemm import empty, outer, plain, product
from housemates.fused.inputs import padded
from housemates.fused.layout import MERGE_WIDTH, PATCH_WIDTH, Sizes
from housemates.fused.losses import losses_and_gradients
from housemates.fused.lstm import lstm_backward, lstm_forward
from housemates.fused.pictures import SLICE, pictures_backward, pictures_forward
from housemates.fused.pointwise import ONE, ZERO, add_bias, bias_relu, column_sums, relu_gradient, take_rows, transpose
from housemates.policies.encoders import PATCH


class Rollout(NamedTuple):
    """What a network is shown of the N decisions of a rollout."""

    features: np.ndarray
    """[N, padded inputs] float32."""
    pictures: np.ndarray
    """[N, bytes] uint8 in block order; [0, 0] without pictures."""
    privileged: np.ndarray
    """[N, privileged] float32; [0, 0] for an ordinary critic."""
    memory: np.ndarray
    """[N, 2H] float32 before each decision."""


class Room(NamedTuple):
    """Arrays for one minibatch of at most n decisions, float32 but for the first."""

    at: np.ndarray
    """[n] int64, which decisions of the rollout."""
    features: np.ndarray
    """[n, padded inputs]."""
    encoded: np.ndarray
    """[n, E]."""
    dencoded: np.ndarray
    """[n, E]."""
    gates: np.ndarray
    """[n, 4H], first the gates, then their gradients."""
    start: np.ndarray
    """[n, H], cells before the first decisions."""
    cell: np.ndarray
    """[n, H]."""
    shown: np.ndarray
    """[n, H], tanh of the cells."""
    before: np.ndarray
    """[n, H], h before each decision."""
    past: np.ndarray
    """[H, 4H], the memory's matrix of its own output, transposed."""
    core: np.ndarray
    """[n, H], h after it."""
    dcore: np.ndarray
    """[n, H]."""
    dcell: np.ndarray
    """[n, H]."""
    heads: np.ndarray
    """[n, heads], first outputs, then gradients."""
    privileged: np.ndarray
    """[n, privileged]."""
    mixed: np.ndarray
    """[n, H] of an informed critic, first its inner layer, then gradients."""
    value: np.ndarray
    """[n, 1] of an informed critic, first its answer, then gradients."""
    pixels: np.ndarray
    """[SLICE * patches, numbers of a patch]."""
    patches: np.ndarray
    """[n * patches, 32]."""
    merged: tuple[np.ndarray, np.ndarray, np.ndarray]
    """[n * patches / 4, 64], then a quarter of it for each further merge; [0, 64] beyond the last."""
    dpatches: np.ndarray
    """[SLICE * patches, 32]."""
    dmerged: tuple[np.ndarray, np.ndarray, np.ndarray]
    """As `merged`, for SLICE pictures."""


def make_room(sizes: Sizes, n: int) -> Room:
    """Room for minibatches of up to n decisions."""
    hidden, pictured = sizes.hidden, sizes.pixels > 0
    patches = (sizes.pixels // PATCH) ** 2
    informed = n if sizes.privileged else 0

    def merged(count: int) -> tuple[np.ndarray, ...]:
        return tuple(empty(count * patches // 4 ** (k + 1) if k < sizes.merges else 0, MERGE_WIDTH) for k in range(3))

    return Room(
        at=np.zeros(n, np.int64),
        features=empty(n, padded(sizes.inputs)),
        encoded=empty(n, sizes.encoded),
        dencoded=empty(n, sizes.encoded),
        gates=empty(n, 4 * hidden),
        **{name: empty(n, hidden) for name in ("start", "cell", "shown", "before", "core", "dcore", "dcell")},
        past=empty(hidden, 4 * hidden),
        heads=empty(n, sizes.heads),
        privileged=empty(informed, sizes.privileged),
        mixed=empty(informed, hidden),
        value=empty(informed, 1),
        pixels=empty(SLICE * patches, PATCH * PATCH * sizes.channels),
        patches=empty(n * patches if pictured else 0, PATCH_WIDTH),
        merged=merged(n),  # ty: ignore[invalid-argument-type]
        dpatches=empty(SLICE * patches if pictured else 0, PATCH_WIDTH),
        dmerged=merged(SLICE),  # ty: ignore[invalid-argument-type]
    )


@njit(cache=True, nogil=True)
def matrix(array, at, rows, columns):
    """The matrix [rows, columns] that begins at a place of a flat array."""
    return array[at : at + rows * columns].reshape(rows, columns)


@njit(cache=True, nogil=True, error_model="numpy")
def gradients(index, counts, rollout, decisions, weights, sizes, offsets, scale, theta, room, total, grad):
    """Gradients grad [total] of the mean loss over a minibatch; total [8] has the means of the losses added.

    index [T, B] int64: decision of each chunk at each time, -1 after its end, longest chunk first; counts [T]: chunks that
    are running; scale: of a picture's levels; theta [total]: the weights.
    """
    n = 0
    for t in range(index.shape[0]):
        for b in range(counts[t]):
            room.at[n] = index[t, b]
            n += 1
    at = room.at[:n]
    grad[:] = ZERO
    _encode(at, rollout, sizes, offsets, scale, theta, room)
    _remember(at, counts, rollout, sizes, offsets, theta, room)
    _judge(at, rollout, sizes, offsets, theta, decisions, room)
    value = room.value.reshape(room.value.size)
    losses_and_gradients(at, decisions, weights, sizes, room.heads, value, total)
    _judge_backward(at, sizes, offsets, theta, decisions, room, grad)
    _remember_backward(n, counts, sizes, offsets, theta, room, grad)
    _encode_backward(at, rollout, sizes, offsets, scale, theta, room, grad)
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _encode(at, rollout, sizes, offsets, scale, theta, room):
    """Observations of n decisions to room.encoded [n, E]: a picture's features, then the vectors' embedding."""
    n, first = at.size, sizes.picture
    if sizes.picture:
        pictures_forward(at, rollout.pictures, sizes, offsets, scale, theta, room)
    if sizes.embedding:
        take_rows(rollout.features, at, room.features)
        out = room.encoded[:n, first:]
        weight = matrix(theta, offsets.embedding, sizes.embedding, sizes.inputs)
        product(room.features[:n, : sizes.inputs], weight, ZERO, out)
        bias_relu(out, theta[offsets.embedding_bias : offsets.embedding_bias + sizes.embedding])


@njit(cache=True, nogil=True, error_model="numpy")
def _encode_backward(at, rollout, sizes, offsets, scale, theta, room, grad):
    """Gradients of the encoder's weights from room.dencoded [n, E]."""
    n, first = at.size, sizes.picture
    relu_gradient(room.dencoded[:n], room.encoded[:n])
    if sizes.embedding:
        dout = room.dencoded[:n, first:]
        dweight = matrix(grad, offsets.embedding, sizes.embedding, sizes.inputs)
        outer(dout, room.features[:n, : sizes.inputs], ZERO, dweight)
        column_sums(dout, grad[offsets.embedding_bias : offsets.embedding_bias + sizes.embedding])
    if sizes.picture:
        pictures_backward(at, rollout.pictures, sizes, offsets, scale, theta, room, grad)


@njit(cache=True, nogil=True, error_model="numpy")
def _remember(at, counts, rollout, sizes, offsets, theta, room):
    """The memory over all times: room.encoded [n, E] to room.core [n, H]. One product for all inputs, one small one a time."""
    n, hidden = at.size, sizes.hidden
    product(room.encoded[:n], matrix(theta, offsets.fresh, 4 * hidden, sizes.encoded), ZERO, room.gates[:n])
    # Few rows multiply faster by the transposed matrix: it need not be put in order for every time.
    transpose(matrix(theta, offsets.past, 4 * hidden, hidden), room.past)
    bias = np.empty(4 * hidden, np.float32)
    for j in range(4 * hidden):
        bias[j] = theta[offsets.fresh_bias + j] + theta[offsets.past_bias + j]
    take_rows(rollout.memory[:, :hidden], at[: counts[0]], room.before)
    take_rows(rollout.memory[:, hidden:], at[: counts[0]], room.start)
    low = 0
    for t in range(counts.size):
        high = low + counts[t]
        going = counts[t + 1] if t + 1 < counts.size else 0
        plain(room.before[low:high], room.past, ONE, room.gates[low:high])
        old = _cells_before(t, low, counts, room)
        lstm_forward(room.gates[low:high], bias, old, room.cell[low:high], room.shown[low:high], room.core[low:high])
        room.before[high : high + going] = room.core[low : low + going]
        low = high


@njit(cache=True, nogil=True, error_model="numpy")
def _cells_before(t, low, counts, room):
    """Cells [B, H] before the decisions of a time, which begin at row low."""
    if t == 0:
        return room.start[: counts[0]]
    first = low - counts[t - 1]
    return room.cell[first : first + counts[t]]


@njit(cache=True, nogil=True, error_model="numpy")
def _remember_backward(n, counts, sizes, offsets, theta, room, grad):
    """Gradients of the memory's weights and of its inputs, room.dencoded, from room.dcore [n, H]."""
    hidden = sizes.hidden
    past = matrix(theta, offsets.past, 4 * hidden, hidden)
    high = n
    for t in range(counts.size - 1, -1, -1):
        low = high - counts[t]
        going = counts[t + 1] if t + 1 < counts.size else 0
        plain(room.gates[high : high + going], past, ONE, room.dcore[low : low + going])
        old = _cells_before(t, low, counts, room)
        lstm_backward(room.gates[low:high], old, room.shown[low:high], room.dcore[low:high], going, room.dcell)
        high = low
    dgates = room.gates[:n]
    outer(dgates, room.before[:n], ZERO, matrix(grad, offsets.past, 4 * hidden, hidden))
    fresh = 4 * hidden, sizes.encoded
    outer(dgates, room.encoded[:n], ZERO, matrix(grad, offsets.fresh, *fresh))
    plain(dgates, matrix(theta, offsets.fresh, *fresh), ZERO, room.dencoded[:n])
    column_sums(dgates, grad[offsets.fresh_bias : offsets.fresh_bias + 4 * hidden])
    for j in range(4 * hidden):
        grad[offsets.past_bias + j] = grad[offsets.fresh_bias + j]


@njit(cache=True, nogil=True, error_model="numpy")
def _judge(at, rollout, sizes, offsets, theta, decisions, room):
    """room.core [n, H] to room.heads [n, heads] and, of an informed critic, room.value [n, 1]."""
    n, hidden = at.size, sizes.hidden
    core, out = room.core[:n], room.heads[:n]
    product(core, matrix(theta, offsets.heads, sizes.heads, hidden), ZERO, out)
    add_bias(out, theta[offsets.heads_bias : offsets.heads_bias + sizes.heads])
    if sizes.latent_logits:
        latent_logits = matrix(theta, offsets.latent_logits, sizes.latent, sizes.actions)
        for i in range(n):
            row, more = out[i], latent_logits[decisions.latent[at[i]]]
            for j in range(sizes.actions):
                row[j] += more[j]
    if sizes.privileged:
        take_rows(rollout.privileged, at, room.privileged)
        mix = matrix(theta, offsets.mix, hidden, hidden + sizes.privileged)
        inside = room.mixed[:n]
        product(core, mix[:, :hidden], ZERO, inside)
        product(room.privileged[:n], mix[:, hidden:], ONE, inside)
        bias_relu(inside, theta[offsets.mix_bias : offsets.mix_bias + hidden])
        product(inside, matrix(theta, offsets.last, 1, hidden), ZERO, room.value[:n])
        add_bias(room.value[:n], theta[offsets.last_bias : offsets.last_bias + 1])


@njit(cache=True, nogil=True, error_model="numpy")
def _judge_backward(at, sizes, offsets, theta, decisions, room, grad):
    """Gradients of actor, critic and auxiliary head, and room.dcore [n, H], from room.heads and room.value."""
    n, hidden = at.size, sizes.hidden
    core, dout, dcore = room.core[:n], room.heads[:n], room.dcore[:n]
    outer(dout, core, ZERO, matrix(grad, offsets.heads, sizes.heads, hidden))
    column_sums(dout, grad[offsets.heads_bias : offsets.heads_bias + sizes.heads])
    plain(dout, matrix(theta, offsets.heads, sizes.heads, hidden), ZERO, dcore)
    if sizes.latent_logits:
        dlogits = matrix(grad, offsets.latent_logits, sizes.latent, sizes.actions)
        for i in range(n):
            row, more = dout[i], dlogits[decisions.latent[at[i]]]
            for j in range(sizes.actions):
                more[j] += row[j]
    if sizes.privileged:
        inside, dvalue = room.mixed[:n], room.value[:n]
        outer(dvalue, inside, ZERO, matrix(grad, offsets.last, 1, hidden))
        column_sums(dvalue, grad[offsets.last_bias : offsets.last_bias + 1])
        last = theta[offsets.last : offsets.last + hidden]
        for i in range(n):
            row, slope = inside[i], dvalue[i, 0]
            for j in range(hidden):
                row[j] = slope * last[j] if row[j] > ZERO else ZERO
        dmix = matrix(grad, offsets.mix, hidden, hidden + sizes.privileged)
        outer(inside, core, ZERO, dmix[:, :hidden])
        outer(inside, room.privileged[:n], ZERO, dmix[:, hidden:])
        column_sums(inside, grad[offsets.mix_bias : offsets.mix_bias + hidden])
        mix = matrix(theta, offsets.mix, hidden, hidden + sizes.privileged)
        plain(inside, mix[:, :hidden], ONE, dcore)
