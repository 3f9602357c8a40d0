"""Networks in front of the memory: vectors, small pictures as patches, and the paper's picture encoder.

The paper's encoder is Habitat's small ResNet18 with group norms (appendix C.3; spec section 8): 2 x 2 average pooling, a 7 x 7
convolution, four stages of two residual blocks, a compression to 2048 numbers, 512 features.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from housemates.policies.config import PICTURES, PolicyConfig
from housemates.renderer.kernels import INVERSE_FULL
from housemates.robots import DEFAULT

BASE = 32
"""Channels of the first stage; each further stage doubles them."""
GROUPS = 16
"""Groups of every group norm but the last (half of BASE)."""
COMPRESSED = 2048
"""Numbers left of a picture before the linear layer, whatever its size: 128 channels of 4 x 4 at 256 x 256."""


class Block(nn.Module):
    """Two 3 x 3 convolutions around which the input is added."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.GroupNorm(GROUPS, outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.GroupNorm(GROUPS, outputs),
        )
        changed = stride != 1 or inputs != outputs
        self.shortcut = (
            nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.GroupNorm(GROUPS, outputs))
            if changed
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x).add(self.shortcut(x)).relu_()


class ResNet18(nn.Module):
    """Pictures to [n, features]."""

    def __init__(self, names: tuple[str, ...], size: int, features: int) -> None:
        super().__init__()
        self.names = names
        side = size // 64
        compressed = COMPRESSED // (side * side)
        self.pool = nn.AvgPool2d(2)
        self.stem = nn.Sequential(
            nn.Conv2d(channels(names), BASE, 7, 2, 3, bias=False),
            nn.GroupNorm(GROUPS, BASE),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        stages, inputs = [], BASE
        for stage in range(4):
            outputs = BASE << stage
            stages += [Block(inputs, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
            inputs = outputs
        self.stages = nn.Sequential(*stages)
        self.compression = nn.Sequential(
            nn.Conv2d(inputs, compressed, 3, 1, 1, bias=False), nn.GroupNorm(1, compressed), nn.ReLU(inplace=True)
        )
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d) and not layer.weight.is_meta:
                # Habitat passes the ReLU gain as kaiming_normal_'s slope `a`; kept, since the paper's runs had it.
                nn.init.kaiming_normal_(layer.weight, nn.init.calculate_gain("relu"))
        self.linear = nn.Linear(COMPRESSED, features)

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        x = join([PAPER_INPUT[name](obs[name]) for name in self.names]).permute(0, 3, 1, 2)
        x = self.compression(self.stages(self.stem(self.pool(x))))
        return self.linear(x.permute(0, 2, 3, 1).flatten(1)).relu_()


NEAREST = INVERSE_FULL
"""Metres at which uint8 inverse depth saturates: level 255."""
FARTHEST = 10.0
"""Metres at which the paper's network has depth clipped: Habitat's number, the paper does not say it."""
NEARNESS = 1.2
"""Laptop networks see NEARNESS / metres: between 0.2 and 1.2 for what is 1 to 6 m away, so inputs are of order one."""
PATCH = 8
"""Side of the squares the patch encoder cuts pictures into, pixels."""


def nearness(depth: Tensor) -> Tensor:
    """Depth of any of the three types as NEARNESS / metres, at most NEARNESS / NEAREST, 0 where nothing was hit."""
    if depth.dtype == torch.uint8:
        return depth.to(torch.float32).mul_(NEARNESS / NEAREST / 255)
    metres = _metres(depth)
    return torch.where(metres > 0, NEARNESS / metres.clamp(min=NEAREST), 0.0)


def distance(depth: Tensor) -> Tensor:
    """Depth of any of the three types as metres, clipped at FARTHEST and divided by it: the paper's input in [0, 1]."""
    return _metres(depth).clamp(max=FARTHEST).div(FARTHEST)


def _metres(depth: Tensor) -> Tensor:
    if depth.dtype == torch.float32:
        return depth
    levels = depth.to(torch.float32)
    if depth.dtype == torch.uint16:
        return levels.mul_(0.001)
    if depth.dtype == torch.uint8:
        return torch.where(levels > 0, 255 * NEAREST / levels, 0.0)
    raise ValueError(f"depth of type {depth.dtype} - give uint8 inverse depth, uint16 millimetres or float32 metres")


def colour(rgb: Tensor) -> Tensor:
    """uint8 colours as numbers in [0, 1]."""
    if rgb.dtype != torch.uint8:
        raise ValueError(f"rgb of type {rgb.dtype} - give uint8")
    return rgb.to(torch.float32).mul_(1 / 255)


LAPTOP_INPUT = {"depth": nearness, "rgb": colour}
PAPER_INPUT = {"depth": distance, "rgb": colour}


def channels(names: tuple[str, ...]) -> int:
    """Channels of the named pictures together."""
    return sum(PICTURES[name] for name in names)


class Patches(nn.Module):
    """Pictures cut into 8 x 8 patches, each one linear layer; 2 x 2 neighbours merge until 4 x 4 are left; [n, features]."""

    def __init__(self, names: tuple[str, ...], size: int, features: int) -> None:
        super().__init__()
        self.names = names
        self.patch = nn.Linear(PATCH * PATCH * channels(names), 32)
        width, side, merges = 32, size // PATCH, []
        while side > 4:
            merges.append(nn.Linear(4 * width, 64))
            width, side = 64, side // 2
        self.merges = nn.ModuleList(merges)
        self.linear = nn.Linear(side * side * width, features)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                orthogonal(layer, 2**0.5)

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        # Cutting comes before conversion, so that only bytes are moved.
        x = join([LAPTOP_INPUT[name](squares(obs[name], PATCH)) for name in self.names])
        x = self.patch(x).relu_()
        for merge in self.merges:
            x = merge(squares(x, 2)).relu_()
        return self.linear(x.flatten(1)).relu_()


def squares(picture: Tensor, side: int) -> Tensor:
    """[n, H, W, C] cut into squares: [n, H / side, W / side, side * side * C]."""
    n, height, width, count = picture.shape
    cut = picture.reshape(n, height // side, side, width // side, side * count).transpose(2, 3)
    return cut.reshape(n, height // side, width // side, side * side * count)


def join(parts: list[Tensor]) -> Tensor:
    """Tensors side by side along the last axis; a single one as it is."""
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


def orthogonal(layer: nn.Linear | nn.Conv2d, gain: float) -> None:
    """Orthogonal weights, biases 0."""
    orthogonal_weight(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def orthogonal_weight(weight: Tensor, gain: float) -> None:
    """Orthogonal weights; a network without memory of its own (device `meta`) waits for a checkpoint's."""
    if not weight.is_meta:
        nn.init.orthogonal_(weight, gain)


PICTURE_ENCODERS = {"paper": ResNet18, "patches": Patches}
BODY = DEFAULT.joints + 1
"""Leading numbers of `state` that are no places: the arm joints and is_holding."""
FAR = 5.0
"""Distances are divided by this, metres: half of a home."""
NEAR = 0.5
"""Added to distances before inversion, metres: close things stand out, and nothing is divided by zero."""
PLACE_FEATURES = 6
SLICE = 1 << 21
"""Pixels encoded at once: beyond 16 MB a buffer is mapped again each time, which halves the speed at 128 x 128."""
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
    """An LSTM whose state is one flat tensor [n, M]: every layer's h, then every layer's c."""

    def __init__(self, config: PolicyConfig, inputs: int) -> None:
        super().__init__()
        self.layers, self.hidden = config.layers, config.hidden
        self.cells = nn.LSTM(inputs, config.hidden, config.layers)
        for name, parameter in self.cells.named_parameters():
            if name.startswith("weight"):
                orthogonal_weight(parameter, 1.0)
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs [L, n, width] and memory [n, M] before them to outputs [L, n, hidden] and memory [n, M] after them."""
        states = self.split(memory).contiguous()
        core, after = self.cells(x, tuple(states))
        return core, self.flatten(torch.stack(after))

    def step(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """`forward` for a single decision, [n, width] to [n, hidden]: the same sums with a third of the cost for few robots."""
        states, after = self.split(memory), []
        for layer, weights in enumerate(self.cells.all_weights):
            now = torch.lstm_cell(x, (states[0, layer], states[1, layer]), *weights)
            x = now[0]
            after.append(torch.stack(now))
        return x, self.flatten(torch.stack(after, 1))

    def split(self, memory: Tensor) -> Tensor:
        """Memory [n, M] as a view [h and c, layers, n, hidden]."""
        return memory.unflatten(1, (2, self.layers, self.hidden)).permute(1, 2, 0, 3)

    def flatten(self, states: Tensor) -> Tensor:
        """The inverse of `split`."""
        return states.permute(2, 0, 1, 3).flatten(1)
