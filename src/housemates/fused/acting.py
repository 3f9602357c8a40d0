"""One decision of each of n robots, moved by one or several policies of one shape, in one call.

Weights are copied for it into an order in which few rows multiply fastest: transposed, the memory's two matrices as one, all
that reads the memory as one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit

from housemates.fused.gemm import empty, plain
from housemates.fused.inputs import order_picture, padded, write_features
from housemates.fused.layout import GRID, MERGE_WIDTH, PATCH_WIDTH, Sizes
from housemates.fused.lstm import lstm_forward
from housemates.fused.pictures import LAST
from housemates.fused.pointwise import ONE, ZERO, F, add_bias, bias_relu, exp, loop, to_floats
from housemates.policies.encoders import PATCH
from housemates.policies.policy import Policy

FEW = 16
"""Pictures whose pixels are floats at once."""


class Places(NamedTuple):
    """Where each matrix begins in a policy's row of numbers; a matrix [inputs, outputs] is followed by its bias [outputs]."""

    embedding: int
    patch: int
    merge: tuple[int, int, int]
    linear: int
    gates: int
    """[E + H, 4H]: new inputs, then the memory's own output."""
    heads: int
    """[H, actions + 1]; the last column is the value of an ordinary critic."""
    mix: int
    last: int
    latent_logits: int
    """[latents, actions], without bias."""
    total: int


