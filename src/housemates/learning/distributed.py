"""Several workers that train as one: gradients are averaged in a fixed order, so the same workers give the same bits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import distributed


class Group:
    """The workers of a run. Without torch.distributed it is one worker alone, and everything below costs nothing."""

    def __init__(self) -> None:
        self.alone = not (distributed.is_available() and distributed.is_initialized())
        self.rank = 0 if self.alone else distributed.get_rank()
        self.size = 1 if self.alone else distributed.get_world_size()

    def wait(self) -> None:
        """Until every worker is here."""
        if not self.alone:
            distributed.barrier()

    def sum(self, value: float) -> float:
        """The sum of a number over all workers."""
        return float(self.sums(np.array([value]))[0])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of an array over all workers."""
        if self.alone:
            return values
        tensor = torch.from_numpy(values.astype(np.float64))
        distributed.all_reduce(tensor)
        return tensor.numpy()

    def any(self, value: bool) -> bool:
        """Whether it is true for any worker."""
        return self.sum(float(value)) > 0

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Everybody's rows one after the other, by rank."""
        if self.alone:
            return values
        parts: list = [None] * self.size
        distributed.all_gather_object(parts, np.asarray(values, np.float64).tolist())
        return np.concatenate([np.asarray(part) for part in parts])

    def average_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by the workers' mean, in one message."""
        if self.alone:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([g.reshape(-1) for g in gradients])
        distributed.all_reduce(flat)
        flat /= self.size
        at = 0
        for g in gradients:
            g.copy_(flat[at : at + g.numel()].view_as(g))
            at += g.numel()

    def same_weights(self, modules: Iterable[torch.nn.Module]) -> None:
        """Give every worker the weights of rank 0."""
        if not self.alone:
            for module in modules:
                for tensor in module.state_dict().values():
                    distributed.broadcast(tensor, 0)
