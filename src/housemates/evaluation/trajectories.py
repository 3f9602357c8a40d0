"""Every decision of games while they are played: what a robot sensed, what it chose, what came of it until its next one.

The games are those of `play`, bit for bit. Scripted robots, which the simulator moves there, are asked here whenever they take
up the next step of their plan, so that their decisions can be seen too. Nothing is written; `datasets` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from housemates.agents.actors import NOBODY, Actor
from housemates.agents.functions import FunctionPolicy
from housemates.evaluation.play import SLOTS, Games, as_teams
from housemates.homes.home import Home
from housemates.policies.policy import Policy
from housemates.policies.threads import one_thread
from housemates.renderer.pictures import SMALLEST
from housemates.sim.batch import Batch
from housemates.sim.cameras import PICTURES
from housemates.sim.rules import Rules
from housemates.sim.state import TRACE
from housemates.sim.step import next_of_plan
from housemates.sim.world import World, pack
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes

ROOM = 1 << 29
"""Bytes that the decisions of unfinished games may take, about; larger pictures mean fewer games side by side."""
LARGEST = 1024
"""Side of the largest picture, pixels."""
USUAL = 256
"""Decisions of a robot in a game, for that estimate."""
NUMBERS: dict[str, tuple[tuple[int, ...], str]] = {
    "robot": ((), "i1"),
    "clock": ((), "i4"),
    "decision": ((), "i1"),
    "feasible": ((), "?"),
    "duration": ((), "i4"),
    "reward": ((), "f8"),
    "reward_discounted": ((), "f8"),
    "log_prob": ((), "f4"),
    "probabilities": ((len(ACTIONS),), "f4"),
}
"""What is kept of a decision beside observations: shape and type."""


class Game(NamedTuple):
    """One game: its decisions [n], robot by robot, each robot's in the order of time."""

    team: int
    episode: int
    """Index into the episodes."""
    robot: np.ndarray
    """[R] which robot each seat moved; seat 0 is the agent's."""
    outcome: int
    """Index into OUTCOMES."""
    steps: int
    rows: dict[str, np.ndarray]
    """The arrays of NUMBERS."""
    seen: dict[str, np.ndarray]
    """Observations by name, as they were when the robot decided."""


class Senses:
    """Chosen observations of a batch's robots, pictures with a side of any number of pixels."""

    def __init__(self, batch: Batch, names: Sequence[str], pixels: int = 64) -> None:
        if len(set(names)) < len(names):
            raise ValueError(f"observations {' '.join(names)} - name each of them once")
        if not SMALLEST <= pixels <= LARGEST:
            raise ValueError(f"pictures of {pixels} pixels - choose a side of {SMALLEST} to {LARGEST}, such as 64")
        self.batch, self.pixels = batch, pixels
        self.shapes = {name: batch.observation(name) for name in names}
        for name in self.shapes.keys() & PICTURES:
            channels, kind = PICTURES[name]
            self.shapes[name] = ((pixels, pixels, channels), kind)
        self._buffers = {
            name: np.zeros((batch.size, batch.robots, *shape), kind) for name, (shape, kind) in self.shapes.items()
        }

    def look(self, which: np.ndarray) -> dict[str, np.ndarray]:
        """What the robots of which [E, R] sense now, [n, ...] by name."""
        for name, buffer in self._buffers.items():
            if name in PICTURES:
                self.batch.cameras_of(self.pixels).heads(name, self.batch.records, which, buffer)
            else:
                self.batch.observe(name, buffer, which)
        return {name: buffer[which] for name, buffer in self._buffers.items()}


