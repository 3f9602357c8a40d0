"""Validation of recordings: whether this program could have written a file, before it is shown or continued.

The simulator's kernels trust the state they are given, so nothing from outside reaches them unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from housemates.homes.home import Home
from housemates.homes.objects import OBJECTS
from housemates.recordings.events import KINDS
from housemates.recordings.recording import (
    ARM_UNIT,
    DECISION,
    FRAMES,
    LONGEST,
    MOST_DECISIONS,
    UNKNOWN,
    Recording,
    robot_of,
)
from housemates.sim.scripts import SCRIPTS
from housemates.sim.state import MOST_ROBOTS, OUTCOMES
from housemates.sim.world import PLAN_STEPS
from housemates.tasks.actions import ACTIONS
from housemates.tasks.files import ARRAYS, OPTIONAL
from housemates.tasks.tasks import known_task
from housemates.web.messages import FRAME

HOME_NAME = re.compile(r"(train|dev|eval|test|varied|kitchens)/\d{2}|seeds/\d{1,9}|[A-Za-z0-9_ -]{1,64}")
FAR = 1000.0
"""Metres from the origin beyond which nothing can be."""
TURNS = 100.0
"""Radians beyond which no angle goes."""
RECORDED = ("pose", "arm", "held", "thing", "thing_yaw", "door", "action", "executed")
"""Fields of a recording's frames; their shapes are those of a live frame, but for the arm of another body."""
FRAME_LIMITS = {"held": (-1, 1), "action": (-1, len(ACTIONS) - 1), "executed": (-1, len(ACTIONS) - 1)}
STATE_LIMITS = {
    "home": (0, 0),
    "episode": (0, 0),
    "following": (-1, -1),
    "held": (-1, 1),
    "inside": (-1, 2),
    "action": (-1, len(ACTIONS) - 1),
    "executed": (-1, len(ACTIONS) - 1),
    "level": (0, 64),
    "controllable": (0, 1),
    "interruptible": (0, 1),
    "over": (0, 1),
    "script": (-2, max(SCRIPTS.values())),
    "plan": (-2, max(SCRIPTS.values())),
    "plan_at": (0, PLAN_STEPS),
    "outcome": (0, len(OUTCOMES) - 1),
    "elapsed": (0, LONGEST),
    "clock": (0, LONGEST),
    "thing_yaw": (-TURNS, TURNS),
    "thing": (-FAR, FAR),
    "rest": (-FAR, FAR),
    "door": (-TURNS, TURNS),
    "arm": (-TURNS, TURNS),
    "arm_goal": (-TURNS, TURNS),
}
"""Smallest and largest value of the state's fields that kernels count or index with."""
EPISODE_LIMITS = {"kind": (0, len(OBJECTS) - 1), "clutter_kind": (-1, len(OBJECTS) - 1), "yaw": (-TURNS, TURNS)}
EPISODE_LIMITS |= {"start": (-FAR, FAR), "goal": (-FAR, FAR), "doors": (-TURNS, TURNS)}


def check_recording(recording: Recording) -> None:
    """Refuse a recording with anything in it that no recorder writes (ValueError)."""
    _check_header(recording.header)
    robots = len(recording.header["robots"])
    _check_frames(recording, robots)
    _check_decisions(recording, robots)
    _check_episode(recording.episode)
    _check_start(recording, robots)


def public_recording(recording: Recording) -> Recording:
    """A recording that was checked, without anything in its header that is not shown."""
    events = [{key: event[key] for key in ("tick", "kind", "robot", "what")} for event in recording.events]
    header = {key: value for key, value in recording.header.items() if key != "game"}
    return replace(recording, header={**header, "events": events})


def check_in_home(recording: Recording, home: Home) -> None:
    """Refuse a recording whose state refers to cells and receptacles that its home does not have (ValueError)."""
    from housemates.homes.navigation import navigation

    cells, ways, places = len(home.floor.cells), len(navigation(home).approach), len(home.receptacles)
    start, episode, robots = recording.start[0], recording.episode, recording.robots
    _within("approach", start["approach"], -1, ways - 1)
    _within("destination", start["destination"], -1, ways - 1)
    _within("waypoint", start["waypoint"], -1, cells - 1)
    if "approach" not in episode:
        raise ValueError("the episode has no approach cells")
    _within("approach", episode["approach"], -1, ways - 1)
    for name in ("start_receptacle", "goal_receptacle"):
        _within(name, episode[name], 0, places - 1)
    for x, z, _ in start["pose"][:robots]:
        row, col = (int(np.floor(v + 0.5)) for v in home.floor.grid((float(x), float(z))))
        inside = 0 <= row < home.floor.main.shape[0] and 0 <= col < home.floor.main.shape[1]
        if not inside or not home.floor.main[row, col]:
            raise ValueError("a robot does not stand on the floor")


