"""A policy: observations and memory in, decisions and new memory out; for acting, and for learning from sequences.

Memory is one flat tensor per robot that the caller keeps; zeros at an episode start. Nothing here knows who plays whom.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from housemates.policies.branches import BranchedLinear, BranchedMemory, Places, branched
from housemates.policies.config import PolicyConfig
from housemates.policies.networks import Encoder, Memory
from housemates.policies.pictures import orthogonal


class Action(NamedTuple):
    """What n robots decided."""

    action: Tensor
    """[n] int64."""
    log_prob: Tensor
    """[n] log probability of the action under the policy, also when it was chosen greedily."""
    value: Tensor
    """[n] the critic's estimate; nan from an informed critic that was not shown `privileged`."""
    memory: Tensor
    """[n, M] to hand in at the same robots' next decision."""
    logits: Tensor
    """[n, actions]."""


class Evaluation(NamedTuple):
    """What the policy now thinks of L decisions of each of B sequences."""

    log_prob: Tensor
    """[L, B] log probability of the actions that were taken."""
    entropy: Tensor
    """[L, B] nats."""
    value: Tensor
    """[L, B]."""
    core: Tensor
    """[L, B, hidden] the memory's output, which auxiliary heads read."""
    logits: Tensor
    """[L, B, actions]."""


