"""A live game: its simulator, and who moves each robot (scripts, policies, a person at the page)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from housemates.agents.actors import Actors, Decisions, load_actors
from housemates.agents.agent import Agent, scripted
from housemates.homes.home import OPENABLE, Home
from housemates.recordings.captions import ENDS
from housemates.recordings.recording import UNKNOWN, Recorder, Recording, batch_of, resume
from housemates.robots import DEFAULT
from housemates.run_folder import AGENT, RunFolder
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.scripts import SCRIPTS, script
from housemates.sim.skills import may_start
from housemates.sim.state import MUST_DECIDE, OUTCOMES, SUCCESS
from housemates.tasks.actions import (
    ACTIONS,
    CLOSED_BELOW,
    ENTITIES,
    GOALS,
    MOVE_FORWARD,
    NO_OP,
    OBJECTS,
    OPEN,
    PICK,
    PLACE,
    TURN_LEFT,
    TURN_RIGHT,
)
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import TASKS, get_task
from housemates.web.messages import Refused
from housemates.web.overlay import Watcher, offered
from housemates.web.phrases import buttons, instructions, subgoals
from housemates.web.validation import check_in_home
from housemates.web.views import belief, episode_in_words, events_in_words, things_of

PERSON = Agent("person", "person")
OFFERED = ("solo", "first_half", "second_half", "noop")
"""Scripts that the page offers."""


def everybody(more: Sequence[Agent] = ()) -> dict[str, Agent]:
    """All partners that the page offers, by name: scripts, chance, what comes with the package, and `more`.

    Of the package those that play with others, and of its held-out partners those of the suite.
    """
    from housemates.agents.agent import shipped
    from housemates.evaluation.alone import plays_alone
    from housemates.evaluation.suite import dropped_of, key_of

    found = [scripted(name) for name in OFFERED]
    gone = {task: dropped_of(task) for task in TASKS.everything()}
    trained = [p for p in shipped() if not plays_alone(p) and key_of(p) not in gone.get(str(p.meta.get("task")), {})]
    return {p.name: p for p in (*found, Agent("random", "random"), *trained, *more)}


def lent(run: Path) -> list[str]:
    """What the folder of a run offers, as names for `resolve`: its agent first, then its population, if it has them yet."""
    place = RunFolder(run)
    if not place.exists():
        return []
    found = [str(run / AGENT)] if place.has_agent() else []
    return found + ([str(run)] if place.members() else [])


def seat(batch: Batch, robot: int, partner: Agent) -> None:
    """Make a robot of the first home the partner's from the present state on; its running skill goes on.

    People and scripts are not interrupted by a partner that comes near, policies are.
    """
    state = batch.state
    state.controllable[0, robot] = partner.kind != "script"
    state.interruptible[0, robot] = partner.kind not in ("script", "person") and not partner.disturbed
    state.script[0, robot] = state.plan[0, robot] = -1
    if partner.kind == "script":
        from housemates.sim.step import start_script

        state.script[0, robot] = script(partner.script)
        start_script(batch.world, batch.records[0], robot)


KEYS = {"forward": MOVE_FORWARD, "left": TURN_LEFT, "right": TURN_RIGHT}
"""The primitive that each key stands for."""
ALWAYS = sum(1 << a for a in range(len(ACTIONS)) if a < PICK or a >= NO_OP)
"""Bits of the actions that can always start."""


class LiveRecorder(Recorder):
    """A recorder whose events can be read while it records."""

    @property
    def events(self) -> list[dict[str, Any]]:
        """What has happened so far."""
        return self._events


class Game:
    """One episode being played."""

    def __init__(self, batch: Batch, team: Sequence[Agent], actors: Actors, solo_steps: int = -1) -> None:
        """team: who sits at each robot; actors: the policies among them."""
        self.batch, self.team, self.actors, self.solo_steps = batch, list(team), actors, solo_steps
        self.human = next((r for r, who in enumerate(team) if who.kind == "person"), -1)
        self.recorder = LiveRecorder(batch, names=[who.name for who in team])
        self.first = int(batch.state.clock[0])
        self.task = get_task(batch.episodes.task)
        self.episode = {name: array[:1] for name, array in batch.episodes.arrays().items()}
        self.things = things_of([int(kind) for kind in self.episode["kind"][0]])
        self.thoughts: dict[int, dict[str, Any]] = {}
        """The last decision of each policy, by robot."""
        self.aheads: dict[int, dict[str, Any]] = {}
        """The look-ahead of each policy at its last decision, by robot; while it is asked for."""
        self.explaining = False
        """Whether it is."""
        self._watchers: dict[int, Watcher] = {}
        self.queue: list[int] = []
        """What the person's robot does next: numbers of actions."""
        self._cut = False
        self._keys: dict[str, int] = {}

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.recorder.over

    def act(self, action: int) -> None:
        """The person wants to start an action at once."""
        self.queue, self._cut = [action], True
        self._keys.clear()

    def click(self, entity: int) -> None:
        """The person wants to do the sensible thing at an entity: go there, then what can be done there."""
        after = self._after(entity)
        near = after is not None and self.may(self.human, after)
        self.queue = [after] if near and after is not None else [entity] if after is None else [entity, after]
        closed = self._closed_around(entity)
        if closed is not None and after is not None:
            # An object behind a closed door cannot be picked: the door is opened first.
            self.queue = [ENTITIES.index(OPENABLE[closed]), OPEN + closed, *self.queue]
        self._cut = True
        self._keys.clear()

    def key(self, name: str, down: bool) -> None:
        """The person presses or releases the key of a primitive."""
        if down:
            self.queue = []
            self._keys.setdefault(name, 0)
        else:
            self._keys.pop(name, None)

    def stop(self) -> None:
        """The person wants to stand still."""
        self._keys.clear()
        self.queue, self._cut = [], False
        if self.human >= 0 and not self.over and self.batch.state.action[0, self.human] != MUST_DECIDE:
            self.queue, self._cut = [NO_OP], True

    def tick(self) -> None:
        """One step of the home."""
        robots, state = self.batch.robots, self.batch.state
        actions = np.full((1, robots), -1)
        likely, value = np.full((1, robots, len(ACTIONS)), np.nan), np.full((1, robots), np.nan)
        wanted = np.full((1, robots), UNKNOWN)
        decide = self.batch.decide[0]
        plans = [planner.plans.copy() for planner in self.actors.planners] if self.explaining else []
        everybody = self.actors.decide(decide[None], actions)
        for decided in everybody:
            wanted[0, decided.rows] = decided.action
        for decided in everybody:
            (robot,), result = decided.rows.tolist(), decided.result
            value[0, robot] = float(result.value[0])
            found = result.logits.softmax(-1)[0].numpy() if bool(result.log_prob.isfinite().all()) else None
            if found is not None:
                likely[0, robot] = found
            thought = belief(int(actions[0, robot]), found, float(value[0, robot]))
            self.thoughts[robot] = {"tick": self.recorder.tick_number, "robot": robot, **thought}
            if self.explaining and found is not None:
                self.aheads[robot] = self._explain(robot, decided, wanted, plans)
        if self.human >= 0:
            next_one = self._person(bool(decide[self.human]))
            if next_one is not None and state.action[0, self.human] == MUST_DECIDE:
                actions[0, self.human] = next_one
            elif next_one is not None:
                self.recorder.assign(self.human, next_one)
        self.recorder.tick(actions, likely, value, wanted)

    def _explain(self, robot: int, decided: Decisions, wanted: np.ndarray, plans: list[np.ndarray]) -> dict[str, Any]:
        """The look-ahead of a robot that has just decided; plans: what everybody held on to before, by planner."""
        planner, result = self.actors.planner_of(robot), decided.result
        if robot not in self._watchers:
            self._watchers[robot] = Watcher(self.batch, robot, planner)
        before = None if planner is None else plans[self.actors.planners.index(planner)]
        memory = None if planner is None or planner.mind is None else result.memory.numpy()
        logits, own = result.logits[0].numpy(), int(decided.action[0])
        return self._watchers[robot].tell(self.recorder.tick_number, logits, own, wanted, before, memory)

    def offered(self) -> list[dict[str, Any] | None]:
        """What the page is told of each robot's look-ahead; None for those that no policy moves."""
        return [offered(who.look_ahead) if who.trained else None for who in self.team]

    def may(self, robot: int, action: int) -> bool:
        """Whether an action could start now."""
        return bool(may_start(self.batch.world, self.batch.records[0], robot, action))

    def possible(self) -> np.ndarray:
        """[R] uint32: bit a is set if action a could start now."""
        return np.array(
            [ALWAYS | sum(1 << a for a in range(PICK, NO_OP) if self.may(r, a)) for r in range(self.batch.robots)], np.uint32
        )

    def events(self, start: int = 0) -> list[dict[str, Any]]:
        """What has happened, from event number `start` on, in words."""
        return events_in_words(self.recorder.events[start:], self.things, self.human)

    def subgoals(self) -> list[str]:
        """The task's sub-goals in words."""
        return subgoals(self.task.name, self.things)

    def describe(self) -> dict[str, Any]:
        """What a page must know of the game before its first frame."""
        home = self.batch.homes[0]
        return {
            "task": self.task.name,
            "title": f"{self.task.title}, home {home.name}, episode {int(self.episode['id'][0])}",
            "home": home.name,
            "home_hash": home.content_hash,
            "episode_id": int(self.episode["id"][0]),
            "robots": [who.name for who in self.team],
            "robot": self.batch.robot.name,
            "human": self.human,
            "horizon": self.batch.rules.horizon,
            "first": self.first,
            "solo_steps": self.solo_steps,
            "instructions": instructions(self.task.name),
            "subgoals": self.subgoals(),
            "buttons": buttons(self.task.name, self.things),
            "look_ahead": self.offered(),
            **episode_in_words(self.episode),
        }

    def result(self) -> dict[str, Any]:
        """How it ended: success, time against solo, who did what."""
        state, count = self.batch.state, len(self.task.subgoals)
        outcome = OUTCOMES[int(self.batch.ended.outcome[0])] if self.over else OUTCOMES[0]
        return {
            "outcome": outcome,
            "text": ENDS[outcome],
            "steps": int(state.clock[0]),
            "solo_steps": self.solo_steps,
            "return": float(state.total[0]),
            "done_by": [int(robot) for robot in state.done_by[0, :count]],
            "subgoals": self.subgoals(),
            "idle": [int(n) for n in state.idle[0]],
            "distance": [float(metres) for metres in state.travelled[0]],
        }

    def _person(self, free: bool) -> int | None:
        """What the person's robot starts in this step, None if it goes on (or stands) as it is."""
        if self._keys:
            # Two keys at once take turns.
            name = min(self._keys, key=lambda k: self._keys[k])
            self._keys[name] = max(self._keys.values()) + 1
            return KEYS[name]
        if self.queue and (free or self._cut):
            self._cut = False
            return self.queue.pop(0)
        return None

    def _after(self, entity: int) -> int | None:
        """What one does at an entity: pick an object, place a held one at its goal, open what is closed; None for nothing."""
        name, state, me = ENTITIES[entity], self.batch.state, self.human
        if name in OBJECTS:
            return PICK + OBJECTS.index(name) if state.held[0, me] < 0 else None
        if name in GOALS:
            number = GOALS.index(name)
            return PLACE + number if state.held[0, me] == number else None
        if name in OPENABLE and state.door[0, OPENABLE.index(name)] < CLOSED_BELOW:
            return OPEN + OPENABLE.index(name)
        return None

    def _closed_around(self, entity: int) -> int | None:
        """The closed door or drawer that an object of the task still is behind; None if it can be had."""
        number = OBJECTS.index(ENTITIES[entity]) if ENTITIES[entity] in OBJECTS else -1
        (place, *_) = self.task.targets[number].start if number >= 0 else ("",)
        if place not in OPENABLE or not np.allclose(self.batch.state.thing[0, number], self.episode["start"][0, number]):
            return None
        door = OPENABLE.index(place)
        return door if self.batch.state.door[0, door] < CLOSED_BELOW else None


