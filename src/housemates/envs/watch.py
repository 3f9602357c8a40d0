"""Pictures for people: a home of a batch from above, without its ceiling."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from housemates.sim.batch import Batch
from housemates.sim.cameras import Cameras, overhead

PIXELS = 512
"""Side of the picture."""
FOV = 60.0
"""Field of view of the camera above, degrees."""

_known: WeakKeyDictionary[Batch, Cameras] = WeakKeyDictionary()


def from_above(batch: Batch, home: int) -> np.ndarray:
    """Home number `home` of a batch from above, uint8 [512, 512, 3]."""
    cameras, shown = _cameras(batch), np.arange(batch.size) == home
    cameras.update(batch.records, shown)
    floor = batch.homes[int(batch.state.home[home])].floor
    rows, columns = np.nonzero(floor.free)
    low, high = floor.point(rows.min(), columns.min()), floor.point(rows.max(), columns.max())
    out = np.zeros((1, PIXELS, PIXELS, 3), np.uint8)
    # A robot stands 0.3 m from the walls, and walls rise towards the camera: a margin keeps them in the picture.
    camera = overhead(np.subtract(low, 1.5).tolist(), np.add(high, 1.5).tolist(), FOV)
    cameras.draw("rgb", np.array([home]), camera[None], out)
    return out[0]


def _cameras(batch: Batch) -> Cameras:
    if batch not in _known:
        _known[batch] = Cameras(
            batch.world, batch.episodes, batch.homes, batch.size, batch.robots, PIXELS, hide=("ceiling",), hfov=FOV
        )
    return _known[batch]
