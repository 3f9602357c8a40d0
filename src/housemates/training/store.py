"""What one learner keeps of a rollout: its decisions, one row each."""

from __future__ import annotations

import numpy as np

ENDS = ("window",)
"""What can be stored as it is at the end of a decision."""


class Store:
    """The decisions of one learner in one rollout, in the order they were made. Grows as needed, never shrinks."""

    def __init__(
        self,
        shapes: dict[str, tuple[tuple[int, ...], type]],
        memory: int,
        capacity: int,
        ends: dict[str, tuple[tuple[int, ...], type]] | None = None,
    ) -> None:
        """shapes: shape and type of each observation, also those that only training reads; memory: length of a memory;
        ends: of those that are stored as they are when a decision ends."""
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
        self.numbers |= {k: np.zeros((capacity, *shape), dtype) for k, (shape, dtype) in (ends or {}).items()}

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

    def keep_open(self) -> np.ndarray:
        """Drop every closed decision; returns the old indices of the open ones, now at the front."""
        still = np.flatnonzero(~self.closed)
        for group in (self.observations, self.numbers):
            for array in group.values():
                array[: len(still)] = array[still]
        self.size = len(still)
        return still