class Policy(nn.Module):
    """A network of the given config; the same config and seed give the same weights, whatever was drawn before."""

    def __init__(self, config: PolicyConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = Encoder(config)
            if config.branches:
                self.memory = BranchedMemory(config, self.encoder.width)
                self.actor = BranchedLinear([_actor(config) for _ in range(config.latent)])
                self.critic = branched([_critic(config) for _ in range(config.latent)])
            else:
                self.memory = Memory(config, self.encoder.width)
                self.actor = _actor(config)
                self.critic = _critic(config)
            self.taste = nn.Parameter(torch.randn(config.latent, config.actions) * config.taste) if config.taste else None
        self.to(memory_format=torch.channels_last)  # ty: ignore[no-matching-overload]

    def initial_memory(self, n: int) -> Tensor:
        """Memory [n, M] of robots at the start of an episode."""
        return torch.zeros(n, self.config.memory_size, device=self.actor.weight.device)

    @torch.inference_mode()
    def act(
        self,
        obs: dict[str, Tensor],
        memory: Tensor,
        latent: Tensor | None = None,
        greedy: bool = False,
        generator: torch.Generator | None = None,
        privileged: Tensor | None = None,
    ) -> Action:
        """One decision of each of n robots.

        obs: named observations [n, ...]; memory [n, M]; latent [n] int64 if the config has one; privileged [n, P] for an
        informed critic. Sampling draws n numbers from `generator` (torch's own without one), greedy draws none.
        """
        self.check(obs, (len(memory),), memory, latent)
        way = self.way(latent)
        core, after = self.memory.step(self.encoder(obs, latent), memory, *way)
        seen = self.critic_input(core, privileged)
        value = None if seen is None else self.critic(seen, *way)[:, 0]
        return finish(self.logits(core, latent, way), value, after, greedy, generator)

    def evaluate(
        self,
        obs: dict[str, Tensor],
        memory: Tensor,
        actions: Tensor,
        latent: Tensor | None = None,
        privileged: Tensor | None = None,
    ) -> Evaluation:
        """Decisions of B sequences of length L, each within one episode, with gradients.

        obs: named observations [L, B, ...]; memory [B, M] before the first; actions [L, B] int64; latent [B] or [L, B];
        privileged [L, B, P] for an informed critic.
        """
        length, count = actions.shape
        if latent is not None and latent.dim() == 1:
            latent = latent.expand(length, count)
        self.check(obs, (length, count), memory, latent)
        if memory.is_inference():
            memory = memory.clone()  # autograd cannot save what `act` returned
        flat = {name: obs[name].flatten(0, 1) for name in self.config.observations}
        x = self.encoder(flat, None if latent is None else latent.flatten())
        # A latent is constant within an episode, so the first tells a sequence's branch.
        core, _ = self.memory(x.unflatten(0, (length, count)), memory, *self.way(None if latent is None else latent[0]))
        seen = self.critic_input(core, privileged)
        if seen is None:
            raise ValueError(f"the critic takes {self.config.privileged} privileged numbers and was given none")
        way = self.way(latent)
        logits = self.logits(core, latent, way)
        log_probs = logits.log_softmax(-1)
        chosen = log_probs.gather(-1, actions[..., None])[..., 0]
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        return Evaluation(chosen, entropy, self.critic(seen, *way)[..., 0], core, logits)

    def way(self, latent: Tensor | None) -> tuple[Places, ...]:
        """What memory, actor and critic are given beside their inputs: the branches of rows with latents [...], if any."""
        return (Places(latent.flatten(), self.config.latent),) if self.config.branches and latent is not None else ()

    def logits(self, core: Tensor, latent: Tensor | None, way: tuple[Places, ...] = ()) -> Tensor:
        """Logits [..., actions] of core [..., hidden] and latent [...]; way: see `way`."""
        logits = self.actor(core, *way)
        return logits if self.taste is None or latent is None else logits + self.taste[latent]

    def critic_input(self, core: Tensor, privileged: Tensor | None) -> Tensor | None:
        """What the critic reads: core [..., hidden], joined by privileged [..., P] if it is informed; None if that lacks."""
        if privileged is None:
            return None if self.config.informed else core
        if privileged.shape[-1] != self.config.privileged:
            given = privileged.shape[-1]
            raise ValueError(f"the critic takes {self.config.privileged} privileged numbers and was given {given}")
        return torch.cat([core, privileged.to(core.dtype)], -1)

    def check(self, obs: dict[str, Tensor], batch: tuple[int, ...], memory: Tensor, latent: Tensor | None) -> None:
        """Refuse inputs that do not fit the config; batch is (n,) for acting and (L, B) for sequences."""
        for name in self.config.observations:
            if name not in obs:
                raise ValueError(f"the policy sees {name}, which was not given - add it to the observations")
            expected = (*batch, *self.config.shape(name))
            if obs[name].shape != expected:
                raise ValueError(f"the policy sees {name} of shape {list(expected)} and was given {list(obs[name].shape)}")
        expected = (batch[-1], self.config.memory_size)
        if memory.shape != expected:
            raise ValueError(f"the policy has a memory of shape {list(expected)} and was given {list(memory.shape)}")
        if (latent is not None) != (self.config.latent > 0) or (latent is not None and latent.shape != batch):
            given = "none" if latent is None else f"one of shape {list(latent.shape)}"
            wanted = f"one of {self.config.latent} of shape {list(batch)}" if self.config.latent else "none"
            raise ValueError(f"the policy takes as latent {wanted} and was given {given}")


def _actor(config: PolicyConfig) -> nn.Linear:
    actor = nn.Linear(config.hidden, config.actions)
    orthogonal(actor, 0.01)
    return actor


def _critic(config: PolicyConfig) -> nn.Module:
    """One linear layer as in the paper; an informed critic first mixes the memory with what it is shown."""
    if not config.informed:
        last = nn.Linear(config.hidden, 1)
        orthogonal(last, 1.0)
        return last
    mix, last = nn.Linear(config.hidden + config.privileged, config.hidden), nn.Linear(config.hidden, 1)
    orthogonal(mix, 2**0.5)
    orthogonal(last, 1.0)
    return nn.Sequential(mix, nn.ReLU(inplace=True), last)


def finish(logits: Tensor, value: Tensor | None, memory: Tensor, greedy: bool, generator: torch.Generator | None) -> Action:
    """Choose actions from logits [n, actions]; a value that is not known becomes nan."""
    log_probs = logits.log_softmax(-1)
    action = logits.argmax(-1) if greedy else _sample(log_probs, generator)
    if value is None:
        value = torch.full_like(log_probs[:, 0], torch.nan)
    return Action(action, log_probs.gather(-1, action[:, None])[:, 0], value, memory, logits)


def _sample(log_probs: Tensor, generator: torch.Generator | None) -> Tensor:
    """Actions [n] by inverting the cumulative distribution at one uniform number per row."""
    cumulative = log_probs.exp().cumsum(-1)
    drawn = torch.rand(len(log_probs), 1, generator=generator, device=log_probs.device) * cumulative[:, -1:]
    # The last bin ends at 1, which no draw reaches but by rounding, so only the others are counted.
    return (cumulative[:, :-1] <= drawn).sum(-1)
