"""The discriminator: what it sees, what it learns, what it pays; against numbers worked out without torch."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from housemates.methods.discriminator import NOTHING, Buffer, Discriminator, Diversity, DiversityReward, Samples, pack
from housemates.training.distributed import Group
from housemates.training.store import Store

SMALL = Diversity(hidden=16, buffer=64, batch=32)


def windows(n: int, seed: int = 0) -> np.ndarray:
    """Robots that walk about and do things at random: [n, 40, 3]."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(-4, 4, (n, 40, 2)), rng.integers(25, size=(n, 40, 1))], 2).astype(np.float32)


def by_hand(network: Discriminator, window: np.ndarray, clock: int) -> np.ndarray:
    """Log q [K] of one window [40, 3] that ends at a step of its episode: 1080 inputs and three matrices."""
    w = {name: tensor.numpy().astype(np.float64) for name, tensor in network.state_dict().items()}
    inputs = np.zeros((40, 27))
    for k in range(max(40 - clock, 0), 40):
        inputs[k, :2] = np.float16(window[k, :2] / np.float32(5))
        inputs[k, 2 + int(window[k, 2])] = 1
    hidden = inputs[:, :2].reshape(-1) @ w["place.weight"].T + inputs[:, 2:].reshape(-1) @ w["action"] + w["place.bias"]
    hidden = np.maximum(np.maximum(hidden, 0) @ w["middle.weight"].T + w["middle.bias"], 0)
    logits = hidden @ w["last.weight"].T + w["last.bias"]
    return logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


def store(window: np.ndarray, clock: np.ndarray, duration: np.ndarray, closed: np.ndarray) -> Store:
    """Decisions of a learner, as a rollout leaves them."""
    made = Store({}, 1, len(window), {"window": ((40, 3), np.float32)})
    made.append(len(window))
    made.window[:], made.clock[:], made.duration[:], made.closed[:] = window, clock, duration, closed
    return made


def accuracy(settings: Diversity, change: Callable[[np.ndarray, np.ndarray], None], updates: int) -> list[float]:
    """How many of 512 new windows are told rightly at each update, if change(window, label) makes behaviours differ."""
    reward, label, said = DiversityReward(settings), np.arange(512) % 8, []
    for update in range(updates):
        window = windows(512, update)
        change(window, label)
        reward.pay(store(window, np.full(512, 100), np.ones(512), np.ones(512)), label)
        said.append(reward.learn()["discriminator_accuracy"])
    return said


@pytest.mark.parametrize("clock", [200, 40, 7])
def test_log_q_is_that_of_the_network_worked_out_by_hand(clock):
    reward = DiversityReward(SMALL, seed=3)
    seen = windows(5)
    found = reward.log_probabilities(pack(seen, np.full(5, clock), np.zeros(5)))
    np.testing.assert_allclose(found, [by_hand(reward.network, each, clock) for each in seen], atol=2e-6)


def test_the_paper_s_discriminator_has_1080_inputs_and_two_layers_of_512():
    shapes = {name: tuple(tensor.shape) for name, tensor in Discriminator(Diversity()).state_dict().items()}
    inputs = shapes["place.weight"][1] + shapes["action"][0]
    assert (inputs, shapes["middle.weight"], shapes["last.weight"]) == (1080, (512, 512), (8, 512))


def test_steps_before_the_episode_are_empty():
    packed = pack(windows(1), np.array([15]), np.zeros(1))
    assert not packed.place[0, :50].any()
    assert packed.place[0, 50:].all()
    assert (packed.action[0] == NOTHING).tolist() == [True] * 25 + [False] * 15


def test_decisions_are_paid_log_q_of_the_truth_but_not_early_nor_while_open():
    reward, window = DiversityReward(SMALL), windows(5)
    clock, duration = np.array([0, 60, 60, 300, 300]), np.array([74, 14, 15, 40, 40])
    label = np.array([0, 1, 2, 3, 4])
    paid = reward.pay(store(window, clock, duration, np.array([1, 1, 1, 1, 0])), label)
    expected = [0, 0, *(0.01 * by_hand(reward.network, window[i], 100)[i] for i in (2, 3)), 0]
    np.testing.assert_allclose(paid, expected, atol=1e-7)


def test_in_the_second_half_the_late_weight_pays_what_is_above_the_mean():
    reward, window, label = DiversityReward(replace(SMALL, late_weight=0.2)), windows(4), np.arange(4)
    told = np.array([by_hand(reward.network, window[i], 100)[i] for i in (1, 2, 3)])
    decisions = store(window, np.array([0, 200, 200, 200]), np.ones(4), np.ones(4))
    for progress, expected in ((0.49, 0.01 * told), (0.5, 0.2 * (told - told.mean()))):
        np.testing.assert_allclose(reward.pay(decisions, label, progress), [0, *expected], atol=1e-6)
    early = store(window, np.zeros(4), np.ones(4), np.ones(4))
    assert not reward.pay(early, label, 0.9).any()


