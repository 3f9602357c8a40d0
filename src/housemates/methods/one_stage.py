"""What methods of one stage share: one agent, whose partners are itself or copies of it, and no population."""

from __future__ import annotations

import numpy as np

from housemates import run_folder
from housemates.methods.ego import AGENT, AGENT_SEED
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.training.method import Members
from housemates.training.rollout import Slots


class OneAgent(Members):
    """The agent is player 0; players beside it are frozen copies."""

    one_agent = True

    def __init__(self, config: PolicyConfig, robots: int, seed: int, copies: int = 0) -> None:
        """copies: frozen players beside the agent, which begin with its weights."""
        if robots < 2:
            raise ValueError(f"{robots} robot has no partner to coordinate with - use --robots 2 or more")
        policies = [Policy(config, seed=seed * 1000 + AGENT_SEED) for _ in range(1 + copies)]
        for copy in policies[1:]:
            copy.requires_grad_(False)
        super().__init__(policies, [True] + [False] * copies)

    def place(self, player: int) -> str:
        """Where evaluation, page and reports look for a run's agent."""
        return run_folder.AGENT


def one_learner(rng: np.random.Generator, homes: int, robots: int, partner: int) -> Slots:
    """Slots in which the agent moves one robot of each home, drawn at random, and learns from it; player `partner` moves the
    others."""
    learns = np.zeros((homes, robots), np.bool_)
    learns[np.arange(homes), rng.integers(robots, size=homes)] = True
    return Slots(np.where(learns, AGENT, partner).astype(np.int16), np.zeros((homes, robots), np.int64), learns)
