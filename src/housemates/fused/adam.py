"""Clipping by the global norm and one step of Adam, over flat arrays."""

from __future__ import annotations

import math

import numpy as np

from housemates.fused.pointwise import F, loop

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-5
"""Of Adam; the betas are torch's defaults."""


@loop
def norm(gradient):
    """Euclidean norm of gradient [n] float32; infinite where float32 does not hold its square, as torch's."""
    total = 0.0
    for i in range(gradient.size):
        total += np.float64(gradient[i]) * np.float64(gradient[i])
    return math.sqrt(np.float64(F(total)))


@loop
def adam(weights, gradient, first, second, step, rate, max_grad_norm):
    """Scale a gradient [n] down to at most max_grad_norm and take Adam's step number `step` (from 1); returns the norm before.

    weights, first and second moment [n] are changed; all as `clip_grad_norm_` and `torch.optim.Adam` do it.
    """
    length = norm(gradient)
    share = max_grad_norm / (length + 1e-6)
    # What is no number must stay so: the weights show it, and training ends.
    factor = F(1.0 if share > 1.0 else share)
    size = F(rate / (1.0 - BETA1**step))
    correction, epsilon = F(1.0 / math.sqrt(1.0 - BETA2**step)), F(EPSILON)
    keep1, keep2, new1, new2 = F(BETA1), F(BETA2), F(1.0 - BETA1), F(1.0 - BETA2)
    for i in range(weights.size):
        g = gradient[i] * factor
        mean = keep1 * first[i] + new1 * g
        square = keep2 * second[i] + new2 * g * g
        first[i] = mean
        second[i] = square
        weights[i] -= size * mean / (math.sqrt(square) * correction + epsilon)
    return length
