"""Proximal policy optimisation on chunks of recurrent sequences; losses are pure functions of tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from housemates.learning.advantage import advantages, chunks, links
from housemates.learning.distributed import Group
from housemates.learning.rollout import Store
from housemates.policies.policy import Policy


@dataclass(frozen=True)
class PPO:
    """How a policy is improved from one rollout."""

    learning_rate: float = 5e-4
    """Of Adam."""
    anneal: bool = True
    """Whether the learning rate falls linearly to zero over the run."""
    epochs: int = 2
    """Passes over the rollout."""
    minibatches: int = 2
    """Parts a pass is split into."""
    chunk: int = 16
    """Decisions that memory is trained through."""
    clip: float = 0.2
    """How far the policy may move, as a ratio."""
    clip_value: bool = True
    """Whether the value loss is clipped as well."""
    value_weight: float = 0.5
    entropy: float = 0.0003
    """Weight of the entropy bonus."""
    max_norm: float = 0.5
    """Gradients are scaled down to this norm."""
    per_step: bool = True
    """Count discount and decay per simulation step (else per decision, as the paper does)."""
    discount: float = 0.998
    decay: float = 0.995
    """Of the advantage estimate (GAE lambda)."""
    normalise: bool = True
    """Whether advantages are normalised in each rollout."""


PAPER = PPO(
    learning_rate=3e-4,
    anneal=False,
    chunk=128,
    entropy=0.001,
    max_norm=0.2,
    per_step=False,
    discount=0.99,
    decay=0.95,
    normalise=False,
)
"""The paper's numbers (appendix C.3 and C.4)."""


def policy_loss(log_prob: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, clip: float) -> torch.Tensor:
    """Clipped surrogate loss of each decision [N]."""
    ratio = torch.exp(log_prob - old)
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def value_loss(value: torch.Tensor, old: torch.Tensor, target: torch.Tensor, clip: float | None) -> torch.Tensor:
    """Half the squared error of each decision [N]; with `clip` the larger of that and of the error of the clipped value."""
    loss = (value - target).square()
    if clip is not None:
        clipped = old + (value - old).clamp(-clip, clip)
        loss = torch.maximum(loss, (clipped - target).square())
    return 0.5 * loss


@dataclass
class Batched:
    """One rollout ready for training: decisions as chunks."""

    index: torch.Tensor
    """[B, L] int64 into the store, -1 where a chunk is shorter."""
    advantage: torch.Tensor
    """[N] float32."""
    target: torch.Tensor
    """[N] float32, what the value should have been."""


def prepare(store: Store, config: PPO, streams: int, bonus: np.ndarray | None = None, group: Group | None = None) -> Batched:
    """Advantages and chunks of a store; bonus [N] is paid on top of each decision's reward.

    Advantages are normalised over all workers of the group.
    """
    count = store.size
    following = np.empty(count, np.int64)
    links(store.stream, store.done, np.empty(streams, np.int64), following)
    reward = (store.discounted if config.per_step else store.reward).copy()
    if bonus is not None:
        reward += bonus
    out = np.empty(count, np.float32)
    advantages(reward, store.value, store.duration, store.done, following, config.discount, config.decay, config.per_step, out)
    target = out + store.value
    table = np.empty((count, config.chunk), np.int64)
    rows = chunks(store.stream, store.start, store.closed, config.chunk, streams, table)
    if config.normalise:
        kept = out[store.closed].astype(np.float64)
        count, total, squares = (group or Group()).sums(np.array([len(kept), kept.sum(), (kept**2).sum()]))
        mean = total / count
        out = ((out - mean) / (np.sqrt(max(squares / count - mean**2, 0.0)) + 1e-8)).astype(np.float32)
    return Batched(torch.from_numpy(table[:rows].copy()), torch.from_numpy(out), torch.from_numpy(target))


def update(
    policy: Policy,
    optimiser: torch.optim.Optimizer,
    store: Store,
    ready: Batched,
    config: PPO,
    rng: np.random.Generator,
    group: Group | None = None,
) -> dict[str, float]:
    """All passes over one rollout; returns means of what is logged."""
    seen = {k: torch.from_numpy(v[: store.size]) for k, v in store.observations.items()}
    old = {k: torch.from_numpy(getattr(store, k)) for k in ("action", "log_prob", "value", "memory", "latent")}
    # Long chunks together: a minibatch is cut to its longest chunk.
    length = (ready.index >= 0).sum(1)
    sums: dict[str, float] = {}
    passes = 0
    for _ in range(config.epochs):
        order = torch.from_numpy(rng.permutation(len(ready.index)))
        for rows in order.tensor_split(config.minibatches):
            longest = int(length[rows].max())
            index = ready.index[rows, :longest].T
            valid = index >= 0
            at = index.clamp(min=0)
            latent = old["latent"][at] if policy.config.latent else None
            result = policy.evaluate({k: v[at] for k, v in seen.items()}, old["memory"][at[0]], old["action"][at], latent)
            kept = at[valid]
            advantage, before = ready.advantage[kept], old["log_prob"][kept]
            log_prob, value = result.log_prob[valid], result.value[valid]
            losses = {
                "policy_loss": policy_loss(log_prob, before, advantage, config.clip).mean(),
                "value_loss": value_loss(
                    value, old["value"][kept], ready.target[kept], config.clip if config.clip_value else None
                ).mean(),
                "entropy": result.entropy[valid].mean(),
            }
            loss = losses["policy_loss"] + config.value_weight * losses["value_loss"] - config.entropy * losses["entropy"]
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            if group is not None:
                group.average_gradients(policy.parameters())
            norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), config.max_norm)
            optimiser.step()
            with torch.no_grad():
                ratio = log_prob - before
                losses["approx_kl"] = (ratio.exp() - 1 - ratio).mean()
                losses["clip_fraction"] = (ratio.exp() - 1).abs().gt(config.clip).float().mean()
                losses["gradient_norm"] = norm
            for name, number in losses.items():
                sums[name] = sums.get(name, 0.0) + float(number.detach())
            passes += 1
    return {name: total / passes for name, total in sums.items()}
