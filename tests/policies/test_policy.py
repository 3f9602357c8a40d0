"""Policies: acting and evaluating agree, memory is aligned, sampling is reproducible, every weight learns."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from housemates.policies import encoders as networks
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy, finish

CONFIGS = {
    "patches": PolicyConfig.laptop(hidden=32),
    "patches rgb": PolicyConfig.laptop(rgb=True, hidden=32),
    "patches rgb and depth": PolicyConfig(("rgb", "depth"), "patches", hidden=32),
    "state": PolicyConfig.state(hidden=32),
    "two layers": PolicyConfig.state(hidden=32, layers=2),
    "latent": PolicyConfig.predicates(hidden=32, latent=4),
    "latents with tastes": PolicyConfig.state(hidden=32, latent=4, latent_logit_std=0.7),
    "latent beside a picture": PolicyConfig(("depth",), "patches", hidden=32, latent=4),
    "informed": PolicyConfig.blind(hidden=32, privileged=5),
    "paper": PolicyConfig.paper(picture=64, hidden=32),
    "paper predicates": PolicyConfig.paper_predicates(hidden=32, latent=3),
}
every_network = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def extras(config, *batch):
    """Latent and privileged numbers for a batch, or None where the config has none."""
    g = torch.Generator().manual_seed(9)
    latent = torch.randint(0, config.latent, batch[-1:], generator=g) if config.latent else None
    privileged = torch.randn(*batch, config.privileged, generator=g) if config.privileged else None
    return latent, privileged


def play(policy, obs, length, count, seed=1):
    """Act through sequences one decision at a time; the decisions, and the memory before each."""
    g = torch.Generator().manual_seed(seed)
    latent, privileged = extras(policy.config, length, count)
    memory, memories, done = policy.initial_memory(count), [], []
    for t in range(length):
        memories.append(memory)
        now = {name: value[t] for name, value in obs.items()}
        done.append(policy.act(now, memory, latent, generator=g, privileged=None if privileged is None else privileged[t]))
        memory = done[-1].memory
    return done, memories


@every_network
def test_evaluating_a_sequence_gives_what_acting_gave(config, observe):
    policy = Policy(config)
    obs = observe(config, 5, 3)
    done, memories = play(policy, obs, 5, 3)
    latent, privileged = extras(config, 5, 3)
    seen = policy.evaluate(obs, memories[0], torch.stack([d.action for d in done]), latent, privileged)
    for name in ("log_prob", "value", "logits"):
        stored = torch.stack([getattr(d, name) for d in done])
        torch.testing.assert_close(getattr(seen, name), stored.clone(), atol=1e-5, rtol=1e-5)


@settings(max_examples=15, deadline=None)
@given(cut=st.integers(1, 6), layers=st.integers(1, 2))
def test_a_sequence_may_be_cut_anywhere_with_the_memory_stored_there(cut, layers):
    config = PolicyConfig.predicates(hidden=16, layers=layers)
    policy = Policy(config, seed=layers)
    obs = {"predicates": torch.randint(0, 2, (7, 2, 57), generator=torch.Generator().manual_seed(cut))}
    done, memories = play(policy, obs, 7, 2)
    actions = torch.stack([d.action for d in done])
    late = policy.evaluate({"predicates": obs["predicates"][cut:]}, memories[cut], actions[cut:])
    stored = torch.stack([d.logits for d in done[cut:]]).clone()
    torch.testing.assert_close(late.logits, stored, atol=1e-5, rtol=1e-5)


def test_memory_carries_what_was_seen_before(observe):
    policy = Policy(PolicyConfig.state(hidden=32))
    first, other, second = (observe(policy.config, 1, seed=s) for s in (1, 2, 3))
    after = [policy.act(second, policy.act(o, policy.initial_memory(1)).memory).logits for o in (first, other)]
    assert not torch.allclose(after[0], after[1], atol=1e-6)


def test_memory_starts_as_zeros():
    policy = Policy(PolicyConfig.state(hidden=8, layers=2))
    assert torch.equal(policy.initial_memory(3), torch.zeros(3, 32))


def test_memory_holds_every_layers_output_and_then_every_layers_cell(observe):
    policy = Policy(PolicyConfig.state(hidden=8, layers=2))
    obs = observe(policy.config, 3)
    memory = policy.act(obs, policy.initial_memory(3)).memory
    _, (h, c) = policy.memory.cells(policy.encoder(obs, None)[None])
    torch.testing.assert_close(memory.clone(), torch.cat([h[0], h[1], c[0], c[1]], 1), atol=1e-6, rtol=0)


def test_one_robots_memory_does_not_leak_into_another(observe):
    policy = Policy(PolicyConfig.state(hidden=32))
    obs = observe(policy.config, 2)
    memory = policy.initial_memory(2)
    memory[1] = torch.randn(policy.config.memory_size)
    alone = policy.act({name: value[:1] for name, value in obs.items()}, policy.initial_memory(1))
    torch.testing.assert_close(policy.act(obs, memory).logits[:1].clone(), alone.logits.clone())


@every_network
def test_gradients_reach_every_weight(config, observe):
    policy = Policy(config)
    latent, privileged = extras(config, 4, 6)
    seen = policy.evaluate(
        observe(config, 4, 6), policy.initial_memory(6), torch.zeros(4, 6, dtype=torch.int64), latent, privileged
    )
    (seen.log_prob.sum() + seen.value.sum() + seen.entropy.sum()).backward()
    assert [n for n, p in policy.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_the_same_seed_samples_the_same_actions(observe):
    policy = Policy(PolicyConfig.state(hidden=16))
    obs = observe(policy.config, 20, 8)
    runs = [torch.stack([d.action for d in play(policy, obs, 20, 8, seed=4)[0]]) for _ in range(2)]
    assert torch.equal(*runs)


def test_another_seed_samples_other_actions(observe):
    policy = Policy(PolicyConfig.state(hidden=16))
    obs = observe(policy.config, 20, 8)
    runs = [torch.stack([d.action for d in play(policy, obs, 20, 8, seed=s)[0]]) for s in (4, 5)]
    assert not torch.equal(*runs)


def test_the_same_seed_builds_the_same_weights_whatever_was_drawn_before():
    first = Policy(PolicyConfig.state(), seed=7)
    torch.rand(5)
    again = Policy(PolicyConfig.state(), seed=7)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))


def test_building_a_policy_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    Policy(PolicyConfig.state())
    assert torch.equal(torch.rand(2), expected)


def test_samples_follow_the_probabilities():
    logits = torch.tensor([0.1, 0.2, 0.3, 0.4]).log().expand(40_000, 4)
    chosen = finish(logits, None, logits, False, torch.Generator().manual_seed(0)).action
    # Four standard errors of a share at 40,000 draws are at most 0.01.
    assert torch.bincount(chosen).div(40_000).tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.01)


def test_impossible_actions_are_never_sampled():
    logits = torch.tensor([-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]).expand(5_000, 5)
    chosen = finish(logits, None, logits, False, torch.Generator().manual_seed(0)).action
    assert set(chosen.tolist()) == {1, 3}


def test_greedy_takes_the_most_likely_action(observe):
    policy = Policy(PolicyConfig.state(hidden=16))
    done = policy.act(observe(policy.config, 9), policy.initial_memory(9), greedy=True)
    assert torch.equal(done.action, done.logits.argmax(-1))


def test_entropy_of_even_logits_is_log_25(observe):
    policy = Policy(PolicyConfig.state(hidden=16))
    torch.nn.init.zeros_(policy.actor.weight)
    seen = policy.evaluate(observe(policy.config, 2, 3), policy.initial_memory(3), torch.zeros(2, 3, dtype=torch.int64))
    torch.testing.assert_close(seen.entropy, torch.full((2, 3), 25.0).log())


@pytest.mark.parametrize("name", ["latent", "latent beside a picture", "paper predicates"])
def test_the_latent_changes_what_is_chosen(name, observe):
    policy = Policy(CONFIGS[name])
    obs = observe(policy.config, 1)
    logits = [policy.act(obs, policy.initial_memory(1), torch.tensor([z])).logits for z in (0, 1)]
    assert not torch.allclose(*logits, atol=1e-6)


def test_the_actor_does_not_see_what_the_critic_sees(observe):
    policy = Policy(CONFIGS["informed"])
    obs, memory = observe(policy.config, 2), policy.initial_memory(2)
    logits = [policy.act(obs, memory, greedy=True, privileged=torch.full((2, 5), x)).logits for x in (0.0, 1.0)]
    assert torch.equal(*logits)


def test_an_informed_critic_uses_what_it_sees(observe):
    policy = Policy(CONFIGS["informed"])
    obs, memory = observe(policy.config, 2), policy.initial_memory(2)
    values = [policy.act(obs, memory, greedy=True, privileged=torch.full((2, 5), x)).value for x in (0.0, 1.0)]
    assert not torch.allclose(*values, atol=1e-4)


def test_an_informed_critic_that_is_shown_nothing_says_nan(observe):
    policy = Policy(CONFIGS["informed"])
    assert policy.act(observe(policy.config, 2), policy.initial_memory(2)).value.isnan().all()


def test_learning_with_an_informed_critic_needs_what_it_sees(observe):
    policy = Policy(CONFIGS["informed"])
    with pytest.raises(ValueError, match="5 privileged"):
        policy.evaluate(observe(policy.config, 2, 3), policy.initial_memory(3), torch.zeros(2, 3, dtype=torch.int64))


def test_pictures_encoded_in_slices_are_encoded_alike(observe, monkeypatch):
    policy = Policy(CONFIGS["patches"])
    obs, memory = observe(policy.config, 7), policy.initial_memory(7)
    whole = policy.act(obs, memory, greedy=True).logits
    monkeypatch.setattr(networks, "SLICE", 3 * 64 * 64)
    torch.testing.assert_close(policy.act(obs, memory, greedy=True).logits.clone(), whole.clone(), atol=1e-6, rtol=0)


def test_a_missing_observation_is_named(observe):
    policy = Policy(CONFIGS["state"])
    with pytest.raises(ValueError, match="sees predicates, which was not given"):
        policy.act({"state": torch.zeros(2, 18)}, policy.initial_memory(2))


def test_an_observation_of_another_shape_is_named(observe):
    policy = Policy(CONFIGS["patches"])
    obs = observe(PolicyConfig.laptop(picture=128), 2)
    with pytest.raises(ValueError, match=r"depth.*shape.*2.*64.*64.*1.*2.*128.*128.*1"):
        policy.act(obs, policy.initial_memory(2))


def test_memory_of_another_shape_is_refused(observe):
    policy = Policy(CONFIGS["state"])
    with pytest.raises(ValueError, match=r"memory.*shape.*2.*64.*2.*32"):
        policy.act(observe(policy.config, 2), torch.zeros(2, 32))


@pytest.mark.parametrize(("name", "latent"), [("state", torch.zeros(2, dtype=torch.int64)), ("latent", None)])
def test_a_latent_too_many_or_too_few_is_refused(name, latent, observe):
    policy = Policy(CONFIGS[name])
    with pytest.raises(ValueError, match="the policy takes as latent"):
        policy.act(observe(policy.config, 2), policy.initial_memory(2), latent)
