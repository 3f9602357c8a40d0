"""Theory of mind: a small network that reads an agent's memory and its partner's track, and predicts what the partner does.

It is trained beside a finished agent (`housemates.mind`), whose own weights it never changes. Its heads, one after the other in
one row of outputs: the action that the partner is carrying out, where its navigation leads now or within SOON steps, its place
in AHEAD steps, the sub-goals it will achieve, and whether it reacts to others. Destinations and places are corrections of what
simple rules say (`add_rules`): the guess of the look-ahead, and constant velocity.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from safetensors import SafetensorError
from safetensors.numpy import load, save

from housemates.io import read_json, seal, write_files
from housemates.lookahead.predict import EVIDENCE, STRAIGHT, heading_of, standing, weigh_all
from housemates.sim.rules import WINDOW
from housemates.sim.sensor_kernels import HALF_HOME, LAGS, write_past
from housemates.sim.skills import BLOCKED, cell_at, path_length
from housemates.tasks.actions import ACTIONS, PICK

SOON = 10
"""Steps within which a navigation that has not begun yet counts as where a partner goes."""
AHEAD = (5, 10, 20, 40)
"""Steps after which a partner's place is predicted."""
NOWHERE = PICK
"""Class of `going` for a partner that does not navigate within SOON steps."""
SUBGOALS = 6
HEADS = {"action": len(ACTIONS), "going": PICK + 1, "place": 2 * len(AHEAD), "subgoals": SUBGOALS, "reacts": 1}
"""Outputs of each head. place: metres ahead and right of where the partner is now, as the robot faces."""
OUTPUTS = sum(HEADS.values())
GOING = len(ACTIONS)
"""Where the outputs of `going` begin."""
PLACES = GOING + HEADS["going"]
"""Where the outputs of `place` begin."""
TRACK, PLACE, WEIGHTS, WAYS, REST = 12, 2, PICK + 1, PICK, 3
TRACKED = TRACK + PLACE + WEIGHTS + WAYS + REST
"""Inputs beside the memory."""
RARE = 1e-4
"""Least probability whose logarithm is an input."""
BACK = LAGS.index(2)
"""Which of LAGS the velocity of `add_rules` is measured over."""
FAR, LONG = 10.0, 750.0
"""Metres and steps that inputs are divided by."""
FOLDER = "mind"
"""Inside the folder of the policy whose mind it is."""
FILE, NUMBERS = "mind.json", "mind.safetensors"
FORMAT = 2
TRAIN = "train it: housemates mind RUN"


def head(name: str) -> slice:
    """The outputs of one of HEADS."""
    names = list(HEADS)
    low = sum(HEADS[other] for other in names[: names.index(name)])
    return slice(low, low + HEADS[name])


@njit(cache=True, nogil=True)
def write_tracked(world, s, r, p, row):
    """What robot r senses of robot p and its own map say, into row [TRACKED]: p's places of the last steps and now, how well
    each destination fits its last steps, the way to each, and how long it has stood."""
    write_past(s, r, p, row)
    cosine, sine = np.cos(s.pose[r, 2]), np.sin(s.pose[r, 2])
    dx, dz = s.pose[p, 0] - s.pose[r, 0], s.pose[p, 1] - s.pose[r, 1]
    row[TRACK], row[TRACK + 1] = (cosine * dx - sine * dz) / HALF_HOME, (sine * dx + cosine * dz) / HALF_HOME
    weight, destination = np.empty(PICK + 1), np.empty(PICK, np.int64)
    driven = heading_of(s, p)[1]
    weigh_all(world, s, p, driven, weight, destination)
    cell, at = cell_at(world, s.home, s.pose[p, 0], s.pose[p, 1]), TRACK + PLACE
    for k in range(PICK + 1):
        row[at + k] = np.log(max(weight[k], RARE))
    at += WEIGHTS
    for k in range(PICK):
        known = destination[k] >= 0 and cell != BLOCKED
        row[at + k] = path_length(world, s.home, cell, destination[k]) / FAR if known else 1.0
    at += WAYS
    row[at], row[at + 1], row[at + 2] = driven / EVIDENCE, standing(s, p) / WINDOW, s.clock / LONG


@njit(cache=True, nogil=True)
def add_rules(row, out):
    """Add to out [OUTPUTS] what simple rules say of inputs row [D]: logarithms of the probabilities that the look-ahead guesses
    for each destination, and the places to which the partner comes if it keeps its velocity for STRAIGHT steps."""
    for k in range(PICK + 1):
        out[GOING + k] += row[TRACK + PLACE + k]
    for axis in range(2):
        velocity = (row[TRACK + axis] - row[2 * BACK + axis]) * HALF_HOME / LAGS[BACK]
        for k in range(len(AHEAD)):
            out[PLACES + 2 * k + axis] += velocity * min(AHEAD[k], STRAIGHT)


