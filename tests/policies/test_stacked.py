"""Stacked policies decide what each of them would have decided alone."""

import pytest
import torch

from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.policies.stacked import StackedPolicies

CONFIGS = {
    "lstm": PolicyConfig.state(hidden=16),
    "two layers": PolicyConfig.predicates(hidden=16, layers=2, latent=3),
    "tastes": PolicyConfig.state(hidden=16, latent=3, latent_logit_std=0.7),
    "informed": PolicyConfig.blind(hidden=16, privileged=4),
    "paper": PolicyConfig.paper_predicates(hidden=16, latent=3),
}
MEMBER = torch.tensor([2, 0, 2, 2, 0, 3, 2])
"""Nobody is moved by member 1."""


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("what", ["logits", "value", "memory"])
def test_stacked_policies_agree_with_each_member(config, what, observe):
    policies = [Policy(config, seed=s) for s in range(4)]
    n = len(MEMBER)
    obs, memory = observe(config, n), torch.randn(n, config.memory_size, generator=torch.Generator().manual_seed(1))
    latent = torch.arange(n) % config.latent if config.latent else None
    privileged = torch.rand(n, config.privileged) if config.privileged else None
    together = StackedPolicies(policies).act(obs, memory, MEMBER, latent, greedy=True, privileged=privileged)
    for i, m in enumerate(MEMBER.tolist()):
        alone = policies[m].act(
            {name: value[i : i + 1] for name, value in obs.items()},
            memory[i : i + 1],
            None if latent is None else latent[i : i + 1],
            greedy=True,
            privileged=None if privileged is None else privileged[i : i + 1],
        )
        torch.testing.assert_close(getattr(together, what)[i], getattr(alone, what)[0], atol=1e-5, rtol=1e-5)


def test_refreshing_takes_over_what_was_learnt(observe):
    config = CONFIGS["lstm"]
    policies = [Policy(config, seed=s) for s in range(2)]
    stacked = StackedPolicies(policies)
    torch.nn.init.constant_(policies[1].critic.bias, 100.0)
    stacked.refresh()
    done = stacked.act(observe(config, 2), policies[0].initial_memory(2), torch.tensor([0, 1]))
    assert (done.value > 50).tolist() == [False, True]


def test_no_robots_are_no_problem(observe):
    stacked = StackedPolicies([Policy(CONFIGS["lstm"])])
    done = stacked.act(observe(CONFIGS["lstm"], 0), torch.zeros(0, 32), torch.zeros(0, dtype=torch.int64))
    assert done.action.shape == (0,)


def test_an_unknown_member_is_refused(observe):
    stacked = StackedPolicies([Policy(CONFIGS["lstm"])])
    with pytest.raises(ValueError, match=r"member.*5.*1 stacked"):
        stacked.act(observe(CONFIGS["lstm"], 1), torch.zeros(1, 32), torch.tensor([5]))


def test_policies_of_different_shapes_cannot_be_stacked():
    with pytest.raises(ValueError, match="different configs"):
        StackedPolicies([Policy(CONFIGS["lstm"]), Policy(CONFIGS["two layers"])])


def test_policies_that_see_pictures_cannot_be_stacked():
    with pytest.raises(ValueError, match="policies that see depth cannot be stacked"):
        StackedPolicies([Policy(PolicyConfig.laptop(hidden=16))])
