"""Teams play episodes, each once: many teams and episodes side by side in one batch, every team the same games.

What a robot does depends on the seed, the episode and its own team alone: a draw is a function of (seed, episode, robot,
number of the decision), and policies always act in chunks of one size. So a team's games are the same bits whoever else
plays in the batch, and with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from housemates.agents.agent import Function, Outsider
from housemates.evaluation.resume import Kept
from housemates.homes.home import Home
from housemates.policies.config import seen_as
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.cameras import PICTURES, Cameras
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.sim.sensors import blindfold, draw_without_partners, sensed_alone
from housemates.sim.state import OUTCOMES
from housemates.sim.world import World
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes

SLOTS = 512
"""Games side by side; when one ends, the next takes its place."""
CHUNK = 32
"""Robots a policy acts for in one call, always: the last bits of a matrix product depend on its shape."""


@dataclass(frozen=True, eq=False)
class Mind:
    """What moves one robot: a policy or whatever acts like one, or one of the simulator's scripts."""

    policy: Policy | None = None
    latent: int = 0
    """For a policy that has one."""
    script: str = ""
    """A key of SCRIPTS, for a mind without policy."""
    blind: bool = False
    """Senses no partner: none in its pictures and numbers, and nobody interrupts it."""


@dataclass(frozen=True, eq=False)
class Played:
    """One row per game, team by team. Seat 0 of a team is the agent; whatever there is for each robot is given by seat."""

    team: np.ndarray
    """[N] int, index into the teams."""
    episode: np.ndarray
    """[N] int, index into the episodes."""
    robot: np.ndarray
    """[N, R] int, which robot each seat moved."""
    outcome: np.ndarray
    """[N] int8, index into OUTCOMES."""
    steps: np.ndarray
    """[N] int32."""
    total: np.ndarray
    """[N] float64, the paper's literal return."""
    done_by: np.ndarray
    """[N, 6] int8, which seat achieved each sub-goal of the task, -1 nobody."""
    idle: np.ndarray
    """[N, R] int32, steps in which a robot did nothing."""
    travelled: np.ndarray
    """[N, R] float64, metres."""
    decisions: np.ndarray
    """[N, R] int32, how often each seat was asked; 0 for scripts."""
    executed: np.ndarray | None = None
    """[N, R, 25] int32, steps in which each action was really done (an infeasible choice is a no-op); on request."""

    def rate(self, outcome: str) -> float:
        """Share of the games that ended in one of OUTCOMES."""
        return float((self.outcome == OUTCOMES.index(outcome)).mean())


class _Group(NamedTuple):
    """Minds that act together: the same policy, seeing or blind."""

    policy: Policy
    blind: bool
    memory: torch.Tensor
    """[slots * R, M]."""


def as_mind(who: Mind | Policy | str) -> Mind:
    """A mind from a policy or the name of a script."""
    if isinstance(who, Mind):
        return who
    return Mind(script=who) if isinstance(who, str) else Mind(who)


