"""The paper's learner (appendix A, C.2 to C.4): its numbers stand in the `paper` preset."""

import numpy as np
import pytest

from helpers.learners import TINY, trainer
from housemates.methods.bdp import BDPSettings
from housemates.runs.presets import PRESETS
from housemates.runs.train import new_run
from housemates.sim.rules import Reward, Rules
from housemates.training.ppo import PAPER, advantages

PRESET = PRESETS["paper"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 3e-4),
        ("epochs", 2),
        ("num_minibatches", 2),
        ("clip", 0.2),
        ("entropy", 0.001),
        ("max_grad_norm", 0.2),
        ("discount", 0.99),
        ("gae_lambda", 0.95),
        ("value_coef", 0.5),
        ("clip_value", True),
        ("normalise", False),
        ("anneal_lr", False),
        ("per_step", False),
    ],
)
def test_the_papers_number(name, value):
    assert getattr(PAPER, name) == value


def test_the_preset_uses_them_with_the_papers_network_and_literal_reward():
    assert PRESET.training.ppo == PAPER
    assert PRESET.policy("depth", 2).network == "paper"
    assert PRESET.training.rules.reward.collision == "none"


def test_a_rollout_is_4_times_32_environments_times_128_steps(tmp_path, monkeypatch):
    """Played and counted: every step of every home between two updates."""
    run = trainer(tmp_path, PRESET.training, TINY)
    step, played = run.batch.step, []

    def counted(actions, max_ticks=0):
        told = step(actions, max_ticks)
        played.append(run.batch.traced.sum())
        return told

    monkeypatch.setattr(run.batch, "step", counted)
    row = run.step()
    assert sum(played) == row["steps"] == 4 * 32 * 128
    assert 0 < row["decisions"] < row["steps"]


def test_a_stage_is_100_million_simulation_steps(tmp_path):
    run = trainer(tmp_path, PRESET.training, TINY)
    run.decisions, run.steps = 10**9, 99_999_999
    assert not run.done
    run.decisions, run.steps = 0, 100_000_000
    assert run.done


def test_the_paper_preset_is_the_papers_in_everything_else():
    """Speed and interruption are the benchmark's own rules (spec 14, 5 and 9), the same in every preset."""
    run = new_run({"preset": "paper", "method": "bdp", "task": "set_table"}, (), "cpu")
    assert run.training.rules == Rules(reward=Reward(collision="none"))
    assert run.training.rules.speed == "middle"
    assert run.split == "train"
    assert (run.training.decisions, run.training.rollout_decisions) == (0, 0)
    assert (run.policy.informed, run.training.ppo.auxiliary) == (False, 0.0)
    assert run.settings == BDPSettings(
        latents=8, weight=0.01, late_weight=None, warmup_fraction=0.1, redraw=10, hidden=512, latent_logit_std=0.0
    )
    assert (run.settings.buffer, run.settings.learning_rate) == (100_000, 3e-4)


def test_discount_and_decay_count_once_per_decision():
    out = np.empty(2, np.float32)
    number = np.float32
    advantages(
        np.array([1, 2], number), np.array([0.5, 1], number), np.array([30, 4], np.int32), np.array([False, True]),
        np.array([1, -1]), PAPER.discount, PAPER.gae_lambda, PAPER.per_step, out,
    )  # fmt: skip
    assert out == pytest.approx([1 + 0.99 * 1 - 0.5 + 0.99 * 0.95 * 1.0, 1.0])
