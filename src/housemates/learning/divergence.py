"""Trainings that go wrong: numbers that are no numbers any more end a run, a policy without choices left is warned about."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from housemates.kernels.files import write_whole
from housemates.learning.resume import LATEST, NONE
from housemates.tasks.goals import ACTIONS

LOSSES = ("policy_loss", "value_loss", "entropy", "auxiliary_loss", "gradient_norm")
"""What must be finite after an update, of every learner."""
COLLAPSED = 0.01 * math.log(len(ACTIONS))
"""Entropy, nats, below which a policy has next to no choices left: 1 % of one that chooses evenly."""
NOTE = "diverged.json"
"""What a stage's folder holds from its divergence on until it has a new resume point."""
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
    write_whole(folder / NOTE, lambda file: file.write((json.dumps(note, indent=1) + "\n").encode()))
    pointer, rate = folder / "resume" / LATEST, f"ppo.learning_rate (it was {ppo['learning_rate']:g})"
    told = f"training diverged in update {update}: {what}"
    if not pointer.is_file() or pointer.read_text() == NONE:
        return DivergedError(f"{told} - there is no resume point yet: begin a new run with a lower --change {rate}")
    point = folder / "resume" / pointer.read_text().strip()
    remedy = f"with --resume {folder.parent} and a lower --change {rate}"
    return DivergedError(f"{told} - go on from the last good point, {point}, {remedy}")


def diverged(folder: Path) -> bool:
    """Whether a stage has diverged and has not gone on since."""
    return (folder / NOTE).is_file()


def gone_on(folder: Path) -> None:
    """A stage that had diverged has a new resume point: its note stays as a record, under the update's number."""
    if diverged(folder):
        update = json.loads((folder / NOTE).read_text())["update"]
        (folder / NOTE).replace(folder / f"diverged-{update:08d}.json")
