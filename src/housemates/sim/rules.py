"""The rules of the game as data: speeds, interruption, reward. The paper's numbers are the defaults where it gives them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

REWARD_TERMS = ("success", "subgoal", "step", "collision")
"""Names of the reward's terms, in the order of the last axis of `Step.terms`."""


@dataclass(frozen=True)
class Reward:
    """What the team is paid for; every robot receives the sum (paper, appendix A)."""

    success: float = 10.0
    """Once, when every object is at its goal."""
    subgoal: float = 0.5
    """For each new pick, place or opening the task needs."""
    step: float = -0.01
    """For each simulation step."""
    collision: Literal["none", "timeout"] = "none"
    """`none` is the paper: a collision only ends the episode. `timeout` charges it as if the time had run out: the
    discounted step cost of all remaining steps, so that crashing early never pays."""


@dataclass(frozen=True)
class Speed:
    """How far a robot moves in one simulation step."""

    forward: float
    """Metres per step."""
    turn: float
    """Radians per step."""


SPEEDS = {
    "slow": Speed(0.083, np.deg2rad(4.77)),
    "middle": Speed(0.15, np.deg2rad(9.55)),
    "fast": Speed(1 / 3, np.deg2rad(9.55)),
}
"""Habitat's default, a middle way, and the paper's released code (spec section 14, 5)."""


@dataclass(frozen=True)
class Rules:
    """Everything about the game that is not the home or the task."""

    speed: Literal["slow", "middle", "fast"] = "middle"
    """One of SPEEDS."""
    horizon: int = 750
    """Simulation steps until the episode times out (paper, appendix A)."""
    interruption: Literal["edges", "always", "off"] = "edges"
    """When a partner comes near, a running skill is cut: `edges` once at each of `thresholds`, `always` at every step
    below 1.5 m (as the paper's released code does), `off` never."""
    thresholds: tuple[float, ...] = (2.5, 1.5, 1.2, 0.95, 0.8, 0.65)
    """Distances in metres, largest first, at which a running skill is cut once."""
    discount: float = 0.998
    """Per simulation step, for `Step.reward_discounted` and the collision charge."""
    reward: Reward = field(default_factory=Reward)

    def __post_init__(self) -> None:
        if self.speed not in SPEEDS:
            raise ValueError(f"unknown speed '{self.speed}' - choose one of {', '.join(SPEEDS)}")
        if self.interruption not in ("edges", "always", "off"):
            raise ValueError(f"unknown interruption '{self.interruption}' - choose edges, always or off")
        if self.reward.collision not in ("none", "timeout"):
            raise ValueError(f"unknown collision charge '{self.reward.collision}' - choose none or timeout")
        if list(self.thresholds) != sorted(self.thresholds, reverse=True):
            raise ValueError(f"interruption thresholds must fall from far to near, got {self.thresholds}")
        if not all(np.isfinite(t) and t > 0 for t in self.thresholds):
            raise ValueError(f"interruption thresholds are distances in metres, got {self.thresholds}")
        if not 0 < self.discount <= 1:
            raise ValueError(f"the discount must lie above 0 and at most 1, got {self.discount}")
        if self.horizon < 1:
            raise ValueError(f"the horizon must be at least one step, got {self.horizon}")


NAVIGATION_CAP = 300
"""Steps after which a navigation gives control back (spec 4.1)."""
ARRIVE = 0.2
"""Metres from the approach point at which a robot begins to face its target (spec 4.1)."""
FACING = 0.1
"""Radians within which a heading counts as right (spec 4.1)."""
COLLISION = 0.6
"""Metres between two robots' centres below which they touch (spec section 14, 10)."""
RELEASE = 0.05
"""Metres a partner must move beyond a threshold before that threshold is armed again."""
ALWAYS_BELOW = 1.5
"""Metres below which `interruption="always"` cuts at every step."""
CARRY = (0.5, 1.0)
"""Where a carried object is: metres ahead of the base, metres above the floor (desired resting gripper, spec section 2)."""
WINDOW = 40
"""Simulation steps that a robot's window of (x, y, action) holds (paper, appendix C.3)."""


class Numbers(NamedTuple):
    """`Rules` as the kernels read them."""

    forward: float
    turn: float
    horizon: int
    interruption: int
    thresholds: np.ndarray
    farthest: float
    """Distance beyond which no partner interrupts."""
    discount: float
    success: float
    subgoal: float
    step: float
    charge: bool


def numbers(rules: Rules) -> Numbers:
    """The rules in the form the kernels read."""
    speed = SPEEDS[rules.speed]
    return Numbers(
        forward=float(speed.forward),
        turn=float(speed.turn),
        horizon=int(rules.horizon),
        interruption=("off", "edges", "always").index(rules.interruption),
        thresholds=np.asarray(rules.thresholds, np.float64),
        farthest=max(ALWAYS_BELOW, *rules.thresholds, 0.0),
        discount=float(rules.discount),
        success=float(rules.reward.success),
        subgoal=float(rules.reward.subgoal),
        step=float(rules.reward.step),
        charge=rules.reward.collision == "timeout",
    )
