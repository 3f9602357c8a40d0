"""Observations as a table: shape, type, bounds and kernel of each sensor, and how partners are taken out of what it tells.

All readers use `SENSORS`: the batch, spaces, policies, controls, datasets, the command line. A user adds one with
`register_sensor`. Values are written into buffers that the caller owns; pictures are drawn by `cameras`.

The `state` vector is the paper's (appendix C.3): the arm joints, is_holding, then (distance, heading) of both objects' start
places, both goals and every partner. Headings are positive to the right, as Habitat's sensors have them (spec section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from housemates.config import nearest
from housemates.plugins import Table
from housemates.robots import DEFAULT
from housemates.robots.robot import base_to_world
from housemates.sim.cameras import DOORS, PICTURES, Cameras
from housemates.sim.rules import WINDOW, Numbers
from housemates.sim.sensor_kernels import (
    HALF_HOME,
    KINDS,
    LAGS,
    PLACE_NUMBERS,
    RAYS,
    predicates_size,
    privileged_size,
    state_size,
    track_size,
    write_egomotion,
    write_gps_compass,
    write_laser,
    write_laser_robots,
    write_predicates,
    write_privileged,
    write_receptacles,
    write_state,
    write_track,
    write_window,
)
from housemates.sim.world import World

ABSENT = (8.0, np.pi)
"""Distance (metres) and heading of the partner that the blind sense: always far off, behind their back."""
BLOCK = 14
"""Bits of one robot in `predicates`."""


def blindfold(name: str, values: np.ndarray, robots: int) -> None:
    """Take the partners out of the values `name` [n, ...] of robots, in place; what lies and stands in the home stays."""
    hide = SENSORS.find(name).hides_partner
    if hide is not None:
        hide(values, robots)


def sensed_alone(name: str, values: np.ndarray, robots: int) -> np.ndarray:
    """Values `name` [n, ...] of robots alone in their homes, as policies for `robots` expect them: the others are absent."""
    sensor = SENSORS.find(name)
    if sensor.alone is not None:
        return sensor.alone(values, robots)
    if sensor.size(1) != sensor.size(robots):
        raise ValueError(f"the sensor '{name}' does not say what a robot alone senses - give it `alone`")
    return values


def draw_without_partners(cameras: Cameras, name: str, records: np.ndarray, which: np.ndarray, out: np.ndarray) -> None:
    """As `Cameras.heads`, but a robot of which [E, R] sees neither the other robots nor what they hold.

    Robots of one home that are drawn for together would hide each other: one after the other is drawn for.
    """
    robots, template = cameras.robots, cameras.placed.template
    links = len(cameras.body.parent)
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
        camera = base_to_world(records["pose"][mine, robot]) @ cameras.body.camera
        cameras.draw(name, mine, camera, out, mine * robots + robot)
        template[mine] = kept


Kernel = Callable[[World, np.ndarray, Numbers, np.ndarray, np.ndarray], None]
"""kernel(world, state, rules, which, out) writes the rows of the robots in the mask which [E, R] into out [E, R, ...]; state is
[E] STATE records. Plain Python, or compiled with numba and without the GIL."""
FARTHEST = 100.0
"""No home is wider than this, metres: the bound of distances and depths."""


@dataclass(frozen=True)
class Sensor:
    """One observation of a robot."""

    name: str
    """What users call it: letters, digits and underscores."""
    shape: tuple[int, ...] | Callable[[int], tuple[int, ...]]
    """Of one robot's observation, or a function of how many robots there are; nothing for pictures."""
    dtype: type
    """Number type of the values."""
    bounds: tuple[Any, Any] | Callable[[int], tuple[Any, Any]]
    """Lowest and highest value (numbers or arrays of that shape), or a function of how many robots there are."""
    kernel: Kernel | None
    """Writes it; None for pictures."""
    meaning: str
    """One sentence with units, for documentation and datasets."""
    hides_partner: Callable[[np.ndarray, int], None] | None = None
    """Takes partners out of values [n, ...] of robots in homes with so many, in place; None: it tells nothing of partners."""
    alone: Callable[[np.ndarray, int], np.ndarray] | None = None
    """Gives values [n, ...] of lone robots the shape for so many robots; None: the shape is the same for any number."""
    channels: int = 0
    """Of a picture, whose side is chosen by whoever asks; 0 for what is no picture."""
    types: tuple[str, ...] = ()
    """Number types in which policies take it; none: its own."""
    environment_dtype: type | None = None
    """Number type in environments, if it is another one: there depth is metres."""
    training_only: bool = False
    """Whether only critics may see it, in training."""
    arm: bool = False
    """Whether the vector begins with the arm joints, radians; shape and bounds then count what follows them."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"a sensor called '{self.name}' - use letters, digits and underscores")
        if (self.kernel is None) != (self.channels > 0):
            raise ValueError(f"the sensor '{self.name}' has no kernel that writes it - give one")

    def size(self, robots: int, joints: int = DEFAULT.joints) -> tuple[int, ...]:
        """Shape of one robot's observation where there are so many robots with so many arm joints; () for pictures."""
        shape = tuple(self.shape if isinstance(self.shape, tuple) else self.shape(robots))
        return (joints + shape[0],) if self.arm else shape

    def limits(self, robots: int, joints: int = DEFAULT.joints) -> tuple[Any, Any]:
        """Lowest and highest value where there are so many robots with so many arm joints."""
        bounds = self.bounds if isinstance(self.bounds, tuple) else self.bounds(robots)
        if not self.arm:
            return bounds
        low, high = (np.concatenate([np.full(joints, end), bound]) for end, bound in zip((-np.pi, np.pi), bounds, strict=True))
        return low.astype(self.dtype), high.astype(self.dtype)

    @property
    def vector(self) -> bool:
        """Whether policies can take it as a vector."""
        return not self.channels and not self.training_only and len(self.size(2)) == 1


