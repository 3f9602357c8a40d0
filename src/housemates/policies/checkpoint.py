"""Policies as files: `policy.safetensors` (weights) beside `policy.json` (everything needed to build and to judge them).

Files are written under temporary names, synced and renamed; a policy that does not fit this version is refused in one line.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

import housemates
from housemates.config import from_json, to_json
from housemates.io import read_json, seal, write_files
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import DESCRIPTION, WEIGHTS
from housemates.tasks.actions import ACTIONS

FORMAT = 1
"""Version of the two files; a reader refuses newer ones."""
KEYS = {"format": int, "config": dict, "observations": dict, "actions": list, "code": str, "weights": dict, "meta": dict}


def save_policy(folder: Path | str, policy: Policy, meta: dict[str, Any]) -> None:
    """Write a policy into a folder. meta: JSON values to keep with it, such as the environment's hash.

    A new folder appears complete or not at all. In an existing one the two files are replaced one after the other; should
    the machine stop in between, `load_policy` notices that they do not belong together.
    """
    folder = Path(folder)
    if policy.config.actions != len(ACTIONS):
        raise ValueError(f"the policy has {policy.config.actions} actions - only policies of {len(ACTIONS)} actions are saved")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in policy.state_dict().items()}
    _check_finite(folder / WEIGHTS, tensors)
    weights = save(tensors)
    description = {
        "format": FORMAT,
        "code": housemates.__version__,
        "config": to_json(policy.config),
        "observations": policy.config.observation_spec(),
        "actions": list(ACTIONS),
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
        "meta": meta,
    }
    try:
        text = json.dumps(seal(DESCRIPTION, description), indent=2, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ValueError(f"meta of the policy for {folder} is not JSON: {error} - give numbers, texts, lists, dicts") from error
    try:
        write_files(folder, {WEIGHTS: weights, DESCRIPTION: text.encode()})
    except OSError as error:
        raise OSError(
            f"cannot write a policy to {folder}: {error.strerror or error} - what was there before is kept"
        ) from error


def load_policy(folder: Path | str, device: torch.device | str = "cpu") -> Policy:
    """Read the policy that `save_policy` wrote into a folder."""
    folder = Path(folder)
    description = read_description(folder)
    config = config_of(description, folder)
    spec = config.observation_spec()
    if config.actions != len(ACTIONS) or description["actions"] != list(ACTIONS):
        count = len(description["actions"])
        raise ValueError(f"{folder / DESCRIPTION} is for {count} other actions than the {len(ACTIONS)} here - train it again")
    for name in spec.keys() | description["observations"].keys():
        stored, here = description["observations"].get(name), spec.get(name)
        if stored != here:
            raise ValueError(f"{folder / DESCRIPTION} is for {name} {stored}, this version has {here} - train it again")
    weights = _read_weights(folder / WEIGHTS, description["weights"])
    with torch.device("meta"):  # no time is lost on initial weights
        policy = Policy(config)
    _check_weights(folder / WEIGHTS, weights, policy.state_dict())
    policy.load_state_dict(weights, assign=True)
    policy.to(memory_format=torch.channels_last)  # ty: ignore[no-matching-overload]
    return policy.to(device)


def read_description(folder: Path | str) -> dict[str, Any]:
    """The contents of a policy's JSON file: format, code, config, observations, actions, weights, meta."""
    path = Path(folder) / DESCRIPTION
    for name in (DESCRIPTION, WEIGHTS):
        if not (Path(folder) / name).is_file():
            raise FileNotFoundError(f"no {name} in {folder} - give a folder that holds {WEIGHTS} and {DESCRIPTION}")
    description = read_json(path, "restore it from a copy")
    if not isinstance(description.get("format"), int):
        raise ValueError(f"{path} does not describe a policy - give a folder that `save_policy` wrote")
    if description["format"] > FORMAT:
        raise ValueError(f"{path} has format {description['format']}, newer than {FORMAT} - update housemates")
    for key, kind in KEYS.items():
        if not isinstance(description.get(key), kind):
            raise ValueError(f"{path} has no valid '{key}' - restore it from a copy")
    config_of(description, folder)
    return description


def config_of(description: dict[str, Any], folder: Path | str) -> PolicyConfig:
    """The network that a policy's JSON file in a folder describes."""
    return from_json(PolicyConfig, description["config"], f"{Path(folder) / DESCRIPTION}: config")


def _read_weights(path: Path, expected: dict[str, Any]) -> dict[str, torch.Tensor]:
    content = path.read_bytes()
    if len(content) != expected.get("bytes"):
        raise ValueError(f"{path} has {len(content)} bytes instead of {expected.get('bytes')} - restore it from a copy")
    if hashlib.sha256(content).hexdigest() != expected.get("sha256"):
        raise ValueError(f"{path} is not the file that {DESCRIPTION} was written with - restore both from a copy")
    try:
        return load(content)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}) - restore it from a copy") from error


def _check_weights(path: Path, weights: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    for name in sorted(weights.keys() | expected.keys()):
        if name not in weights or name not in expected:
            what = "lacks" if name in expected else "has the unknown"
            raise ValueError(f"{path} {what} tensor {name} - it does not fit the config in {DESCRIPTION}")
        if weights[name].shape != expected[name].shape or weights[name].dtype != expected[name].dtype:
            found, wanted = list(weights[name].shape), list(expected[name].shape)
            raise ValueError(f"{path} has {name} of shape {found} instead of {wanted} - it does not fit {DESCRIPTION}")
    _check_finite(path, weights)


def _check_finite(path: Path, weights: dict[str, torch.Tensor]) -> None:
    for name, values in weights.items():
        if not bool(torch.isfinite(values).all()):
            raise ValueError(f"{path} has numbers in {name} that are not finite: its training diverged - take an earlier one")
