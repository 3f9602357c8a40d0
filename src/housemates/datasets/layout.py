"""What a dataset consists of (docs/datasets.md): the columns of its table, the files beside it, the version of all that."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Version of the layout; another one is refused."""
DESCRIPTION, TABLE = "dataset.json", "decisions.parquet"
COLUMNS = {
    "game": "int32",
    "episode": "int32",
    "home": "string",
    "agent": "string",
    "partner": "string",
    "robot": "int8",
    "role": "string",
    "mover": "string",
    "kind": "string",
    "latent": "int16",
    "number": "int32",
    "clock": "int32",
    "start": "bool",
    "decision": "int8",
    "feasible": "bool",
    "duration": "int32",
    "reward": "double",
    "reward_discounted": "double",
    "done": "bool",
    "log_prob": "float",
    "success": "bool",
    "outcome": "string",
    "steps": "int32",
}
"""Name and type of every column of the table, in order: one row per decision, game by game, robot by robot, in time."""
WORDS = tuple(name for name, kind in COLUMNS.items() if kind == "string")
ROLES = ("agent", "partner")
PROBABILITIES = "probabilities"
"""The array [N, 25] float32 that lies beside the observations."""
MEANINGS = {
    "state": "7 arm joints (radians), is_holding, then distance (metres) and heading (radians, positive to the right) of start "
    "0, start 1, goal 0, goal 1 and every partner, nearest first",
    "predicates": "ground-truth bits: robot_at and is_holding (own robot first), object_at, is_open",
    "gps_compass": "metres ahead, metres to the right, radians turned right since the start of the episode",
    "window": "x, z (metres) and executed decision of the last 40 steps, oldest first",
    "privileged": "predicates, every robot's x, z (in units of 5 metres), sine and cosine of its yaw, "
    "share of time left, sub-goals done",
    "depth": "head camera, inverse depth: round(255 min(1, 0.5 / metres along its axis)), 0 where nothing is hit",
    "rgb": "head camera, flat-shaded colours",
    "segmentation": "label of each pixel: of the home, 1000 + robot, 2000 + target object, 3000 other objects, -1 nothing",
}
"""What each observation means, for dataset.json."""


def array_file(name: str) -> str:
    """The file of an array."""
    return f"{name}.npy"


def schema() -> pa.Schema:
    """The columns as a pyarrow schema."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "bool": pa.bool_(), "double": pa.float64(), "float": pa.float32()}
    kinds |= {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32()}
    return pa.schema([pa.field(name, kinds[kind], nullable=False) for name, kind in COLUMNS.items()])
