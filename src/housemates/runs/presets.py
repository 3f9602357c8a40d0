"""Presets: what to train, how long, with which network.

smoke: checks that training works, under a minute. state: no pictures, for developing methods. laptop: depth pictures of
64 x 64 pixels for two cores. paper: the paper's network, reward and hyper-parameters (appendix A, C.3, C.4) for GPUs;
rollouts of 128 environments x 128 steps, 100 M simulation steps a stage. How many decisions those are depends on how long
skills take: an untrained robot decides about every 13 steps, a trained one every 2 to 6.

How long a run takes (docs/lab_notes/learning.md): BDP with `state` took 7 minutes by the clock for both stages on one core of
a busy AMD machine. `make train`, BDP with `laptop` on two cores, took 20 minutes with its evaluation and report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from housemates.plugins import Table
from housemates.policies.config import PICTURES, PolicyConfig
from housemates.sim.rules import Reward, Rules
from housemates.sim.sensors import privileged_size, sensor_names
from housemates.tasks.tasks import get_task
from housemates.training.disturbances import Disturbances
from housemates.training.ppo import PAPER, PPO
from housemates.training.trainer import Training

RECIPE = PPO(learning_rate=4e-3, entropy=0.003, entropy_end=0.0, num_minibatches=8, gae_lambda=0.98, normalise_value=True)
"""What learns best per minute on two cores, of all that was tried (docs/lab_notes/learning.md). From pictures a quarter of this
learning rate is better."""
DISTURBED = Disturbances(share=0.5)
"""Stage 2 with undisturbed partners alone often gives an agent that stays idle (docs/concepts/methods/disturbances.md)."""
PAID = {"weight": 0.015, "late_weight": 0.1, "warmup_fraction": 0.05}
"""How BDP pays for being told apart in laptop networks with short budgets (docs/concepts/methods/bdp.md)."""
LATENT_LOGITS = {"latent_logit_std": 1.0}
"""Its latents' own preferences: with the paper's own numbers all of them stay alike."""
DIVERSITY: dict[str, dict[str, Any]] = {
    "bdp": PAID | LATENT_LOGITS,
    "bdp_rgb": PAID | LATENT_LOGITS,
    "bdp_state": PAID | LATENT_LOGITS,
    "bdp_no_discriminator": LATENT_LOGITS,
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
NETWORKS = {"laptop": LAPTOP_NETWORKS, "paper": PAPER_NETWORKS}


@dataclass(frozen=True)
class Preset:
    """Everything about a run but its method, its task and its seed."""

    name: str
    """What users call it."""
    purpose: str
    """One sentence: what it is for and how long it takes."""
    observations: str = "depth"
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
    """Where they come from for tasks with work in the kitchen (docs/lab_notes/learning.md), if not from there too."""
    training: Training = field(default_factory=Training)
    """How long and how widely."""
    methods: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings of methods, by the method's name: what is meant for one of them never reaches another."""

    def policy(self, observations: str, robots: int) -> PolicyConfig:
        """The network for some observations."""
        family = NETWORKS[self.networks]
        names = sensor_names(observations)
        base = family[observations if observations in family else "depth" if set(names) & PICTURES.keys() else "state"]()
        config = replace(base, observations=names, robots=robots, privileged=privileged_size(robots) if self.informed else 0)
        return config if self.hidden is None else replace(config, hidden=self.hidden, features=self.hidden)

    def homes(self, task: str) -> str:
        """The split that robots train in for a task."""
        return self.kitchens if self.kitchens and get_task(task).kitchen else self.split

    def settings(self, method: str, settings: Any) -> Any:
        """A method's own settings with those that the preset has for it."""
        return replace(settings, **self.methods.get(method, {}))


PRESETS: Table[Preset] = Table(
    "preset",
    "housemates.presets",
    Preset,
    (
        Preset(
            name="smoke",
            purpose="checks that training works on this machine, under a minute",
            observations="state",
            hidden=32,
            split="dev",
            training=Training(decisions=20_000, num_envs=32, rollout_decisions=16, save_every=5, ppo=PPO(learning_rate=1e-3)),
        ),
        Preset(
            name="state",
            purpose="develops methods without pictures; six million decisions a stage, 2 to 3 CPU minutes for GT Coord",
            observations="state",
            hidden=64,
            informed=True,
            training=Training(decisions=6_000_000, num_envs=256, rollout_decisions=32, ppo=RECIPE, disturbances=DISTURBED),
            methods=DIVERSITY,
            kitchens="varied",
        ),
        Preset(
            name="laptop",
            purpose="learns from depth pictures on two cores; six million decisions a stage, 20 minutes for BDP in all",
            observations="depth",
            informed=True,
            training=Training(
                decisions=6_000_000,
                num_envs=256,
                rollout_decisions=32,
                ppo=replace(RECIPE, learning_rate=1e-3, auxiliary=0.1),
                disturbances=DISTURBED,
            ),
            methods=DIVERSITY,
            kitchens="varied",
        ),
        Preset(
            name="paper",
            purpose="repeats the paper's training on GPUs; 100 million simulation steps a stage",
            observations="depth",
            networks="paper",
            training=Training(
                decisions=0,
                steps=100_000_000,
                num_envs=128,
                rollout_decisions=0,
                rollout_steps=128,
                ppo=PAPER,
                rules=Rules(reward=Reward(collision="none")),
            ),
        ),
    ),
)
"""All presets by name: those of the package, then those that users have added."""


def register_preset(preset: Preset) -> Preset:
    """Make a preset of your own known by its name to everything in this process; returns it."""
    return PRESETS.register(preset)
