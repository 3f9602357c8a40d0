"""Which of the two paths a training takes: torch, or the fused kernels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from housemates.fused import gemm
from housemates.fused.acting import act
from housemates.fused.layout import unsupported
from housemates.fused.minibatch import gradients
from housemates.parallel import announce
from housemates.policies.policy import Policy
from housemates.training.distributed import Group

COMPILING = 60.0
"""Seconds, about, that the fused kernels take to compile."""


def choose(wanted: str, policies: Sequence[Policy], device: str, group: Group) -> str:
    """The path, `torch` or `fused`, of all workers of a group that train these policies; `auto`: fused where all can take it.

    It is an error to ask for the fused path where it cannot be taken, with the reason.
    """
    if wanted == "torch":
        return "torch"
    reason = next((f"{why} of a policy" for why in (unsupported(policy.config) for policy in policies) if why), "")
    if device != "cpu":
        reason = f"device '{device}'"
    # Workers whose gradients lie in another order must not be added to these.
    lacking = not reason and group.any(not gemm.available())
    if lacking:
        reason = "a machine without a matrix product for kernels"
    if reason and wanted == "fused":
        raise ValueError(f"learner = fused, which is not possible with {reason} - use learner=torch or learner=auto")
    if lacking and group.rank == 0:
        print(
            "housemates: no BLAS library was found for the fused kernels - training takes the torch path, about half as fast",
            file=sys.stderr,
            flush=True,
        )
    if reason:
        return "torch"
    if group.rank == 0:
        announce("learning", [gradients, act], COMPILING)
    return "fused"


def continued(folder: Path, before: str, now: str) -> None:
    """Say in one line that a run goes on by another path than it was left on: from here on the last bits differ."""
    if before != now:
        print(
            f"housemates: {folder} was trained by the {before} path and goes on by the {now} path - equal but for rounding",
            file=sys.stderr,
            flush=True,
        )
