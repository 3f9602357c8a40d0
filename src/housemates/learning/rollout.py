"""Rollouts with decisions of variable length: only decisions are stored, whoever plays.

A decision's reward is summed until the same robot's next decision; one that is still running when the rollout ends is
carried over into the next. A robot's slot says which player moves it, with which latent, and whether it learns from it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import torch

from housemates.policies.policy import Action, Policy
from housemates.sim.batch import Batch, Step

SCRIPTED = -1
"""Player number of a robot that the simulator itself moves."""


@dataclass
class Player:
    """Somebody who plays: a policy with the observations it needs. Frozen players are never learnt from."""

    policy: Policy
    generator: torch.Generator
    memory: torch.Tensor = field(init=False)
    """[E * R, M], the memory of whatever this player controls."""
    store: Store | None = None

    def begin(self, streams: int) -> None:
        """Make room for the memories of all robots."""
        self.memory = self.policy.initial_memory(streams)


@dataclass
class Slots:
    """Who moves each robot. Changes take effect at a home's next episode."""

    player: np.ndarray
    """[E, R] int16, index of the player, SCRIPTED for none."""
    latent: np.ndarray
    """[E, R] int64, latent of a behaviour policy, 0 where there is none."""
    learns: np.ndarray
    """[E, R] bool, whether the player learns from this robot's decisions."""

    def copy(self) -> Slots:
        """An independent copy."""
        return Slots(self.player.copy(), self.latent.copy(), self.learns.copy())

    def take(self, other: Slots, homes: np.ndarray) -> None:
        """Copy the rows of some homes [E] bool."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[homes] = theirs[homes]


class Store:
    """The decisions of one learner in one rollout, in the order they were made. Grows as needed, never shrinks."""

    def __init__(self, shapes: dict[str, tuple[tuple[int, ...], type]], memory: int, capacity: int, extras: int = 0) -> None:
        """shapes: shape and type of each observation; memory: length of the policy's memory; extras: privileged numbers."""
        self.size = 0
        self.observations = {k: np.zeros((capacity, *shape), dtype) for k, (shape, dtype) in shapes.items()}
        self.numbers = {
            "stream": np.zeros(capacity, np.int64),
            "action": np.zeros(capacity, np.int64),
            "latent": np.zeros(capacity, np.int64),
            "log_prob": np.zeros(capacity, np.float32),
            "value": np.zeros(capacity, np.float32),
            "memory": np.zeros((capacity, memory), np.float32),
            "privileged": np.zeros((capacity, extras), np.float32),
            "start": np.zeros(capacity, np.bool_),
            "clock": np.zeros(capacity, np.int32),
            "reward": np.zeros(capacity, np.float32),
            "discounted": np.zeros(capacity, np.float32),
            "duration": np.zeros(capacity, np.int32),
            "done": np.zeros(capacity, np.bool_),
            "closed": np.zeros(capacity, np.bool_),
        }

    def __getattr__(self, name: str) -> np.ndarray:
        if name == "numbers":
            raise AttributeError(name)
        try:
            return self.numbers[name][: self.size]
        except KeyError:
            raise AttributeError(name) from None

    def append(self, rows: int) -> slice:
        """Room for some more decisions."""
        needed = self.size + rows
        for group in (self.observations, self.numbers):
            for name, array in group.items():
                if needed > len(array):
                    grown = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
                    grown[: self.size] = array[: self.size]
                    group[name] = grown
        place = slice(self.size, needed)
        self.size = needed
        return place

    def keep_open(self) -> np.ndarray:
        """Drop every closed decision; returns the old indices of the open ones, now at the front."""
        still = np.flatnonzero(~self.closed)
        for group in (self.observations, self.numbers):
            for array in group.values():
                array[: len(still)] = array[still]
        self.size = len(still)
        return still


@dataclass
class Finished:
    """Episodes that ended during a rollout, one row each."""

    home: list[np.ndarray] = field(default_factory=list)
    outcome: list[np.ndarray] = field(default_factory=list)
    steps: list[np.ndarray] = field(default_factory=list)
    total: list[np.ndarray] = field(default_factory=list)

    def add(self, batch: Batch, done: np.ndarray) -> None:
        """Note the homes [E] bool whose episode has just ended."""
        if done.any():
            self.home.append(np.flatnonzero(done))
            self.outcome.append(batch.ended.outcome[done])
            self.steps.append(batch.ended.steps[done])
            self.total.append(batch.ended.total[done])

    def arrays(self) -> dict[str, np.ndarray]:
        """All rows as arrays by name."""
        return {name: np.concatenate(rows) if rows else np.zeros(0) for name, rows in vars(self).items()}


