"""Checks while training: non-finite numbers, collapsed entropy, and agents that do no work."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from housemates.homes.home import Home
from housemates.io import write_whole
from housemates.policies.policy import Policy
from housemates.run_folder import StageFolder
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.sim.state import OUTCOMES
from housemates.sim.world import World
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes
from housemates.training.checkpoint import LATEST, NONE
from housemates.training.rollout import SCRIPTED, Collector, Learner, Slots

LOSSES = ("policy_loss", "value_loss", "entropy", "auxiliary_loss", "partner_action_loss", "gradient_norm")
"""What must be finite after an update, of every learner."""
COLLAPSED = 0.01 * math.log(len(ACTIONS))
"""Entropy, nats, below which a policy has next to no choices left: 1 % of one that chooses evenly."""
PATIENCE = 3
"""Updates in a row after which a collapse is told."""


class DivergedError(ValueError):
    """Training cannot go on: a loss, a gradient or a weight is not finite."""


def broken(tensors: Mapping[str, torch.Tensor]) -> str:
    """The name of the first tensor with a number that is not finite; empty if there is none."""
    return next((name for name, values in tensors.items() if not bool(torch.isfinite(values).all())), "")


def not_finite(numbers: Mapping[str, float]) -> str:
    """The first number that should be finite and is not, as text; empty if there is none."""
    return next((f"{name} is {numbers[name]}" for name in LOSSES if not math.isfinite(numbers.get(name, 0.0))), "")


def give_up(what: str, update: int, folder: Path, ppo: Mapping[str, Any]) -> DivergedError:
    """Note in a stage's folder that it diverged, and how it was trained; returns the error that says what to do."""
    note = {"update": update, "what": what, "ppo": dict(ppo)}
    write_whole(StageFolder(folder).diverged, (json.dumps(note, indent=1) + "\n").encode())
    points = StageFolder(folder).resume
    pointer, rate = points / LATEST, f"ppo.learning_rate (it was {ppo['learning_rate']:g})"
    told = f"training diverged in update {update}: {what}"
    if not pointer.is_file() or pointer.read_text() == NONE:
        return DivergedError(f"{told} - there is no resume point yet: begin a new run with a lower --change {rate}")
    point = points / pointer.read_text().strip()
    remedy = f"with --resume {folder.parent} and a lower --change {rate}"
    return DivergedError(f"{told} - go on from the last good point, {point}, {remedy}")


def diverged(folder: Path) -> bool:
    """Whether a stage has diverged and has not gone on since."""
    return StageFolder(folder).diverged.is_file()


def gone_on(folder: Path) -> None:
    """A stage that had diverged has a new resume point: its note stays as a record, under the update's number."""
    if diverged(folder):
        note = StageFolder(folder).diverged
        note.replace(StageFolder(folder).diverged_at(json.loads(note.read_text())["update"]))


HOMES = 64
"""Most episodes of one probe; a training in fewer homes at once has smaller probes."""
PROBES = 20
"""Probes of one training, spread evenly."""
PROBE_SEED = 900_001
FEW = 0.25
"""An agent that does less than this share of the sub-goals leaves the work to its partners."""
SUCCESSFUL = 0.3
"""Below this share of successful episodes in training the task is not learned yet."""


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
    fused: bool = False,
) -> float:
    """Share of `count` episodes in which the agent succeeds while all other robots stand still from the start.

    fused: let it decide by the fused kernels where these can."""
    batch = Batch(episodes, homes, count, robots, rules, PROBE_SEED + seed, autoreset=False, world=world, pixels=pixels)
    learns = np.zeros((count, robots), np.bool_)
    learns[np.arange(count), np.arange(count) % robots] = True
    player = np.where(learns, 0, SCRIPTED).astype(np.int16)
    slots = Slots(player, np.zeros(player.shape, np.int64), learns, np.full(player.shape, script("noop"), np.int16))
    agent = Learner(policy, generator=torch.Generator(policy.actor.weight.device).manual_seed(PROBE_SEED + seed))
    collector = Collector(batch, [agent], slots, fused=fused)
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
