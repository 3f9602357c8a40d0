"""What a learning algorithm says to the trainer: what is stored, how one rollout improves one learner, what resuming needs.

The trainer never asks which algorithm it runs. PPO is `training.ppo`; an algorithm of one's own is a child of `Algorithm`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import nn

from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.training.distributed import Group
from housemates.training.rollout import Learner
from housemates.training.store import Store

if TYPE_CHECKING:
    from housemates.training.settings import Training


class Algorithm(ABC):
    """How one learner improves. There is one object for each learner; a child must say `update`."""

    name: ClassVar[str] = ""
    """What users call it: `--change learner=NAME`."""

    def __init__(self, learner: Learner, training: Training, batch: Batch, group: Group, index: int, path: str) -> None:
        """index: the learner's number; path: what `choose_path` answered."""
        self.learner, self.training, self.batch, self.group = learner, training, batch, group
        self.index, self.path, self.rate = index, path, 0.0
        """rate: the present learning rate, for the log."""
        self.optimiser = self.optimise()

    @classmethod
    def choose_path(cls, training: Training, policies: Sequence[Policy], device: str, group: Group) -> str:
        """What computes, of all learners and workers: `torch`, or another word that resume points keep."""
        return "torch"

    def optimise(self) -> torch.optim.Optimizer:
        """The optimiser: Adam over all networks. What an algorithm has beside the policy is made before."""
        learnt = [parameter for network in self.networks().values() for parameter in network.parameters()]
        return torch.optim.Adam(learnt, lr=self.training.ppo.learning_rate, eps=1e-5, fused=True)

    @property
    def observations(self) -> tuple[str, ...]:
        """What is stored with each decision: what the policy sees, and what only training reads."""
        config = self.learner.policy.config
        return (*config.observations, *(("privileged",) if config.informed else ()))

    @property
    def labels(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Shape and type of what is noted with each decision of a partner (`training.partner_model`): nothing."""
        return {}

    def networks(self) -> dict[str, nn.Module]:
        """Everything with weights, by the name it has in resume points."""
        return {"weights": self.learner.policy}

    @abstractmethod
    def update(
        self, store: Store, streams: int, bonus: np.ndarray | None, rng: np.random.Generator, left: float
    ) -> dict[str, float]:
        """Improve the learner from one rollout, in place, on all workers alike; returns what is logged under `losses/`.

        store: its decisions, of which `store.closed` are complete; streams: robots in all homes, `store.stream` is below it;
        bonus [N]: extra reward of the method, None for none; left: the share of the run that is left, 1 to 0.
        """

    def set_rate(self, rate: float) -> None:
        """Give the optimiser a learning rate."""
        self.rate = rate
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def state(self) -> dict[str, np.ndarray]:
        """Everything beside the networks that must be kept to continue exactly, as arrays of one or more dimensions: the
        optimiser's moments."""
        return {
            f"adam/{number}/{name}": torch.as_tensor(value).cpu().numpy()
            for number, values in self.optimiser.state_dict()["state"].items()
            for name, value in values.items()
        }

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `state`; there may be other arrays beside those."""
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in arrays.items():
            if key.startswith("adam/"):
                _, number, name = key.split("/")
                state.setdefault(int(number), {})[name] = torch.from_numpy(value.copy())
        self.optimiser.load_state_dict({"state": state, "param_groups": self.optimiser.state_dict()["param_groups"]})
