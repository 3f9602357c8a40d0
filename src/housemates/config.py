"""Frozen dataclasses as JSON and back; a key that is not read is an error that names the nearest one."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import types
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Config = TypeVar("Config")
RENAMED = {
    "homes": "num_envs",
    "rollout": "rollout_decisions",
    "decay": "gae_lambda",
    "max_norm": "max_grad_norm",
    "value_weight": "value_coef",
    "minibatches": "num_minibatches",
    "anneal": "anneal_lr",
    "taste": "latent_logit_std",
    "quiet": "warmup_fraction",
}
"""Earlier names of settings, which are refused with the present one."""
_HUGE = 10**300
"""Beyond what a float can hold, or near it."""


def to_json(config: Any) -> dict[str, Any]:
    """A dataclass as plain JSON values."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def from_json(kind: type[Config], values: Any, where: str) -> Config:
    """The inverse of `to_json`; `where` names the file in errors."""
    if not isinstance(values, dict):
        raise ValueError(f"{where} must hold the fields of {kind.__name__}, got {values!r}")
    hints = get_type_hints(kind)
    for key in values:
        if key not in hints:
            raise ValueError(f"{where} has an unknown key '{key}' - {_remedy(key, list(hints))}")
    absent = [key for key in hints if key not in values]
    if absent:
        raise ValueError(f"{where} lacks '{absent[0]}' - restore the file as it was written")
    fields = {key: _value(hints[key], values[key], f"{where}: {key}") for key in hints}
    try:
        return kind(**fields)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def change(config: Config, key: str, text: str) -> Config:
    """A config with one field changed: key "ppo.epochs", text "4" (JSON; what is no JSON is taken as a word)."""
    name, _, rest = key.partition(".")
    hints = get_type_hints(type(config))
    if name not in hints:
        raise ValueError(f"no setting '{key}' - {_remedy(name, list(hints))}")
    if rest:
        if not dataclasses.is_dataclass(hints[name]):
            raise ValueError(f"no setting '{key}' - '{name}' is a single value")
        changed = change(getattr(config, name), rest, text)
    else:
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        changed = _value(hints[name], value, f"the setting {name}")
    return dataclasses.replace(config, **{name: changed})  # ty: ignore[invalid-argument-type]


def _remedy(name: str, known: list[str]) -> str:
    """The remedy for a setting that does not exist: its new name, or the nearest one."""
    renamed = RENAMED.get(name)
    return f"it is called '{renamed}' now" if renamed in known else nearest(name, known)


def nearest(word: str, known: list[str]) -> str:
    """The remedy for a misspelt word."""
    # Among close words the one with the same letters in another order comes first.
    close = sorted(difflib.get_close_matches(word, known, 3, 0.5), key=lambda name: sorted(name) != sorted(word))
    return f"did you mean '{close[0]}'?" if close else f"choose one of: {', '.join(known)}"


def _value(hint: Any, value: Any, where: str) -> Any:
    """A JSON value as the type a field asks for."""
    origin, choices = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return from_json(hint, value, where)
    if origin is Literal:
        if value not in choices:
            raise ValueError(f"{where} = {value!r} - {nearest(str(value), [str(c) for c in choices])}")
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in choices:
            return None
        return _value(next(choice for choice in choices if choice is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{where} = {value!r} - it must be a list")
        return tuple(_value(choices[0], item, where) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise ValueError(f"{where} = {value!r} - it must be an object with entries by name")
        return {str(key): _value(choices[1], item, f"{where}.{key}") for key, item in value.items()}
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < _HUGE else math.nan
        if not math.isfinite(number):
            raise ValueError(f"{where} = {value} - it must be a finite number")
        return number
    if type(value) is not hint:
        raise ValueError(f"{where} = {value!r} - it must be of type {hint.__name__}")
    return value
