"""Population-based training (PBT): members of one population play with random others, and all of them learn.

As in the paper (section 5.1) nobody is replaced or mutated, despite the name. Members meet *other* members (appendix D.2),
never themselves; only where there are fewer members than robots one of them moves several robots of a home.
"""

from __future__ import annotations

import numpy as np

from housemates.learning.rollout import Slots
from housemates.populations.self_play import SelfPlay


class PBT(SelfPlay):
    """Random ordered teams, redrawn for every home every few updates; each member moves the same number of robots."""

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """Each block of as many homes as there are members: a random order of the members for the first robot, and the same
        order moved on by other amounts for the others, so that nobody is twice in a home or twice at a place of a block."""
        if update % self.settings.redraw:
            return None
        members = self.settings.members
        blocks = np.tile(np.arange(members), (-(-homes // members), 1))
        order, moved = rng.permuted(blocks, axis=1), rng.permuted(blocks, axis=1)
        # [block, home, robot]: the place in the block's order; robots beyond the number of members begin again.
        places = (np.arange(members)[:, None] + moved[:, None, np.arange(robots) % members]) % members
        player = order[np.arange(len(order))[:, None, None], places].reshape(-1, robots)[:homes].astype(np.int16)
        return Slots(player, np.zeros((homes, robots), np.int64), np.ones((homes, robots), np.bool_))
