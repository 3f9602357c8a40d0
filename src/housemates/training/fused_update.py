"""PPO by the fused path: what `ppo.update` does, with the same draws and the same numbers in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from housemates.fused.learner import Learner
from housemates.fused.losses import LOSSES, Decisions, Weights
from housemates.training.distillation import TAUGHT
from housemates.training.distributed import Group
from housemates.training.partner_model import PartnerModel, Targets, targets
from housemates.training.popart import Scale
from housemates.training.sequences import Batched, minibatches
from housemates.training.store import Store

if TYPE_CHECKING:
    from housemates.training.ppo import PPO

NOTHING = Targets(np.zeros((0, 0), np.uint8), np.zeros(0, np.float32), np.zeros(0, np.int64), 0.0)
"""Of a learner without auxiliary heads."""


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
    model: PartnerModel | None = None,
    explore: np.ndarray | None = None,
    imitate: float = 0.0,
) -> dict[str, float]:
    """All passes over one rollout; returns means of what is logged, over this worker's decisions. See `ppo.update`.

    rate: Adam's present learning rate.
    """
    group, scale = group or Group(), scale or Scale()
    learner.begin()
    seen = {name: values[: store.size] for name, values in store.observations.items()}
    rollout = learner.look(seen, store.latent, store.memory)
    known = NOTHING if learner.head is None else targets(store, config.auxiliary, model or PartnerModel())
    decisions = Decisions(
        action=store.action,
        log_prob=store.log_prob,
        value=scale.unit(torch.from_numpy(store.value)).numpy(),
        advantage=ready.advantage.numpy(),
        target=scale.unit(ready.target).numpy(),
        latent=store.latent,
        explore=np.ones(store.size, np.float32) if explore is None else explore,
        bits=known.bits,
        label=known.label,
        taught=getattr(store, TAUGHT) if imitate else np.zeros(0, np.int8),
    )
    weight = config.entropy if entropy is None else entropy
    numbers = (np.float32(value) for value in (config.value_coef, weight, known.label_weight, imitate))
    weights = Weights(np.float32(config.clip), config.clip_value, *numbers, known.weight)
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
    sizes = learner.flat.sizes
    absent = {"auxiliary_loss": not sizes.bits, "partner_action_loss": not sizes.classes, "distillation_loss": not imitate}
    means = dict(zip(LOSSES, learner.losses / passes, strict=True))
    return {name: float(value) for name, value in means.items() if not absent.get(name)} | {"gradient_norm": norms / passes}
