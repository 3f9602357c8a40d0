"""A team plays a set of episodes, each once: the same starts and the same draws for every team that is compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from housemates.homes.home import Home
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.scripted import script
from housemates.sim.state import OUTCOMES
from housemates.tasks.episodes import Episodes


@dataclass(frozen=True, eq=False)
class Played:
    """One row per episode."""

    outcome: np.ndarray
    """[N] int8, index into OUTCOMES."""
    steps: np.ndarray
    """[N] int32."""
    total: np.ndarray
    """[N] float64, the paper's literal return."""
    done_by: np.ndarray
    """[N, 6] int8, which robot achieved each sub-goal of the task, -1 nobody."""
    idle: np.ndarray
    """[N, R] int32, steps in which a robot did nothing."""
    travelled: np.ndarray
    """[N, R] float64, metres."""

    def rate(self, outcome: str) -> float:
        """Share of the episodes that ended in one of OUTCOMES."""
        return float((self.outcome == OUTCOMES.index(outcome)).mean())


def play(
    episodes: Episodes,
    homes: Sequence[Home],
    team: Sequence[str | Policy],
    rules: Rules | None = None,
    seed: int = 0,
    greedy: bool = False,
    pixels: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> Played:
    """Every episode once, from its stored starts; robot r is team[r]: a policy, or a scripted robot by name.

    Policies sample their actions from a generator of the given seed (or take the likeliest, if greedy).
    """
    count, robots = len(episodes), len(team)
    batch = Batch(episodes, homes, count, robots, rules, seed, stored_spawns=True, autoreset=False, pixels=pixels)
    for r, member in enumerate(team):
        if isinstance(member, str):
            batch.script(r, script(member))
    batch.reset(np.arange(count))
    generator = torch.Generator().manual_seed(seed)
    memory = [None if isinstance(member, str) else member.initial_memory(count) for member in team]
    actions = np.full((count, robots), -1)
    while not batch.state.over.all():
        decide = batch.decide
        actions[:] = -1
        for r, member in enumerate(team):
            rows = np.flatnonzero(decide[:, r])
            kept = memory[r]
            if isinstance(member, str) or kept is None or not len(rows):
                continue
            which = np.zeros_like(decide)
            which[rows, r] = True
            seen = {k: torch.from_numpy(batch.observe(k, which=which)[rows, r]) for k in member.config.observations}
            result = member.act(seen, kept[rows], greedy=greedy, generator=generator)
            kept[rows] = result.memory
            actions[rows, r] = result.action.numpy()
        batch.step(actions)
        if progress is not None:
            progress(int(batch.state.over.sum()), count)
    ended = batch.ended
    return Played(
        *(np.array(getattr(ended, k)) for k in ("outcome", "steps", "total", "done_by", "idle", "travelled")),
    )
