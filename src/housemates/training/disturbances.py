"""Disturbed partners in stage 2: in a share of the episodes a partner stops, does not react, errs or dawdles.

Beside a population that often does the task alone an agent learns to stand aside, and fails with all other partners. Where
partners may stop at any time it cannot. Only robots that do not learn are disturbed, so stage 1 is as it was. A disturbed
partner is still a member of the population: never one of the scripts of the evaluation, and never still from the start.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from housemates.sim.batch import Batch
from housemates.tasks.actions import ACTIONS, NO_OP

KINDS = ("undisturbed", "freeze", "blind", "noise", "slow")
"""freeze: stands still from some step on. blind: senses no other robot and is not interrupted near one. noise: some of its
decisions are random ones. slow: waits between its decisions."""
UNDISTURBED, FREEZE, BLIND, NOISE, SLOW = range(len(KINDS))
LATEST = 150
"""Steps of an episode within which a partner freezes: before it could have done the whole task. The step is drawn early
rather than late (the square of a uniform number): an agent whose partners always help at first never learns to do without."""
NOISY = (0.1, 0.5)
"""Least and largest share of random decisions."""
WAITING = 0.8
"""Share of a slow partner's decisions that are replaced by a step of waiting."""


@dataclass(frozen=True)
class Disturbances:
    """How many partners are disturbed, and how."""

    share: float = 0.0
    """Of the robots that do not learn, drawn again for each episode; 0 for none."""
    ramp: float = 0.4
    """Share of the training in which all others freeze as well, fewer and fewer of them: the agent first learns to work by
    itself, so that there is something to coordinate."""
    freeze: float = 0.6
    blind: float = 0.4
    noise: float = 0.0
    slow: float = 0.0
    """How often each kind is drawn, in proportion."""
    earliest: int = 20
    """First step at which a partner may freeze; with something in its gripper it puts that down first."""

    def __post_init__(self) -> None:
        weights = [getattr(self, kind) for kind in KINDS[1:]]
        if not 0 <= self.share <= 1:
            raise ValueError(f"disturbances.share = {self.share} - give a share from 0 to 1")
        if not 0 <= self.ramp <= 1:
            raise ValueError(f"disturbances.ramp = {self.ramp} - give a share from 0 to 1")
        if min(weights) < 0 or not 0 < sum(weights) < np.inf:
            raise ValueError(
                f"disturbances: {', '.join(KINDS[1:])} = {weights} - give proportions, at least one of them positive"
            )
        if not 1 <= self.earliest < LATEST:
            raise ValueError(f"disturbances.earliest = {self.earliest} - give a step from 1 to {LATEST - 1}")


class Disturber:
    """Who is disturbed in the homes of a batch. The collector calls it; everything is drawn from a generator of its own.

    A method may bring a child that draws otherwise (`draw`, `disturb`); `kept` names the arrays that resuming needs.
    """

    kept: tuple[str, ...] = ("kind", "at", "rate")

    def __init__(self, batch: Batch, config: Disturbances, seed: list[int]) -> None:
        self.batch, self.config = batch, config
        weights = np.array([getattr(config, kind) for kind in KINDS[1:]])
        self.limits = np.cumsum(weights / weights.sum())
        self.rng = np.random.default_rng(seed)
        self.progress = 0.0
        """Which share of the training is done; the trainer sets it before each update."""
        shape = (batch.size, batch.robots)
        self.kind = np.zeros(shape, np.int8)
        """[E, R] index into KINDS."""
        self.at = np.zeros(shape, np.int32)
        """[E, R] step at which a robot freezes."""
        self.rate = np.zeros(shape)
        """[E, R] share of decisions that are replaced."""

    def begin(self, homes: np.ndarray, partners: np.ndarray, number: np.ndarray | None = None) -> None:
        """Draw for homes [E] bool whose episode has just begun; partners [E, R] bool may be disturbed, number [E, R] is what
        the method calls them (`Slots.partner`)."""
        some, state = homes[:, None] & partners, self.batch.state
        self.draw(homes, some, number)
        state.interruptible[some] = self.kind[some] != BLIND

    def draw(self, homes: np.ndarray, some: np.ndarray, number: np.ndarray | None) -> None:
        """How the robots some [E, R] bool of the homes [E] bool are disturbed from now on; the others there are not."""
        left = max(0.0, 1.0 - self.progress / self.config.ramp) if self.config.ramp else 0.0
        drawn = self.rng.random((4, *some.shape))
        hit = some & (drawn[0] < self.config.share + left * (1.0 - self.config.share))
        kind = 1 + np.minimum(np.searchsorted(self.limits, drawn[1], side="right"), len(KINDS) - 2)
        kind = np.where(drawn[0] < self.config.share, kind, FREEZE)
        self.kind[homes] = np.where(hit, kind, UNDISTURBED)[homes]
        early = self.config.earliest + drawn[2] ** 2 * (LATEST - self.config.earliest)
        self.at = np.where(hit, early.astype(np.int32), self.at)
        noisy = NOISY[0] + drawn[3] * (NOISY[1] - NOISY[0])
        self.rate[homes] = np.select([self.kind == NOISE, self.kind == SLOW], [noisy, WAITING])[homes]

    def end(self, homes: np.ndarray, partners: np.ndarray) -> None:
        """Episodes of homes [E] bool have ended: partners [E, R] bool decide for themselves again."""
        state, some = self.batch.state, homes[:, None] & partners
        state.controllable[some] = state.interruptible[some] = True

    def freeze(self) -> None:
        """Robots whose time has come stand still until the episode ends."""
        state = self.batch.state
        due = (self.kind == FREEZE) & state.controllable & (state.clock[:, None] >= self.at) & (state.held < 0)
        for home, robot in np.argwhere(due):
            self.batch.assign(home, robot, NO_OP)
            state.controllable[home, robot] = state.interruptible[home, robot] = False

    def disturb(self, actions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The decisions [n] of robots rows [n] as they are carried out: some are random, some wait."""
        rate = self.rate.reshape(-1)[rows]
        if not rate.any():
            return actions
        drawn = self.rng.random((2, len(rows)))
        other = np.where(self.kind.reshape(-1)[rows] == SLOW, NO_OP, (drawn[1] * len(ACTIONS)).astype(actions.dtype))
        return np.where(drawn[0] < rate, other, actions)

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to continue exactly."""
        text = json.dumps(self.rng.bit_generator.state, sort_keys=True).encode()
        return {name: getattr(self, name) for name in self.kept} | {"rng": np.frombuffer(text, np.uint8)}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        for name in self.kept:
            setattr(self, name, arrays[name].copy())
        self.rng.bit_generator.state = json.loads(bytes(arrays["rng"]))
