"""A policy that learns by the fused path: its weights and Adam's moments as flat arrays, which torch's optimiser sees too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from housemates.fused.adam import BETA1, BETA2, EPSILON, adam
from housemates.fused.gemm import empty
from housemates.fused.inputs import all_features, block_order, order_pictures, padded, picture_words, raw_vectors
from housemates.fused.layout import PICTURE_SCALE, Flat, named_parameters
from housemates.fused.losses import LOSSES, Decisions, Weights
from housemates.fused.minibatch import Rollout, gradients, make_room
from housemates.policies.policy import Auxiliary, Policy

SPARE = 1.1
"""Room is made for so many times the decisions of a minibatch, since the next one may be larger."""


class Learner:
    """Gradients and Adam's steps of one policy. `optimiser` is an Adam over the policy's parameters, then the head's; its
    state stays what it would be if it had made the steps itself, so that resume points are the same on both paths."""

    def __init__(self, policy: Policy, optimiser: torch.optim.Optimizer, head: Auxiliary | None = None) -> None:
        self.policy, self.head, self.optimiser = policy, head, optimiser
        for group in optimiser.param_groups:
            if (group["betas"], group["eps"], group["weight_decay"]) != ((BETA1, BETA2), EPSILON, 0):
                raise ValueError(f"Adam with betas {group['betas']} and eps {group['eps']} - use the torch path")
        self._parameters = named_parameters(policy, head)
        self.flat = Flat(policy, head)
        self.gradient, self.first, self.second = (empty(self.flat.offsets.total) for _ in range(3))
        """[total] each: gradients, and Adam's moments."""
        self.steps = 0
        self.corners = block_order(self.flat.sizes)
        self.room = make_room(self.flat.sizes, 0)
        self.losses = np.zeros(len(LOSSES))
        self._shown = empty(0, padded(self.flat.sizes.inputs)), np.zeros((0, 0), np.uint64)
        """Features and pictures of the last rollout, whose memory the next one takes: new pages cost as much as the copying."""
        pictures = policy.config.pictures
        self.scale = np.float32(PICTURE_SCALE[pictures[0]] if pictures else 0.0)

    def begin(self) -> None:
        """Before an update: take over what was loaded into modules and optimiser since the last one."""
        parameters = self._parameters
        if not self.flat.holds(parameters):
            self.flat = Flat(self.policy, self.head)
        known = [self.optimiser.state[p] for p in parameters.values() if p in self.optimiser.state]
        self.steps = int(known[0]["step"]) if known else 0
        for name, parameter in parameters.items():
            for key, moment in (("exp_avg", self.first), ("exp_avg_sq", self.second)):
                view = self.flat.view(moment, name, parameter.shape)
                if parameter not in self.optimiser.state:
                    view.zero_()
                elif self.optimiser.state[parameter][key].data_ptr() != view.data_ptr():
                    view.copy_(self.optimiser.state[parameter][key])
                    self.optimiser.state[parameter][key] = view
        self.losses[:] = 0.0

    def end(self) -> None:
        """After an update: show the optimiser what it would have in its state."""
        for name, parameter in self._parameters.items() if self.steps else ():
            known = self.optimiser.state.get(parameter)
            if known:
                # `begin` has seen to it that the moments are views of the arrays.
                known["step"].fill_(float(self.steps))
                continue
            self.optimiser.state[parameter] = {
                "step": torch.tensor(float(self.steps)),
                "exp_avg": self.flat.view(self.first, name, parameter.shape),
                "exp_avg_sq": self.flat.view(self.second, name, parameter.shape),
            }

    def look(self, observations: Mapping[str, np.ndarray], latent: np.ndarray, memory: np.ndarray) -> Rollout:
        """What the network sees of N decisions, computed once for all passes: observations [N, ...] by name, latent [N]
        int64, memory [N, 2H] before each. It holds until the next call."""
        sizes, config, n = self.flat.sizes, self.policy.config, len(latent)
        raw = raw_vectors([observations[name] for name in config.vectors], np.empty((n, sizes.raw), np.float32))
        features, pictures = self._shown
        if n > len(features):
            features = empty(int(n * SPARE), padded(sizes.inputs))
        all_features(raw, latent, sizes, features[:n])
        if config.pictures:
            shown = picture_words(config.pictures[0], observations[config.pictures[0]])
            if n > len(pictures):
                pictures = np.empty((int(n * SPARE), shown.shape[1]), np.uint64)
            order_pictures(shown, self.corners, sizes, pictures[:n])
        self._shown = features, pictures
        privileged = np.zeros((0, 0), np.float32)
        if sizes.privileged:
            privileged = np.ascontiguousarray(observations["privileged"], np.float32)
        return Rollout(features[:n], pictures[:n].view(np.uint8), privileged, np.ascontiguousarray(memory))

    def gradients(self, index: np.ndarray, rollout: Rollout, decisions: Decisions, weights: Weights) -> int:
        """Gradients of the loss over chunks index [T, B] (padded with -1, longest first); returns how many decisions."""
        counts = (index >= 0).sum(1)
        n = int(counts.sum())
        if not n:
            self.gradient[:] = 0.0
            return 0
        if n > len(self.room.at):
            self.room = make_room(self.flat.sizes, int(n * SPARE))
        sizes, offsets, theta = self.flat.sizes, self.flat.offsets, self.flat.weights
        given = rollout, decisions, weights, sizes, offsets, self.scale, theta
        return gradients(index, counts, *given, self.room, self.losses, self.gradient)

    def step(self, rate: float, max_grad_norm: float) -> float:
        """Clip the gradients and make one step of Adam; returns their norm."""
        self.steps += 1
        return adam(self.flat.weights, self.gradient, self.first, self.second, self.steps, rate, max_grad_norm)
