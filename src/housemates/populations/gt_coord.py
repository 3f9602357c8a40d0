"""GT Coord: as many policies as robots, trained together from the start and always with each other (paper, section 5.1).

The paper's oracle for coordination among partners that know each other; also how learned holdouts are made.
"""

from __future__ import annotations

import numpy as np

from housemates.learning.method import Members
from housemates.learning.rollout import Slots
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy


class GTCoord(Members):
    """Policy r always moves robot r; every policy learns from its own robot."""

    def __init__(self, config: PolicyConfig, robots: int = 2, seed: int = 0) -> None:
        super().__init__([Policy(config, seed=seed * 1000 + r) for r in range(robots)])

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """The same for ever: set once."""
        if update > 0:
            return None
        player = np.tile(np.arange(robots, dtype=np.int16), (homes, 1))
        return Slots(player, np.zeros((homes, robots), np.int64), np.ones((homes, robots), np.bool_))


class Solo(GTCoord):
    """One robot alone in the home: the same learner without anybody to coordinate with."""

    def __init__(self, config: PolicyConfig, robots: int = 1, seed: int = 0) -> None:
        if robots != 1:
            raise ValueError(f"the method 'solo' trains one robot alone, not {robots} - use --robots 1")
        super().__init__(config, 1, seed)
