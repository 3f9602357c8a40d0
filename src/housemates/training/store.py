"""What one learner keeps of a rollout: its decisions, one row each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from housemates.sim.batch import Step

ENDS = ("window",)
"""What can be stored as it is at the end of a decision."""


AT_DECISION = ("stream", "action", "latent", "log_prob", "value", "start", "clock")
"""Numbers that are known when a decision is made."""
AT_END = ("reward", "discounted", "duration", "done", "closed")
"""Numbers that are known when it has ended, zero until then."""


@njit(cache=True, nogil=True, _nrt=False)
def write_rows(keep, given, place, numbers, ends):
    """Rows keep [n] of given, a tuple of arrays [N], into those of numbers from row `place` on; those of ends become zero."""
    stream, action, latent, log_prob, value, start, clock = numbers
    reward, discounted, duration, done, closed = ends
    streams, actions, latents, log_probs, values, starts, clocks = given
    for i in range(keep.size):
        k, at = keep[i], place + i
        stream[at], action[at], latent[at], start[at], clock[at] = streams[k], actions[k], latents[k], starts[k], clocks[k]
        log_prob[at], value[at] = log_probs[k], values[k]
        reward[at], discounted[at], duration[at] = 0.0, 0.0, 0
        done[at] = closed[at] = False


@njit(cache=True, nogil=True, _nrt=False)
def close_rows(finished, player, index, open_at, told, ends):
    """Complete the decisions open_at [E, R] of one player's robots among the finished [E, R] bool; told is reward,
    discounted and duration [E, R] and done [E] of a step."""
    rewards, earned, durations, over = told
    reward, discounted, duration, done, closed = ends
    homes, robots = finished.shape
    for e in range(homes):
        for r in range(robots):
            if finished[e, r] and player[e, r] == index:
                at = open_at[e, r]
                reward[at], discounted[at], duration[at] = rewards[e, r], earned[e, r], durations[e, r]
                done[at], closed[at] = over[e], True


class Store:
    """The decisions of one learner in one rollout, in the order they were made. Grows as needed, never shrinks."""

    def __init__(
        self,
        shapes: dict[str, tuple[tuple[int, ...], type]],
        memory: int,
        capacity: int,
        ends: dict[str, tuple[tuple[int, ...], type]] | None = None,
        labels: dict[str, tuple[tuple[int, ...], type]] | None = None,
    ) -> None:
        """shapes: shape and type of each observation, also those that only training reads; memory: length of a memory;
        ends: of those that are stored as they are when a decision ends; labels: of what is noted of partners."""
        self.size = 0
        self.observations = {k: np.zeros((capacity, *shape), dtype) for k, (shape, dtype) in shapes.items()}
        self.numbers: dict[str, np.ndarray] = {
            "stream": np.zeros(capacity, np.int64),
            "action": np.zeros(capacity, np.int64),
            "latent": np.zeros(capacity, np.int64),
            "log_prob": np.zeros(capacity, np.float32),
            "value": np.zeros(capacity, np.float32),
            "memory": np.zeros((capacity, memory), np.float32),
            "start": np.zeros(capacity, np.bool_),
            "clock": np.zeros(capacity, np.int32),
            "reward": np.zeros(capacity, np.float32),
            "discounted": np.zeros(capacity, np.float32),
            "duration": np.zeros(capacity, np.int32),
            "done": np.zeros(capacity, np.bool_),
            "closed": np.zeros(capacity, np.bool_),
        }
        self.ends = tuple(ends or ())
        self.labels = tuple(labels or ())
        more = (ends or {}) | (labels or {})
        self.numbers |= {k: np.zeros((capacity, *shape), dtype) for k, (shape, dtype) in more.items()}

    def __getattr__(self, name: str) -> np.ndarray:
        if name == "numbers":
            raise AttributeError(name)
        try:
            return self.numbers[name][: self.size]
        except KeyError:
            raise AttributeError(name) from None

    def append(self, rows: int) -> slice:
        """Room for some more decisions."""
        needed = self.size + rows
        for group in (self.observations, self.numbers):
            for name, array in group.items():
                if needed > len(array):
                    grown = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
                    grown[: self.size] = array[: self.size]
                    group[name] = grown
        place = slice(self.size, needed)
        self.size = needed
        return place

    def add(
        self, keep: np.ndarray, numbers: Mapping[str, np.ndarray], memory: np.ndarray, seen: Mapping[str, np.ndarray]
    ) -> slice:
        """Append the rows keep [n] int64 of new decisions; returns where they lie.

        numbers: AT_DECISION [N] by name; memory [N, M] before the decisions; seen [N, ...] by name.
        """
        place = self.append(len(keep))
        ends = tuple(self.numbers[name] for name in AT_END)
        mine = tuple(self.numbers[name] for name in AT_DECISION)
        write_rows(keep, tuple(numbers[name] for name in AT_DECISION), place.start, mine, ends)
        _copy(memory, keep, self.numbers["memory"][place])
        for name, values in seen.items():
            _copy(values, keep, self.observations[name][place])
        return place

    def close(self, index: int, player: np.ndarray, finished: np.ndarray, open_at: np.ndarray, step: Step) -> None:
        """Complete the decisions open_at [E, R] of the robots that player [E, R] says are moved by player number `index`, among
        the finished [E, R] bool."""
        told = step.reward, step.reward_discounted, step.duration, step.done
        close_rows(finished, player, index, open_at, told, tuple(self.numbers[name] for name in AT_END))

    def keep_open(self) -> np.ndarray:
        """Drop every closed decision; returns the old indices of the open ones, now at the front."""
        still = np.flatnonzero(~self.closed)
        for group in (self.observations, self.numbers):
            for array in group.values():
                array[: len(still)] = array[still]
        self.size = len(still)
        return still


def _copy(values: np.ndarray, keep: np.ndarray, out: np.ndarray) -> None:
    """Rows `keep` of values [N, ...] into out, without an array in between where both have one type."""
    if values.dtype != out.dtype:
        out[...] = values[keep]
    elif len(keep) == len(values):
        # All of them, in their order.
        out[...] = values
    else:
        # Without a mode numpy would write into an array of its own first, in case an index is wrong.
        np.take(values, keep, axis=0, out=out, mode="clip")
