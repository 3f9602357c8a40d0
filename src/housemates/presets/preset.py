"""What a preset consists of, and which network sees which observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from housemates.learning.disturbances import Disturbances
from housemates.learning.ppo import PPO
from housemates.learning.settings import nearest
from housemates.learning.trainer import Training
from housemates.policies.config import PolicyConfig
from housemates.sim.observe import privileged_size

Observations = Literal["state", "depth", "blind", "predicates", "rgb"]

RECIPE = PPO(learning_rate=1e-3, entropy_end=0.0, minibatches=8, decay=0.98, normalise_value=True)
"""What learns best per minute on two cores, of all that was tried (docs/learning.md)."""
DISTURBED = Disturbances(share=0.4)
"""Stage 2 with undisturbed partners alone often ends with an agent that stands aside (docs/methods/disturbances.md)."""
PAID = {"weight": 0.015, "late_weight": 0.1, "quiet": 0.05}
"""How BDP pays for being told apart in laptop networks with short budgets (docs/methods/bdp.md)."""
TASTE = {"taste": 1.0}
"""Its latents' own preferences: with the paper's own numbers all of them stay alike."""
DIVERSITY: dict[str, dict[str, Any]] = {
    "bdp": PAID | TASTE,
    "bdp_rgb": PAID | TASTE,
    "bdp_state": PAID | TASTE,
    "bdp_no_discriminator": TASTE,
    "bdp_shared_encoder": PAID,
    "bdp_separate": PAID,
}
"""Settings of the presets for small networks, by method. Who is not here trains with its own (`bdp_literal`, say)."""

LAPTOP_NETWORKS: dict[str, Callable[[], PolicyConfig]] = {
    "state": PolicyConfig.state,
    "depth": PolicyConfig.laptop,
    "blind": PolicyConfig.blind,
    "predicates": PolicyConfig.predicates,
    "rgb": lambda: PolicyConfig.laptop(rgb=True),
}
PAPER_NETWORKS: dict[str, Callable[[], PolicyConfig]] = {
    "state": lambda: PolicyConfig.paper(observations=("state", "predicates")),
    "depth": PolicyConfig.paper,
    "blind": lambda: PolicyConfig.paper(observations=("state",)),
    "predicates": PolicyConfig.paper_predicates,
    "rgb": lambda: PolicyConfig.paper(rgb=True),
}
KITCHEN_TASKS = ("set_table", "prepare_groceries")
"""Tasks with work in the kitchen: who has seen three kitchens only fails in a fourth (docs/learning.md)."""
NETWORKS = {"laptop": LAPTOP_NETWORKS, "paper": PAPER_NETWORKS}


@dataclass(frozen=True)
class Preset:
    """Everything about a run but its method, its task and its seed."""

    purpose: str
    """One sentence: what it is for and how long it takes."""
    observations: Observations = "depth"
    """What robots see if nothing else is asked for."""
    networks: Literal["laptop", "paper"] = "laptop"
    """Which family of networks sees it."""
    hidden: int | None = None
    """Units of the memory, none for the family's own."""
    informed: bool = False
    """Whether the critic sees the ground truth in training."""
    split: str = "train"
    """Where the homes come from."""
    kitchens: str | None = None
    """Where they come from for KITCHEN_TASKS, if not from there too."""
    training: Training = field(default_factory=Training)
    """How long and how widely."""
    methods: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings of methods, by the method's name: what is meant for one of them never reaches another."""

    def policy(self, observations: str, robots: int) -> PolicyConfig:
        """The network for some observations."""
        family = NETWORKS[self.networks]
        if observations not in family:
            raise ValueError(f"no observations '{observations}' - {nearest(observations, list(family))}")
        config = replace(family[observations](), robots=robots, privileged=privileged_size(robots) if self.informed else 0)
        return config if self.hidden is None else replace(config, hidden=self.hidden, features=self.hidden)

    def homes(self, task: str) -> str:
        """The split that robots train in for a task."""
        return self.kitchens if self.kitchens and task in KITCHEN_TASKS else self.split

    def settings(self, method: str, settings: Any) -> Any:
        """A method's own settings with those that the preset has for it."""
        return replace(settings, **self.methods.get(method, {}))