def play(
    episodes: Episodes,
    homes: Sequence[Home],
    teams: Sequence[Sequence[Mind | Policy | str]],
    rules: Rules | None = None,
    seed: int = 0,
    greedy: bool = False,
    *,
    which: np.ndarray | None = None,
    swap: bool = True,
    threads: int = 1,
    slots: int = SLOTS,
    executed: bool = False,
    world: World | None = None,
    kept: Kept | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Played:
    """Every team plays every episode of which [n] (indices, default all) once.

    Robots start where the episodes say, or, if they do not, where (seed, episode) says. Policies sample their actions, or
    take the likeliest if greedy. swap: the agent of a team moves robot 0 in half of the episodes, robot 1 in the others;
    without it seat r is robot r. A policy for several robots may also play alone. threads: for simulator, renderer and
    networks. executed: also count what was done. kept: games that were played before an interruption, and where others are
    kept until all are played.
    """
    made = [[as_mind(who) for who in team] for team in teams]
    if not made or len({len(team) for team in made}) > 1:
        raise ValueError(f"teams of {sorted({len(team) for team in made})} robots - give teams, all of the same number")
    ids = np.arange(len(episodes)) if which is None else np.asarray(which)
    before = torch.get_num_threads()
    # Calls of 32 robots are too small to share; threads take calls instead.
    torch.set_num_threads(1)
    try:
        return _Games(
            episodes, homes, made, rules or Rules(), seed, greedy, ids, swap, threads, slots, executed, world, kept
        ).play(progress)
    finally:
        torch.set_num_threads(before)


class _Games:
    """All games of one call of `play`."""

    def __init__(
        self, episodes, homes, teams, rules, seed, greedy, ids, swap, threads, slots, executed, world, kept=None
    ) -> None:
        self.teams, self.seed, self.greedy, self.threads = teams, seed, greedy, threads
        robots, count = len(teams[0]), len(teams) * len(ids)
        self.team, self.episode = np.repeat(np.arange(len(teams)), len(ids)), np.tile(ids, len(teams))
        seats = seat_order(ids, robots) if swap else np.tile(np.arange(robots), (len(ids), 1))
        self.robot = np.tile(seats, (len(teams), 1))
        shapes = {"outcome": ((), "i1"), "steps": ((), "i4"), "total": ((), "f8"), "done_by": ((6,), "i1")}
        shapes |= {"idle": ((robots,), "i4"), "travelled": ((robots,), "f8"), "decisions": ((robots,), "i4")}
        self.results = {name: np.zeros((count, *shape), kind) for name, (shape, kind) in shapes.items()}
        self.executed = np.zeros((count if executed else 0, robots, len(ACTIONS)), np.int32)
        self.kept: Kept | None = kept
        self.left = np.arange(count) if kept is None else np.flatnonzero(~kept.begin(self.results))
        size = max(1, min(slots, len(self.left)))
        stored = episodes.spawn is not None and bool(np.isfinite(episodes.spawn[:, :robots]).all())
        trace = rules.horizon if executed else 0
        self.batch = Batch(
            episodes, homes, size, robots, rules, seed, threads, stored, autoreset=False, world=world, trace=trace
        )
        self._prepare_minds()
        self.cameras: dict[int, Cameras] = {}
        self.buffers: dict[tuple[str, int, type], np.ndarray] = {}
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.job = np.full(size, -1)
        self.asked = np.zeros((size, robots), np.int32)
        self.group = np.full((size, robots), -1)
        self.latent = np.zeros((size, robots), np.int64)

    def _prepare_minds(self) -> None:
        """Group the minds of all teams by who acts."""
        self.groups: list[_Group] = []
        found: dict[tuple[int, bool], int] = {}
        robots, streams = self.batch.robots, self.batch.size * self.batch.robots
        self.group_of = np.full((len(self.teams), robots), -1)
        self.script_of = np.zeros((len(self.teams), robots), np.int16)
        self.latent_of = np.zeros((len(self.teams), robots), np.int64)
        self.blind_of = np.zeros((len(self.teams), robots), np.bool_)
        for t, team in enumerate(self.teams):
            for seat, mind in enumerate(team):
                self.blind_of[t, seat], self.latent_of[t, seat] = mind.blind, mind.latent
                if mind.policy is None:
                    self.script_of[t, seat] = script(mind.script)
                    continue
                expects = getattr(mind.policy.config, "robots", robots)
                if robots not in (1, expects):
                    raise ValueError(f"a policy for {expects} robots cannot play where there are {robots} - choose another one")
                key = (id(mind.policy), mind.blind)
                if key not in found:
                    found[key] = len(self.groups)
                    self.groups.append(_Group(mind.policy, mind.blind, mind.policy.initial_memory(streams)))
                self.group_of[t, seat] = found[key]

    def play(self, progress: Callable[[int, int], None] | None) -> Played:
        """Play everything that is left."""
        done = len(self.team) - len(self.left)
        if progress is not None and done:
            progress(done, len(self.team))
        try:
            for jobs in self.rounds():
                done += len(jobs)
                if self.kept is not None:
                    self.kept.add(jobs)
                if progress is not None and len(jobs):
                    progress(done, len(self.team))
        finally:
            if self.kept is not None:
                self.kept.save()
        return Played(
            self.team, self.episode, self.robot, **self.results, executed=self.executed if len(self.executed) else None
        )

    def rounds(self) -> Iterator[np.ndarray]:
        """Play everything that is left; after each call of the simulator come the games [n] that have just ended."""
        batch, following = self.batch, 0
        while True:
            free = np.flatnonzero(self.job < 0)[: len(self.left) - following]
            if len(free):
                self._begin(free, self.left[following : following + len(free)])
                following += len(free)
            if (self.job < 0).all():
                return
            batch.step(self._ask())
            if len(self.executed):
                self._count()
            ended = np.flatnonzero((self.job >= 0) & batch.state.over)
            jobs = self.job[ended]
            self._end(ended)
            yield jobs

    def _begin(self, slots: np.ndarray, jobs: np.ndarray) -> None:
        """Start the games jobs [n] in slots [n]."""
        state, robots, team = self.batch.state, self.batch.robots, self.team[jobs]
        at = self.robot[jobs]
        where = slots[:, None], at
        self.job[slots], self.asked[slots] = jobs, 0
        self.group[where], self.latent[where] = self.group_of[team], self.latent_of[team]
        asked = self.group_of[team] >= 0
        state.controllable[where] = asked
        state.interruptible[where] = asked & ~self.blind_of[team]
        state.script[where] = self.script_of[team]
        state.following[slots] = self.episode[jobs]
        state.rng[slots] = mixed(self.seed, self.episode[jobs])
        # Games that are over wait for a reset, as do the homes of a new batch: those of unused slots stay out of it.
        state.over[self.job < 0] = True
        fresh = np.zeros(self.batch.size, np.bool_)
        fresh[slots] = True
        self.batch.reset(which=fresh)
        streams = torch.from_numpy((slots[:, None] * robots + np.arange(robots)).reshape(-1))
        for group in self.groups:
            group.memory[streams] = 0.0

    def _end(self, slots: np.ndarray) -> None:
        """Write down the games that have ended in slots [n]."""
        if not len(slots):
            return
        jobs, ended = self.job[slots], self.batch.ended
        at = self.robot[jobs]
        for name in ("outcome", "steps", "total"):
            self.results[name][jobs] = getattr(ended, name)[slots]
        for name in ("idle", "travelled"):
            self.results[name][jobs] = getattr(ended, name)[slots[:, None], at]
        self.results["decisions"][jobs] = self.asked[slots[:, None], at]
        seat = np.argsort(at, axis=1)
        done_by = ended.done_by[slots]
        self.results["done_by"][jobs] = np.where(done_by >= 0, np.take_along_axis(seat, np.maximum(done_by, 0), axis=1), -1)
        self.job[slots] = -1

    def _count(self) -> None:
        """Add what was done since the last call to the counts."""
        batch, counts = self.batch, self.executed.reshape(-1)
        longest = int(batch.traced.max())
        slot, tick = np.nonzero(np.arange(longest) < np.where(self.job >= 0, batch.traced, 0)[:, None])
        job = self.job[slot]
        done = batch.trace["executed"][slot, tick]  # ty: ignore[invalid-argument-type]
        for seat in range(batch.robots):
            action = done[np.arange(len(slot)), self.robot[job, seat]]
            np.add.at(counts, (job * batch.robots + seat) * len(ACTIONS) + action, 1)

    def _ask(self) -> np.ndarray:
        """Actions [E, R] of everybody who must decide, -1 for the others."""
        batch = self.batch
        decide = batch.decide
        actions = np.full(decide.shape, -1)
        asked = [(group, decide & (self.group == k)) for k, group in enumerate(self.groups)]
        asked = [(group, mine) for group, mine in asked if mine.any()]
        self._look(asked)
        calls = []
        for group, mine in asked:
            rows = np.flatnonzero(mine)
            calls.append((group, rows, self._calls(group, rows)))
        run = map if self.pool is None else self.pool.map
        results = iter(list(run(lambda call: call(), [call for _, _, some in calls for call in some])))
        drawn = uniform(self.seed, self.episode[np.maximum(self.job, 0)][:, None], np.arange(batch.robots), self.asked)
        flat = actions.reshape(-1)
        for group, rows, some in calls:
            parts = [next(results) for _ in some]
            flat[rows] = self._choose(group, rows, parts, drawn.reshape(-1)[rows])
        self.asked += decide
        return actions

    def _look(self, asked: list[tuple[_Group, np.ndarray]]) -> None:
        """Fill the buffers with all that the asked need; the blind are drawn for later, by themselves."""
        batch, wanted = self.batch, {}
        for group, mine in asked:
            for name in group.policy.config.observations:
                key = (*self._shown(group.policy.config, name), group.blind and name in PICTURES)
                wanted[key] = wanted.get(key, False) | mine
        for (name, pixels, kind, alone), which in wanted.items():
            key = (name, pixels, kind)
            if not pixels:
                self.buffers[key] = batch.observe(name, self.buffers.get(key), which)
                continue
            cameras = self._cameras(pixels)
            if key not in self.buffers:
                self.buffers[key] = np.zeros((batch.size, batch.robots, pixels, pixels, PICTURES[name][0]), kind)
            draw = partial(draw_without_partners, cameras) if alone else cameras.heads
            draw(name, batch.records, which, self.buffers[key])

    def _shown(self, config: Any, name: str) -> tuple[str, int, type]:
        """How a policy sees an observation: its name, the side of a picture (else 0) and the type of its numbers."""
        pixels = getattr(config, "picture", self.batch.pixels) if name in PICTURES else 0
        return name, pixels, seen_as(config, name, self.batch.observation(name)[1])

    def _cameras(self, pixels: int) -> Cameras:
        """Cameras for pictures of one size."""
        batch = self.batch
        if pixels not in self.cameras:
            if pixels == batch.pixels:
                self.cameras[pixels] = batch.cameras
            else:
                sizes = (batch.size, batch.robots, pixels, self.threads)
                self.cameras[pixels] = Cameras(batch.world, batch.episodes, batch.homes, *sizes)
        return self.cameras[pixels]

    def _calls(self, group: _Group, rows: np.ndarray) -> list[Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
        """Calls of the group's policy for the robots rows [n] of [E * R], each giving (logits or actions, memory)."""
        policy = group.policy
        whole = isinstance(policy, Outsider)
        padded = rows if whole else np.concatenate([rows, np.repeat(rows[:1], -len(rows) % CHUNK)])
        seen = {}
        for name in policy.config.observations:
            _, pixels, kind = self._shown(policy.config, name)
            buffer = self.buffers[name, pixels, kind]
            values = buffer.reshape(-1, *buffer.shape[2:])[padded]
            if group.blind and not pixels:
                blindfold(name, values, self.batch.robots)
            if self.batch.robots == 1:
                values = sensed_alone(name, values, getattr(policy.config, "robots", 1))
            seen[name] = torch.from_numpy(values)
        index = torch.from_numpy(padded)
        memory = group.memory[index]
        latent = torch.from_numpy(self.latent.reshape(-1)[padded]) if policy.config.latent else None

        def call(part: slice) -> tuple[torch.Tensor, torch.Tensor]:
            shown = {name: values[part] for name, values in seen.items()}
            result = policy.act(shown, memory[part], None if latent is None else latent[part], greedy=True)
            return (result.action if isinstance(policy, Function) else result.logits), result.memory

        size = max(len(padded), 1) if whole else CHUNK
        return [partial(call, slice(low, low + size)) for low in range(0, len(padded), size)]

    def _choose(self, group: _Group, rows: np.ndarray, parts: list, drawn: np.ndarray) -> np.ndarray:
        """Actions [n] from what the calls gave, with one uniform number [n] each; keeps the memories."""
        given = torch.cat([part[0] for part in parts]).numpy()[: len(rows)]
        group.memory[torch.from_numpy(rows)] = torch.cat([part[1] for part in parts])[: len(rows)]
        if given.ndim == 1:
            return given
        if self.greedy and not isinstance(group.policy, Outsider):
            return given.argmax(axis=1)
        return sample(given, drawn)


def sample(logits: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Actions [n] by inverting the cumulative distributions of logits [n, A] at uniform numbers drawn [n]."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    cumulative = weights.cumsum(axis=1)
    return (cumulative[:, :-1] <= drawn[:, None] * cumulative[:, -1:]).sum(axis=1)


def seat_order(episodes: np.ndarray, robots: int) -> np.ndarray:
    """Which robot each seat moves in episodes [n], [n, R]: drawn anew for every R episodes, so that each seat moves each
    robot equally often; homes also follow each other in a fixed rhythm, which must not decide it."""
    block, place = np.divmod(np.asarray(episodes), robots)
    order = np.argsort(uniform(0, block[:, None], np.arange(robots), 0), axis=1)
    first = np.take_along_axis(order, place[:, None], axis=1)
    return (first + np.arange(robots)) % robots


def mixed(*numbers: np.ndarray | int) -> np.ndarray:
    """64 random bits for each combination of whole numbers (which broadcast), uint64: splitmix64 over one after the other."""
    state = np.zeros((), np.uint64)
    with np.errstate(over="ignore"):
        for number in numbers:
            state = (state ^ np.asarray(number, np.int64).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state


def uniform(*numbers: np.ndarray | int) -> np.ndarray:
    """A number in [0, 1) for each combination of whole numbers."""
    return (mixed(*numbers) >> np.uint64(11)) / float(1 << 53)
