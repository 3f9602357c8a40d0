"""A curriculum of partners after unsupervised partner design (UPD; Ruhdorfer et al., 2025): one agent, one stage.

Partners are copies of the agent that are disturbed in a certain way: theta = (kind of disturbance, share of biased random
decisions, their distribution). Those with whom the agent succeeds about half of the time teach most: they come again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from housemates.methods.ego import AGENT
from housemates.methods.one_stage import OneAgent, one_learner
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.state import SUCCESS
from housemates.tasks.actions import ACTIONS, NO_OP
from housemates.training.distributed import Group
from housemates.training.disturbances import KINDS, LATEST, SLOW, UNDISTURBED, WAITING, Disturbances, Disturber
from housemates.training.rollout import NOBODY, Slots
from housemates.training.store import Store

COPY = 1
"""The player that all partners are: the agent as it was at the last draw."""
NO_GAME = -1
"""Where fewer games are known than are remembered."""


@dataclass(frozen=True)
class UPDSettings:
    """Which partners there may be, and which of them come again."""

    buffer: int = 256
    """Partners that are remembered, of all workers together: those from whom most can be learned."""
    window: int = 8
    """Last games with a partner that say how much can be learned from it; with fewer than half as many it is forgotten."""
    fresh: float = 0.5
    """Share of new partners in every draw; the others are the best of the buffer, each in one home."""
    redraw: int = 10
    """Updates between two draws, at which the copy takes over the agent's weights as well."""
    most: float = 0.8
    """Largest share of biased random decisions. Below 1 no partner stands still from the start, as a held-out script does."""
    concentration: float = 0.1
    """Of the Dirichlet distribution that the biases come from; small numbers prefer few of the actions."""

    def __post_init__(self) -> None:
        for name in ("buffer", "window", "redraw"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        if not 0 < self.fresh <= 1:
            raise ValueError(f"fresh = {self.fresh} - give a share above 0, at most 1")
        if not 0 <= self.most <= 0.9:
            raise ValueError(f"most = {self.most} - give a share from 0 to 0.9")
        if not 0.01 <= self.concentration < np.inf:
            raise ValueError(f"concentration = {self.concentration} - give at least 0.01")


class Thetas:
    """Partners by number, oldest first, with the last games that were played with each."""

    arrays = ("number", "kind", "eps", "bias", "games")

    def __init__(self, window: int) -> None:
        self.number = np.zeros(0, np.int64)
        """[K], ascending."""
        self.kind = np.zeros(0, np.int8)
        """[K] index into `disturbances.KINDS`."""
        self.eps = np.zeros(0)
        """[K] share of decisions that are random."""
        self.bias = np.zeros((0, len(ACTIONS)))
        """[K, A] how likely each action is then."""
        self.games = np.zeros((0, window), np.int8)
        """[K, window] 1 for success, 0 for failure, newest last, NO_GAME before the first."""

    def add(self, count: int, first: int, settings: UPDSettings, rng: np.random.Generator) -> np.ndarray:
        """Draw new ones; returns their numbers, from `first` on."""
        kind = rng.integers(len(KINDS), size=count).astype(np.int8)
        eps = np.where(kind == UNDISTURBED, 0.0, rng.random(count) * settings.most)
        bias = rng.dirichlet(np.full(len(ACTIONS), settings.concentration), size=count)
        number = np.arange(first, first + count)
        fresh = number, kind, eps, bias, np.full((count, self.games.shape[1]), NO_GAME, np.int8)
        for name, values in zip(self.arrays, fresh, strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), values]))
        return number

    def keep(self, which: np.ndarray) -> None:
        """Forget all but those at which [k], ascending."""
        for name in self.arrays:
            setattr(self, name, getattr(self, name)[which])

    def find(self, number: np.ndarray) -> np.ndarray:
        """Where partners of these numbers [...] are, NOBODY for those that are not known (any more)."""
        if not len(self.number):
            return np.full(number.shape, NOBODY)
        at = np.minimum(np.searchsorted(self.number, number), len(self.number) - 1)
        return np.where(self.number[at] == number, at, NOBODY)

    def played(self, number: int, success: bool) -> None:
        """Note one game; one with a partner that is forgotten is left out."""
        at = int(self.find(np.array(number)))
        if at != NOBODY:
            self.games[at] = [*self.games[at, 1:], success]

    def learnability(self) -> np.ndarray:
        """[K] p (1 - p) of the share p of successful games; below zero where fewer than half of the window were played."""
        known = self.games != NO_GAME
        count = known.sum(axis=1)
        rate = (self.games == 1).sum(axis=1) / np.maximum(count, 1)
        return np.where(2 * count >= self.games.shape[1], rate * (1 - rate), -1.0)

    def best(self) -> np.ndarray:
        """Places of all that can be judged, highest learnability first, the newer of equal ones first."""
        score = self.learnability()
        order = np.lexsort((-self.number, -score))
        return order[score[order] >= 0]


