"""The acting engine: what robots observe is gathered by policy, every policy decides once, decisions go back to the robots.

Training, evaluation, environments and the games of the page all act through `Actors`. An agent (`agents.agent.Agent`) says who
acts; an `Actor` is that agent loaded; an `ActorGroup` are the actors that decide in one call, with the memory of every robot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from housemates.agents.agent import Agent, load
from housemates.agents.draws import sample
from housemates.agents.functions import FunctionPolicy, RandomPolicy, checked
from housemates.fused.layout import usable
from housemates.fused.policies import FusedPolicies, fuse
from housemates.lookahead.mind import Mind, load_mind
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead, evasions_only
from housemates.policies.config import seen_as
from housemates.policies.policy import Action, Policy
from housemates.policies.stacked import StackedPolicies
from housemates.sim.batch import Batch
from housemates.sim.cameras import PICTURES
from housemates.sim.sensors import blindfold, draw_without_partners, sensed_alone

NOBODY = -1
"""Actor of a robot that the engine does not move: a script inside the simulator does, or a person outside."""


@dataclass(eq=False)
class Actor:
    """What moves a robot: a policy or whatever acts like one, or a script of the simulator; a person has neither."""

    policy: Any = None
    """act(obs, memory) and initial_memory(n), as `policies.policy.Policy` has them."""
    latent: int = 0
    """For a policy that has one."""
    script: str = ""
    """A key of `sim.scripts.SCRIPTS`, for an actor without policy."""
    blind: bool = False
    """Senses no partner, neither in pictures nor in numbers, and is not interrupted."""
    interruptible: bool = True
    """Whether a near partner cuts its skills; never those of a blind one."""
    generator: torch.Generator | None = None
    """What its policy draws from; None for torch's own. Not used where draws are given (see `Actors.decide`)."""
    name: str = ""
    """For errors."""
    sees: tuple[str, ...] | None = None
    """Observations of a policy whose config does not name them."""
    metres: bool = False
    """Whether it sees depth as environments give it, float32 metres, and not as policies are trained."""
    look_ahead: LookAhead | None = None
    """How it looks ahead before it acts near a partner; None: it does not."""
    mind: Mind | None = None
    """Its theory of mind, for the look-ahead of that name."""

    @property
    def observations(self) -> tuple[str, ...]:
        """Observations that are needed when it decides."""
        return tuple(self.policy.config.observations) if self.sees is None else self.sees


def load_actors(agents: Iterable[Agent]) -> dict[Agent, Actor]:
    """The actor of each agent; a policy that several latents share is read once."""
    loaded: dict[tuple[str, str], Any] = {}
    found = {}
    for agent in dict.fromkeys(agents):
        if agent.kind == "person":
            raise ValueError(f"'{agent.name}' is a person, who plays only on the page - run: housemates play")
        key = (agent.kind, agent.path)
        if agent.kind != "script" and key not in loaded:
            loaded[key] = load(agent)
        blind, cut = agent.disturbed == "blind", not agent.disturbed
        found[agent] = Actor(
            loaded.get(key),
            max(agent.latent, 0),
            agent.script,
            blind,
            cut,
            name=agent.name,
            look_ahead=agent.look_ahead,
            mind=mind_of(agent, loaded.get(key)),
        )
    return found


def mind_of(agent: Agent, policy: Any) -> Mind | None:
    """The theory of mind of an agent that looks ahead with it; None for all others."""
    if agent.look_ahead is None or agent.look_ahead.variant != "mind":
        return None
    if not agent.trained:
        raise ValueError(f"'{agent.name}' has no theory of mind, only trained policies have - choose another look-ahead")
    return load_mind(agent.path, agent.meta.get("sha256", ""), policy.config.memory_size)


def check_robots(actor: Actor, robots: int) -> None:
    """Refuse a policy for another number of robots; alone in a home it may be."""
    expected = getattr(getattr(actor.policy, "config", None), "robots", robots)
    if robots not in (1, expected):
        who = actor.name or "a policy"
        raise ValueError(f"{who} was trained for {expected} robots, here are {robots} - choose another one")


def inference(actors: Iterable[Actor]) -> str:
    """What computes these actors' decisions where the fused kernels may: `fused`, `torch`, or `both` where networks differ;
    empty if no network decides. The two give the same actions but where a rounding decides a draw."""
    networks = [actor.policy for actor in actors if isinstance(actor.policy, Policy)]
    paths = {"fused" if usable(policy) else "torch" for policy in networks}
    return "both" if len(paths) > 1 else "".join(paths)