class Collector:
    """Plays a batch with its players and fills the learners' stores."""

    def __init__(self, batch: Batch, players: list[Player], slots: Slots) -> None:
        self.batch, self.players = batch, players
        self.slots, self.pending = slots.copy(), slots.copy()
        shape = (batch.size, batch.robots)
        self.open_at = np.full(shape, -1, np.int64)
        self.actions = np.full(shape, -1, np.int8)
        self.asked = False
        self.seconds = dict.fromkeys(("simulation", "observation", "inference"), 0.0)
        self.buffers: dict[str, np.ndarray] = {}
        for player in players:
            player.begin(batch.size * batch.robots)

    def collect(self, decisions: int) -> Finished:
        """Play until the learners have closed that many decisions together (those carried over included)."""
        finished = Finished()
        self.compact()
        if not self.asked:
            self._ask()
        while True:
            before = time.perf_counter()
            step = self.batch.step(self.actions)
            self.seconds["simulation"] += time.perf_counter() - before
            self._close(step)
            finished.add(self.batch, step.done)
            if step.done.any():
                self.slots.take(self.pending, step.done)
            self._ask()
            if sum(int(p.store.closed.sum()) for p in self.players if p.store is not None) >= decisions:
                return finished

    def compact(self) -> None:
        """Forget closed decisions; the open ones move to the front of their stores."""
        for player in self.players:
            if player.store is not None:
                mine = self._learning(player)
                self.open_at[mine] = np.searchsorted(player.store.keep_open(), self.open_at[mine])

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to continue exactly; call `compact` first."""
        arrays = {"open_at": self.open_at, "actions": self.actions, "asked": np.array([self.asked])}
        for name, slots in (("slots", self.slots), ("pending", self.pending)):
            arrays |= {f"{name}.{k}": v for k, v in vars(slots).items()}
        for index, player in enumerate(self.players):
            arrays[f"{index}.memory"] = player.memory.numpy()
            if player.store is not None:
                size = player.store.size
                arrays |= {f"{index}.store.{k}": v[:size] for k, v in player.store.numbers.items()}
                arrays |= {f"{index}.seen.{k}": v[:size] for k, v in player.store.observations.items()}
        return arrays

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        self.open_at, self.actions = arrays["open_at"].copy(), arrays["actions"].copy()
        self.asked = bool(arrays["asked"][0])
        for name, slots in (("slots", self.slots), ("pending", self.pending)):
            for key in vars(slots):
                setattr(slots, key, arrays[f"{name}.{key}"].copy())
        for index, player in enumerate(self.players):
            player.memory = torch.from_numpy(arrays[f"{index}.memory"].copy())
            if player.store is not None:
                player.store.size = 0
                place = player.store.append(len(arrays[f"{index}.store.stream"]))
                for key, values in player.store.numbers.items():
                    values[place] = arrays[f"{index}.store.{key}"]
                for key, values in player.store.observations.items():
                    values[place] = arrays[f"{index}.seen.{key}"]

    def _learning(self, player: Player) -> np.ndarray:
        index = next(k for k, p in enumerate(self.players) if p is player)
        return (self.slots.player == index) & self.slots.learns & (self.open_at >= 0)

    def _close(self, step: Step) -> None:
        """Complete the decisions whose robots must decide again."""
        finished = (step.decide | step.done[:, None]) & (self.open_at >= 0)
        for index, player in enumerate(self.players):
            if player.store is None:
                continue
            mine = finished & (self.slots.player == index)
            where = self.open_at[mine]
            store = player.store
            store.reward[where] = step.reward[mine]
            store.discounted[where] = step.reward_discounted[mine]
            store.duration[where] = step.duration[mine]
            store.done[where] = np.broadcast_to(step.done[:, None], mine.shape)[mine]
            store.closed[where] = True
        self.open_at[finished] = -1

    def _ask(self) -> None:
        """Let every player act for its robots that must decide."""
        batch = self.batch
        decide = batch.decide
        start = np.broadcast_to((batch.state.clock == 0)[:, None], decide.shape)
        self.actions[:] = -1
        for index, player in enumerate(self.players):
            mine = decide & (self.slots.player == index)
            if mine.any():
                self._act(player, mine, start)
        self.asked = True

    def _act(self, player: Player, mine: np.ndarray, start: np.ndarray) -> None:
        batch, policy = self.batch, player.policy
        rows = np.flatnonzero(mine)
        before = time.perf_counter()
        seen = {}
        for name in policy.config.observations:
            if name not in self.buffers:
                self.buffers[name] = batch.observe(name, which=mine)
            else:
                batch.observe(name, self.buffers[name], which=mine)
            flat = self.buffers[name].reshape(batch.size * batch.robots, *self.buffers[name].shape[2:])
            seen[name] = flat[rows]
        self.seconds["observation"] += time.perf_counter() - before
        before = time.perf_counter()
        chosen = torch.from_numpy(rows)
        fresh = torch.from_numpy(start.reshape(-1)[rows].copy())
        memory = player.memory[chosen]
        memory[fresh] = 0.0
        latent = torch.from_numpy(self.slots.latent.reshape(-1)[rows]) if policy.config.latent else None
        result = policy.act({k: torch.from_numpy(v) for k, v in seen.items()}, memory, latent, generator=player.generator)
        player.memory[chosen] = result.memory
        self.actions.reshape(-1)[rows] = result.action.numpy()
        self.seconds["inference"] += time.perf_counter() - before
        if player.store is not None:
            self._remember(player.store, rows, seen, memory, fresh, result)

    def _remember(
        self, store: Store, rows: np.ndarray, seen: dict, memory: torch.Tensor, fresh: torch.Tensor, result: Action
    ) -> None:
        """Append the decisions of those robots that are learnt from."""
        learns = self.slots.learns.reshape(-1)[rows]
        keep = np.flatnonzero(learns)
        place = store.append(len(keep))
        for name, values in seen.items():
            store.observations[name][place] = values[keep]
        store.numbers["stream"][place] = rows[keep]
        store.numbers["action"][place] = result.action.numpy()[keep]
        store.numbers["latent"][place] = self.slots.latent.reshape(-1)[rows][keep]
        store.numbers["log_prob"][place] = result.log_prob.numpy()[keep]
        store.numbers["value"][place] = result.value.numpy()[keep]
        store.numbers["memory"][place] = memory.numpy()[keep]
        store.numbers["start"][place] = fresh.numpy()[keep]
        store.numbers["clock"][place] = self.batch.state.clock[rows[keep] // self.batch.robots]
        store.numbers["done"][place] = False
        store.numbers["closed"][place] = False
        self.open_at.reshape(-1)[rows[keep]] = np.arange(place.start, place.stop)
