"""Players that are no networks but act like one: chance, and a function that a user has written."""

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
from housemates.tasks.goals import ACTIONS


@dataclass(frozen=True)
class Senses:
    """What stands in for a `PolicyConfig`: the observations of a player without weights."""

    observations: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    latent: int = 0
    branches: bool = False
    informed: bool = False
    memory_size: int = 0


class Outsider(nn.Module):
    """Acts like a `Policy` that has no weights and no memory."""

    def __init__(self, observations: Sequence[str] = ()) -> None:
        super().__init__()
        names = tuple(observations)
        self.config = Senses(names, tuple(name for name in names if name in ("depth", "rgb")))

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
        """One decision of each of n robots, as `Policy.act`."""
        action = self.choose(obs, len(memory), generator)
        unknown = torch.full((len(memory),), torch.nan)
        return Action(action, unknown, unknown, memory, torch.zeros(len(memory), len(ACTIONS)))

    def choose(self, obs: dict[str, Tensor], n: int, generator: torch.Generator | None) -> Tensor:
        """Actions [n] int64."""
        raise NotImplementedError


class Chance(Outsider):
    """Any of the 25 actions, each as likely as the others."""

    def choose(self, obs: dict[str, Tensor], n: int, generator: torch.Generator | None) -> Tensor:
        """One uniform number for each robot."""
        drawn = torch.rand(n, generator=generator) * len(ACTIONS)
        return drawn.to(torch.int64).clamp(max=len(ACTIONS) - 1)


class Function(Outsider):
    """A function from observations [n, ...] by name to actions [n]; its attribute `observations` names what it sees."""

    def __init__(self, place: str) -> None:
        """place: module:function."""
        function = find(place)
        super().__init__(getattr(function, "observations", ("state", "predicates")))
        self.place, self.function = place, function

    def choose(self, obs: dict[str, Tensor], n: int, generator: torch.Generator | None) -> Tensor:
        """What the function says."""
        given = np.asarray(self.function({name: obs[name].cpu().numpy() for name in self.config.observations}))
        fits = given.shape == (n,) and given.dtype.kind in "iu"
        if not fits or (n and not 0 <= given.min() <= given.max() < len(ACTIONS)):
            what = f"{given.dtype} {list(given.shape)}"
            raise ValueError(f"{self.place} gave {what} for {n} robots - give one integer from 0 to 24 for each")
        return torch.from_numpy(given.astype(np.int64))


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
