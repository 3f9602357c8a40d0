"""Training methods, one file each: who plays with whom, and what else they are paid for.

METHODS is the one place that lists them; `run` trains any of them into a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from housemates.config import change
from housemates.methods.bdp import BDP, BDPSeparate, BDPSettings
from housemates.methods.discriminator import Diversity
from housemates.methods.self_play import FCP, PBT, GTCoord, PopulationSettings, SelfPlay, Solo
from housemates.methods.trajedi import TrajeDi, TrajeDiSettings
from housemates.policies.config import PolicyConfig
from housemates.training.method import Method


@dataclass(frozen=True)
class NoSettings:
    """A method without settings of its own."""


@dataclass(frozen=True)
class MethodSpec:
    """A method as the command line, the run folder and the reports know it."""

    label: str
    """The paper's name."""
    docs: str
    """One sentence."""
    make: Callable[[PolicyConfig, int, int, Any], Method] | None
    """Stage 1 from (config, robots, seed, settings); none if there is only stage 2."""
    settings: Any = field(default_factory=NoSettings)
    """Default settings: a frozen dataclass; --change method.NAME=VALUE changes them."""
    fixed: tuple[str, ...] = ()
    """Settings that make the method what it is: another value is another method."""
    two_stages: bool = True
    """Whether a coordination agent is trained with the population."""
    observations: str = ""
    """What it sees if the method says so, else empty."""
    robots: int = 0
    """The number of robots if the method says so, else 0."""
    one_partner: bool = False
    """Whether it answers one partner only, who may be a holdout: its agents are a measure for others, nobody's rival."""


METHODS = {
    "gt_coord": MethodSpec(
        "GT Coord",
        "as many policies as robots, always together: the oracle of partners that know each other",
        lambda config, robots, seed, settings: GTCoord(config, robots, seed),
        two_stages=False,
    ),
    "solo": MethodSpec(
        "Solo",
        "one robot alone",
        lambda config, robots, seed, settings: Solo(config, robots, seed),
        two_stages=False,
        robots=1,
    ),
    "sp": MethodSpec("SP", "self-play: each member plays only with itself", SelfPlay, PopulationSettings()),
    "pbt": MethodSpec("PBT", "members of one population play with random others", PBT, PopulationSettings()),
    "fcp": MethodSpec("FCP", "the start, middle and end of every self-play member", FCP, PopulationSettings()),
    "trajedi": MethodSpec("TrajeDi", "PBT that pays members for decisions only they would make", TrajeDi, TrajeDiSettings()),
    "pbt_state": MethodSpec(
        "PBT-State", "PBT on the ground-truth predicates (oracle)", PBT, PopulationSettings(), observations="predicates"
    ),
    "bdp": MethodSpec("BDP", "one policy with 8 latents, paid for behaviours that can be told apart", BDP, BDPSettings()),
    "bdp_literal": MethodSpec(
        "BDP (literal)",
        "BDP with the paper's own numbers in every preset: no taste, one weight throughout, a warm-up of a tenth",
        BDP,
        BDPSettings(),
        fixed=("latents", "weight", "late_weight", "quiet", "branches", "taste"),
    ),
    "bdp_no_discriminator": MethodSpec(
        "BDP-[Discrim]",
        "ablation: one policy with latents, paid for the task alone",
        BDP,
        BDPSettings(weight=0.0),
        fixed=("weight", "branches"),
    ),
    "bdp_no_latent_no_discriminator": MethodSpec(
        "BDP-[Discrim, Latent]",
        "ablation: 8 memories and heads behind a shared encoder, paid for the task alone",
        BDP,
        BDPSettings(weight=0.0, branches=True),
        fixed=("weight", "branches"),
    ),
    "bdp_shared_encoder": MethodSpec(
        "BDP-[Latent (Shared Enc)]",
        "ablation: 8 memories and heads behind a shared encoder, paid for being told apart",
        BDP,
        BDPSettings(branches=True),
        fixed=("branches",),
    ),
    "bdp_separate": MethodSpec(
        "BDP-[Latent (Sep Enc)]", "ablation: 8 separate policies, paid for being told apart", BDPSeparate, Diversity()
    ),
    "bdp_rgb": MethodSpec("BDP RGB", "BDP on colour pictures", BDP, BDPSettings(), observations="rgb"),
    "bdp_state": MethodSpec(
        "BDP-State", "BDP on the ground-truth predicates (oracle)", BDP, BDPSettings(), observations="predicates"
    ),
    "own": MethodSpec("Own", "only stage 2, with the partners that --population names", None),
    "best_response": MethodSpec(
        "Best response", "only stage 2, with one partner, who may be a holdout: the measure of BR-Prox", None, one_partner=True
    ),
}
"""All methods by name."""


def change_method(method: str, settings: Any, name: str, text: str) -> Any:
    """A method's settings with one changed, as `housemates train --change method.NAME=TEXT` says it."""
    changed = change(settings, name, text)
    if name in METHODS[method].fixed and changed != settings:
        raise ValueError(
            f"method.{name}={text} - '{method}' is what it is by {name} = {getattr(settings, name)}; train another method"
        )
    return changed
