"""A recording as the page wants it: JSON with its frames, decisions, bands and events in words; depth pictures on demand."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from housemates.homes.home import Home
from housemates.homes.objects import NAMES
from housemates.sim.batch import Batch
from housemates.sim.captions import bands, doing, short, thing_names, title, told
from housemates.sim.recording import Recording, batch_of
from housemates.web.checks import check_in_home
from housemates.web.scene import packed
from housemates.web.shelf import Entry, title_of

SOURCES = ("given", "scripted", "changed")
"""Where a decision came from, as `sim.recording` numbers it."""
TOP = 5
"""Actions of which the probability is told."""
STEP_SECONDS = 0.1
"""Simulated time of one step."""
PIXELS = 128
"""Side of the head pictures."""


def listed(entry: Entry) -> dict[str, Any]:
    """One line of the list of recordings."""
    header = entry.header
    return {
        "id": entry.id,
        "kind": entry.kind,
        "title": title_of(header),
        "file": entry.path.name if entry.path else "",
        "folder": entry.folder,
        "task": header["task"],
        "home": header["home"],
        "episode": header["episode_id"],
        "robots": header["robots"],
        "outcome": header["outcome"],
        "steps": header["steps"],
    }


def shown(entry: Entry, recording: Recording) -> dict[str, Any]:
    """Everything of a recording that the page shows."""
    header, things = recording.header, thing_names(recording)
    frames = {k: packed(recording.frames[k]) for k in ("pose", "held", "thing", "thing_yaw", "door", "action", "executed")}
    frames["arm"] = packed(recording.arm().astype(np.float32))
    names = ("task", "home", "home_hash", "episode_id", "robots", "outcome", "steps", "return", "version")
    return {
        "id": entry.id,
        "kind": entry.kind,
        "title": title(recording),
        **{name: header[name] for name in names},
        "human": -1,
        "first": int(recording.start["clock"][0]),
        "fork": None,
        "step_seconds": STEP_SECONDS,
        **episode_in_words(recording.episode),
        "frames": frames,
        "decisions": _decisions(recording),
        "bands": [
            {
                "robot": band.robot,
                "first": int(band.first),
                "last": int(band.last),
                "action": band.action,
                "short": short(band.action, things),
                "text": doing(band.action, things),
            }
            for band in bands(recording)
        ],
        "events": events_in_words(recording.events, things),
        **entry.more,
    }


def episode_in_words(episode: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Objects, goals and clutter of an episode given as arrays of one row."""
    kinds = [int(kind) for kind in episode["kind"][0]]
    clutter = [k for k in range(len(episode["clutter_kind"][0])) if episode["clutter_kind"][0, k] >= 0]
    return {
        "things": list(things_of(kinds)),
        "kinds": kinds,
        "goals": episode["goal"][0].astype(float).tolist(),
        "goal_yaw": episode["yaw"][0].astype(float).tolist(),
        "clutter": [
            {
                "kind": int(episode["clutter_kind"][0, k]),
                "at": episode["clutter"][0, k].astype(float).tolist(),
                "yaw": float(episode["clutter_yaw"][0, k]),
            }
            for k in clutter
        ],
    }


def things_of(kinds: list[int]) -> tuple[str, str]:
    """The two target objects in words, as `captions.thing_names` has them."""
    first, second = (NAMES[kind].partition("_")[2].replace("_", " ") for kind in kinds)
    return (first, second) if first != second else (f"{first} 1", f"{second} 2")


def events_in_words(events: list[dict[str, Any]], things: tuple[str, str]) -> list[dict[str, Any]]:
    """Events with a sentence each."""
    return [{**{k: event[k] for k in ("tick", "kind", "robot", "what")}, "text": told(event, things)} for event in events]


class Depths:
    """Head pictures of the recording that is looked at; one home is kept ready to be drawn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._name, self._batch = "", None

    def picture(self, name: str, recording: Recording, home: Home, frame: int, robot: int) -> bytes:
        """Inverse depth [128, 128] uint8 of a robot's head camera at a frame. name: of the recording."""
        with self._lock:
            if self._name != name or self._batch is None:
                check_in_home(recording, home)
                self._name, self._batch = name, batch_of(recording, home)
                self._batch.pixels = PIXELS
            batch = self._batch
            for field in ("pose", "held", "thing", "thing_yaw", "door"):
                getattr(batch.state, field)[0] = recording.frames[field][frame]
            batch.state.arm[0] = recording.arm()[frame]
            return head_pictures(batch, np.arange(batch.robots) == robot)[robot].tobytes()


def head_pictures(batch: Batch, which: np.ndarray) -> np.ndarray:
    """Inverse depth [R, S, S] uint8 of the robots in the mask which [R] of the first home."""
    return batch.observe("depth", which=which[None])[0, :, :, :, 0]


def belief(action: int, likely: np.ndarray | None, value: float) -> dict[str, Any]:
    """What somebody decided and thought: the action, the likeliest of the probabilities [25], the value."""
    top = None
    if likely is not None and np.isfinite(likely).all():
        best = np.argsort(-likely, kind="stable")[:TOP]
        top = [[int(a), round(float(likely[a]), 4)] for a in best]
    return {"action": action, "top": top, "value": round(value, 3) if math.isfinite(value) else None}


def _decisions(recording: Recording) -> list[dict[str, Any]]:
    """All decisions, each with what `belief` tells of it."""
    likely = recording.probabilities
    known = np.asarray(np.isfinite(likely).all(axis=1))
    best = np.argsort(-np.where(known[:, None], likely, 0), axis=1, kind="stable")[:, :TOP]
    chances = np.take_along_axis(likely, best, 1).astype(float).tolist()
    pairs = [list(zip(actions, chance, strict=True)) for actions, chance in zip(best.tolist(), chances, strict=True)]
    tops = [[[a, round(p, 4)] for a, p in some] if seen else None for some, seen in zip(pairs, known.tolist(), strict=True)]
    values = [round(value, 3) if math.isfinite(value) else None for value in recording.value.tolist()]
    return [
        {"tick": tick, "robot": robot, "source": SOURCES[source], "action": action, "top": top, "value": value}
        for (tick, robot, action, source), top, value in zip(recording.decisions.tolist(), tops, values, strict=True)
    ]