def new_game(
    episodes: Episodes, homes: Sequence[Home], episode: int, team: Sequence[Agent], rules: Rules | None = None
) -> Game:
    """A game of one of the episodes from its stored start."""
    one = episodes.take([episode])
    home = homes[int(one.home[0])]
    # One home is enough: the others would only be packed in vain.
    alone = replace(one, homes=(home.name,), hashes=(home.content_hash,), home=np.zeros_like(one.home))
    batch = Batch(alone, [home], 1, len(team), rules, stored_spawns=one.spawn is not None, autoreset=False)
    batch.reset(np.zeros(1, np.int32))
    for robot, who in enumerate(team):
        seat(batch, robot, who)
    human = next((r for r, who in enumerate(team) if who.kind == "person"), 0)
    return Game(batch, team, actors_of(batch, team), solo_steps(batch, human))


def swap(recording: Recording, frame: int, team: Sequence[Agent | None], home: Home) -> Game:
    """The game of a recording, going on from the exact state after `frame` steps with another team.

    None keeps a robot's script. Policies have seen the episode so far through their robot's eyes: their memory is what it
    would be had they been there.
    """
    if recording.robot is not DEFAULT:
        raise Refused(f"games are played by '{DEFAULT.name}', this recording by '{recording.robot.name}' - choose another")
    if len(team) != recording.robots:
        raise Refused(f"the recording has {recording.robots} robots - name one for each")
    if not 0 <= frame <= recording.steps:
        raise Refused(f"the recording has frames 0 to {recording.steps}")
    check_in_home(recording, home)
    batch = resume(recording, frame, home)
    if batch.state.over[0]:
        raise Refused("the episode is over at this frame - choose an earlier one")
    for robot, who in enumerate(team):
        if who is not None:
            seat(batch, robot, who)
    everybody = [who or _script_of(recording, batch, robot) for robot, who in enumerate(team)]
    actors = actors_of(batch, everybody)
    _remember(recording, frame, home, actors)
    return Game(batch, everybody, actors)