def _state_bounds(robots: int) -> tuple[np.ndarray, np.ndarray]:
    places = (state_size(robots) - 1) // 2
    low, high = [0.0] + [0.0, -np.pi] * places, [1.0] + [FARTHEST, np.pi] * places
    return np.array(low, np.float32), np.array(high, np.float32)


def _hide_in_state(values: np.ndarray, robots: int) -> None:
    first = values.shape[1] - 2 * (robots - 1)
    values[:, first::2], values[:, first + 1 :: 2] = ABSENT


def _state_alone(values: np.ndarray, robots: int) -> np.ndarray:
    return np.concatenate([values, np.tile(np.array(ABSENT, values.dtype), (len(values), robots - 1))], axis=1)


def _hide_in_predicates(values: np.ndarray, robots: int) -> None:
    values[:, BLOCK : BLOCK * robots] = 0
    values[:, BLOCK * robots + 1 : (BLOCK + 1) * robots] = 0


def _predicates_alone(values: np.ndarray, robots: int) -> np.ndarray:
    n, others = len(values), robots - 1
    own, holding, rest = np.split(values, [BLOCK, BLOCK + 1], axis=1)
    blocks, bits = np.zeros((n, BLOCK * others), values.dtype), np.zeros((n, others), values.dtype)
    return np.concatenate([own, blocks, holding, bits, rest], axis=1)


def _hide_in_track(values: np.ndarray, robots: int) -> None:
    values[:, 1::2], values[:, 2::2] = ABSENT[0] * np.cos(ABSENT[1]) / HALF_HOME, 0.0


def _track_alone(values: np.ndarray, robots: int) -> np.ndarray:
    wider = np.concatenate([values, np.zeros((len(values), track_size(robots) - track_size(1)), values.dtype)], axis=1)
    _hide_in_track(wider, robots)
    return wider


def _hide_in_laser(values: np.ndarray, robots: int) -> None:
    values[:] = 1.0


def _privileged(world: World, state: np.ndarray, rules: Numbers, which: np.ndarray, out: np.ndarray) -> None:
    bits = np.zeros((*which.shape, predicates_size(which.shape[1])), np.uint8)
    write_predicates(world, state, which, bits)
    write_privileged(state, rules.horizon, which, bits, out)


def _window(world: World, state: np.ndarray, rules: Numbers, which: np.ndarray, out: np.ndarray) -> None:
    write_window(state["window"][:, : which.shape[1]], state["clock"], which, out)


def _picture(name: str, bounds: tuple[float, float], meaning: str, types: tuple[str, ...] = (), **more: Any) -> Sensor:
    channels, dtype = PICTURES[name]
    return Sensor(name, (), dtype, bounds, None, meaning, channels=channels, types=types, **more)


