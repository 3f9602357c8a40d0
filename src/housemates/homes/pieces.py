"""A piece of furniture as convex solids in its own frame, and how pieces become the arrays of a home.

In its own frame a piece stands on y = 0, its front looks along +z and +x is to the right of a robot that faces the front.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from housemates.geometry.exact import cos, product, sin
from housemates.homes.home import Joint, Parts, Receptacle

Vector = tuple[float, float, float]
Colour = tuple[int, int, int]

UPRIGHT = np.eye(3)


@dataclass(frozen=True)
class Solid:
    """One convex part of a piece; the fields are those of `Parts`."""

    center: Vector
    half: Vector
    colour: Colour
    link: int
    """0 stands still, k > 0 moves with the piece's joint k - 1."""
    sides: int = 0
    taper: float = 1.0
    rotation: np.ndarray = field(default_factory=lambda: UPRIGHT)


@dataclass
class Piece:
    """A piece under construction: call `box`, `prism`, `joint` and `receptacle` to build it up."""

    label: str
    """Name of the piece in segmentation and in `Receptacle.furniture`."""
    solids: list[Solid] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    """In the piece's frame."""
    receptacles: list[Receptacle] = field(default_factory=list)
    """In the piece's frame; `joint` and `door` are indices into this piece's joints."""

    def box(self, low: Vector, high: Vector, colour: Colour, link: int = 0) -> None:
        """Add an upright box between two opposite corners."""
        center, half = (
            ((a + b) / 2 for a, b in zip(low, high, strict=True)),
            ((b - a) / 2 for a, b in zip(low, high, strict=True)),
        )
        self.solids.append(Solid(_vector(center), _vector(half), colour, link))

    def tilted_box(self, center: Vector, half: Vector, rotation: np.ndarray, colour: Colour) -> None:
        """Add a fixed box turned by `rotation` [3, 3] about its centre."""
        self.solids.append(Solid(center, half, colour, 0, rotation=rotation))

    def prism(
        self,
        center: Vector,
        half: Vector,
        colour: Colour,
        sides: int = 8,
        taper: float = 1.0,
        rotation: np.ndarray = UPRIGHT,
        link: int = 0,
    ) -> None:
        """Add a prism or frustum, see `Parts`."""
        self.solids.append(Solid(center, half, colour, link, sides, taper, rotation))

    def joint(self, name: str, kind: str, axis: Vector, origin: Vector, lower: float, upper: float) -> int:
        """Add a joint and return the number of its link, to be passed as `link`."""
        self.joints.append(Joint(f"{self.label}/{name}", kind, axis, origin, lower, upper))
        return len(self.joints)

    def receptacle(
        self,
        name: str,
        kind: str,
        surface: Vector,
        half: Vector,
        link: int = 0,
        door: int = 0,
        handle: Vector | None = None,
    ) -> None:
        """Add a placement volume above the point `surface`, moving with `link` and opened by the joint of link `door`."""
        center = (surface[0], surface[1] + half[1], surface[2])
        self.receptacles.append(
            Receptacle(name, kind, self.label, center, 0.0, half, joint=link - 1, door=door - 1, handle=handle)
        )

    @cached_property
    def rectangle(self) -> tuple[float, float, float, float]:
        """Smallest rectangle (low x, low z, high x, high z) around everything in the piece's frame, once it is built."""
        reach = np.array([product(np.abs(s.rotation), s.half) * [max(1.0, s.taper), 1, max(1.0, s.taper)] for s in self.solids])
        center = np.array([s.center for s in self.solids])
        low, high = (center - reach).min(0), (center + reach).max(0)
        return float(low[0]), float(low[2]), float(high[0]), float(high[2])


@dataclass(frozen=True)
class Placed:
    """A piece at a place in the home."""

    piece: Piece
    xz: tuple[float, float] = (0.0, 0.0)
    """World floor point of the piece's origin."""
    yaw: float = 0.0
    """Turn about +y; the front looks along (sin yaw, 0, cos yaw)."""
    lift: float = 0.0
    """Height of the piece's y = 0 above the floor."""


