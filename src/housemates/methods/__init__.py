"""Training methods, one file each: who plays with whom, and what else they are paid for.

METHODS lists those of the package. Users add theirs with `register_method`, as package.module:Class where a method is named, or
as an entry point of an installed package. A run's config names its method; a file alone never runs code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from housemates.config import change
from housemates.methods.bdp import BDP, BDPSeparate, BDPSettings
from housemates.methods.cec import CEC
from housemates.methods.discriminator import Diversity
from housemates.methods.e3t import E3T, E3TSettings
from housemates.methods.hidden_utility import HiddenUtility, HiddenUtilitySettings
from housemates.methods.self_play import FCP, PBT, GTCoord, PopulationSettings, SelfPlay, Solo
from housemates.methods.trajedi import TrajeDi, TrajeDiSettings
from housemates.methods.upd import UPD, UPDSettings
from housemates.plugins import Table
from housemates.policies.config import PolicyConfig
from housemates.training.method import Method


@dataclass(frozen=True)
class NoSettings:
    """A method without settings of its own."""


@dataclass(frozen=True)
class MethodSpec:
    """A method as the command line, the run folder and the reports know it."""

    name: str
    """What users call it; `register_method` gives it."""
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
    """Whether it answers one partner only, who may be a holdout: its agents are a measure for others, not entrants."""
    training: tuple[str, ...] = ()
    """Settings of the training in which it differs from the presets, as --change takes them; users may change them again."""
    agent: Callable[[PolicyConfig, int, int, Any], Method] | None = None
    """What trains an agent in one stage, without a population, from (config, robots, seed, settings): `make` is none then, and
    the run has only stage 2, without partners of other runs."""


UNDISTURBED = ("disturbances.share=0",)
"""Of methods that are trained with partners as they are, or whose partners differ by the method itself."""
ANSWERS = ("begin", "pairs", "disturber", "bonus", "after_update", "state", "load", "place", "population")
"""What a class must have to be a method (see `training.method.Method`)."""


class MethodTable(Table[MethodSpec]):
    """Methods by name. A user gives a `MethodSpec`, or a class that answers as `Members` does."""

    hint: ClassVar[str] = "--method package.module:Class"

    def fits(self, thing: Any) -> bool:
        """Whether it is a specification, or a class with all answers."""
        return isinstance(thing, MethodSpec) or (isinstance(thing, type) and not _lacking(thing))

    def read(self, thing: Any, name: str) -> MethodSpec:
        """The specification under that name; of a class, what it says of itself."""
        if not isinstance(thing, MethodSpec):
            thing = _spec_of(thing)
        name = name or thing.name
        if not name or any(letter.isspace() for letter in name):
            raise ValueError(f"a method cannot be called '{name}' - give it one word")
        return replace(thing, name=name)


def _lacking(method: type) -> list[str]:
    return [name for name in ANSWERS if not callable(getattr(method, name, None))]


def _place(method: Any) -> str:
    return f"{getattr(method, '__module__', '')}:{getattr(method, '__qualname__', method)}"


def _spec_of(method: Any) -> MethodSpec:
    """What a class says of itself; its name is where it is."""
    if not isinstance(method, type):
        raise ValueError(f"{method!r:.60} is no method - give a class, such as a child of housemates.Members")
    if _lacking(method):
        raise ValueError(
            f"{_place(method)} is no method, it has no '{_lacking(method)[0]}' - make it a child of housemates.Members"
        )
    settings = getattr(method, "default_settings", NoSettings())
    if isinstance(settings, type) or not dataclasses.is_dataclass(settings):
        raise ValueError(f"default_settings of {_place(method)} is {settings!r:.60} - give an object of a frozen dataclass")
    docs = next(iter((method.__doc__ or "").strip().splitlines()), "")
    label, stages = getattr(method, "label", method.__name__), bool(getattr(method, "two_stages", True))
    if getattr(method, "one_agent", False):
        return MethodSpec(_place(method), label, docs, None, settings, training=UNDISTURBED, agent=method)
    return MethodSpec(_place(method), label, docs, method, settings, two_stages=stages)


METHODS = MethodTable(
    "method",
    "housemates.methods",
    MethodSpec,
    (
        MethodSpec(
            "gt_coord",
            "GT Coord",
            "as many policies as robots, always together: the oracle of partners that know each other",
            lambda config, robots, seed, settings: GTCoord(config, robots, seed),
            two_stages=False,
        ),
        MethodSpec(
            "solo",
            "Solo",
            "one robot alone",
            lambda config, robots, seed, settings: Solo(config, robots, seed),
            two_stages=False,
            robots=1,
        ),
        MethodSpec("sp", "SP", "self-play: each member plays only with itself", SelfPlay, PopulationSettings()),
        MethodSpec("pbt", "PBT", "members of one population play with random others", PBT, PopulationSettings()),
        MethodSpec("fcp", "FCP", "the start, middle and end of every self-play member", FCP, PopulationSettings()),
        MethodSpec(
            "trajedi", "TrajeDi", "PBT that pays members for decisions only they would make", TrajeDi, TrajeDiSettings()
        ),
        MethodSpec(
            "pbt_state",
            "PBT-State",
            "PBT on the ground-truth predicates (oracle)",
            PBT,
            PopulationSettings(),
            observations="predicates",
        ),
        MethodSpec("bdp", "BDP", "one policy with 8 latents, paid for behaviours that can be told apart", BDP, BDPSettings()),
        MethodSpec(
            "bdp_literal",
            "BDP (literal)",
            "BDP with the paper's own numbers in every preset: no latent logits, one weight throughout, a warm-up of a tenth",
            BDP,
            BDPSettings(),
            fixed=("latents", "weight", "late_weight", "warmup_fraction", "branches", "latent_logit_std"),
        ),
        MethodSpec(
            "bdp_no_discriminator",
            "BDP-[Discrim]",
            "ablation: one policy with latents, paid for the task alone",
            BDP,
            BDPSettings(weight=0.0),
            fixed=("weight", "branches"),
        ),
        MethodSpec(
            "bdp_no_latent_no_discriminator",
            "BDP-[Discrim, Latent]",
            "ablation: 8 memories and heads behind a shared encoder, paid for the task alone",
            BDP,
            BDPSettings(weight=0.0, branches=True),
            fixed=("weight", "branches"),
        ),
        MethodSpec(
            "bdp_shared_encoder",
            "BDP-[Latent (Shared Enc)]",
            "ablation: 8 memories and heads behind a shared encoder, paid for being told apart",
            BDP,
            BDPSettings(branches=True),
            fixed=("branches",),
        ),
        MethodSpec(
            "bdp_separate",
            "BDP-[Latent (Sep Enc)]",
            "ablation: 8 separate policies, paid for being told apart",
            BDPSeparate,
            Diversity(),
        ),
        MethodSpec("bdp_rgb", "BDP RGB", "BDP on colour pictures", BDP, BDPSettings(), observations="rgb"),
        MethodSpec(
            "bdp_state",
            "BDP-State",
            "BDP on the ground-truth predicates (oracle)",
            BDP,
            BDPSettings(),
            observations="predicates",
        ),
        MethodSpec(
            "hidden_utility",
            "Hidden utility",
            "one policy with 8 latents, each charged for a part of the work that it dislikes",
            HiddenUtility,
            HiddenUtilitySettings(),
        ),
        MethodSpec(
            "cec",
            "CEC",
            "one stage: one agent plays with itself in many homes, both robots learn",
            None,
            training=UNDISTURBED,
            agent=lambda config, robots, seed, settings: CEC(config, robots, seed),
        ),
        MethodSpec(
            "e3t",
            "E3T",
            "one stage: the partner is the agent itself with random decisions in between, and the agent predicts what it does",
            None,
            E3TSettings(),
            training=(*UNDISTURBED, "partner_model.action=0.1"),
            agent=E3T,
        ),
        MethodSpec(
            "upd",
            "UPD",
            "one stage: the partner is a disturbed copy of the agent; those with whom it succeeds half of the time come again",
            None,
            UPDSettings(),
            training=UNDISTURBED,
            agent=UPD,
        ),
        MethodSpec("own", "Own", "only stage 2, with the partners that --population names", None),
        MethodSpec(
            "best_response",
            "Best response",
            "only stage 2, with one partner, who may be a holdout: the measure of BR-Prox",
            None,
            one_partner=True,
            training=UNDISTURBED,
        ),
    ),
)
"""All methods by name: those of the package, then those that users have added."""


def register_method(name: str, method: Any) -> MethodSpec:
    """Add a method of your own under a name, which train, reports and run folders then know.

    method: a class that is made from (config, robots, seed, settings), such as a child of `Members`, or a `MethodSpec` with
    more facts. Of a class the first line of its docstring, `label` (default: its name), `default_settings` (a frozen dataclass)
    `two_stages` (default True) and `one_agent` (default False) are read. A name that you have given before is replaced.
    """
    if not name:
        raise ValueError("a method without a name - give it one word")
    return METHODS.register(method, name)


def resolve_method(named: Any) -> str:
    """The name of the method that a user means: its name, package.module:Class, or the class itself in Python.

    A class that has no name yet is registered as module:Class.
    """
    return (METHODS.named(named) if isinstance(named, str) else METHODS.register(named)).name


def find_method(name: str) -> MethodSpec:
    """The method of that name: of the package, registered, named by a user in this process, or of an installed package."""
    return METHODS.find(name)


def change_method(method: str, settings: Any, name: str, text: str) -> Any:
    """A method's settings with one changed, as `housemates train --change method.NAME=TEXT` says it."""
    changed = change(settings, name, text)
    if name in find_method(method).fixed and changed != settings:
        raise ValueError(
            f"method.{name}={text} - '{method}' is what it is by {name} = {getattr(settings, name)}; train another method"
        )
    return changed