def _check_header(header: Mapping[str, Any]) -> None:
    robots, steps = header["robots"], header["steps"]
    if known_task(header["task"]) is None or header["outcome"] not in OUTCOMES:
        raise ValueError("an unknown task or outcome")
    robot_of(header)
    texts = [header[key] for key in ("home", "home_hash", "split", "version", "digest")]
    if not isinstance(robots, list) or not 1 <= len(robots) <= MOST_ROBOTS:
        raise ValueError(f"not 1 to {MOST_ROBOTS} robots")
    if not all(isinstance(text, str) and len(text) <= 200 for text in (*texts, *robots)):
        raise ValueError("a name that is no text, or too long")
    if not HOME_NAME.fullmatch(header["home"]):
        raise ValueError("a home that no home is named like")
    for key in ("steps", "seed", "episode_id"):
        if not isinstance(header[key], int) or isinstance(header[key], bool):
            raise ValueError(f"{key} is no number")
    if not 0 <= steps <= LONGEST or not isinstance(header["return"], int | float) or not np.isfinite(header["return"]):
        raise ValueError("steps or return out of range")
    if header["actions"] != list(ACTIONS):
        raise ValueError("other actions than these")
    rules = header["rules"]
    if not isinstance(rules, dict) or len(rules.get("thresholds", ())) > 32 or header["arm_unit"] != ARM_UNIT:
        raise ValueError("rules that are none")
    paid = rules["reward"]
    if not isinstance(paid, dict) or not all(isinstance(value, str | int | float) for value in paid.values()):
        raise ValueError("a reward that is none")
    events = header["events"]
    if not isinstance(events, list) or len(events) > LONGEST:
        raise ValueError("too many events")
    for event in events:
        whole = all(isinstance(event[key], int) for key in ("tick", "robot"))
        if not whole or not 0 <= event["tick"] <= steps or not -1 <= event["robot"] < len(robots):
            raise ValueError("an event of no robot, or out of time")
        if event["kind"] not in KINDS or not isinstance(event["what"], str) or len(event["what"]) > 100:
            raise ValueError("an event of an unknown kind")


def _check_frames(recording: Recording, robots: int) -> None:
    count = recording.header["steps"] + 1
    for name in RECORDED:
        shape = ("robots", recording.robot.joints) if name == "arm" else FRAME[name][1]
        array = recording.frames[name]
        wanted = (count, *(robots if n == "robots" else n for n in shape))
        if array.shape != wanted or array.dtype != FRAMES[name]:
            raise ValueError(f"{name} is not {FRAMES[name]} {list(wanted)}")
        low, high = FRAME_LIMITS.get(name, (-40_000 if name == "arm" else -FAR, 40_000 if name == "arm" else FAR))
        _within(name, array, low, high)


def _check_decisions(recording: Recording, robots: int) -> None:
    found = recording.decisions
    if found.ndim != 1 or found.dtype != DECISION or len(found) > MOST_DECISIONS:
        raise ValueError("decisions that are none")
    if (np.diff(found["tick"]) < 0).any():
        raise ValueError("decisions that are not in order")
    limits = {"tick": recording.header["steps"], "robot": robots - 1, "action": len(ACTIONS) - 1, "source": 2}
    for name, high in limits.items():
        _within(name, found[name], 0, high)
    if recording.probabilities.shape != (len(found), len(ACTIONS)) or recording.value.shape != (len(found),):
        raise ValueError("probabilities of other decisions")
    if recording.probabilities.dtype.kind != "f" or recording.value.dtype.kind != "f":
        raise ValueError("probabilities that are no numbers")
    if recording.wanted.shape != (len(found),) or recording.wanted.dtype != np.int8:
        raise ValueError("wanted actions of other decisions")
    _within("wanted", recording.wanted, UNKNOWN, len(ACTIONS) - 1)


def _check_episode(episode: Mapping[str, np.ndarray]) -> None:
    known = ARRAYS | OPTIONAL
    if not ARRAYS.keys() <= episode.keys() <= known.keys():
        raise ValueError("an episode with missing or unknown arrays")
    for name, array in episode.items():
        kind, shape = known[name]
        if array.shape != (1, *shape) or array.dtype != np.dtype(kind):
            raise ValueError(f"the episode's {name} is not {kind} {list(shape)}")
    for name, (low, high) in EPISODE_LIMITS.items():
        _within(name, episode[name], low, high)
    used = episode["clutter_kind"] >= 0
    _within("clutter", episode["clutter"][used], -FAR, FAR)
    _within("clutter_yaw", episode["clutter_yaw"][used], -TURNS, TURNS)


def _check_start(recording: Recording, robots: int) -> None:
    start = recording.start[0]
    if int(start["robots"]) != robots or recording.rules.horizon > LONGEST:
        raise ValueError("another number of robots at the start, or too long a game")
    for name, (low, high) in STATE_LIMITS.items():
        array = start[name]
        # Rows of robots that are not there hold whatever they hold; kernels never read them.
        some = array[:robots] if array.ndim and array.shape[0] == MOST_ROBOTS else array
        _within(name, some, low, high)
    _within("done_by", start["done_by"], -1, robots - 1)
    _within("pose", start["pose"][:robots, :2], -FAR, FAR)
    _within("pose", start["pose"][:robots, 2], -TURNS, TURNS)


def _within(name: str, values: np.ndarray, low: float, high: float) -> None:
    values = np.asarray(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} is not a number")
    if values.size and (values.min() < low or values.max() > high):
        raise ValueError(f"{name} is out of range")
