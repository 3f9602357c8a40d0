"""Rollouts with decisions of variable length: only decisions are stored, whoever plays.

A decision's reward is summed until the same robot's next decision; one that is still running when the rollout ends is
carried over into the next. A robot's slot says which player moves it, with which latent, and whether it learns from it.
Players act through `agents.actors`; what only training needs is stored with the learners' decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from housemates.agents.actors import NOBODY, Actor, Actors, Decisions
from housemates.agents.quick import QuickActors, Rows, possible
from housemates.lookahead.search import Planner
from housemates.sim.batch import Batch, Step
from housemates.training.distillation import TAUGHT, Teacher
from housemates.training.disturbances import BLIND, Disturber
from housemates.training.episodes_ended import Finished, hand_over, next_team
from housemates.training.partner_model import ACTION, VIEW, Watch
from housemates.training.popart import Scale
from housemates.training.store import Store

SCRIPTED = NOBODY
"""Player number of a robot that the simulator itself moves."""
STACK = 4
"""Players of one network without pictures that act in one call from this number on; fewer are faster one by one."""


@dataclass(eq=False)
class Learner(Actor):
    """An actor of a training. One without a store is frozen: it plays, nothing more."""

    generator: torch.Generator = field(default_factory=torch.Generator)  # ty: ignore[incompatible-mutable-override]
    store: Store | None = None
    scale: Scale = field(default_factory=Scale)
    """The units its critic answers in."""

    @property
    def observations(self) -> tuple[str, ...]:
        """Observations that are needed when it decides; who learns also keeps what only training reads."""
        return super().observations if self.store is None else tuple(self.store.observations)


@dataclass
class Slots:
    """Who moves each robot. Changes take effect at a home's next episode."""

    player: np.ndarray
    """[E, R] int16, index of the player, SCRIPTED for none."""
    latent: np.ndarray
    """[E, R] int64, latent of a behaviour policy, 0 where there is none."""
    learns: np.ndarray
    """[E, R] bool, whether the player learns from this robot's decisions."""
    script: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))
    """[E, R] int16, the plan (see `sim.scripts`) of robots that no player moves; may be left out where there are none."""
    disturbed: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int8))
    """[E, R] int8, 1 for players that sense nobody and are not interrupted, 2 for those that are not interrupted, 0 for all
    others; may be left out where there are none."""
    partner: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """[E, R] int64, the method's own number of each partner, which `Finished` tells it with every episode; NOBODY for robots
    that learn; may be left out by methods that do not ask."""

    def __post_init__(self) -> None:
        if not self.script.size:
            self.script = np.zeros_like(self.player, np.int16)
        if not self.disturbed.size:
            self.disturbed = np.zeros_like(self.player, np.int8)
        if not self.partner.size:
            self.partner = np.full_like(self.player, NOBODY, np.int64)

    def copy(self) -> Slots:
        """An independent copy."""
        return Slots(*(values.copy() for values in vars(self).values()))

    def of_first_home(self) -> Slots:
        """The team of the first home, in every home."""
        return Slots(*(np.repeat(values[:1], len(values), axis=0) for values in vars(self).values()))

    def take(self, other: Slots, homes: np.ndarray) -> None:
        """Copy the rows of some homes [E] bool."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[homes] = theirs[homes]


class Collector:
    """Plays a batch with its players and fills the learners' stores."""

    def __init__(
        self,
        batch: Batch,
        players: list[Learner],
        slots: Slots,
        disturber: Disturber | None = None,
        fused: bool = False,
        games: int = 1,
        quick: bool = True,
        teacher: Teacher | None = None,
    ) -> None:
        """disturber: who disturbs the robots that do not learn, None for no disturbance; fused: see `agents.actors.grouped`;
        games: episodes of one team in which learners keep their memory; quick: decide by `agents.quick` where that is possible,
        which gives the same bits; teacher: who tells learners what they had better do."""
        self.batch, self.players, self.disturber, self.games = batch, players, disturber, games
        self.played = np.zeros(batch.size, np.int64)
        """[E] episodes that each home's team has played to their end."""
        self.slots, self.pending = slots.copy(), slots.copy()
        shape = (batch.size, batch.robots)
        self.open_at = np.full(shape, -1, np.int64)
        self.actions = np.full(shape, -1, np.int8)
        self.asked = False
        self.seconds = dict.fromkeys(("simulation", "observation", "inference"), 0.0)
        self.actors = Actors(batch, players, stack=STACK, fused=fused)
        labels = {name for player in players if player.store is not None for name in player.store.labels}
        self.watch = Watch(batch) if labels & {ACTION, VIEW} else None
        self.teacher = teacher
        self.quick = QuickActors(self.actors) if quick and possible(self.actors) else None
        self._undisturbed = np.zeros(shape, np.int8)
        everywhere = np.ones(batch.size, np.bool_)
        self._script(everywhere)
        if disturber is not None:
            disturber.begin(everywhere, self._partners, self.slots.partner)

    @property
    def _partners(self) -> np.ndarray:
        """[E, R] bool: robots that a player moves without learning from it."""
        return ~self.slots.learns & (self.slots.player != SCRIPTED)

    def collect(self, decisions: int, enough: Callable[[float], bool] | None = None, steps: int = 0) -> Finished:
        """Play until the learners have closed that many decisions together (those carried over included), or, if `steps` is
        given, exactly that many steps in every home.

        enough(share of the rollout) is asked after every step and may end the rollout early.
        """
        finished, played = Finished(self.batch.robots), 0
        self.compact()
        if not self.asked:
            self._ask()
        while True:
            before = self.actors.clock()
            # Homes run until a robot decides, each as long as that takes; counted in steps they go on side by side.
            step = self.batch.step(self.actions, max_ticks=1 if steps else 0)
            self.seconds["simulation"] += self.actors.clock() - before
            self._close(step)
            done = step.done.copy()
            if done.any():
                kind = self._undisturbed if self.disturber is None else self.disturber.kind
                slots = self.slots
                who = slots.player, slots.latent, slots.partner, slots.learns
                finished.add(self.batch, done, who, kind)
                if self.disturber is not None:
                    self.disturber.end(done, self._partners)
                self._next_team(done)
                self._script(done)
                if self.disturber is not None:
                    self.disturber.begin(done, self._partners, self.slots.partner)
            if self.disturber is not None:
                self.disturber.freeze()
            self._ask()
            played += 1
            share = played / steps if steps else self.closed / max(decisions, 1)
            if share >= 1 or (enough is not None and enough(share)):
                return finished

    def _next_team(self, done: np.ndarray) -> None:
        """Other players take over in the homes done [E] bool whose team has played all its games; elsewhere memory stays."""
        slots, pending = tuple(vars(self.slots).values()), tuple(vars(self.pending).values())
        next_team(done, self.games, self.played, self.actors.keeps, slots, pending)

    @property
    def _planners(self) -> list[Planner]:
        """Everything that remembers manoeuvres."""
        return [*self.actors.planners, *([] if self.teacher is None else [self.teacher.planner])]

    def refresh(self) -> None:
        """Policies have changed, or were loaded."""
        self.actors.refresh()

    @property
    def closed(self) -> int:
        """Complete decisions of all learners."""
        return sum(int(np.count_nonzero(p.store.closed)) for p in self.players if p.store is not None)

    def compact(self) -> None:
        """Forget closed decisions; the open ones move to the front of their stores."""
        for player in self.players:
            if player.store is not None:
                mine = self._learning(player)
                self.open_at[mine] = np.searchsorted(player.store.keep_open(), self.open_at[mine])

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to continue exactly; call `compact` first."""
        arrays = {"open_at": self.open_at, "actions": self.actions, "asked": np.array([self.asked])}
        if self.games > 1:
            arrays |= {"played": self.played, "keeps": self.actors.keeps}
        for name, slots in (("slots", self.slots), ("pending", self.pending)):
            arrays |= {f"{name}.{k}": v for k, v in vars(slots).items()}
        for group in self.actors.groups:
            # Players that draw apart are kept apart, since they may decide by themselves when this is loaded.
            for index in group.index if group.apart else group.index[:1]:
                arrays[f"{index}.memory"] = group.memory.cpu().numpy()
        if self.disturber is not None:
            arrays |= {f"disturber.{k}": v for k, v in self.disturber.state().items()}
        for number, planner in enumerate(self._planners):
            arrays |= {f"planner{number}.{k}": v for k, v in planner.state().items()}
        for index, player in enumerate(self.players):
            if player.store is not None:
                size = player.store.size
                arrays |= {f"{index}.store.{k}": v[:size] for k, v in player.store.numbers.items()}
                arrays |= {f"{index}.seen.{k}": v[:size] for k, v in player.store.observations.items()}
        return arrays

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        self.open_at, self.actions = arrays["open_at"].copy(), arrays["actions"].copy()
        self.asked = bool(arrays["asked"][0])
        if self.games > 1:
            self.played, self.actors.keeps = arrays["played"].copy(), arrays["keeps"].copy()
        for name, slots in (("slots", self.slots), ("pending", self.pending)):
            for key in vars(slots):
                # Resume points of earlier versions have no numbers of partners.
                if key != "partner" or f"{name}.{key}" in arrays:
                    setattr(slots, key, arrays[f"{name}.{key}"].copy())
        if self.disturber is not None:
            self.disturber.load({k: arrays[f"disturber.{k}"] for k in self.disturber.state()})
        for number, planner in enumerate(self._planners):
            planner.load({k: arrays[f"planner{number}.{k}"] for k in planner.state()})
        for group in self.actors.groups:
            group.memory.copy_(torch.from_numpy(arrays[f"{group.index[0]}.memory"]))
            for index in group.index[1:] if group.apart else ():
                mine = torch.from_numpy(np.flatnonzero(self.slots.player == index))
                group.memory[mine] = torch.from_numpy(arrays[f"{index}.memory"])[mine].to(group.memory)
        for index, player in enumerate(self.players):
            if player.store is not None:
                player.store.size = 0
                place = player.store.append(len(arrays[f"{index}.store.stream"]))
                for key, values in player.store.numbers.items():
                    values[place] = arrays[f"{index}.store.{key}"]
                for key, values in player.store.observations.items():
                    values[place] = arrays[f"{index}.seen.{key}"]

    def _learning(self, player: Learner) -> np.ndarray:
        index = next(k for k, p in enumerate(self.players) if p is player)
        return (self.slots.player == index) & self.slots.learns & (self.open_at >= 0)

    def _close(self, step: Step) -> None:
        """Complete the decisions whose robots must decide again."""
        for index, player in enumerate(self.players):
            if player.store is not None:
                player.store.close(index, self.slots.player, self.open_at, step, self.batch)

    def _script(self, homes: np.ndarray) -> None:
        """Hand robots over to the simulator's scripts and back, in homes [E] bool whose episode has just begun."""
        slots, changed = self.slots, np.empty(len(homes), np.bool_)
        how = slots.player, slots.script, slots.disturbed, self.disturber is None
        if hand_over(homes, SCRIPTED, *how, self.batch.records, changed):
            self.batch.reset(which=changed)

    def _ask(self) -> None:
        """Let every player act for its robots that must decide."""
        actors, slots, before = self.actors, self.slots, self.actors.clock()
        seen = actors.seconds["observation"]
        actors.actor, actors.latent = slots.player, slots.latent
        actors.blind = slots.disturbed == 1 if self.disturber is None else self.disturber.kind == BLIND
        self.actions[:] = -1
        if self.quick is not None:
            asked = self.quick.decide(self.actions, self._keep)
        else:
            asked = actors.decide(self.batch.decide, self.actions)
            for decided in asked:
                self._remember(decided)
        if self.disturber is not None:
            actions = self.actions.reshape(-1)
            for decided in asked:
                actions[decided.rows] = self.disturber.disturb(actions[decided.rows], decided.rows)
        self._note()
        self._teach(asked)
        self.asked = True
        observation = actors.seconds["observation"] - seen
        self.seconds["observation"] += observation
        self.seconds["inference"] += self.actors.clock() - before - observation

    def _note(self) -> None:
        """Write down what partners do beside learners who have just decided, for those that model them."""
        for index, player in enumerate(self.players) if self.watch is not None else ():
            if player.store is not None and player.store.labels and self.watch is not None:
                mine = self.batch.decide & self.slots.learns & (self.slots.player == index)
                self.watch.note(player.store, mine, self.open_at, self.actions)

    def _teach(self, asked: Sequence[Decisions | Rows]) -> None:
        """Write down what a teacher would have done instead of the learners."""
        teacher = self.teacher
        for decided in asked if teacher is not None else ():
            for index in decided.group.index:
                store = self.players[index].store
                if teacher is None or store is None or TAUGHT not in store.numbers:
                    continue
                mine = np.zeros(self.actions.size, np.bool_)
                mine[decided.rows] = True
                mine = mine.reshape(self.actions.shape) & self.slots.learns & (self.slots.player == index)
                teacher.teach(store, mine, self.open_at, self.actions, logits_of(decided, self.actions.size))

    def _remember(self, decided: Decisions) -> None:
        """Append the decisions that players of one group learn from to their stores."""
        rows, result = decided.rows, decided.result
        learns = self.slots.learns.reshape(-1)[rows]
        if not learns.any():
            return
        numbers = {
            "stream": rows,
            "action": decided.action,
            "latent": decided.latent,
            "log_prob": result.log_prob.cpu().numpy(),
            "value": result.value.cpu().numpy(),
            "start": decided.start,
            "clock": self.batch.state.clock[rows // self.batch.robots],
        }
        memory, player = decided.memory.cpu().numpy(), self.slots.player.reshape(-1)[rows]
        for index in decided.group.index:
            store = self.players[index].store
            if store is None:
                continue
            keep = np.flatnonzero(learns & (player == index))
            if not len(keep):
                continue
            place = store.add(keep, numbers, memory, decided.seen)
            value = store.numbers["value"][place]
            value[...] = self.players[index].scale.real(value)
            self.open_at.reshape(-1)[rows[keep]] = np.arange(place.start, place.stop)

    def _keep(self, decided: Rows) -> None:
        """`_remember`, of arrays with a row for every robot."""
        slots, made = self.slots, decided.decided
        given = made.action, slots.latent.reshape(-1), made.log_prob, made.value, decided.start
        memory = decided.group.memory.numpy()
        for index in decided.group.index:
            store = self.players[index].store
            if store is None:
                continue
            seen = {view.name: self.actors.flat_buffer(view) for view in decided.views}
            who = slots.player, slots.learns
            place = store.keep(decided.rows, index, who, self.batch.records, given, memory, seen, self.open_at)
            value = store.numbers["value"][place]
            value[...] = self.players[index].scale.real(value)


def logits_of(decided: Decisions | Rows, streams: int) -> np.ndarray:
    """[S, A] what a group's policies thought of every action, for the robots that have just decided."""
    if isinstance(decided, Rows):
        return decided.decided.logits
    given = decided.result.logits.detach().cpu().numpy()
    found = np.zeros((streams, given.shape[1]), given.dtype)
    found[decided.rows] = given
    return found