class Curriculum(Disturber):
    """Disturbs each partner as its theta says."""

    kept = ("kind", "at", "rate", "limits_of")

    def __init__(self, batch: Batch, config: Disturbances, seed: list[int], thetas: Thetas) -> None:
        super().__init__(batch, config, seed)
        self.thetas = thetas
        self.limits_of = np.ones((*self.kind.shape, len(ACTIONS)))
        """[E, R, A] cumulative distribution of each robot's random decisions."""

    def draw(self, homes: np.ndarray, some: np.ndarray, number: np.ndarray | None) -> None:
        """Whoever has a number of a theta becomes that; who plays on with one that is forgotten stays as it is."""
        place = self.thetas.find(np.full(some.shape, NOBODY) if number is None else number)
        mine = some & (place != NOBODY)
        at = place[mine]
        self.kind[homes[:, None] & ~some], self.rate[homes[:, None] & ~some] = UNDISTURBED, 0.0
        self.kind[mine], self.rate[mine] = self.thetas.kind[at], self.thetas.eps[at]
        self.limits_of[mine] = np.cumsum(self.thetas.bias[at], axis=1)
        early = self.config.earliest + self.rng.random(some.shape) ** 2 * (LATEST - self.config.earliest)
        self.at = np.where(some, early.astype(np.int32), self.at)

    def disturb(self, actions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """A share of the decisions [n] of robots rows [n] is biased random; slow robots wait before most of theirs."""
        rate, kind = self.rate.reshape(-1)[rows], self.kind.reshape(-1)[rows]
        # Only for them is anything drawn, so that it does not matter who else decides in the same call.
        some = np.flatnonzero((rate > 0) | (kind == SLOW))
        drawn = self.rng.random((3, len(some)))
        limits = self.limits_of.reshape(-1, len(ACTIONS))[rows[some]]
        biased = np.minimum((limits <= drawn[1][:, None]).sum(axis=1), len(ACTIONS) - 1)
        mixed = np.where(drawn[0] < rate[some], biased, actions[some])
        carried = actions.copy()
        carried[some] = np.where((kind[some] == SLOW) & (drawn[2] < WAITING), NO_OP, mixed)
        return carried


class UPD(OneAgent):
    """The agent moves one robot of each home, disturbed copies of it all others."""

    def __init__(self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: UPDSettings | None = None) -> None:
        super().__init__(config, robots, seed, copies=1)
        self.settings = settings or UPDSettings()
        self.thetas, self.drawn, self.updates = Thetas(self.settings.window), 0, 0
        self.room = self.settings.buffer

    def begin(self, group: Group, batch: Batch) -> None:
        """Every worker has its share of the buffer, for the homes that it plays."""
        super().begin(group, batch)
        self.room = max(1, self.settings.buffer // group.size)

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """Every few updates: the best of the buffer, each once, and new ones, dealt out at random."""
        if update % self.settings.redraw:
            return None
        slots = one_learner(rng, homes, robots, COPY)
        wanted = homes * (robots - 1)
        best = self.thetas.best()[: self.room]
        again = self.thetas.number[best[: int(wanted * (1 - self.settings.fresh))]]
        self.thetas.keep(np.sort(best))
        new = self.thetas.add(wanted - len(again), self.drawn, self.settings, rng)
        self.drawn += len(new)
        slots.partner[slots.player == COPY] = rng.permutation(np.concatenate([again, new]))
        return slots

    def disturber(self, batch: Batch, config: Disturbances, seed: list[int]) -> Disturber | None:
        """The curriculum."""
        if config.share:
            raise ValueError("disturbances.share - partners of upd are disturbed as its curriculum says: leave it at 0")
        return Curriculum(batch, config, seed, self.thetas)

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """Note the games, and let the copy follow the agent where a draw is next."""
        for numbers, outcome in zip(finished["partner"], finished["outcome"], strict=True):
            for number in numbers[numbers != NOBODY] if len(numbers) else ():
                self.thetas.played(int(number), outcome == SUCCESS)
        self.updates += 1
        if self.updates % self.settings.redraw == 0:
            self.policies[COPY].load_state_dict(self.policies[AGENT].state_dict())
        best = self.thetas.best()[: self.room]
        score = self.thetas.learnability()[best]
        sums = self.group.sums(np.array([len(best), score.sum(), self.thetas.eps[best].sum()], np.float64))
        many = max(sums[0], 1.0)
        return {"judged": float(sums[0]), "learnability": float(sums[1] / many), "eps": float(sums[2] / many)}

    def state(self) -> dict[str, np.ndarray]:
        """The copy's weights, all thetas with their games, and the counters."""
        weights = {f"copy/{name}": values.cpu().numpy().copy() for name, values in self._copied().items()}
        known = {f"thetas/{name}": getattr(self.thetas, name) for name in Thetas.arrays}
        return weights | known | {"counters": np.array([self.drawn, self.updates])}

    def load(self, state: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        with torch.no_grad():
            for name, values in self._copied().items():
                values.copy_(torch.from_numpy(state[f"copy/{name}"]))
        for name in Thetas.arrays:
            setattr(self.thetas, name, state[f"thetas/{name}"].copy())
        self.drawn, self.updates = (int(number) for number in state["counters"])

    def _copied(self) -> dict[str, torch.Tensor]:
        copy: Policy = self.policies[COPY]
        return copy.state_dict()
