"""Pictures for people: a home of a batch without its ceiling, from above or over a robot's shoulder."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from housemates.renderer.pictures import NEAR
from housemates.sim.batch import Batch
from housemates.sim.cameras import Cameras, follow, overhead

PIXELS = 512
"""Side of the picture."""
FOV = 60.0
"""Field of view of both cameras, degrees."""
CLEAR = 1.5
"""Over a robot's shoulder nothing nearer than this is drawn, metres: a wall behind the robot would hide it."""

_known: WeakKeyDictionary[Batch, dict[float, Cameras]] = WeakKeyDictionary()


def picture(batch: Batch, home: int, view: str = "top") -> np.ndarray:
    """Home number `home` of a batch, uint8 [512, 512, 3]: from above (`top`) or over the shoulder of `robot_0`, ..."""
    cameras = _cameras(batch, NEAR if view == "top" else CLEAR)
    cameras.update(batch.records, np.arange(batch.size) == home)
    camera = _above(batch, home) if view == "top" else follow(batch.state.pose[home, int(view.removeprefix("robot_"))])
    out = np.zeros((1, PIXELS, PIXELS, 3), np.uint8)
    cameras.draw("rgb", np.array([home]), camera[None], out)
    return out[0]


def _above(batch: Batch, home: int) -> np.ndarray:
    """A camera [4, 4] that sees a whole home from above."""
    floor = batch.homes[int(batch.state.home[home])].floor
    rows, columns = np.nonzero(floor.free)
    low, high = floor.point(rows.min(), columns.min()), floor.point(rows.max(), columns.max())
    # A robot stands 0.3 m from the walls, and walls rise towards the camera: a margin keeps them in the picture.
    return overhead(np.subtract(low, 1.5).tolist(), np.add(high, 1.5).tolist(), FOV)


def _cameras(batch: Batch, near: float) -> Cameras:
    kept = _known.setdefault(batch, {})
    if near not in kept:
        kept[near] = batch.new_cameras(PIXELS, hide=("ceiling",), hfov=FOV, near=near)
    return kept[near]
