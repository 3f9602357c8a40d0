"""PPO by the fused path: what `ppo.update` does, with the same draws and the same numbers in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from housemates.fused.learner import Learner
from housemates.fused.losses import LOSSES, Decisions, Weights
from housemates.training.distributed import Group
from housemates.training.popart import Scale
from housemates.training.sequences import Batched, minibatches
from housemates.training.store import Store

if TYPE_CHECKING:
    from housemates.training.ppo import PPO


def update(
    learner: Learner,
    store: Store,
    ready: Batched,
    config: PPO,
    rng: np.random.Generator,
    rate: float,
    group: Group | None = None,
    entropy: float | None = None,
    scale: Scale | None = None,
    explore: np.ndarray | None = None,
) -> dict[str, float]:
    """All passes over one rollout; returns means of what is logged, over this worker's decisions. See `ppo.update`.

    rate: Adam's present learning rate.
    """
    group, scale = group or Group(), scale or Scale()
    learner.begin()
    seen = {name: values[: store.size] for name, values in store.observations.items()}
    rollout = learner.look(seen, store.latent, store.memory)
    decisions = Decisions(
        action=store.action,
        log_prob=store.log_prob,
        value=scale.unit(torch.from_numpy(store.value)).numpy(),
        advantage=ready.advantage.numpy(),
        target=scale.unit(ready.target).numpy(),
        latent=store.latent,
        explore=np.ones(store.size, np.float32) if explore is None else explore,
        bits=_bits(seen["predicates"]) if learner.head is not None else np.zeros((0, 0), np.uint8),
    )
    weight = config.entropy if entropy is None else entropy
    numbers = (config.value_coef, weight, config.auxiliary)
    weights = Weights(np.float32(config.clip), config.clip_value, *(np.float32(value) for value in numbers))
    norms, passes = 0.0, 0
    gradient = torch.from_numpy(learner.gradient)
    for _ in range(config.epochs):
        for index in minibatches(ready.index, config.num_minibatches, rng):
            count = learner.gradients(index.numpy(), rollout, decisions, weights) if index.numel() else 0
            if not count:
                gradient.zero_()
            group.average(gradient, float(count))
            if count or not group.alone:
                norm = learner.step(rate, config.max_grad_norm)
            if count:
                norms += norm
                passes += 1
    learner.end()
    if not passes:
        return {}
    names = [name for name in LOSSES if name != "auxiliary_loss" or learner.head is not None]
    means = dict(zip(names, learner.losses / passes, strict=False))
    return {name: float(value) for name, value in means.items()} | {"gradient_norm": norms / passes}


def _bits(values: np.ndarray) -> np.ndarray:
    """Truths [N, n] of any number type as uint8."""
    return values.view(np.uint8) if values.dtype == np.bool_ else np.ascontiguousarray(values, np.uint8)