def test_what_is_not_paid_for_is_not_learnt_from():
    reward = DiversityReward(SMALL)
    reward.pay(store(windows(3), np.array([0, 74, 75]), np.zeros(3), np.ones(3)), np.array([0, 1, 2]))
    reward.learn()
    assert reward.buffer.kept.label[: reward.buffer.size].tolist() == [2]


def test_without_samples_nothing_is_learnt():
    reward = DiversityReward(SMALL)
    before = {k: v.clone() for k, v in reward.network.state_dict().items()}
    assert reward.learn() == {"diversity_reward": 0.0}
    assert all(torch.equal(before[k], v) for k, v in reward.network.state_dict().items())


def test_a_rollout_in_which_nothing_is_paid_is_no_problem():
    reward = DiversityReward(SMALL)
    paid = reward.pay(store(windows(2), np.zeros(2), np.ones(2), np.ones(2)), np.zeros(2))
    assert paid.tolist() == [0, 0]
    assert reward.learn() == {"diversity_reward": 0.0}


def test_the_log_tells_what_was_paid_and_told():
    reward = DiversityReward(SMALL)
    decisions = store(windows(4), np.array([0, 100, 100, 100]), np.ones(4), np.ones(4))
    paid, label = reward.pay(decisions, np.arange(4)), np.arange(4)
    q = reward.log_probabilities(pack(decisions.window, np.full(4, 101), label))
    said = reward.learn()
    assert said["diversity_reward"] == pytest.approx(paid.mean())
    assert said["discriminator_accuracy"] == pytest.approx((q.argmax(1) == label)[1:].mean())


def test_behaviours_made_different_by_hand_are_told_apart():
    def differ(window, label):
        window[:, 30:, 2] = label[:, None]

    assert accuracy(Diversity(hidden=64), differ, 12)[-1] > 0.9


def test_behaviours_in_different_places_are_told_apart():
    def differ(window, label):
        angle = 2 * np.pi * label / 8
        window[..., :2] += 5 * np.stack([np.cos(angle), np.sin(angle)], 1)[:, None]

    assert accuracy(Diversity(hidden=64), differ, 12)[-1] > 0.9


def test_equal_behaviours_stay_at_chance():
    assert np.mean(accuracy(Diversity(hidden=64), lambda window, label: None, 12)) < 0.2


def test_the_buffer_keeps_the_newest():
    buffer = Buffer(4)
    for first, count in ((0, 3), (3, 2), (5, 9)):
        label = np.arange(first, first + count)
        buffer.add(Samples(np.zeros((count, 80)), np.zeros((count, 40)), label))
        assert sorted(buffer.kept.label[: buffer.size]) == list(range(max(0, first + count - 4), first + count))


def test_the_same_samples_and_seed_give_the_same_bits():
    once, again = (DiversityReward(SMALL, seed=1) for _ in range(2))
    for reward in (once, again):
        reward.pay(store(windows(50), np.full(50, 100), np.ones(50), np.ones(50)), np.arange(50) % 8)
        reward.learn()
    assert all(np.array_equal(array, again.state()[name]) for name, array in once.state().items())


def test_a_discriminator_continues_exactly_where_it_was_saved():
    straight, label = DiversityReward(SMALL, seed=1), np.arange(50) % 8
    said = []
    for update in range(4):
        if update == 2:
            resumed = DiversityReward(SMALL, seed=1)
            resumed.load({name: array.copy() for name, array in straight.state().items()})
        fresh = store(windows(50, update), np.full(50, 100), np.ones(50), np.ones(50))
        said.append([(r.pay(fresh, label).tolist(), r.learn()) for r in ((straight, resumed) if update > 1 else (straight,))])
    assert all(one == two for one, two in said[2:])
    assert all(np.array_equal(array, resumed.state()[name]) for name, array in straight.state().items())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"latents": 1}, "2 to 256 behaviours"),
        ({"weight": -0.1}, "weight = -0.1"),
        ({"late_weight": -0.1}, "late_weight = -0.1"),
        ({"warmup_fraction": 1.0}, "warmup_fraction = 1.0"),
        ({"batch": 0}, "batch = 0"),
    ],
)
def test_senseless_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Diversity(**changes)


def test_it_learns_from_the_newest_100_000_windows():
    """As many as the paper says (C.3): older ones make room."""
    reward = DiversityReward(Diversity())
    for first in range(0, 120_000, 30_000):
        label = ((np.arange(30_000) + first) // 1000).astype(np.uint8)
        place = np.zeros((30_000, 80), np.float16)
        reward.buffer.add(Samples(place, np.zeros((30_000, 40), np.uint8), label))
    kept = reward.buffer.kept.label[: reward.buffer.size]
    assert len(kept) == 100_000
    assert sorted(set(kept.tolist())) == list(range(20, 120))


def test_workers_share_the_buffer():
    reward, group = DiversityReward(Diversity()), Group()
    group.size = 4
    reward.begin(group, 750)
    assert len(reward.buffer.kept) == 25_000
