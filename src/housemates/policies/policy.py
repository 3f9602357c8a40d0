"""A recurrent policy with its critic: one network, several branches behind one encoder, and auxiliary heads.

Auxiliary heads exist in training only: they predict ground truth from the memory and are part of no checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from housemates.policies.config import PolicyConfig
from housemates.policies.encoders import Encoder, Memory, orthogonal

UNKNOWN_CLASS = -1
"""What is not known is not learned."""


class Auxiliary(nn.Module):
    """Predicts bits and one of some classes from the memory's output: core [..., core_size] to logits [..., bits + classes]."""

    def __init__(self, core_size: int, bits: int, seed: int = 0, classes: int = 0) -> None:
        super().__init__()
        self.bits, self.classes = bits, classes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head = nn.Linear(core_size, bits + classes)
            orthogonal(self.head, 0.1)

    def forward(self, core: Tensor) -> Tensor:
        return self.head(core)

    def losses(self, core: Tensor, bits: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Mean over n decisions of the binary cross-entropy of each of the bits [n, bits], nats: [bits]; and of the
        cross-entropy of the classes label [n], where they are not below 0, nats: a number."""
        truths, classes = self(core).split([self.bits, self.classes], -1)
        each = nn.functional.binary_cross_entropy_with_logits(truths, bits.to(core.dtype), reduction="none").mean(0)
        if not self.classes:
            return each, each.new_zeros(())
        wrong = nn.functional.cross_entropy(classes, label, ignore_index=UNKNOWN_CLASS, reduction="sum")
        return each, wrong / len(label)


class Places:
    """Where n rows go in a table [K, most]: each branch's rows fill the first places of its line, in their order."""

    def __init__(self, branch: Tensor, branches: int) -> None:
        """branch [n] int64: which of the branches each row goes through."""
        counts = torch.bincount(branch, minlength=branches)
        if len(counts) > branches:
            raise ValueError(f"no branch {len(counts) - 1} among {branches}")
        self.branches, self.most = branches, max(int(counts.max()), 1)
        order = branch.argsort(stable=True)
        line = branch[order]
        rank = torch.arange(len(branch), device=branch.device) - (counts.cumsum(0) - counts)[line]
        self.place = torch.empty_like(branch)
        self.place[order] = line * self.most + rank

    def spread(self, x: Tensor) -> Tensor:
        """Rows [n, ...] in their places [K, most, ...]; empty places are zero, and what becomes of them is not read."""
        table = x.new_zeros(self.branches * self.most, *x.shape[1:])
        return table.index_copy(0, self.place, x).unflatten(0, (self.branches, self.most))

    def gather(self, x: Tensor) -> Tensor:
        """The inverse of `spread`."""
        return x.flatten(0, 1)[self.place]


def recur(fresh: Tensor, past: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: what the input and the old h give [..., 4 hidden], and the old c, to the new h and c."""
    enter, keep, content, show = (fresh + past).chunk(4, -1)
    c = keep.sigmoid() * c + enter.sigmoid() * content.tanh()
    return show.sigmoid() * c.tanh(), c


class BranchedLinear(nn.Module):
    """K linear layers as weight [K, inputs, outputs] and bias [K, 1, outputs]."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        """Begins as these layers are."""
        super().__init__()
        self.weight = nn.Parameter(torch.stack([layer.weight.detach().t() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach()[None] for layer in layers]))

    def forward(self, x: Tensor, places: Places) -> Tensor:
        """Rows [..., inputs] to [..., outputs]; the places are those of the rows one after the other."""
        rows = places.spread(x.flatten(0, -2))
        return places.gather(torch.baddbmm(self.bias, rows, self.weight)).unflatten(0, x.shape[:-1])


class BranchedSequential(nn.Sequential):
    """Branched layers, and others without weights in between."""

    def forward(self, x: Tensor, places: Places) -> Tensor:  # ty: ignore[incompatible-method-override]
        for layer in self:
            x = layer(x, places) if isinstance(layer, BranchedLinear) else layer(x)
        return x


class BranchedMemory(nn.Module):
    """K memories; takes and gives what `Memory` does, and knows by the places which stream belongs to which."""

    def __init__(self, config: PolicyConfig, inputs: int) -> None:
        super().__init__()
        self.layers, self.hidden = config.layers, config.hidden
        memories = [Memory(config, inputs).cells for _ in range(config.latent)]
        for name, _ in memories[0].named_parameters():
            each = [getattr(cells, name).detach() for cells in memories]
            stacked = torch.stack([x.t() if x.dim() == 2 else x[None] for x in each])
            self.register_parameter(name, nn.Parameter(stacked))

    def forward(self, x: Tensor, memory: Tensor, places: Places | None = None) -> tuple[Tensor, Tensor]:
        """Inputs [L, n, width] and memory [n, M] before them to outputs [L, n, hidden] and memory [n, M] after them."""
        if places is None:
            raise ValueError("a memory with branches must be told the branch of each stream - see Policy.branch_args")
        length = len(x)
        states = places.spread(memory).unflatten(2, (2, self.layers, self.hidden))
        x = places.spread(x.transpose(0, 1))
        ends = []
        for layer in range(self.layers):
            h, c = states[:, :, 0, layer], states[:, :, 1, layer]
            fresh = self._linear(f"ih_l{layer}", x.flatten(1, 2)).unflatten(1, (-1, length))
            shown = []
            for t in range(length):
                h, c = recur(fresh[:, :, t], self._linear(f"hh_l{layer}", h), c)
                shown.append(h)
            x = torch.stack(shown, 2)
            ends.append(torch.stack((h, c), 2))
        after = torch.stack(ends, 3).flatten(2)
        return places.gather(x).transpose(0, 1), places.gather(after)

    def step(self, x: Tensor, memory: Tensor, places: Places | None = None) -> tuple[Tensor, Tensor]:
        """`forward` for a single decision, [n, width] to [n, hidden]."""
        core, after = self(x[None], memory, places)
        return core[0], after

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return torch.baddbmm(getattr(self, f"bias_{name}"), x, getattr(self, f"weight_{name}"))


def branched(made: Sequence[nn.Module]) -> BranchedLinear | BranchedSequential:
    """Networks of linear layers, one for each branch, as one."""
    first = made[0]
    if isinstance(first, nn.Linear):
        return BranchedLinear([layer for layer in made if isinstance(layer, nn.Linear)])
    columns = zip(*(network.children() for network in made), strict=True)
    return BranchedSequential(*(branched(c) if isinstance(c[0], nn.Linear) else c[0] for c in columns))


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
            self.latent_logits = (
                nn.Parameter(torch.randn(config.latent, config.actions) * config.latent_logit_std)
                if config.latent_logit_std
                else None
            )
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
        branches = self.branch_args(latent)
        core, after = self.memory.step(self.encoder(obs, latent), memory, *branches)
        seen = self.critic_input(core, privileged)
        value = None if seen is None else self.critic(seen, *branches)[:, 0]
        return finish(self.logits(core, latent, branches), value, after, greedy, generator)

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
        core, _ = self.memory(x.unflatten(0, (length, count)), memory, *self.branch_args(None if latent is None else latent[0]))
        seen = self.critic_input(core, privileged)
        if seen is None:
            raise ValueError(f"the critic takes {self.config.privileged} privileged numbers and was given none")
        branches = self.branch_args(latent)
        logits = self.logits(core, latent, branches)
        log_probs = logits.log_softmax(-1)
        chosen = log_probs.gather(-1, actions[..., None])[..., 0]
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        return Evaluation(chosen, entropy, self.critic(seen, *branches)[..., 0], core, logits)

    def branch_args(self, latent: Tensor | None) -> tuple[Places, ...]:
        """What memory, actor and critic are given beside their inputs: the branches of rows with latents [...], if any."""
        return (Places(latent.flatten(), self.config.latent),) if self.config.branches and latent is not None else ()

    def logits(self, core: Tensor, latent: Tensor | None, branches: tuple[Places, ...] = ()) -> Tensor:
        """Logits [..., actions] of core [..., hidden] and latent [...]; branches: see `branch_args`."""
        logits = self.actor(core, *branches)
        return logits if self.latent_logits is None or latent is None else logits + self.latent_logits[latent]

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
