"""housemates: train and test robots that must work with partners they have never met, in furnished homes.

The public names are found on first use, so that `import housemates` is quick and loads neither torch nor a mesh reader. The
import registers the Gymnasium ids (`gymnasium.make("housemates/TidyHouse-v0")`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from housemates.agents.loaded import load_agent
    from housemates.datasets.dataset import load_dataset
    from housemates.envs.parallel import make
    from housemates.envs.record import record
    from housemates.envs.vector import make_vec
    from housemates.evaluation.evaluate import evaluate
    from housemates.homes.generate import generate_home
    from housemates.homes.replicacad.scene import load_replicacad
    from housemates.homes.sources import load_split, register_homes, save_homes
    from housemates.methods import MethodSpec, register_method
    from housemates.policies.policy import Policy
    from housemates.recordings.recording import replay
    from housemates.renderer.pictures import render
    from housemates.reports.report import report
    from housemates.robots import register_robot
    from housemates.robots.robot import Robot
    from housemates.runs.presets import Preset, register_preset
    from housemates.runs.train import train
    from housemates.sim.rules import Reward, Rules
    from housemates.sim.sensors import Sensor, register_sensor
    from housemates.tasks.actions import ACTIONS
    from housemates.tasks.episodes import load_episodes
    from housemates.tasks.task import Target, Task
    from housemates.tasks.tasks import register_task
    from housemates.training.algorithm import Algorithm
    from housemates.training.algorithms import register_algorithm
    from housemates.training.method import Members
    from housemates.training.rollout import Slots

__version__ = "0.2.0"

__all__ = [
    "ACTIONS",
    "Algorithm",
    "Members",
    "MethodSpec",
    "Policy",
    "Preset",
    "Reward",
    "Robot",
    "Rules",
    "Sensor",
    "Slots",
    "Target",
    "Task",
    "__version__",
    "evaluate",
    "generate_home",
    "load_agent",
    "load_dataset",
    "load_episodes",
    "load_replicacad",
    "load_split",
    "make",
    "make_vec",
    "record",
    "register_algorithm",
    "register_homes",
    "register_method",
    "register_preset",
    "register_robot",
    "register_sensor",
    "register_task",
    "render",
    "replay",
    "report",
    "save_homes",
    "train",
]

_WHERE = {
    "make": "housemates.envs.parallel",
    "make_vec": "housemates.envs.vector",
    "train": "housemates.runs.train",
    "evaluate": "housemates.evaluation.evaluate",
    "report": "housemates.reports.report",
    "load_agent": "housemates.agents.loaded",
    "load_dataset": "housemates.datasets.dataset",
    "register_method": "housemates.methods",
    "MethodSpec": "housemates.methods",
    "Members": "housemates.training.method",
    "Slots": "housemates.training.rollout",
    "Policy": "housemates.policies.policy",
    "ACTIONS": "housemates.tasks.actions",
    "load_split": "housemates.homes.sources",
    "register_homes": "housemates.homes.sources",
    "save_homes": "housemates.homes.sources",
    "load_episodes": "housemates.tasks.episodes",
    "generate_home": "housemates.homes.generate",
    "load_replicacad": "housemates.homes.replicacad.scene",
    "render": "housemates.renderer.pictures",
    "Task": "housemates.tasks.task",
    "Target": "housemates.tasks.task",
    "register_task": "housemates.tasks.tasks",
    "Sensor": "housemates.sim.sensors",
    "register_sensor": "housemates.sim.sensors",
    "Rules": "housemates.sim.rules",
    "Reward": "housemates.sim.rules",
    "Algorithm": "housemates.training.algorithm",
    "register_algorithm": "housemates.training.algorithms",
    "Preset": "housemates.runs.presets",
    "register_preset": "housemates.runs.presets",
    "Robot": "housemates.robots.robot",
    "register_robot": "housemates.robots",
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
