"""Learning: decisions a second of whole trainings, updates and acting apart, and what the processor's matrix product allows.

GT Coord on Tidy House, as the presets train it, from state and from depth, and one learner with partners as in stage 2.
What is compared takes turns in one process, and all is counted in CPU time; see `measure`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from housemates.fused import gemm
from housemates.fused.layout import sizes_of, unsupported
from housemates.homes.home import Home
from housemates.methods.self_play import GTCoord
from housemates.policies.config import PolicyConfig
from housemates.policies.encoders import PATCH
from housemates.policies.policy import Policy
from housemates.runs.presets import PRESETS
from housemates.speed.driver import with_partners
from housemates.tasks.episodes import Episodes
from housemates.training.trainer import Trainer

KINDS = {
    "state": "state",
    "depth": "laptop",
    "state_partners": "state",
    "depth_partners": "laptop",
    "state_disturbed_partners": "state",
    "depth_disturbed_partners": "laptop",
}
"""What is measured, and the preset that trains it: GT Coord, or one learner with eight frozen networks, as in stage 2, without
and with the preset's disturbances."""
ROWS = (1, 8, 64, 256)
"""Robots that one call decides for."""
PEAK = (1024, 512, 128)
"""Rows, outputs and inputs of the product that tells the peak: the memory's in an update."""


@dataclass(frozen=True)
class Learning:
    """One path's training of one kind, microseconds of CPU time per decision."""

    kind: str
    """A key of KINDS."""
    path: str
    """`torch` or `fused`."""
    decisions_per_second: float
    """Of the whole training, a second of CPU time."""
    simulation: float
    observation: float
    inference: float
    update: float
    """Microseconds per decision each."""
    update_gflops: float
    """Arithmetic of the update, 10^9 operations a second of CPU time."""
    peak_gflops: float
    """The same of one matrix product; 0 where kernels have none."""


def arithmetic(config: PolicyConfig) -> int:
    """Multiplications and additions of a network for one decision, forward."""
    sizes = sizes_of(config)
    count = sizes.inputs * sizes.embedding + 4 * sizes.hidden * (sizes.encoded + sizes.hidden)
    count += sizes.hidden * (sizes.actions + (0 if sizes.privileged else 1))
    if sizes.privileged:
        count += (sizes.hidden + sizes.privileged + 1) * sizes.hidden
    if sizes.pixels:
        patches, width = (sizes.pixels // PATCH) ** 2, 32
        count += patches * PATCH * PATCH * sizes.channels * width
        for _ in range(sizes.merges):
            patches //= 4
            count += patches * 4 * width * 64
            width = 64
        count += patches * width * sizes.picture
    return 2 * count


def trainer(kind: str, path: str, homes: Sequence[Home], episodes: Episodes, folder: Path, num_envs: int = 256) -> Trainer:
    """A training of one kind by one path, whose log counts CPU time."""
    preset = PRESETS[KINDS[kind]]
    config = preset.policy(preset.observations, 2)
    method = with_partners(config) if kind.endswith("_partners") else GTCoord(config)
    settings = replace(preset.training, learner=path, num_envs=num_envs)
    disturbed = kind.endswith("_disturbed_partners")
    if disturbed:
        # As after the first part of a run, in which all partners freeze at some time.
        settings = replace(settings, disturbances=replace(settings.disturbances, ramp=0.0))
    made = Trainer(settings, method, episodes, homes, folder, stage=2 if disturbed else 1)
    made.clock = made.collector.actors.clock = time.process_time
    return made


def measure_training(
    kind: str, homes: Sequence[Home], episodes: Episodes, updates: int = 4, num_envs: int = 256
) -> list[Learning]:
    """Both paths (torch alone where there is no other), which take turns of one update; the first of each does not count."""
    config = PRESETS[KINDS[kind]].policy(PRESETS[KINDS[kind]].observations, 2)
    paths = ["torch", "fused"] if gemm.available() and not unsupported(config) else ["torch"]
    rows: dict[str, list[dict[str, float]]] = {path: [] for path in paths}
    with tempfile.TemporaryDirectory() as scratch:
        trainers = {path: trainer(kind, path, homes, episodes, Path(scratch) / path, num_envs) for path in paths}
        ppo = next(iter(trainers.values())).config.ppo
        for _ in range(updates + 1):
            for path, training in trainers.items():
                rows[path].append(training.step())
    peak = peak_gflops()
    # A gradient costs twice as much as what it is of.
    work = 3 * ppo.epochs * arithmetic(config)
    found = []
    for path, taken in rows.items():
        speed = statistics.median(row["charts/decisions_per_second"] for row in taken[1:])
        parts = {
            name: statistics.median(1e6 * row[f"time/{name}"] / row["charts/decisions_per_second"] for row in taken[1:])
            for name in ("simulation", "observation", "inference", "update")
        }
        found.append(Learning(kind, path, speed, **parts, update_gflops=work / parts["update"] / 1e3, peak_gflops=peak))
    return found


def measure_acting(kind: str, rows: Sequence[int] = ROWS, turns: int = 7) -> dict[str, dict[int, float]]:
    """Microseconds of CPU time per decision by path, for calls of some numbers of robots; the best of some turns."""
    from housemates.fused.policies import FusedPolicies

    preset = PRESETS[KINDS[kind]]
    config = preset.policy(preset.observations, 2)
    policy = Policy(config)
    acting: dict[str, Callable] = {"torch": policy.act}
    if gemm.available() and not unsupported(config):
        acting["fused"] = FusedPolicies([policy]).act
    found: dict[str, dict[int, float]] = {path: {} for path in acting}
    rng = np.random.default_rng(0)
    for n in rows:
        seen = {}
        for name in config.observations:
            values = rng.integers(0, 2, (n, *config.shape(name)))
            seen[name] = torch.from_numpy(values.astype(np.float32 if name == "state" else np.uint8))
        memory = policy.initial_memory(n)
        for path, act in acting.items():
            found[path][n] = 1e6 * _best(partial(act, seen, memory), max(3, 400 // n), turns) / n
    return found


def peak_gflops(turns: int = 9) -> float:
    """10^9 operations a second of CPU time of one matrix product, the best of some turns; 0 where kernels have none."""
    if not gemm.available():
        return 0.0
    m, n, k = PEAK
    x, weight, y = gemm.empty(m, k), gemm.empty(n, k), gemm.empty(m, n)
    x[:], weight[:] = 0.5, 0.25
    gemm.product(x, weight, 0.0, y)
    return 2 * m * n * k / _best(lambda: gemm.product(x, weight, 0.0, y), 20, turns) / 1e9


def _best(work: Callable[[], object], calls: int, turns: int) -> float:
    """Seconds of CPU time of a call, in the best of some turns; the first call does not count."""
    work()
    best = float("inf")
    for _ in range(turns):
        began = time.process_time()
        for _ in range(calls):
            work()
        best = min(best, (time.process_time() - began) / calls)
    return best
