"""Which network a policy is: what it sees, how it sees, what it remembers with. Plain values, no torch.

The named constructors are the networks the project trains; any of their fields can be changed by keyword.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from housemates.sim.sensors import SENSORS
from housemates.tasks.actions import ACTIONS

Network = Literal["paper", "patches", "vector"]
Recurrent = Literal["lstm"]
NETWORKS: tuple[str, ...] = get_args(Network)
MEMORIES: tuple[str, ...] = get_args(Recurrent)
PICTURES = {name: SENSORS[name].channels for name in ("depth", "rgb")}
"""Pictures that the encoders take, and their channels; of all else in SENSORS policies take the vectors."""
SIZES = (64, 128, 256)
"""Side lengths of pictures the encoders are built for, pixels."""
MOST = {"features": 8192, "hidden": 8192, "layers": 16, "latent": 1024, "privileged": 65_536, "robots": 16, "actions": 1024}
"""Largest numbers, far beyond any network that is trained here: a file that says more is refused before it takes memory."""
NUMBERS = 1_000_000_000
"""Weights in the memory and behind it, about; likewise."""


def seen_as(config: Any, name: str, usual: type) -> type:
    """The number type in which a policy is shown an observation, in training and everywhere else; usual: the simulator's own.

    The paper's network sees depth as float32 metres, all others as uint8 inverse depth, a quarter of the memory. Configs of
    policies that are not ours see what is usual.
    """
    return np.float32 if name == "depth" and getattr(config, "network", "") == "paper" else usual


def _types(name: str) -> tuple[str, ...]:
    """Number types an observation may have; depth: inverse depth, millimetres or metres (see `pictures`)."""
    sensor = SENSORS.find(name)
    return sensor.types or (np.dtype(sensor.dtype).name,)


@dataclass(frozen=True)
class PolicyConfig:
    """The shape of a policy; two policies with equal configs can exchange weights."""

    observations: tuple[str, ...] = ("depth", "state")
    """What the policy sees: depth, rgb, and vectors of SENSORS."""
    network: Network = "patches"
    """`paper` (ResNet18, raw vectors), `patches` (with engineered vectors), or `vector` (no pictures)."""
    picture: int = 64
    """Side length of pictures in pixels: 64, 128 or 256; without meaning when no picture is seen."""
    features: int = 256
    """Width of the layer between pictures (or, without pictures, vectors) and the memory."""
    memory: Recurrent = "lstm"
    """The recurrent network that remembers across decisions."""
    hidden: int = 256
    """Units in each layer of the memory."""
    layers: int = 1
    """Layers of the memory."""
    latent: int = 0
    """Number of behaviours a one-hot input chooses from; 0 for a policy without latent."""
    branches: bool = False
    """Whether the latent is no input but chooses one of as many memories, actors and critics behind the shared encoder."""
    latent_logit_std: float = 0.0
    """How strongly behaviours prefer different decisions before training: the standard deviation of what each
    latent adds to the logits, a table that learns like all weights; 0 for none, as in the paper."""
    privileged: int = 0
    """Numbers that only the critic sees in training, beside the memory; 0 for an ordinary critic."""
    robots: int = 2
    """Robots in a home, the own one included; decides how long the vectors are."""
    actions: int = len(ACTIONS)
    """Decisions to choose from."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "observations", tuple(self.observations))
        unknown = [name for name in self.observations if name not in PICTURES and not SENSORS.find(name).vector]
        if unknown or not self.observations or len(set(self.observations)) < len(self.observations):
            known = (*PICTURES, *(sensor.name for sensor in SENSORS.values() if sensor.vector))
            raise ValueError(f"observations {list(self.observations)} - name one or more of: {', '.join(known)}, each once")
        if self.network not in NETWORKS:
            raise ValueError(f"no network '{self.network}' - choose one of: {', '.join(NETWORKS)}")
        if self.memory not in MEMORIES:
            raise ValueError(f"no memory '{self.memory}' - choose one of: {', '.join(MEMORIES)}")
        if self.network == "patches" and not self.pictures:
            raise ValueError(f"network '{self.network}' needs a picture - add depth or rgb, or use network 'vector'")
        if self.network == "vector" and self.pictures:
            raise ValueError(f"network 'vector' cannot see {' and '.join(self.pictures)} - use 'patches' or 'paper'")
        if self.pictures and self.picture not in SIZES:
            raise ValueError(f"pictures of {self.picture} pixels - choose one of: {', '.join(map(str, SIZES))}")
        for name in ("features", "hidden", "layers", "robots"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        for name, most in MOST.items():
            if getattr(self, name) > most:
                raise ValueError(f"{name} is more than {most}, which no network here needs - choose a smaller number")
        weights = 4 * self.hidden * (self.features + (2 * self.layers - 1) * self.hidden) * max(self.latent * self.branches, 1)
        if weights > NUMBERS:
            raise ValueError(f"a memory of {weights} weights - choose fewer layers, or smaller features, hidden or latent")
        if self.latent < 0 or self.latent == 1:
            raise ValueError(f"latent = {self.latent} - give 0 for none, or at least 2 behaviours")
        if self.branches and not self.latent:
            raise ValueError("branches are chosen by a latent, and there is none - give latent = 8, or no branches")
        if not 0 <= self.latent_logit_std <= 1e6 or (self.latent_logit_std and (self.branches or not self.latent)):
            raise ValueError(
                f"latent_logit_std = {self.latent_logit_std} - it is 0, or positive for a policy whose latent is an input"
            )
        if self.actions < 2:
            raise ValueError(f"actions = {self.actions} - a policy chooses among at least 2")
        if self.privileged < 0:
            raise ValueError(f"privileged = {self.privileged} - give 0 for an ordinary critic, or how many numbers it sees")

    @property
    def pictures(self) -> tuple[str, ...]:
        """The observations that are pictures."""
        return tuple(name for name in self.observations if name in PICTURES)

    @property
    def vectors(self) -> tuple[str, ...]:
        """The observations that are vectors."""
        return tuple(name for name in self.observations if name not in PICTURES)

    @property
    def informed(self) -> bool:
        """Whether the critic sees more than the robot does."""
        return self.privileged > 0

    @property
    def memory_size(self) -> int:
        """Numbers one robot's memory holds: every layer's h, then every layer's c."""
        return 2 * self.layers * self.hidden

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one robot's observation."""
        return (self.picture, self.picture, PICTURES[name]) if name in PICTURES else SENSORS.find(name).size(self.robots)

    def observation_spec(self) -> dict[str, dict[str, list]]:
        """Shape and allowed number types of every observation, ready for JSON."""
        return {name: {"shape": list(self.shape(name)), "types": list(_types(name))} for name in self.observations}

    @classmethod
    def paper(cls, *, rgb: bool = False, **changes: Any) -> PolicyConfig:
        """The paper's policy (appendix C.3): ResNet18 on 256 x 256 pictures, raw state, two-layer LSTM of 512."""
        base = cls(("rgb" if rgb else "depth", "state"), "paper", picture=256, features=512, hidden=512, layers=2)
        return dataclasses.replace(base, **changes)

    @classmethod
    def paper_predicates(cls, **changes: Any) -> PolicyConfig:
        """The paper's PBT-State and BDP-State: the ground-truth bits go straight into the same LSTM (spec section 8)."""
        return dataclasses.replace(cls.paper(observations=("predicates",)), **changes)

    @classmethod
    def laptop(cls, *, rgb: bool = False, **changes: Any) -> PolicyConfig:
        """A small picture policy that trains on one core: patches of 64 x 64 pixels, LSTM of 128."""
        base = cls(("rgb" if rgb else "depth", "state"), "patches", features=128, hidden=128)
        return dataclasses.replace(base, **changes)

    @classmethod
    def blind(cls, **changes: Any) -> PolicyConfig:
        """The no-depth control: the laptop policy without its picture."""
        return dataclasses.replace(cls(("state",), "vector", features=128, hidden=128), **changes)

    @classmethod
    def state(cls, **changes: Any) -> PolicyConfig:
        """For development: distances, headings and the ground-truth bits, no pictures (spec section 14, 36)."""
        return dataclasses.replace(cls(("state", "predicates"), "vector", features=128, hidden=128), **changes)

    @classmethod
    def predicates(cls, **changes: Any) -> PolicyConfig:
        """The ground-truth bits alone (PBT-State, BDP-State) in a laptop-sized network."""
        return dataclasses.replace(cls(("predicates",), "vector", features=128, hidden=128), **changes)
