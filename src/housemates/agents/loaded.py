"""An agent by name, ready to act on observations: for users who drive the simulator or a robot of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from housemates.agents.agent import Agent, load, resolve


class LoadedAgent:
    """A policy with the memory of the robots it moves: `reset(n)` at the beginning, then `act` once for every decision."""

    def __init__(self, agent: Agent, greedy: bool = False, seed: int = 0) -> None:
        """agent: a learned policy, a latent, the random policy or a function; seed: of the sampled actions."""
        policy: Any = load(agent)
        if policy is None:
            raise ValueError(f"'{agent.name}' is moved by the simulator or a person - use it as partner of housemates.make")
        self.agent, self.policy, self.greedy = agent, policy, greedy
        self.generator = torch.Generator().manual_seed(seed)
        self.memory: torch.Tensor = policy.initial_memory(0)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.agent.name

    @property
    def observations(self) -> tuple[str, ...]:
        """What it sees, by name."""
        return tuple(self.policy.config.observations)

    def reset(self, n: int, which: np.ndarray | None = None) -> None:
        """Empty the memory: of n robots, or of those in the mask which [n] whose episode begins."""
        if which is None:
            self.memory = self.policy.initial_memory(n)
        else:
            self.memory[torch.from_numpy(np.asarray(which, np.bool_))] = self.policy.initial_memory(int(np.sum(which)))

    def act(self, observations: Mapping[str, np.ndarray]) -> np.ndarray:
        """Actions [n] int64 for observations [n, ...] by name; what it does not see is ignored. The memory moves on."""
        lacking = [name for name in self.observations if name not in observations]
        if lacking:
            raise ValueError(f"{self.name} sees {', '.join(self.observations)}, and '{lacking[0]}' is missing - give it too")
        seen = {name: torch.from_numpy(np.ascontiguousarray(observations[name])) for name in self.observations}
        n = len(next(iter(seen.values()))) if seen else len(self.memory)
        if n != len(self.memory):
            raise ValueError(f"observations of {n} robots, the memory is of {len(self.memory)} - call reset({n}) first")
        latent = torch.full((n,), self.agent.latent) if self.policy.config.latent else None
        with torch.inference_mode():
            decided = self.policy.act(seen, self.memory, latent, self.greedy, self.generator)
        self.memory = decided.memory.clone()
        return decided.action.cpu().numpy()


def load_agent(name: str, *, task: str | None = None, greedy: bool = False, seed: int = 0) -> LoadedAgent:
    """The agent of a name, ready to act: RUN/agent, RUN/3, RUN/z5, the folder of a policy, package.module:function, random, or
    one that comes with the package (`housemates partners` lists them).

    task: refuse policies that were trained for another one. greedy: take the likeliest action. seed: of the sampled ones.
    """
    found = resolve(name, task)
    if len(found) > 1:
        raise ValueError(f"'{name}' means {len(found)} agents - choose one of: {', '.join(agent.name for agent in found)}")
    return LoadedAgent(found[0], greedy, seed)
