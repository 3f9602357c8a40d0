"""Policies without weights and memory: a function of the user, and the random policy. They act as `Policy` does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from housemates.policies.policy import Action
from housemates.tasks.actions import ACTIONS

TOLD = ("method", "seed", "decisions", "preset")
"""Attributes with which a function of the user says what rows and reports call it and what its training has cost."""
SEEN = ("state", "predicates")
"""What a function sees that does not say it with an attribute `observations`."""


@dataclass(frozen=True)
class FunctionConfig:
    """What stands in for a `PolicyConfig` where there is no network."""

    observations: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    latent: int = 0
    branches: bool = False
    informed: bool = False
    memory_size: int = 0


class RandomPolicy(nn.Module):
    """Any of the 25 actions, each as likely as the others."""

    def __init__(self, observations: Sequence[str] = ()) -> None:
        super().__init__()
        names = tuple(observations)
        self.config = FunctionConfig(names, tuple(name for name in names if name in ("depth", "rgb")))

    def initial_memory(self, n: int) -> Tensor:
        """Nothing [n, 0]."""
        return torch.zeros(n, 0)

    def act(
        self,
        obs: dict[str, Tensor],
        memory: Tensor,
        latent: Tensor | None = None,
        greedy: bool = False,
        generator: torch.Generator | None = None,
        privileged: Tensor | None = None,
    ) -> Action:
        """One decision of each of n robots, as `Policy.act`; what only a network knows is nan."""
        action = self.choose(obs, len(memory), generator)
        unknown = torch.full((len(memory),), torch.nan)
        return Action(action, unknown, unknown, memory, torch.zeros(len(memory), len(ACTIONS)))

    def choose(self, obs: dict[str, Tensor], n: int, generator: torch.Generator | None) -> Tensor:
        """Actions [n] int64, from one uniform number for each robot."""
        drawn = torch.rand(n, generator=generator) * len(ACTIONS)
        return drawn.to(torch.int64).clamp(max=len(ACTIONS) - 1)


class FunctionPolicy(RandomPolicy):
    """A function from observations [n, ...] by name to actions: [n], or one for all."""

    def __init__(
        self,
        function: Callable[[dict[str, np.ndarray]], Any],
        observations: Sequence[str] | None = None,
        name: str = "the function",
        width: int = 0,
    ) -> None:
        """observations: what it sees (default: its attribute `observations`, or SEEN); name: of the function, in errors;
        width: how many numbers a low-level action has, 0 for decisions among the 25 actions."""
        super().__init__(getattr(function, "observations", SEEN) if observations is None else observations)
        self.function, self.name, self.width = function, name, width

    def choose(self, obs: dict[str, Tensor], n: int, generator: torch.Generator | None) -> Tensor:
        """What the function gives."""
        given = self.function({name: obs[name].cpu().numpy() for name in self.config.observations})
        return torch.from_numpy(checked(given, n, self.width, self.name))


def checked(given: Any, n: int, width: int, name: str) -> np.ndarray:
    """Actions for n robots, [n] int64 (or [n, width] float32), from what `name` gave: one for each, or one for all."""
    actions, wanted = np.asarray(given), (n, width) if width else (n,)
    if not width and actions.dtype.kind not in "iu":
        raise ValueError(f"{name} gave actions of type {actions.dtype} - give integers from 0 to {len(ACTIONS) - 1}")
    if actions.shape not in ((), wanted, wanted[1:]):
        raise ValueError(f"{name} gave actions of shape {actions.shape} - give {wanted}")
    if not width and actions.size and not 0 <= actions.min() <= actions.max() < len(ACTIONS):
        given_range = f"{actions.min()} to {actions.max()}"
        raise ValueError(f"{name} gave actions from {given_range} - give integers from 0 to {len(ACTIONS) - 1}")
    return np.array(np.broadcast_to(actions, wanted), np.float32 if width else np.int64)


def find(place: str) -> Callable[[dict[str, np.ndarray]], Any]:
    """The function at module:function; modules in the present folder are found as well."""
    module, _, name = place.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError(f"'{place}' is no function - write the partner as package.module:function")
    here = str(Path.cwd())
    try:
        sys.path.insert(0, here)
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise ValueError(f"no module '{error.name}' for the partner '{place}' - write it as package.module:function") from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise ValueError(f"no function '{name}' in {module} - write the partner as package.module:function")
    return found


def told_by(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function says of itself with attributes (TOLD), for the columns of evaluations."""
    return {name: getattr(function, name) for name in TOLD if hasattr(function, name)}
