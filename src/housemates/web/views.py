"""Homes and recordings as JSON for the page: geometry, frames, decisions, events with their texts; depth pictures on demand."""

from __future__ import annotations

import base64
import math
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from housemates.homes.home import OPENABLE, RECEPTACLES, Home, Parts
from housemates.homes.objects import NAMES, OBJECTS, parts_of
from housemates.homes.solids import corners
from housemates.recordings.captions import bands, doing, short, thing_names, title, told
from housemates.recordings.recording import Recording, batch_of
from housemates.robots import ROBOTS, Robot
from housemates.sim.batch import Batch
from housemates.tasks.actions import ENTITIES, door_of
from housemates.web.library import Entry, title_of
from housemates.web.messages import PIXELS
from housemates.web.overlay import offered_of
from housemates.web.phrases import entity_title, for_player
from housemates.web.validation import check_in_home

SOURCES = ("given", "scripted", "changed")
"""Where a decision came from, as `sim.recording` numbers it."""
TOP = 5
"""Actions whose probability is shown."""
STEP_SECONDS = 0.1
"""Simulated time of one step."""


def recording_row(entry: Entry) -> dict[str, Any]:
    """One row of the list of recordings."""
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


def recording_view(entry: Entry, recording: Recording) -> dict[str, Any]:
    """Everything of a recording that the page shows."""
    header, things = recording.header, thing_names(recording)
    names = ("pose", "held", "thing", "thing_yaw", "door", "action", "executed")
    frames = {name: encode_array(recording.frames[name]) for name in names}
    frames["arm"] = encode_array(recording.arm().astype(np.float32))
    names = ("task", "home", "home_hash", "episode_id", "robots", "outcome", "steps", "return", "version")
    return {
        "id": entry.id,
        "kind": entry.kind,
        "title": title(recording),
        **{name: header[name] for name in names},
        "robot": recording.robot.name,
        "human": -1,
        "first": int(recording.start["clock"][0]),
        "fork": None,
        "step_seconds": STEP_SECONDS,
        "look_ahead": offered_of(recording),
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
        "events": events_in_words(recording.events, things, int(entry.more.get("human", -1))),
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


def events_in_words(events: list[dict[str, Any]], things: tuple[str, str], human: int = -1) -> list[dict[str, Any]]:
    """Events with a sentence each, and one for the person who plays robot `human`."""
    return [
        {
            **{key: event[key] for key in ("tick", "kind", "robot", "what")},
            "text": told(event, things),
            "for_player": for_player(event, things, human),
        }
        for event in events
    ]


class DepthPictures:
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
    """A decision: the action, the likeliest of the probabilities [25], the value."""
    top = None
    if likely is not None and np.isfinite(likely).all():
        best = np.argsort(-likely, kind="stable")[:TOP]
        top = [[int(a), round(float(likely[a]), 4)] for a in best]
    return {"action": action, "top": top, "value": round(value, 3) if math.isfinite(value) else None}


def _decisions(recording: Recording) -> list[dict[str, Any]]:
    """All decisions, each with the fields of `belief`."""
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


SHELL = ("floor", "wall", "ceiling")
"""Labels that become groups of their own, so that the page can cut them away."""
BOX = np.array(
    [
        (2, 6, 7), (2, 7, 3), (0, 1, 5), (0, 5, 4), (4, 5, 7), (4, 7, 6),
        (0, 2, 3), (0, 3, 1), (1, 3, 7), (1, 7, 5), (0, 4, 6), (0, 6, 2),
    ]
)  # fmt: skip
"""Corners (as `solids.corners` numbers them) of a box's twelve triangles, counter-clockwise from outside."""


def encode_array(values: np.ndarray) -> dict[str, Any]:
    """An array for JSON: type, shape and the bytes (little-endian, C order) in base64."""
    values = np.ascontiguousarray(values)
    code = values.dtype.newbyteorder("<")
    data = base64.b64encode(values.astype(code).tobytes()).decode()
    return {"type": f"{code.kind}{code.itemsize}", "shape": list(values.shape), "data": data}


def triangles(parts: Parts, index: int) -> np.ndarray:
    """Triangles [T, 3, 3] of one solid in its body's frame, metres, counter-clockwise seen from outside."""
    points, sides = corners(parts, index), int(parts.sides[index])
    if sides == 0:
        return points[BOX]
    here, after = np.arange(sides), (np.arange(sides) + 1) % sides
    fan = np.arange(1, sides - 1)
    rows = [
        np.stack([here, here + sides, after + sides], axis=1),
        np.stack([here, after + sides, after], axis=1),
        np.stack([np.zeros_like(fan), fan, fan + 1], axis=1),
        np.stack([np.zeros_like(fan), fan + 1, fan], axis=1) + sides,
    ]
    return points[np.concatenate(rows)]


def mesh(position: np.ndarray, colour: np.ndarray, entity: np.ndarray | None = None) -> dict[str, Any]:
    """Triangles [T, 3, 3] with colours [T, 3] and what a click on them means [T] (-1 nothing), for JSON."""
    entity = np.full(len(position), -1) if entity is None else entity
    return {
        "position": encode_array(position.astype(np.float32)),
        "colour": encode_array(colour.astype(np.uint8)),
        "entity": encode_array(entity.astype(np.int8)),
    }


def parts_mesh(parts: Parts, chosen: np.ndarray) -> dict[str, Any]:
    """The solids of a mask [N] in their body's frame."""
    each = [triangles(parts, int(i)) for i in np.flatnonzero(chosen)]
    colours = [np.tile(parts.colour[i], (len(t), 1)) for i, t in zip(np.flatnonzero(chosen), each, strict=True)]
    if not each:
        return mesh(np.zeros((0, 3, 3)), np.zeros((0, 3)))
    return mesh(np.concatenate(each), np.concatenate(colours))


def bodies() -> dict[str, Any]:
    """All robots by name, and the ten objects."""
    return {"robots": {name: robot_body(robot) for name, robot in ROBOTS.everything().items()}, "objects": object_bodies()}


@lru_cache(maxsize=8)
def robot_body(robot: Robot) -> dict[str, Any]:
    """A robot's links with their kinematic chain, its camera and its hand."""
    chain, parts = robot.chain, robot.parts
    links = [
        {
            "name": link.name,
            "parent": int(chain.parent[n]),
            "origin": chain.origin[n].ravel().tolist(),
            "axis": chain.axis[n].tolist(),
            "kind": int(chain.kind[n]),
            "joint": int(chain.joint[n]),
            "mesh": parts_mesh(parts, parts.body == n),
        }
        for n, link in enumerate(robot.links)
    ]
    return {
        "links": links,
        "gripper": robot.gripper_index,
        "grip": list(robot.grip),
        "accent": list(robot.accent),
        "camera": robot.camera_to_base.ravel().tolist(),
        "fov": robot.camera_fov,
        "joints": robot.joints,
    }


@lru_cache(maxsize=1)
def object_bodies() -> list[dict[str, Any]]:
    """The ten objects."""
    things = []
    for thing in OBJECTS:
        solids = parts_of(thing.name)
        title = thing.name.partition("_")[2].replace("_", " ")
        things.append(
            {
                "name": thing.name,
                "title": title,
                "half": list(thing.half),
                "mesh": parts_mesh(solids, np.ones(len(solids), bool)),
            }
        )
    return things


def scene(home: Home) -> dict[str, Any]:
    """Everything of a home that the page draws: groups of triangles, the three doors that move, receptacles, rooms."""
    position, colour, body, label = home_triangles(home)
    entity = entities_of(home, position, body, label)
    doors = [door_of(home, kind) for kind in OPENABLE]
    moves = np.full(len(position), -1)
    for number, joint in enumerate(doors):
        moves[body == joint + 1] = number
    names = np.array([name if name in SHELL else "furniture" for name in home.labels])[label]
    groups = []
    for kind in (*SHELL, "furniture"):
        chosen = (names == kind) & (moves < 0)
        if chosen.any():
            groups.append({"kind": kind, "door": -1, "mesh": mesh(position[chosen], colour[chosen], entity[chosen])})
    for number in range(len(doors)):
        chosen = moves == number
        if chosen.any():
            groups.append({"kind": "door", "door": number, "mesh": mesh(position[chosen], colour[chosen], entity[chosen])})
    joints = [home.joints[joint] for joint in doors]
    points = position.reshape(-1, 3)
    return {
        "home": home.name,
        "hash": home.content_hash,
        "bounds": {"low": points.min(axis=0).tolist(), "high": points.max(axis=0).tolist()},
        "groups": groups,
        "doors": [
            {"name": kind, "kind": joint.kind, "axis": list(joint.axis), "origin": list(joint.origin)}
            for kind, joint in zip(OPENABLE, joints, strict=True)
        ],
        "receptacles": [
            {
                "name": r.name,
                "entity": ENTITIES.index(r.kind),
                "title": entity_title(r.kind),
                "center": list(r.center),
                "yaw": r.yaw,
                "half": list(r.half),
            }
            for r in home.receptacles
            if r.kind in RECEPTACLES
        ],
        "rooms": [{"name": r.name, "low": list(r.low), "high": list(r.high)} for r in home.rooms],
    }


def entities_of(home: Home, position: np.ndarray, body: np.ndarray, label: np.ndarray) -> np.ndarray:
    """What a click on each triangle [T, 3, 3] of a home means: index into ENTITIES, -1 nothing.

    A moving front means its own drawer or fridge; any other triangle of a piece of furniture the nearest of the
    receptacles on it that an action names, seen from above.
    """
    entity = np.full(len(position), -1)
    middle = position.mean(axis=1)
    for number, name in enumerate(home.labels):
        chosen = label == number
        # Real homes have one label for both chairs.
        places = [r for r in home.receptacles if r.kind in RECEPTACLES and (r.furniture == name or r.kind == name)]
        standing = [r for r in places if r.joint < 0] or places
        if not chosen.any() or not standing:
            continue
        gaps = [
            np.hypot(*np.maximum(np.abs(r.local(middle[chosen])[:, [0, 2]]) - [r.half[0], r.half[2]], 0).T) for r in standing
        ]
        kinds = np.array([ENTITIES.index(r.kind) for r in standing])
        entity[chosen] = kinds[np.argmin(gaps, axis=0)]
    for kind in OPENABLE:
        entity[body == door_of(home, kind) + 1] = ENTITIES.index(kind)
    return entity


def home_triangles(home: Home) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Triangles [T, 3, 3], colours [T, 3], bodies [T] and labels [T] of a home, joint zero."""
    if home.meshes is not None:
        m = home.meshes
        return m.vertices[m.faces], m.colour, m.body, m.label
    parts = home.parts
    each = [triangles(parts, i) for i in range(len(parts))]
    owner = np.repeat(np.arange(len(parts)), [len(t) for t in each])
    return np.concatenate(each), parts.colour[owner], parts.body[owner], parts.label[owner]
