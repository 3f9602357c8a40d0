"""Training a theory of mind on recorded samples, and how right and how well calibrated it is on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from housemates.lookahead.mind import AHEAD, NOWHERE, OUTPUTS, Mind, head
from housemates.mind.record import UNKNOWN, Samples

LEAST = 1e-3
"""Least standard deviation that inputs are divided by."""
BINS = 10
"""Bins of a reliability table."""
STEADY = 20
"""Steps for which the baseline keeps a velocity."""


@dataclass(frozen=True)
class Fit:
    """How a theory of mind is trained."""

    hidden: int = 128
    """Units of its one hidden layer."""
    epochs: int = 8
    """How often all samples are seen."""
    batch: int = 256
    """Samples of one update."""
    learning_rate: float = 1e-3
    """Of Adam; it falls linearly to 0."""
    weight_decay: float = 1e-4
    """Of the weights, not of the biases."""
    place_weight: float = 0.5
    """Of the error in metres (Huber) against the other heads' nats."""

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        for name in ("learning_rate", "weight_decay", "place_weight"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)} - it must not be negative")


def fit(samples: Samples, config: Fit | None = None, seed: int = 0) -> Mind:
    """Train a theory of mind on samples; the same samples and seed give the same bits."""
    if not len(samples):
        raise ValueError("no samples to learn from - record more steps")
    before = torch.get_num_threads()
    # Updates are too small to share, and how sums are shared would decide their last bits.
    torch.set_num_threads(1)
    try:
        return _fit(samples, config or Fit(), seed)
    finally:
        torch.set_num_threads(before)


def _fit(samples: Samples, config: Fit, seed: int) -> Mind:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.from_numpy(samples.inputs)
    mean, scale = inputs.mean(0), inputs.std(0, correction=0).clamp(min=LEAST)
    inputs = (inputs - mean) / scale
    first, second = nn.Linear(inputs.shape[1], config.hidden), nn.Linear(config.hidden, OUTPUTS)
    for layer in (first, second):
        nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
        nn.init.zeros_(layer.bias)
    weights, biases = [first.weight, second.weight], [first.bias, second.bias]
    groups = [{"params": weights, "weight_decay": config.weight_decay}, {"params": biases, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate)
    updates = config.epochs * -(-len(samples) // config.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 1 - k / updates)
    labels = {name: torch.from_numpy(getattr(samples, name)) for name in ("action", "going", "place", "subgoals", "reacts")}
    for _ in range(config.epochs):
        for some in torch.randperm(len(inputs), generator=generator).split(config.batch):
            answers = second(first(inputs[some]).relu())
            total = loss(answers, {name: values[some] for name, values in labels.items()}, config.place_weight)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            schedule.step()
    found = (mean, scale, first.weight.T, first.bias, second.weight.T, second.bias)
    return Mind(*(np.ascontiguousarray(values.detach().numpy(), np.float64) for values in found))


def loss(answers: Tensor, labels: dict[str, Tensor], place_weight: float) -> Tensor:
    """The sum of all heads' losses for answers [B, OUTPUTS]; labels that are not known do not count."""
    total = answers.new_zeros(())
    for name in ("action", "going"):
        known = labels[name] != UNKNOWN
        if known.any():
            total = total + functional.cross_entropy(answers[known][:, head(name)], labels[name][known])
    place, there = answers[:, head("place")], labels["place"].flatten(1)
    known = torch.isfinite(there)
    if known.any():
        total = total + place_weight * functional.smooth_l1_loss(place[known], there[known])
    for name in ("subgoals", "reacts"):
        found, truth = answers[:, head(name)], labels[name].reshape(len(answers), -1)
        known = truth != UNKNOWN
        if known.any():
            total = total + functional.binary_cross_entropy_with_logits(found[known], truth[known])
    return total


def judge(mind: Mind, samples: Samples) -> dict[str, Any]:
    """How right a theory of mind is on samples: accuracies and calibration as shares, places in metres, beside simple rules.

    `*_error` of a probability is the expected calibration error; `reliability` lists, for bins of the probability that the
    likeliest destination has: samples, mean probability, share that was right.
    """
    answers = mind.answers(samples.inputs)
    told: dict[str, Any] = {"samples": len(samples)}
    for name in ("action", "going"):
        truth = getattr(samples, name)
        known = truth != UNKNOWN
        chances = softmax(answers[known][:, head(name)])
        right = chances.argmax(1) == truth[known]
        told[name] = share(right)
        told[f"{name}_usual"] = share(truth[known] == np.bincount(truth[known], minlength=1).argmax()) if known.any() else None
        table = reliability(chances.max(1, initial=0.0), right)
        told[f"{name}_error"] = calibration_error(table)
        told[f"{name}_log_loss"] = mean_of(-np.log(np.maximum(chances[np.arange(len(right)), truth[known]], 1e-9)))
    told["reliability"] = table
    moving = (samples.going != UNKNOWN) & (samples.going != NOWHERE)
    told["going_moving"] = share(answers[moving][:, head("going")].argmax(1) == samples.going[moving])
    places = answers[:, head("place")].reshape(len(samples), len(AHEAD), 2)
    for k, steps in enumerate(AHEAD):
        known = np.isfinite(samples.place[:, k]).all(1)
        there, straight = samples.place[known, k], samples.velocity[known] * min(steps, STEADY)
        for name, guess in (("", places[known, k]), ("_velocity", straight), ("_standing", np.zeros_like(there))):
            told[f"place_{steps}{name}"] = mean_of(np.linalg.norm(guess - there, axis=1))
    for name in ("subgoals", "reacts"):
        truth = getattr(samples, name).reshape(len(samples), -1)
        known = truth != UNKNOWN
        chance = 1 / (1 + np.exp(-answers[:, head(name)][known]))
        told[name], told[f"{name}_usual"] = share((chance > 0.5) == truth[known]), usual(truth[known])
        told[f"{name}_error"] = calibration_error(reliability(chance, truth[known] > 0.5))
    return told


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities [N, K] of logits [N, K]."""
    raised = np.exp(logits - logits.max(1, keepdims=True, initial=-np.inf))
    return raised / raised.sum(1, keepdims=True)


def share(right: np.ndarray) -> float | None:
    """The share of True; None of nothing."""
    return mean_of(np.asarray(right, float))


def mean_of(values: np.ndarray) -> float | None:
    """The mean; None of nothing."""
    return float(np.mean(values)) if len(values) else None


def usual(truth: np.ndarray) -> float | None:
    """How often the more frequent of two answers is right."""
    rate = mean_of(truth)
    return None if rate is None else max(rate, 1 - rate)


def reliability(chance: np.ndarray, right: np.ndarray) -> list[list[float]]:
    """For bins of a probability chance [N]: how many samples, the mean probability, the share that was right [N]."""
    bins = np.minimum((chance * BINS).astype(int), BINS - 1)
    chosen = [bins == k for k in range(BINS) if (bins == k).any()]
    return [[int(some.sum()), float(chance[some].mean()), float(right[some].mean())] for some in chosen]


def calibration_error(table: list[list[float]]) -> float | None:
    """The expected calibration error of a reliability table: the mean gap between probability and share, over samples."""
    count = sum(row[0] for row in table)
    return sum(row[0] * abs(row[1] - row[2]) for row in table) / count if count else None