def trajectories(
    episodes: Episodes,
    homes: Sequence[Home],
    teams: Sequence[Sequence[Actor | Policy | str]],
    rules: Rules | None = None,
    seed: int = 0,
    greedy: bool = False,
    *,
    observations: Sequence[str] = ("state",),
    pixels: int = 64,
    seats: Sequence[bool] | None = None,
    which: np.ndarray | None = None,
    threads: int = 1,
    world: World | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Game]:
    """Every game that `play` gives these teams in episodes which [n] (default all), team by team.

    observations: names of `Batch.observe`, pictures with a side of `pixels`. seats [R]: whose decisions are kept (default:
    everybody's).
    """
    made = as_teams(teams)
    ids = np.arange(len(episodes)) if which is None else np.asarray(which)
    kept = np.ones(len(made[0]), np.bool_) if seats is None else np.asarray(seats, np.bool_)
    world = world or pack(episodes, homes)
    # A batch of one home tells the sizes before the real one is made.
    shapes = Senses(Batch(episodes, homes, 1, len(kept), world=world), observations, pixels).shapes
    row = sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in [*shapes.values(), *NUMBERS.values()])
    slots = int(np.clip(ROOM // (row * max(int(kept.sum()), 1) * USUAL), 4, SLOTS))
    with one_thread():
        games = _Witnessed(episodes, homes, made, rules or Rules(), seed, greedy, ids, True, threads, slots, world=world)
        games.watch(kept, observations, pixels)
        finished: dict[int, Game] = {}
        done = due = 0
        for jobs in games.rounds():
            finished |= games.collect()
            done += len(jobs)
            if progress is not None and len(jobs):
                progress(done, len(games.team))
            while due in finished:
                yield finished.pop(due)
                due += 1


class _Pool:
    """Decisions of the games that are being played, in any order; places are used again."""

    def __init__(self, shapes: dict[str, tuple[tuple[int, ...], type]]) -> None:
        self.job = np.full(1024, -1)
        """[capacity] whose decision is in a place, -1 for none."""
        self.arrays = {name: np.zeros((len(self.job), *shape), kind) for name, (shape, kind) in (NUMBERS | shapes).items()}

    def take(self, jobs: np.ndarray) -> np.ndarray:
        """Places [n] for one decision of each of the games jobs [n]."""
        free = np.flatnonzero(self.job < 0)
        while len(free) < len(jobs):
            self.job = np.concatenate([self.job, np.full_like(self.job, -1)])
            self.arrays = {name: np.concatenate([array, np.zeros_like(array)]) for name, array in self.arrays.items()}
            free = np.flatnonzero(self.job < 0)
        places = free[: len(jobs)]
        self.job[places] = jobs
        return places

    def give(self, job: int) -> dict[str, np.ndarray]:
        """All decisions of a game, robot by robot; their places are free again."""
        places = np.flatnonzero(self.job == job)
        places = places[np.lexsort((self.arrays["clock"][places], self.arrays["robot"][places]))]
        self.job[places] = -1
        return {name: array[places] for name, array in self.arrays.items()}


class _Witnessed(Games):
    """All games of one call of `trajectories`."""

    def watch(self, seats: np.ndarray, observations: Sequence[str], pixels: int) -> None:
        """Keep the decisions of seats [R] bool; to be called before the first round."""
        batch, shape = self.batch, (self.batch.size, self.batch.robots)
        self.seats, self.senses = seats, Senses(batch, observations, pixels)
        self.store = _Pool(self.senses.shapes)
        self.watched, self.open_at = np.zeros(shape, np.bool_), np.full(shape, -1)
        self.likely = np.zeros((batch.size * batch.robots, len(ACTIONS)))
        self.fresh = np.zeros(shape, np.bool_)
        self.ready: dict[int, Game] = {}
        # The first step of a call tells whether a decision could be carried out.
        batch.trace = np.zeros((batch.size, 1), TRACE)

    def collect(self) -> dict[int, Game]:
        """The games that have ended since the last call, by their number."""
        ready, self.ready = self.ready, {}
        return ready

    def begin(self, slots: np.ndarray, jobs: np.ndarray) -> None:
        """As `Games.begin`; robots with a script are asked as well."""
        super().begin(slots, jobs)
        self.watched[slots[:, None], self.robot[jobs]] = self.seats
        self.open_at[slots] = -1
        # A plan goes on whoever reads it out; a scripted robot is not interrupted because of that.
        self.batch.state.controllable[slots] |= self.watched[slots]

    def ask(self) -> np.ndarray:
        """As `Games.ask`; keeps what was seen and decided."""
        batch = self.batch
        which = batch.decide & self.watched
        self._close(which)
        actions = super().ask()
        self.likely[:] = np.nan
        for some in self.decided:
            if not isinstance(some.group.policy, FunctionPolicy):
                logits = some.result.logits.numpy()
                weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
                self.likely[some.rows] = weights / weights.sum(axis=1, keepdims=True)
        for home, robot in np.argwhere(which & (self.actors.actor == NOBODY)):
            actions[home, robot] = next_of_plan(batch.world, batch.records[home], robot)
        home, robot = np.nonzero(which)
        chosen, likely = actions[which], self.likely[which.reshape(-1)]
        places = self.store.take(self.job[home])
        with np.errstate(divide="ignore"):
            log_prob = np.log(likely[np.arange(len(home)), chosen])
        known = {"robot": robot, "clock": batch.state.clock[home], "decision": chosen, "log_prob": log_prob}
        for name, values in (known | {"probabilities": likely} | self.senses.look(which)).items():
            self.store.arrays[name][places] = values
        self.open_at[which], self.fresh = places, which
        return actions

    def _close(self, which: np.ndarray) -> None:
        """Complete the open decisions of robots which [E, R]."""
        mine = which & (self.open_at >= 0)
        places, state, arrays = self.open_at[mine], self.batch.state, self.store.arrays
        arrays["reward"][places] = state.terms[mine].sum(axis=1)
        arrays["reward_discounted"][places] = state.discounted[mine]
        arrays["duration"][places] = state.duration[mine]
        self.open_at[mine] = -1

    def end(self, slots: np.ndarray) -> None:
        """As `Games.end`; the games are ready."""
        batch, arrays = self.batch, self.store.arrays
        home, robot = np.nonzero(self.fresh)
        places = self.open_at[self.fresh]
        done = batch.trace["executed"][home, 0, robot]  # ty: ignore[invalid-argument-type]
        arrays["feasible"][places] = done == arrays["decision"][places]
        over = np.zeros_like(self.fresh)
        over[slots] = True
        self._close(over)
        for slot in slots:
            job = int(self.job[slot])
            kept = self.store.give(job)
            rows = {name: kept.pop(name) for name in NUMBERS}
            end = int(batch.ended.outcome[slot]), int(batch.ended.steps[slot])
            self.ready[job] = Game(int(self.team[job]), int(self.episode[job]), self.robot[job], *end, rows, kept)
        super().end(slots)
