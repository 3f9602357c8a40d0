"""What a robot senses that cannot sense its partners: a control of the evaluation, a disturbance of training.

If the blind agent does as well as the seeing one, the game does not test coordination; see docs/validity.md.
"""

from __future__ import annotations

import numpy as np

from housemates.homes import fetch
from housemates.sim.cameras import DOORS, Cameras

ABSENT = (8.0, np.pi)
"""Distance (metres) and heading of the partner that the blind sense: always far off, behind their back."""
FIRST_PARTNER = 16
"""Where `state` begins to tell of partners."""
BLOCK = 14
"""Bits of one robot in `predicates`."""


def blindfold(name: str, values: np.ndarray, robots: int) -> None:
    """Take the partners out of the vectors `name` [n, K] of robots, in place; what lies and stands in the home stays."""
    if name == "state":
        values[:, FIRST_PARTNER::2], values[:, FIRST_PARTNER + 1 :: 2] = ABSENT
    elif name == "predicates":
        values[:, BLOCK : BLOCK * robots] = 0
        values[:, BLOCK * robots + 1 : (BLOCK + 1) * robots] = 0


def sensed_alone(name: str, values: np.ndarray, robots: int) -> np.ndarray:
    """Vectors `name` [n, K] of robots alone in their homes, as policies for `robots` expect them: the others are absent."""
    n, others = len(values), robots - 1
    if name == "state":
        return np.concatenate([values, np.tile(np.array(ABSENT, values.dtype), (n, others))], axis=1)
    if name == "predicates":
        own, holding, rest = np.split(values, [BLOCK, BLOCK + 1], axis=1)
        blocks, bits = np.zeros((n, BLOCK * others), values.dtype), np.zeros((n, others), values.dtype)
        return np.concatenate([own, blocks, holding, bits, rest], axis=1)
    return values


def draw_without_partners(cameras: Cameras, name: str, records: np.ndarray, which: np.ndarray, out: np.ndarray) -> None:
    """As `Cameras.heads`, but a robot of which [E, R] sees neither the other robots nor what they hold.

    Robots of one home that are drawn for together would hide each other: one after the other is drawn for.
    """
    robots, template = cameras.robots, cameras.placed.template
    links = len(fetch.LINKS)
    for robot in range(robots):
        mine = np.flatnonzero(which[:, robot])
        if not len(mine):
            continue
        shown = np.zeros(len(which), np.bool_)
        shown[mine] = True
        cameras.update(records, shown)
        kept = template[mine]
        for other in range(robots):
            if other == robot:
                continue
            template[mine, DOORS + other * links : DOORS + (other + 1) * links] = -1
            held = records["held"][mine, other]
            carrying = mine[held >= 0]
            template[carrying, DOORS + robots * links + held[held >= 0]] = -1
        camera = fetch.base_to_world(records["pose"][mine, robot]) @ cameras.body.camera
        cameras.draw(name, mine, camera, out, mine * robots + robot)
        template[mine] = kept
