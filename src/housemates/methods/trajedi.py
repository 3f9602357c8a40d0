"""TrajeDi: a population that is also paid for telling its members apart by what they decide (Lupu et al. 2021).

The pay is the undiscounted Jensen-Shannon divergence of the members' trajectories as a reward at the end of each episode
(spec section 10): log pi_i(tau) - log mean_j pi_j(tau), where tau is one robot's own sequence of observations and decisions
and i the member that moved it. Everything else is PBT.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from housemates.methods.self_play import PBT, PopulationSettings
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.batch import Batch
from housemates.training.distributed import Group
from housemates.training.sequences import chunks
from housemates.training.store import Store

SATURATED = 0.99
"""Share of log n above which an episode's divergence counts as saturated: it tells its member apart, more pay is impossible."""


@dataclass(frozen=True)
class TrajeDiSettings(PopulationSettings):
    """PBT's settings, and what being different is worth."""

    weight: float = 0.1
    """Reward per nat of divergence at the end of an episode; no policy earns more than weight * log(members)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weight >= 0:
            raise ValueError(f"weight = {self.weight} - it must not be negative")


class TrajeDi(PBT):
    """Teams as in PBT; at the end of an episode a member is paid for having decided as only it would."""

    def __init__(self, config: PolicyConfig, robots: int = 2, seed: int = 0, settings: TrajeDiSettings | None = None) -> None:
        chosen = settings or TrajeDiSettings()
        super().__init__(config, robots, seed, chosen)
        self.weight = chosen.weight
        self.likelihoods = Likelihoods(self.policies)
        self.seen: list[np.ndarray] = []

    def begin(self, group: Group, batch: Batch) -> None:
        """One running episode for each robot of each home."""
        super().begin(group, batch)
        self.likelihoods = Likelihoods(self.policies, batch.size * batch.robots)

    def bonus(self, player: int, store: Store) -> np.ndarray | None:
        """The divergence of each robot's episode [N], on the decision that it ended with."""
        log_probs, ended = self.likelihoods.read(store), store.closed & store.done
        paid = np.zeros(store.size, np.float32)
        found = divergence(log_probs[ended], player)
        paid[ended] = self.weight * found
        self.seen.append(found)
        return paid

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """The divergence in nats over all robots' episodes of this rollout, and how many of them could not be paid more."""
        self.likelihoods.end()
        found, self.seen = np.concatenate([*self.seen, np.zeros(0)]), []
        most = np.log(len(self.policies))
        sums = np.array([len(found), found.sum(), (found > SATURATED * most).sum()], np.float64)
        number, total, saturated = self.group.sums(sums)
        # A rollout in which no episode has ended tells nothing.
        return {"jsd": float(total / number), "jsd_saturated": float(saturated / number)} if number else {}

    def state(self) -> dict[str, np.ndarray]:
        """The running episodes."""
        return {"memory": self.likelihoods.memory, "sums": self.likelihoods.sums}

    def load(self, state: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        self.likelihoods.memory, self.likelihoods.sums = state["memory"].copy(), state["sums"].copy()


class Likelihoods:
    """How likely each of n policies finds the running episode of each of S streams, from one rollout to the next.

    Every decision is judged by the policies as they are at the update of its rollout, with the memories they would have
    had they watched the episode from its start; like those of the players, memories are kept when the policies change.
    """

    def __init__(self, policies: Sequence[Policy], streams: int = 0) -> None:
        config = policies[0].config
        self.policies = list(policies)
        self.judges: list[Policy] | None = None
        """Copies of the policies from the first store of an update to the last: the trainer changes one after the other."""
        self.memory = np.zeros((streams, len(self.policies), config.memory_size), np.float32)
        """[S, n, M] after the last closed decision of each running episode."""
        self.sums = np.zeros((streams, len(self.policies)))
        """[S, n] log probability of the running episode's decisions so far."""
        # What a rollout leaves behind is kept apart until it is over: the episode that ends in a stream and the one that begins
        # there may belong to different members, whose stores are read in any order.
        self.later = self.memory, self.sums

    def begin(self) -> None:
        """Once before the stores of a rollout are read: look at the policies as they are now."""
        if self.judges is None:
            self.judges = [copy.deepcopy(policy).requires_grad_(False) for policy in self.policies]
            self.later = self.memory.copy(), self.sums.copy()

    def end(self) -> None:
        """Once after the stores of a rollout were read: what they left behind is where the next ones go on."""
        self.judges = None
        self.memory, self.sums = self.later

    @torch.inference_mode()
    def read(self, store: Store) -> np.ndarray:
        """Log probabilities [N, n] of a robot's episode up to and including each closed decision; zero for open ones."""
        self.begin()
        total = np.zeros((store.size, len(self.policies)))
        index = episodes(store, len(self.sums))
        if not len(index):
            return total
        first, stream = index[:, 0], store.stream[index[:, 0]]
        goes_on = ~store.start[first, None]
        memory = torch.from_numpy(np.where(goes_on[..., None], self.memory[stream], 0.0))
        there = index.T >= 0
        at, counts = index.T[there], there.sum(1).tolist()
        seen = {name: torch.from_numpy(store.observations[name][at]) for name in self.policies[0].config.observations}
        action = torch.from_numpy(store.action[at])
        grid = np.zeros((*there.shape, len(self.policies)))
        for j, judge in enumerate(self.judges or ()):
            log_prob, memory[:, j] = watch(judge, seen, action, counts, memory[:, j])
            grid[there, j] = log_prob.double().numpy()
        total[at] = (np.where(goes_on, self.sums[stream], 0.0) + grid.cumsum(0))[there]
        last = index[np.arange(len(index)), there.sum(0) - 1]
        running = ~store.done[last]
        self.later[0][stream[running]] = memory.numpy()[running]
        self.later[1][stream[running]] = total[last[running]]
        return total


def watch(policy: Policy, seen: dict[str, Tensor], action: Tensor, counts: list[int], memory: Tensor) -> tuple[Tensor, Tensor]:
    """Log probabilities [N] a policy gives to decisions it watches, and its memories [B, M] after them.

    seen [N, ...] and action [N] are the first decisions of all B episodes, then the second ones of the counts[1] episodes that
    have one, and so on; longer episodes come first. memory [B, M] is what the policy remembers before them.
    """
    device = policy.actor.weight.device
    memory = memory.to(device, copy=True)
    x, cores = policy.encoder({name: values.to(device) for name, values in seen.items()}, None), []
    for part in x.split(counts):
        core, memory[: len(part)] = policy.memory.step(part, memory[: len(part)])
        cores.append(core)
    log_probs = policy.actor(torch.cat(cores)).log_softmax(-1)
    return log_probs.gather(-1, action.to(device)[:, None])[:, 0].cpu(), memory.cpu()


def episodes(store: Store, streams: int) -> np.ndarray:
    """Closed decisions of each part of an episode in a store: indices [B, L], padded with -1, longest first."""
    most = int(np.bincount(store.stream[store.closed], minlength=1).max())
    table = np.empty((store.size, most), np.int64)
    found = table[: chunks(store.stream, store.start, store.closed, most, streams, table)] if most else table[:0]
    return found[np.argsort(-(found >= 0).sum(1), kind="stable")]


def divergence(log_probs: np.ndarray, member: int) -> np.ndarray:
    """log pi_i(tau) - log mean_j pi_j(tau) of trajectories with log_probs [K, n] under all members; at most log n.

    Its mean over trajectories of all members is their Jensen-Shannon divergence.
    """
    return log_probs[:, member] - np.logaddexp.reduce(log_probs, axis=1) + np.log(log_probs.shape[1])