class View(NamedTuple):
    """How an actor sees an observation."""

    name: str
    pixels: int
    """Side of a picture; 0 for numbers."""
    kind: type
    """Number type."""


def views(actor: Actor, batch: Batch) -> list[View]:
    """How an actor sees the robots' observations: pictures have the size and type that its policy was made for."""
    config, found = getattr(actor.policy, "config", None), []
    for name in actor.observations:
        pixels = getattr(config, "picture", batch.pixels) if name in PICTURES else 0
        kind = seen_as(config, name, batch.observation(name)[1])
        found.append(View(name, pixels, np.float32 if name == "depth" and actor.metres else kind))
    return found


def looks_ahead(actor: Actor) -> LookAhead | None:
    """How an actor looks ahead; of a function only the choice is known, not what else it would like to do."""
    known = actor.look_ahead is None or not isinstance(actor.policy, FunctionPolicy)
    return actor.look_ahead if known else evasions_only(actor.look_ahead)


class ActorGroup:
    """Actors that decide in one call: of one policy, or of several stacked ones; and every robot's memory."""

    def __init__(
        self, index: Sequence[int], actors: Sequence[Actor], streams: int, fused: bool = False, apart: bool = False
    ) -> None:
        """index: their places among all actors; streams: robots of the batch, E * R; fused: decide by the fused kernels;
        apart: every policy draws from its own actor's generator, else all draw from the first one's."""
        self.index, self.actors, self.apart = list(index), list(actors), apart
        self.policies = list({id(actor.policy): actor.policy for actor in actors}.values())
        self.generators = [next(a.generator for a in actors if a.policy is policy) for policy in self.policies]
        self.stacked: StackedPolicies | FusedPolicies | None = None
        if fused:
            self.stacked = fuse(self.policies)
        elif len(self.policies) > 1:
            self.stacked = StackedPolicies(self.policies)
        self.memory: torch.Tensor = self.policy.initial_memory(streams)
        """[E * R, M]."""

    @property
    def policy(self) -> Any:
        """The policy, or the first of several that are alike."""
        return self.policies[0]

    def act(
        self, obs: dict[str, torch.Tensor], memory: torch.Tensor, member: np.ndarray, latent: np.ndarray, greedy: bool = False
    ) -> Action:
        """Decisions of n robots: obs [n, ...] by name, memory [n, M], member [n] (each one's place in `policies`), latent [n].

        All decisions of all actors are made by this call: a faster way to ask a policy belongs here.
        """
        policy, device = self.policy, memory.device
        if isinstance(self.stacked, FusedPolicies):
            seen = {name: values.numpy() for name, values in obs.items()}
            informing = seen.get("privileged") if policy.config.informed else None
            latents = latent if policy.config.latent else None
            drawn = None if greedy else self._draw(member)
            decided = self.stacked.decide(seen, memory.numpy(), member, latents, drawn, informing)
            return Action(*(torch.from_numpy(values) for values in decided))
        if not isinstance(policy, Policy | RandomPolicy):
            # A user's own: of the arguments it may know no more than these.
            return policy.act(obs, memory)
        more: dict[str, Any] = {"greedy": greedy, "generator": self.actors[0].generator}
        more["latent"] = torch.from_numpy(latent).to(device) if policy.config.latent else None
        more["privileged"] = obs.get("privileged") if policy.config.informed else None
        if self.stacked is None:
            return policy.act(obs, memory, **more)
        return self.stacked.act(obs, memory, torch.from_numpy(member).to(device), **more)

    def _draw(self, member: np.ndarray) -> np.ndarray:
        """Uniform numbers [n] for robots of policies member [n], from the generators that the policies draw from elsewhere."""
        if not self.apart:
            return torch.rand(len(member), 1, generator=self.generators[0]).numpy()[:, 0]
        drawn = np.empty(len(member), np.float32)
        for place, generator in enumerate(self.generators):
            mine = np.flatnonzero(member == place)
            if len(mine):
                drawn[mine] = torch.rand(len(mine), 1, generator=generator).numpy()[:, 0]
        return drawn


