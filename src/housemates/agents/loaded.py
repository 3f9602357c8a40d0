"""An agent by name, ready to act on observations: for users who drive the simulator or a robot of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from housemates.agents.actors import ActorGroup, load_actors
from housemates.agents.agent import Agent, resolve


class LoadedAgent:
    """A policy with the memory of the robots it moves: `reset(n)` at the beginning, then `act` once for every decision."""

    def __init__(self, agent: Agent, greedy: bool = False, seed: int = 0) -> None:
        """agent: a learned policy, a latent, the random policy or a function; seed: of the sampled actions."""
        if agent.kind in ("script", "person"):
            raise ValueError(f"'{agent.name}' is moved by the simulator or a person - use it as partner of housemates.make")
        actor = replace(load_actors([agent])[agent], generator=torch.Generator().manual_seed(seed))
        self.agent, self.actor, self.greedy = agent, actor, greedy
        self.group = ActorGroup([0], [actor], 0)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.agent.name

    @property
    def policy(self) -> Any:
        """What acts."""
        return self.actor.policy

    @property
    def memory(self) -> torch.Tensor:
        """[n, M] the memory of the robots it moves."""
        return self.group.memory

    @property
    def observations(self) -> tuple[str, ...]:
        """What it sees, by name."""
        return self.actor.observations

    def reset(self, n: int, which: np.ndarray | None = None) -> None:
        """Empty the memory: of n robots, or of those in the mask which [n] whose episode begins."""
        empty = self.policy.initial_memory(n if which is None else int(np.sum(which)))
        if which is None:
            self.group.memory = empty
        else:
            self.group.memory[torch.from_numpy(np.asarray(which, np.bool_))] = empty

    def act(self, observations: Mapping[str, np.ndarray]) -> np.ndarray:
        """Actions [n] int64 for observations [n, ...] by name; what it does not see is ignored. The memory moves on."""
        lacking = [name for name in self.observations if name not in observations]
        if lacking:
            raise ValueError(f"{self.name} sees {', '.join(self.observations)}, and '{lacking[0]}' is missing - give it too")
        seen = {name: torch.from_numpy(np.ascontiguousarray(observations[name])) for name in self.observations}
        memory = self.memory
        n = len(next(iter(seen.values()))) if seen else len(memory)
        if n != len(memory):
            raise ValueError(f"observations of {n} robots, the memory is of {len(memory)} - call reset({n}) first")
        decided = self.group.act(seen, memory, np.zeros(n, np.int64), np.full(n, self.actor.latent), self.greedy)
        self.group.memory = decided.memory.clone()
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
