"""The Home: everything about one furnished home that does not change while robots work in it.

World coordinates are the source's: metres, y up, right-handed. A floor point is `xz` = (x, z); a heading (yaw) turns
about +y, so a robot with yaw `a` faces (cos a, 0, -sin a) and its left is (-sin a, 0, -cos a).
Everything that moves on a joint is stored where it is at joint value zero; `body_poses` says where it is otherwise.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.geometry.exact import cos, product, sin

if TYPE_CHECKING:
    from housemates.homes.floor import Floor

RECEPTACLES = (
    "chair",
    "table_01",
    "table_02",
    "tvstand",
    "sofa",
    "counter",
    "sink",
    "fridge",
    "drawer_right",
    "drawer_left",
)
"""The ten receptacles of the paper's action list, in the order of its actions (spec section 4)."""

OPEN_RECEPTACLES = ("chair", "table_01", "table_02", "tvstand", "sofa", "counter")
"""The six that stand open: starts and goals of Tidy House."""

OPENABLE = ("fridge", "drawer_right", "drawer_left")
"""The three that a robot can open, in the order of the open actions."""


@dataclass(frozen=True, eq=False)
class Parts:
    """N convex solids as arrays. A box fills center +- half along its axes; a prism is upright along its local y.

    A prism's bottom polygon has `sides` corners on the ellipse with half axes (half x, half z), corner k at angle
    2 pi (k + 0.5) / sides from local +x towards local +z; its top polygon is the same, scaled by `taper`.
    """

    center: np.ndarray
    """[N, 3] float32, metres."""
    rotation: np.ndarray
    """[N, 3, 3] float32; column i is the part's local axis i in world coordinates."""
    half: np.ndarray
    """[N, 3] float32, half extents, metres."""
    sides: np.ndarray
    """[N] uint8; 0 is a box, 3 to 16 a prism with that many sides."""
    taper: np.ndarray
    """[N] float32; scale of a prism's top polygon (1 for boxes)."""
    colour: np.ndarray
    """[N, 3] uint8."""
    body: np.ndarray
    """[N] int16; 0 stands still, b > 0 moves with joint b - 1."""
    label: np.ndarray
    """[N] int16; index into `Home.labels`."""

    def __len__(self) -> int:
        return len(self.half)


@dataclass(frozen=True, eq=False)
class Meshes:
    """Triangles of a home read from files, counter-clockwise seen from outside."""

    vertices: np.ndarray
    """[V, 3] float32, world, joint zero."""
    faces: np.ndarray
    """[F, 3] int32."""
    body: np.ndarray
    """[F] int16, as in Parts."""
    colour: np.ndarray
    """[F, 3] uint8."""
    label: np.ndarray
    """[F] int16; index into `Home.labels`."""


@dataclass(frozen=True)
class Joint:
    """One degree of freedom of the furniture. Its link is body `index + 1`."""

    name: str
    """For example `fridge/top_door` or `kitchen_counter/drawer3`."""
    kind: str
    """`revolute` (radians about `axis` through `origin`) or `prismatic` (metres along `axis`)."""
    axis: tuple[float, float, float]
    origin: tuple[float, float, float]
    lower: float
    upper: float


@dataclass(frozen=True)
class Receptacle:
    """A volume in which things can be put. Several may share one `kind` (two chairs, two counter tops)."""

    name: str
    """Unique in the home: `chair_1`, `counter_left`, `fridge_shelf`."""
    kind: str
    """One of RECEPTACLES, or another word for places that no action names (a lower shelf)."""
    furniture: str
    """The piece it belongs to; in Tidy House a goal lies on another piece than the start."""
    center: tuple[float, float, float]
    """Centre of the placement volume, world, joint zero."""
    yaw: float
    """Turn of the volume about +y."""
    half: tuple[float, float, float]
    """Half extents of the volume along its own x, y, z; things stand on its lower face."""
    joint: int = -1
    """Joint the volume itself moves with (a drawer), or -1."""
    door: int = -1
    """Joint that must be open before anything in the volume can be reached (a drawer's own, the fridge's door), or -1."""
    handle: tuple[float, float, float] | None = None
    """Where a robot goes to open it, world, joint zero; None for receptacles that do not open."""

    @property
    def surface(self) -> float:
        """Height of the supporting surface, metres."""
        return self.center[1] - self.half[1]

    @property
    def target(self) -> tuple[float, float, float]:
        """The point a robot navigates to: the handle where there is one, else the middle of the volume (spec 4.1)."""
        return self.handle if self.handle is not None else self.center

    def local(self, points: np.ndarray) -> np.ndarray:
        """Coordinates [..., 3] of world points [..., 3] in the volume's own frame (centre at zero)."""
        c, s = cos(self.yaw), sin(self.yaw)
        d = np.asarray(points, dtype=float) - np.asarray(self.center)
        return np.stack([c * d[..., 0] - s * d[..., 2], d[..., 1], s * d[..., 0] + c * d[..., 2]], axis=-1)

    def world(self, points: np.ndarray) -> np.ndarray:
        """World coordinates [..., 3] of points [..., 3] given in the volume's own frame."""
        c, s = cos(self.yaw), sin(self.yaw)
        p = np.asarray(points, dtype=float)
        turned = np.stack([c * p[..., 0] + s * p[..., 2], p[..., 1], -s * p[..., 0] + c * p[..., 2]], axis=-1)
        return turned + np.asarray(self.center)


