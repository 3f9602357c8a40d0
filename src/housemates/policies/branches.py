"""Several networks of one shape side by side, and rows that each go through one of them, by batched matrix products.

A policy with branches has a shared encoder and, for each latent, a memory, an actor and a critic of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from housemates.policies.config import PolicyConfig
from housemates.policies.networks import Memory


class Places:
    """Where n rows go in a table [K, most]: each branch's rows fill the first places of its line, in their order."""

    def __init__(self, branch: Tensor, branches: int) -> None:
        """branch [n] int64: which of the branches each row goes through."""
        counts = torch.bincount(branch, minlength=branches)
        if len(counts) > branches:
            raise ValueError(f"no branch {len(counts) - 1} among {branches}")
        self.branches, self.most = branches, max(int(counts.max()), 1)
        order = branch.argsort(stable=True)
        line = branch[order]
        rank = torch.arange(len(branch), device=branch.device) - (counts.cumsum(0) - counts)[line]
        self.place = torch.empty_like(branch)
        self.place[order] = line * self.most + rank

    def spread(self, x: Tensor) -> Tensor:
        """Rows [n, ...] in their places [K, most, ...]; empty places are zero, and nobody reads what becomes of them."""
        table = x.new_zeros(self.branches * self.most, *x.shape[1:])
        return table.index_copy(0, self.place, x).unflatten(0, (self.branches, self.most))

    def gather(self, x: Tensor) -> Tensor:
        """The inverse of `spread`."""
        return x.flatten(0, 1)[self.place]


def recur(fresh: Tensor, past: Tensor, h: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """One step of an LSTM (of a GRU without c): what the input and the old h give [..., 4 or 3 hidden] to the new h and c."""
    if c is not None:
        enter, keep, content, show = (fresh + past).chunk(4, -1)
        c = keep.sigmoid() * c + enter.sigmoid() * content.tanh()
        return show.sigmoid() * c.tanh(), c
    (reset, keep, content), (old_reset, old_keep, old) = fresh.chunk(3, -1), past.chunk(3, -1)
    proposal = (content + (reset + old_reset).sigmoid() * old).tanh()
    return proposal + (keep + old_keep).sigmoid() * (h - proposal), None


class BranchedLinear(nn.Module):
    """K linear layers as weight [K, inputs, outputs] and bias [K, 1, outputs]."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        """Begins as these layers are."""
        super().__init__()
        self.weight = nn.Parameter(torch.stack([layer.weight.detach().t() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach()[None] for layer in layers]))

    def forward(self, x: Tensor, places: Places) -> Tensor:
        """Rows [..., inputs] to [..., outputs]; the places are those of the rows one after the other."""
        rows = places.spread(x.flatten(0, -2))
        return places.gather(torch.baddbmm(self.bias, rows, self.weight)).unflatten(0, x.shape[:-1])


class BranchedSequential(nn.Sequential):
    """Branched layers, and others without weights in between."""

    def forward(self, x: Tensor, places: Places) -> Tensor:  # ty: ignore[incompatible-method-override]
        for layer in self:
            x = layer(x, places) if isinstance(layer, BranchedLinear) else layer(x)
        return x


class BranchedMemory(nn.Module):
    """K memories; takes and gives what `Memory` does, and knows by the places which stream belongs to which."""

    def __init__(self, config: PolicyConfig, inputs: int) -> None:
        super().__init__()
        self.parts, self.layers, self.hidden = 2 if config.memory == "lstm" else 1, config.layers, config.hidden
        memories = [Memory(config, inputs).cells for _ in range(config.latent)]
        for name, _ in memories[0].named_parameters():
            each = [getattr(cells, name).detach() for cells in memories]
            stacked = torch.stack([x.t() if x.dim() == 2 else x[None] for x in each])
            self.register_parameter(name, nn.Parameter(stacked))

    def forward(self, x: Tensor, memory: Tensor, places: Places | None = None) -> tuple[Tensor, Tensor]:
        """Inputs [L, n, width] and memory [n, M] before them to outputs [L, n, hidden] and memory [n, M] after them."""
        if places is None:
            raise ValueError("a memory with branches must be told the branch of each stream - see Policy.way")
        length = len(x)
        states = places.spread(memory).unflatten(2, (self.parts, self.layers, self.hidden))
        x = places.spread(x.transpose(0, 1))
        ends = []
        for layer in range(self.layers):
            h = states[:, :, 0, layer]
            c = states[:, :, 1, layer] if self.parts == 2 else None
            fresh = self._linear(f"ih_l{layer}", x.flatten(1, 2)).unflatten(1, (-1, length))
            shown = []
            for t in range(length):
                h, c = recur(fresh[:, :, t], self._linear(f"hh_l{layer}", h), h, c)
                shown.append(h)
            x = torch.stack(shown, 2)
            ends.append(torch.stack((h,) if c is None else (h, c), 2))
        after = torch.stack(ends, 3).flatten(2)
        return places.gather(x).transpose(0, 1), places.gather(after)

    def step(self, x: Tensor, memory: Tensor, places: Places | None = None) -> tuple[Tensor, Tensor]:
        """`forward` for a single decision, [n, width] to [n, hidden]."""
        core, after = self(x[None], memory, places)
        return core[0], after

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return torch.baddbmm(getattr(self, f"bias_{name}"), x, getattr(self, f"weight_{name}"))


def branched(made: Sequence[nn.Module]) -> BranchedLinear | BranchedSequential:
    """Networks of linear layers, one for each branch, as one."""
    first = made[0]
    if isinstance(first, nn.Linear):
        return BranchedLinear([layer for layer in made if isinstance(layer, nn.Linear)])
    columns = zip(*(network.children() for network in made), strict=True)
    return BranchedSequential(*(branched(c) if isinstance(c[0], nn.Linear) else c[0] for c in columns))
