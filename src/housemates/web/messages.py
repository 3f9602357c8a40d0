"""What may come in over the websocket, and the frames that go out: one table of messages, checked field by field."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from housemates.tasks.actions import ACTIONS, ENTITIES

LARGEST = 4096
"""Bytes of the largest message that is read."""
LONGEST_NAME = 200
KEYS = ("forward", "left", "right")
"""Keys that a person holds down."""
OVER, PICTURES, PAUSED = 1, 2, 4
"""Flags of a frame."""
HEADER = struct.Struct("<IHBB")
"""Number of the frame, step of the episode, robots, flags."""


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


MESSAGES: dict[str, dict[str, Field]] = {
    "hello": {"depth": _flag(False)},
    "new_game": {"task": _name(), "episode": _whole(0, 99), "robots": _team(False), "hz": _rate(10), "consent": _flag(False)},
    "swap": {
        "recording": _name(),
        "frame": _whole(0, 100_000),
        "robots": _team(True),
        "hz": _rate(10),
        "consent": _flag(False),
    },
    "join": {"game": _name(), "key": _name(None)},
    "leave": {},
    "ack": {"frame": _whole(0, 2**32 - 1)},
    "action": {"action": _whole(0, len(ACTIONS) - 1)},
    "click": {"entity": _whole(0, len(ENTITIES) - 1)},
    "key": {"key": Field(lambda v: isinstance(v, str) and v in KEYS, "one of " + ", ".join(KEYS)), "down": _flag()},
    "stop": {},
    "pause": {"paused": _flag()},
    "step": {},
    "speed": {"hz": _rate()},
    "consent": {"consent": _flag()},
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


def frame_body(state: Any, may: np.ndarray, subgoals: int, pictures: np.ndarray | None) -> bytes:
    """A frame without its header: the first home of a batch's `Fields`, what could start [R] uint32, pictures [R, S, S].

    subgoals: how many the task has.
    """
    floats = [state.pose[0], state.arm[0], state.thing[0], state.thing_yaw[0], state.door[0]]
    done_by = np.where(np.arange(6) < subgoals, state.done_by[0], -2)
    whole = np.concatenate([state.held[0], state.action[0], state.executed[0], done_by]).astype(np.int8).tobytes()
    parts = [np.ascontiguousarray(array, "<f4").tobytes() for array in floats]
    parts += [np.ascontiguousarray(may, "<u4").tobytes(), whole, bytes(-len(whole) % 4)]
    if pictures is not None:
        parts.append(np.ascontiguousarray(pictures, np.uint8).tobytes())
    return b"".join(parts)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
