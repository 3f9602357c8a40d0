"""Teams play episodes, each once: many teams and episodes side by side in one batch, every team the same games.

What a robot does depends on the seed, the episode and its own team alone: a draw is a function of (seed, episode, robot,
number of the decision), and policies always act in chunks of one size. So a team's games are the same bits whoever else
plays in the batch, and with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from housemates.agents.actors import NOBODY, Actor, Actors, Decisions
from housemates.agents.draws import mixed, uniform
from housemates.evaluation.resume import Kept
from housemates.homes.home import Home
from housemates.policies.policy import Policy
from housemates.policies.threads import one_thread
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.sim.state import OUTCOMES
from housemates.sim.world import World
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes

SLOTS = 512
"""Games side by side; when one ends, the next takes its place."""
CHUNK = 32
"""Robots a network decides for in one call, always: the last bits of a matrix product depend on its shape."""


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
    """[N, 6] int8, which seat achieved each sub-goal of the task, -1 none."""
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


def as_actor(who: Actor | Policy | str) -> Actor:
    """An actor from a policy or the name of a script."""
    if isinstance(who, Actor):
        return who
    return Actor(script=who) if isinstance(who, str) else Actor(who)


def as_teams(teams: Sequence[Sequence[Actor | Policy | str]]) -> list[list[Actor]]:
    """Teams of actors, all of the same number of robots."""
    made = [[as_actor(who) for who in team] for team in teams]
    if not made or len({len(team) for team in made}) > 1:
        raise ValueError(f"teams of {sorted({len(team) for team in made})} robots - give teams, all of the same number")
    return made


def play(
    episodes: Episodes,
    homes: Sequence[Home],
    teams: Sequence[Sequence[Actor | Policy | str]],
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
    made = as_teams(teams)
    ids = np.arange(len(episodes)) if which is None else np.asarray(which)
    # Calls of 32 robots are too small to share; threads take calls instead.
    with one_thread():
        return Games(
            episodes, homes, made, rules or Rules(), seed, greedy, ids, swap, threads, slots, executed, world, kept
        ).play(progress)


class Games:
    """All games of one call of `play`."""

    def __init__(
        self,
        episodes: Episodes,
        homes: Sequence[Home],
        teams: Sequence[Sequence[Actor]],
        rules: Rules,
        seed: int,
        greedy: bool,
        ids: np.ndarray,
        swap: bool = True,
        threads: int = 1,
        slots: int = SLOTS,
        executed: bool = False,
        world: World | None = None,
        kept: Kept | None = None,
    ) -> None:
        """As `play`; ids [n]: the episodes."""
        self.teams, self.seed = teams, seed
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
        self.actors = Actors(self.batch, self._seat(), chunk=CHUNK, threads=threads, fused=True, greedy=greedy)
        self.job = np.full(size, -1)
        self.asked = np.zeros((size, robots), np.int32)
        self.decided: list[Decisions] = []
        """What was decided in the last call of `ask`."""

    def _seat(self) -> list[Actor]:
        """Note who sits at every seat [T, R] of the teams; returns an actor for each policy and way of looking ahead."""
        found: dict[object, Actor] = {}
        shape = (len(self.teams), self.batch.robots)
        self.actor_of, self.script_of = np.full(shape, NOBODY), np.zeros(shape, np.int16)
        self.latent_of, self.blind_of = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        self.cut_of = np.ones(shape, np.bool_)
        for t, team in enumerate(self.teams):
            for seat, actor in enumerate(team):
                self.blind_of[t, seat], self.latent_of[t, seat] = actor.blind, actor.latent
                self.cut_of[t, seat] = actor.interruptible and not actor.blind
                if actor.policy is None:
                    self.script_of[t, seat] = script(actor.script)
                else:
                    key = id(actor.policy), actor.look_ahead
                    found.setdefault(key, actor)
                    self.actor_of[t, seat] = list(found).index(key)
        return list(found.values())

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
                self.begin(free, self.left[following : following + len(free)])
                following += len(free)
            if (self.job < 0).all():
                return
            batch.step(self.ask())
            if len(self.executed):
                self._count()
            ended = np.flatnonzero((self.job >= 0) & batch.state.over)
            jobs = self.job[ended]
            self.end(ended)
            yield jobs

    def begin(self, slots: np.ndarray, jobs: np.ndarray) -> None:
        """Start the games jobs [n] in slots [n]."""
        state, actors, team = self.batch.state, self.actors, self.team[jobs]
        where = slots[:, None], self.robot[jobs]
        self.job[slots], self.asked[slots] = jobs, 0
        actors.actor[where], actors.latent[where] = self.actor_of[team], self.latent_of[team]
        actors.blind[where] = self.blind_of[team]
        asked = self.actor_of[team] != NOBODY
        state.controllable[where] = asked
        state.interruptible[where] = asked & self.cut_of[team]
        state.script[where] = self.script_of[team]
        state.following[slots] = self.episode[jobs]
        state.rng[slots] = mixed(self.seed, self.episode[jobs])
        # Games that are over wait for a reset, as do the homes of a new batch: those of unused slots stay out of it.
        state.over[self.job < 0] = True
        fresh = np.zeros(self.batch.size, np.bool_)
        fresh[slots] = True
        self.batch.reset(which=fresh)

    def end(self, slots: np.ndarray) -> None:
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

    def ask(self) -> np.ndarray:
        """Actions [E, R] of all robots that must decide, -1 for the others."""
        batch = self.batch
        decide = batch.decide
        actions = np.full(decide.shape, -1)
        drawn = uniform(self.seed, self.episode[np.maximum(self.job, 0)][:, None], np.arange(batch.robots), self.asked)
        self.decided = self.actors.decide(decide, actions, drawn)
        self.asked += decide
        return actions


def seat_order(episodes: np.ndarray, robots: int) -> np.ndarray:
    """Which robot each seat moves in episodes [n], [n, R]: drawn again for every R episodes, so that each seat moves each
    robot equally often; homes also follow each other in a fixed rhythm, which must not decide it."""
    block, place = np.divmod(np.asarray(episodes), robots)
    order = np.argsort(uniform(0, block[:, None], np.arange(robots), 0), axis=1)
    first = np.take_along_axis(order, place[:, None], axis=1)
    return (first + np.arange(robots)) % robots
