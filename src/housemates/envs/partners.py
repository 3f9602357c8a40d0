"""The partners of an environment: scripts inside the batch; functions, policies and agents by name.

A partner controls one robot of every home; it is asked for actions where that robot must decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from housemates.agents import agent as registry
from housemates.envs.spaces import new_buffer
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.cameras import PICTURES, Cameras
from housemates.sim.scripts import SCRIPTS, script


class Partner(Protocol):
    """Whatever acts as one robot in all homes of a batch."""

    def join(self, batch: Batch, robot: int) -> None:
        """Called once, before the first episode."""

    def choose(self, batch: Batch, robot: int, names: Sequence[str], which: np.ndarray, out: np.ndarray) -> None:
        """Write actions into out [E, R] (or [E, R, 10]) for this robot in the homes of the mask which [E]."""

    def forget(self, which: np.ndarray) -> None:
        """New episodes have begun in the homes of the mask which [E]."""

    def reseed(self, seed: int) -> None:
        """Whatever it draws from now on depends on the seed; a function or a policy that was given draws as it likes."""


def as_partners(partner: Any, robots: int, task: str | None = None) -> list[Partner]:
    """Partners for robots 1, 2, ... from one description for all of them, or a list with one each.

    task: policies by name that were trained for another one are refused.
    """
    others = max(robots - 1, 0)
    each = list(partner) if isinstance(partner, list | tuple) else [partner] * others
    if len(each) != others:
        raise ValueError(f"{len(each)} partners for {robots} robots - give one, or a list of {others}")
    return [_as_partner(one, task) for one in each]


def _as_partner(partner: Any, task: str | None) -> Partner:
    if isinstance(partner, str) and partner in SCRIPTS:
        return Script(partner)
    if isinstance(partner, str | Path | registry.Partner):
        return _by_name([partner] if isinstance(partner, registry.Partner) else registry.resolve(str(partner), task))
    if hasattr(partner, "act") and hasattr(partner, "initial_memory"):
        return Learned(partner)
    if callable(partner):
        return Function(partner)
    raise TypeError(
        f"{partner!r} is no partner - give a name as on the command line (script/NAME, random, RUN/agent, RUN/3, RUN/z5, "
        "pretrained/NAME ...), a function from observations to actions, or a policy with act and initial_memory"
    )


def _by_name(who: list[registry.Partner]) -> Partner:
    """Whoever a name means."""
    if any(one.kind == "person" for one in who):
        raise ValueError(f"'{who[0].name}' is a person, who plays only on the page - run: housemates play")
    if len(who) == 1 and who[0].kind == "script":
        return Script(who[0].script)
    if any(one.kind == "script" for one in who):
        names = ", ".join(one.name for one in who)
        raise ValueError(f"scripts and others cannot take turns - name one of: {names}")

    return Named(who)


class Script:
    """A scripted robot; it runs inside the batch and is never asked."""

    def __init__(self, name: str) -> None:
        self.number = script(name)

    def join(self, batch: Batch, robot: int) -> None:
        """Scripts take effect with the next reset."""
        batch.script(robot, self.number)

    def choose(self, batch: Batch, robot: int, names: Sequence[str], which: np.ndarray, out: np.ndarray) -> None:
        """Nothing to choose."""

    def forget(self, which: np.ndarray) -> None:
        """Nothing to forget."""

    def reseed(self, seed: int) -> None:
        """Nothing is drawn."""


class Function:
    """A function from observations [n, ...] by name to actions [n] (or [n, 10], or one for all)."""

    def __init__(self, decide: Callable[[dict[str, np.ndarray]], Any]) -> None:
        self.decide = decide

    def join(self, batch: Batch, robot: int) -> None:
        """It needs nothing of the batch."""

    def choose(self, batch: Batch, robot: int, names: Sequence[str], which: np.ndarray, out: np.ndarray) -> None:
        """It sees what the learner sees, from its own robot."""
        if which.any():
            write(self.decide(seen(batch, robot, names, which)), robot, which, out)

    def forget(self, which: np.ndarray) -> None:
        """It has no memory that the batch knows of."""

    def reseed(self, seed: int) -> None:
        """It draws as it likes."""


class Learned:
    """A policy: act(obs, memory) -> something with `action` and `memory`, initial_memory(n) -> memory [n, M], in torch."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.memory = policy, policy.initial_memory(0)

    def join(self, batch: Batch, robot: int) -> None:
        """One memory for each home."""
        self.memory = self.policy.initial_memory(batch.size)

    def choose(self, batch: Batch, robot: int, names: Sequence[str], which: np.ndarray, out: np.ndarray) -> None:
        """It sees what its config names (or, without one, what the learner sees)."""
        if not which.any():
            return
        import torch

        config = getattr(self.policy, "config", None)
        wanted = getattr(config, "observations", names)
        chosen = torch.from_numpy(np.flatnonzero(which))
        obs = {name: torch.from_numpy(values) for name, values in seen(batch, robot, wanted, which).items()}
        decided = self.policy.act(obs, self.memory[chosen])
        self.memory[chosen] = decided.memory
        write(decided.action.cpu().numpy(), robot, which, out)

    def forget(self, which: np.ndarray) -> None:
        """Memories of new episodes start empty."""
        if which.any():
            import torch

            self.memory[torch.from_numpy(np.flatnonzero(which))] = self.policy.initial_memory(int(which.sum()))

    def reseed(self, seed: int) -> None:
        """It draws as it likes."""


def seen(batch: Batch, robot: int, names: Sequence[str], which: np.ndarray) -> dict[str, np.ndarray]:
    """Observations [n, ...] of one robot in the homes of the mask which [E]."""
    mask = np.zeros((batch.size, batch.robots), np.bool_)
    mask[:, robot] = which
    return {name: batch.observe(name, new_buffer(batch, name), mask)[which, robot] for name in names}


def write(actions: Any, robot: int, which: np.ndarray, out: np.ndarray) -> None:
    """A partner's actions for the homes of the mask which [E] into out, if they fit."""
    wanted, given = (int(which.sum()), *out.shape[2:]), np.asarray(actions)
    if out.dtype.kind == "i" and given.dtype.kind not in "iu":
        raise ValueError(f"the partner at robot {robot} gave actions of type {given.dtype} - give integers")
    if given.shape not in ((), wanted, wanted[1:]):
        raise ValueError(f"the partner at robot {robot} gave actions of shape {given.shape} - give {wanted}")
    out[which, robot] = given


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
