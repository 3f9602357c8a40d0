"""The placement volumes of ReplicaCAD's furniture: which is which receptacle of the paper, which door hides it.

Configurations give boxes in the frame of a piece or of one of its links; a Home wants boxes upright in the world.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from housemates.homes.home import Receptacle

NAMED = {
    ("chair", "Chr1_Top1"): ("chair", "chair"),
    ("table_01", "Tbl1_Top1"): ("table_01", "table_01"),
    ("table_02", "Tbl2_Top1"): ("table_02", "table_02"),
    ("table_02", "Tbl2_Top2"): ("table_02_middle", "table_02_middle"),
    ("table_02", "Tbl2_Top3"): ("table_02_lower", "table_02_lower"),
    ("table_03", "Tbl3_Top1"): ("table_03", "table_03"),
    ("tvstand", "TvStnd1_Top1"): ("tvstand", "tvstand"),
    ("tvstand", "TvStnd1_Top2"): ("tvstand_middle", "tvstand_middle"),
    ("tvstand", "TvStnd1_Top3"): ("tvstand_lower", "tvstand_lower"),
    ("sofa", "Sofa"): ("sofa", "sofa"),
    ("kitchen_counter", "counter_left"): ("counter_left", "counter"),
    ("kitchen_counter", "counter_right"): ("counter_right", "counter"),
    ("kitchen_counter", "sink"): ("sink", "sink"),
    ("kitchen_counter", "drawer_right_top"): ("drawer_right", "drawer_right"),
    ("kitchen_counter", "drawer_left_top"): ("drawer_left", "drawer_left"),
    ("fridge", "middle_top"): ("fridge_shelf", "fridge"),
} | {
    (f"wall_cabinet_0{cabinet}", f"WC{cabinet}_Top{shelf}"): (f"wall_cabinet_0{cabinet}_{shelf}", f"wall_cabinet_0{cabinet}")
    for cabinet in (1, 2)
    for shelf in range(1, 7)
}
"""(piece, volume) -> (name, kind) of the receptacles that tasks use and of shelves; any other volume is called piece_volume."""

DOORS = {
    ("fridge", "bottom"): "bottom_door",
    ("fridge", ""): "top_door",
    ("kitchenCupboard_01", "shelf_left"): "kitchencupboard_doorWindow_1L",
    ("kitchenCupboard_01", "shelf_right"): "kitchencupboard_doorWindow_2L",
    ("kitchenCupboard_01", "shelf_center_bottom_left"): "kitchencupboard_doorWhole_1L",
    ("kitchenCupboard_01", "shelf_center_middle_left"): "kitchencupboard_doorWhole_1L",
    ("kitchenCupboard_01", "shelf_center_top_left"): "kitchencupboard_doorWhole_1L",
    ("kitchenCupboard_01", "shelf_center"): "kitchencupboard_doorWhole_2L",
}
"""(piece, how the volume's name begins) -> the link in front of it, first match; of a cupboard's two leaves the left."""

DRAWER_HANDLE = (0.3, 0.0, 0.0)
"""HAB's cab_push_points in the frame of a drawer of the counter, metres (replicacad.md 8)."""
HANDLES = {("fridge", "top_door"): (0.10, -0.62, 0.2)} | {
    ("kitchen_counter", drawer): DRAWER_HANDLE
    for drawer in ("drawer1_top", "drawer1_bottom", "drawer2_top", "drawer2_middle", "drawer2_bottom", "drawer3", "drawer4")
}
"""(piece, link) -> where a hand takes hold, in the link's frame; HAB does not scale it with the piece."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Where a link of a piece of furniture is in the world at joint zero."""

    pose: np.ndarray
    """[4, 4]."""
    joint: int = -1
    """Index of the Home's joint that moves it, or -1."""


def receptacles_of(piece: str, instance: str, config: dict, frames: dict[str, Frame], scale: np.ndarray) -> list[Receptacle]:
    """The receptacles that the `user_defined` part of a configuration puts on one piece of furniture.

    piece names the model (`table_01`), instance this one of it; frames holds its links, "" being the piece itself;
    scale [3] multiplies positions and sizes.
    """
    found = []
    for key, entry in config.get("user_defined", {}).items():
        if not key.startswith("receptacle_aabb_"):
            continue
        frame = frames.get(entry.get("parent_link", ""))
        if frame is None:
            raise ValueError(f"{key} names an unknown link '{entry.get('parent_link')}'")
        volume = volume_name(key, entry.get("parent_object", ""))
        name, kind = NAMED.get((piece, volume), _other(piece, volume))
        center, yaw, half = upright_box(frame.pose, scale * _vector(entry, "position"), scale * _vector(entry, "scale"))
        link = entry.get("parent_link", "") if frame.joint >= 0 else _door_link(piece, volume)
        door = frames[link] if link in frames else Frame(np.eye(4))
        offset = HANDLES.get((piece, link)) if door.joint >= 0 else None
        handle = None if offset is None else _floats(door.pose[:3, :3] @ np.array(offset) + door.pose[:3, 3])
        found.append(Receptacle(name, kind, instance, center, yaw, half, frame.joint, door.joint, handle))
    return found


def volume_name(key: str, parent: str) -> str:
    """What a volume is called once prefix and parent are taken off: `receptacle_aabb_sink_kitchen_counter` is `sink`."""
    name = key.removeprefix("receptacle_aabb_")
    return name.removesuffix(parent).removesuffix("frl_apartment_").rstrip("_") if parent else name


def upright_box(pose: np.ndarray, position: np.ndarray, scale: np.ndarray) -> tuple:
    """(centre, yaw, half extents) of a box given in a frame whose axes are (nearly) upright or level in the world.

    pose [4, 4]; position and scale [3] are the box's centre and half extents in that frame (signs of scale are noise).
    """
    turn, half = pose[:3, :3], np.abs(scale)
    up = int(np.argmax(np.abs(turn[1])))
    first, second = (k for k in range(3) if k != up)
    # Along its own x the box points to (cos yaw, 0, -sin yaw); half a turn more or less is the same box.
    yaw = math.atan2(-turn[2, first], turn[0, first])
    center = turn @ position + pose[:3, 3]
    return _floats(center), yaw, _floats(half[[first, up, second]])


def _other(piece: str, volume: str) -> tuple[str, str]:
    name = volume.lower() if volume.startswith("drawer_") else f"{piece}_{volume.lower()}"
    return name, name


def _door_link(piece: str, volume: str) -> str:
    return next((link for (of, start), link in DOORS.items() if of == piece and volume.startswith(start)), "")


def _vector(entry: dict, key: str) -> np.ndarray:
    value = np.array(entry[key], float)
    if value.shape != (3,):
        raise ValueError(f"{key} of {entry.get('name')} should be three numbers")
    return value


def _floats(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z