def solo_steps(batch: Batch, robot: int) -> int:
    """Steps that a scripted robot needs alone from where a robot of a fresh game stands; -1 if it fails."""
    if batch.episodes.spawn is None:
        return -1
    changed = batch.world.episodes.copy()
    changed["spawn"][:, 0] = batch.state.pose[0, robot]
    world = batch.world._replace(episodes=changed)
    alone = Batch(batch.episodes, batch.homes, 1, 1, batch.rules, stored_spawns=True, autoreset=False, world=world)
    alone.script(0, script("solo"))
    alone.reset(np.zeros(1, np.int32))
    alone.step(np.full((1, 1), -1))
    return int(alone.ended.steps[0]) if int(alone.ended.outcome[0]) == SUCCESS else -1


def actors_of(batch: Batch, team: Sequence[Agent]) -> Actors:
    """The policies of a team in a batch of one home; each draws from a generator of its own."""
    import torch

    known = load_actors(who for who in team if who.kind not in ("script", "person"))
    seated = {robot: known[who] for robot, who in enumerate(team) if who in known}
    made = [replace(actor, generator=torch.Generator().manual_seed(robot)) for robot, actor in seated.items()]
    actors = Actors(batch, made, fused=True)
    for number, (robot, actor) in enumerate(seated.items()):
        actors.actor[0, robot], actors.latent[0, robot], actors.blind[0, robot] = number, actor.latent, actor.blind
    return actors


def _script_of(recording: Recording, batch: Batch, robot: int) -> Agent:
    """The script that a robot of a recording follows."""
    if batch.state.controllable[0, robot]:
        raise Refused(f"the recording does not say who robot {robot} was - choose a partner for it")
    name = {number: name for name, number in SCRIPTS.items()}[int(batch.state.script[0, robot])]
    return Agent(recording.header["robots"][robot], "script", script=name)


def _remember(recording: Recording, frame: int, home: Home, actors: Actors) -> None:
    """Let policies live through the first steps of a recording at the decisions that their robots took."""
    if not actors.groups:
        return
    again = batch_of(recording, home)
    again.state.controllable[:] = True
    earlier = Actors(again, actors.actors, fused=True)
    earlier.actor, earlier.latent = actors.actor, actors.latent
    for _, taken in recording.by_step(frame):
        which = np.zeros((1, recording.robots), np.bool_)
        which[0, taken["robot"]] = True
        earlier.decide(which, np.zeros((1, recording.robots), np.int64))
        for decision in taken:
            again.assign(0, int(decision["robot"]), int(decision["action"]))
        again.tick()
    actors.remember(earlier)
