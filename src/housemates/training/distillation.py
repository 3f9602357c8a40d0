"""The look-ahead as a teacher of stage 2: what it would do instead, where the agent's own decision is dangerous.

The agent acts, the teacher only says what it would have done (DAgger; Ross et al., AISTATS 2011). A manoeuvre is taught to its
end while the agent follows it. Nothing of it is left in the agent but what it has learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead, evasions_only
from housemates.sim.batch import Batch
from housemates.training.store import Store

TAUGHT = "taught"
"""Column of a store: the teacher's action, -1 where it would do the same or was not asked."""


@dataclass(frozen=True)
class Distillation:
    """How much the agent of stage 2 learns from the look-ahead, in training only."""

    weight: float = 0.0
    """Of the cross-entropy of the teacher's action at decisions that it would replace; 0 for none."""
    share: float = 0.25
    """Of the homes in which the teacher is asked: it costs more than deciding."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight < np.inf:
            raise ValueError(f"distillation.weight = {self.weight} - give a weight of 0 or more")
        if not 0 < self.share <= 1:
            raise ValueError(f"distillation.share = {self.share} - give a share above 0, at most 1")

    def columns(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Shape and type of what a store keeps for it."""
        return {TAUGHT: ((), np.int8)} if self.weight else {}


class Teacher:
    """Says what the look-ahead would do for learners in the first homes of a batch."""

    def __init__(self, batch: Batch, share: float) -> None:
        # It teaches to evade, not to hurry.
        self.planner = Planner(batch, evasions_only(LookAhead()))
        self.homes = max(1, round(share * batch.size))

    def teach(self, store: Store, mine: np.ndarray, open_at: np.ndarray, actions: np.ndarray, logits: np.ndarray) -> None:
        """Write into the rows open_at [E, R] of a store what robots mine [E, R] bool, which have just decided, had better do.

        actions [E, R]: all new decisions, -1 where a robot goes on with what it does; logits [E * R, A] of the learners.
        """
        rows = np.flatnonzero(mine)
        store.numbers[TAUGHT][open_at.reshape(-1)[rows]] = -1
        rows = rows[rows < self.homes * mine.shape[1]]
        if not len(rows):
            return
        wanted = actions.reshape(-1)[rows].astype(np.int64)
        better = self.planner.revise(rows, logits[rows], wanted, actions)
        differs = better != wanted
        store.numbers[TAUGHT][open_at.reshape(-1)[rows[differs]]] = better[differs]
        # Who does not follow has no manoeuvre to hold on to.
        self.planner.drop(rows[differs])
