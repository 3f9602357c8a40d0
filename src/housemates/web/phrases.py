"""The words and colours of the page: actions, entities, tasks, outcomes and buttons, sent to it once in `/api/start`.

Templates name the two objects of an episode as `{0}` and `{1}`; the page puts the names of the shown episode in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from housemates.agents.agent import Agent
from housemates.recordings.captions import PLACES, TASKS, doing, short, told
from housemates.recordings.palette import ROBOTS, THEMES, depth_colours, named_colours
from housemates.tasks.actions import ACTIONS, ENTITIES, GOALS, NO_OP, OBJECTS, PICK
from housemates.tasks.tasks import get_task

SLOTS = ("{0}", "{1}")
"""Names of the two objects in a template."""
INSTRUCTIONS = {
    "tidy_house": ("Bring both objects to their goals.",),
    "set_table": (
        "Bring the bowl to the table and the apple into the bowl, in any order.",
        "The bowl is in the right drawer, the apple in the fridge. Both are closed: open them.",
    ),
    "prepare_groceries": ("Bring the object in the open fridge to the counter, and the object on the table into the fridge.",),
}
"""What a player reads before the game, by task."""
SCRIPTS = {
    "script/solo": "script (whole task)",
    "script/first_half": "script (first object)",
    "script/second_half": "script (second object)",
    "script/noop": "script (does nothing)",
    "random": "random actions",
}
"""Titles of partners that are not trained."""
FOR_ALL = ("Transparent copies of the objects show the goals.", "Share the work with your partner. Do not touch each other.")
"""What a player reads in every task."""


def instructions(task: str) -> list[str]:
    """What a player reads before a game; a task without texts of its own is described by its sub-goals."""
    own = INSTRUCTIONS.get(task) or (f"Sub-goals: {', '.join(subgoals(task, ('first object', 'second object')))}.",)
    return [*own, *FOR_ALL]


def task_title(task: str) -> str:
    """The title of a task."""
    return TASKS.get(task, task)


def partner_title(partner: Agent) -> str:
    """What the page calls a partner; a policy of the package by its method, observations and seed instead of its path."""
    from housemates.methods import METHODS  # imports torch, which the words of the page do not need

    meta = partner.meta
    method = METHODS[meta["method"]].label if meta.get("method") in METHODS else meta.get("method")
    if partner.name in SCRIPTS:
        return SCRIPTS[partner.name]
    if not method:
        return partner.name
    if not partner.name.startswith(f"{meta.get('task')}/"):
        return f"{partner.name} ({method})"
    details = f"{meta['observations']}, seed {meta['seed']}" + (f", #{meta['member']}" if "member" in meta else "")
    return f"held-out partner ({method}, {details})" if meta.get("holdout") else f"{method} agent ({details})"


def subgoals(task: str, things: tuple[str, str]) -> list[str]:
    """The sub-goals of a task: `pick the bowl`. things: the names of the two objects."""
    names = PLACES | dict(zip(OBJECTS, things, strict=True))
    return [f"{s.verb} the {names.get(s.thing, s.thing)}" for s in get_task(task).subgoals]


def buttons(task: str, things: tuple[str, str]) -> list[dict[str, Any]]:
    """The buttons of a game: the entity of each, its title, and the sub-goals (by number) that make it useless once done."""
    goals = [str(goal) for goal in get_task(task).subgoals]
    wanted = [
        (entity, title, f"{verb} {thing}")
        for thing, goal, name in zip(OBJECTS, GOALS, things, strict=True)
        for entity, title, verb in ((thing, f"Fetch the {name}", "pick"), (goal, f"Bring the {name}", "place"))
    ]
    closed = [goal.thing for goal in get_task(task).subgoals if goal.verb == "open"]
    wanted += [(kind, f"Open the {PLACES.get(kind, kind)}", f"open {kind}") for kind in closed]
    return [
        {
            "entity": ENTITIES.index(entity),
            "title": title,
            "subgoals": [number for number, goal in enumerate(goals) if goal == ends],
        }
        for entity, title, ends in wanted
    ]


def actions() -> list[dict[str, str]]:
    """The 25 actions: name, kind, and templates of the caption, the imperative and the short form for a timeline."""
    captions = [(doing(action, SLOTS), short(action, SLOTS)) for action in range(len(ACTIONS))]
    return [
        {"name": name, "kind": action_kind(number), "doing": text, "imperative": imperative(text), "short": brief}
        for number, (name, (text, brief)) in enumerate(zip(ACTIONS, captions, strict=True))
    ]


def entities() -> list[dict[str, Any]]:
    """The 14 entities: name, template of the title, object number (or null), and the actions for it, navigation first."""
    found = []
    for name in ENTITIES:
        thing = OBJECTS.index(name) if name in OBJECTS else GOALS.index(name) if name in GOALS else None
        works = [n for n, action in enumerate(ACTIONS) if action.partition(" ")[2] == name]
        found.append({"name": name, "title": entity_title(name), "object": thing, "actions": works})
    return found


def entity_title(entity: str) -> str:
    """The template of an entity's title: `{0}`, `goal of the {0}`, `sofa`."""
    if entity in OBJECTS:
        return SLOTS[OBJECTS.index(entity)]
    if entity in GOALS:
        return f"goal of the {SLOTS[GOALS.index(entity)]}"
    return PLACES.get(entity, entity)


def action_kind(action: int) -> str:
    """`navigate`, `manipulate`, `wait` or `drive`."""
    return "navigate" if action < PICK else "manipulate" if action < NO_OP else "wait" if action == NO_OP else "drive"


def imperative(caption: str) -> str:
    """A caption in the third person as an order: `goes to the sofa` -> `go to the sofa`."""
    verb, space, rest = caption.partition(" ")
    return verb.removesuffix("es" if verb == "goes" else "s") + space + rest


def for_player(event: dict[str, Any], things: tuple[str, str], human: int) -> str:
    """One event as the person who plays robot `human` reads it: `you pick the bowl`, `your partner picks the bowl`."""
    text, robot = told(event, things), int(event["robot"])
    if human < 0 or robot < 0:
        return text
    said = text.removeprefix(f"robot {robot} ")
    if robot != human:
        return f"your partner {said}"
    verb, space, rest = said.partition(" ")
    verb = {"cannot": "cannot", "is": "are"}.get(verb) or imperative(verb)
    return f"you {verb}{space}{rest.replace('its partner', 'your partner')}"


def palette() -> dict[str, Any]:
    """Colours of both themes by name, the names of the robots' colours, and the colours of inverse depths [256, 3]."""
    inverse = depth_colours(1 - np.arange(256) / 255)
    return {
        **{theme: named_colours(theme) for theme in THEMES},
        "robots": [colour.name for colour in ROBOTS],
        "depth": inverse.tolist(),
    }
