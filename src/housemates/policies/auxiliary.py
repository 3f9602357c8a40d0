"""Heads that exist in training only: they make the memory hold what the ground truth says (design of the learner, depth).

They are no part of a policy and of no checkpoint of one.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from housemates.policies.pictures import orthogonal


class Auxiliary(nn.Module):
    """Predicts bits from the memory's output: core [..., core_size] to logits [..., targets]."""

    def __init__(self, core_size: int, targets: int, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head = nn.Linear(core_size, targets)
            orthogonal(self.head, 0.1)

    def forward(self, core: Tensor) -> Tensor:
        return self.head(core)

    def loss(self, core: Tensor, bits: Tensor, valid: Tensor | None = None) -> Tensor:
        """Mean binary cross-entropy, nats per bit, of bits [..., targets] over the decisions that are valid [...] (or all)."""
        each = nn.functional.binary_cross_entropy_with_logits(self(core), bits.to(core.dtype), reduction="none").mean(-1)
        if valid is None:
            return each.mean()
        weight = valid.to(each.dtype)
        return (each * weight).sum() / weight.sum().clamp(min=1)
