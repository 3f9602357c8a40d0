"""The words of a task: actions, sub-goals and predicates. What they do is in `sim.skills`; nothing here moves a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.homes.home import OPENABLE, RECEPTACLES, Home

OBJECTS = ("obj0", "obj1")
GOALS = ("goal0", "goal1")
ENTITIES = OBJECTS + GOALS + RECEPTACLES
"""The 14 things a robot can be at, in the order of the navigate actions (spec section 4)."""

PLACES = {
    "table_01": "table",
    "table_02": "second table",
    "tvstand": "TV stand",
    "drawer_right": "right drawer",
    "drawer_left": "left drawer",
}
"""Receptacles whose names need other words."""


def entity_words(entity: str) -> str:
    """What people call one of ENTITIES; the two objects, at their goals too, are {0} and {1}, to be filled in."""
    for number, names in enumerate(zip(OBJECTS, GOALS, strict=True)):
        if entity in names:
            return f"{{{number}}}"
    return PLACES.get(entity, entity.replace("_", " "))


@dataclass(frozen=True)
class Action:
    """One decision with its words. In words the two objects are {0} and {1}, to be filled in."""

    verb: str
    """`nav`, `pick`, `place`, `open`, or the whole name."""
    entity: str
    """One of ENTITIES, nothing for the primitives."""
    kind: str
    """`navigate`, `manipulate`, `wait` or `drive`."""
    imperative: str
    """`go to the sofa`."""
    caption: str
    """The same of a robot: `goes to the sofa`."""
    short: str
    """The same for a narrow band of a timeline: `to sofa`; nothing for primitives that last one step."""

    @property
    def name(self) -> str:
        """What rows, files and ACTIONS call it: `nav sofa`."""
        return f"{self.verb} {self.entity}" if self.entity else self.verb


def _navigate(entity: str) -> Action:
    what = entity_words(entity)
    if entity in GOALS:
        return Action("nav", entity, "navigate", f"bring the {what}", f"brings the {what}", f"bring {what}")
    return Action("nav", entity, "navigate", f"go to the {what}", f"goes to the {what}", f"to {what}")


def _manipulate(verb: str, entity: str) -> Action:
    what = entity_words(entity)
    return Action(verb, entity, "manipulate", f"{verb} the {what}", f"{verb}s the {what}", verb)


ACTION_TABLE = (
    *(_navigate(entity) for entity in ENTITIES),
    *(_manipulate("pick", entity) for entity in OBJECTS),
    *(_manipulate("place", entity) for entity in GOALS),
    *(_manipulate("open", entity) for entity in OPENABLE),
    Action("no-op", "", "wait", "wait", "waits", "waits"),
    Action("move-forward", "", "drive", "drive ahead", "drives ahead", ""),
    Action("turn-left", "", "drive", "turn left", "turns left", ""),
    Action("turn-right", "", "drive", "turn right", "turns right", ""),
)
"""The 25 decisions of the paper (appendix C.2), the same for every task."""
ACTIONS = tuple(action.name for action in ACTION_TABLE)
"""Their names."""


def _range(verb: str) -> tuple[int, int]:
    """The first decision of a verb and the one after its last; kernels tell verbs apart by these."""
    numbers = [number for number, action in enumerate(ACTION_TABLE) if action.verb == verb]
    return numbers[0], numbers[-1] + 1


NAVIGATE, _ = _range("nav")
PICK, PICK_END = _range("pick")
PLACE, PLACE_END = _range("place")
OPEN, OPEN_END = _range("open")
NO_OP = ACTIONS.index("no-op")
MOVE_FORWARD = ACTIONS.index("move-forward")
TURN_LEFT = ACTIONS.index("turn-left")
TURN_RIGHT = ACTIONS.index("turn-right")

REACH = 2.0
"""A robot is at a thing, and its skills can work on it, within this 3D distance of base to thing, metres (spec 4.1)."""
SUCCESS_RADIUS = 0.15
"""An object is at its goal within this 3D distance, metres (paper, appendix A)."""
START_GOAL = 0.5
"""Least distance of an object's start and goal, metres, 2D (spec 1.2)."""
SPAWN_APART = 2.0
"""Least distance between robots at the start, metres (paper, appendix A)."""
OPENED_VALUE = {"prismatic": 0.45, "revolute": 1.22}
"""Where the open skill leaves a joint, metres or radians (spec 4.1)."""
OPEN_ABOVE = {"prismatic": 0.35, "revolute": 1.07}
"""A joint beyond this counts as open (Habitat's thresholds, replicacad.md section 8)."""
CLOSED_BELOW = 0.15
"""A joint within this of zero counts as closed; the open skill needs that."""


@dataclass(frozen=True)
class Subgoal:
    """A step the team is paid for once per episode, whoever takes it (spec section 5)."""

    verb: str
    """`open`, `pick` or `place`."""
    thing: str
    """One of OPENABLE for `open`, one of OBJECTS for `pick` and `place`."""

    def __str__(self) -> str:
        return f"{self.verb} {self.thing}"

    @property
    def index(self) -> int:
        """Which one: index into OPENABLE or OBJECTS."""
        return OPENABLE.index(self.thing) if self.verb == "open" else OBJECTS.index(self.thing)


VERBS = ("open", "pick", "place")
"""The order in which `subgoal_codes` numbers the verbs."""


def subgoal_codes(subgoals: tuple[Subgoal, ...]) -> np.ndarray:
    """Sub-goals for kernels: int8 [S, 2], the verb's index in VERBS and the thing's index in OPENABLE or OBJECTS."""
    return np.array([(VERBS.index(s.verb), s.index) for s in subgoals], np.int8).reshape(-1, 2)


def predicate_names(robots: int = 2) -> tuple[str, ...]:
    """Names of the 14 R + R + 24 + 3 ground-truth bits, 57 for two robots; the robot that reads them comes first (spec 6)."""
    who = ("self", *(f"other{k}" for k in range(1, robots)))
    return (
        *(f"robot_at({r}, {x})" for r in who for x in ENTITIES),
        *(f"is_holding({r})" for r in who),
        *(f"object_at({x}, {y})" for x in OBJECTS for y in GOALS + RECEPTACLES),
        *(f"is_open({x})" for x in OPENABLE),
    )


def door_of(home: Home, kind: str) -> int:
    """Index of the joint that opens one of OPENABLE."""
    door = home.receptacles[home.instances(kind)[0]].door
    if door < 0:
        raise ValueError(f"the {kind} of {home.name} has no door or drawer joint - give its receptacle a `door`")
    return door
