"""URDF files of furniture: which mesh hangs on which link, and the joints between the links.

Only what a home needs is read (visual meshes, joints, limits), in plain arrays; masses, collisions and motors are not.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from housemates.geometry.exact import cos, product, sin
from housemates.homes.replicacad.download import AssetError

MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
"""URDF joint types that move, and what a Home calls them."""


@dataclass(frozen=True, eq=False)
class Link:
    """One rigid piece at joint zero, in the frame of the whole piece of furniture."""

    name: str
    pose: np.ndarray
    """[4, 4]."""
    hinge: int
    """Index of the joint that moves it, or -1."""
    meshes: tuple[tuple[Path, np.ndarray], ...]
    """(GLB file, [4, 4] pose in the link's frame, scale included)."""


@dataclass(frozen=True, eq=False)
class Hinge:
    """One moving joint at zero, in the frame of the whole piece of furniture."""

    link: str
    kind: str
    """`revolute` or `prismatic`."""
    axis: np.ndarray
    """[3], unit length."""
    origin: np.ndarray
    """[3], metres."""
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Furniture:
    """A URDF file at one scale."""

    links: tuple[Link, ...]
    hinges: tuple[Hinge, ...]

    def link(self, name: str) -> Link | None:
        """The link with this name, if there is one."""
        return next((link for link in self.links if link.name == name), None)


def read_urdf(path: Path, scale: float = 1.0) -> Furniture:
    """The links and joints of a URDF file. `scale` multiplies meshes, link offsets and sliding distances, as Habitat does."""
    return _read(str(path), path.stat().st_mtime_ns, float(scale))


@lru_cache(maxsize=64)
def _read(path: str, _version: int, scale: float) -> Furniture:
    try:
        return _furniture(Path(path), ElementTree.parse(path).getroot(), scale)
    except ElementTree.ParseError as error:
        raise AssetError(f"{path} is not valid XML ({error}) - fetch it again: housemates data replicacad") from error
    except (KeyError, AttributeError, ValueError) as error:
        if isinstance(error, AssetError):
            raise
        raise AssetError(f"{path} is not a usable URDF ({error}) - fetch it again: housemates data replicacad") from error


def _furniture(path: Path, root: ElementTree.Element, scale: float) -> Furniture:
    joints = {_name(joint, "child", "link"): joint for joint in root.findall("joint")}
    elements = {link.attrib["name"]: link for link in root.findall("link")}
    hinges: list[Hinge] = []
    links: dict[str, Link] = {}

    def place(name: str, below: tuple[str, ...] = ()) -> Link:
        if name in links:
            return links[name]
        if name in below:
            raise ValueError(f"link {name} hangs on itself")
        pose, hinge = np.eye(4), -1
        if name in joints:
            joint = joints[name]
            parent = place(_name(joint, "parent", "link"), (*below, name))
            pose, hinge = product(parent.pose, _origin(joint, scale)), parent.hinge
            if joint.attrib["type"] in MOVING:
                if hinge >= 0:
                    raise AssetError(f"{path}: link {name} hangs on two joints - only joints on a fixed base are supported")
                hinge = len(hinges)
                hinges.append(_hinge(name, joint, pose, scale))
        links[name] = Link(name, pose, hinge, _meshes(path.parent, elements[name], scale))
        return links[name]

    for name in elements:
        place(name)
    return Furniture(tuple(links.values()), tuple(hinges))


def _hinge(link: str, joint: ElementTree.Element, pose: np.ndarray, scale: float) -> Hinge:
    kind = MOVING[joint.attrib["type"]]
    given = joint.find("axis")
    axis = product(pose[:3, :3], _numbers(given.attrib["xyz"] if given is not None else "1 0 0", 3))
    limit = joint.find("limit")
    # An unlimited hinge (`continuous`) may go once around either way.
    ends = limit.attrib if limit is not None else {"lower": str(-2 * math.pi), "upper": str(2 * math.pi)}
    travel = scale if kind == "prismatic" else 1.0
    lower, upper = (travel * float(ends.get(end, 0.0)) for end in ("lower", "upper"))
    return Hinge(link, kind, axis / np.sqrt(product(axis[None], axis)), pose[:3, 3], lower, upper)


def _meshes(folder: Path, link: ElementTree.Element, scale: float) -> tuple[tuple[Path, np.ndarray], ...]:
    found = []
    for visual in link.findall("visual"):
        mesh = visual.find("geometry/mesh")
        if mesh is None:
            continue
        pose = _origin(visual, scale)
        pose[:3, :3] *= scale * _numbers(mesh.attrib.get("scale", "1 1 1"), 3)
        found.append((folder / mesh.attrib["filename"].removeprefix("package://"), pose))
    return tuple(found)


def _origin(element: ElementTree.Element, scale: float) -> np.ndarray:
    """The [4, 4] pose of an element's <origin>, its offset scaled."""
    pose = np.eye(4)
    origin = element.find("origin")
    if origin is None:
        return pose
    roll, pitch, yaw = _numbers(origin.attrib.get("rpy", "0 0 0"), 3)
    (cr, sr), (cp, sp), (cy, sy) = ((cos(a), sin(a)) for a in (roll, pitch, yaw))
    pose[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    pose[:3, 3] = scale * _numbers(origin.attrib.get("xyz", "0 0 0"), 3)
    return pose


def _name(joint: ElementTree.Element, end: str, attribute: str) -> str:
    found = joint.find(end)
    if found is None:
        raise ValueError(f"joint {joint.attrib.get('name')} has no {end}")
    return found.attrib[attribute]


def _numbers(text: str, count: int) -> np.ndarray:
    """Numbers separated by blanks or commas (ReplicaCAD writes both)."""
    values = np.array([float(word) for word in text.replace(",", " ").split()])
    if len(values) != count:
        raise ValueError(f"'{text}' should be {count} numbers")
    return values
