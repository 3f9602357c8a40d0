"""Made-up observations for policies."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from housemates.policies.config import PolicyConfig


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def observe() -> Callable[..., dict[str, Tensor]]:
    """observe(config, *batch, seed=0): random observations of the shapes the config names."""

    def make(config: PolicyConfig, *batch: int, seed: int = 0) -> dict[str, Tensor]:
        g = torch.Generator().manual_seed(seed)
        made = {}
        for name in config.observations:
            shape = (*batch, *config.shape(name))
            if name in config.pictures:
                made[name] = torch.randint(0, 256, shape, dtype=torch.uint8, generator=g)
            elif name == "predicates":
                made[name] = torch.randint(0, 2, shape, dtype=torch.uint8, generator=g)
            else:
                made[name] = torch.rand(shape, generator=g) * 3
        return made

    return make
