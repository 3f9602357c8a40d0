"""What a task is: a table of which object comes from where and goes where, and the words and scripts that belong to it.

The paper's three tables are in `tasks`, which finds all tasks by name. A table is checked when it is made.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace

import numpy as np

from housemates.config import nearest
from housemates.homes.home import OPENABLE, RECEPTACLES, Home
from housemates.homes.objects import NAMES
from housemates.tasks.actions import ACTIONS, GOALS, OBJECTS, VERBS, Subgoal, door_of

MOST_SUBGOALS = 6
"""Sub-goals that the simulator keeps apart."""
MOST_STEPS = 12
"""Actions in the longest script, the whole task by one robot."""


@dataclass(frozen=True)
class Target:
    """One of the two objects that must be moved."""

    objects: tuple[str, ...]
    """The object is one of these, each equally likely."""
    start: tuple[str, ...]
    """It lies on one of these kinds of receptacle, each equally likely."""
    goal: tuple[str, ...]
    """It belongs on one of these kinds."""
    other_piece: bool = False
    """The goal is on another kind of receptacle, and another piece of furniture, than the start."""
    goal_above: int = -1
    """Index of the target whose goal it joins, `goal_lift` above it; -1 for a goal of its own."""
    goal_lift: float = 0.0
    """Metres."""


@dataclass(frozen=True)
class Task:
    """A task as a table, with its words and its scripts."""

    name: str
    """What rows, files and commands call it: lower-case letters, digits and underscores."""
    targets: tuple[Target, Target]
    """The two objects, obj0 and obj1."""
    subgoals: tuple[Subgoal, ...] = ()
    """What the team is paid for; none: open what is closed around each object's start and goal, pick it, place it."""
    halves: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Actions of the two scripts that each do the work of one object; none: what `subgoals` names, going there first."""
    opened: tuple[tuple[str, float], ...] = ()
    """Doors and drawers of OPENABLE that are open at the start, with their joint value; all others are closed."""
    title: str = ""
    """What people call it; none: its name with capitals."""
    instructions: tuple[str, ...] = ()
    """Sentences for a person who plays it, beside those that hold for every task; none: its sub-goals are told."""
    kitchen: bool = False
    """Whether it has work in the kitchen: who has seen three kitchens only fails in a fourth, so presets train it in more."""

    def __post_init__(self) -> None:
        _check_table(self)
        for index, target in enumerate(self.targets):
            if self.subgoals and any(self.halves):
                break
            _check_places(self, index, target)
        if not self.subgoals:
            object.__setattr__(self, "subgoals", tuple(dict.fromkeys(s for k in (0, 1) for s in _needed(self, k))))
        if not any(self.halves):
            object.__setattr__(self, "halves", (_script(self, 0), _script(self, 1)))
        if not self.title:
            object.__setattr__(self, "title", self.name.replace("_", " ").title())
        _check_paid(self)

    @property
    def subgoal_names(self) -> tuple[str, ...]:
        """What each sub-goal is called in logs and heat maps."""
        return tuple(str(s) for s in self.subgoals)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The receptacle kinds a home must have for this task, each once."""
        moved = (kind for target in self.targets for kind in target.start + target.goal)
        return tuple(dict.fromkeys((*moved, *(kind for kind, _ in self.opened))))

    @property
    def table_hash(self) -> str:
        """A short hash of everything that decides how it is played; its words do not."""
        table = asdict(replace(self, title=self.name, instructions=(), kitchen=False))
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()[:16]


def _closed(task: Task, kinds: tuple[str, ...]) -> list[str]:
    """Those of some kinds of receptacle that are closed at the start."""
    return [kind for kind in kinds if kind in OPENABLE and kind not in dict(task.opened)]


def _needed(task: Task, index: int) -> list[Subgoal]:
    """What must happen to target `index`, in order."""
    target = task.targets[index]
    opens = [[Subgoal("open", kind) for kind in _closed(task, kinds)] for kinds in (target.start, target.goal)]
    return [*opens[0], Subgoal("pick", OBJECTS[index]), *opens[1], Subgoal("place", OBJECTS[index])]


