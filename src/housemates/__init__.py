"""housemates: train and test robots that must work with partners they have never met, in furnished homes.

The public names are found on first use, so that `import housemates` is quick and loads neither torch nor a mesh reader. The
import registers the Gymnasium ids (`gymnasium.make("housemates/TidyHouse-v0")`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from housemates.envs.parallel import make
    from housemates.envs.record import record
    from housemates.envs.vector import make_vec
    from housemates.homes.generate import generate_home
    from housemates.homes.replicacad.scene import load_replicacad
    from housemates.homes.splits import load_split
    from housemates.recordings.recording import replay
    from housemates.renderer.pictures import render
    from housemates.sim.rules import Reward, Rules
    from housemates.tasks.episodes import load_episodes
    from housemates.tasks.task import Task

__version__ = "0.1.0"

__all__ = [
    "Reward",
    "Rules",
    "Task",
    "__version__",
    "generate_home",
    "load_episodes",
    "load_replicacad",
    "load_split",
    "make",
    "make_vec",
    "record",
    "render",
    "replay",
]

_WHERE = {
    "make": "housemates.envs.parallel",
    "make_vec": "housemates.envs.vector",
    "load_split": "housemates.homes.splits",
    "load_episodes": "housemates.tasks.episodes",
    "generate_home": "housemates.homes.generate",
    "load_replicacad": "housemates.homes.replicacad.scene",
    "render": "housemates.renderer.pictures",
    "Task": "housemates.tasks.task",
    "Rules": "housemates.sim.rules",
    "Reward": "housemates.sim.rules",
    "record": "housemates.envs.record",
    "replay": "housemates.recordings.recording",
}
"""Where each public name is defined, one line each."""


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'housemates' has no attribute '{name}'")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


# Not an import statement: modules that take the version from here do not thereby import environments.
import_module("housemates.envs.ids").register_ids()