@dataclass(frozen=True)
class Room:
    """A named rectangle of the floor plan, for labels and for telling where something happened."""

    name: str
    low: tuple[float, float]
    """Smallest (x, z)."""
    high: tuple[float, float]
    """Largest (x, z)."""


@dataclass(frozen=True, eq=False)
class Home:
    """One furnished home. Immutable; joint values, objects and robots live in the simulator."""

    name: str
    """Unique among homes: `train/07`, `v3_sc0_staging_00`."""
    parts: Parts
    labels: tuple[str, ...]
    """Names that `Parts.label` and `Meshes.label` index: `wall`, `floor`, `table_01`, ..."""
    joints: tuple[Joint, ...]
    receptacles: tuple[Receptacle, ...]
    floor: Floor
    rooms: tuple[Room, ...] = ()
    meshes: Meshes | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What a reader could not find, in plain words."""

    @property
    def navigable_area(self) -> float:
        """Floor area in m2 on which the centre of a 0.3 m disc can stand, all islands."""
        return self.floor.area

    def is_navigable(self, xz: tuple[float, float]) -> bool:
        """Whether a robot's centre may stand at the floor point `xz`."""
        return self.floor.is_free(xz)

    def geodesic(self, start_xz: tuple[float, float], goal_xz: tuple[float, float]) -> float:
        """Length in metres of the shortest path between two floor points, `inf` if there is none.

        A point off the navigable floor counts as the nearest navigable point within 0.3 m, else it is unreachable.
        """
        return self.floor.geodesic(start_xz, goal_xz)

    def instances(self, kind: str) -> tuple[int, ...]:
        """Indices of the receptacles of one kind of RECEPTACLES."""
        found = tuple(i for i, r in enumerate(self.receptacles) if r.kind == kind)
        if not found:
            known = ", ".join(sorted({r.kind for r in self.receptacles}))
            raise KeyError(f"{self.name} has no receptacle '{kind}'; it has: {known}")
        return found

    @cached_property
    def content_hash(self) -> str:
        """A short hash of everything in the home; caches are keyed by it. Lengths and angles count to a millionth.

        Colours of meshes do not count: they depend on the library that decodes the files' pictures, and on its being there.
        """
        digest = hashlib.sha256()
        for name, array in self.arrays().items():
            if name == "meshes.colour":
                continue
            digest.update(name.encode())
            digest.update(str((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(json.dumps(_rounded(self.header()), sort_keys=True).encode())
        return digest.hexdigest()[:24]

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays of the home by name, for hashing and saving."""
        found = {f"parts.{k}": v for k, v in vars(self.parts).items()}
        if self.meshes is not None:
            found |= {f"meshes.{k}": v for k, v in vars(self.meshes).items()}
        return found | {f"floor.{k}": v for k, v in self.floor.arrays().items()}

    def header(self) -> dict:
        """Everything that is not an array, as JSON-ready values."""
        return {
            "name": self.name,
            "labels": list(self.labels),
            "joints": [vars(j) for j in self.joints],
            "receptacles": [vars(r) for r in self.receptacles],
            "rooms": [vars(r) for r in self.rooms],
            "floor": self.floor.header(),
            "notes": list(self.notes),
        }


def _rounded(value: Any) -> Any:
    """JSON-ready values with all numbers rounded to a millionth, without negative zeros."""
    if isinstance(value, float):
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def body_poses(joints: tuple[Joint, ...], values: np.ndarray) -> np.ndarray:
    """World transforms [B, 4, 4] that carry each body from joint zero to the given joint values; body 0 is the identity."""
    poses = np.tile(np.eye(4), (len(joints) + 1, 1, 1))
    for index, (joint, value) in enumerate(zip(joints, values, strict=True), start=1):
        axis = np.asarray(joint.axis, dtype=float)
        if joint.kind == "prismatic":
            poses[index, :3, 3] = axis * value
            continue
        cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        turn = np.eye(3) + sin(value) * cross + (1 - cos(value)) * product(cross, cross)
        origin = np.asarray(joint.origin, dtype=float)
        poses[index, :3, :3] = turn
        poses[index, :3, 3] = origin - product(turn, origin)
    return poses