def _script(task: Task, index: int) -> tuple[str, ...]:
    """The actions of a robot that does the work of target `index`."""
    found = []
    for subgoal in _needed(task, index):
        thing = GOALS[index] if subgoal.verb == "place" else subgoal.thing
        found += [f"nav {thing}", f"{subgoal.verb} {thing}"]
    return tuple(found)


def _check_table(task: Task) -> None:
    """Refuse names that do not exist."""
    if not task.name.isidentifier() or task.name != task.name.lower():
        raise ValueError(f"a task called '{task.name}' - use lower-case letters, digits and underscores")
    if len(task.targets) != len(OBJECTS):
        raise ValueError(f"{task.name} has {len(task.targets)} targets - a task has {len(OBJECTS)}")
    for index, target in enumerate(task.targets):
        for what, words, known in (
            ("objects", target.objects, NAMES),
            ("start", target.start, RECEPTACLES),
            ("goal", target.goal, RECEPTACLES),
        ):
            if isinstance(words, str) or not words:
                raise ValueError(f"{task.name}: {what} of target {index} is {words!r} - give a tuple of names")
            for word in words:
                if word not in known:
                    raise ValueError(f"{task.name}: {what} of target {index} names '{word}' - {nearest(word, list(known))}")
        if not -1 <= target.goal_above < index:
            raise ValueError(
                f"{task.name}: goal_above of target {index} is {target.goal_above} - name an earlier target, or -1"
            )
    for kind, _ in task.opened:
        if kind not in OPENABLE:
            raise ValueError(f"{task.name} opens '{kind}' - {nearest(kind, list(OPENABLE))}")
    if isinstance(task.instructions, str):
        raise ValueError(f"{task.name}: instructions are one text - give a tuple of sentences")


def _check_places(task: Task, index: int, target: Target) -> None:
    """Refuse to guess sub-goals and scripts where they depend on the episode."""
    for kinds in (target.start, target.goal):
        if _closed(task, kinds) and len(kinds) > 1:
            raise ValueError(
                f"{task.name}: target {index} may lie in {' or '.join(kinds)}, closed or not - give subgoals and halves"
            )


def _check_paid(task: Task) -> None:
    """Refuse sub-goals and scripts that the simulator cannot follow."""
    things = {"open": OPENABLE, "pick": OBJECTS, "place": OBJECTS}
    for subgoal in task.subgoals:
        if subgoal.verb not in VERBS or subgoal.thing not in things[subgoal.verb]:
            raise ValueError(f"{task.name}: no sub-goal '{subgoal}' - open one of OPENABLE; pick, place one of OBJECTS")
    if not 0 < len(set(task.subgoals)) == len(task.subgoals) <= MOST_SUBGOALS:
        raise ValueError(f"{task.name} has {len(task.subgoals)} sub-goals - give 1 to {MOST_SUBGOALS}, each once")
    if len(task.halves) != 2 or sum(map(len, task.halves)) > MOST_STEPS:
        raise ValueError(f"{task.name}: its scripts are too long - give two halves of {MOST_STEPS} actions together")
    for action in (one for half in task.halves for one in half):
        if action not in ACTIONS:
            raise ValueError(f"{task.name}: a script has the action '{action}' - {nearest(action, list(ACTIONS))}")


def initial_doors(task: Task) -> np.ndarray:
    """Joint values [3] of OPENABLE at the start of an episode, radians or metres."""
    return np.array([dict(task.opened).get(kind, 0.0) for kind in OPENABLE])


def initial_joints(task: Task, home: Home) -> np.ndarray:
    """All joint values [J] at the start of an episode: zero clamped to the limits, and what the task's table says."""
    values = np.array([min(max(0.0, j.lower), j.upper) for j in home.joints])
    for kind, value in task.opened:
        values[door_of(home, kind)] = value
    return values
