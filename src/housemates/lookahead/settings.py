"""What the look-ahead may know of partners, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

Variant = Literal["guess", "velocity", "oracle_destination", "oracle_action", "mind"]
VARIANTS: tuple[str, ...] = get_args(Variant)
"""guess: partners go on to a destination that fits their last steps. velocity: they keep their velocity. The oracles know what
no robot can: oracle_destination the true destination of a partner's navigation, oracle_action also its heading and what it has
just decided. mind: the agent's own theory of mind (`lookahead.mind`) says where they go."""
ORACLES = tuple(name for name in VARIANTS if name.startswith("oracle"))
GUESS, VELOCITY, ORACLE_DESTINATION, ORACLE_ACTION, MIND = range(len(VARIANTS))
VERSION = 2
"""Raised when the look-ahead decides otherwise with the same settings or gets others; rows of an evaluation have it."""
SUFFIX = "+lookahead"
"""Behind the name of an agent: RUN/agent+lookahead, or with a variant: RUN/agent+lookahead-velocity."""


@dataclass(frozen=True)
class LookAhead:
    """How an agent looks ahead."""

    variant: Variant = "guess"
    """One of VARIANTS."""
    horizon: int = 40
    """Simulation steps that are looked ahead."""
    near: float = 5.0
    """Metres: decisions are checked when a partner is nearer."""
    risk: float = 0.15
    """Probability of a collision from which on a decision counts as dangerous."""
    margin: float = 0.05
    """Metres beyond touching that count as a collision: the forward model is not exact."""
    clearance: float = 1.0
    """Metres that are kept free around a partner where it costs nothing."""
    react: int = 20
    """Steps before a contact at which the robot must decide anew at the latest: what comes later is left to that decision."""
    haste: float = 2.0
    """Nats: a robot that would wait goes to the work that its policy likes best, if that is safe and the policy likes it less
    than its favourite decision by fewer than these; 0: never."""
    patience: float = 0.2
    """Nats that are added to `haste` for each step for which the robot has not moved."""
    detour: float = 6.0
    """Nats: the same for a robot that would drive to furniture which has nothing to do with the task; 0: never."""
    min_p: float = 0.2
    """A decision less likely than this share of the policy's likeliest one is replaced by that one; 0: never."""
    hold: int = 4
    """Decisions for which a manoeuvre is kept at least, unless it becomes dangerous itself."""

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise ValueError(f"no look-ahead '{self.variant}' - choose one of: {', '.join(VARIANTS)}")
        if not 1 <= self.horizon <= 200:
            raise ValueError(f"a look-ahead of {self.horizon} steps - choose 1 to 200")
        if not 0 < self.risk < 1:
            raise ValueError(f"a risk of {self.risk} - give a probability above 0 and below 1")
        for name in ("near", "margin", "clearance"):
            if not 0 <= getattr(self, name) <= 100:
                raise ValueError(f"{name} = {getattr(self, name)} - give metres from 0 to 100")
        if self.react < 0:
            raise ValueError(f"react = {self.react} - give a number of steps, 0 to check nothing")
        for name in ("haste", "patience", "detour"):
            if not 0 <= getattr(self, name) <= 100:
                raise ValueError(f"{name} = {getattr(self, name)} - give nats from 0 to 100")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p = {self.min_p} - give a share from 0 to 1")
        if self.hold < 0:
            raise ValueError(f"hold = {self.hold} - give a number of decisions, 0 for none")

    @property
    def title(self) -> str:
        """What tables call it."""
        return "look-ahead" if self.variant == "guess" else f"look-ahead ({self.variant.replace('_', ' ')})"


def evasions_only(ahead: LookAhead) -> LookAhead:
    """A look-ahead that replaces nothing but what would end in a collision, for decisions of which no logits are known."""
    return replace(ahead, haste=0.0, detour=0.0, min_p=0.0)


class Settings(NamedTuple):
    """`LookAhead` as the kernels read it."""

    variant: int
    horizon: int
    near: float
    risk: float
    margin: float
    clearance: float
    react: int
    haste: float
    patience: float
    detour: float
    min_p: float
    hold: int


def settings(ahead: LookAhead) -> Settings:
    """A look-ahead in the form the kernels read."""
    numbers = (getattr(ahead, name) for name in Settings._fields[1:])
    return Settings(VARIANTS.index(ahead.variant), *numbers)


def split_name(text: str) -> tuple[str, LookAhead | None]:
    """The name of an agent without the look-ahead that it ends with, and that look-ahead; None if there is none."""
    name, found, variant = text.rpartition(SUFFIX)
    if not found or (variant and not variant.startswith("-")):
        return text, None
    word = variant.removeprefix("-")
    if word not in ("", *VARIANTS):
        raise ValueError(f"no look-ahead '{word}' - choose one of: {', '.join(VARIANTS)}, as in {name}{SUFFIX}-velocity")
    return name, LookAhead(word or "guess")  # ty: ignore[invalid-argument-type]


def titled(name: str) -> tuple[str, LookAhead | None]:
    """The name of an agent as `agents.agent.looking` makes it, without its look-ahead, and that look-ahead; None for none."""
    known = {f" + {LookAhead(variant).title}": variant for variant in get_args(Variant)}
    for ending, variant in known.items():
        if name.endswith(ending):
            return name.removesuffix(ending), LookAhead(variant)
    return name, None


def as_look_ahead(look_ahead: bool | str) -> LookAhead | None:
    """The look-ahead that is meant: the usual one, one of VARIANTS, or none."""
    if not look_ahead:
        return None
    return LookAhead() if look_ahead is True else LookAhead(look_ahead)  # ty: ignore[invalid-argument-type]
