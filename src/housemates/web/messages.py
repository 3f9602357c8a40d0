"""What may come in over the websocket, and the frames that go out: one table of messages, checked field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from housemates.robots import DEFAULT
from housemates.tasks.actions import ACTIONS, ENTITIES

LARGEST = 4096
"""Bytes of the largest message that is read."""
LONGEST_NAME = 200
KEYS = ("forward", "left", "right")
"""Keys that a person holds down."""
VIEWS = ("follow", "eyes", "orbit", "top")
"""Cameras of a player."""
PIXELS = 128
"""Side of the head pictures."""
OVER, PICTURES, PAUSED = 1, 2, 4
FLAGS = {"over": OVER, "pictures": PICTURES, "paused": PAUSED}
"""Bits of a frame's flags."""
MOST_SUBGOALS = 6
"""Sub-goals in a frame; a task may have fewer."""
FRAME = {
    "number": ("u4", ()),  # of the frame, per connection; the page acknowledges it
    "step": ("u2", ()),  # of the episode
    "robots": ("u1", ()),
    "flags": ("u1", ()),
    "pose": ("f4", ("robots", 3)),  # x, z, yaw
    "arm": ("f4", ("robots", DEFAULT.joints)),  # joints, radians
    "thing": ("f4", (2, 3)),  # where the objects are
    "thing_yaw": ("f4", (2,)),
    "door": ("f4", (3,)),  # joint values
    "possible": ("u4", ("robots",)),  # bit a: action a could start now
    "held": ("i1", ("robots",)),  # object in the hand, -1 none
    "action": ("i1", ("robots",)),  # running action, -1 none
    "executed": ("i1", ("robots",)),  # action of the last step
    "done_by": ("i1", (MOST_SUBGOALS,)),  # robot that reached each sub-goal, -1 none, -2 no such sub-goal
}
"""Fields of a frame in their order: type and shape."""
DEPTH = "depth"
"""The field that follows all others where the flag `pictures` is set: head pictures [robots, PIXELS, PIXELS] u1."""


