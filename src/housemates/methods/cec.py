"""Cross-environment cooperation (CEC; Jha et al., ICML 2025): one agent, one stage, many homes, and nobody but itself.

The agent moves all robots of every home and learns from all of them. What it meets in variety are homes, not partners.
"""

from __future__ import annotations

import numpy as np

from housemates.methods.ego import AGENT
from housemates.methods.one_stage import OneAgent
from housemates.policies.config import PolicyConfig
from housemates.sim.batch import Batch
from housemates.training.disturbances import Disturbances, Disturber
from housemates.training.rollout import Slots


class CEC(OneAgent):
    """The agent plays with itself; all robots learn."""

    redraws = False

    def __init__(self, config: PolicyConfig, robots: int = 2, seed: int = 0) -> None:
        super().__init__(config, robots, seed)

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """The same for ever."""
        if update > 0:
            return None
        shape = homes, robots
        return Slots(np.full(shape, AGENT, np.int16), np.zeros(shape, np.int64), np.ones(shape, np.bool_))

    def disturber(self, batch: Batch, config: Disturbances, seed: list[int]) -> Disturber | None:
        """Nobody: robots that learn are never disturbed."""
        if config.share:
            raise ValueError("disturbances.share - all robots of cec learn, and only others are disturbed: leave it at 0")
        return None
