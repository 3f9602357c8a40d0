"""The paper's network (appendix C.3 and the released ResNet18): shapes, sizes, pooling, initial weights."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import housemates
from helpers.batches import episodes, home, make
from helpers.learners import trainer
from housemates.agents.actors import Actor, views
from housemates.agents.agent import learned
from housemates.evaluation.play import play
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.web.game import PERSON, actors_of


@pytest.fixture(scope="module")
def policy() -> Policy:
    torch.set_num_threads(1)
    return Policy(PolicyConfig.paper())


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def outputs(policy: Policy, *names: str) -> list[torch.Tensor]:
    """What the named parts of the picture encoder put out for two pictures in metres."""
    seen, encoder = {}, policy.encoder.picture
    hooks = [
        encoder.get_submodule(name).register_forward_hook(lambda m, i, o, name=name: seen.update({name: o})) for name in names
    ]
    obs = {"depth": torch.rand(2, 256, 256, 1) * 12, "state": torch.rand(2, 18)}
    policy.act(obs, policy.initial_memory(2))
    for hook in hooks:
        hook.remove()
    return [seen[name] for name in names]


def test_pictures_pass_through_the_released_shapes(policy):
    names = ("pool", "stem.2", "stem.3", "stages.1", "stages.3", "stages.5", "stages.7", "compression", "linear")
    assert [tuple(x.shape[1:]) for x in outputs(policy, *names)] == [
        (1, 128, 128),
        (32, 64, 64),
        (32, 32, 32),
        (32, 32, 32),
        (64, 16, 16),
        (128, 8, 8),
        (256, 4, 4),
        (128, 4, 4),
        (512,),
    ]


def test_depth_is_clipped_at_ten_metres_divided_by_ten_and_averaged_by_two(policy):
    depth = torch.zeros(1, 256, 256, 1)
    depth[0, :2, :2, 0] = torch.tensor([[1.0, 2.0], [3.0, 30.0]])
    seen = []
    hook = policy.encoder.picture.pool.register_forward_hook(lambda m, i, o: seen.append(o))
    policy.act({"depth": depth, "state": torch.zeros(1, 18)}, policy.initial_memory(1))
    hook.remove()
    assert seen[0][0, 0, 0, 0].item() == pytest.approx((0.1 + 0.2 + 0.3 + 1.0) / 4)


def test_the_resnet_has_2_8_million_weights(policy):
    # Convolutions: 7x7 stem, then per stage 3x3s and (from the second on) a 1x1 shortcut; two numbers per normed channel.
    expected = 49 * 32 + 2 * 32
    inputs = 32
    for outputs_ in (32, 64, 128, 256):
        expected += 9 * inputs * outputs_ + 3 * 9 * outputs_**2 + 4 * 2 * outputs_
        if inputs != outputs_:
            expected += inputs * outputs_ + 2 * outputs_
        inputs = outputs_
    found = count(policy.encoder.picture.stem) + count(policy.encoder.picture.stages)
    assert found == expected == 2_795_744


def test_the_compression_has_0_3_million_weights(policy):
    assert count(policy.encoder.picture.compression) == 9 * 256 * 128 + 2 * 128


def test_the_linear_layer_has_1_05_million_weights(policy):
    assert count(policy.encoder.picture.linear) == 2048 * 512 + 512


def test_the_memory_has_4_2_million_weights(policy):
    # 512 features and the 18 numbers go in; biases come twice.
    assert count(policy.memory) == 4 * 512 * ((512 + 18) + 512 + 2) + 4 * 512 * (512 + 512 + 2) == 4_239_360


def test_the_latent_adds_eight_inputs_to_the_memory(policy):
    with torch.device("meta"):
        behaviour = Policy(PolicyConfig.paper(latent=8))
    assert count(behaviour) - count(policy) == 8 * 4 * 512


def test_state_goes_into_the_memory_as_it_is(policy):
    seen = []
    hook = policy.encoder.register_forward_hook(lambda m, i, o: seen.append(o))
    state = torch.linspace(-3, 9, 18)[None]
    policy.act({"depth": torch.ones(1, 256, 256, 1), "state": state}, policy.initial_memory(1))
    hook.remove()
    assert torch.equal(seen[0][:, 512:], state)


def test_predicates_go_straight_into_the_same_memory():
    with torch.device("meta"):
        policy = Policy(PolicyConfig.paper_predicates())
    assert (policy.memory.cells.input_size, policy.memory.cells.hidden_size, policy.memory.cells.num_layers) == (57, 512, 2)


def test_norms_have_16_groups_and_the_compressions_one(policy):
    groups = {name: m.num_groups for name, m in policy.encoder.picture.named_modules() if isinstance(m, nn.GroupNorm)}
    assert [g for name, g in groups.items() if name.startswith("compression")] == [1]
    assert {g for name, g in groups.items() if not name.startswith("compression")} == {16}


def test_convolutions_have_no_bias(policy):
    assert all(m.bias is None for m in policy.encoder.picture.modules() if isinstance(m, nn.Conv2d))


@pytest.mark.parametrize(("head", "gain"), [("actor", 0.01), ("critic", 1.0)])
def test_heads_are_orthogonal_with_the_papers_gains(policy, head, gain):
    layer = policy.get_submodule(head)
    torch.testing.assert_close(
        layer.weight @ layer.weight.T, gain**2 * torch.eye(len(layer.weight)), atol=1e-5 * gain, rtol=1e-5
    )


@pytest.mark.parametrize("head", ["actor", "critic"])
def test_heads_start_without_bias(policy, head):
    assert not policy.get_submodule(head).bias.any()


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("kind", ["ih", "hh"])
def test_the_memorys_weights_are_orthogonal(policy, layer, kind):
    weight = getattr(policy.memory.cells, f"weight_{kind}_l{layer}")
    columns = weight.shape[1]
    torch.testing.assert_close(weight.T @ weight, torch.eye(columns), atol=1e-4, rtol=0)


def test_the_memory_starts_without_bias(policy):
    assert not any(p.any() for name, p in policy.memory.cells.named_parameters() if name.startswith("bias"))


def test_convolutions_start_with_habitats_spread(policy):
    # kaiming_normal_ with slope sqrt(2): standard deviation sqrt(2 / ((1 + 2) fan_in)).
    weight = policy.encoder.picture.stages[6].body[3].weight
    assert weight.std().item() == pytest.approx(math.sqrt(2 / (3 * 9 * 256)), rel=0.02)


def test_decisions_are_25_logits_and_one_value(policy):
    obs = {"depth": torch.zeros(1, 256, 256, 1, dtype=torch.uint16), "state": torch.zeros(1, 18)}
    done = policy.act(obs, policy.initial_memory(1))
    assert (done.logits.shape, done.value.shape, done.memory.shape) == ((1, 25), (1,), (1, 2048))


def test_the_rgb_variant_differs_only_in_the_first_convolution(policy):
    with torch.device("meta"):
        rgb = Policy(PolicyConfig.paper(rgb=True))
    old, new = policy.state_dict(), rgb.state_dict()
    assert [name for name in old if old[name].shape != new[name].shape] == ["encoder.picture.stem.0.weight"]


SMALL = PolicyConfig.paper(picture=64, features=8, hidden=8, layers=1)


def shown(policy: Policy) -> list[torch.Tensor]:
    """What comes into the picture network of a policy from now on."""
    seen: list[torch.Tensor] = []
    policy.encoder.picture.pool.register_forward_pre_hook(lambda module, given: seen.append(given[0].detach()))
    return seen


def test_in_training_the_network_sees_metres_by_ten_without_steps(tmp_path):
    run = trainer(tmp_path, policy=SMALL, num_envs=2, rollout_decisions=2, decisions=4)
    assert run.players[0].store.observations["depth"].dtype == np.float32
    seen = shown(run.players[0].policy)
    run.step()
    pictures = torch.cat([batch.permute(0, 2, 3, 1) for batch in seen])
    assert pictures.dtype == torch.float32
    assert 0 <= pictures.min() < pictures.max() <= 1
    stored = run.players[0].store.observations["depth"][: run.players[0].store.size]
    assert len(np.unique(stored)) > 1000
    exact = np.clip(stored / 10, 0, 1)
    assert any(np.allclose(picture, exact[0], atol=1e-6) for picture in pictures.numpy())


def test_in_evaluation_it_sees_the_same_and_laptop_networks_see_bytes():
    paper, laptop = Policy(SMALL), Policy(PolicyConfig.laptop(hidden=8, features=8))
    seen = shown(paper)
    play(episodes().take(np.arange(1)), [home()], [[paper, laptop]])
    levels = torch.cat([batch.reshape(-1) for batch in seen]).unique()
    assert len(levels) > 1000
    assert 0 <= levels.min() < levels.max() <= 1
    assert {view.kind for view in views(Actor(laptop), make(size=1)) if view.name == "depth"} == {np.uint8}


def test_on_the_page_it_sees_the_same(tmp_path):
    save_policy(tmp_path / "policy", Policy(SMALL), {})
    batch = make(size=1)
    actors = actors_of(batch, [learned(tmp_path / "policy", "x"), PERSON])
    seen = shown(actors.actors[0].policy)
    actors.decide(batch.decide, np.zeros((1, 2), int))
    assert len(seen[0].unique()) > 1000


def test_as_a_partner_in_an_environment_it_sees_the_same(tmp_path):
    save_policy(tmp_path / "policy", Policy(SMALL), {})
    env = housemates.make_vec(
        "tidy_house", partner=str(tmp_path / "policy"), homes=[home()], episodes=episodes(), observations=("state",)
    )
    seen = shown(env.partners[0].given[0].policy)
    env.reset(seed=0)
    env.step(np.zeros(1, int))
    assert len(seen[0].unique()) > 1000
