"""Encoders of pictures for laptops, and how pictures become network inputs.

Pictures arrive as the simulator writes them, [n, S, S, C], and stay in that order of axes (channels last) throughout.
Depth is uint8 inverse depth round(255 min(1, 0.5 / d)), uint16 millimetres or float32 metres d; 0 is always "no hit".
The paper's network is shown metres, the laptop networks inverse depth (`config.seen_as`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from housemates.kernels.depth import INVERSE_FULL
from housemates.policies.config import PICTURES

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


class SmallCNN(nn.Module):
    """Three convolutions of 16, 32 and 32 channels, then one linear layer: pictures to [n, features]."""

    def __init__(self, names: tuple[str, ...], size: int, features: int) -> None:
        super().__init__()
        self.names = names
        self.pool = nn.AvgPool2d(2) if size == 256 else nn.Identity()
        inner = min(size, 128)
        last = 1 if inner == 64 else 2
        # No padding: padded strided convolutions train a third slower here, and walls at the border carry little.
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels(names), 16, 8, 4),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 4, 2),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 32, 3, last),
            nn.ReLU(inplace=True),
        )
        side = (inner - 8) // 4 + 1
        side = (side - 4) // 2 + 1
        side = (side - 3) // last + 1
        self.linear = nn.Linear(32 * side * side, features)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                orthogonal(layer, 2**0.5)

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        x = join([LAPTOP_INPUT[name](obs[name]) for name in self.names])
        x = self.convolutions(self.pool(x.permute(0, 3, 1, 2)))
        # Back to [n, side, side, 32], which is how the numbers lie in memory: flattening copies nothing.
        return self.linear(x.permute(0, 2, 3, 1).flatten(1)).relu_()


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