def grouped(actors: Sequence[Actor], streams: int, stack: int = 0, fused: bool = False) -> list[ActorGroup]:
    """Actors with a policy, in the order in which they decide: those of one policy and generator together.

    stack: from so many policies on, networks without pictures that see the same decide in one call; 0 for never.
    fused: policies decide by the fused kernels where these can, with `stack` all of one network in one call; who draws from
    which generator stays the same.
    """
    single: dict[object, list[int]] = {}
    for k, actor in enumerate(actors):
        if actor.policy is not None:
            single.setdefault((id(actor.policy), id(actor.generator)), []).append(k)
    quick = {k: fused and isinstance(actor.policy, Policy) and usable(actor.policy) for k, actor in enumerate(actors)}
    alike: dict[object, list[list[int]]] = {}
    for key, index in single.items():
        config = getattr(actors[index[0]].policy, "config", None)
        alone = not stack or config is None or not config.memory_size or config.branches
        alone = alone or (config.pictures and not quick[index[0]])
        alike.setdefault(key if alone else (config, actors[index[0]].observations), []).append(index)
    found = []
    for parts in alike.values():
        first = parts[0][0]
        apart = not stack or len(parts) < stack or bool(actors[first].policy.config.pictures)
        whole = stack and (quick[first] or not apart)
        together = [list(chain(*parts))] if whole else parts
        how = quick[first], apart and len(parts) > 1
        found += [ActorGroup(index, [actors[k] for k in index], streams, *how) for index in together]
    return found


@dataclass(eq=False)
class Decisions:
    """What the actors of one group have seen and decided for n robots."""

    group: ActorGroup
    rows: np.ndarray
    """[n] which robots, of [E * R]."""
    latent: np.ndarray
    """[n] int64."""
    start: np.ndarray
    """[n] bool: the first decision of an episode, made without memory."""
    seen: dict[str, np.ndarray]
    """[n, ...] by name, as the actors saw it."""
    memory: torch.Tensor
    """[n, M] before the decision."""
    result: Action = field(init=False)
    """What the policies gave; where draws were given, `action` says what was decided."""
    action: np.ndarray = field(init=False)
    """[n] what was decided."""


