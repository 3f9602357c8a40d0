"""From observations to what the memory takes in, and the memory itself.

The paper's network concatenates raw numbers; laptop networks see engineered features of the same numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from housemates.policies.config import PolicyConfig
from housemates.policies.pictures import Patches, SmallCNN, join, orthogonal, orthogonal_weight
from housemates.policies.resnet import ResNet18

PICTURE_ENCODERS = {"paper": ResNet18, "cnn": SmallCNN, "patches": Patches}
BODY = 8
"""Leading numbers of `state` that are no places: 7 arm joints and is_holding."""
FAR = 5.0
"""Distances are divided by this, metres: half of a home."""
NEAR = 0.5
"""Added to distances before inversion, metres: close things stand out, and nothing is divided by zero."""
PLACE_FEATURES = 6
SLICE = 1 << 21
"""Pixels encoded at once: beyond 16 MB a buffer is mapped anew by the system each time, which halves the speed at 128 x 128."""
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
    """Observations [n, ...] and latent [n] (without meaning where it chooses a branch) to the memory's input [n, width]."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.raw = config.network == "paper"
        sizes = {name: config.shape(name)[0] for name in config.vectors}
        if not self.raw and "state" in sizes:
            sizes["state"] = state_feature_count(sizes["state"])
        self.latent = 0 if config.branches else config.latent
        count = sum(sizes.values()) + self.latent
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
        parts = []
        if self.picture is not None:
            parts.append(self.pictures(self.picture, {name: obs[name] for name in self.config.pictures}))
        if self.config.vectors or self.latent:
            vectors = self.vectors(obs, latent)
            parts.append(vectors if self.embedding is None else self.embedding(vectors).relu_())
        return join(parts)

    def vectors(self, obs: dict[str, Tensor], latent: Tensor | None) -> Tensor:
        """All that is no picture, as floats side by side [n, count]; laptop networks see features of the raw state."""
        parts = []
        for name in self.config.vectors:
            value = obs[name].to(torch.float32)
            parts.append(state_features(value) if name == "state" and not self.raw else value)
        if latent is not None and self.latent:
            parts.append(nn.functional.one_hot(latent, self.latent).to(torch.float32))
        return join(parts)

    def pictures(self, encoder: nn.Module, obs: dict[str, Tensor]) -> Tensor:
        """Features [n, features] of pictures, encoded SLICE pixels at a time on a CPU."""
        n = len(obs[self.config.pictures[0]])
        rows = SLICE // self.config.picture**2
        if n <= rows or obs[self.config.pictures[0]].is_cuda:
            return encoder(obs)
        return torch.cat([encoder({name: x[i : i + rows] for name, x in obs.items()}) for i in range(0, n, rows)])


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
                orthogonal_weight(parameter, 1.0)
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs [L, n, width] and memory [n, M] before them to outputs [L, n, hidden] and memory [n, M] after them."""
        states = self.split(memory).contiguous()
        core, after = self.cells(x, tuple(states) if self.parts == 2 else states[0])
        return core, self.flatten(torch.stack(after) if self.parts == 2 else after[None])

    def step(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """`forward` for a single decision, [n, width] to [n, hidden]: the same sums with a third of the cost for few robots."""
        states, after = self.split(memory), []
        for layer, weights in enumerate(self.cells.all_weights):
            if self.parts == 2:
                now = torch.lstm_cell(x, (states[0, layer], states[1, layer]), *weights)
            else:
                now = (torch.gru_cell(x, states[0, layer], *weights),)
            x = now[0]
            after.append(torch.stack(now))
        return x, self.flatten(torch.stack(after, 1))

    def split(self, memory: Tensor) -> Tensor:
        """Memory [n, M] as a view [parts, layers, n, hidden]; parts are h and, for an LSTM, c."""
        return memory.unflatten(1, (self.parts, self.layers, self.hidden)).permute(1, 2, 0, 3)

    def flatten(self, states: Tensor) -> Tensor:
        """The inverse of `split`."""
        return states.permute(2, 0, 1, 3).flatten(1)
