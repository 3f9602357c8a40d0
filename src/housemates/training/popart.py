"""Value normalisation (PopArt): a critic that answers in units of the returns it has seen, without a change of its answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from housemates.policies.policy import BranchedLinear
from housemates.training.distributed import Group

KEEP = 0.95
"""How much of the old moments an update keeps; the first ones are corrected for it."""


@dataclass
class Scale:
    """Running mean and spread of value targets; until `follow` is called a critic's units are the reward's own."""

    mean: float = 0.0
    spread: float = 1.0
    first: float = 0.0
    """Running mean, not yet corrected."""
    second: float = 0.0
    """Running mean of squares, not yet corrected."""
    weight: float = 0.0
    """How much of the running means is filled, 0 to 1."""

    def real(self, value: np.ndarray) -> np.ndarray:
        """From the critic's units to rewards."""
        return value * self.spread + self.mean

    def unit(self, value: torch.Tensor) -> torch.Tensor:
        """From rewards to the critic's units."""
        return (value - self.mean) / self.spread

    def follow(self, targets: np.ndarray, critic: nn.Module, group: Group | None = None) -> None:
        """Move the units towards the targets [N] of all workers and rewrite the critic's last layer."""
        values = targets.astype(np.float64)
        count, total, squares = (group or Group()).sums(np.array([len(values), values.sum(), (values**2).sum()]))
        if count == 0:
            return
        self.first = KEEP * self.first + (1 - KEEP) * total / count
        self.second = KEEP * self.second + (1 - KEEP) * squares / count
        self.weight = KEEP * self.weight + (1 - KEEP)
        before, old = self.mean, self.spread
        self.mean = float(self.first / self.weight)
        self.spread = float(np.sqrt(max(self.second / self.weight - self.mean**2, 1e-4)))
        last = critic[-1] if isinstance(critic, nn.Sequential) else critic
        if not isinstance(last, nn.Linear | BranchedLinear):
            raise TypeError(f"the critic ends in {type(last).__name__}, not in a linear layer")
        with torch.no_grad():
            last.weight.mul_(old / self.spread)
            last.bias.mul_(old).add_(before - self.mean).div_(self.spread)

    def state(self) -> np.ndarray:
        """All numbers [5] float64."""
        return np.array([self.mean, self.spread, self.first, self.second, self.weight])

    def load(self, state: np.ndarray) -> None:
        """The inverse of `state`."""
        self.mean, self.spread, self.first, self.second, self.weight = (float(x) for x in state)