class Actors:
    """All actors that move robots of a batch. `actor`, `latent` and `blind` [E, R] say who moves which robot, and how."""

    def __init__(
        self,
        batch: Batch,
        actors: Sequence[Actor],
        *,
        chunk: int = 0,
        threads: int = 1,
        stack: int = 0,
        fused: bool = False,
        greedy: bool = False,
    ) -> None:
        """chunk: robots a network decides for in one call, always: the last bits of a matrix product depend on its shape, so
        with it no game depends on who else plays; 0 decides for all at once. threads: for such calls.
        stack, fused: see `grouped`. greedy: networks take the likeliest action where draws are given."""
        self.batch, self.actors, self.chunk, self.greedy = batch, list(actors), chunk, greedy
        for actor in self.actors:
            check_robots(actor, batch.robots)
        shape = (batch.size, batch.robots)
        self.actor = np.full(shape, NOBODY, np.int16)
        """[E, R] place among the actors, NOBODY for none."""
        self.latent = np.zeros(shape, np.int64)
        """[E, R] the latent, for a policy that has one."""
        self.blind = np.zeros(shape, np.bool_)
        """[E, R] whether the robot senses no other."""
        self.keeps = np.zeros(shape, np.bool_)
        """[E, R] whether the robot keeps its memory when an episode begins."""
        self.seconds = {"observation": 0.0, "inference": 0.0}
        self.clock: Callable[[], float] = time.perf_counter
        """What the seconds are counted with."""
        self.groups = grouped(self.actors, batch.size * batch.robots, stack, fused)
        self.group_of, self.member_of = np.full(len(self.actors) + 1, -1), np.zeros(len(self.actors) + 1, np.int64)
        """[A + 1] the group of each actor, and the place of its policy there; the last is nobody's."""
        for number, group in enumerate(self.groups):
            self.group_of[group.index] = number
            self.member_of[group.index] = [group.policies.index(actor.policy) for actor in group.actors]
        self._views = [views(group.actors[0], batch) for group in self.groups]
        self._buffers: dict[View, np.ndarray] = {}
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        aheads: dict[tuple[LookAhead | None, int], Planner] = {}
        keys = [(looks_ahead(actor), id(actor.mind)) for actor in self.actors]
        for actor, key in zip(self.actors, keys, strict=True):
            if key[0] is not None and key not in aheads:
                aheads[key] = Planner(batch, key[0], actor.mind)
        self.planners = list(aheads.values())
        """One for each way of looking ahead among the actors."""
        self._planner_of = np.array([*(list(aheads).index(key) if key in aheads else -1 for key in keys), -1])

    def decide(self, which: np.ndarray, out: np.ndarray, drawn: np.ndarray | None = None) -> list[Decisions]:
        """Let the actors decide for the robots of which [E, R] bool, and write their actions into out [E, R].

        drawn [E, R]: uniform numbers that choose the actions, instead of what the actors' generators draw. Robots at the start
        of an episode decide without memory, but for those that keep theirs. Returns everybody's decisions, group by group, as
        the policies took them: who looks ahead may do something else, which stands in `out` alone.
        """
        began = self.clock()
        group_of = self.group_of[self.actor]
        asked = [(number, which & (group_of == number)) for number in range(len(self.groups))]
        asked = [(number, mine) for number, mine in asked if mine.any()]
        self._observe(asked)
        looked = self.clock()
        gathered = [self._gather(number, np.flatnonzero(mine), drawn is not None) for number, mine in asked]
        run = map if self._pool is None else self._pool.map
        results = iter(list(run(lambda call: call(), [call for _, calls in gathered for call in calls])))
        flat, found = out.reshape(-1, *out.shape[2:]), []
        for decisions, calls in gathered:
            self._finish(decisions, [next(results) for _ in calls], drawn)
            actor = decisions.group.actors[0]
            if not isinstance(actor.policy, Policy | RandomPolicy):
                who = actor.name or f"the actor at robot {decisions.rows[0] % self.batch.robots}"
                decisions.action = checked(decisions.action, len(decisions.rows), (*out.shape, 0)[2], who)
            flat[decisions.rows] = decisions.action
            found.append(decisions)
        self._look_ahead(found, out)
        self.seconds["observation"] += looked - began
        self.seconds["inference"] += self.clock() - looked
        return found

    def _look_ahead(self, found: list[Decisions], out: np.ndarray) -> None:
        """Let those who look ahead revise their decisions in out [E, R]; who senses no partner cannot."""
        decided, actor = out.copy() if self.planners else out, self.actor.reshape(-1)
        for decisions in found if self.planners else ():
            planner_of = np.where(self.blind.reshape(-1)[decisions.rows], -1, self._planner_of[actor[decisions.rows]])
            for number, planner in enumerate(self.planners):
                mine = np.flatnonzero(planner_of == number)
                if len(mine):
                    rows, logits = decisions.rows[mine], decisions.result.logits.cpu().numpy()[mine]
                    memory = None if planner.mind is None else decisions.result.memory.cpu().numpy()[mine]
                    out.reshape(-1)[rows] = planner.revise(rows, logits, decisions.action[mine], decided, memory)

    def forget(self, homes: np.ndarray) -> None:
        """Memories of all robots in homes [E] bool are as at the start of an episode."""
        rows = torch.from_numpy(np.flatnonzero(np.repeat(homes, self.batch.robots)))
        for group in self.groups:
            group.memory[rows] = group.policy.initial_memory(len(rows))

    def remember(self, other: Actors) -> None:
        """Take over the memories of the same actors in another batch of this size."""
        for mine, theirs in zip(self.groups, other.groups, strict=True):
            mine.memory.copy_(theirs.memory)
        for planner, other_planner in zip(self.planners, other.planners, strict=True):
            planner.load(other_planner.state())

    def planner_of(self, row: int) -> Planner | None:
        """What looks ahead for robot row of [E * R]; None if nothing does."""
        number = -1 if self.blind.reshape(-1)[row] else int(self._planner_of[self.actor.reshape(-1)[row]])
        return self.planners[number] if number >= 0 else None

    def memory_of(self, actor: int) -> torch.Tensor:
        """[E * R, M] the memory of the group to which an actor belongs."""
        return self.groups[int(self.group_of[actor])].memory

    def refresh(self) -> None:
        """Policies have changed, or were loaded: stacked ones act with their present weights."""
        for group in self.groups:
            if group.stacked is not None:
                group.stacked.refresh()

    @property
    def pooled(self) -> bool:
        """Whether calls are shared among threads."""
        return self._pool is not None

    def views_of(self, group: int) -> list[View]:
        """What a group sees."""
        return self._views[group]

    def flat_buffer(self, view: View) -> np.ndarray:
        """What `see` has written last of one observation, [E * R, numbers]."""
        buffer = self._buffers[view]
        return buffer.reshape(len(buffer) * self.batch.robots, -1)

    def see(self, wanted: Mapping[View, np.ndarray]) -> None:
        """Write observations of the robots in masks [E, R] into the buffers; who is blind sees pictures without partners."""
        batch = self.batch
        for view, which in wanted.items():
            if view not in self._buffers:
                channels = PICTURES[view.name][0] if view.pixels else 0
                shape = (view.pixels, view.pixels, channels) if view.pixels else batch.observation(view.name)[0]
                self._buffers[view] = np.zeros((batch.size, batch.robots, *shape), view.kind)
            out = self._buffers[view]
            if not view.pixels:
                batch.observe(view.name, out, which)
                continue
            cameras, alone = batch.cameras_of(view.pixels), which & self.blind
            if alone.any():
                draw_without_partners(cameras, view.name, batch.records, alone, out)
                which = which & ~self.blind
            if which.any():
                cameras.heads(view.name, batch.records, which, out)

    def _observe(self, asked: list[tuple[int, np.ndarray]]) -> None:
        """Fill the buffers with all that the asked need."""
        wanted: dict[View, np.ndarray] = {}
        for number, mine in asked:
            for view in self._views[number]:
                wanted[view] = wanted[view] | mine if view in wanted else mine
        self.see(wanted)

    def _gather(self, number: int, rows: np.ndarray, greedy: bool) -> tuple[Decisions, list[Callable[[], Action]]]:
        """What a group's robots rows [n] of [E * R] see and remember, and the calls that decide for them, in order.

        greedy: the calls draw nothing.
        """
        group, batch = self.groups[number], self.batch
        whole = not self.chunk or isinstance(group.policy, FunctionPolicy)
        padded = rows if whole else np.concatenate([rows, np.repeat(rows[:1], -len(rows) % self.chunk)])
        seen = {view.name: self._seen(view, padded, group.policy) for view in self._views[number]}
        device = group.memory.device
        memory = group.memory.index_select(0, torch.from_numpy(padded).to(device))
        start = (batch.state.clock[padded // batch.robots] == 0) & ~self.keeps.reshape(-1)[padded]
        if start.any():
            memory[torch.from_numpy(start).to(device)] = group.policy.initial_memory(int(start.sum()))
        shown = {name: torch.from_numpy(values).to(device) for name, values in seen.items()}
        latent = self.latent.reshape(-1)[padded]
        member = self.member_of[self.actor.reshape(-1)[padded]]

        def call(part: slice) -> Action:
            obs = {name: values[part] for name, values in shown.items()}
            return group.act(obs, memory[part], member[part], latent[part], greedy)

        size, n = len(padded) if whole else self.chunk, len(rows)
        calls: list[Callable[[], Action]] = [partial(call, slice(low, low + size)) for low in range(0, len(padded), size)]
        seen = {name: values[:n] for name, values in seen.items()}
        return Decisions(group, rows, latent[:n], start[:n], seen, memory[:n]), calls

    def _seen(self, view: View, rows: np.ndarray, policy: Any) -> np.ndarray:
        """One observation [n, ...] of robots rows [n] of [E * R]."""
        buffer, robots = self._buffers[view], self.batch.robots
        values = buffer.reshape(-1, *buffer.shape[2:]).take(rows, axis=0)
        if view.pixels:
            return values
        blind = self.blind.reshape(-1)[rows]
        if blind.any():
            some = values[blind]
            blindfold(view.name, some, robots)
            values[blind] = some
        expected = getattr(getattr(policy, "config", None), "robots", robots)
        return sensed_alone(view.name, values, expected) if robots == 1 and expected > 1 else values

    def _finish(self, decisions: Decisions, parts: list[Action], drawn: np.ndarray | None) -> None:
        """Put together what the calls gave, choose the actions and keep the memories."""
        rows, group = decisions.rows, decisions.group
        n = len(rows)
        result = parts[0]
        if len(parts) > 1 or len(result.memory) > n:
            result = Action(*(torch.cat(values)[:n] for values in zip(*parts, strict=True)))
        if group.memory.device.type == "cpu":
            # A quarter of the time that torch takes for few rows.
            group.memory.numpy()[rows] = result.memory.detach().numpy()
        else:
            group.memory[torch.from_numpy(rows).to(group.memory.device)] = result.memory
        decisions.result = result
        if drawn is None or isinstance(group.policy, FunctionPolicy):
            decisions.action = result.action.cpu().numpy()
        elif self.greedy and not isinstance(group.policy, RandomPolicy):
            decisions.action = result.logits.numpy().argmax(axis=1)
        else:
            decisions.action = sample(result.logits.numpy(), drawn.reshape(-1)[rows])
