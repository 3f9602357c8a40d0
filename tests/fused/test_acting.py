"""Acting by the fused path against `Policy.act`: probabilities, values, memories, draws, and several policies at once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from helpers.rollouts import CONFIGS, learner, observations
from housemates.fused.policies import FusedPolicies
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy


def inputs(config: PolicyConfig, n: int, seed: int = 0) -> dict:
    """What `act` is given for n robots."""
    rng = np.random.default_rng(seed)
    also = ("privileged",) if config.informed else ()
    seen = {name: torch.from_numpy(values) for name, values in observations(config, n, rng, also).items()}
    given = {"privileged": seen.pop("privileged")} if also else {}
    if config.latent:
        given["latent"] = torch.from_numpy(rng.integers(0, config.latent, n))
    memory = torch.from_numpy(rng.uniform(-1, 1, (n, config.memory_size)).astype(np.float32))
    return {"obs": seen, "memory": memory, **given}


def assert_same(found, expected):
    torch.testing.assert_close(found.logits, expected.logits, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.value, expected.value, rtol=1e-4, atol=1e-5, equal_nan=True)
    torch.testing.assert_close(found.memory, expected.memory, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.log_prob, expected.log_prob, rtol=1e-4, atol=1e-4)
    assert found.action.tolist() == expected.action.tolist()


@pytest.mark.parametrize("n", [0, 1, 7, 40])
@pytest.mark.parametrize("name", CONFIGS)
def test_decisions_values_and_memories_are_torchs(name, n):
    policy, _, _ = learner(CONFIGS[name])
    given = inputs(CONFIGS[name], n)
    found = FusedPolicies([policy]).act(**given, generator=torch.Generator().manual_seed(5))
    assert_same(found, policy.act(**given, generator=torch.Generator().manual_seed(5)))


def test_the_likeliest_actions_are_torchs_and_draw_nothing():
    policy, _, _ = learner(CONFIGS["state"])
    given, generator = inputs(CONFIGS["state"], 50), torch.Generator().manual_seed(5)
    before = generator.get_state()
    found = FusedPolicies([policy]).act(**given, greedy=True, generator=generator)
    assert_same(found, policy.act(**given, greedy=True))
    assert torch.equal(before, generator.get_state())


def test_pictures_of_256_pixels_merge_three_times():
    config = PolicyConfig.laptop(picture=256, features=24, hidden=16)
    policy, _, _ = learner(config)
    given = inputs(config, 3)
    found = FusedPolicies([policy]).act(**given, generator=torch.Generator().manual_seed(5))
    assert_same(found, policy.act(**given, generator=torch.Generator().manual_seed(5)))


def test_an_informed_critic_that_is_shown_nothing_says_nothing():
    policy, _, _ = learner(CONFIGS["informed"])
    given = inputs(CONFIGS["informed"], 5)
    del given["privileged"]
    assert bool(FusedPolicies([policy]).act(**given).value.isnan().all())


@pytest.mark.parametrize("name", ["state", "latent_logit_std", "informed", "depth"])
def test_several_policies_at_once_are_each_by_itself(name):
    config = CONFIGS[name]
    policies = [learner(config, seed=seed)[0] for seed in range(5)]
    given, together = inputs(config, 60), FusedPolicies(policies)
    member = torch.from_numpy(np.random.default_rng(1).integers(0, 4, 60))
    drawn = torch.rand(60, generator=torch.Generator().manual_seed(2))
    found = together.act(**given, member=member, drawn=drawn)
    for k, policy in enumerate(policies):
        mine = member == k
        own = {key: {n: v[mine] for n, v in value.items()} if key == "obs" else value[mine] for key, value in given.items()}
        alone = FusedPolicies([policy]).act(**own, drawn=drawn[mine])
        for name_, values in found._asdict().items():
            assert torch.equal(values[mine], getattr(alone, name_)), name_
        if mine.any():
            torch.testing.assert_close(found.logits[mine], policy.act(**own).logits, rtol=1e-4, atol=1e-5)


def test_after_a_refresh_the_present_weights_act():
    policy, _, _ = learner(CONFIGS["state"])
    given, fused = inputs(CONFIGS["state"], 6), FusedPolicies([policy])
    with torch.no_grad():
        policy.actor.bias += torch.arange(25.0)
    fused.refresh()
    torch.testing.assert_close(fused.act(**given).logits, policy.act(**given).logits, rtol=1e-4, atol=1e-5)


def test_truths_may_be_bools_or_floats():
    policy, _, _ = learner(CONFIGS["bits alone"])
    given, fused = inputs(CONFIGS["bits alone"], 6), FusedPolicies([policy])
    expected = fused.act(**given, greedy=True).logits
    for kind in (torch.bool, torch.float32):
        again = given | {"obs": {name: values.to(kind) for name, values in given["obs"].items()}}
        assert torch.equal(fused.act(**again, greedy=True).logits, expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"memory": torch.zeros(6, 3)}, "memory of shape"),
        ({"latent": torch.full((6,), 9)}, "latents from"),
        ({"member": torch.full((6,), 2)}, "no member 2"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(change, words):
    policy, _, _ = learner(CONFIGS["latent_logit_std"])
    with pytest.raises(ValueError, match=words):
        FusedPolicies([policy]).act(**(inputs(CONFIGS["latent_logit_std"], 6) | change))


def test_a_picture_of_another_type_is_refused():
    policy, _, _ = learner(CONFIGS["depth"])
    given = inputs(CONFIGS["depth"], 2)
    given["obs"]["depth"] = given["obs"]["depth"].to(torch.float32)
    with pytest.raises(ValueError, match="torch path"):
        FusedPolicies([policy]).act(**given)


def test_networks_without_a_fused_path_are_refused():
    policy = Policy(PolicyConfig.state(layers=2, features=8, hidden=8))
    with pytest.raises(ValueError, match="2 layers"):
        FusedPolicies([policy])


def test_other_threads_decide_the_same_bits():
    policy, _, _ = learner(CONFIGS["depth"])
    given, fused = inputs(CONFIGS["depth"], 32), FusedPolicies([policy])
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        here = fused.act(**given, greedy=True)
        with ThreadPoolExecutor(1) as pool:
            there = pool.submit(lambda: fused.act(**given, greedy=True)).result()
    finally:
        torch.set_num_threads(before)
    assert torch.equal(here.logits, there.logits)
    assert torch.equal(here.memory, there.memory)
