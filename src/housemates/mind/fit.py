"""Training a theory of mind on recorded samples, and how right and how well calibrated it is on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from housemates.lookahead.mind import AHEAD, HEADS, NOWHERE, OUTPUTS, TRACKED, Mind, add_rules, head
from housemates.mind.record import UNKNOWN, Samples
from housemates.policies.threads import one_thread

LEAST = 1e-3
"""Least standard deviation that inputs are divided by."""
BINS = 10
"""Bins of a reliability table."""
STEADY = 20
"""Steps for which the baseline keeps a velocity."""
CLOSE = 0.05
"""Metres below which the loss of a place is a square, so that it has a slope at 0."""
SHARPNESS = np.exp(np.linspace(np.log(0.1), np.log(2.0), 61))
"""What is tried for each head, and 1."""


@dataclass(frozen=True)
class Fit:
    """How a theory of mind is trained."""

    hidden: int = 64
    """Units of its one hidden layer."""
    epochs: int = 12
    """How often all samples are seen at most; the best epoch is kept."""
    batch: int = 256
    """Samples of one update."""
    learning_rate: float = 1e-3
    """Of Adam; it falls linearly to 0."""
    weight_decay: float = 0.1
    """Of the weights, not of the biases (AdamW, times the learning rate)."""
    forget: float = 0.8
    """Share of the agent's memory that is left out in training, drawn anew each time; 1 reads no memory."""
    place_weight: float = 0.5
    """Of the error in metres against the other heads' nats."""

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        for name in ("learning_rate", "weight_decay", "place_weight"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)} - it must not be negative")
        if not 0 <= self.forget <= 1:
            raise ValueError(f"forget = {self.forget} - give a share from 0 to 1")


def fit(samples: Samples, config: Fit | None = None, seed: int = 0, others: Samples | None = None) -> Mind:
    """Train a theory of mind on samples; the same samples and seed give the same bits.

    others: of other homes; they choose the epoch that is kept and calibrate the probabilities; by default the same samples.
    """
    if not len(samples) or (others is not None and not len(others)):
        raise ValueError("no samples to learn from - record more steps")
    # Updates are too small to share, and how sums are shared would decide their last bits.
    with one_thread():
        return _fit(samples, samples if others is None else others, config or Fit(), seed)


