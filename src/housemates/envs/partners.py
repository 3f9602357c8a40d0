"""The partners of an environment: scripts inside the batch; functions, policies and agents by name act through `agents.actors`.

A partner controls one robot of every home; it is asked for actions where that robot must decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from housemates.agents.actors import Actor, Actors, check_robots, load_actors
from housemates.agents.agent import Agent, resolve
from housemates.agents.functions import FunctionPolicy
from housemates.sim.batch import Batch
from housemates.sim.scripts import script


def as_partners(partner: Any, robots: int, task: str | None = None) -> list[Partner]:
    """Partners for robots 1, 2, ... from one description for all of them, or a list with one each.

    task: policies by name that were trained for another one are refused.
    """
    others = max(robots - 1, 0)
    each = list(partner) if isinstance(partner, list | tuple) else [partner] * others
    if len(each) != others:
        raise ValueError(f"{len(each)} partners for {robots} robots - give one, or a list of {others}")
    return [Partner(as_actors(one, task)) for one in each]


def as_actors(partner: Any, task: str | None = None) -> list[Actor]:
    """Whoever is meant: one actor, or several who take the homes in turn. Functions and policies may be given themselves."""
    if isinstance(partner, str | Path | Agent):
        who = [partner] if isinstance(partner, Agent) else resolve(str(partner), task)
        known = load_actors(who)
        if len(who) > 1 and any(agent.kind == "script" for agent in who):
            raise ValueError(f"scripts and others cannot take turns - name one of: {', '.join(agent.name for agent in who)}")
        return [known[agent] for agent in who]
    if hasattr(partner, "act") and hasattr(partner, "initial_memory"):
        return [Actor(partner, metres=True)]
    if callable(partner):
        return [Actor(FunctionPolicy(partner, ()), metres=True)]
    raise TypeError(
        f"{partner!r} is no partner - give a name as on the command line (script/NAME, random, RUN/agent, RUN/3, RUN/z5, "
        "pretrained/NAME ...), a function from observations to actions, or a policy with act and initial_memory"
    )


class Partner:
    """One robot of every home of an environment, moved by one actor, or by several who take the homes in turn: home e is that
    of number e modulo their count."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        self.given = list(actors)
        self.actors: Actors | None = None
        self._random = torch.Generator()

    def join(self, batch: Batch, robot: int) -> None:
        """Called once, before the first episode; scripts take effect with the next reset."""
        first, count = self.given[0], len(self.given)
        if first.policy is None:
            batch.script(robot, script(first.script))
            return
        if count > batch.size:
            names = f"{first.name} to {self.given[-1].name}"
            raise ValueError(f"{names} are {count} for {batch.size} homes - name one of them, or raise num_envs")
        for actor in self.given:
            check_robots(actor, batch.robots)
        cut = np.array([actor.interruptible and not actor.blind for actor in self.given])
        batch.state.interruptible[:, robot] = cut[np.arange(batch.size) % count]
        self.reseed(int(batch.state.rng[0]))

    def choose(self, batch: Batch, robot: int, names: Sequence[str], which: np.ndarray, out: np.ndarray) -> None:
        """Write actions into out [E, R] (or [E, R, 10]) for this robot in the homes of the mask which [E].

        names: what the learner sees; functions and policies that do not name their observations see the same.
        """
        if self.given[0].policy is None or not which.any():
            return
        if self.actors is None:
            self.actors = self._seated(batch, robot, names, (*out.shape, 0)[2])
        asked = np.zeros((batch.size, batch.robots), np.bool_)
        asked[:, robot] = which
        self.actors.decide(asked, out)

    def forget(self, which: np.ndarray) -> None:
        """New episodes have begun in the homes of the mask which [E]."""
        if self.actors is not None:
            self.actors.forget(which)

    def reseed(self, seed: int) -> None:
        """Whatever is drawn from now on depends on the seed; a function or a policy that was given draws as it likes."""
        self._random.manual_seed(seed % 2**63)

    def _seated(self, batch: Batch, robot: int, names: Sequence[str], width: int) -> Actors:
        """The actors at their homes; width: numbers of a low-level action, 0 for decisions."""
        who, made = f"the partner at robot {robot}", []
        for actor in self.given:
            if not actor.metres:
                made.append(replace(actor, generator=self._random))
            elif isinstance(actor.policy, FunctionPolicy):
                made.append(replace(actor, policy=FunctionPolicy(actor.policy.function, names, who, width), name=who))
            else:
                known = hasattr(getattr(actor.policy, "config", None), "observations")
                made.append(replace(actor, name=who, sees=None if known else tuple(names)))
        fused = not any(actor.metres for actor in made)  # those that users give may still learn
        actors, turn = Actors(batch, made, fused=fused), np.arange(batch.size) % len(made)
        actors.actor[:, robot] = turn
        actors.latent[:, robot] = np.array([actor.latent for actor in made])[turn]
        actors.blind[:, robot] = np.array([actor.blind for actor in made])[turn]
        return actors
