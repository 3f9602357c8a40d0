"""PPO: losses against hand-worked numbers, replaying chunks, minibatches, schedules, and the heads of training."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.batches import make
from helpers.learners import TINY, player, slots, together
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Auxiliary, Policy
from housemates.sim.rules import Rules
from housemates.sim.sensors import privileged_size
from housemates.training.ppo import PPO, Scale, minibatches, policy_loss, prepare, replay, update, value_loss
from housemates.training.rollout import Collector

CONFIG = PPO(chunk=4)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values)


def rollout(config: PolicyConfig = TINY, also: tuple[str, ...] = (), decisions: int = 200):
    """A learner that has played both robots of four homes."""
    batch = make(size=4, rules=Rules(horizon=60))
    learner = player(batch, config, also=also)
    Collector(batch, [learner], slots([[0, 0]] * 4)).collect(decisions)
    return learner


def tensors(store) -> tuple[dict, dict]:
    """What `replay` reads: observations and stored numbers."""
    seen = {k: torch.from_numpy(v[: store.size]) for k, v in store.observations.items()}
    return seen, {k: torch.from_numpy(getattr(store, k)) for k in ("action", "memory", "latent")}


def one_batch(index: torch.Tensor) -> torch.Tensor:
    """All chunks as `replay` wants them."""
    return minibatches(index, 1, np.random.default_rng(0))[0]


def test_the_policy_loss_of_an_unchanged_policy_is_minus_the_advantage():
    assert policy_loss(tensor(-1.0, -2.0), tensor(-1.0, -2.0), tensor(3.0, -4.0), 0.2).tolist() == [-3.0, 4.0]


def test_the_policy_loss_stops_paying_beyond_the_clip():
    # Ratio 1.5: a good action counts as 1.2, a bad one in full. Ratio 0.5: a good one in full, a bad one as 0.8.
    log = math.log
    loss = policy_loss(tensor(log(1.5), log(1.5), log(0.5), log(0.5)), torch.zeros(4), tensor(1.0, -1.0, 1.0, -1.0), 0.2)
    assert loss.tolist() == pytest.approx([-1.2, 1.5, -0.5, 0.8])


def test_the_value_loss_is_half_the_squared_error():
    assert value_loss(tensor(1.0), tensor(0.0), tensor(4.0), None).tolist() == [4.5]


def test_the_clipped_value_loss_takes_the_worse_of_both_errors():
    # From 0 to 1 is clipped to 0.2: 3.8 away from 4 instead of 3. From 0 to 1 with the target 0: the full error is worse.
    loss = value_loss(tensor(1.0, 1.0), tensor(0.0, 0.0), tensor(4.0, 0.0), 0.2)
    assert loss.tolist() == pytest.approx([0.5 * 3.8**2, 0.5])


@given(st.integers(0, 2**32 - 1))
def test_losses_agree_with_slow_twins(seed):
    rng = np.random.default_rng(seed)
    new, old, advantage, value, before, target = rng.normal(size=(6, 5))
    expected_policy, expected_value = [], []
    for i in range(5):
        ratio = math.exp(new[i] - old[i])
        expected_policy.append(-min(ratio * advantage[i], min(max(ratio, 0.8), 1.2) * advantage[i]))
        clipped = before[i] + min(max(value[i] - before[i], -0.2), 0.2)
        expected_value.append(0.5 * max((value[i] - target[i]) ** 2, (clipped - target[i]) ** 2))
    as_tensor = torch.from_numpy
    assert policy_loss(*map(as_tensor, (new, old, advantage)), 0.2).tolist() == pytest.approx(expected_policy)
    assert value_loss(*map(as_tensor, (value, before, target)), 0.2).tolist() == pytest.approx(expected_value)


@pytest.mark.parametrize("length", [1, 4, 11])
def test_replaying_chunks_is_evaluating_padded_sequences(length):
    learner = rollout()
    index = one_batch(prepare(learner.store, replace(CONFIG, chunk=length), 8).index)
    seen, stored = tensors(learner.store)
    result = replay(learner.policy, seen, stored, index)
    at, valid = index.clamp(min=0), index >= 0
    expected = learner.policy.evaluate({k: v[at] for k, v in seen.items()}, stored["memory"][at[0]], stored["action"][at])
    place = {int(i): k for k, i in enumerate(index[valid])}
    order = [place[int(i)] for i in result.at]
    for mine, theirs in ((result.log_prob, expected.log_prob), (result.value, expected.value), (result.core, expected.core)):
        assert torch.allclose(mine, theirs[valid][order], atol=1e-5)


def test_before_the_first_update_the_replay_gives_what_was_stored():
    learner = rollout()
    index = one_batch(prepare(learner.store, CONFIG, 8).index)
    seen, stored = tensors(learner.store)
    result = replay(learner.policy, seen, stored, index)
    assert result.log_prob.tolist() == pytest.approx(learner.store.log_prob[result.at.numpy()].tolist(), abs=1e-5)
    assert result.value.tolist() == pytest.approx(learner.store.value[result.at.numpy()].tolist(), abs=1e-5)


def test_the_padding_of_chunks_has_no_gradient():
    learner = rollout()
    index = prepare(learner.store, CONFIG, 8).index
    short = index[(index >= 0).sum(1) < 4][:1]
    assert len(short)
    length = int((short >= 0).sum())
    seen, stored = tensors(learner.store)
    found = []
    for rows in (short, short[:, :length]):
        learner.policy.zero_grad()
        replay(learner.policy, seen, stored, rows.T.contiguous()).value.sum().backward()
        found.append([p.grad.clone() for p in learner.policy.parameters() if p.grad is not None])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*found, strict=True))


def test_normalised_advantages_have_mean_zero_and_spread_one():
    store = rollout().store
    advantage = prepare(store, CONFIG, 8).advantage.numpy()[store.closed]
    assert advantage.mean() == pytest.approx(0, abs=1e-5)
    assert advantage.std() == pytest.approx(1, abs=1e-4)


def test_targets_are_values_plus_advantages_before_normalisation():
    store = rollout().store
    plain = prepare(store, replace(CONFIG, normalise=False), 8)
    assert (prepare(store, CONFIG, 8).target == plain.target).all()
    assert plain.target.numpy() == pytest.approx(store.value + plain.advantage.numpy())


def test_a_bonus_is_paid_on_top():
    store = rollout().store
    config = replace(CONFIG, normalise=False, gae_lambda=0.0, discount=0.0)
    plain, paid = prepare(store, config, 8), prepare(store, config, 8, np.full(store.size, 2.0, np.float32))
    assert (paid.advantage - plain.advantage).numpy()[store.closed] == pytest.approx(2.0, abs=1e-5)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_minibatches_hold_every_decision_once(rows, length, parts, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, length + 1, rows)
    index = torch.full((rows, length), -1)
    for k, size in enumerate(sizes):
        index[k, :size] = torch.arange(size) + 100 * k
    cut = minibatches(index, parts, rng)
    assert len(cut) == parts
    found = sorted(int(i) for part in cut for i in part.flatten() if i >= 0)
    assert found == sorted(int(i) for i in index.flatten() if i >= 0)


def test_minibatches_are_no_longer_than_their_longest_chunk():
    index = torch.tensor([[0, 1, -1, -1], [2, -1, -1, -1]])
    assert minibatches(index, 1, np.random.default_rng(0))[0].shape == (2, 2)


def test_an_update_makes_good_actions_more_likely():
    learner = rollout()
    store = learner.store
    ready = prepare(store, replace(CONFIG, normalise=False), 8)
    good = store.action == 3
    ready.advantage[:] = torch.from_numpy(np.where(good, 1.0, -0.1).astype(np.float32))
    optimiser = torch.optim.Adam(learner.policy.parameters(), lr=3e-3)
    config = replace(CONFIG, epochs=8, entropy=0.0)
    update(learner.policy, optimiser, store, ready, config, np.random.default_rng(0))
    seen, stored = tensors(store)
    result = replay(learner.policy, seen, stored, one_batch(ready.index))
    moved = result.log_prob.detach().numpy() - store.log_prob[result.at.numpy()]
    assert moved[good[result.at.numpy()]].mean() > 0.05


def test_an_update_brings_values_nearer_to_their_targets():
    learner = rollout()
    ready = prepare(learner.store, CONFIG, 8)
    optimiser = torch.optim.Adam(learner.policy.parameters(), lr=3e-3)
    config = replace(CONFIG, clip_value=False)
    losses = [
        update(learner.policy, optimiser, learner.store, ready, config, np.random.default_rng(0))["value_loss"]
        for _ in range(8)
    ]
    assert losses[-1] < 0.7 * losses[0]


def test_an_update_without_decisions_changes_nothing():
    learner = rollout()
    ready = prepare(learner.store, CONFIG, 8)
    ready.index = ready.index[:0]
    before = [p.clone() for p in learner.policy.parameters()]
    optimiser = torch.optim.Adam(learner.policy.parameters(), lr=1e-2)
    assert update(learner.policy, optimiser, learner.store, ready, CONFIG, np.random.default_rng(0)) == {}
    assert all(torch.equal(a, b) for a, b in zip(before, learner.policy.parameters(), strict=True))


def test_auxiliary_heads_learn_the_predicates_from_the_memory():
    learner = rollout(PolicyConfig.blind(hidden=8, features=8), also=("predicates",))
    head = Auxiliary(8, 57)
    optimiser = torch.optim.Adam([*learner.policy.parameters(), *head.parameters()], lr=1e-2)
    ready, config = prepare(learner.store, CONFIG, 8), replace(CONFIG, auxiliary=1.0)
    losses = [
        update(learner.policy, optimiser, learner.store, ready, config, np.random.default_rng(0), auxiliary=head)
        for _ in range(6)
    ]
    assert losses[-1]["auxiliary_loss"] < 0.7 * losses[0]["auxiliary_loss"]


def test_an_informed_critic_learns_from_what_only_it_sees():
    config = PolicyConfig.state(hidden=8, features=8, privileged=privileged_size(2))
    learner = rollout(config, also=("privileged",))
    before = learner.policy.critic[0].weight.clone()
    optimiser = torch.optim.Adam(learner.policy.parameters(), lr=1e-2)
    update(learner.policy, optimiser, learner.store, prepare(learner.store, CONFIG, 8), CONFIG, np.random.default_rng(0))
    assert not torch.equal(before[:, 8:], learner.policy.critic[0].weight[:, 8:])


def test_a_scale_changes_the_critics_units_but_not_its_answers():
    policy, scale = Policy(TINY), Scale()
    core = torch.randn(5, 8)
    before = scale.real(policy.critic(core).detach().numpy())
    scale.follow(np.array([3.0, 5.0, 10.0]), policy.critic)
    assert scale.real(policy.critic(core).detach().numpy()) == pytest.approx(before, abs=1e-5)


def test_a_scale_takes_the_mean_and_spread_of_what_it_follows():
    scale = Scale()
    scale.follow(np.array([3.0, 5.0, 10.0]), Policy(TINY).critic)
    assert (scale.mean, scale.spread) == pytest.approx((6.0, np.std([3.0, 5.0, 10.0])))


def test_real_values_come_back_from_the_critics_units():
    scale = Scale(mean=2.0, spread=4.0)
    assert scale.real(scale.unit(torch.tensor([7.0])).numpy()) == pytest.approx([7.0])


def test_learning_rate_and_entropy_fall_linearly():
    assert PPO(learning_rate=1.0, entropy=0.4, entropy_end=0.2).left(0.25) == pytest.approx((0.25, 0.25))


def test_without_schedules_rate_and_entropy_stay():
    assert PPO(learning_rate=1.0, entropy=0.4, anneal_lr=False).left(0.25) == pytest.approx((1.0, 0.4))


def test_a_minibatch_of_zero_is_refused():
    with pytest.raises(ValueError, match="num_minibatches = 0"):
        PPO(num_minibatches=0)


def test_torchrl_has_the_same_advantages():
    """An optional oracle, per decision and without durations, as torchrl knows them."""
    functional = pytest.importorskip("torchrl.objectives.value.functional")
    collector = together(homes=1, rules=Rules(horizon=40))
    collector.collect(80)
    store = collector.players[0].store
    closed = np.flatnonzero(store.closed)[:-1]
    config = replace(CONFIG, normalise=False, per_step=False, discount=0.99, gae_lambda=0.95)
    column = lambda x: torch.from_numpy(np.asarray(x, np.float32))[:, None]  # noqa: E731
    done = torch.from_numpy(store.done[closed])[:, None]
    last = prepare(store, config, 2)
    following = column(np.append(store.value[closed[1:]], store.value[closed[-1] + 1]))
    expected, _ = functional.generalized_advantage_estimate(
        0.99, 0.95, column(store.value[closed]), following, column(store.reward[closed]), done, done
    )
    ends = np.flatnonzero(store.done[closed])[-1] + 1
    assert last.advantage.numpy()[closed][:ends] == pytest.approx(expected[:ends, 0].numpy(), abs=1e-4)
