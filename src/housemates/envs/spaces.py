"""Gymnasium spaces of what robots see and do; docs/observations.md shows them as one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium import spaces

from housemates.sim.control import NUMBERS
from housemates.sim.observe import predicates_size, state_size
from housemates.sim.rules import WINDOW
from housemates.tasks.goals import ACTIONS

FARTHEST = 100.0
"""No home is wider than this, metres: the bound of distances and depths."""
PICTURES = ("depth", "rgb", "segmentation")
OBSERVATIONS = (*PICTURES, "state", "predicates", "gps_compass", "window")
"""What can be asked for; `action_mask` comes with the skills by itself."""
CONTROLS = ("skills", "low_level")
SMALLEST, LARGEST = 8, 1024
"""Sides of the smallest and largest picture, pixels."""


def check_names(observations: Sequence[str]) -> tuple[str, ...]:
    """The names of observations, if all are known and none comes twice."""
    names = (observations,) if isinstance(observations, str) else tuple(observations)
    for name in names:
        if name not in OBSERVATIONS:
            raise ValueError(f"no observation '{name}' - choose among: {', '.join(OBSERVATIONS)}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"observations {list(names)} - name one or more, each once, among: {', '.join(OBSERVATIONS)}")
    return names


def check_control(control: str) -> str:
    """The name of a control, if it is known."""
    if control not in CONTROLS:
        raise ValueError(f"no control '{control}' - choose one of: {', '.join(CONTROLS)}")
    return control


def check_size(size: int) -> int:
    """The side of pictures, if it can be drawn."""
    if not SMALLEST <= size <= LARGEST:
        raise ValueError(f"pictures of {size} pixels - choose a size from {SMALLEST} to {LARGEST}")
    return int(size)


def observation_space(names: Sequence[str], robots: int, size: int, control: str = "skills") -> spaces.Dict:
    """The space of one robot's observations; with skills it holds an `action_mask` as well."""
    found: dict[str, spaces.Space] = {name: _space(name, robots, size) for name in names}
    if control == "skills":
        found["action_mask"] = spaces.Box(0, 1, (len(ACTIONS),), np.int8)
    return spaces.Dict(found)


def action_space(control: str) -> spaces.Space:
    """One of 25 decisions, or ten numbers from -1 to 1."""
    return spaces.Discrete(len(ACTIONS)) if control == "skills" else spaces.Box(-1.0, 1.0, (NUMBERS,), np.float32)


def _space(name: str, robots: int, size: int) -> spaces.Space:
    if name == "depth":
        return spaces.Box(0.0, FARTHEST, (size, size, 1), np.float32)
    if name == "rgb":
        return spaces.Box(0, 255, (size, size, 3), np.uint8)
    if name == "segmentation":
        return spaces.Box(-1, np.iinfo(np.int16).max, (size, size, 1), np.int16)
    if name == "state":
        polar = (state_size(robots) - 8) // 2
        low = [-np.pi] * 7 + [0.0] + [0.0, -np.pi] * polar
        high = [np.pi] * 7 + [1.0] + [FARTHEST, np.pi] * polar
        return spaces.Box(np.array(low, np.float32), np.array(high, np.float32))
    if name == "predicates":
        return spaces.Box(0, 1, (predicates_size(robots),), np.uint8)
    if name == "gps_compass":
        bound = np.array([FARTHEST, FARTHEST, np.pi], np.float32)
        return spaces.Box(-bound, bound)
    return spaces.Box(-FARTHEST, FARTHEST, (WINDOW, 3), np.float32)
