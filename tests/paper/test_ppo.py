"""The paper's learner (appendix A, C.2 to C.4): its numbers stand in the `paper` preset."""

import numpy as np
import pytest

from housemates.learning.advantage import advantages
from housemates.learning.ppo import PAPER
from housemates.presets import PRESETS

PRESET = PRESETS["paper"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 3e-4),
        ("epochs", 2),
        ("minibatches", 2),
        ("clip", 0.2),
        ("entropy", 0.001),
        ("max_norm", 0.2),
        ("discount", 0.99),
        ("decay", 0.95),
        ("value_weight", 0.5),
        ("clip_value", True),
        ("normalise", False),
        ("anneal", False),
        ("per_step", False),
    ],
)
def test_the_papers_number(name, value):
    assert getattr(PAPER, name) == value


def test_the_preset_uses_them_with_the_papers_network_and_literal_reward():
    assert PRESET.training.ppo == PAPER
    assert PRESET.policy("depth", 2).network == "paper"
    assert PRESET.training.rules.reward.collision == "none"


def test_a_rollout_is_about_as_long_as_the_papers():
    """4 GPUs x 32 environments x 128 steps, at ten steps a decision."""
    steps = PRESET.training.homes * PRESET.training.rollout * 10
    assert steps == pytest.approx(4 * 32 * 128, rel=0.05)


def test_discount_and_decay_count_once_per_decision():
    out = np.empty(2, np.float32)
    number = np.float32
    advantages(
        np.array([1, 2], number), np.array([0.5, 1], number), np.array([30, 4], np.int32), np.array([False, True]),
        np.array([1, -1]), PAPER.discount, PAPER.decay, PAPER.per_step, out,
    )  # fmt: skip
    assert out == pytest.approx([1 + 0.99 * 1 - 0.5 + 0.99 * 0.95 * 1.0, 1.0])