@njit(cache=True, nogil=True)
def answer(row, mean, scale, first, first_bias, second, second_bias, sharpness, hidden, out):
    """Outputs out [OUTPUTS] of the network for inputs row [D]; hidden [H] is scratch.

    By loops in one order: a matrix product's last bits depend on its shape, and a game must not depend on who else plays.
    """
    hidden[:] = first_bias
    for i in range(row.shape[0]):
        x = (row[i] - mean[i]) / scale[i]
        for j in range(hidden.shape[0]):
            hidden[j] += x * first[i, j]
    out[:] = second_bias
    for j in range(hidden.shape[0]):
        if hidden[j] > 0:
            for k in range(out.shape[0]):
                out[k] += hidden[j] * second[j, k]
    add_rules(row, out)
    for k in range(out.shape[0]):
        out[k] *= sharpness[k]


@njit(cache=True, nogil=True)
def expect(world, state, robots, rows, memory, near, mean, scale, first, first_bias, second, second_bias, sharpness, out):
    """Where all partners of robots rows [n] of [E * R] with memory [n, M] go: probabilities out [n, R, PICK + 1].

    Partners farther than `near` metres are left out.
    """
    size = memory.shape[1]
    row, hidden, answers = np.empty(TRACKED + size), np.empty(first.shape[1]), np.empty(OUTPUTS)
    for n in range(rows.shape[0]):
        s, r = state[rows[n] // robots], rows[n] % robots
        for p in range(robots):
            dx, dz = s.pose[p, 0] - s.pose[r, 0], s.pose[p, 1] - s.pose[r, 1]
            if p == r or dx * dx + dz * dz >= near * near:
                continue
            write_tracked(world, s, r, p, row)
            row[TRACKED:] = memory[n]
            answer(row, mean, scale, first, first_bias, second, second_bias, sharpness, hidden, answers)
            highest, total = answers[GOING : GOING + PICK + 1].max(), 0.0
            for k in range(PICK + 1):
                out[n, p, k] = np.exp(answers[GOING + k] - highest)
                total += out[n, p, k]
            out[n, p] /= total


@dataclass(frozen=True, eq=False)
class Mind:
    """The network of one agent: inputs [D] are TRACKED numbers and then its memory."""

    mean: np.ndarray
    """[D] of the inputs in training."""
    scale: np.ndarray
    """[D] standard deviation of the inputs in training."""
    first: np.ndarray
    """[D, H]."""
    first_bias: np.ndarray
    second: np.ndarray
    """[H, OUTPUTS]."""
    second_bias: np.ndarray
    sharpness: np.ndarray
    """[OUTPUTS] what outputs are multiplied by, so that probabilities come true as often as they say; 1 for places."""

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All arrays in the order in which kernels take them."""
        return tuple(vars(self).values())

    @property
    def memory_size(self) -> int:
        """Size M of the memories it reads."""
        return len(self.mean) - TRACKED

    def answers(self, inputs: np.ndarray) -> np.ndarray:
        """Outputs [N, OUTPUTS] for inputs [N, D]."""
        out, hidden = np.empty((len(inputs), OUTPUTS)), np.empty(self.first.shape[1])
        for row, answers in zip(np.asarray(inputs, np.float64), out, strict=True):
            answer(row, *self.arrays, hidden, answers)
        return out


def save_mind(policy: Path | str, mind: Mind, sha256: str, meta: dict[str, Any]) -> Path:
    """Write the mind of the policy in a folder, whose weights have that checksum; returns the mind's own folder."""
    weights = save({name: np.ascontiguousarray(values, np.float64) for name, values in vars(mind).items()})
    told = {"format": FORMAT, "policy": sha256, "weights": hashlib.sha256(weights).hexdigest(), "meta": meta}
    folder = Path(policy) / FOLDER
    text = json.dumps(seal(FILE, told), indent=2, allow_nan=False) + "\n"
    write_files(folder, {NUMBERS: weights, FILE: text.encode()})
    return folder


def load_mind(policy: Path | str, sha256: str = "", memory_size: int = -1) -> Mind:
    """Read the mind of the policy in a folder; refused if it is damaged, or was trained beside other weights than `sha256`."""
    folder = Path(policy) / FOLDER
    if not (folder / FILE).is_file():
        raise FileNotFoundError(f"{policy} has no theory of mind - {TRAIN}")
    told = read_json(folder / FILE, TRAIN)
    if told.get("format") != FORMAT:
        raise ValueError(f"{folder} has format {told.get('format')}, this version reads {FORMAT} - {TRAIN}")
    if sha256 and told.get("policy") != sha256:
        raise ValueError(f"{folder} was trained beside another policy than the one in {policy} - {TRAIN}")
    weights = (folder / NUMBERS).read_bytes()
    if hashlib.sha256(weights).hexdigest() != told.get("weights"):
        raise ValueError(f"{folder / NUMBERS} is damaged - {TRAIN}")
    try:
        mind = Mind(**load(weights))
    except (SafetensorError, TypeError) as error:
        raise ValueError(f"{folder / NUMBERS} is no theory of mind: {error} - {TRAIN}") from error
    if memory_size >= 0 and mind.memory_size != memory_size:
        raise ValueError(f"{folder} reads memories of {mind.memory_size} numbers, not {memory_size} - {TRAIN}")
    return mind
