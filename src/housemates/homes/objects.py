"""The ten household objects of the tasks as numbers and convex solids, with the sizes of the public YCB object table.

An object's frame has its origin at the middle of its bounding box and y up, standing as it does in the YCB scans; an
object on a surface has its origin `half[1]` above it. Scanned meshes, where installed, come from `homes.meshes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

import numpy as np

from housemates.geometry.exact import atan2, cos, hypot, sin
from housemates.homes.home import Parts
from housemates.homes.solids import Colour, Solid, box, drum, join, stack


@dataclass(frozen=True)
class HouseholdObject:
    """One kind of thing that robots carry about."""

    name: str
    """Its YCB name: `002_master_chef_can`."""
    shape: str
    """`box`, `can`, `ball` or `bowl`."""
    size: tuple[float, float, float]
    """Full extents along x, y (up) and z as it stands, metres."""
    mass: float
    """Kilograms."""
    colour: Colour

    @property
    def half(self) -> tuple[float, float, float]:
        """Half extents of the bounding box, metres; half[1] is the height of the origin above the surface it stands on."""
        x, y, z = self.size
        return x / 2, y / 2, z / 2


# Sizes and masses: YCB object table (Calli et al. 2015). The two flat dessert boxes lie on their largest face.
OBJECTS = (
    HouseholdObject("002_master_chef_can", "can", (0.102, 0.139, 0.102), 0.414, (36, 62, 140)),
    HouseholdObject("003_cracker_box", "box", (0.060, 0.210, 0.158), 0.411, (190, 36, 32)),
    HouseholdObject("004_sugar_box", "box", (0.038, 0.175, 0.089), 0.514, (228, 190, 52)),
    HouseholdObject("005_tomato_soup_can", "can", (0.066, 0.101, 0.066), 0.349, (206, 60, 50)),
    HouseholdObject("007_tuna_fish_can", "can", (0.085, 0.033, 0.085), 0.171, (70, 112, 150)),
    HouseholdObject("008_pudding_box", "box", (0.110, 0.035, 0.089), 0.187, (120, 72, 44)),
    HouseholdObject("009_gelatin_box", "box", (0.085, 0.028, 0.073), 0.097, (200, 62, 92)),
    HouseholdObject("010_potted_meat_can", "box", (0.097, 0.082, 0.050), 0.370, (52, 84, 160)),
    HouseholdObject("013_apple", "ball", (0.075, 0.075, 0.075), 0.068, (188, 44, 40)),
    HouseholdObject("024_bowl", "bowl", (0.159, 0.053, 0.159), 0.147, (196, 70, 58)),
)
"""Index into this tuple is an object's type everywhere in the package."""

NAMES = tuple(thing.name for thing in OBJECTS)
"""Names by type."""
HAB_OBJECTS = tuple(name for name in NAMES if name != "013_apple")
"""The nine objects of Tidy House and Prepare Groceries (spec section 1.1); the apple belongs to Set Table alone."""
BOWL_FOOT = 0.5
"""Diameter of the bowl's foot as a share of its rim's."""
BOWL_WALL = 0.004
"""Thickness of the bowl, metres."""
BOWL_SIDES = 8


def object_type(name: str) -> int:
    """The type (index into OBJECTS) of an object by its YCB name."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1, cutoff=0.4)
        hint = f", did you mean '{near[0]}'?" if near else ";"
        raise KeyError(f"unknown object '{name}'{hint} Known: {', '.join(NAMES)}")
    return NAMES.index(name)


def half_extents() -> np.ndarray:
    """Half extents [10, 3] float32 of all objects by type, metres (x, y up, z as they stand)."""
    return np.array([thing.half for thing in OBJECTS], np.float32)


@lru_cache(maxsize=1)
def object_parts() -> tuple[Parts, np.ndarray]:
    """The solids of all ten objects, each in its object's frame, with body = label = the object's type.

    Also first [11] int64: object type t owns rows first[t] to first[t + 1] - 1.
    """
    each = [parts_of(name) for name in NAMES]
    return join(each), np.concatenate([[0], np.cumsum([len(p) for p in each])]).astype(np.int64)


def parts_of(name: str) -> Parts:
    """The solids of one object in its own frame, with body = label = the object's type."""
    kind = object_type(name)
    thing = OBJECTS[kind]
    return stack(SHAPES[thing.shape](thing), body=kind, label=kind)


def _box(thing: HouseholdObject) -> list[Solid]:
    return [box((0, 0, 0), thing.size, thing.colour)]


def _can(thing: HouseholdObject) -> list[Solid]:
    return [drum((0, 0, 0), thing.size[0], thing.size[1], thing.colour)]


def _ball(thing: HouseholdObject) -> list[Solid]:
    """A ball as three slices of equal height: a drum between two caps.

    The caps start at the ball's own circle there and end where the whole outline covers as much as the ball's.
    """
    diameter, height, _ = thing.size
    slice_height = height / 3
    waist = diameter * np.sqrt(8) / 3
    pole = diameter * (np.pi * 3 / 4 - 1) - waist
    return [
        drum((0, -slice_height, 0), pole, slice_height, thing.colour, top=waist),
        drum((0, 0, 0), diameter, slice_height, thing.colour),
        drum((0, slice_height, 0), waist, slice_height, thing.colour, top=pole),
    ]


def _bowl(thing: HouseholdObject) -> list[Solid]:
    """A hollow bowl: a round foot and eight leaning walls, so that a picture from above looks into it."""
    rim, height, _ = thing.size
    foot = drum((0, BOWL_WALL - height / 2, 0), rim * BOWL_FOOT, 2 * BOWL_WALL, thing.colour, sides=BOWL_SIDES)
    corner = foot.half[0] / BOWL_FOOT
    flat, width = corner * cos(np.pi / BOWL_SIDES), 2 * corner * sin(np.pi / BOWL_SIDES)
    run, rise = flat * (1 - BOWL_FOOT), height - BOWL_WALL
    lean, slope = atan2(run, rise), float(hypot(run, rise))
    walls = []
    for k in range(BOWL_SIDES):
        angle = 2 * np.pi * (k + 1) / BOWL_SIDES
        outward, up = np.array([cos(angle), 0.0, sin(angle)]), np.array([0.0, 1.0, 0.0])
        normal, down = cos(lean) * outward - sin(lean) * up, -sin(lean) * outward - cos(lean) * up
        middle = flat * (1 + BOWL_FOOT) / 2 * outward - normal * BOWL_WALL / 2
        # A four-sided prism is a wall that is wide at the rim (its bottom) and narrows towards the foot without gaps;
        # its corners lie on the ellipse, hence the square root.
        half = np.array([BOWL_WALL, slope / np.sqrt(2), width]) / np.sqrt(2)
        rotation = np.stack([normal, down, np.cross(normal, down)], axis=1)
        center = (float(middle[0]), float(middle[1]), float(middle[2]))
        walls.append(Solid(center, tuple(half.tolist()), thing.colour, rotation, sides=4, taper=BOWL_FOOT))
    return [foot, *walls]


SHAPES = {"box": _box, "can": _can, "ball": _ball, "bowl": _bowl}
