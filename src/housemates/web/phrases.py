"""The words and colours of the page: actions, entities, tasks, outcomes and buttons, sent to it once in `/api/start`.

Templates name the two objects of an episode as `{0}` and `{1}`; the page puts the names of the shown episode in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from housemates.agents.agent import Agent
from housemates.recordings.captions import told
from housemates.recordings.palette import ROBOTS, THEMES, depth_colours, named_colours
from housemates.sim.scripts import FURTHER
from housemates.tasks.actions import ACTION_TABLE, ENTITIES, GOALS, OBJECTS, entity_words
from housemates.tasks.tasks import get_task

SCRIPTS = {
    "script/solo": "script (whole task)",
    "script/first_half": "script (first object)",
    "script/second_half": "script (second object)",
    "script/noop": "script (does nothing)",
    **{f"script/{name}": f"script ({meaning})" for name, (_, meaning) in FURTHER.items()},
    "random": "random actions",
}
"""Titles of partners that are not trained."""
FOR_ALL = ("Transparent copies of the objects show the goals.", "Share the work with your partner. Do not touch each other.")
"""What a player reads in every task."""


def instructions(task: str) -> list[str]:
    """What a player reads before a game; a task without texts of its own is described by its sub-goals."""
    own = get_task(task).instructions or (f"Sub-goals: {', '.join(subgoals(task, ('first object', 'second object')))}.",)
    return [*own, *FOR_ALL]


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
    number = meta.get("member", partner.latent if partner.kind == "latent" else None)
    details = f"{meta['observations']}, seed {meta['seed']}" + ("" if number is None else f", #{number}")
    details += f", {meta['preference'].replace('_', ' ')}" if meta.get("preference") else ""
    return f"held-out robot ({method}, {details})" if meta.get("holdout") else f"adaptive robot ({method}, {details})"


def subgoals(task: str, things: tuple[str, str]) -> list[str]:
    """The sub-goals of a task: `pick the bowl`. things: the names of the two objects."""
    return [f"{s.verb} the {entity_words(s.thing).format(*things)}" for s in get_task(task).subgoals]


def buttons(task: str, things: tuple[str, str]) -> list[dict[str, Any]]:
    """The buttons of a game: the entity of each, its title, and the sub-goals (by number) that make it useless once done."""
    goals = [str(goal) for goal in get_task(task).subgoals]
    wanted = [
        (entity, title, f"{verb} {thing}")
        for thing, goal, name in zip(OBJECTS, GOALS, things, strict=True)
        for entity, title, verb in ((thing, f"Fetch the {name}", "pick"), (goal, f"Bring the {name}", "place"))
    ]
    closed = [goal.thing for goal in get_task(task).subgoals if goal.verb == "open"]
    wanted += [(kind, f"Open the {entity_words(kind)}", f"open {kind}") for kind in closed]
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
    return [
        {"name": row.name, "kind": row.kind, "doing": row.caption, "imperative": row.imperative, "short": row.short}
        for row in ACTION_TABLE
    ]


def entities() -> list[dict[str, Any]]:
    """The 14 entities: name, template of the title, object number (or null), and the actions for it, navigation first."""
    found = []
    for name in ENTITIES:
        thing = OBJECTS.index(name) if name in OBJECTS else GOALS.index(name) if name in GOALS else None
        works = [n for n, action in enumerate(ACTION_TABLE) if action.entity == name]
        found.append({"name": name, "title": entity_title(name), "object": thing, "actions": works})
    return found


def entity_title(entity: str) -> str:
    """The template of an entity's title: `{0}`, `goal of the {0}`, `sofa`."""
    return f"goal of the {entity_words(entity)}" if entity in GOALS else entity_words(entity)


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