def layers(policy: Policy) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Matrices [inputs, outputs] and biases [outputs] of a policy, as `Places` names them."""
    found: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    state = policy.state_dict()

    def layer(name: str) -> tuple[torch.Tensor, torch.Tensor]:
        return state[f"{name}.weight"].t(), state[f"{name}.bias"]

    if policy.encoder.embedding is not None:
        found["embedding"] = layer("encoder.embedding")
    if policy.encoder.picture is not None:
        found["patch"] = layer("encoder.picture.patch")
        for k in range(len(policy.encoder.picture.merges)):  # ty: ignore[invalid-argument-type]
            found[f"merge{k}"] = layer(f"encoder.picture.merges.{k}")
        found["linear"] = layer("encoder.picture.linear")
    fresh, past = (state[f"memory.cells.weight_{name}_l0"].t() for name in ("ih", "hh"))
    found["gates"] = torch.cat([fresh, past]), state["memory.cells.bias_ih_l0"] + state["memory.cells.bias_hh_l0"]
    actor, critic = layer("actor"), layer("critic") if not policy.config.informed else None
    if critic is None:
        found["heads"] = actor
        found["mix"], found["last"] = layer("critic.0"), layer("critic.2")
    else:
        found["heads"] = torch.cat([actor[0], critic[0]], 1), torch.cat([actor[1], critic[1]])
    if policy.latent_logits is not None:
        found["latent_logits"] = state["latent_logits"], state["latent_logits"].new_zeros(0)
    return found


def place_layers(found: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> tuple[dict[str, int], Places]:
    """Where each layer begins, and the same for kernels."""
    where, at = {}, 0
    for name, (weight, bias) in found.items():
        where[name] = at
        at = padded(at + weight.numel() + bias.numel())
    merges: tuple[int, int, int] = tuple(where.get(f"merge{k}", 0) for k in range(3))
    names = ("linear", "gates", "heads", "mix", "last", "latent_logits")
    rest = [where.get(name, 0) for name in names]
    return where, Places(where.get("embedding", 0), where.get("patch", 0), merges, *rest, total=at)


def room_needed(sizes: Sizes, n: int) -> int:
    """Length of the work space for n rows of one policy."""
    patches = (sizes.pixels // PATCH) ** 2
    each = padded(sizes.inputs) + padded(sizes.encoded + sizes.hidden) + 4 * sizes.hidden + 4 * sizes.hidden
    each += padded(sizes.actions + 1) + padded(sizes.privileged) + sizes.hidden + 16
    pictured = 0
    if sizes.pixels:
        each += LAST
        pictured = FEW * patches * (PATCH * PATCH * sizes.channels + PATCH_WIDTH + MERGE_WIDTH)
    return n * each + pictured + 64 * 16


@njit(cache=True, nogil=True)
def _take(work, at, rows, columns):
    """A matrix [rows, columns] of the work space and where the next one begins."""
    return work[at : at + rows * columns].reshape(rows, columns), at + (rows * columns + 15) // 16 * 16


@njit(cache=True, nogil=True)
def _layer(numbers, at, inputs, outputs):
    """A matrix [inputs, outputs] and its bias."""
    end = at + inputs * outputs
    return numbers[at:end].reshape(inputs, outputs), numbers[end : end + outputs]


@njit(cache=True, nogil=True, error_model="numpy")
def _look(rows, pictures, corners, sizes, places, scale, numbers, work, at, out):
    """Features out [n, picture] of pictures [N, words] uint64 at rows [n]; work space from place `at` on."""
    n, count, wide = rows.size, corners.size, PATCH * PATCH * sizes.channels
    words = np.empty(pictures.shape[1], np.uint64)
    ordered = words.view(np.uint8)
    last, at = _take(work, at, n * GRID * GRID, MERGE_WIDTH)
    pixels, at = _take(work, at, FEW * count, wide)
    one, at = _take(work, at, FEW * count, PATCH_WIDTH)
    two, at = _take(work, at, FEW * count, MERGE_WIDTH)
    for low in range(0, n, FEW):
        high = min(low + FEW, n)
        some = high - low
        for i in range(some):
            order_picture(pictures[rows[low + i]], corners, sizes, words)
            to_floats(ordered, scale, pixels[i * count : (i + 1) * count].reshape(count * wide))
        weight, bias = _layer(numbers, places.patch, wide, PATCH_WIDTH)
        below = one[: some * count]
        plain(pixels[: some * count], weight, ZERO, below)
        bias_relu(below, bias)
        left, depth = count, PATCH_WIDTH
        for k in range(sizes.merges):
            left //= 4
            weight, bias = _layer(numbers, places.merge[k], 4 * depth, MERGE_WIDTH)
            source = below.reshape(some * left, 4 * depth)
            if k == sizes.merges - 1:
                below = last[low * left : high * left]
            elif k == 0:
                below = two[: some * left]
            else:
                # The first merge's output lies in `two`; from there on `one` is free.
                below = one.reshape(one.size // MERGE_WIDTH, MERGE_WIDTH)[: some * left]
            plain(source, weight, ZERO, below)
            bias_relu(below, bias)
            depth = MERGE_WIDTH
    weight, bias = _layer(numbers, places.linear, LAST, sizes.picture)
    plain(last.reshape(n, LAST), weight, ZERO, out)
    bias_relu(out, bias)


@njit(cache=True, nogil=True, error_model="numpy")
def _decide(rows, given, sizes, places, scale, numbers, work, out):
    """Decisions of rows [n] of everything in `given`, by the policy whose weights are numbers [total]; see `act`."""
    raw, pictures, corners, privileged, memory, latent, drawn, greedy = given
    action, log_prob, value, after, logits = out
    n, hidden, width = rows.size, sizes.hidden, sizes.encoded + sizes.hidden
    features, at = _take(work, 0, n, padded_inputs(sizes))
    both, at = _take(work, at, n, width)
    gates, at = _take(work, at, n, 4 * hidden)
    old, at = _take(work, at, n, hidden)
    cell, at = _take(work, at, n, hidden)
    shown, at = _take(work, at, n, hidden)
    core, at = _take(work, at, n, hidden)
    ordinary = sizes.privileged == 0
    columns = sizes.actions + (1 if ordinary else 0)
    heads, at = _take(work, at, n, columns)
    for i in range(n):
        row, h = memory[rows[i]], both[i]
        for j in range(hidden):
            h[sizes.encoded + j] = row[j]
        cells = old[i]
        for j in range(hidden):
            cells[j] = row[hidden + j]
    if sizes.picture:
        _look(rows, pictures, corners, sizes, places, scale, numbers, work, at, both[:, : sizes.picture])
    if sizes.embedding:
        for i in range(n):
            write_features(raw[rows[i]], latent[rows[i]], sizes, features[i])
        weight, bias = _layer(numbers, places.embedding, sizes.inputs, sizes.embedding)
        encoded = both[:, sizes.picture : sizes.encoded]
        plain(features[:, : sizes.inputs], weight, ZERO, encoded)
        bias_relu(encoded, bias)
    weight, bias = _layer(numbers, places.gates, width, 4 * hidden)
    plain(both, weight, ZERO, gates)
    lstm_forward(gates, bias, old, cell, shown, core)
    weight, bias = _layer(numbers, places.heads, hidden, columns)
    plain(core, weight, ZERO, heads)
    add_bias(heads, bias)
    for i in range(n):
        row, h, c = after[rows[i]], core[i], cell[i]
        for j in range(hidden):
            row[j] = h[j]
        for j in range(hidden):
            row[hidden + j] = c[j]
        value[rows[i]] = heads[i, sizes.actions] if ordinary else F(np.nan)
    if privileged.shape[0]:
        _judge(rows, core, privileged, sizes, places, numbers, work, at, value)
    for i in range(n):
        r = rows[i]
        z = logits[r]
        for j in range(sizes.actions):
            z[j] = heads[i, j]
        if sizes.latent_logits:
            first = places.latent_logits + latent[r] * sizes.actions
            for j in range(sizes.actions):
                z[j] += numbers[first + j]
        action[r], log_prob[r] = _choose(z, drawn[r], greedy, heads[i])


@njit(cache=True, nogil=True)
def padded_inputs(sizes):
    """`inputs.padded` of a network's inputs, for kernels."""
    return (sizes.inputs + 15) // 16 * 16


