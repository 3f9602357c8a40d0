"""The other robots of a VectorEnv: scripts that run inside the batch; functions, policies and whoever has a name are asked.

A partner joins a batch as one robot of every home; it is asked for actions where that robot must decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from housemates.envs.setup import new_buffer
from housemates.policies import partners as registry
from housemates.sim.batch import Batch
from housemates.sim.scripted import SCRIPTS, script


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
    from housemates.envs.named import Named

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
