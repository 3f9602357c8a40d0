"""Partners by the names of the command line: policies, latents, whole populations, chance, a function of the user's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from housemates.envs.partners import write
from housemates.policies import partners as registry
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.cameras import PICTURES, Cameras


class Named:
    """Somebody, or several who take the homes in turn: home e is that of number e modulo their count."""

    def __init__(self, who: Sequence[registry.Partner]) -> None:
        """who: no scripts among them, which run inside the batch."""
        self.who = list(who)
        loaded = {(p.kind, p.path): registry.load(p) for p in self.who}
        self.policies: list[Policy] = [policy for policy in loaded.values() if policy is not None]
        self._policy_of = [list(loaded).index((p.kind, p.path)) for p in self.who]
        self._random = torch.Generator()

    def join(self, batch: Batch, robot: int) -> None:
        """One memory for each home; policies that see pictures of another size than the learner's have their own cameras."""
        for partner in self.who:
            expected = partner.meta.get("robots", batch.robots)
            if expected != batch.robots:
                raise ValueError(
                    f"{partner.name} was trained for {expected} robots, here are {batch.robots} - choose another one"
                )
        if len(self.who) > batch.size:
            names = f"{self.who[0].name} to {self.who[-1].name}"
            raise ValueError(f"{names} are {len(self.who)} for {batch.size} homes - name one of them, or raise num_envs")
        place = np.arange(batch.size) % len(self.who)
        self._homes = np.array(self._policy_of)[place]
        self._latent = torch.from_numpy(np.array([max(p.latent, 0) for p in self.who])[place])
        self._memory = [policy.initial_memory(batch.size) for policy in self.policies]
        self._cameras: dict[int, Cameras] = {}
        self.reseed(int(batch.state.rng[0]))

    def reseed(self, seed: int) -> None:
        """What is drawn from now on depends on the seed alone."""
        self._random.manual_seed(seed % 2**63)

    def choose(self, batch: Batch, robot: int, names: Sequence[str], which: np.ndarray, out: np.ndarray) -> None:
        """Each sees what its config names, from its own robot."""
        for number, (policy, memory) in enumerate(zip(self.policies, self._memory, strict=True)):
            mine = which & (self._homes == number)
            if not mine.any():
                continue
            rows = torch.from_numpy(np.flatnonzero(mine))
            pixels = getattr(policy.config, "picture", batch.pixels)
            seen = {name: self._see(batch, robot, name, pixels, mine) for name in policy.config.observations}
            latent = self._latent[rows] if policy.config.latent else None
            decided = policy.act(seen, memory[rows], latent, generator=self._random)
            memory[rows] = decided.memory
            write(decided.action.cpu().numpy(), robot, mine, out)

    def forget(self, which: np.ndarray) -> None:
        """Memories of new episodes start empty."""
        rows = torch.from_numpy(np.flatnonzero(which))
        for policy, memory in zip(self.policies, self._memory, strict=True):
            memory[rows] = policy.initial_memory(len(rows))

    def _see(self, batch: Batch, robot: int, name: str, pixels: int, which: np.ndarray) -> torch.Tensor:
        """One observation [n, ...] of the robot in the homes of the mask which [E], as in training."""
        mask = np.zeros((batch.size, batch.robots), np.bool_)
        mask[:, robot] = which
        if name not in PICTURES or pixels == batch.pixels:
            return torch.from_numpy(batch.observe(name, which=mask)[which, robot])
        if pixels not in self._cameras:
            sizes = (batch.size, batch.robots, pixels, batch.threads)
            self._cameras[pixels] = Cameras(batch.world, batch.episodes, batch.homes, *sizes)
        channels, kind = PICTURES[name]
        pictures = np.zeros((batch.size, batch.robots, pixels, pixels, channels), kind)
        self._cameras[pixels].heads(name, batch.records, mask, pictures)
        return torch.from_numpy(pictures[which, robot])
