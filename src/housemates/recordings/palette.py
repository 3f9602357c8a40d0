"""Colours that carry a meaning, the same in films, floor plans and on the page: one table for a light and a dark ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Rgb = tuple[int, int, int]


class Colour(NamedTuple):
    """One colour on both grounds."""

    name: str
    """What people call it."""
    light: Rgb
    """On a light ground: red, green, blue from 0 to 255."""
    dark: Rgb
    """On a dark ground."""

    def hex(self, theme: str) -> str:
        """The colour for `light` or `dark` as `#rrggbb`."""
        return "#" + bytes(self.light if theme == "light" else self.dark).hex()


THEMES = ("light", "dark")
ROBOTS = (
    Colour("blue", (47, 127, 224), (90, 162, 255)),
    Colour("orange", (217, 115, 13), (255, 154, 61)),
    Colour("green", (46, 155, 79), (111, 208, 140)),
    Colour("violet", (154, 79, 196), (207, 142, 240)),
)
"""Robots 0 to 3."""
OBJECTS = (Colour("yellow", (196, 154, 0), (255, 217, 74)), Colour("pink", (214, 51, 132), (255, 111, 174)))
"""The two target objects and their goals."""
SUCCESS = Colour("green", (35, 122, 59), (99, 207, 128))
FAILURE = Colour("red", (198, 47, 37), (255, 122, 110))
DEPTH = np.array([(252, 253, 191), (254, 159, 109), (222, 73, 104), (140, 41, 129), (59, 15, 112), (0, 0, 4)], float)
"""Depth pictures, near to far: steps of the colour map magma, whose brightness falls evenly."""


def depth_colours(share: np.ndarray) -> np.ndarray:
    """Colours [..., 3] uint8 of depths [...] given as shares of the farthest one: 0 is near and bright, 1 far and black."""
    at = np.clip(share, 0, 1) * (len(DEPTH) - 1)
    low = np.minimum(at.astype(int), len(DEPTH) - 2)
    part = (at - low)[..., None]
    return (DEPTH[low] * (1 - part) + DEPTH[low + 1] * part).astype(np.uint8)


def named_colours(theme: str) -> dict[str, str]:
    """All colours of a theme by name, `robot0` to `failure`, as `#rrggbb`."""
    groups = {"robot": ROBOTS, "object": OBJECTS}
    found = {f"{kind}{n}": colour.hex(theme) for kind, colours in groups.items() for n, colour in enumerate(colours)}
    return found | {"success": SUCCESS.hex(theme), "failure": FAILURE.hex(theme)}
