"""Heads that predict a partner from the agent's memory, in training only: what it does (E3T), and what it senses (LIAM).

They shape the memory that the policy decides by, and are part of no checkpoint. The partner is the nearest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from housemates.sim.batch import Batch
from housemates.tasks.actions import ACTIONS, GOALS, OBJECTS
from housemates.training.store import Store

ACTION, VIEW = "partner_action", "partner_view"
"""Columns of a store with what is to be predicted."""
NEARER = (1.0, 2.0, 4.0)
"""Metres: a partner's distances are told by which of these they lie below."""
BITS = len(NEARER) + 2
"""Of each place that a partner senses: below which distances it lies, whether it is ahead, whether it is to the right."""


@dataclass(frozen=True)
class PartnerModel:
    """What the agent of stage 2 predicts of its nearest partner from memory, in training only; weights of the losses."""

    action: float = 0.0
    """Of what the partner does from the agent's decision on: cross-entropy over all actions; 0 for none."""
    view: float = 0.0
    """Of what it senses then: its gripper, and how far and where it sees objects, goals and robots; 0 for none."""

    def __post_init__(self) -> None:
        for name in ("action", "view"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"partner_model.{name} = {getattr(self, name)} - give a weight of 0 or more")

    def columns(self, robots: int) -> dict[str, tuple[tuple[int, ...], type]]:
        """Shape and type of what a store keeps for it."""
        found: dict[str, tuple[tuple[int, ...], type]] = {ACTION: ((), np.int8)} if self.action else {}
        return found | ({VIEW: ((view_size(robots),), np.uint8)} if self.view else {})


def view_size(robots: int) -> int:
    """Bits of what a partner senses in a home with so many robots."""
    return 1 + BITS * (len(OBJECTS) + len(GOALS) + robots - 1)


def view_bits(state: np.ndarray, robots: int) -> np.ndarray:
    """Bits [n, view_size] uint8 of observations `state` [n, ...]: is_holding, then BITS of each place."""
    places = len(OBJECTS) + len(GOALS) + robots - 1
    first = state.shape[1] - 2 * places
    distance, heading = state[:, first::2, None], state[:, first + 1 :: 2, None]
    each = np.concatenate([distance < np.array(NEARER), np.abs(heading) < np.pi / 2, heading > 0], axis=2)
    return np.concatenate([state[:, first - 1 : first] > 0.5, each.reshape(len(state), -1)], axis=1).astype(np.uint8)


def nearest_partner(pose: np.ndarray) -> np.ndarray:
    """The robot [E, R] that is nearest to each robot of poses [E, R, 3]; the first of several."""
    apart = np.linalg.norm(pose[:, :, None, :2] - pose[:, None, :, :2], axis=3)
    apart[:, np.arange(pose.shape[1]), np.arange(pose.shape[1])] = np.inf
    return apart.argmin(axis=2)


class Watch:
    """Notes what partners do and sense when learners of a batch have decided."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.seen = np.zeros((batch.size, batch.robots, *batch.observation("state")[0]), np.float32)

    def note(self, store: Store, mine: np.ndarray, open_at: np.ndarray, actions: np.ndarray) -> None:
        """Write into the rows open_at [E, R] of a store what goes on beside the robots mine [E, R] bool, which have just
        decided; actions [E, R] are all new decisions, -1 where a robot goes on with what it does."""
        if not mine.any():
            return
        state = self.batch.state
        home, robot = np.nonzero(mine)
        partner = nearest_partner(state.pose)[home, robot]
        if ACTION in store.numbers:
            doing = np.where(actions >= 0, actions, state.action)
            store.numbers[ACTION][open_at[mine]] = doing[home, partner]
        if VIEW in store.numbers:
            asked = np.zeros_like(mine)
            asked[home, partner] = True
            self.batch.observe("state", self.seen, asked)
            store.numbers[VIEW][open_at[mine]] = view_bits(self.seen[home, partner], self.batch.robots)


class Targets(NamedTuple):
    """What the auxiliary heads of one learner are to predict of N decisions."""

    bits: np.ndarray
    """[N, bits] uint8."""
    weight: np.ndarray
    """[bits] float32, of each bit's loss: those of a part together weigh what the settings say."""
    label: np.ndarray
    """[N] int64, the partner's action, below 0 where it is not known; [0] where it is not predicted."""
    label_weight: float


def targets(store: Store, auxiliary: float, model: PartnerModel) -> Targets:
    """What is to be predicted: the ground truth (weight `auxiliary`), then what the partner senses; and what it does."""
    parts = []
    if auxiliary:
        parts.append((store.observations["predicates"][: store.size], auxiliary))
    if model.view:
        parts.append((getattr(store, VIEW), model.view))
    bits = [_bytes(values) for values, _ in parts]
    weight = [np.full(values.shape[1], each / values.shape[1], np.float32) for values, each in parts]
    label = getattr(store, ACTION).astype(np.int64) if model.action else np.zeros(0, np.int64)
    none = np.zeros((store.size, 0), np.uint8)
    whole = bits[0] if len(bits) == 1 else np.concatenate([none, *bits], axis=1)
    return Targets(whole, np.concatenate([np.zeros(0, np.float32), *weight]), label, model.action)


def sizes(auxiliary: float, truths: int, model: PartnerModel, robots: int) -> tuple[int, int]:
    """Outputs of the auxiliary heads: bits, and classes of the partner's action; truths: bits of the ground truth."""
    return (truths if auxiliary else 0) + (view_size(robots) if model.view else 0), len(ACTIONS) if model.action else 0


def _bytes(values: np.ndarray) -> np.ndarray:
    """Truths [N, n] of any number type as uint8."""
    return values.view(np.uint8) if values.dtype == np.bool_ else np.ascontiguousarray(values, np.uint8)
