"""Who was it? A network that tells from a robot's last 40 steps which latent (or member) moved it, and pays for being told.

It sees where the robot was and what it really did, nothing else: neither a policy's features nor the latent itself, from which
anybody could read the answer (paper, section 4.2 and appendix C.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from housemates.sim.rules import WINDOW, Rules
from housemates.tasks.actions import ACTIONS
from housemates.training.distributed import Group
from housemates.training.store import Store

FAR = 5.0
"""Positions are divided by this, metres: half of a home."""
NOTHING = len(ACTIONS)
"""Code of a step that has not happened yet: none of the 25 inputs of an action is set."""
LATE = 0.5
"""Share of the stage after which `late_weight` counts."""
MOST = 256
"""Behaviours that can be told apart: labels are kept as bytes."""
SLICE = 2048
"""Windows judged at once: what lies between the layers then stays in the cache."""


@dataclass(frozen=True)
class Diversity:
    """What behaviours are paid for being told apart, and how the discriminator learns (appendix C.3; spec section 9)."""

    latents: int = 8
    """Behaviours of the population, K."""
    weight: float = 0.01
    """Alpha: a decision is paid this times log q of the true latent; 0 for no discriminator at all."""
    late_weight: float | None = None
    """Alpha in the second half of the stage, when the task is known, and from then on the mean over a rollout is taken off the
    pay: else every decision costs something, and to end early saves. None goes on as before, as in the paper."""
    warmup_fraction: float = 0.1
    """Share of the horizon at the start of an episode that is neither rewarded nor used for updates."""
    redraw: int = 10
    """Updates after which latents or pairs are drawn again."""
    hidden: int = 512
    """Units of each of the discriminator's two hidden layers."""
    buffer: int = 100_000
    """Newest samples it learns from, of all workers together."""
    batches: int = 8
    """Steps of its optimiser after each update of the policies."""
    batch: int = 512
    """Samples of each of them, of all workers together."""
    learning_rate: float = 3e-4
    """Of its Adam."""

    def __post_init__(self) -> None:
        for name in ("redraw", "hidden", "buffer", "batches", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"method.{name} = {getattr(self, name)} - it must be at least 1")
        if not 2 <= self.latents <= MOST:
            raise ValueError(f"method.latents = {self.latents} - a population has 2 to {MOST} behaviours")
        if self.weight < 0:
            raise ValueError(f"method.weight = {self.weight} - give 0 for none, or a positive weight")
        if self.late_weight is not None and self.late_weight < 0:
            raise ValueError(f"method.late_weight = {self.late_weight} - give a positive weight")
        if not 0 <= self.warmup_fraction < 1:
            raise ValueError(
                f"method.warmup_fraction = {self.warmup_fraction} - give a share of the horizon, from 0 to less than 1"
            )


@dataclass
class Samples:
    """N windows in few bytes. Reward and learning both read these, so that they see the same numbers."""

    place: np.ndarray
    """[N, 80] float16: x and z of each of the last 40 steps, oldest first, in units of FAR; 0 before the episode began."""
    action: np.ndarray
    """[N, 40] uint8: the action executed in each of them, NOTHING before the episode began."""
    label: np.ndarray
    """[N] uint8: the latent or member that is to be told."""

    def __len__(self) -> int:
        return len(self.label)


def pack(window: np.ndarray, clock: np.ndarray, label: np.ndarray) -> Samples:
    """Samples of windows [N, 40, 3] (x, z, executed action), ending at steps clock [N] of their episodes, labels [N]."""
    happened = np.arange(WINDOW) >= WINDOW - clock[:, None]
    place = np.where(happened[..., None], window[..., :2] / np.float32(FAR), np.float32(0))
    action = np.where(happened, window[..., 2], np.float32(NOTHING)).astype(np.uint8)
    return Samples(place.reshape(-1, 2 * WINDOW).astype(np.float16), action, label.astype(np.uint8))


