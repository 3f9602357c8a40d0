"""What one learner keeps of a rollout: its decisions, one row each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from housemates.sim.sensor_kernels import one_window
from housemates.sim.state import kernel

if TYPE_CHECKING:
    from housemates.sim.batch import Batch, Step

ENDS = ("window",)
"""What can be stored as it is at the end of a decision."""


AT_DECISION = ("stream", "action", "latent", "log_prob", "value", "start", "clock")
"""Numbers that are known when a decision is made."""
AT_END = ("reward", "discounted", "duration", "done", "closed")
"""Numbers that are known when it has ended, zero until then."""


@kernel
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


@kernel
def close_rows(index, player, open_at, told, ends):
    """Complete the decisions open_at [E, R] of one player's robots that must decide again or whose episode has ended: open_at
    becomes -1. told is decide, reward, discounted and duration [E, R] and done [E] of a step."""
    decide, rewards, earned, durations, over = told
    reward, discounted, duration, done, closed = ends
    homes, robots = player.shape
    for e in range(homes):
        for r in range(robots):
            at = open_at[e, r]
            if at >= 0 and player[e, r] == index and (decide[e, r] or over[e]):
                reward[at], discounted[at], duration[at] = rewards[e, r], earned[e, r], durations[e, r]
                done[at], closed[at] = over[e], True
                open_at[e, r] = -1


@kernel
def keep_windows(index, player, open_at, decide, over, now, ended, out):
    """Windows out [N, W, 3] of the decisions that `close_rows` will complete: as they are now, or were when the episode ended.
    now, ended: windows [E, R, W, 3] and clocks [E], as `write_window` takes them."""
    homes, robots = player.shape
    for e in range(homes):
        for r in range(robots):
            at = open_at[e, r]
            if at >= 0 and player[e, r] == index and (decide[e, r] or over[e]):
                window, clock = ended if over[e] else now
                one_window(window[e, r], clock[e], out[at])


@kernel
def keep_rows(rows, index, player, learns, state, given, place, numbers, ends, memory, memories, open_at):
    """Append the decisions of robots rows [n] that player number `index` learns from, from row `place` on; returns how many.

    player, learns, open_at [E, R]; state [E] records; given: action, latent, log_prob, value and start [S] of all robots,
    memory [S, M] before the decisions; numbers, ends: as `write_rows` has them; memories [N, M].
    """
    stream, action, latent, log_prob, value, start, clock = numbers
    reward, discounted, duration, done, closed = ends
    actions, latents, log_probs, values, starts = given
    robots, at = player.shape[1], place
    for i in range(rows.size):
        k = rows[i]
        e, r = k // robots, k % robots
        if not learns[e, r] or player[e, r] != index:
            continue
        stream[at], action[at], latent[at], start[at], clock[at] = k, actions[k], latents[k], starts[k], state[e].clock
        log_prob[at], value[at] = log_probs[k], values[k]
        reward[at], discounted[at], duration[at] = 0.0, 0.0, 0
        done[at] = closed[at] = False
        before, to = memory[k], memories[at]
        for j in range(to.size):
            to[j] = before[j]
        open_at[e, r] = at
        at += 1
    return at - place


@kernel
def copy_rows(source, rows, place, out):
    """Rows rows [n] of source [S, w] into out [N, w] of the same type from row `place` on."""
    for i in range(rows.size):
        row, to = source[rows[i]], out[place + i]
        for j in range(to.size):
            to[j] = row[j]


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
        self.make_room(rows)
        place = slice(self.size, self.size + rows)
        self.size = place.stop
        return place

    def make_room(self, rows: int) -> None:
        """Let so many more decisions have a place."""
        needed = self.size + rows
        if needed <= len(self.numbers["stream"]):
            return
        for group in (self.observations, self.numbers):
            for name, array in group.items():
                grown = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
                grown[: self.size] = array[: self.size]
                group[name] = grown

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

    def keep(
        self,
        rows: np.ndarray,
        index: int,
        who: tuple[np.ndarray, np.ndarray],
        records: np.ndarray,
        given: tuple[np.ndarray, ...],
        memory: np.ndarray,
        seen: Mapping[str, np.ndarray],
        open_at: np.ndarray,
    ) -> slice:
        """As `add`, from arrays with a row for each of all S robots: of robots rows [n] those that player number `index` learns
        from. who: player and learns [E, R]; given, memory: see `keep_rows`; seen [S, numbers] by name; open_at [E, R] is told
        where the decisions lie, which is returned."""
        self.make_room(len(rows))
        at, mine = self.size, tuple(self.numbers[name] for name in AT_DECISION)
        ends = tuple(self.numbers[name] for name in AT_END)
        count = keep_rows(rows, index, *who, records, given, at, mine, ends, memory, self.numbers["memory"], open_at)
        place = slice(at, at + count)
        self.size = place.stop
        for name, out in self.observations.items() if count else ():
            stream, values = self.numbers["stream"][place], seen[name]
            if values.dtype == out.dtype:
                copy_rows(values, stream, at, out.reshape(len(out), -1))
            else:
                out[place] = values[stream].reshape(count, *out.shape[1:])
        return place

    def close(self, index: int, player: np.ndarray, open_at: np.ndarray, step: Step, batch: Batch) -> None:
        """Complete the decisions open_at [E, R] of the robots that player [E, R] says are moved by player number `index`, where
        they must decide again or the episode has ended; those are no longer open."""
        if "window" in self.ends:
            now, ended = (batch.state.window, batch.state.clock), (batch.ended.window, batch.ended.steps)
            keep_windows(index, player, open_at, step.decide, step.done, now, ended, self.numbers["window"])
        told = step.decide, step.reward, step.reward_discounted, step.duration, step.done
        close_rows(index, player, open_at, told, tuple(self.numbers[name] for name in AT_END))

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
