"""Methods without an extra reward: GT Coord, solo, self-play (SP), PBT and FCP.

They differ in who plays with whom and in which checkpoints form the population (paper, sections 5.1 and D.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from housemates.agents.agent import Agent
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import MOMENTS
from housemates.training.method import Members
from housemates.training.rollout import Slots


@dataclass(frozen=True)
class PopulationSettings:
    """How a population of separate policies is trained."""

    members: int = 8
    """Policies in the population (paper: 8)."""
    redraw: int = 10
    """Updates between two draws of who plays with whom (paper: 10)."""

    def __post_init__(self) -> None:
        for name in ("members", "redraw"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")


class SelfPlay(Members):
    """Member m moves all robots of every home of its share, and learns from all of them."""

    redraws = False

    def __init__(
        self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: PopulationSettings | None = None
    ) -> None:
        self.settings = settings or PopulationSettings()
        super().__init__([Policy(config, seed=seed * 1000 + m) for m in range(self.settings.members)])

    def begin(self, group, batch) -> None:
        """Every member needs a home."""
        super().begin(group, batch)
        if batch.size < self.settings.members:
            raise ValueError(
                f"{batch.size} homes a worker for {self.settings.members} members - use --change num_envs="
                f"{self.settings.members * group.size} or more, or fewer with method.members"
            )

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """The same for ever: homes are dealt out evenly."""
        if update > 0:
            return None
        player = np.repeat((np.arange(homes) % self.settings.members).astype(np.int16)[:, None], robots, axis=1)
        return Slots(player, np.zeros((homes, robots), np.int64), np.ones((homes, robots), np.bool_))


class PBT(SelfPlay):
    """Random ordered teams, redrawn for every home every few updates; each member moves the same number of robots."""

    redraws = True

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """Each block of as many homes as there are members: a random order of the members for the first robot, and the same
        order moved on by other amounts for the others, so that no policy is twice in a home or twice at a place of a block."""
        if update % self.settings.redraw:
            return None
        members = self.settings.members
        blocks = np.tile(np.arange(members), (-(-homes // members), 1))
        order, moved = rng.permuted(blocks, axis=1), rng.permuted(blocks, axis=1)
        # [block, home, robot]: the place in the block's order; robots beyond the number of members begin again.
        places = (np.arange(members)[:, None] + moved[:, None, np.arange(robots) % members]) % members
        player = order[np.arange(len(order))[:, None, None], places].reshape(-1, robots)[:homes].astype(np.int16)
        return Slots(player, np.zeros((homes, robots), np.int64), np.ones((homes, robots), np.bool_))


def earlier_versions(members: Sequence[Agent]) -> list[Agent]:
    """The starts of all members, then their middles; what their meta says is that of the last versions."""
    return [replace(p, name=f"{p.name}-{when}", path=f"{p.path}/{when}") for when in MOMENTS for p in members]


class FCP(SelfPlay):
    """Trained as self-play; three partners of each member."""

    def population(self) -> list[Agent]:
        """All ends, then all starts, then all middles."""
        ends = super().population()
        return ends + earlier_versions(ends)


class GTCoord(Members):
    """Policy r always moves robot r; every policy learns from its own robot."""

    redraws = False

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