@njit(cache=True, nogil=True, error_model="numpy")
def _judge(rows, core, privileged, sizes, places, numbers, work, at, value):
    """Values value [N] at rows [n] of an informed critic that sees core [n, H] and privileged [N, privileged]."""
    n, hidden, more = rows.size, sizes.hidden, sizes.privileged
    shown, at = _take(work, at, n, more)
    inside, at = _take(work, at, n, hidden)
    for i in range(n):
        row, to = privileged[rows[i]], shown[i]
        for j in range(more):
            to[j] = row[j]
    weight, bias = _layer(numbers, places.mix, hidden + more, hidden)
    plain(core, weight[:hidden], ZERO, inside)
    plain(shown, weight[hidden:], ONE, inside)
    bias_relu(inside, bias)
    weight, bias = _layer(numbers, places.last, hidden, 1)
    for i in range(n):
        total, row = bias[0], inside[i]
        for j in range(hidden):
            total += row[j] * weight[j, 0]
        value[rows[i]] = total


@loop
def _choose(logits, drawn, greedy, scratch):
    """An action and its log probability from logits [A]: the likeliest, or by inverting the cumulative distribution at a
    uniform number; scratch [>= A] is overwritten."""
    actions = logits.size
    best, top = 0, logits[0]
    for j in range(1, actions):
        if logits[j] > top:
            best, top = j, logits[j]
    for j in range(actions):
        scratch[j] = exp(logits[j] - top)
    mass = ZERO
    for j in range(actions):
        mass += scratch[j]
    chosen = best
    if not greedy:
        chosen, reached, limit = 0, ZERO, drawn * mass
        # The last action is what is left, so that no rounding leads beyond it.
        for j in range(actions - 1):
            reached += scratch[j]
            if reached <= limit:
                chosen += 1
    return chosen, logits[chosen] - top - F(math.log(mass))


@njit(cache=True, nogil=True, error_model="numpy")
def act(order, starts, given, sizes, places, scale, table, work, out):
    """Decisions of n robots by several policies.

    order [n] int64: robots by policy; starts [K + 1] int64: where each policy's robots begin in it; table [K, total]: the
    policies' weights as `Places` says. given: raw [n, raw] float32, pictures [n, words] uint64, corners (`block_order`),
    privileged [n, P] or [0, P], memory [n, 2H], latent [n] int64, drawn [n] float32, greedy. out: action [n] int64, log_prob
    [n], value [n] (nan where an informed critic is shown nothing), memory after [n, 2H], logits [n, A].
    """
    for k in range(table.shape[0]):
        if starts[k + 1] > starts[k]:
            _decide(order[starts[k] : starts[k + 1]], given, sizes, places, scale, table[k], work, out)


def new_table(policies: int, places: Places) -> np.ndarray:
    """Room for the weights of some policies."""
    return empty(policies, places.total)
