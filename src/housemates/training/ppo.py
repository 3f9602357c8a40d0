"""PPO for decisions of variable length: its settings, losses and updates, by torch or by the fused kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from housemates.fused.learner import Learner as FusedLearner
from housemates.policies.policy import Auxiliary, Policy
from housemates.training import fused_update
from housemates.training.algorithm import Algorithm
from housemates.training.distillation import TAUGHT
from housemates.training.distributed import Group
from housemates.training.partner_model import PartnerModel, sizes, targets
from housemates.training.path import choose
from housemates.training.popart import Scale
from housemates.training.sequences import Batched, advantages, chunks, links, minibatches
from housemates.training.store import Store

if TYPE_CHECKING:
    from housemates.training.settings import Training


@dataclass(frozen=True)
class PPO:
    """How a policy is improved from one rollout."""

    learning_rate: float = 5e-4
    """Of Adam."""
    anneal_lr: bool = True
    """Whether the learning rate falls linearly to zero over the run."""
    epochs: int = 2
    """Passes over the rollout."""
    num_minibatches: int = 2
    """Parts a pass is split into."""
    chunk: int = 16
    """Decisions that memory is trained through."""
    clip: float = 0.2
    """How far the policy may move, as a ratio."""
    clip_value: bool = True
    """Whether the value loss is clipped as well."""
    value_coef: float = 0.5
    """Of the value loss."""
    entropy: float = 0.0003
    """Weight of the entropy bonus at the beginning."""
    entropy_end: float | None = None
    """Its weight at the end, reached linearly; none keeps it."""
    entropy_near: float = 1.0
    """Factor of that bonus for decisions with a partner nearer than `near`; 1 explores everywhere alike."""
    near: float = 2.6
    """Metres; skills are first cut at 2.5."""
    max_grad_norm: float = 0.5
    """Gradients are scaled down to this norm."""
    per_step: bool = True
    """Count discount and gae_lambda per simulation step (else per decision, as the paper does)."""
    discount: float = 0.998
    """Of later rewards."""
    gae_lambda: float = 0.995
    """Of the advantage estimate (GAE lambda)."""
    normalise: bool = True
    """Whether advantages are normalised in each rollout."""
    normalise_value: bool = False
    """Whether the critic learns in units of the returns it has seen."""
    auxiliary: float = 0.0
    """Weight of heads that predict the ground truth from memory, in training only; 0 for none."""

    def __post_init__(self) -> None:
        for name in ("epochs", "num_minibatches", "chunk"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        if not 0 <= self.entropy_near < np.inf:
            raise ValueError(f"entropy_near = {self.entropy_near} - give a factor of at least 0, 1 for no change")
        if not 0 < self.near < np.inf:
            raise ValueError(f"near = {self.near} - give metres above 0")

    def left(self, share: float) -> tuple[float, float]:
        """Learning rate and entropy weight when a share (1 to 0) of the run is left."""
        end = self.entropy if self.entropy_end is None else self.entropy_end
        return self.learning_rate * (share if self.anneal_lr else 1.0), end + (self.entropy - end) * share


BLOCK = 16
"""Decisions the memory runs over at once in training, before chunks that have ended are left out."""

PAPER = PPO(
    learning_rate=3e-4,
    anneal_lr=False,
    chunk=128,
    entropy=0.001,
    max_grad_norm=0.2,
    per_step=False,
    discount=0.99,
    gae_lambda=0.95,
    normalise=False,
)
"""The paper's numbers (appendix C.3 and C.4)."""


