"""The free floor and the receptacle volumes of a ReplicaCAD scene whose files do not state them.

Without a navigation mesh the floor is what the stage's level triangles cover at foot height, minus whatever a robot of 1.5 m
would collide with, grown by the robot's radius.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.geometry.exact import atan2, product
from housemates.geometry.shapes import block_polygons
from housemates.homes.floor import CELL, Floor, floor_from_footprints
from housemates.homes.home import Receptacle

OBSTACLE_LOW = 0.1
"""What stays below this is walked over (rugs, thresholds), metres."""
OBSTACLE_HIGH = 1.5
"""What begins above this is walked under: the height of the robot, metres (replicacad.md 1)."""
LEVEL = 0.7
"""Smallest upward part of a floor triangle's unit normal."""


def is_floor(triangles: np.ndarray) -> np.ndarray:
    """[T] bool: which triangles [T, 3, 3] are floor: level, seen from above, and not higher than a threshold."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    level = normal[:, 1] > LEVEL * np.maximum(length, 1e-12)
    return level & (np.abs(triangles[..., 1]).max(axis=1) <= OBSTACLE_LOW)


def floor_from_triangles(stage: np.ndarray, furniture: np.ndarray) -> Floor:
    """The floor of a home of triangles [S, 3, 3] (walls and floor) and [T, 3, 3] (furniture), world, metres."""
    ground = stage[is_floor(stage)]
    if not len(ground):
        raise ValueError("the stage has no floor at height 0")
    flat = np.ascontiguousarray(ground[:, :, [0, 2]])
    low, high = flat.min(axis=(0, 1)), flat.max(axis=(0, 1))
    width, height = (int(np.floor((high[k] - low[k]) / CELL + 0.5)) + 1 for k in (0, 1))
    outside = np.ones((height, width), bool)
    block_polygons(flat, np.full(len(flat), 3), 0.0, low[0], low[1], CELL, outside)
    polygons, corners = slab_footprints(np.concatenate([stage, furniture]), OBSTACLE_LOW, OBSTACLE_HIGH)
    return floor_from_footprints(
        polygons, corners, (float(low[0]), float(low[1])), (float(high[0]), float(high[1])), inside=~outside
    )


def slab_footprints(triangles: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Footprints of the parts of triangles [T, 3, 3] between two heights: polygons [P, 5, 2] (x, z), corners [P]."""
    y = triangles[..., 1]
    touched = (y.max(axis=1) > low) & (y.min(axis=1) < high)
    whole = touched & (y.min(axis=1) >= low) & (y.max(axis=1) <= high)
    cut = [_clip(_clip(t, low, 1.0), high, -1.0) for t in triangles[touched & ~whole]]
    cut = [piece for piece in cut if len(piece)]
    polygons = np.zeros((int(whole.sum()) + len(cut), 5, 2))
    corners = np.full(len(polygons), 3, np.int64)
    polygons[: len(polygons) - len(cut), :3] = triangles[whole][:, :, [0, 2]]
    for index, piece in enumerate(cut, start=len(polygons) - len(cut)):
        polygons[index, : len(piece)] = piece[:, [0, 2]]
        corners[index] = len(piece)
    return polygons, corners


def _clip(polygon: np.ndarray, height: float, side: float) -> np.ndarray:
    """The part of a polygon [N, 3] above (side 1) or below (side -1) a height (Sutherland and Hodgman)."""
    kept = []
    for here, there in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        a, b = side * (here[1] - height), side * (there[1] - height)
        if a >= 0:
            kept.append(here)
        if a * b < 0:
            kept.append(here + a / (a - b) * (there - here))
    return np.array(kept).reshape(-1, 3)


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
        handle = None if offset is None else _floats(product(door.pose[:3, :3], offset) + door.pose[:3, 3])
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
    yaw = atan2(-turn[2, first], turn[0, first])
    center = product(turn, position) + pose[:3, 3]
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
