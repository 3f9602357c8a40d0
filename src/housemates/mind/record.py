"""Games of a finished agent with partners, step by step, and from them the samples of a theory of mind.

A sample is a decision of the agent with a partner near: what its memory holds and what it senses of the partner, and, in
hindsight, what the partner did. Labels come from the simulator; inputs never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from housemates.agents.actors import load_actors
from housemates.agents.agent import Agent
from housemates.homes.home import Home
from housemates.lookahead.mind import AHEAD, NOWHERE, SOON, SUBGOALS, TRACKED, write_tracked
from housemates.lookahead.settings import LookAhead
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.sim.sensor_kernels import place_before
from housemates.tasks.actions import PICK
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import get_task
from housemates.training.disturbances import Disturbances, Disturber
from housemates.training.rollout import SCRIPTED, Collector, Learner, Slots

NEAR = 5.0
"""Metres: samples are taken when the partner is nearer, as the look-ahead asks then."""
UNKNOWN = -1
FACTS = 7
"""Numbers of a row before its inputs: step, place in the batch, yaw, velocity (2), whether the partner reacts, home."""


@dataclass(eq=False)
class Track:
    """What every step of the games shows, for T steps of E homes with two robots."""

    executed: np.ndarray
    """[T, E] int8, the partner's action in this step; an infeasible one is a no-op."""
    place: np.ndarray
    """[T, E, 2] float64, where the partner is after the step, (x, z) in metres."""
    episode: np.ndarray
    """[T, E] int32, the number of the home's episode after the step."""
    achieved: dict[tuple[int, int], np.ndarray]
    """Of (home, episode): sub-goals [6] that the partner achieved, 0 or 1, UNKNOWN beyond the task's own."""


@dataclass(eq=False)
class Samples:
    """N samples: inputs and labels; UNKNOWN or nan where the recording ended before a label was known."""

    inputs: np.ndarray
    """[N, D] float32, as `lookahead.mind.Mind` reads them."""
    action: np.ndarray
    """[N] int64, what the partner does next."""
    going: np.ndarray
    """[N] int64, its navigation that is running or begins within SOON steps, NOWHERE for none."""
    place: np.ndarray
    """[N, 4, 2] float32, metres ahead and right of its present place after AHEAD steps, as the robot faces."""
    subgoals: np.ndarray
    """[N, 6] float32, which sub-goals it achieves in this episode."""
    reacts: np.ndarray
    """[N] float32, 0 for a script, or a partner that is blind or freezes; else 1."""
    velocity: np.ndarray
    """[N, 2] float32, metres a step of the last two steps, in the same frame as `place`."""
    home: np.ndarray
    """[N] int64, the home that was played in, to divide samples by."""

    def take(self, which: np.ndarray) -> Samples:
        """Some of the samples, by a mask [N] or indices."""
        return Samples(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    def __len__(self) -> int:
        return len(self.action)


def joined(parts: Sequence[Samples]) -> Samples:
    """Samples of several recordings in the same homes."""
    return Samples(**{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Samples)})


def actions_soon(executed: np.ndarray, episode: np.ndarray, t: int, e: int) -> tuple[int, int]:
    """(action, going) of a sample after step t of home e, from executed and episode [T, E]; UNKNOWN where games ended."""
    action, going = UNKNOWN, UNKNOWN
    for k in range(1, SOON + 1):
        # The step that ends an episode still belongs to it, but the number after it is the next one's.
        if t + k >= len(executed) or episode[t + k - 1, e] != episode[t, e]:
            return action, going
        done = int(executed[t + k, e])
        action = done if k == 1 else action
        if done < PICK:
            return action, done
    return action, NOWHERE


def places_later(track: Track, t: int, e: int, yaw: float) -> np.ndarray:
    """Metres [4, 2] ahead and right that the partner of home e is from its place of step t, AHEAD steps later; nan where the
    episode is over. yaw: of the robot that looks."""
    out = np.full((len(AHEAD), 2), np.nan, np.float32)
    for k, steps in enumerate(AHEAD):
        if t + steps < len(track.place) and track.episode[t + steps, e] == track.episode[t, e]:
            out[k] = in_frame(track.place[t + steps, e] - track.place[t, e], yaw)
    return out


def in_frame(moved: np.ndarray, yaw: float) -> np.ndarray:
    """A movement (x, z) as metres ahead and right of a robot with that yaw."""
    cosine, sine = np.cos(yaw), np.sin(yaw)
    return np.array([cosine * moved[0] - sine * moved[1], sine * moved[0] + cosine * moved[1]])


