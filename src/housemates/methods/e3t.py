"""E3T (Yan et al., NeurIPS 2023): one agent, one stage, beside itself with random decisions in between.

A partner's decision is random with probability eps, else what the agent itself would do. The agent also learns to predict from
its memory what its partner does (`training.partner_model`); docs/concepts/methods/e3t.md says what differs from the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.methods.ego import AGENT
from housemates.methods.one_stage import OneAgent, one_learner
from housemates.policies.config import PolicyConfig
from housemates.sim.batch import Batch
from housemates.training.disturbances import NOISE, SLOW, UNDISTURBED, Disturbances, Disturber
from housemates.training.rollout import Slots


@dataclass(frozen=True)
class E3TSettings:
    """What its partners are."""

    eps: float = 0.5
    """Share of a partner's decisions that are random, each of the actions as likely; the others are the agent's own."""
    redraw: int = 10
    """Updates between two draws of which robot of a home learns."""

    def __post_init__(self) -> None:
        if not 0 <= self.eps <= 1:
            raise ValueError(f"eps = {self.eps} - give a share from 0 to 1")
        if self.redraw < 1:
            raise ValueError(f"redraw = {self.redraw} - it must be at least 1")


class Mixture(Disturber):
    """Makes a share of every partner's decisions random; those that the settings disturb besides keep that."""

    def __init__(self, batch: Batch, config: Disturbances, seed: list[int], eps: float) -> None:
        super().__init__(batch, config, seed)
        self.eps = eps

    def draw(self, homes: np.ndarray, some: np.ndarray, number: np.ndarray | None) -> None:
        """As the settings say, if they say something; whoever errs or waits by them does nothing else."""
        if self.config.share:
            super().draw(homes, some, number)
        else:
            self.kind[homes], self.rate[homes] = UNDISTURBED, 0.0
        mixed = some & (self.kind != NOISE) & (self.kind != SLOW)
        self.rate[mixed] = self.eps


class E3T(OneAgent):
    """The agent moves all robots; it learns from one of each home, and the others are mixtures."""

    def __init__(self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: E3TSettings | None = None) -> None:
        super().__init__(config, robots, seed)
        self.settings = settings or E3TSettings()

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """Every home draws the robot that learns."""
        return None if update % self.settings.redraw else one_learner(rng, homes, robots, AGENT)

    def disturber(self, batch: Batch, config: Disturbances, seed: list[int]) -> Disturber | None:
        """The mixture."""
        return Mixture(batch, config, seed, self.settings.eps)