def policy_loss(log_prob: Tensor, old: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Clipped surrogate loss of each decision [N]."""
    ratio = torch.exp(log_prob - old)
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def value_loss(value: Tensor, old: Tensor, target: Tensor, clip: float | None) -> Tensor:
    """Half the squared error of each decision [N]; with `clip` the larger of that and of the error of the clipped value."""
    loss = (value - target).square()
    if clip is not None:
        clipped = old + (value - old).clamp(-clip, clip)
        loss = torch.maximum(loss, (clipped - target).square())
    return 0.5 * loss


def prepare(store: Store, config: PPO, streams: int, bonus: np.ndarray | None = None, group: Group | None = None) -> Batched:
    """Advantages and chunks of a store; bonus [N] is paid on top of each decision's reward.

    Advantages are normalised over all workers of the group.
    """
    count = store.size
    following = np.empty(count, np.int64)
    links(store.stream, store.done, np.empty(streams, np.int64), following)
    reward = (store.discounted if config.per_step else store.reward).copy()
    if bonus is not None:
        reward += bonus
    out = np.empty(count, np.float32)
    advantages(
        reward, store.value, store.duration, store.done, following, config.discount, config.gae_lambda, config.per_step, out
    )
    target = out + store.value
    table = np.empty((count, config.chunk), np.int64)
    rows = chunks(store.stream, store.start, store.closed, config.chunk, streams, table)
    if config.normalise:
        kept = out[store.closed].astype(np.float64)
        number, total, squares = (group or Group()).sums(np.array([len(kept), kept.sum(), (kept**2).sum()]))
        if number > 0:
            mean = total / number
            out = ((out - mean) / (np.sqrt(max(squares / number - mean**2, 0.0)) + 1e-8)).astype(np.float32)
    return Batched(torch.from_numpy(table[:rows].copy()), torch.from_numpy(out), torch.from_numpy(target))


class Replay(NamedTuple):
    """What a policy now thinks of the n decisions of some chunks, in the order of `at`."""

    at: Tensor
    """[n] int64, which decisions of the store."""
    log_prob: Tensor
    entropy: Tensor
    value: Tensor
    """[n] each."""
    core: Tensor
    """[n, hidden] the memory's output."""
    log_probs: Tensor
    """[n, actions] of all actions."""


def replay(policy: Policy, seen: dict[str, Tensor], stored: dict[str, Tensor], index: Tensor) -> Replay:
    """Run a policy over chunks index [L, B] (padded with -1), longest first, from the memory stored with their first decisions.

    The same as `Policy.evaluate`, but encoders and heads see decisions alone, and the memory runs over BLOCK decisions of
    only those chunks that go on: nearly nothing is spent on padding.
    """
    blocks = [part[:, part[0] >= 0] for part in index.split(BLOCK)]
    places = [(block.flatten() >= 0).nonzero()[:, 0] for block in blocks]
    at = torch.cat([block.flatten()[place] for block, place in zip(blocks, places, strict=True)])
    latent = stored["latent"][at] if policy.config.latent else None
    x = policy.encoder({name: seen[name][at] for name in policy.config.observations}, latent)
    memory, cores = stored["memory"][index[0]], []
    # A latent is constant within a chunk, so the first decision's tells a chunk's branch.
    branch = stored["latent"][index[0]]
    for block, place, part in zip(blocks, places, x.split([len(place) for place in places]), strict=True):
        wide = part if len(place) == block.numel() else part.new_zeros(block.numel(), part.shape[1]).index_copy(0, place, part)
        going = block.shape[1]
        core, memory = policy.memory(wide.unflatten(0, block.shape), memory[:going], *policy.branch_args(branch[:going]))
        cores.append(core.flatten(0, 1)[place])
    core = torch.cat(cores)
    branches = policy.branch_args(latent)
    log_probs = policy.logits(core, latent, branches).log_softmax(-1)
    judged = policy.critic_input(core, seen["privileged"][at] if policy.config.informed else None)
    if judged is None:
        raise ValueError("an informed critic learns from `privileged`, which the store does not hold")
    chosen = log_probs.gather(-1, stored["action"][at][:, None])[:, 0]
    entropy = -(log_probs.exp() * log_probs).sum(-1)
    return Replay(at, chosen, entropy, policy.critic(judged, *branches)[:, 0], core, log_probs)


def update(
    policy: Policy,
    optimiser: torch.optim.Optimizer,
    store: Store,
    ready: Batched,
    config: PPO,
    rng: np.random.Generator,
    group: Group | None = None,
    entropy: float | None = None,
    scale: Scale | None = None,
    auxiliary: Auxiliary | None = None,
    model: PartnerModel | None = None,
    explore: np.ndarray | None = None,
    imitate: float = 0.0,
) -> dict[str, float]:
    """All passes over one rollout; returns means of what is logged, over this worker's decisions.

    entropy: its present weight (default: the config's); scale: the units of the critic; auxiliary: heads that learn along;
    model: what these predict of a partner; explore [N] float32: factor of the entropy bonus of each decision, default 1;
    imitate: weight of the teacher's actions, which the store then holds.
    """
    group, scale = group or Group(), scale or Scale()
    device = policy.actor.weight.device
    seen = {k: torch.from_numpy(v[: store.size]).to(device) for k, v in store.observations.items()}
    names = ("action", "log_prob", "value", "memory", "latent")
    stored = {k: torch.from_numpy(getattr(store, k)).to(device) for k in names}
    stored |= {"advantage": ready.advantage.to(device), "target": scale.unit(ready.target.to(device))}
    stored["value"] = scale.unit(stored["value"])
    known = None
    if auxiliary is not None:
        told = targets(store, config.auxiliary, model or PartnerModel())
        known = told, *(torch.from_numpy(values).to(device) for values in (told.bits, told.weight, told.label))
    factor = torch.from_numpy(np.ones(store.size, np.float32) if explore is None else explore).to(device)
    taught = torch.from_numpy(getattr(store, TAUGHT).astype(np.int64)).to(device) if imitate else None
    learnt: list[nn.Parameter] = [*policy.parameters(), *(auxiliary.parameters() if auxiliary is not None else ())]
    sums: dict[str, Tensor] = {}
    passes = 0
    for _ in range(config.epochs):
        for index in minibatches(ready.index, config.num_minibatches, rng):
            optimiser.zero_grad(set_to_none=True)
            if index.numel():
                result = replay(policy, seen, stored, index.to(device))
                losses = _losses(result, stored, config)
                weight = config.entropy if entropy is None else entropy
                bonus = (result.entropy * factor[result.at]).mean()
                loss = losses["policy_loss"] + config.value_coef * losses["value_loss"] - weight * bonus
                if auxiliary is not None and known is not None:
                    told, bits, each, label = known
                    missed = label[result.at] if auxiliary.classes else label
                    by_bit, by_class = auxiliary.losses(result.core, bits[result.at], missed)
                    loss = loss + (each * by_bit).sum() + told.label_weight * by_class
                    losses |= {"auxiliary_loss": by_bit.mean()} if auxiliary.bits else {}
                    losses |= {"partner_action_loss": by_class} if auxiliary.classes else {}
                if taught is not None:
                    losses["distillation_loss"] = _imitation(result.log_probs, taught[result.at])
                    loss = loss + imitate * losses["distillation_loss"]
                loss.backward()
            group.average_gradients(learnt, float((index >= 0).sum()))
            norm = nn.utils.clip_grad_norm_(learnt, config.max_grad_norm)
            if index.numel() or not group.alone:
                optimiser.step()
            if index.numel():
                losses["gradient_norm"] = norm
                for name, number in losses.items():
                    sums[name] = sums.get(name, 0.0) + number.detach()
                passes += 1
    return {name: float(total) / passes for name, total in sums.items()}


def _losses(result: Replay, stored: dict[str, Tensor], config: PPO) -> dict[str, Tensor]:
    """The losses of policy and critic of a minibatch, and how far the policy has moved, as means over its decisions."""
    old, advantage = stored["log_prob"][result.at], stored["advantage"][result.at]
    clip = config.clip if config.clip_value else None
    losses = {
        "policy_loss": policy_loss(result.log_prob, old, advantage, config.clip).mean(),
        "value_loss": value_loss(result.value, stored["value"][result.at], stored["target"][result.at], clip).mean(),
        "entropy": result.entropy.mean(),
    }
    with torch.no_grad():
        moved = result.log_prob - old
        losses["approx_kl"] = (moved.exp() - 1 - moved).mean()
        losses["clip_fraction"] = (moved.exp() - 1).abs().gt(config.clip).float().mean()
    return losses


def _imitation(log_probs: Tensor, taught: Tensor) -> Tensor:
    """Cross-entropy of the actions taught [n], mean over all n decisions; those below 0 were not taught and count nothing."""
    return -torch.where(taught >= 0, log_probs.gather(-1, taught.clamp(min=0)[:, None])[:, 0], 0.0).mean()


class PPOAlgorithm(Algorithm):
    """PPO of one learner: an auxiliary head beside the policy where it is asked for, and the path that computes."""

    name = "ppo"

    def optimise(self) -> torch.optim.Optimizer:
        """Adam over the policy and heads that exist in training only."""
        policy, model = self.learner.policy, self.training.partner_model
        self.head: Auxiliary | None = None
        truths = self.batch.observation("predicates")[0][0]
        bits, classes = sizes(self.training.ppo.auxiliary, truths, model, self.batch.robots)
        if bits or classes:
            head = Auxiliary(policy.config.hidden, bits, self.index, classes)
            self.head = head.to(policy.actor.weight.device)
        optimiser = super().optimise()
        self.fused = FusedLearner(policy, optimiser, self.head) if self.path == "fused" else None
        return optimiser

    @classmethod
    def choose_path(cls, training: Training, policies: Sequence[Policy], device: str, group: Group) -> str:
        """The fused path where all learners can take it."""
        return choose(training.learner, policies, device, group)

    @property
    def observations(self) -> tuple[str, ...]:
        """Those of the policy and of an informed critic, the truths that the head learns, and what tells where partners are."""
        more = [("predicates", self.training.ppo.auxiliary), ("state", self._explores_near)]
        return (*super().observations, *(name for name, wanted in more if wanted))

    @property
    def _explores_near(self) -> bool:
        """Whether decisions near a partner have another entropy bonus."""
        return self.training.ppo.entropy_near != 1 and self.batch.robots > 1

    @property
    def labels(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """What is predicted of partners, and what a teacher says."""
        return self.training.partner_model.columns(self.batch.robots) | self.training.distillation.columns()

    def networks(self) -> dict[str, nn.Module]:
        """The policy and its head."""
        return super().networks() | ({} if self.head is None else {"head": self.head})

    def update(
        self, store: Store, streams: int, bonus: np.ndarray | None, rng: np.random.Generator, left: float
    ) -> dict[str, float]:
        """All passes over one rollout."""
        config, policy, scale = self.training.ppo, self.learner.policy, self.learner.scale
        more = {"model": self.training.partner_model, "imitate": self.training.distillation.weight}
        rate, entropy = config.left(left)
        self.set_rate(rate)
        ready = prepare(store, config, streams, bonus, self.group)
        if config.normalise_value:
            scale.follow(ready.target.numpy()[store.closed], policy.critic, self.group)
        explore = None
        if self._explores_near:
            explore = exploration(store.observations["state"][: store.size], self.batch.robots, config)
        if self.fused is not None:
            args = store, ready, config, rng, rate, self.group, entropy, scale
            return fused_update.update(self.fused, *args, explore=explore, **more)
        args = store, ready, config, rng, self.group, entropy, scale, self.head
        return update(policy, self.optimiser, *args, explore=explore, **more)


def exploration(state: np.ndarray, robots: int, config: PPO) -> np.ndarray:
    """Factors [N] float32 of the entropy bonus of decisions that saw state [N, D] (the sensor of that name)."""
    # The last numbers are distance and heading of every partner, the nearest first.
    distance = state[:, state.shape[1] - 2 * (robots - 1)]
    return np.where(distance < config.near, config.entropy_near, 1.0).astype(np.float32)