SENSORS: Table[Sensor] = Table(
    "observation",
    "housemates.sensors",
    Sensor,
    (
        Sensor(
            "state",
            lambda robots: (state_size(robots),),
            np.float32,
            _state_bounds,
            lambda world, state, rules, which, out: write_state(world, state, which, out),
            "arm joints (radians), is_holding, then distance (metres) and heading (radians, positive to the right) of start "
            "0, start 1, goal 0, goal 1 and every partner, nearest first",
            _hide_in_state,
            _state_alone,
            arm=True,
        ),
        Sensor(
            "predicates",
            lambda robots: (predicates_size(robots),),
            np.uint8,
            (0, 1),
            lambda world, state, rules, which, out: write_predicates(world, state, which, out),
            "ground-truth bits: robot_at and is_holding (own robot first), object_at, is_open",
            _hide_in_predicates,
            _predicates_alone,
            types=("uint8", "bool", "float32"),
        ),
        Sensor(
            "gps_compass",
            (3,),
            np.float32,
            (np.array([-FARTHEST, -FARTHEST, -np.pi], np.float32), np.array([FARTHEST, FARTHEST, np.pi], np.float32)),
            lambda world, state, rules, which, out: write_gps_compass(state, which, out),
            "metres ahead, metres to the right, radians turned right since the start of the episode",
        ),
        Sensor(
            "laser",
            (RAYS,),
            np.float32,
            (0.0, 1.0),
            lambda world, state, rules, which, out: write_laser(world, state, which, out),
            "free way of the base in 16 directions (the first ahead, then to the right), until walls or furniture, in units of "
            "2.5 metres, which is the most it tells",
        ),
        Sensor(
            "laser_robots",
            (RAYS,),
            np.float32,
            (0.0, 1.0),
            lambda world, state, rules, which, out: write_laser_robots(state, which, out),
            "way of the base in the same 16 directions until it would touch another robot, in units of 2.5 metres, at most 1",
            _hide_in_laser,
        ),
        Sensor(
            "track",
            lambda robots: (track_size(robots),),
            np.float32,
            (-FARTHEST / HALF_HOME, FARTHEST / HALF_HOME),
            lambda world, state, rules, which, out: write_track(state, which, out),
            "steps since the robot's last decision (in units of 40, at most 2), then where every partner was 1, 2, 4, 8, 16 "
            "and 32 steps ago: ahead and to the right of where the robot is now, in units of 5 metres; partners nearest first",
            _hide_in_track,
            _track_alone,
        ),
        Sensor(
            "egomotion",
            (1 + 2 * len(LAGS),),
            np.float32,
            (-FARTHEST / HALF_HOME, FARTHEST / HALF_HOME),
            lambda world, state, rules, which, out: write_egomotion(state, which, out),
            "steps since the last decision (in units of 40, at most 2), then where the robot itself was 1, 2, 4, 8, 16 and 32 "
            "steps ago, as in track",
        ),
        Sensor(
            "receptacles",
            (PLACE_NUMBERS * KINDS,),
            np.float32,
            (-1.0, FARTHEST / HALF_HOME),
            lambda world, state, rules, which, out: write_receptacles(world, state, which, out),
            "distance (in units of 5 metres), cosine and sine of the heading (positive to the right) of the nearest receptacle "
            "of each of the ten kinds",
        ),
        Sensor(
            "window",
            (WINDOW, 3),
            np.float32,
            (-FARTHEST, FARTHEST),
            _window,
            "x, z (metres) and executed decision of the last 40 steps, oldest first",
        ),
        Sensor(
            "privileged",
            lambda robots: (privileged_size(robots),),
            np.float32,
            (-FARTHEST, FARTHEST),
            _privileged,
            "predicates, every robot's x, z (in units of 5 metres), sine and cosine of its yaw, "
            "share of time left, sub-goals done",
            training_only=True,
        ),
        _picture(
            "depth",
            (0.0, FARTHEST),
            "head camera, inverse depth: round(255 min(1, 0.5 / metres along its axis)), 0 where nothing is hit",
            ("uint8", "uint16", "float32"),
            environment_dtype=np.float32,
        ),
        _picture("rgb", (0, 255), "head camera, flat-shaded colours"),
        _picture(
            "segmentation",
            (-1, np.iinfo(np.int16).max),
            "label of each pixel: of the home, 1000 + robot, 2000 + target object, 3000 other objects, -1 nothing",
        ),
    ),
)
"""All observations that are known here, by name."""
SETS = {
    "state": ("state", "predicates"),
    "depth": ("depth", "state"),
    "blind": ("state",),
    "predicates": ("predicates",),
    "rgb": ("rgb", "state"),
}
"""What a word for several observations stands for, where a policy is trained."""


def register_sensor(sensor: Sensor) -> Sensor:
    """Make a sensor known by its name to everything in this process; returns it."""
    return SENSORS.register(sensor)


def sensor_names(text: str) -> tuple[str, ...]:
    """The observations that a word of SETS or names with plus signs between them (state+gps_compass) stand for."""
    if text in SETS:
        return SETS[text]
    names = tuple(text.split("+"))
    if len(names) == 1 and names[0] not in SENSORS.everything():
        raise ValueError(f"no observations '{text}' - {nearest(text, [*SETS, *SENSORS])} (several: state+gps_compass)")
    for name in names:
        SENSORS.find(name)
    return names


def resolve_sensors(text: str) -> str:
    """The word for observations that a user names; sensors that are given as package.module:NAME are registered."""
    names = [SENSORS.named(name).name if ":" in name else name for name in text.split("+")]
    return sensors_word(sensor_names("+".join(names)))


def sensors_word(names: Sequence[str]) -> str:
    """The inverse of `sensor_names`."""
    return next((word for word, known in SETS.items() if known == tuple(names)), "+".join(names))
