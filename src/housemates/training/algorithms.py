"""The learning algorithms by name, those of the package first."""

from __future__ import annotations

from typing import Any

from housemates.plugins import Table
from housemates.training.algorithm import Algorithm
from housemates.training.ppo import PPOAlgorithm

PPO_PATHS = ("auto", "torch", "fused")
"""Values of `Training.learner` that mean PPO and say what computes it."""


class AlgorithmTable(Table[Any]):
    """Children of `Algorithm` by their `name`."""

    def fits(self, thing: Any) -> bool:
        """Whether it is such a class."""
        return isinstance(thing, type) and issubclass(thing, Algorithm)

    def read(self, thing: Any, name: str) -> type[Algorithm]:
        """The class, under its own name."""
        made = super().read(thing, name)
        if not made.name.isidentifier() or made.name in PPO_PATHS:
            raise ValueError(f"a learning algorithm cannot be called '{made.name}' - give it another `name`, one word")
        return made


ALGORITHMS = AlgorithmTable("learner", "housemates.learners", Algorithm, (PPOAlgorithm,))
"""All algorithms that are known here, by name."""


def register_algorithm(algorithm: type[Algorithm]) -> type[Algorithm]:
    """Make an algorithm of your own known by its `name` to everything in this process; returns it."""
    return ALGORITHMS.register(algorithm)


def find_algorithm(learner: str) -> type[Algorithm]:
    """The algorithm that `Training.learner` means."""
    return PPOAlgorithm if learner in PPO_PATHS else ALGORITHMS.find(learner)