def _fit(samples: Samples, others: Samples, config: Fit, seed: int) -> Mind:
    generator = torch.Generator().manual_seed(seed)
    raw = torch.from_numpy(samples.inputs)
    mean, scale = raw.mean(0), raw.std(0, correction=0).clamp(min=LEAST)
    inputs, rules = (raw - mean) / scale, torch.from_numpy(by_rules(samples.inputs))
    other_inputs, other_rules = (torch.from_numpy(others.inputs) - mean) / scale, torch.from_numpy(by_rules(others.inputs))
    first, second = nn.Linear(inputs.shape[1], config.hidden), nn.Linear(config.hidden, OUTPUTS)
    nn.init.kaiming_uniform_(first.weight, a=5**0.5, generator=generator)
    # Nothing is known better than by the rules at the beginning.
    for values in (first.bias, second.weight, second.bias):
        nn.init.zeros_(values)
    weights, biases = [first.weight, second.weight], [first.bias, second.bias]
    groups = [{"params": weights, "weight_decay": config.weight_decay}, {"params": biases, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate)
    updates = config.epochs * -(-len(samples) // config.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 1 - k / updates)
    labels, other_labels = labels_of(samples), labels_of(others)
    balance = balance_of(labels["reacts"])
    kept, lowest = [value.detach().clone() for value in (*weights, *biases)], np.inf
    for _ in range(config.epochs):
        for some in torch.randperm(len(inputs), generator=generator).split(config.batch):
            seen = forgetting(inputs[some], config.forget, generator)
            answers = second(first(seen).relu()) + rules[some]
            total = loss(answers, {name: values[some] for name, values in labels.items()}, config.place_weight, balance)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            answers = second(first(forgetting(other_inputs, float(config.forget == 1), generator)).relu()) + other_rules
            judged = float(loss(answers, other_labels, config.place_weight, balance))
        if judged < lowest:
            kept, lowest = [value.detach().clone() for value in (*weights, *biases)], judged
    one, two, one_bias, two_bias = kept
    if config.forget == 1:
        one[:, TRACKED:] = 0.0
    found = (mean, scale, one.T, one_bias, two.T, two_bias)
    mind = Mind(*(np.ascontiguousarray(values.numpy(), np.float64) for values in found), np.ones(OUTPUTS))
    return replace(mind, sharpness=calibrated(mind, others))


def by_rules(inputs: np.ndarray) -> np.ndarray:
    """What simple rules say of inputs [N, D], float32 [N, OUTPUTS]."""
    out = np.zeros((len(inputs), OUTPUTS))
    for row, answers in zip(inputs.astype(np.float64), out, strict=True):
        add_rules(row, answers)
    return out.astype(np.float32)


def forgetting(inputs: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Standardised inputs [B, D] with a share of each memory left out; the rest is enlarged, so that the sum stays."""
    if share == 0:
        return inputs
    memory = inputs[:, TRACKED:]
    left = torch.rand(memory.shape, generator=generator) >= share
    return torch.cat([inputs[:, :TRACKED], memory * left / max(1 - share, 1e-9)], 1)


def labels_of(samples: Samples) -> dict[str, Tensor]:
    """What the heads are to answer."""
    return {name: torch.from_numpy(getattr(samples, name)) for name in HEADS}


def balance_of(reacts: Tensor) -> Tensor:
    """Weights [2] of partners that do not react and of those that do, so that both count the same."""
    rates = torch.stack([(reacts == 0).double().mean(), (reacts == 1).double().mean()])
    return torch.where(rates > 0, 0.5 / rates.clamp(min=1e-9), torch.ones_like(rates)).float()


def calibrated(mind: Mind, samples: Samples) -> np.ndarray:
    """What the outputs [OUTPUTS] of each head are multiplied by, so that its probabilities fit samples best."""
    out, labels = np.ones(OUTPUTS), labels_of(samples)
    answers, balance = torch.from_numpy(mind.answers(samples.inputs)), balance_of(labels["reacts"]).double()
    for name in ("action", "going", "subgoals", "reacts"):
        tried = [float(loss_of(name, answers[:, head(name)] * factor, labels[name], balance)) for factor in (1.0, *SHARPNESS)]
        out[head(name)] = (1.0, *SHARPNESS)[int(np.argmin(tried))]
    return out


def loss_of(name: str, found: Tensor, truth: Tensor, balance: Tensor) -> Tensor:
    """The loss of one head's answers found [B, outputs]; labels that are not known do not count.

    balance [2]: weights of partners that do not react, and that do.
    """
    if name in ("action", "going"):
        known = truth != UNKNOWN
        return functional.cross_entropy(found[known], truth[known]) if known.any() else found.new_zeros(())
    if name == "place":
        known = torch.isfinite(truth).all(-1)
        apart = found.reshape(truth.shape)[known] - truth[known]
        return (apart.square().sum(-1) + CLOSE**2).sqrt().mean() if known.any() else found.new_zeros(())
    truth = truth.reshape(len(found), -1).to(found.dtype)
    known = truth != UNKNOWN
    if not known.any():
        return found.new_zeros(())
    weight = balance[truth[known].long()] if name == "reacts" else None
    return functional.binary_cross_entropy_with_logits(found[known], truth[known], weight)


def loss(answers: Tensor, labels: dict[str, Tensor], place_weight: float, balance: Tensor) -> Tensor:
    """The sum of all heads' losses for answers [B, OUTPUTS]."""
    each = {name: loss_of(name, answers[:, head(name)], labels[name], balance) for name in HEADS}
    return torch.stack([value * (place_weight if name == "place" else 1.0) for name, value in each.items()]).sum()


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
    told["reacts_balanced"] = balanced(answers[:, head("reacts")][:, 0] > 0, samples.reacts)
    told["guess"], told["guess_log_loss"] = guessed(samples)
    return told


def guessed(samples: Samples) -> tuple[float | None, float | None]:
    """How often the likeliest destination of the look-ahead's guess is right, and its log loss."""
    known = samples.going != UNKNOWN
    chances = softmax(by_rules(samples.inputs[known])[:, head("going")].astype(float))
    truth = samples.going[known]
    return share(chances.argmax(1) == truth), mean_of(-np.log(np.maximum(chances[np.arange(len(truth)), truth], 1e-9)))


def balanced(found: np.ndarray, truth: np.ndarray) -> float | None:
    """The mean of the shares that are right among partners that react and among those that do not; None if one is missing."""
    shares = [value for kind in (0, 1) if (value := share(found[truth == kind] == bool(kind))) is not None]
    return sum(shares) / 2 if len(shares) == 2 else None


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
