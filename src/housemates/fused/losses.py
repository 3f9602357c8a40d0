"""The losses of PPO and their gradients with respect to the network's outputs, in one loop over decisions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from housemates.fused.pointwise import FAST, HALF, ONE, ZERO, F, exp, loop, sigmoid

LOSSES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
LOSSES += ("auxiliary_loss", "partner_action_loss", "distillation_loss")
"""What `losses_and_gradients` adds up, in this order."""
FACTORS = 64
"""Numbers between 1 and 2 whose product float32 surely holds."""


class Weights(NamedTuple):
    """The numbers of PPO that decide the loss, float32."""

    clip: np.float32
    clip_value: bool
    value: np.float32
    """Weight of the value loss."""
    entropy: np.float32
    """Weight of the entropy bonus."""
    label: np.float32
    """Weight of the loss of the partner's predicted action."""
    imitate: np.float32
    """Weight of the cross-entropy of what a teacher would do."""
    bits: np.ndarray
    """[bits] float32, weight of each predicted bit's loss."""


class Decisions(NamedTuple):
    """What is known of the N decisions of a rollout."""

    action: np.ndarray
    """[N] int64."""
    log_prob: np.ndarray
    """[N] float32 of the action when it was taken."""
    value: np.ndarray
    """[N] float32, then, in the critic's present units."""
    advantage: np.ndarray
    """[N] float32."""
    target: np.ndarray
    """[N] float32, what the value should have been, in the same units."""
    latent: np.ndarray
    """[N] int64."""
    explore: np.ndarray
    """[N] float32, factor of the entropy bonus."""
    bits: np.ndarray
    """[N, bits] uint8, what the auxiliary head is to predict."""
    label: np.ndarray
    """[N] int64, the class that it is to predict, below 0 where that is not known; [0] without classes."""
    taught: np.ndarray
    """[N] int8, the action of a teacher, below 0 where there is none; [0] without a teacher."""


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def losses_and_gradients(at, decisions, weights, sizes, out, value, total):
    """Gradients of the mean loss over decisions at [n].

    out [n, heads] (logits, value of an ordinary critic, bits, classes) and value [n] (of an informed critic) become gradients;
    total [8] float64 has the means of LOSSES added.
    """
    n, actions, informed = at.size, sizes.actions, sizes.privileged > 0
    each = F(1.0 / n)
    clip = weights.clip
    sums = np.zeros(8)
    for i in range(n):
        k, z = at[i], out[i]
        top = z[0]
        for j in range(1, actions):
            top = max(top, z[j])
        mass = ZERO
        for j in range(actions):
            mass += exp(z[j] - top)
        log_mass = top + F(math.log(mass))
        entropy = ZERO
        for j in range(actions):
            z[j] -= log_mass
        for j in range(actions):
            entropy -= exp(z[j]) * z[j]
        chosen = decisions.action[k]
        moved = z[chosen] - decisions.log_prob[k]
        ratio = exp(moved)
        free, bound = ratio * decisions.advantage[k], min(max(ratio, ONE - clip), ONE + clip) * decisions.advantage[k]
        slope = -free if free <= bound else ZERO
        bonus = weights.entropy * decisions.explore[k]
        better = decisions.taught[k] if decisions.taught.size else -1
        pull = weights.imitate if better >= 0 else ZERO
        if better >= 0:
            sums[7] -= z[better]
        for j in range(actions):
            p = exp(z[j])
            z[j] = each * p * (bonus * (z[j] + entropy) - slope + pull)
        z[chosen] += each * slope
        if better >= 0:
            z[better] -= each * pull
        now = value[i] if informed else z[actions]
        old, target = decisions.value[k], decisions.target[k]
        gap = now - target
        loss = gap * gap
        if weights.clip_value:
            near = old + min(max(now - old, -clip), clip) - target
            if near * near > loss:
                loss = near * near
                if abs(now - old) > clip:
                    gap = ZERO
        if informed:
            value[i] = each * weights.value * gap
        else:
            z[actions] = each * weights.value * gap
        sums[0] -= min(free, bound)
        sums[1] += HALF * loss
        sums[2] += entropy
        sums[3] += ratio - ONE - moved
        sums[4] += ONE if abs(ratio - ONE) > clip else ZERO
    if sizes.bits:
        sums[5] = _auxiliary(at, decisions.bits, weights.bits, sizes, out)
    if sizes.classes:
        sums[6] = _classes(at, decisions.label, weights.label, sizes, out)
    for j in range(8):
        total[j] += sums[j] / n


@loop
def _auxiliary(at, bits, weight, sizes, out):
    """Binary cross-entropy of the columns of bits of out [n, heads], which become gradients by weight [bits]; returns its sum
    over decisions, mean over bits."""
    first, count = sizes.heads - sizes.classes - sizes.bits, sizes.bits
    each = F(1.0 / at.size)
    total = 0.0
    for i in range(at.size):
        z, b = out[i, first:], bits[at[i]]
        for low in range(0, count, FACTORS):
            linear, factor = ZERO, ONE
            for j in range(low, min(low + FACTORS, count)):
                linear += max(z[j], ZERO) - z[j] * F(b[j])
                factor *= ONE + exp(-abs(z[j]))
            total += linear + math.log(factor)
        for j in range(count):
            z[j] = each * weight[j] * (sigmoid(z[j]) - F(b[j]))
    return total / count


@loop
def _classes(at, label, weight, sizes, out):
    """Cross-entropy of the last columns of out [n, heads], which become gradients; returns its sum over decisions."""
    first, count = sizes.heads - sizes.classes, sizes.classes
    each = F(weight / at.size)
    total = 0.0
    for i in range(at.size):
        z, right = out[i, first:], label[at[i]]
        top = z[0]
        for j in range(1, count):
            top = max(top, z[j])
        mass = ZERO
        for j in range(count):
            mass += exp(z[j] - top)
        if right >= 0:
            total += top + math.log(mass) - z[right]
        share = each / mass if right >= 0 else ZERO
        for j in range(count):
            z[j] = share * exp(z[j] - top)
        if right >= 0:
            z[right] -= each
    return total