def turn(yaw: float) -> np.ndarray:
    """Rotation matrix [3, 3] about +y."""
    c, s = cos(yaw), sin(yaw)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def assemble(placed: list[Placed]) -> tuple[Parts, tuple[str, ...], tuple[Joint, ...], tuple[Receptacle, ...]]:
    """The parts, labels, joints and receptacles of a home with the given pieces, in world coordinates."""
    labels = tuple(dict.fromkeys(p.piece.label for p in placed))
    rows, joints, receptacles = [], [], []
    for one in placed:
        rotation, first = turn(one.yaw), len(joints)
        shift = np.array([one.xz[0], one.lift, one.xz[1]])
        for s in one.piece.solids:
            body = 0 if s.link == 0 else first + s.link
            rows.append(
                (product(rotation, s.center) + shift, product(rotation, s.rotation), s, body, labels.index(one.piece.label))
            )
        for j in one.piece.joints:
            axis, origin = _vector(product(rotation, j.axis)), _vector(product(rotation, j.origin) + shift)
            joints.append(replace(j, axis=axis, origin=origin))
        receptacles += [_moved(r, rotation, shift, one.yaw, first) for r in one.piece.receptacles]
    centers, rotations, solids, bodies, label = zip(*rows, strict=True)
    parts = Parts(
        center=np.array(centers, np.float32),
        rotation=np.array(rotations, np.float32),
        half=np.array([s.half for s in solids], np.float32),
        sides=np.array([s.sides for s in solids], np.uint8),
        taper=np.array([s.taper for s in solids], np.float32),
        colour=np.array([s.colour for s in solids], np.uint8),
        body=np.array(bodies, np.int16),
        label=np.array(label, np.int16),
    )
    return parts, labels, tuple(joints), tuple(receptacles)


def _moved(receptacle: Receptacle, rotation: np.ndarray, shift: np.ndarray, yaw: float, first: int) -> Receptacle:
    """A receptacle of a piece in world coordinates; `first` is the home's index of the piece's first joint."""
    handle = receptacle.handle
    return replace(
        receptacle,
        center=_vector(product(rotation, receptacle.center) + shift),
        yaw=float(yaw),
        joint=receptacle.joint + first if receptacle.joint >= 0 else -1,
        door=receptacle.door + first if receptacle.door >= 0 else -1,
        handle=None if handle is None else _vector(product(rotation, handle) + shift),
    )


def corners(parts: Parts, index: int) -> np.ndarray:
    """World corner points [K, 3] of one part."""
    half, taper = parts.half[index].astype(float), float(parts.taper[index])
    sides = int(parts.sides[index])
    if sides == 0:
        local = np.array([[x, y, z] for y in (-1, 1) for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))]) * half
    else:
        angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides
        ring = np.stack([cos(angle) * half[0], np.zeros(sides), sin(angle) * half[2]], axis=1)
        local = np.concatenate([ring - [0, half[1], 0], ring * taper + [0, half[1], 0]])
    return product(local, parts.rotation[index].T) + parts.center[index].astype(float)


def footprints(parts: Parts, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Convex outlines on the floor of all parts that reach into the heights between `low` and `high`.

    Returns polygons [P, M, 2] (x, z) and their numbers of corners [P].
    """
    upright = (parts.sides == 0) & (parts.rotation[:, 1, 1] > 1 - 1e-6)
    tall = product(np.abs(parts.rotation[:, 1:2]), parts.half[:, :, None])[:, 0, 0]
    reaches = (parts.center[:, 1] + tall > low) & (parts.center[:, 1] - tall < high)
    local = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * parts.half[:, None, [0, 2]].astype(float)
    axes = parts.rotation[:, [0, 2]][:, :, [0, 2]].astype(float)
    flat = product(local, axes.transpose(0, 2, 1)) + parts.center[:, None, [0, 2]].astype(float)
    outlines = [flat[i] if upright[i] else hull(corners(parts, i)[:, [0, 2]]) for i in np.flatnonzero(reaches)]
    polygons = np.zeros((len(outlines), max(len(o) for o in outlines), 2))
    for polygon, outline in zip(polygons, outlines, strict=True):
        polygon[: len(outline)] = outline
    return polygons, np.array([len(o) for o in outlines])


def hull(points: np.ndarray) -> np.ndarray:
    """Corners [K, 2] of the convex hull of points [N, 2], in order."""
    ordered = sorted({(float(x), float(z)) for x, z in points.round(6)})

    def chain(sequence: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for x, z in sequence:
            while len(kept) > 1 and (kept[-1][0] - kept[-2][0]) * (z - kept[-2][1]) <= (kept[-1][1] - kept[-2][1]) * (
                x - kept[-2][0]
            ):
                kept.pop()
            kept.append((x, z))
        return kept[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _vector(values) -> Vector:
    x, y, z = (float(v) for v in values)
    return x, y, z
