"""Convex solids written one by one and stacked into `Parts`: how the robot's body and the household objects are made.

Everything here is in the frame of the body a solid belongs to; nothing knows about homes or worlds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from housemates.geometry.exact import cos, product, sin
from housemates.homes.home import Parts

UPRIGHT = np.eye(3)
"""Local y is the body's y."""
Colour = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Solid:
    """One box or prism in its body's frame; the fields are those of one row of `Parts`."""

    center: tuple[float, float, float]
    half: tuple[float, float, float]
    colour: Colour
    rotation: np.ndarray
    sides: int = 0
    taper: float = 1.0
    body: int = 0
    label: int = 0


def box(center: Sequence[float], size: Sequence[float], colour: Colour, rotation: np.ndarray = UPRIGHT) -> Solid:
    """A box with full extents `size` (metres) along its own axes, which are the columns of `rotation` [3, 3]."""
    return Solid(_triple(center), _triple(np.asarray(size, float) / 2), colour, rotation)


def drum(
    center: Sequence[float],
    diameter: float,
    height: float,
    colour: Colour,
    rotation: np.ndarray = UPRIGHT,
    top: float | None = None,
    sides: int = 12,
    depth: float | None = None,
) -> Solid:
    """A round solid along its local y as a prism: `diameter` at the bottom, `top` (default the same) at the top, metres.

    The prism has the circle's area, so that it covers as many pixels. `depth` is the diameter along local z, if not round.
    A solid that widens upwards is stored upside down: a prism's bottom is always its larger end.
    """
    top = diameter if top is None else top
    depth = diameter if depth is None else depth
    if top > diameter:
        turned = product(rotation, np.diag([1.0, -1.0, -1.0]))
        return drum(center, top, height, colour, turned, top=diameter, sides=sides, depth=depth * top / diameter)
    grow = np.sqrt(2 * np.pi / (sides * sin(2 * np.pi / sides))) / 2
    return Solid(_triple(center), (diameter * grow, height / 2, depth * grow), colour, rotation, sides, top / diameter)


def stack(solids: Sequence[Solid], body: int | None = None, label: int | None = None) -> Parts:
    """Solids as arrays, in the given order; `body` and `label`, if given, replace those of every solid."""
    changes = {k: v for k, v in (("body", body), ("label", label)) if v is not None}
    rows = [replace(s, **changes) for s in solids]
    return Parts(
        center=np.array([s.center for s in rows], np.float32),
        rotation=np.array([s.rotation for s in rows], np.float32),
        half=np.array([s.half for s in rows], np.float32),
        sides=np.array([s.sides for s in rows], np.uint8),
        taper=np.array([s.taper for s in rows], np.float32),
        colour=np.array([s.colour for s in rows], np.uint8),
        body=np.array([s.body for s in rows], np.int16),
        label=np.array([s.label for s in rows], np.int16),
    )


def join(parts: Sequence[Parts]) -> Parts:
    """Several `Parts` one after the other."""
    return Parts(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in vars(parts[0])})


def corners(parts: Parts, index: int) -> np.ndarray:
    """Corner points [M, 3] of one solid in its body's frame: 8 of a box, 2 x sides of a prism (bottom first)."""
    hx, hy, hz = parts.half[index].astype(float)
    sides = int(parts.sides[index])
    if sides == 0:
        local = np.array([[x, y, z] for y in (-hy, hy) for x in (-hx, hx) for z in (-hz, hz)])
    else:
        angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides
        ring = np.stack([hx * cos(angle), np.full(sides, -hy), hz * sin(angle)], axis=1)
        scale = float(parts.taper[index])
        local = np.concatenate([ring, ring * [scale, -1.0, scale]])
    return product(local, parts.rotation[index].T) + parts.center[index]


def bounds(parts: Parts) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest corner (3,), metres, over all solids, each in its own body's frame."""
    points = np.concatenate([corners(parts, i) for i in range(len(parts))])
    return points.min(axis=0), points.max(axis=0)


def _triple(values: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z
