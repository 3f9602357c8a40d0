"""Random numbers that are functions of whole numbers, and actions drawn with them.

A draw that depends on (seed, episode, robot, number of the decision) alone is the same whoever else plays.
"""

from __future__ import annotations

import numpy as np


def mixed(*numbers: np.ndarray | int) -> np.ndarray:
    """64 random bits for each combination of whole numbers (which broadcast), uint64: splitmix64 over one after the other."""
    state = np.zeros((), np.uint64)
    with np.errstate(over="ignore"):
        for number in numbers:
            state = (state ^ np.asarray(number, np.int64).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state


def uniform(*numbers: np.ndarray | int) -> np.ndarray:
    """A number in [0, 1) for each combination of whole numbers."""
    return (mixed(*numbers) >> np.uint64(11)) / float(1 << 53)


def sample(logits: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Actions [n] by inverting the cumulative distributions of logits [n, A] at uniform numbers drawn [n]."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    cumulative = weights.cumsum(axis=1)
    return (cumulative[:, :-1] <= drawn[:, None] * cumulative[:, -1:]).sum(axis=1)
