"""The kitchen block: counter with sink and seven drawers, fridge with two doors and shelves, wall cupboards.

Sizes, joint limits and handle points are those of ReplicaCAD's kitchen (its fridge, kitchen_counter and
kitchenCupboard_01), with every drawer and the fridge hollow so that a camera sees what is inside.
"""

from __future__ import annotations

from housemates.geometry.exact import product
from housemates.homes.pieces import Colour, Piece, Placed, Vector, turn
from housemates.homes.plan import Macro

COUNTER_LEFT, COUNTER_RIGHT = -1.55, 1.5
"""Ends of the counter along its own x, metres."""
BACK, FRONT = -0.485, 0.17
"""Back and front edge of the worktop along the counter's own z; the wall is at -0.5."""
TOP = 0.86
"""Height of the worktop, metres."""
SINK = (-0.314, -0.16)
"""Middle of the basin (x, z) in the counter's frame."""
SINK_BOTTOM = 0.71
"""Height of the basin's floor, metres."""
DRAWER_TRAVEL = 0.5
"""Upper limit of a drawer, metres."""
FRIDGE_WIDTH, FRIDGE_BACK, FRIDGE_FACE = 0.70, -0.325, 0.325
"""The fridge's body: width, and its back and front along its own z, metres."""

DRAWERS = (
    # name, left x, right x, front bottom, front top, floor, side height, receptacle name, kind, HAB marker
    ("drawer1_top", -1.53, -0.64, 0.465, 0.81, 0.504, 0.19, "drawer_left_top", "drawer_left"),
    ("drawer1_bottom", -1.53, -0.64, 0.11, 0.455, 0.15, 0.25, "drawer_left_bottom", "drawer"),
    ("drawer2_top", -0.02, 0.57, 0.58, 0.81, 0.62, 0.15, "drawer_middle_top", "drawer"),
    ("drawer2_middle", -0.02, 0.57, 0.345, 0.57, 0.385, 0.15, "drawer_middle_middle", "drawer"),
    ("drawer2_bottom", -0.02, 0.57, 0.11, 0.335, 0.15, 0.15, "drawer_middle_bottom", "drawer"),
    ("drawer3", 0.59, 1.48, 0.465, 0.81, 0.504, 0.19, "drawer_right_top", "drawer_right"),
    ("drawer4", 0.59, 1.48, 0.11, 0.455, 0.15, 0.25, "drawer_right_bottom", "drawer"),
)
"""The seven drawers: name, left and right x, front from and to, height of the floor, of the sides, receptacle and kind."""

SHELVES = (("bottom", 0.12), ("middle_bottom", 0.50), ("middle", 0.90), ("middle_top", 1.26), ("top", 1.62))
"""Fridge shelves: name and height of the surface; the task uses `middle_top`."""

STEEL, WHITE, DARK = (188, 190, 192), (238, 238, 236), (70, 72, 76)


def counter(front: Colour, top: Colour) -> Piece:
    """The counter; its origin lies on the floor, 0.5 m in front of the wall."""
    piece = Piece("kitchen_counter")
    left, right = COUNTER_LEFT, COUNTER_RIGHT
    piece.box((left, 0.0, BACK), (right, 0.10, 0.08), DARK)
    piece.box((left, 0.10, BACK), (right, 0.82, BACK + 0.015), front)
    piece.box((left, 0.10, BACK + 0.015), (right, 0.115, 0.13), front)
    for x in (left, -0.64, -0.04, 0.57, right - 0.02):
        piece.box((x, 0.115, BACK + 0.015), (x + 0.02, 0.82, 0.13), front)
    piece.box((-0.615, 0.11, 0.13), (-0.335, 0.81, 0.15), front)
    piece.box((-0.325, 0.11, 0.13), (-0.045, 0.81, 0.15), front)
    _worktop(piece, top)
    for drawer in DRAWERS:
        _drawer(piece, *drawer, colour=front)
    piece.receptacle("counter_left", "counter", (-1.076, TOP, -0.156), (0.449, 0.187, 0.309))
    piece.receptacle("counter_right", "counter", (0.724, TOP, -0.177), (0.741, 0.187, 0.299))
    piece.receptacle("sink", "sink", (SINK[0], SINK_BOTTOM, SINK[1]), (0.177, 0.097, 0.110))
    return piece


