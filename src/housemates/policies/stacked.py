"""Several policies of one shape that act in one call, by batched matrix products; for networks without pictures only.

Small calls are mostly overhead: with eight policies this is two to four times as fast as one call each for up to some 16
robots per policy, equal near 64 and slower beyond. With pictures the encoders' own work takes the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from housemates.policies.policy import Action, Places, Policy, finish, recur


class StackedPolicies:
    """Copies of N policies' weights; `refresh` after the policies have changed."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        config = policies[0].config
        if any(policy.config != config for policy in policies):
            raise ValueError("policies of different configs cannot be stacked - let each act by itself")
        if config.pictures:
            raise ValueError(f"policies that see {config.pictures[0]} cannot be stacked - let each act by itself")
        if config.branches:
            raise ValueError("policies with branches cannot be stacked - let each act by itself")
        self.policies, self.config = tuple(policies), config
        self.latent_logits: list[Tensor] = [
            policy.latent_logits for policy in self.policies if policy.latent_logits is not None
        ]
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Copy the policies' present weights: matrices [N, inputs, outputs] and biases [N, 1, outputs], by layer."""
        self.layers: dict[str, tuple[Tensor, Tensor]] = {}
        states = [policy.state_dict() for policy in self.policies]
        for name in states[0]:
            if "weight" in name:
                bias = name.replace("weight", "bias")
                self.layers[name] = (
                    torch.stack([state[name].t() for state in states]),
                    torch.stack([state[bias] for state in states])[:, None],
                )

    @torch.inference_mode()
    def act(
        self,
        obs: dict[str, Tensor],
        memory: Tensor,
        member: Tensor,
        latent: Tensor | None = None,
        greedy: bool = False,
        generator: torch.Generator | None = None,
        privileged: Tensor | None = None,
    ) -> Action:
        """`Policy.act` for n robots of which robot i is moved by policy member[i], [n] int64, in any order."""
        first = self.policies[0]
        first.check(obs, (len(memory),), memory, latent)
        vectors = first.encoder.vectors(obs, latent)
        try:
            places = Places(member, len(self.policies))
        except ValueError as error:
            raise ValueError(f"no member {int(member.max())} among {len(self.policies)} stacked policies") from error
        x = places.spread(vectors)
        if first.encoder.embedding is not None:
            x = self._linear("encoder.embedding.weight", x).relu_()
        core, after = self._remember(x, places.spread(memory))
        seen = first.critic_input(core, None if privileged is None else places.spread(privileged.to(core.dtype)))
        value = None
        if seen is not None:
            if isinstance(first.critic, nn.Sequential):
                seen = self._linear("critic.0.weight", seen).relu_()
            last = "critic.2.weight" if isinstance(first.critic, nn.Sequential) else "critic.weight"
            value = places.gather(self._linear(last, seen))[:, 0]
        logits = places.gather(self._linear("actor.weight", core))
        if self.latent_logits and latent is not None:
            logits = logits + torch.stack(self.latent_logits)[member, latent]
        return finish(logits, value, places.gather(after), greedy, generator)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        weight, bias = self.layers[name]
        return torch.baddbmm(bias, x, weight)

    def _remember(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs [N, k, width] and memory [N, k, M] to outputs [N, k, hidden] and memory, as `Memory.step`."""
        states = memory.unflatten(2, (2, self.config.layers, self.config.hidden))
        after = torch.empty_like(states)
        for layer in range(self.config.layers):
            h = states[:, :, 0, layer]
            fresh = self._linear(f"memory.cells.weight_ih_l{layer}", x)
            past = self._linear(f"memory.cells.weight_hh_l{layer}", h)
            x, after[:, :, 1, layer] = recur(fresh, past, states[:, :, 1, layer])
            after[:, :, 0, layer] = x
        return x, after.flatten(2)
