"""The paper's picture encoder: Habitat's small ResNet18 with group norms (appendix C.3; spec section 8).

2 x 2 average pooling, a 7 x 7 convolution, four stages of two residual blocks, a compression to 2048 numbers, 512 features.
"""

from __future__ import annotations

from torch import Tensor, nn

from housemates.policies.pictures import PAPER_INPUT, channels, join

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