def _worktop(piece: Piece, colour: Colour) -> None:
    """Worktop slabs around the basin, the basin and the tap."""
    x0, x1, z0, z1 = SINK[0] - 0.2, SINK[0] + 0.2, SINK[1] - 0.135, SINK[1] + 0.135
    for low, high in (
        ((COUNTER_LEFT, BACK), (-0.6, FRONT)),
        ((-0.05, BACK), (COUNTER_RIGHT, FRONT)),
        ((-0.6, BACK), (-0.05, z0)),
        ((-0.6, z1), (-0.05, FRONT)),
        ((-0.6, z0), (x0, z1)),
        ((x1, z0), (-0.05, z1)),
    ):
        piece.box((low[0], 0.82, low[1]), (high[0], TOP, high[1]), colour)
    piece.box((x0 - 0.01, SINK_BOTTOM - 0.015, z0 - 0.01), (x1 + 0.01, SINK_BOTTOM, z1 + 0.01), STEEL)
    for low, high in (
        ((x0 - 0.01, z0 - 0.01), (x0, z1 + 0.01)),
        ((x1, z0 - 0.01), (x1 + 0.01, z1 + 0.01)),
        ((x0, z0 - 0.01), (x1, z0)),
        ((x0, z1), (x1, z1 + 0.01)),
    ):
        piece.box((low[0], SINK_BOTTOM, low[1]), (high[0], 0.82, high[1]), STEEL)
    piece.prism((SINK[0], 0.97, z0 - 0.08), (0.018, 0.11, 0.018), STEEL)
    piece.box((SINK[0] - 0.014, 1.06, z0 - 0.08), (SINK[0] + 0.014, 1.085, z0 + 0.09), STEEL)


def _drawer(
    piece: Piece,
    name: str,
    left: float,
    right: float,
    bottom: float,
    top: float,
    floor: float,
    sides: float,
    receptacle: str,
    kind: str,
    colour: Colour,
) -> None:
    """A hollow drawer on rails along +z, with front, handle bar and its placement volume."""
    link = piece.joint(name, "prismatic", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 0.0, DRAWER_TRAVEL)
    back, front, wood = BACK + 0.03, 0.13, (214, 198, 172)
    inner_left, inner_right = left + 0.02, right - 0.02
    piece.box((left + 0.005, bottom, front), (right - 0.005, top, front + 0.02), colour, link)
    piece.box((inner_left, floor - 0.012, back), (inner_right, floor, front), wood, link)
    piece.box((inner_left, floor, back), (inner_left + 0.012, floor + sides, front), wood, link)
    piece.box((inner_right - 0.012, floor, back), (inner_right, floor + sides, front), wood, link)
    piece.box((inner_left + 0.012, floor, back), (inner_right - 0.012, floor + sides, back + 0.012), wood, link)
    middle, grip = (left + right) / 2, min(top - 0.05, floor + 0.05)
    piece.box((middle - 0.09, grip - 0.008, front + 0.02), (middle + 0.09, grip + 0.008, front + 0.04), STEEL, link)
    half = ((right - left) / 2 - 0.055, min(0.0815, sides / 2), 0.241)
    handle: Vector = (middle, grip, front + 0.03)
    piece.receptacle(receptacle, kind, (middle, floor, -0.174), half, link=link, door=link, handle=handle)


