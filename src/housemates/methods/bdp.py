"""Behavior Diversity Play: one policy, many behaviours, each paid for being told from the others (paper, section 4.2).

A latent chooses the behaviour. All robots of a home are moved by the same policy, each with a latent of its own, and a
discriminator pays for steps that give it away. The paper's ablations leave out the payment, the shared network, or both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from housemates.methods.discriminator import Diversity, DiversityReward
from housemates.methods.self_play import PBT, PopulationSettings
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.training.distributed import Group
from housemates.training.method import Members
from housemates.training.rollout import Slots
from housemates.training.store import Store

DISCRIMINATOR_SEED = 700
"""Added to the seed, so that discriminator and policies begin with other numbers."""


@dataclass(frozen=True)
class BDPSettings(Diversity):
    """How behaviours differ, and what they are paid for it."""

    branches: bool = False
    """Whether each latent has a memory, an actor and a critic of its own behind a shared encoder (ablations; else it is an
    input of one network)."""
    latent_logit_std: float = 0.0
    """Standard deviation of the logits that each latent adds before training (see `PolicyConfig`); branches have none."""


class BDP(Members):
    """A shared policy with K latents moves all robots and learns from all of them."""

    def __init__(self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: BDPSettings | None = None) -> None:
        self.settings = settings or BDPSettings()
        latents, branches = self.settings.latents, self.settings.branches
        config = replace(
            config, latent=latents, branches=branches, latent_logit_std=0.0 if branches else self.settings.latent_logit_std
        )
        super().__init__([Policy(config, seed=seed * 1000)])
        self.diversity = DiversityReward(self.settings, seed * 1000 + DISCRIMINATOR_SEED)
        self.needs = self.diversity.needs

    def begin(self, group: Group, batch: Batch) -> None:
        """Remember the group, tell it to the discriminator."""
        super().begin(group, batch)
        self.diversity.begin(group, batch.rules.horizon)

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """For every home and robot a latent, drawn again every few updates (appendix C.3); robots may have the same."""
        if update % self.settings.redraw:
            return None
        shape = (homes, robots)
        latent = rng.integers(self.settings.latents, size=shape)
        return Slots(np.zeros(shape, np.int16), latent, np.ones(shape, np.bool_))

    def bonus(self, player: int, store: Store) -> np.ndarray | None:
        """Weight * log q(latent | last 40 steps) of every decision."""
        return self.diversity.pay(store, store.latent, self.progress)

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """The discriminator learns after the policy, so that it has paid as it was during the rollout."""
        return self.diversity.learn()

    def state(self) -> dict[str, np.ndarray]:
        """The discriminator."""
        return self.diversity.state()

    def load(self, state: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        self.diversity.load(state)


class BDPSeparate(PBT):
    """BDP-[Latent (Sep Enc)]: a PBT population whose members are paid for being told from each other."""

    def __init__(self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: Diversity | None = None) -> None:
        chosen = settings or Diversity()
        super().__init__(config, robots, seed, PopulationSettings(chosen.latents, chosen.redraw))
        self.diversity = DiversityReward(chosen, seed * 1000 + DISCRIMINATOR_SEED)
        self.needs = self.diversity.needs

    def begin(self, group: Group, batch: Batch) -> None:
        """Remember the group, tell it to the discriminator."""
        super().begin(group, batch)
        self.diversity.begin(group, batch.rules.horizon)

    def bonus(self, player: int, store: Store) -> np.ndarray | None:
        """Weight * log q(member | last 40 steps) of every decision."""
        return self.diversity.pay(store, np.full(store.size, player), self.progress)

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """The discriminator learns after the members, so that it has paid as it was during the rollout."""
        return super().after_update(stores, finished) | self.diversity.learn()

    def state(self) -> dict[str, np.ndarray]:
        """The discriminator."""
        return super().state() | self.diversity.state()

    def load(self, state: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        super().load(state)
        self.diversity.load(state)