class Discriminator(nn.Module):
    """Windows to log q(z | window): 80 numbers and 40 one-hot actions of 25, two hidden layers of ReLUs, K outputs.

    A one-hot input picks a row of a matrix, so the 1000 inputs of the actions are looked up in a table instead of multiplied.
    """

    def __init__(self, settings: Diversity, seed: int = 0) -> None:
        super().__init__()
        hidden = settings.hidden
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.place = nn.Linear(2 * WINDOW, hidden)
            seen = WINDOW * (2 + len(ACTIONS))
            for parameter in self.place.parameters():  # as torch's own linear layer of all inputs would begin
                nn.init.uniform_(parameter, -(seen**-0.5), seen**-0.5)
            self.action = nn.Parameter(torch.empty(WINDOW * len(ACTIONS), hidden).uniform_(-(seen**-0.5), seen**-0.5))
            self.middle = nn.Linear(hidden, hidden)
            self.last = nn.Linear(hidden, settings.latents)

    def forward(self, place: Tensor, action: Tensor) -> Tensor:
        """Log probabilities [n, K] of places [n, 80] and actions [n, 40] (see `Samples`)."""
        steps = torch.arange(WINDOW, device=action.device) * len(ACTIONS)
        row = torch.where(action == NOTHING, len(self.action), steps + action)
        table = torch.cat([self.action, self.action.new_zeros(1, self.action.shape[1])])
        x = self.place(place.float()) + nn.functional.embedding_bag(row, table, mode="sum")
        return self.last(self.middle(x.relu()).relu()).log_softmax(-1)