def fridge(colour: Colour) -> Piece:
    """The fridge; its origin lies on the floor under the middle of its body, hinges are on its left."""
    piece, half = Piece("fridge"), FRIDGE_WIDTH / 2
    back, face, wall = FRIDGE_BACK, FRIDGE_FACE, 0.04
    piece.box((-half, 0.0, back), (half, 0.05, face - 0.03), DARK)
    piece.box((-half, 0.05, back), (half, 1.97, back + wall), WHITE)
    piece.box((-half, 0.05, back + wall), (-half + wall, 1.97, face), colour)
    piece.box((half - wall, 0.05, back + wall), (half, 1.97, face), colour)
    piece.box((-half + wall, 1.93, back + wall), (half - wall, 1.97, face), colour)
    for _, height in SHELVES:
        thick = 0.07 if height < 0.2 else 0.05 if height == 0.90 else 0.015
        piece.box((-half + wall, height - thick, back + wall), (half - wall, height, face - 0.01), WHITE)
    links = {}
    for name, low, high, limit in (("top_door", 0.86, 1.96, 2.3), ("bottom_door", 0.06, 0.85, 2.5)):
        # The axis points down, so that a positive angle swings the right-hand edge out.
        link = piece.joint(name, "revolute", (0.0, -1.0, 0.0), (-half + 0.005, 0.0, face), 0.0, limit)
        grip = (low + 0.1, low + 0.55) if name == "top_door" else (high - 0.45, high - 0.1)
        piece.box((-half + 0.005, low, face), (half - 0.005, high, face + 0.055), colour, link)
        piece.box((0.26, grip[0], face + 0.055), (0.29, grip[1], face + 0.09), STEEL, link)
        links[name] = link
    # fridge_push_point: 0.62 m from the hinge, 0.10 m in front of it, in the lower half of the door.
    handles = {"top_door": (0.275, 1.2, face + 0.09), "bottom_door": (0.275, 0.6, face + 0.09)}
    for name, height in SHELVES:
        door = "top_door" if height >= 0.86 else "bottom_door"
        chosen = name == "middle_top"
        room = 0.161 if chosen else 0.13
        piece.receptacle(
            "fridge_shelf" if chosen else f"fridge_{name}",
            "fridge" if chosen else "fridge_other",
            (0.0, height, 0.015),
            (0.294, room, 0.272),
            door=links[door],
            handle=handles[door],
        )
    return piece


def cupboards(colour: Colour) -> Piece:
    """Eight wall cupboards in a row above the counter, in the counter's frame."""
    piece, low, high, wall, face = Piece("kitchenCupboard_01"), 1.53, 2.52, -0.5, -0.13
    piece.box((-1.5, low, wall), (1.5, low + 0.02, face), colour)
    piece.box((-1.5, high - 0.02, wall), (1.5, high, face), colour)
    piece.box((-1.5, 2.02, wall), (1.5, 2.04, face - 0.02), colour)
    for x in (-1.5, -0.76, -0.01, 0.74, 1.48):
        piece.box((x, low + 0.02, wall), (x + 0.02, high - 0.02, face), colour)
    for number in range(8):
        x0, x1 = -1.5 + number * 0.375 + 0.003, -1.5 + (number + 1) * 0.375 - 0.003
        hinge = x0 if number % 2 == 0 else x1
        axis = (0.0, -1.0, 0.0) if number % 2 == 0 else (0.0, 1.0, 0.0)
        link = piece.joint(f"door{number + 1}", "revolute", axis, (hinge, 0.0, face), 0.0, 2.3)
        piece.box((x0, low, face), (x1, high, face + 0.02), colour, link)
    return piece


def kitchen(macro: Macro, front: Colour, top: Colour) -> list[Placed]:
    """Counter, cupboards and fridge where the macro layout wants them."""
    side = COUNTER_RIGHT + macro.gap + FRIDGE_WIDTH / 2 if macro.fridge_right else COUNTER_LEFT - macro.gap - FRIDGE_WIDTH / 2
    # The fridge's back stands 1 cm from the wall, which is 0.5 m behind the counter's origin.
    shift = product(turn(macro.yaw), (side, 0.0, -0.49 - FRIDGE_BACK))
    x, z = macro.origin
    return [
        Placed(counter(front, top), macro.origin, macro.yaw),
        Placed(cupboards(front), macro.origin, macro.yaw),
        Placed(fridge((214, 216, 218)), (float(x + shift[0]), float(z + shift[2])), macro.yaw),
    ]
