"""Self-play (SP): every member of the population plays only with itself, on its own share of the homes (paper, section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.learning.method import Members
from housemates.learning.rollout import Slots
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy


@dataclass(frozen=True)
class PopulationSettings:
    """How a population of separate policies is trained."""

    members: int = 8
    """Policies in the population (paper: 8)."""
    redraw: int = 10
    """Updates between two draws of who plays with whom (paper: 10)."""

    def __post_init__(self) -> None:
        for name in ("members", "redraw"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")


class SelfPlay(Members):
    """Member m moves all robots of every home of its share, and learns from all of them."""

    def __init__(
        self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: PopulationSettings | None = None
    ) -> None:
        self.settings = settings or PopulationSettings()
        super().__init__([Policy(config, seed=seed * 1000 + m) for m in range(self.settings.members)])

    def begin(self, group, batch) -> None:
        """Every member needs a home."""
        super().begin(group, batch)
        if batch.size < self.settings.members:
            raise ValueError(
                f"{batch.size} homes a worker for {self.settings.members} members - use --change homes="
                f"{self.settings.members * group.size} or more, or fewer with method.members"
            )

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """The same for ever: homes are dealt out evenly."""
        if update > 0:
            return None
        player = np.repeat((np.arange(homes) % self.settings.members).astype(np.int16)[:, None], robots, axis=1)
        return Slots(player, np.zeros((homes, robots), np.int64), np.ones((homes, robots), np.bool_))
