"""A recorded episode in plain words: what each robot is doing, what it holds, what happened. For films and pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.homes.objects import NAMES
from housemates.recordings.recording import Recording
from housemates.tasks.actions import ACTION_TABLE, NO_OP, entity_words
from housemates.tasks.tasks import task_title

ENDS = {"success": "task done", "collision": "collision", "timeout": "out of time", "running": "stopped"}
"""Titles of the outcomes."""


@dataclass(frozen=True)
class Band:
    """A robot busy with one thing from frame `first` up to frame `last`."""

    robot: int
    first: int
    last: int
    action: int
    """Index into ACTIONS."""


def thing_names(recording: Recording) -> tuple[str, str]:
    """The two target objects without their YCB numbers: `cracker box`."""
    kinds = recording.episode["kind"][0]
    first, second = (NAMES[int(kind)].partition("_")[2].replace("_", " ") for kind in kinds)
    return (first, second) if first != second else (f"{first} 1", f"{second} 2")


def title(recording: Recording) -> str:
    """Task, home and episode."""
    header = recording.header
    return f"{task_title(header['task'])}, home {header['home']}, episode {header['episode_id']}"


def doing(action: int, things: tuple[str, str]) -> str:
    """What a robot is busy with: `goes to the cracker box`."""
    return ACTION_TABLE[action if action >= 0 else NO_OP].caption.format(*things)


def short(action: int, things: tuple[str, str]) -> str:
    """The same for a narrow band of a timeline."""
    return ACTION_TABLE[action].short.format(*things)


def holding(recording: Recording, frame: int, robot: int) -> str:
    """What a robot has in its hand: `holds the cracker box`, `hand empty`."""
    held = int(recording.frames["held"][frame, robot])
    return f"holds the {thing_names(recording)[held]}" if held >= 0 else "hand empty"


def told(event: dict, things: tuple[str, str]) -> str:
    """One event as a sentence: `robot 0 picks the cracker box`."""
    kind, robot, what = event["kind"], event["robot"], event["what"]
    if kind == "subgoal":
        verb, _, thing = what.partition(" ")
        return f"robot {robot} {verb}s the {entity_words(thing).format(*things)}"
    if kind == "infeasible":
        verb, _, thing = what.partition(" ")
        return f"robot {robot} cannot {verb} the {entity_words(thing).format(*things)}"
    if kind == "interruption":
        return f"robot {robot} is interrupted: its partner is near"
    return ENDS[kind]


def bands(recording: Recording) -> list[Band]:
    """What each robot was busy with, in order of time; waiting again and again is one band."""
    found: list[Band] = []
    for robot in range(recording.robots):
        rows = recording.decisions[recording.decisions["robot"] == robot]
        edges = [*(int(t) for t in rows["tick"]), recording.steps]
        for action, first, last in zip(rows["action"], edges[:-1], edges[1:], strict=True):
            end = _end(recording, robot, first, last)
            if found and found[-1].robot == robot and found[-1].last == first and found[-1].action == action:
                found[-1] = Band(robot, found[-1].first, end, int(action))
            else:
                found.append(Band(robot, first, end, int(action)))
    return sorted(found, key=lambda band: (band.first, band.robot))


def _end(recording: Recording, robot: int, first: int, last: int) -> int:
    """The frame after `first` at which a robot has nothing to do any more, `last` at most."""
    idle = np.flatnonzero(recording.frames["action"][first + 1 : last + 1, robot] < 0)
    return min(first + 1 + int(idle[0]), last) if len(idle) else last
