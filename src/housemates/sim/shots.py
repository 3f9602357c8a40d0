"""Pictures for people who watch a home: from above without its ceiling, and through the robots' eyes.

The camera above stands so that the whole home fills a picture of any shape, the home's longer side across.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from housemates.homes.home import Home
from housemates.sim.batch import Batch
from housemates.sim.cameras import OBJECT_LABEL, ROBOT_LABEL

FOV = 35.0
"""Field of view of the camera above, degrees: narrow, so that walls lean little."""
TILT = 72.0
"""How steeply it looks down, degrees; 90 is straight down."""
BORDER = 0.55
"""Metres of a home beyond the floor its robots can stand on."""
WALL = 2.4
"""Height that must be in the picture, metres."""
SHARP = 2
"""The picture from above is drawn this many times as large as it is shown."""
TINT = 0.5
"""Share of its own colour that a marked thing is painted with."""

Colour = tuple[int, int, int]


class Shot:
    """Cameras in the first home of a batch."""

    def __init__(self, batch: Batch, above: tuple[int, int], eye: int, real: bool = False) -> None:
        """above: width and height of the picture from above; eye: side of the head pictures; pixels; real: as `Cameras`."""
        self.batch, self.size = batch, above
        home = batch.homes[int(batch.state.home[0])]
        self._side = SHARP * max(above)
        self._above = batch.new_cameras(self._side, hide=("ceiling",), hfov=FOV, real=real)
        self._heads = batch.new_cameras(eye, real=real)
        self.camera = above_home(home, above)

    def above(self, paper: Colour, robots: Mapping[int, Colour], things: Mapping[int, Colour]) -> np.ndarray:
        """The home now, uint8 [SHARP * height, SHARP * width, 3], `paper` where nothing is; robots and objects tinted."""
        home, camera = np.zeros(1, np.int64), self.camera[None]
        rgb = np.zeros((1, self._side, self._side, 3), np.uint8)
        label = np.zeros((1, self._side, self._side), np.int16)
        self._above.update(self.batch.records, np.arange(self.batch.size) == 0)
        self._above.draw("rgb", home, camera, rgb)
        self._above.draw("segmentation", home, camera, label)
        left, top = ((self._side - SHARP * n) // 2 for n in self.size)
        cut = np.s_[0, top : self._side - top, left : self._side - left]
        picture, label = rgb[cut], label[cut]
        picture[label < 0] = paper
        for first, colours in ((ROBOT_LABEL, robots), (OBJECT_LABEL, things)):
            for number, colour in colours.items():
                marked = label == first + number
                picture[marked] = (picture[marked] * (1 - TINT) + np.multiply(colour, TINT)).astype(np.uint8)
        return picture

    def head(self, robot: int) -> tuple[np.ndarray, np.ndarray]:
        """What a robot sees now: colours uint8 [S, S, 3] and depth float32 [S, S] in metres."""
        size, records = self._heads.pixels, self.batch.records[:1]
        which = np.arange(self.batch.robots)[None] == robot
        rgb = np.zeros((1, self.batch.robots, size, size, 3), np.uint8)
        depth = np.zeros((1, self.batch.robots, size, size, 1), np.float32)
        self._heads.heads("rgb", records, which, rgb)
        self._heads.heads("depth", records, which, depth)
        return rgb[0, robot], depth[0, robot, :, :, 0]

    def project(self, points: np.ndarray) -> np.ndarray:
        """Where world points [N, 3] are in the picture from above as it is shown, pixels [N, 2] (right, down)."""
        return project(self.camera, points) * max(self.size) / 2 + np.asarray(self.size) / 2


def above_home(home: Home, shape: tuple[int, int]) -> np.ndarray:
    """A camera [4, 4] that sees a whole home from above in a picture of `shape` (width, height), ratio only."""
    rows, columns = np.nonzero(home.floor.free)
    low = np.subtract(home.floor.point(rows.min(), columns.min()), BORDER)
    high = np.add(home.floor.point(rows.max(), columns.max()), BORDER)
    corners = np.array([(x, y, z) for x in (low[0], high[0]) for y in (0.0, WALL) for z in (low[1], high[1])])
    turned = (high[1] - low[1] > high[0] - low[0]) == (shape[0] > shape[1])
    right = np.array([0.0, 0.0, -1.0] if turned else [1.0, 0.0, 0.0])
    tilt = np.radians(TILT)
    ahead = np.cross([0.0, 1.0, 0.0], right)
    forward = np.cos(tilt) * ahead - np.sin(tilt) * np.array([0.0, 1.0, 0.0])
    camera = np.eye(4)
    camera[:3, 0], camera[:3, 1], camera[:3, 2] = right, np.cross(right, forward), -forward
    room = np.asarray(shape) / max(shape)
    middle, away = corners.mean(axis=0), 30.0
    # A perspective picture has no closed form for this; it settles in a few rounds.
    for _ in range(20):
        camera[:3, 3] = middle - away * forward
        seen = project(camera, corners)
        centre = (seen.min(axis=0) + seen.max(axis=0)) / 2
        scale = away * np.tan(np.radians(FOV) / 2)
        middle = middle + scale * (centre[0] * camera[:3, 0] - centre[1] * camera[:3, 1])
        away *= float((np.ptp(seen, axis=0) / 2 / room).max())
    return camera


def project(camera: np.ndarray, points: np.ndarray) -> np.ndarray:
    """World points [N, 3] in a square picture of the camera [4, 4], [N, 2] (right, down), from -1 to 1 across it."""
    local = (np.asarray(points, float) - camera[:3, 3]) @ camera[:3, :3]
    return np.stack([local[:, 0], -local[:, 1]], axis=1) / -local[:, 2:] / np.tan(np.radians(FOV) / 2)
