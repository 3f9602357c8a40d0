"""Where the weights of a policy lie in one flat float32 array, derived from its config; torch's parameters are views of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from housemates.fused.gemm import available, empty
from housemates.policies.config import PICTURES, PolicyConfig
from housemates.policies.encoders import EMBEDDING, NEAREST, NEARNESS, PATCH, state_feature_count
from housemates.policies.policy import Auxiliary, Policy
from housemates.renderer.simd import WIDTH

ALIGN = 16
"""Weights begin at multiples of so many numbers, one cache line."""
PATCH_WIDTH, MERGE_WIDTH, GRID = 32, 64, 4
"""Of the patch encoder: numbers of a patch, of merged patches, and squares along each side when merging ends."""
PICTURE_SCALE = {"depth": NEARNESS / NEAREST / 255, "rgb": 1 / 255}
"""What the levels of a uint8 picture are multiplied by."""


class Sizes(NamedTuple):
    """The numbers that decide a network's shape, for kernels."""

    raw: int
    """Length of all vectors side by side, as the simulator gives them."""
    state_at: int
    """Where `state` begins in them; equal to `raw` if it is not seen."""
    state: int
    """Length of `state`, 0 if it is not seen."""
    latent: int
    """Length of the one-hot latent."""
    inputs: int
    """Engineered features and one-hot latent together."""
    embedding: int
    """Width of their embedding, 0 without vectors."""
    pixels: int
    """Side of a picture, 0 without pictures."""
    channels: int
    """Of a picture."""
    merges: int
    """How often 2 x 2 patches merge."""
    picture: int
    """Width of a picture's features, 0 without pictures."""
    encoded: int
    """Width of what the memory takes in: a picture's features, then the embedding."""
    hidden: int
    """Units of the memory."""
    actions: int
    """Decisions to choose from."""
    privileged: int
    """Numbers that only the critic sees; 0 for an ordinary critic."""
    bits: int
    """Outputs of the auxiliary head, 0 for none."""
    classes: int
    """Classes that the auxiliary head chooses from, 0 for none."""
    heads: int
    """Outputs that read the memory by one matrix: actions, the value of an ordinary critic, bits, classes."""
    latent_logits: int
    """1 if each latent adds numbers of its own to the logits, else 0."""


class Offsets(NamedTuple):
    """Where each weight begins. The weights that make up `heads` follow each other without a gap, and so do their biases."""

    embedding: int
    embedding_bias: int
    patch: int
    patch_bias: int
    merge: tuple[int, int, int]
    merge_bias: tuple[int, int, int]
    linear: int
    linear_bias: int
    fresh: int
    """The memory's matrix [4H, encoded] of new inputs."""
    past: int
    """The memory's matrix [4H, H] of its own output."""
    fresh_bias: int
    past_bias: int
    heads: int
    heads_bias: int
    mix: int
    """First layer [H, H + privileged] of an informed critic."""
    mix_bias: int
    last: int
    """Second layer [1, H] of an informed critic."""
    last_bias: int
    latent_logits: int
    """Table [latents, actions]."""
    total: int
    """Length of the array."""


def unsupported(config: PolicyConfig) -> str:
    """Why a network cannot take the fused path, in a few words; empty if it can."""
    if not isinstance(config, PolicyConfig):
        return "it is no network of this project"
    if config.network not in ("vector", "patches"):
        return f"network '{config.network}'"
    if len(config.pictures) > 1:
        return "two kinds of pictures"
    if config.layers > 1:
        return f"memory of {config.layers} layers"
    if config.branches:
        return "branches"
    if config.hidden % WIDTH:
        return f"hidden = {config.hidden}, no multiple of {WIDTH}"
    return ""


def usable(policy: nn.Module) -> bool:
    """Whether a policy can act and learn by the fused path here: its network, its device, and the matrix product."""
    if not isinstance(policy, Policy) or not available() or unsupported(policy.config):
        return False
    return all(p.device.type == "cpu" and p.dtype == torch.float32 for p in policy.parameters())


