"""From observations to what the memory takes in, and the memory itself.

The paper's network concatenates raw numbers; laptop networks see engineered features of the same numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from housemates.policies.config import PolicyConfig
from housemates.policies.pictures import Patches, SmallCNN, join, orthogonal
from housemates.policies.resnet import ResNet18

PICTURE_ENCODERS = {"paper": ResNet18, "cnn": SmallCNN, "patches": Patches}
BODY = 8
"""Leading numbers of `state` that are no places: 7 arm joints and is_holding."""
FAR = 5.0
"""Distances are divided by this, metres: half of a home."""
NEAR = 0.5
"""Added to distances before inversion, metres: close things stand out, and nothing is divided by zero."""
PLACE_FEATURES = 6
EMBEDDING = 64
"""Width of the vectors' embedding beside a picture."""


def state_features(state: Tensor) -> Tensor:
    """Features [n, 8 + 6 P] of a raw state [n, 8 + 2 P] of P places given as distance (m) and heading (rad).

    Per place: scaled and inverse distance, cosine and sine of the heading, and the scaled position ahead and to the right,
    whose differences are where one place lies from another.
    """
    places = state[:, BODY:].unflatten(1, (-1, 2))
    distances, headings = places[..., 0], places[..., 1]
    scaled, ahead, right = distances / FAR, headings.cos(), headings.sin()
    columns = torch.stack([scaled, 1 / (distances + NEAR), ahead, right, scaled * ahead, scaled * right], -1)
    return torch.cat([state[:, :BODY], columns.flatten(1)], 1)


def state_feature_count(state_size: int) -> int:
    """Columns of `state_features` for a raw state of the given length."""
    return BODY + (state_size - BODY) // 2 * PLACE_FEATURES


class Encoder(nn.Module):
    """Observations [n, ...] and latent [n] to the memory's input [n, width]."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.raw = config.network == "paper"
        sizes = {name: config.shape(name)[0] for name in config.vectors}
        if not self.raw and "state" in sizes:
            sizes["state"] = state_feature_count(sizes["state"])
        count = sum(sizes.values()) + config.latent
        self.width = 0
        self.picture: nn.Module | None = None
        self.embedding: nn.Linear | None = None
        if config.pictures:
            self.picture = PICTURE_ENCODERS[config.network](config.pictures, config.picture, config.features)
            self.width += config.features
        if count and not self.raw:
            self.embedding = nn.Linear(count, EMBEDDING if config.pictures else config.features)
            orthogonal(self.embedding, 2**0.5)
            count = self.embedding.out_features
        self.width += count

    def forward(self, obs: dict[str, Tensor], latent: Tensor | None) -> Tensor:
        parts = [self.vector(name, obs[name]) for name in self.config.vectors]
        if latent is not None:
            parts.append(nn.functional.one_hot(latent, self.config.latent).to(torch.float32))
        if self.embedding is not None:
            parts = [self.embedding(join(parts)).relu_()]
        if self.picture is not None:
            parts.insert(0, self.picture(obs))
        return join(parts)

    def vector(self, name: str, value: Tensor) -> Tensor:
        """One vector observation as floats, with features in place of raw numbers where the network wants them."""
        value = value.to(torch.float32)
        return state_features(value) if name == "state" and not self.raw else value


class Memory(nn.Module):
    """An LSTM or GRU whose state is one flat tensor [n, M]: every layer's h, then (LSTM) every layer's c."""

    def __init__(self, config: PolicyConfig, inputs: int) -> None:
        super().__init__()
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[config.memory]
        self.parts = 2 if config.memory == "lstm" else 1
        self.layers, self.hidden = config.layers, config.hidden
        self.cells = kind(inputs, config.hidden, config.layers)
        for name, parameter in self.cells.named_parameters():
            if name.startswith("weight"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs [L, n, width] and memory [n, M] before them to outputs [L, n, hidden] and memory [n, M] after them."""
        n = len(memory)
        states = memory.view(n, self.parts, self.layers, self.hidden).permute(1, 2, 0, 3).contiguous()
        core, after = self.cells(x, tuple(states) if self.parts == 2 else states[0])
        stacked = torch.stack(after) if self.parts == 2 else after[None]
        return core, stacked.permute(2, 0, 1, 3).reshape(n, -1)
