"""Hidden-utility play: partners who dislike a part of the work, beside a mate who does not (Yu et al., ICLR 2023).

One policy has a latent for each preference. In every home one robot has no preference; the others are charged for each step
that they spend on what they dislike. The mate learns to take over what they leave, so the task is still done, in other ways.
All preferences are charges: a payment could be collected for ever instead of doing the task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.tasks.actions import ACTION_TABLE, GOALS, OBJECTS
from housemates.training.method import Members
from housemates.training.rollout import Slots
from housemates.training.store import Store

NEAR = 3.0
"""Metres below which a partner is near, for who keeps away."""


@dataclass(frozen=True)
class Preference:
    """What a robot dislikes beside the task's reward."""

    name: str
    """As in tables."""
    meaning: str
    """One sentence without a full stop."""
    disliked: Callable[[Store, int], np.ndarray]
    """Which decisions [N] bool of a store are charged, for so many robots in a home."""


def _chosen(which: Callable[[str, str, str], bool]) -> Callable[[Store, int], np.ndarray]:
    """Decisions by verb, entity and kind of their action."""
    charged = np.array([which(action.verb, action.entity, action.kind) for action in ACTION_TABLE])
    return lambda store, robots: charged[store.action]


def _about(number: int) -> Callable[[Store, int], np.ndarray]:
    return _chosen(lambda verb, entity, kind: entity in (OBJECTS[number], GOALS[number]))


def nearest(store: Store, robots: int) -> np.ndarray:
    """Metres [N] to the nearest partner when each decision was made; `state` ends with (distance, heading) of every partner."""
    return store.observations["state"][: store.size, -2 * (robots - 1)]


PREFERENCES = (
    Preference("neutral", "has no preference", lambda store, robots: np.zeros(store.size, np.bool_)),
    Preference("leaves_first", "leaves the first object to others", _about(0)),
    Preference("leaves_second", "leaves the second object to others", _about(1)),
    Preference("leaves_opening", "leaves drawers and doors to others", _chosen(lambda verb, entity, kind: verb == "open")),
    Preference("hates_waiting", "does not like to wait", _chosen(lambda verb, entity, kind: kind == "wait")),
    Preference("hates_detours", "does not like to drive by hand, to give way", _chosen(lambda v, e, kind: kind == "drive")),
    Preference("stays_put", "does not like to travel", _chosen(lambda verb, entity, kind: kind == "navigate")),
    Preference("keeps_away", "does not like a partner near", lambda store, robots: nearest(store, robots) < NEAR),
)
"""By latent. The first is the mate of all others."""
NEUTRAL = 0
"""The latent without preference."""
MANIPULATION = 25
"""Steps that a manipulation counts for: it takes one, however much somebody dislikes it."""


@dataclass(frozen=True)
class HiddenUtilitySettings:
    """How strong preferences are."""

    charge: float = 0.04
    """What a disliked step costs beside the task's reward (a step of the task costs 0.01, success pays 10)."""
    redraw: int = 10
    """Updates between two draws of who has which preference."""
    latent_logit_std: float = 0.5
    """Standard deviation of the logits that each latent adds before training (see `PolicyConfig`)."""

    def __post_init__(self) -> None:
        if not self.charge > 0:
            raise ValueError(f"charge = {self.charge} - it must be positive")
        if self.redraw < 1:
            raise ValueError(f"redraw = {self.redraw} - it must be at least 1")


class HiddenUtility(Members):
    """A shared policy whose latents dislike parts of the work moves all robots and learns from all of them."""

    def __init__(
        self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: HiddenUtilitySettings | None = None
    ) -> None:
        if robots < 2:
            raise ValueError(f"{robots} robot has nobody to leave work to - use --robots 2 or more")
        if "state" not in config.observations:
            raise ValueError(f"preferences are read from the observation 'state', not from {'+'.join(config.observations)}")
        self.settings, self.robots = settings or HiddenUtilitySettings(), robots
        config = replace(config, latent=len(PREFERENCES), latent_logit_std=self.settings.latent_logit_std)
        super().__init__([Policy(config, seed=seed * 1000)])
        self.seen = np.zeros((2, len(PREFERENCES)))

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """In every home one robot is neutral, the others draw a preference; drawn again every few updates."""
        if update % self.settings.redraw:
            return None
        latent = rng.integers(len(PREFERENCES), size=(homes, robots))
        latent[np.arange(homes), rng.integers(robots, size=homes)] = NEUTRAL
        return Slots(np.zeros((homes, robots), np.int16), latent, np.ones((homes, robots), np.bool_))

    def bonus(self, player: int, store: Store) -> np.ndarray | None:
        """Minus the charge for every step of a disliked decision."""
        disliked = self.disliked(store)
        work = np.array([action.kind == "manipulate" for action in ACTION_TABLE])[store.action]
        steps = np.where(work, MANIPULATION, store.duration)
        self.seen = np.zeros((2, len(PREFERENCES)))
        np.add.at(self.seen[0], store.latent, steps * disliked)
        np.add.at(self.seen[1], store.latent, steps)
        return (-self.settings.charge * steps * disliked).astype(np.float32)

    def disliked(self, store: Store) -> np.ndarray:
        """Which decisions [N] bool go against the preference of who made them."""
        found = np.zeros(store.size, np.bool_)
        for latent, preference in enumerate(PREFERENCES):
            mine = store.latent == latent
            found[mine] = preference.disliked(store, self.robots)[mine]
        return found

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """Which share of their steps robots with a preference spent on what they dislike."""
        against, steps = self.group.sums(self.seen[:, 1:].sum(axis=1))
        return {"disliked": float(against / max(steps, 1.0))}
