"""Measuring learning: figures of both paths, and the arithmetic of a network counted by hand."""

import pytest

from helpers.batches import episodes, home
from housemates.policies.config import PolicyConfig
from housemates.speed.learning import arithmetic, measure_acting, measure_training, trainer


def test_the_arithmetic_of_a_small_network_is_what_is_counted_by_hand():
    config = PolicyConfig.predicates(features=8, hidden=16)
    # 57 bits to 8 numbers; these and 16 of the memory to 64 gates; 16 to 25 actions and a value.
    assert arithmetic(config) == 2 * (57 * 8 + 64 * (8 + 16) + 16 * 26)


def test_the_arithmetic_of_pictures_counts_patches_merges_and_the_linear_layer():
    seeing, blind = PolicyConfig.laptop(observations=("depth",)), PolicyConfig.blind(features=128)
    encoder = 64 * 64 * 32 + 16 * 128 * 64 + 1024 * 128
    assert arithmetic(seeing) - arithmetic(blind) == 2 * (encoder - 38 * 128)


def test_both_paths_of_a_training_are_measured():
    found = measure_training("state", [home()], episodes(), updates=1, num_envs=4)
    assert [row.path for row in found] == ["torch", "fused"]
    for row in found:
        parts = row.simulation + row.observation + row.inference + row.update
        assert 0 < parts <= 1.01e6 / row.decisions_per_second
        assert row.update_gflops > 0


def test_stage_2_is_measured_with_one_learner():
    (row,) = (
        row for row in measure_training("state_partners", [home()], episodes(), updates=1, num_envs=4) if row.path == "fused"
    )
    assert row.kind == "state_partners"
    assert row.update_gflops > 0
    assert row.peak_gflops > 0


def test_stage_2_with_disturbed_partners_is_measured_with_half_of_them_disturbed(tmp_path):
    made = trainer("state_disturbed_partners", "fused", [home()], episodes(), tmp_path, num_envs=64)
    made.step()
    kinds = made.collector.disturber.kind[~made.collector.slots.learns]
    assert 0.25 < (kinds != 0).mean() < 0.75
    assert not made.collector.disturber.kind[made.collector.slots.learns].any()


def test_acting_is_measured_for_every_number_of_robots():
    found = measure_acting("state", rows=(1, 4), turns=1)
    assert {path: list(rates) for path, rates in found.items()} == {"torch": [1, 4], "fused": [1, 4]}
    assert all(rate == pytest.approx(rate) and rate > 0 for rates in found.values() for rate in rates.values())
