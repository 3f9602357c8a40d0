"""Decisions of variable length as sequences: advantages, chunks for recurrent training, minibatches.

Every algorithm may use them; PPO does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from torch import Tensor


@njit(cache=True, nogil=True)
def advantages(reward, value, duration, done, following, discount, gae_lambda, per_step, out):
    """Generalised advantage estimates of N decisions into out [N] float32, newest last.

    reward[i] is what decision i earned until the same robot's next decision (already discounted within the decision if
    per_step), duration[i] how many simulation steps that took, following[i] > i the index of that next decision (its value
    bootstraps), -1 if the decision is still open (its advantage is zero). done[i] says the episode ended in between.
    discount and gae_lambda count per simulation step if per_step, else per decision (the paper).
    """
    for i in range(reward.shape[0] - 1, -1, -1):
        if following[i] < 0 and not done[i]:
            out[i] = 0.0
            continue
        steps = duration[i] if per_step else 1
        ahead = 0.0 if done[i] else discount**steps
        nxt = following[i]
        later_value = 0.0 if done[i] else value[nxt]
        later = 0.0 if done[i] else out[nxt]
        out[i] = reward[i] + ahead * later_value - value[i] + ahead * gae_lambda**steps * later


@njit(cache=True, nogil=True)
def links(stream, done, last, following):
    """following [N]: index of the same stream's next decision, -1 for its newest. last [S] is scratch space."""
    last[:] = -1
    for i in range(stream.shape[0]):
        s = stream[i]
        following[i] = -1
        if last[s] >= 0:
            following[last[s]] = i
        last[s] = i
    return following


@njit(cache=True, nogil=True)
def chunks(stream, start, closed, length, streams, out):
    """Cut each stream's closed decisions into chunks for recurrent training; returns how many chunks.

    A chunk begins at a stream's first decision, at every episode start and after `length` decisions, so that memory is never
    reset inside one. out [B, length] int64 receives indices of decisions, padded with -1; it must have room for N rows.
    """
    row_of = np.full(streams, -1, np.int64)
    used = np.zeros(streams, np.int64)
    count = 0
    for i in range(stream.shape[0]):
        if not closed[i]:
            continue
        s = stream[i]
        if row_of[s] < 0 or start[i] or used[s] == length:
            row_of[s], used[s] = count, 0
            for k in range(length):
                out[count, k] = -1
            count += 1
        out[row_of[s], used[s]] = i
        used[s] += 1
    return count


@dataclass
class Batched:
    """One rollout ready for training: decisions as chunks."""

    index: Tensor
    """[B, L] int64 into the store, -1 where a chunk is shorter."""
    advantage: Tensor
    """[N] float32."""
    target: Tensor
    """[N] float32, what the value should have been, in units of reward."""


def minibatches(index: Tensor, parts: int, rng: np.random.Generator) -> list[Tensor]:
    """Chunks [B, L] dealt at random into parts of [L', B'], longest chunk first; parts may be empty.

    They are dealt in the order of their lengths, so that all parts have as many decisions, and workers that have the same
    number of chunks need not wait for each other.
    """
    order = torch.from_numpy(rng.permutation(len(index)))
    length = (index >= 0).sum(1)
    order = order[length[order].argsort(descending=True, stable=True)]
    cut = []
    for part in range(parts):
        rows = order[part::parts]
        longest = int(length[rows[0]]) if len(rows) else 0
        cut.append(index[rows, :longest].T.contiguous())
    return cut