class Buffer:
    """The newest samples, first in, first out."""

    def __init__(self, capacity: int) -> None:
        self.kept = Samples(
            np.zeros((capacity, 2 * WINDOW), np.float16), np.zeros((capacity, WINDOW), np.uint8), np.zeros(capacity, np.uint8)
        )
        self.size, self.at = 0, 0

    def add(self, samples: Samples) -> None:
        """Take in samples, oldest first; the oldest kept ones make room."""
        capacity = len(self.kept)
        rows = (self.at + np.arange(len(samples)))[-capacity:] % capacity
        for mine, theirs in zip(vars(self.kept).values(), vars(samples).values(), strict=True):
            mine[rows] = theirs[-capacity:]
        self.at = (self.at + len(samples)) % capacity
        self.size = min(self.size + len(samples), capacity)

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Random samples, with replacement: places, actions, labels."""
        rows = rng.integers(self.size, size=count)
        place, action, label = (torch.from_numpy(values[rows]) for values in vars(self.kept).values())
        return place, action, label.long()


class DiversityReward:
    """The discriminator at work in a method: `pay` decisions, then `learn` from them; the methods say whose they are.

    Without weight it costs nothing: no bonus, no update. Every worker keeps its own samples; gradients are
    averaged, so that all have the same weights.
    """

    def __init__(self, settings: Diversity, seed: int = 0) -> None:
        self.settings, self.seed = settings, seed
        self.network = Discriminator(settings, seed)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, fused=True)
        self.updates = 0
        self.begin(Group(), Rules().horizon)

    def begin(self, group: Group, horizon: int) -> None:
        """Before anything else: the workers that train together, and how many steps an episode may last."""
        self.group, self.warmup_steps = group, round(self.settings.warmup_fraction * horizon)
        self.buffer = Buffer(max(1, self.settings.buffer // group.size))
        self.fresh: list[Samples] = []
        self.tally = np.zeros(4)
        """Of this rollout: samples, samples told rightly, reward, decisions."""

    @property
    def needs(self) -> tuple[str, ...]:
        """What is to be stored with each decision (see `Method.needs`)."""
        return ("window",) if self.settings.weight else ()

    def pay(self, store: Store, label: np.ndarray, progress: float = 0.0) -> np.ndarray | None:
        """Bonus [N] float32 of the decisions of a learner, by the discriminator as it is now; label [N]: who made them.

        It is weight * log q(label | window at the end of the decision), 0 for open decisions and those that end in the warm-up
        part of the episode. No log K is added: with pay per decision that would pay for stalling. progress: the share of the
        stage that is done, for `late_weight`.
        """
        if not self.settings.weight:
            return None
        clock = store.clock + store.duration
        paid = np.flatnonzero(store.closed & (clock >= self.warmup_steps))
        samples = pack(store.window[paid], clock[paid], label[paid])
        told = self.log_probabilities(samples)
        right = told[np.arange(len(samples)), samples.label]
        bonus = np.zeros(store.size, np.float32)
        late = self.settings.late_weight
        if late is None or progress < LATE or not len(paid):
            bonus[paid] = self.settings.weight * right
        else:
            bonus[paid] = late * (right - right.mean())
        hits = np.count_nonzero(told.argmax(1) == samples.label)
        self.tally += np.array([len(samples), hits, bonus.sum(dtype=np.float64), np.count_nonzero(store.closed)])
        self.fresh.append(samples)
        return bonus

    @torch.no_grad()
    def log_probabilities(self, samples: Samples) -> np.ndarray:
        """Log q [N, K] float32 of samples."""
        place, action = torch.from_numpy(samples.place), torch.from_numpy(samples.action)
        parts = [self.network(p, a) for p, a in zip(place.split(SLICE), action.split(SLICE), strict=True)]
        return torch.cat(parts).numpy()

    def learn(self) -> dict[str, float]:
        """Take in what was paid since the last call, and train on random samples of the buffer; returns what is logged."""
        settings, group = self.settings, self.group
        if not settings.weight:
            return {}
        for samples in self.fresh:
            self.buffer.add(samples)
        # The generator is a function of the update alone, so there is nothing of it to be saved.
        rng = np.random.default_rng([self.seed, self.updates, group.rank])
        self.updates += 1
        told, right, reward, decisions = group.sums(self.tally)
        self.fresh, self.tally = [], np.zeros(4)
        logged = {"diversity_reward": reward / max(decisions, 1.0)}
        if told:
            logged["discriminator_accuracy"] = right / told
        if group.sum(self.buffer.size):
            count = max(1, settings.batch // group.size)
            losses = [self._learn(count, rng) for _ in range(settings.batches)]
            logged["discriminator_loss"] = group.sum(float(np.mean(losses))) / group.size
        return logged

    def _learn(self, count: int, rng: np.random.Generator) -> float:
        self.optimiser.zero_grad(set_to_none=True)
        loss = 0.0
        if self.buffer.size:
            place, action, label = self.buffer.draw(count, rng)
            error = nn.functional.nll_loss(self.network(place, action), label)
            error.backward()
            loss = error.item()
        self.group.average_gradients(self.network.parameters(), float(count if self.buffer.size else 0))
        self.optimiser.step()
        return loss

    def state(self) -> dict[str, np.ndarray]:
        """Weights, Adam's moments, the buffer and where it stands."""
        if not self.settings.weight:
            return {}
        arrays = {f"weights/{k}": v.numpy() for k, v in self.network.state_dict().items()}
        for k, moments in self.optimiser.state_dict()["state"].items():
            arrays |= {f"adam/{k}/{name}": torch.as_tensor(v).numpy() for name, v in moments.items()}
        arrays |= {f"buffer/{k}": v[: self.buffer.size] for k, v in vars(self.buffer.kept).items()}
        return arrays | {"counters": np.array([self.updates, self.buffer.at])}

    def load(self, state: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        if not self.settings.weight:
            return
        for name, tensor in self.network.state_dict().items():
            tensor.copy_(torch.from_numpy(state[f"weights/{name}"]))
        moments: dict[int, dict[str, Tensor]] = {}
        for key, values in state.items():
            if key.startswith("adam/"):
                _, number, name = key.split("/")
                # Files hold no arrays without axes; the count of steps is one.
                shape = () if name == "step" else values.shape
                moments.setdefault(int(number), {})[name] = torch.from_numpy(values.copy()).reshape(shape)
        self.optimiser.load_state_dict({"state": moments, "param_groups": self.optimiser.state_dict()["param_groups"]})
        self.updates, self.buffer.at = (int(number) for number in state["counters"])
        self.buffer.size = len(state["buffer/label"])
        for name, mine in vars(self.buffer.kept).items():
            mine[: self.buffer.size] = state[f"buffer/{name}"]
