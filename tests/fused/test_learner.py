"""The fused update against torch: every gradient, whole updates, Adam's steps and its state."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from helpers.rollouts import CONFIGS, PICTURED, learner, ready, store
from housemates.fused.adam import adam
from housemates.fused.learner import Learner
from housemates.training import fused_update, ppo
from housemates.training.distillation import TAUGHT
from housemates.training.partner_model import PartnerModel
from housemates.training.ppo import PPO, Scale

CONFIG = PPO(chunk=8, num_minibatches=3, auxiliary=0.3, learning_rate=1e-3, entropy=0.02)
ONE = replace(CONFIG, epochs=1, num_minibatches=1, max_grad_norm=1e9)


class NoStep(torch.optim.Adam):
    """Leaves the gradients where they are."""

    def step(self, closure=None):
        return None


def by_torch(made, config: PPO, policy, head, optimiser, scale=None, model=None):
    """A whole update of copies by torch; returns the copies and what is logged."""
    policy, head = copy.deepcopy((policy, head))
    learnt = [*policy.parameters(), *(head.parameters() if head is not None else ())]
    copied = type(optimiser)(learnt, lr=optimiser.param_groups[0]["lr"], eps=1e-5, fused=True)
    rng = np.random.default_rng(3)
    logged = ppo.update(policy, copied, made, ready(made, config), config, rng, scale=scale, auxiliary=head, model=model)
    return policy, head, logged


def named(policy, head) -> dict[str, nn.Parameter]:
    return dict(policy.named_parameters()) | ({} if head is None else {f"head.{k}": v for k, v in head.named_parameters()})


@pytest.mark.parametrize("bits", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_every_gradient_is_torchs(name, bits):
    config = CONFIGS[name]
    made = store(config, bits=bits)
    policy, head, optimiser = learner(config, bits)
    reference, reference_head, _ = by_torch(made, ONE, policy, head, NoStep(policy.parameters()))
    fused = Learner(policy, optimiser, head)
    fused_update.update(fused, made, ready(made, ONE), ONE, np.random.default_rng(3), rate=0.0)
    close = 1e-4 if name in PICTURED else 1e-5
    for key, parameter in named(reference, reference_head).items():
        found = fused.flat.view(fused.gradient, key, parameter.shape)
        assert float((found - parameter.grad).norm()) < close * float(parameter.grad.norm()), key


@pytest.mark.parametrize(
    ("truths", "action", "view"), [(0.0, 0.7, 0.0), (0.0, 0.0, 0.4), (0.3, 0.7, 0.4)], ids=["action", "view", "all"]
)
@pytest.mark.parametrize("name", ["state", "informed", "three robots", "depth"])
def test_every_gradient_and_loss_of_heads_that_predict_partners_is_torchs(name, truths, action, view):
    config, model = CONFIGS[name], PartnerModel(action, view)
    settings = replace(ONE, auxiliary=truths)
    made = store(config, bits=bool(truths), model=model)
    policy, head, optimiser = learner(config, bool(truths), model=model)
    reference, reference_head, expected = by_torch(made, settings, policy, head, NoStep(policy.parameters()), model=model)
    fused = Learner(policy, optimiser, head)
    rng = np.random.default_rng(3)
    logged = fused_update.update(fused, made, ready(made, settings), settings, rng, rate=0.0, model=model)
    assert logged == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert {"auxiliary_loss", "partner_action_loss"} & logged.keys() == {
        *(["auxiliary_loss"] if truths or view else []),
        *(["partner_action_loss"] if action else []),
    }
    close = 1e-4 if name in PICTURED else 1e-5
    for key, parameter in named(reference, reference_head).items():
        found = fused.flat.view(fused.gradient, key, parameter.shape)
        assert float((found - parameter.grad).norm()) < close * float(parameter.grad.norm()), key


def test_gradients_are_torchs_where_decisions_explore_differently():
    config = CONFIGS["state"]
    made, results = store(config), []
    for factor in (None, 5.0):
        explore = None
        if factor is not None:
            explore = np.where(np.random.default_rng(1).random(made.size) < 0.5, factor, 1.0).astype(np.float32)
        policy, head, optimiser = learner(config)
        other = copy.deepcopy(policy)
        still = NoStep(other.parameters())
        ppo.update(other, still, made, ready(made, ONE), ONE, np.random.default_rng(3), explore=explore)
        fused = Learner(policy, optimiser, head)
        rng = np.random.default_rng(3)
        fused_update.update(fused, made, ready(made, ONE), ONE, rng, rate=0.0, explore=explore)
        for key, parameter in other.named_parameters():
            found = fused.flat.view(fused.gradient, key, parameter.shape)
            assert float((found - parameter.grad).norm()) < 1e-5 * float(parameter.grad.norm()), key
        results.append(fused.gradient.copy())
    assert not np.allclose(*results, rtol=1e-3)


@pytest.mark.parametrize("name", ["state", "informed", "depth"])
def test_gradients_and_loss_of_what_a_teacher_says_are_torchs(name):
    config = CONFIGS[name]
    made, results = store(config), []
    made.numbers[TAUGHT] = np.random.default_rng(1).integers(-3, config.actions, made.size).clip(-1).astype(np.int8)
    for weight in (0.0, 0.8):
        policy, head, optimiser = learner(config)
        other = copy.deepcopy(policy)
        still = NoStep(other.parameters())
        expected = ppo.update(other, still, made, ready(made, ONE), ONE, np.random.default_rng(3), imitate=weight)
        fused = Learner(policy, optimiser, head)
        rng = np.random.default_rng(3)
        logged = fused_update.update(fused, made, ready(made, ONE), ONE, rng, rate=0.0, imitate=weight)
        assert logged == pytest.approx(expected, rel=1e-4, abs=1e-5)
        assert ("distillation_loss" in logged) == (weight > 0)
        for key, parameter in other.named_parameters():
            found = fused.flat.view(fused.gradient, key, parameter.shape)
            close = 1e-4 if name in PICTURED else 1e-5
            assert float((found - parameter.grad).norm()) < close * float(parameter.grad.norm()), key
        results.append(fused.gradient.copy())
    assert not np.allclose(*results, rtol=1e-3)


@pytest.mark.parametrize("name", CONFIGS)
def test_an_update_of_several_minibatches_is_torchs(name):
    config = CONFIGS[name]
    made, scale = store(config, bits=True), Scale(mean=0.4, spread=1.7)
    policy, head, optimiser = learner(config, True)
    reference, reference_head, expected = by_torch(made, CONFIG, policy, head, optimiser, scale)
    fused = Learner(policy, optimiser, head)
    logged = fused_update.update(fused, made, ready(made, CONFIG), CONFIG, np.random.default_rng(3), 1e-3, scale=scale)
    assert logged == pytest.approx(expected, rel=1e-4, abs=1e-5)
    for (key, parameter), other in zip(named(policy, head).items(), named(reference, reference_head).values(), strict=True):
        assert float((parameter - other).detach().norm()) < 1e-4 * float(other.detach().norm()), key


def test_values_beyond_the_clip_have_torchs_gradients():
    config, settings = CONFIGS["informed"], replace(ONE, clip=0.01)
    made = store(config)
    policy, head, optimiser = learner(config)
    reference, _, _ = by_torch(made, settings, policy, head, NoStep(policy.parameters()))
    fused = Learner(policy, optimiser, head)
    fused_update.update(fused, made, ready(made, settings), settings, np.random.default_rng(3), rate=0.0)
    for key, parameter in reference.named_parameters():
        found = fused.flat.view(fused.gradient, key, parameter.shape)
        assert float((found - parameter.grad).norm()) < 1e-5 * float(parameter.grad.norm()), key


@pytest.mark.parametrize("max_grad_norm", [0.1, 1e6])
def test_clipping_and_adam_are_torchs(max_grad_norm):
    rng = np.random.default_rng(0)
    weights, first, second = (
        rng.standard_normal(5000).astype(np.float32),
        np.zeros(5000, np.float32),
        np.zeros(5000, np.float32),
    )
    parameter = nn.Parameter(torch.from_numpy(weights.copy()))
    optimiser = torch.optim.Adam([parameter], lr=0.01, eps=1e-5)
    for step in range(1, 6):
        gradient = rng.standard_normal(5000).astype(np.float32)
        parameter.grad = torch.from_numpy(gradient.copy())
        norm = nn.utils.clip_grad_norm_([parameter], max_grad_norm)
        optimiser.step()
        assert adam(weights, gradient, first, second, step, 0.01, max_grad_norm) == pytest.approx(float(norm), rel=1e-5)
    np.testing.assert_allclose(weights, parameter.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second, optimiser.state[parameter]["exp_avg_sq"].numpy(), rtol=1e-4)


def test_torchs_optimiser_goes_on_where_the_fused_path_stopped():
    config = CONFIGS["state"]
    made = store(config, bits=True)
    policy, head, optimiser = learner(config, True)
    alone = copy.deepcopy((policy, head))
    learnt = [*alone[0].parameters(), *alone[1].parameters()]
    reference = torch.optim.Adam(learnt, lr=1e-3, eps=1e-5, fused=True)
    for seed in (1, 2):
        ppo.update(alone[0], reference, made, ready(made, CONFIG), CONFIG, np.random.default_rng(seed), auxiliary=alone[1])
    fused = Learner(policy, optimiser, head)
    fused_update.update(fused, made, ready(made, CONFIG), CONFIG, np.random.default_rng(1), 1e-3)
    ppo.update(policy, optimiser, made, ready(made, CONFIG), CONFIG, np.random.default_rng(2), auxiliary=head)
    for (key, parameter), other in zip(named(policy, head).items(), named(*alone).values(), strict=True):
        assert float((parameter - other).detach().norm()) < 1e-4 * float(other.detach().norm()), key


def test_moments_that_were_loaded_into_the_optimiser_are_used():
    config = CONFIGS["state"]
    made, results = store(config), []
    for again in (False, True):
        policy, _, optimiser = learner(config)
        fused = Learner(policy, optimiser)
        fused_update.update(fused, made, ready(made, CONFIG), CONFIG, np.random.default_rng(1), 1e-3)
        if again:
            state, weights = copy.deepcopy(optimiser.state_dict()), copy.deepcopy(policy.state_dict())
            policy, _, optimiser = learner(config, seed=9)
            fused = Learner(policy, optimiser)
            policy.load_state_dict(weights)
            optimiser.load_state_dict(state)
        fused_update.update(fused, made, ready(made, CONFIG), CONFIG, np.random.default_rng(2), 1e-3)
        results.append(fused.flat.weights.copy())
    np.testing.assert_array_equal(*results)


def test_an_optimiser_with_other_numbers_is_refused():
    policy, _, _ = learner(CONFIGS["state"])
    with pytest.raises(ValueError, match="torch path"):
        Learner(policy, torch.optim.Adam(policy.parameters(), betas=(0.5, 0.9), eps=1e-5))


def test_a_store_without_closed_decisions_changes_nothing():
    config = CONFIGS["state"]
    made = store(config)
    made.numbers["closed"][:] = False
    policy, _, optimiser = learner(config)
    fused = Learner(policy, optimiser)
    before = fused.flat.weights.copy()
    assert fused_update.update(fused, made, ready(made, CONFIG), CONFIG, np.random.default_rng(1), 1e-3) == {}
    np.testing.assert_array_equal(before, fused.flat.weights)
