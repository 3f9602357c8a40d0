"""Population-based training (PBT): members of one population play with random others, and all of them learn.

As in the paper (section 5.1) nobody is replaced or mutated, despite the name. A member may meet itself.
"""

from __future__ import annotations

import numpy as np

from housemates.learning.rollout import Slots
from housemates.populations.self_play import SelfPlay


class PBT(SelfPlay):
    """Random ordered teams, redrawn for every home every few updates; each member moves the same number of robots."""

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """For each robot a new deal of the members over the homes."""
        if update % self.settings.redraw:
            return None
        dealt = np.arange(homes) % self.settings.members
        player = np.stack([rng.permutation(dealt) for _ in range(robots)], axis=1).astype(np.int16)
        return Slots(player, np.zeros((homes, robots), np.int64), np.ones((homes, robots), np.bool_))
