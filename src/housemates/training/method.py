"""What a training method says to the trainer: who plays, with whom, and what else they are paid for.

The trainer never asks which method it runs; a method is one file in `methods`, most easily a child of `Members`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from housemates.agents.agent import Agent
from housemates.policies.policy import Policy
from housemates.run_folder import member_place
from housemates.sim.batch import Batch
from housemates.training.distributed import Group
from housemates.training.disturbances import Disturbances, Disturber
from housemates.training.rollout import Slots
from housemates.training.store import Store


class Method(Protocol):
    """The contract between the trainer and a method."""

    policies: list[Policy]
    """All that play; those that learn are changed in place."""
    trains: list[bool]
    """Which of them learn."""
    needs: tuple[str, ...]
    """Arrays that are stored with each decision beside the usual ones, as they are at its END; so far `window`, in
    `Store.window` [N, 40, 3] float32: (x, z, executed action) of the robot's last 40 steps, zeros before the episode."""

    progress: float
    """Which share of the budget is done, 0 to 1; the trainer sets it before each update."""

    def begin(self, group: Group, batch: Batch) -> None:
        """Called once before anything else: the workers that train together, and this worker's homes."""
        ...

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """Who moves each robot from each home's next episode on; None leaves everything as it is."""
        ...

    def disturber(self, batch: Batch, config: Disturbances, seed: list[int]) -> Disturber | None:
        """Who disturbs the robots of stage 2 that do not learn, None for nobody; asked once, in stage 2 only."""
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

    def place(self, player: int) -> str:
        """The folder of a learner's policy inside the stage's."""
        ...

    def population(self) -> list[Agent]:
        """Who belongs to the finished population, named shortly (3, z5), with paths inside the stage's folder."""
        ...


class Members:
    """A method's usual answers: all policies learn from the task's reward alone and form the population."""

    needs: tuple[str, ...] = ()
    progress: float = 0.0
    redraws: bool = True
    """Whether `pairs` draws teams; where every home has its team for good, `Training.one_draw` changes nothing."""

    def __init__(self, policies: Sequence[Policy], trains: Sequence[bool] | None = None) -> None:
        self.policies = list(policies)
        self.trains = [True] * len(self.policies) if trains is None else list(trains)
        self.group = Group()

    def begin(self, group: Group, batch: Batch) -> None:
        """Remember the group."""
        self.group = group

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """This is what makes a method."""
        raise NotImplementedError

    def disturber(self, batch: Batch, config: Disturbances, seed: list[int]) -> Disturber | None:
        """Whoever the settings ask for."""
        return Disturber(batch, config, seed) if config.share else None

    def bonus(self, player: int, store: Store) -> np.ndarray | None:
        """Nothing but the task's reward."""
        return None

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """Nothing."""
        return {}

    def state(self) -> dict[str, np.ndarray]:
        """Nothing beside the policies."""
        return {}

    def load(self, state: dict[str, np.ndarray]) -> None:
        """Nothing to load."""

    def place(self, player: int) -> str:
        """Members are numbered."""
        return member_place(player)

    def population(self) -> list[Agent]:
        """Every learner, or each of its latents."""
        found = []
        for index, policy in enumerate(self.policies):
            place, count = self.place(index), policy.config.latent
            before = "" if sum(self.trains) == 1 else str(index)
            if self.trains[index] and count:
                found += [Agent(f"{before}z{z}", "latent", place, z) for z in range(count)]
            elif self.trains[index]:
                found.append(Agent(str(index), "learned", place))
        return found