class Refused(ValueError):
    """Something from outside that is not done; its text is shown to whoever asked."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


class Field(NamedTuple):
    """One field of a message."""

    fits: Callable[[Any], bool]
    wanted: str
    """What the field must be, for the error."""
    default: Any = ...
    """Its value where it is missing; `...` if it must be there."""


def _flag(default: Any = ...) -> Field:
    return Field(lambda v: isinstance(v, bool), "true or false", default)


def _whole(low: int, high: int) -> Field:
    return Field(lambda v: type(v) is int and low <= v <= high, f"a whole number from {low} to {high}")


def _rate(default: Any = ...) -> Field:
    return Field(lambda v: type(v) in (int, float) and 0.1 <= v <= 1000, "a number of steps per second", default)


def _name(default: Any = ...) -> Field:
    return Field(lambda v: isinstance(v, str) and len(v) <= LONGEST_NAME, f"a text of at most {LONGEST_NAME} letters", default)


def _team(nobody: bool) -> Field:
    def fits(value: Any) -> bool:
        if not isinstance(value, list) or not 1 <= len(value) <= 4:
            return False
        return all((nobody and v is None) or (isinstance(v, str) and 0 < len(v) <= LONGEST_NAME) for v in value)

    return Field(fits, "a list of one to four names" + (" or nulls" if nobody else ""))


def _answers() -> Field:
    def fits(value: Any) -> bool:
        if not isinstance(value, list) or len(value) > MOST_QUESTIONS:
            return False
        return all(type(one) is int and 1 <= one <= SCALE for one in value)

    return Field(fits, f"a list of at most {MOST_QUESTIONS} whole numbers from 1 to {SCALE}")


SCALE, MOST_QUESTIONS = 7, 30
"""Answers of a user study go from 1 (strongly disagree) to SCALE (strongly agree); questions in a row."""
STUDY = ("study_enter", "study_game", "study_answer")
"""Messages of a user study; without one they are refused."""
IN_STUDY = (*STUDY, "hello", "join", "leave", "ack", "action", "click", "key", "stop", "pause", "view")
"""All messages that are answered while there is a user study."""
MESSAGES: dict[str, dict[str, Field]] = {
    "hello": {"depth": _flag(False)},
    "new_game": {
        "task": _name(),
        "episode": _whole(0, 99),
        "robots": _team(False),
        "hz": _rate(10),
        "consent": _flag(False),
        "reveal": _flag(False),
    },
    "swap": {
        "recording": _name(),
        "frame": _whole(0, 100_000),
        "robots": _team(True),
        "hz": _rate(10),
        "consent": _flag(False),
        "reveal": _flag(True),
    },
    "join": {"game": _name(), "key": _name(None)},
    "leave": {},
    "overlay": {"look_ahead": _flag()},
    "ack": {"frame": _whole(0, 2**32 - 1)},
    "action": {"action": _whole(0, len(ACTIONS) - 1)},
    "click": {"entity": _whole(0, len(ENTITIES) - 1)},
    "key": {"key": Field(lambda v: isinstance(v, str) and v in KEYS, "one of " + ", ".join(KEYS)), "down": _flag()},
    "stop": {},
    "pause": {"paused": _flag()},
    "step": {},
    "speed": {"hz": _rate()},
    "consent": {"consent": _flag()},
    "study_enter": {"participant": _name(None)},
    "study_game": {"participant": _name()},
    "study_answer": {"participant": _name(), "part": _whole(0, 10_000), "answers": _answers()},
    "view": {"view": Field(lambda v: isinstance(v, str) and v in VIEWS, "one of " + ", ".join(VIEWS))},
}
"""Every message by its type. All may carry `id`, a number that comes back with the answer."""


def parse(text: str) -> dict[str, Any]:
    """A message from the page, complete with defaults; Refused if it is none."""
    if len(text.encode("utf-8", "replace")) > LARGEST:
        raise Refused(f"a message has at most {LARGEST} bytes")
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused("a message is a JSON object with a type") from error
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise Refused("a message is a JSON object with a type")
    kind = found.pop("type")
    if kind not in MESSAGES:
        raise Refused(f"no such message - the types are: {', '.join(MESSAGES)}")
    number = found.pop("id", None)
    if number is not None and (type(number) is not int or not 0 <= number < 2**53):
        raise Refused("id must be a whole number")
    fields = MESSAGES[kind]
    if not found.keys() <= fields.keys():
        raise Refused(f"{kind} has an unknown field - its fields are: {', '.join(fields) or 'none'}")
    for name, field in fields.items():
        if name not in found:
            if field.default is ...:
                raise Refused(f"{kind} needs {name}: {field.wanted}")
            found[name] = field.default
        elif not field.fits(found[name]):
            raise Refused(f"{name} of {kind} must be {field.wanted}")
    return {"type": kind, "id": number, **found}


@lru_cache
def frame_type(robots: int) -> np.dtype:
    """The layout of a frame with so many robots, without head pictures: little-endian, a multiple of four bytes long."""
    fields = _frame_fields(robots)
    size = sum(form.itemsize for _, form, _ in fields)
    names, formats, offsets = ([field[k] for field in fields] for k in range(3))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size + -size % 4})


def frame_layout(robots: int) -> list[dict[str, Any]]:
    """The same as a table for the page: name, type, shape and offset in bytes of every field, head pictures last."""
    found = [
        {"name": name, "type": f"{form.base.kind}{form.base.itemsize}", "shape": list(form.shape), "offset": offset}
        for name, form, offset in _frame_fields(robots)
    ]
    pictures = {"name": DEPTH, "type": "u1", "shape": [robots, PIXELS, PIXELS], "offset": frame_type(robots).itemsize}
    return [*found, pictures]


def _frame_fields(robots: int) -> list[tuple[str, np.dtype, int]]:
    """Name, type (with its shape) and offset of every field of FRAME, one after the other."""
    found, offset = [], 0
    for name, (kind, shape) in FRAME.items():
        form = np.dtype((f"<{kind}", tuple(robots if n == "robots" else n for n in shape)))
        found.append((name, form, offset))
        offset += form.itemsize
    return found


def encode_frame(state: Any, possible: np.ndarray, subgoals: int, flags: int = 0, number: int = 0) -> np.ndarray:
    """A frame of the first home of a batch's `Fields` as a record of `frame_type`.

    possible: [R] uint32, the actions that could start; subgoals: how many the task has; number: set for each connection.
    """
    robots = len(possible)
    frame = np.zeros((), frame_type(robots))
    frame["number"], frame["robots"], frame["flags"] = number, robots, flags
    frame["step"] = min(int(state.clock[0]), 65535)
    for name in ("pose", "arm", "thing", "thing_yaw", "door", "held", "action", "executed"):
        frame[name] = getattr(state, name)[0]
    frame["possible"] = possible
    frame["done_by"] = np.where(np.arange(MOST_SUBGOALS) < subgoals, state.done_by[0], -2)
    return frame


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
