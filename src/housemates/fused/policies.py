"""Policies that act by the fused path: one, or several of one shape in one call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from housemates.fused import gemm
from housemates.fused.acting import act, layers, new_table, place_layers, room_needed
from housemates.fused.inputs import block_order, picture_words, raw_vectors
from housemates.fused.layout import PICTURE_SCALE, sizes_of, unsupported, usable
from housemates.parallel import announce
from housemates.policies.policy import Action, Policy

COMPILING = 20.0
"""Seconds, about, that the kernel for acting takes to compile."""
NOTHING = np.zeros((0, 0), np.float32)
NO_PICTURES = np.zeros((0, 0), np.uint64)


class Decided(NamedTuple):
    """What n robots decided: `Action` as arrays."""

    action: np.ndarray
    log_prob: np.ndarray
    value: np.ndarray
    memory: np.ndarray
    logits: np.ndarray


class FusedPolicies:
    """Copies of N policies' weights that act as `Policy.act` does; `refresh` after the policies have changed."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        config = policies[0].config
        if any(policy.config != config for policy in policies):
            raise ValueError("policies of different configs cannot act together - let each act by itself")
        if not all(usable(policy) for policy in policies):
            reason = unsupported(config) or "this machine or device"
            raise ValueError(f"no fused path for {reason} - let the policies act by themselves")
        self.policies, self.config = tuple(policies), config
        self.sizes = sizes_of(config)
        self.where, self.places = place_layers(layers(policies[0]))
        self.table = new_table(len(policies), self.places)
        self.corners = block_order(self.sizes)
        self.scale = np.float32(PICTURE_SCALE[config.pictures[0]] if config.pictures else 0.0)
        self._own = threading.local()
        self.refresh()

    def refresh(self) -> None:
        """Copy the policies' present weights."""
        for row, policy in zip(torch.from_numpy(self.table), self.policies, strict=True):
            for name, (weight, bias) in layers(policy).items():
                at, middle = self.where[name], self.where[name] + weight.numel()
                row[at:middle].view(weight.shape).copy_(weight)
                row[middle : middle + bias.numel()].copy_(bias)

    def initial_memory(self, n: int) -> Tensor:
        """Memory [n, M] of robots at the start of an episode."""
        return torch.zeros(n, self.config.memory_size)

    def act(
        self,
        obs: dict[str, Tensor],
        memory: Tensor,
        member: Tensor | None = None,
        latent: Tensor | None = None,
        greedy: bool = False,
        generator: torch.Generator | None = None,
        privileged: Tensor | None = None,
        drawn: Tensor | None = None,
    ) -> Action:
        """`Policy.act` for n robots of which robot i is moved by policy member[i], [n] int64, in any order (the first one
        without `member`). drawn [n]: uniform numbers to sample with instead of the generator's."""
        n = len(memory)
        self.policies[0].check(obs, (n,), memory, latent)
        if not greedy and drawn is None:
            drawn = torch.rand(n, 1, generator=generator)[:, 0]
        if privileged is not None:
            self.policies[0].critic_input(memory[:0, : self.sizes.hidden], privileged[:0])
        out = self.decide(
            {name: values.numpy() for name, values in obs.items() if name in self.config.observations},
            memory.numpy(),
            None if member is None else member.numpy(),
            None if latent is None else latent.numpy(),
            None if drawn is None or greedy else drawn.numpy(),
            None if privileged is None else privileged.numpy(),
        )
        return Action(*(torch.from_numpy(values) for values in out))

    def decide(
        self,
        obs: dict[str, np.ndarray],
        memory: np.ndarray,
        member: np.ndarray | None = None,
        latent: np.ndarray | None = None,
        drawn: np.ndarray | None = None,
        privileged: np.ndarray | None = None,
    ) -> Decided:
        """`act` on arrays of the right shapes: the likeliest actions if nothing was drawn."""
        config, sizes, n = self.config, self.sizes, len(memory)
        order, starts, most = self._order(n, member)
        raw = raw_vectors([obs[name] for name in config.vectors], np.empty((n, sizes.raw), np.float32))
        pictures = picture_words(config.pictures[0], obs[config.pictures[0]]) if config.pictures else NO_PICTURES
        shown = NOTHING
        if config.informed and privileged is not None:
            shown = np.ascontiguousarray(privileged, np.float32)
        latents = self._latents(latent) if config.latent and latent is not None else np.zeros(n, np.int64)
        greedy = drawn is None
        uniform = np.zeros(n, np.float32) if drawn is None else np.ascontiguousarray(drawn)
        given = raw, pictures, self.corners, shown, np.ascontiguousarray(memory), latents, uniform, greedy
        numbers = np.empty(n, np.int64), np.empty(n, np.float32), np.empty(n, np.float32)
        out = Decided(*numbers, np.empty((n, 2 * sizes.hidden), np.float32), np.empty((n, sizes.actions), np.float32))
        act(order, starts, given, sizes, self.places, self.scale, self.table, self._work(most), tuple(out))
        return out

    def decide_rows(self, order: np.ndarray, starts: np.ndarray, given: tuple, out: Decided) -> None:
        """Decisions of robots order [n] int64, policy k's from starts[k] to starts[k + 1], in arrays that have rows for others
        too: given and out are as `acting.act` takes them, and only these rows are read and written."""
        work = self._work(int(np.diff(starts).max()))
        act(order, starts, given, self.sizes, self.places, self.scale, self.table, work, tuple(out))

    def _order(self, n: int, member: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, int]:
        """Robots [n] by policy, where each policy's begin [N + 1], and the most that one of them has."""
        count = len(self.policies)
        if member is None or count == 1:
            if member is not None and member.any():
                raise ValueError(f"no member {int(member.max())} among 1 policies")
            return np.arange(n), np.array([0] + [n] * count), n
        if n and not 0 <= member.min() <= member.max() < count:
            raise ValueError(f"no member {int(member.max())} among {count} policies")
        starts = np.zeros(count + 1, np.int64)
        each = np.bincount(member, minlength=count)
        np.cumsum(each, out=starts[1:])
        return np.argsort(member, kind="stable"), starts, int(each.max())

    def _latents(self, latent: np.ndarray) -> np.ndarray:
        found = np.ascontiguousarray(latent, np.int64)
        if len(found) and not 0 <= found.min() <= found.max() < self.config.latent:
            raise ValueError(f"latents from {found.min()} to {found.max()} - the policy has 0 to {self.config.latent - 1}")
        return found

    def _work(self, rows: int) -> np.ndarray:
        """This thread's work space for so many rows."""
        needed = room_needed(self.sizes, rows)
        work = getattr(self._own, "work", None)
        if work is None:
            # In a new thread the library that multiplies has as many threads as it likes until torch is asked there; the last
            # bits of a product depend on their number.
            torch.get_num_threads()
        if work is None or len(work) < needed:
            work = self._own.work = gemm.empty(needed)
        return work


def fuse(policies: Sequence[Policy]) -> FusedPolicies:
    """Policies of one config as they are now, deciding by the fused kernels; says so if these must be compiled first."""
    announce("acting", [act], COMPILING)
    return FusedPolicies(policies)