def sizes_of(config: PolicyConfig, bits: int = 0, classes: int = 0) -> Sizes:
    """The sizes of a supported network with an auxiliary head for so many bits and classes."""
    lengths = {name: config.shape(name)[0] for name in config.vectors}
    raw, state, before = sum(lengths.values()), lengths.get("state", 0), 0
    for name in config.vectors:
        if name == "state":
            break
        before += lengths[name]
    inputs = raw + config.latent + (state_feature_count(state) - state if state else 0)
    pixels = config.picture if config.pictures else 0
    merges = int(np.log2(pixels // PATCH // GRID)) if pixels else 0
    picture = config.features if pixels else 0
    embedding = (EMBEDDING if pixels else config.features) if inputs else 0
    return Sizes(
        raw=raw,
        state_at=before,
        state=state,
        latent=config.latent,
        inputs=inputs,
        embedding=embedding,
        pixels=pixels,
        channels=PICTURES[config.pictures[0]] if pixels else 0,
        merges=merges,
        picture=picture,
        encoded=picture + embedding,
        hidden=config.hidden,
        actions=config.actions,
        privileged=config.privileged,
        bits=bits,
        classes=classes,
        heads=config.actions + (0 if config.informed else 1) + bits + classes,
        latent_logits=int(config.latent_logit_std > 0),
    )


def order(config: PolicyConfig, head: bool = False) -> list[list[str]]:
    """Names of all parameters in groups; those of one group follow each other without a gap. The head's begin with `head.`"""
    groups: list[list[str]] = []
    sizes = sizes_of(config)
    if sizes.embedding:
        groups += [["encoder.embedding.weight"], ["encoder.embedding.bias"]]
    if sizes.picture:
        layers = ["patch", *(f"merges.{k}" for k in range(sizes.merges)), "linear"]
        groups += [[f"encoder.picture.{layer}.{kind}"] for layer in layers for kind in ("weight", "bias")]
    groups += [[f"memory.cells.{name}_l0"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    for kind in ("weight", "bias"):
        parts = [f"actor.{kind}"]
        parts += [] if config.informed else [f"critic.{kind}"]
        parts += [f"head.head.{kind}"] if head else []
        groups.append(parts)
    if config.informed:
        groups += [["critic.0.weight"], ["critic.0.bias"], ["critic.2.weight"], ["critic.2.bias"]]
    if config.latent_logit_std:
        groups.append(["latent_logits"])
    return groups


def named_parameters(policy: Policy, head: Auxiliary | None) -> dict[str, nn.Parameter]:
    """Parameters of a policy and its auxiliary head as `order` names them."""
    found = dict(policy.named_parameters())
    return found if head is None else found | {f"head.{name}": p for name, p in head.named_parameters()}


def place(config: PolicyConfig, lengths: dict[str, int], head: bool = False) -> tuple[dict[str, int], Offsets]:
    """Where each parameter begins, given their lengths, with those of an auxiliary head; and the same for kernels."""
    where: dict[str, int] = {}
    at = 0
    for group in order(config, head):
        at = -(-at // ALIGN) * ALIGN
        for name in group:
            where[name] = at
            at += lengths[name]
    if where.keys() != lengths.keys():
        raise ValueError(f"parameters {sorted(where.keys() ^ lengths.keys())} have no place - use the torch path")

    def find(name: str) -> int:
        return where.get(name, 0)

    def merge(kind: str) -> tuple[int, int, int]:
        return tuple(find(f"encoder.picture.merges.{k}.{kind}") for k in range(3))  # ty: ignore[invalid-return-type]

    offsets = Offsets(
        embedding=find("encoder.embedding.weight"),
        embedding_bias=find("encoder.embedding.bias"),
        patch=find("encoder.picture.patch.weight"),
        patch_bias=find("encoder.picture.patch.bias"),
        merge=merge("weight"),
        merge_bias=merge("bias"),
        linear=find("encoder.picture.linear.weight"),
        linear_bias=find("encoder.picture.linear.bias"),
        fresh=find("memory.cells.weight_ih_l0"),
        past=find("memory.cells.weight_hh_l0"),
        fresh_bias=find("memory.cells.bias_ih_l0"),
        past_bias=find("memory.cells.bias_hh_l0"),
        heads=find("actor.weight"),
        heads_bias=find("actor.bias"),
        mix=find("critic.0.weight"),
        mix_bias=find("critic.0.bias"),
        last=find("critic.2.weight"),
        last_bias=find("critic.2.bias"),
        latent_logits=find("latent_logits"),
        total=-(-at // ALIGN) * ALIGN,
    )
    return where, offsets


class Flat:
    """The weights of a policy and its auxiliary head as one array; the modules' parameters become views of it."""

    def __init__(self, policy: Policy, head: Auxiliary | None = None) -> None:
        reason = unsupported(policy.config)
        if reason:
            raise ValueError(f"no fused path for {reason} - use the torch path")
        parameters = named_parameters(policy, head)
        self.sizes = sizes_of(policy.config, *((0, 0) if head is None else (head.bits, head.classes)))
        lengths = {name: p.numel() for name, p in parameters.items()}
        self.where, self.offsets = place(policy.config, lengths, head is not None)
        self.weights = empty(self.offsets.total)
        """[total]; what lies between parameters is zero and stays so."""
        for name, parameter in parameters.items():
            view = self.view(self.weights, name, parameter.shape)
            view.copy_(parameter.detach())
            parameter.data = view

    def view(self, array: np.ndarray, name: str, shape: torch.Size | tuple[int, ...]) -> torch.Tensor:
        """The part of an array [total] that belongs to a parameter."""
        at = self.where[name]
        return torch.from_numpy(array[at : at + int(np.prod(shape))]).view(shape)

    def holds(self, parameters: dict[str, nn.Parameter]) -> bool:
        """Whether the parameters are still views of this array; modules may be given other ones."""
        start = self.weights.ctypes.data
        return all(p.data_ptr() == start + 4 * self.where[name] for name, p in parameters.items())