def seated(partners: Sequence[Agent], policy: Policy, homes: int, rng: np.random.Generator) -> tuple[list[Learner], Slots]:
    """The agent and a partner drawn for each home: players, and who moves which robot; the agent is player 0."""
    known = load_actors(partners)
    actors = [known[partner] for partner in partners]
    numbers = {id(actor.policy): actor.policy for actor in actors if actor.policy is not None}
    place = {key: k for k, key in enumerate(numbers, start=1)}
    player = np.array([place.get(id(actor.policy), SCRIPTED) for actor in actors], np.int16)
    plans = np.array([script(p.script) if p.kind == "script" else 0 for p in partners], np.int16)
    disturbed = np.array([("", "blind", "uninterruptible").index(p.disturbed) for p in partners], np.int8)
    drawn, mine = rng.integers(len(partners), size=homes), rng.integers(2, size=homes)
    rows, other = np.arange(homes), 1 - mine
    shape = (homes, 2)
    slots = Slots(np.zeros(shape, np.int16), np.zeros(shape, np.int64), np.zeros(shape, np.bool_))
    slots.learns[rows, mine] = True
    slots.player[rows, other], slots.script[rows, other] = player[drawn], plans[drawn]
    slots.latent[rows, other] = np.array([actor.latent for actor in actors], np.int64)[drawn]
    slots.disturbed[rows, other] = disturbed[drawn]
    learners = [
        Learner(each, generator=torch.Generator().manual_seed(int(rng.integers(2**31)))) for each in (policy, *numbers.values())
    ]
    return learners, slots


def record(
    policy: Policy,
    partners: Sequence[Agent],
    episodes: Episodes,
    homes: Sequence[Home],
    *,
    rules: Rules,
    steps: int,
    num_envs: int = 64,
    seed: int = 0,
    look_ahead: LookAhead | None = None,
    disturbances: Disturbances | None = None,
) -> Samples:
    """Let an agent play with partners for `steps` steps in each of num_envs homes; returns its samples.

    look_ahead: whether the agent looks ahead while it plays; disturbances: of the partners, None for none.
    """
    rng = np.random.default_rng([seed, 811])
    batch = Batch(episodes, homes, num_envs, 2, rules, seed, trace=1)
    players, slots = seated(partners, policy, num_envs, rng)
    players[0].look_ahead = look_ahead
    disturber = None
    if disturbances is not None:
        disturber = Disturber(batch, disturbances, [seed, 812])
        disturber.progress = 1.0
    collector = Collector(batch, players, slots, disturber, fused=True)
    mine, rows = np.argmax(slots.learns, axis=1), np.arange(num_envs)
    other, shape = 1 - mine, (steps, num_envs)
    known = np.arange(SUBGOALS) < len(get_task(episodes.task).subgoals)
    track = Track(np.zeros(shape, np.int8), np.zeros((*shape, 2)), np.zeros(shape, np.int32), {})
    number, taken = np.zeros(num_envs, np.int32), []
    for t in range(steps):
        ended = np.asarray(collector.collect(0, steps=1).arrays()["home"], np.int64)
        for e in ended:
            track.achieved[int(e), int(number[e])] = np.where(known, batch.ended.done_by[e] == other[e], UNKNOWN)
        number[ended] += 1
        track.executed[t] = batch.trace["executed"][rows, 0, other]  # ty: ignore[invalid-argument-type]
        track.place[t], track.episode[t] = batch.state.pose[rows, other, :2], number
        taken.append(_look(collector, t, mine))
    return _labelled(track, np.concatenate(taken), policy.config.memory_size)


def _look(collector: Collector, t: int, mine: np.ndarray) -> np.ndarray:
    """Inputs of the samples after step t, one row each: FACTS, then D inputs."""
    batch, rows = collector.batch, np.arange(len(mine))
    state, other = batch.state, 1 - mine
    apart = np.linalg.norm(state.pose[rows, mine, :2] - state.pose[rows, other, :2], axis=1)
    wanted = np.flatnonzero((collector.actions[rows, mine] >= 0) & (apart < NEAR))
    memory = collector.actors.memory_of(0)[torch.from_numpy(wanted * 2 + mine[wanted])].cpu().numpy()
    out = np.zeros((len(wanted), FACTS + TRACKED + memory.shape[1]))
    out[:, FACTS + TRACKED :] = memory
    for row, e in zip(out, wanted, strict=True):
        s, r, p = batch.records[e], mine[e], other[e]
        yaw = float(state.pose[e, r, 2])
        velocity = in_frame((state.pose[e, p, :2] - place_before(s, p, 2)) / 2, yaw)
        row[:FACTS] = t, e, yaw, *velocity, state.controllable[e, p] and state.interruptible[e, p], state.home[e]
        write_tracked(batch.world, s, r, p, row[FACTS : FACTS + TRACKED])
    return out


def _labelled(track: Track, rows: np.ndarray, memory_size: int) -> Samples:
    """Samples of rows [N, FACTS + D] as `_look` gives them, with what the track tells of each in hindsight."""
    count, unknown = len(rows), np.full(SUBGOALS, UNKNOWN)
    inputs = rows[:, FACTS:].astype(np.float32).reshape(count, TRACKED + memory_size)
    soon = np.full((count, 2), UNKNOWN, np.int64)
    place, subgoals = np.empty((count, len(AHEAD), 2), np.float32), np.empty((count, SUBGOALS), np.float32)
    for n in range(count):
        t, e = int(rows[n, 0]), int(rows[n, 1])
        soon[n] = actions_soon(track.executed, track.episode, t, e)
        place[n] = places_later(track, t, e, rows[n, 2])
        subgoals[n] = track.achieved.get((e, int(track.episode[t, e])), unknown)
    reacts, velocity = rows[:, 5].astype(np.float32), rows[:, 3:5].astype(np.float32)
    return Samples(inputs, soon[:, 0], soon[:, 1], place, subgoals, reacts, velocity, rows[:, 6].astype(np.int64))
