"""Branches behind one encoder: each decides as a policy of its own would, whoever else is in the batch."""

from dataclasses import replace

import pytest
import torch

from housemates.policies.checkpoint import load_policy, save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Places, Policy
from housemates.policies.stacked import StackedPolicies
from housemates.training.ppo import replay

STATE = PolicyConfig.state(hidden=8, features=8, latent=3, branches=True)
CONFIGS = {
    "lstm": STATE,
    "two layers": replace(STATE, layers=2),
    "lstm of two layers": PolicyConfig.paper_predicates(hidden=8, latent=3, branches=True),
    "informed": replace(STATE, privileged=4),
    "pictures": PolicyConfig.laptop(hidden=8, features=8, latent=3, branches=True),
}
LATENT = torch.tensor([2, 0, 2, 2, 0])
"""Nobody goes through branch 1."""


def alone(policy: Policy, branch: int) -> Policy:
    """One branch and the encoder as a policy without latent."""
    single = Policy(replace(policy.config, latent=0, branches=False))
    weights = {}
    for name, tensor in policy.state_dict().items():
        if name.startswith("encoder."):
            weights[name] = tensor
        else:
            own = tensor[branch].t() if "weight" in name else tensor[branch, 0]
            weights[name.replace("memory.", "memory.cells.")] = own
    single.load_state_dict(weights)
    return single


def privileged(config: PolicyConfig, *batch: int) -> torch.Tensor | None:
    return torch.rand(*batch, config.privileged, generator=torch.Generator().manual_seed(5)) if config.privileged else None


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("what", ["logits", "value", "memory"])
def test_a_branch_acts_as_a_policy_of_its_own(config, what, observe):
    policy, n = Policy(config, seed=1), len(LATENT)
    obs, memory = observe(config, n), torch.randn(n, config.memory_size, generator=torch.Generator().manual_seed(1))
    shown = privileged(config, n)
    together = policy.act(obs, memory, LATENT, greedy=True, privileged=shown)
    for i, z in enumerate(LATENT.tolist()):
        one = {name: value[i : i + 1] for name, value in obs.items()}
        single = alone(policy, z).act(
            one, memory[i : i + 1], greedy=True, privileged=None if shown is None else shown[i : i + 1]
        )
        torch.testing.assert_close(getattr(together, what)[i], getattr(single, what)[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("what", ["log_prob", "entropy", "value"])
def test_a_branch_learns_from_sequences_as_a_policy_of_its_own(config, what, observe):
    policy, length, count = Policy(config, seed=1), 3, len(LATENT)
    obs, shown = observe(config, length, count), privileged(config, length, count)
    memory = torch.randn(count, config.memory_size, generator=torch.Generator().manual_seed(1))
    actions = torch.arange(length * count).view(length, count)
    together = policy.evaluate(obs, memory, actions, LATENT, shown)
    for i, z in enumerate(LATENT.tolist()):
        one = {name: value[:, i : i + 1] for name, value in obs.items()}
        single = alone(policy, z).evaluate(
            one, memory[i : i + 1], actions[:, i : i + 1], privileged=None if shown is None else shown[:, i : i + 1]
        )
        torch.testing.assert_close(getattr(together, what)[:, i], getattr(single, what)[:, 0], atol=1e-5, rtol=1e-5)


def test_chunks_of_different_lengths_and_branches_are_replayed_as_they_were_decided(observe):
    policy, index = Policy(STATE, seed=1), torch.tensor([[0, 6], [1, 7], [2, -1], [3, -1], [4, -1], [5, -1]])
    seen, memory = observe(STATE, 8), torch.zeros(8, STATE.memory_size)
    stored = {"memory": memory, "action": torch.arange(8), "latent": torch.tensor([2] * 6 + [0] * 2)}
    found = replay(policy, seen, stored, index)
    for rows, z in ((range(6), 2), (range(6, 8), 0)):
        one = {name: value[rows][:, None] for name, value in seen.items()}
        single = alone(policy, z).evaluate(one, memory[:1], torch.arange(8)[rows][:, None])
        for row in rows:
            torch.testing.assert_close(found.log_prob[found.at == row][0], single.log_prob[row - rows[0], 0])


def test_only_the_branch_that_acted_learns(observe):
    policy = Policy(STATE, seed=1)
    result = policy.evaluate(observe(STATE, 1, 2), policy.initial_memory(2), torch.zeros(1, 2).long(), torch.tensor([1, 1]))
    (result.log_prob.sum() + result.value.sum()).backward()
    moved = [parameter.grad.flatten(1).any(1).tolist() for parameter in (policy.actor.weight, policy.memory.weight_ih_l0)]
    assert moved == [[False, True, False]] * 2


def test_the_encoder_does_not_see_the_latent_that_chooses_a_branch():
    assert (
        Policy(STATE).encoder.embedding.in_features
        == Policy(replace(STATE, latent=0, branches=False)).encoder.embedding.in_features
    )


def test_branches_begin_with_different_weights():
    weights = Policy(STATE).memory.weight_ih_l0
    assert not torch.equal(weights[0], weights[1])


def test_a_policy_with_branches_survives_a_checkpoint(tmp_path, observe):
    policy = Policy(STATE, seed=1)
    save_policy(tmp_path / "policy", policy, {})
    again = load_policy(tmp_path / "policy")
    obs, memory = observe(STATE, 5), policy.initial_memory(5)
    assert torch.equal(again.act(obs, memory, LATENT, greedy=True).logits, policy.act(obs, memory, LATENT, greedy=True).logits)


def test_branches_without_latents_are_refused():
    with pytest.raises(ValueError, match="branches are chosen by a latent"):
        PolicyConfig.state(branches=True)


def test_policies_with_branches_cannot_be_stacked():
    with pytest.raises(ValueError, match="policies with branches cannot be stacked"):
        StackedPolicies([Policy(STATE)])


def test_a_latent_without_branch_is_refused(observe):
    with pytest.raises(ValueError, match="no branch 3 among 3"):
        Policy(STATE).act(observe(STATE, 1), torch.zeros(1, 16), torch.tensor([3]))


def test_a_memory_that_is_not_told_its_branches_is_refused():
    with pytest.raises(ValueError, match="must be told the branch"):
        Policy(STATE).memory(torch.zeros(1, 1, 8), torch.zeros(1, 16))


def test_rows_come_back_from_their_places():
    places, rows = Places(LATENT, 3), torch.arange(10.0).view(5, 2)
    assert places.spread(rows).shape == (3, 3, 2)
    assert torch.equal(places.gather(places.spread(rows)), rows)
