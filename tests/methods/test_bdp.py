"""Behavior Diversity Play in the hall: who plays, what is paid, and that it goes on exactly where it stopped."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.batches import FAR, action, do, episodes, home, make, put
from helpers.learners import TINY, weights
from housemates.methods import METHODS
from housemates.methods.bdp import BDP, BDPSeparate, BDPSettings
from housemates.methods.discriminator import Diversity
from housemates.policies.checkpoint import load_policy
from housemates.training.ppo import PPO
from housemates.training.trainer import Trainer, Training

SMALL = BDPSettings(latents=3, redraw=2, hidden=16, buffer=200, batches=2, batch=32, warmup_fraction=0.01)
"""Quiet for the first 8 steps only, so that short runs are paid too."""
BRIEF = Training(decisions=200, num_envs=3, rollout_decisions=8, save_every=2, ppo=PPO(chunk=4))
VARIANTS = {
    "bdp": SMALL,
    "bdp_no_discriminator": replace(SMALL, weight=0.0),
    "bdp_shared_encoder": replace(SMALL, branches=True),
    "bdp_no_latent_no_discriminator": replace(SMALL, weight=0.0, branches=True),
    "bdp_separate": Diversity(latents=3, redraw=2, hidden=16, buffer=200, batches=2, batch=32, warmup_fraction=0.01),
}


def start(folder: Path, name: str = "bdp", robots: int = 2, config: Training = BRIEF, settings=None) -> Trainer:
    """A method in the hall."""
    spec = METHODS[name]
    method = spec.make(replace(TINY, robots=robots), robots, config.seed, settings or VARIANTS[name])
    return Trainer(config, method, episodes(), [home()], folder, robots)


@pytest.fixture(scope="module")
def rollout(tmp_path_factory) -> Trainer:
    """After a rollout of many decisions, nothing learnt yet."""
    trainer = start(tmp_path_factory.mktemp("rollout"))
    trainer.collector.collect(300)
    return trainer


def test_one_policy_moves_all_robots_and_learns_from_all():
    method = BDP(TINY)
    slots = method.pairs(0, np.random.default_rng(0), 50, 2)
    assert len(method.policies) == 1
    assert not slots.player.any()
    assert slots.learns.all()


def test_latents_are_uniform_and_each_robot_s_own():
    latent = BDP(TINY).pairs(0, np.random.default_rng(0), 4000, 2).latent
    assert np.bincount(latent.ravel()) / latent.size == pytest.approx(np.full(8, 1 / 8), abs=0.02)
    assert (latent[:, 0] == latent[:, 1]).mean() == pytest.approx(1 / 8, abs=0.02)


def test_latents_are_drawn_anew_every_ten_updates():
    method, rng = BDP(TINY), np.random.default_rng(0)
    assert [update for update in range(31) if method.pairs(update, rng, 2, 2) is not None] == [0, 10, 20, 30]


def test_a_latent_never_changes_within_an_episode(tmp_path):
    trainer = start(tmp_path, settings=replace(SMALL, redraw=1))
    store, seen = trainer.players[0].store, []
    for _ in range(4):
        trainer.step()
        seen.append([(s, z, first) for s, z, first in zip(store.stream, store.latent, store.start, strict=True)])
    now: dict[int, int] = {}
    for stream, latent, first in (decision for rollout in seen for decision in rollout):
        assert first or now.get(stream, latent) == latent
        now[stream] = latent
    assert len({latent for rollout in seen for _, latent, _ in rollout}) == 3


def test_the_bonus_is_weight_times_log_q_of_the_latent_at_the_end_of_the_decision(rollout):
    method, store = rollout.method, rollout.players[0].store
    bonus = method.bonus(0, store)
    place = {name: tensor.numpy().astype(np.float64) for name, tensor in method.diversity.network.state_dict().items()}
    checked = 0
    for i in range(0, store.size, 7):
        end = store.clock[i] + store.duration[i]
        if not store.closed[i] or end < 8:
            assert bonus[i] == 0
            continue
        happened = np.arange(40) >= 40 - end
        where = np.float16(store.window[i, :, :2] / np.float32(5)) * happened[:, None]
        one_hot = (store.window[i, :, 2:] == np.arange(25)) & happened[:, None]
        x = where.ravel() @ place["place.weight"].T + one_hot.ravel() @ place["action"] + place["place.bias"]
        x = np.maximum(np.maximum(x, 0) @ place["middle.weight"].T + place["middle.bias"], 0)
        logits = x @ place["last.weight"].T + place["last.bias"]
        assert bonus[i] == pytest.approx(0.01 * (logits[store.latent[i]] - np.log(np.exp(logits).sum())), abs=1e-7)
        checked += 1
    assert checked > 10


def test_windows_never_cross_an_episode_start(rollout):
    store = rollout.players[0].store
    end = store.clock + store.duration
    early = store.closed & (end < 40)
    assert early.any()
    for window, steps in zip(store.window[early], end[early], strict=True):
        assert not window[: 40 - steps].any()
        assert window[40 - steps :, :2].all()


def test_an_infeasible_choice_is_seen_as_a_no_op():
    batch = make()
    put(batch, 0, FAR)
    put(batch, 1, (1.0, 1.0))
    do(batch, "pick obj0", "no-op")
    assert batch.observe("window")[0, 0, -1, 2] == action("no-op")


def test_the_discriminator_pays_before_it_learns(tmp_path):
    trainer = start(tmp_path)
    order = []
    pay, learn = trainer.method.diversity.pay, trainer.method.diversity.learn
    trainer.method.diversity.pay = lambda *given: order.append("pay") or pay(*given)
    trainer.method.diversity.learn = lambda: order.append("learn") or learn()
    trainer.step()
    assert order == ["pay", "learn"]


def test_a_late_weight_counts_from_the_middle_of_the_run_on(tmp_path):
    trainer = start(tmp_path, settings=replace(SMALL, late_weight=0.5))
    seen, pay = [], trainer.method.diversity.pay
    trainer.method.diversity.pay = lambda store, label, progress: seen.append(progress) or pay(store, label, progress)
    trainer.run()
    assert seen[0] == 0.0
    assert seen == sorted(seen)
    assert 0.5 < seen[-1] < 1.0


def test_without_weight_there_is_nothing_of_a_discriminator(tmp_path):
    trainer = start(tmp_path, "bdp_no_discriminator")
    row = trainer.step()
    assert trainer.players[0].store.ends == ()
    assert not trainer.method.state()
    assert not [name for name in row if name.startswith("method/")]


def test_the_log_has_accuracy_loss_and_reward(tmp_path):
    trainer = start(tmp_path)
    row = [trainer.step() for _ in range(3)][-1]
    assert 0 <= row["method/discriminator_accuracy"] <= 1
    assert row["method/discriminator_loss"] > 0
    assert row["method/diversity_reward"] < 0


def test_members_of_the_separate_population_are_paid_for_their_number(tmp_path):
    trainer = start(tmp_path, "bdp_separate")
    trainer.collector.collect(150)
    store = trainer.players[2].store
    method = trainer.method
    assert np.array_equal(method.bonus(2, store), method.diversity.pay(store, np.full(store.size, 2)))
    assert isinstance(method, BDPSeparate)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_trains_and_its_policies_load(name, tmp_path):
    trainer = start(tmp_path, name)
    before = weights(trainer)
    assert trainer.run()
    assert any(not np.array_equal(old, new) for old, new in zip(before, weights(trainer), strict=True))
    population = trainer.method.population()
    assert len(population) == 3
    for partner in population:
        policy = load_policy(tmp_path / partner.path)
        assert policy.config.latent == (0 if name == "bdp_separate" else 3)


@pytest.mark.parametrize("name", ["bdp", "bdp_separate"])
def test_the_same_seed_gives_the_same_bits_also_when_it_was_paused(name, tmp_path):
    straight, paused = start(tmp_path / "straight", name), start(tmp_path / "paused", name)
    straight.run()
    while not paused.run(seconds=0.0):
        paused = start(tmp_path / "paused", name)
        assert paused.load()
    assert all(np.array_equal(one, two) for one, two in zip(weights(straight), weights(paused), strict=True))
    there, here = straight.method.state(), paused.method.state()
    assert there.keys() == here.keys()
    assert all(np.array_equal(array, here[key]) for key, array in there.items())


@pytest.mark.parametrize("name", ["bdp", "bdp_shared_encoder"])
def test_three_robots_have_three_latents(name, tmp_path):
    trainer = start(tmp_path, name, robots=3)
    row = trainer.step()
    assert trainer.collector.slots.latent.shape == (3, 3)
    assert np.isfinite(row["method/diversity_reward"])
