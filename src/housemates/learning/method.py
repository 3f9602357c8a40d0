"""What a training method says to the trainer: who plays, with whom, and what else they are paid for.

The trainer never asks which method it runs; a method is one file in `populations`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from housemates.learning.rollout import Slots, Store
from housemates.policies.policy import Policy


class Method(Protocol):
    """The contract between the trainer and a method."""

    policies: list[Policy]
    """Everybody who plays; those that learn are changed in place."""
    trains: list[bool]
    """Which of them learn."""

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """Who moves each robot from each home's next episode on; None leaves everything as it is."""
        ...

    def bonus(self, player: int, store: Store) -> np.ndarray | None:
        """Extra reward [N] of a learner's decisions, None for none."""
        ...

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """Whatever the method does after each update (a discriminator, exchanging members); returns what is logged.

        finished: this worker's episodes that ended in the rollout, one row each (see `rollout.Finished`).
        """
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Everything the method must remember to continue exactly."""
        ...

    def load(self, state: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        ...
