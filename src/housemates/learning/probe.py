"""A probe of stage 2: what the agent achieves beside a robot that stands still, in homes of its training.

An agent that leaves the work to its partners looks good in training and fails here. Nothing is learnt from a probe, and it
draws from generators of its own, so training goes on as if it had not been made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from housemates.homes.home import Home
from housemates.learning.rollout import SCRIPTED, Collector, Player, Slots
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.scripted import script
from housemates.sim.state import OUTCOMES
from housemates.sim.world import World
from housemates.tasks.episodes import Episodes

HOMES = 64
"""Most episodes of one probe; a training in fewer homes at once has smaller probes."""
PROBES = 20
"""Probes of one training, spread evenly."""
PROBE_SEED = 900_001
FEW = 0.25
"""An agent that does less than this share of the sub-goals leaves the work to its partners."""
SUCCESSFUL = 0.3
"""Below this share of successful episodes in training nobody does the work yet."""


def standing_partner(
    policy: Policy,
    episodes: Episodes,
    homes: Sequence[Home],
    world: World,
    rules: Rules,
    robots: int,
    seed: int,
    pixels: int,
    count: int = HOMES,
) -> float:
    """Share of `count` episodes in which the agent succeeds while all other robots stand still from the start."""
    batch = Batch(episodes, homes, count, robots, rules, PROBE_SEED + seed, autoreset=False, world=world, pixels=pixels)
    learns = np.zeros((count, robots), np.bool_)
    learns[np.arange(count), np.arange(count) % robots] = True
    player = np.where(learns, 0, SCRIPTED).astype(np.int16)
    slots = Slots(player, np.zeros(player.shape, np.int64), learns, np.full(player.shape, script("noop"), np.int16))
    agent = Player(policy, torch.Generator(policy.actor.weight.device).manual_seed(PROBE_SEED + seed))
    collector = Collector(batch, [agent], slots)
    finished = collector.collect(np.iinfo(np.int64).max, lambda _: bool(batch.state.over.all())).arrays()
    return float((finished["outcome"] == OUTCOMES.index("success")).mean())


def free_riding(success: float, share: float | None, alone: float | None) -> str | None:
    """What is wrong with an agent that leaves the work to its partners, in plain words; None if nothing is.

    success: of its training episodes; share: of the sub-goals achieved there that the agent achieved; alone: success beside a
    robot that stands still.
    """
    if success < SUCCESSFUL:
        return None
    if share is not None and share < FEW:
        return (
            f"the agent leaves the work to its partners: {success:.0%} of its training episodes succeed, but it does only "
            f"{share:.0%} of the sub-goals"
        )
    if alone is not None and alone < success / 2:
        return (
            f"the agent depends on its partners: {success:.0%} of its training episodes succeed, but only {alone:.0%} beside a "
            "robot that stands still"
        )
    return None
