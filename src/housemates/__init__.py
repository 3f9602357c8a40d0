"""housemates: train and test robots that must work with partners they have never met, in furnished homes.

The names below are found on first use, so that `import housemates` is quick and loads neither torch nor a mesh reader.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from housemates.envs.parallel import make
    from housemates.envs.vector import make_vec
    from housemates.homes.generate import generate_home
    from housemates.homes.replicacad.scene import load_replicacad
    from housemates.homes.sources import load_split, register_homes, save_homes
    from housemates.render.pictures import render_depth
    from housemates.sim.sensors import Sensor, register_sensor
    from housemates.tasks.episodes import load_episodes
    from housemates.tasks.task import Target, Task
    from housemates.tasks.tasks import register_task

__version__ = "0.1.0"

__all__ = [
    "Sensor",
    "Target",
    "Task",
    "__version__",
    "generate_home",
    "load_episodes",
    "load_replicacad",
    "load_split",
    "make",
    "make_vec",
    "register_homes",
    "register_sensor",
    "register_task",
    "render_depth",
    "save_homes",
]

_WHERE = {
    "generate_home": "housemates.homes.generate",
    "load_split": "housemates.homes.sources",
    "register_homes": "housemates.homes.sources",
    "save_homes": "housemates.homes.sources",
    "Task": "housemates.tasks.task",
    "Target": "housemates.tasks.task",
    "register_task": "housemates.tasks.tasks",
    "Sensor": "housemates.sim.sensors",
    "register_sensor": "housemates.sim.sensors",
    "load_replicacad": "housemates.homes.replicacad.scene",
    "load_episodes": "housemates.tasks.episodes",
    "render_depth": "housemates.render.pictures",
    "make": "housemates.envs.parallel",
    "make_vec": "housemates.envs.vector",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'housemates' has no attribute '{name}'")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
