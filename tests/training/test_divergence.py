"""Trainings that diverge: they stop, say what to do, keep their last good point and never count as complete."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from helpers.learners import SHORT, TINY, trainer, weights
from housemates.cli.main import main
from housemates.policies.checkpoint import load_policy, save_policy
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder
from housemates.training.checks import COLLAPSED, DivergedError
from housemates.training.logger import Record
from housemates.training.ppo import PPO

SMOKE = ("train", "--method", "gt_coord", "--preset", "smoke", "--decisions", "6000", "--quiet")


def told(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def spoil(run, after: int) -> None:
    """One NaN in one element of the gradient of the critic, in an update after some others."""
    step = run.step

    def broken():
        if run.update >= after:
            fused, head = run.algorithms[1].fused, run.players[1].policy.critic.weight
            if fused is None:
                head.register_hook(lambda grad: torch.where(torch.arange(grad.numel()).view_as(grad) == 3, torch.nan, grad))
            else:
                improve = fused.step

                def spoilt(*given):
                    fused.flat.view(fused.gradient, "critic.weight", head.shape)[0, 3] = torch.nan
                    return improve(*given)

                fused.step = spoilt
        return step()

    run.step = broken


@pytest.mark.parametrize(
    ("ppo", "what"),
    [
        (PPO(chunk=4, learning_rate=float("inf")), "policy_loss is nan"),
        (PPO(chunk=4, max_grad_norm=float("nan")), "policy_loss is nan"),
        (PPO(chunk=4, value_coef=1e38), "gradient_norm is inf"),
    ],
)
def test_what_is_not_finite_ends_the_training(ppo, what, tmp_path):
    run = trainer(tmp_path / "stage1", SHORT, ppo=ppo)
    with pytest.raises(
        DivergedError, match=f"training diverged in update 1: members/00: .*{what}.*there is no resume point yet"
    ):
        run.run()
    assert not (tmp_path / "stage1" / "members" / "00" / "policy.json").exists()
    assert not (tmp_path / "stage1" / "metrics.jsonl").exists()


@pytest.mark.parametrize("learner", ["torch", "fused"])
def test_one_nan_in_one_gradient_ends_it_and_the_last_good_point_is_kept(tmp_path, learner):
    good = trainer(tmp_path / "good", SHORT, learner=learner)
    for _ in range(2):
        good.step()
    run = trainer(tmp_path / "stage1", SHORT, learner=learner)
    spoil(run, after=3)
    with pytest.raises(DivergedError, match=r"4.*members/01.*policy_loss.*nan.*resume/00000002"):
        run.run()
    kept = [load_policy(tmp_path / "stage1" / "members" / f"{k:02d}") for k in range(2)]
    assert all((a == b.numpy()).all() for a, b in zip(weights(good), _tensors(kept), strict=True))
    assert len((tmp_path / "stage1" / "metrics.jsonl").read_text().splitlines()) == 3
    again = trainer(tmp_path / "stage1", SHORT)
    assert again.load()
    assert again.update == 2


def _tensors(policies) -> list[torch.Tensor]:
    return [v for policy in policies for v in policy.state_dict().values()]


def test_a_run_that_diverged_goes_on_with_other_settings_of_ppo_and_nothing_else(tmp_path):
    run = trainer(tmp_path, SHORT)
    spoil(run, after=3)
    with pytest.raises(DivergedError):
        run.run()
    with pytest.raises(ValueError, match="another configuration"):
        trainer(tmp_path, replace(SHORT, rollout_decisions=9)).load()
    slower = trainer(tmp_path, replace(SHORT, ppo=PPO(chunk=4, learning_rate=1e-5)))
    assert slower.load()
    assert slower.run()
    assert json.loads((tmp_path / "diverged-00000004.json").read_text())["ppo"]["learning_rate"] == SHORT.ppo.learning_rate
    with pytest.raises(ValueError, match="another configuration"):
        trainer(tmp_path, SHORT).load()


def test_a_resume_point_with_bad_weights_is_not_gone_on_from(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.step()
    with torch.no_grad():
        run.players[0].policy.actor.weight[0, 0] = torch.nan
    run.write_members = lambda moment="": None
    run.save()
    with pytest.raises(DivergedError, match=r"actor\.weight.*finite"):
        trainer(tmp_path, SHORT).load()


def test_from_the_command_line_it_is_one_line_and_no_complete_run(tmp_path, capsys):
    folder = tmp_path / "run"
    answer = told(capsys, *SMOKE, "--change", "ppo.value_coef=1e38", "--out", str(folder))
    assert answer.startswith("housemates: training diverged in update 1: members/00: gradient_norm is inf")
    assert "lower --change ppo.learning_rate (it was 0.001)" in answer
    assert not RunFolder(folder).complete()
    assert main(["evaluate", str(folder), "--episodes", "1"]) == 2


@pytest.mark.parametrize("change", ["ppo.learning_rate=Infinity", "ppo.max_grad_norm=NaN", "ppo.clip=-Infinity"])
def test_settings_that_are_no_numbers_are_refused_before_anything_is_written(change, tmp_path, capsys):
    assert "must be a finite number" in told(capsys, *SMOKE, "--change", change, "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_only_a_run_that_diverged_changes_on_resume(tmp_path, capsys):
    folder = tmp_path / "run"
    few = [*SMOKE, "--change", "save_every=1"]
    assert main([*few, "--hours", "1e-9", "--out", str(folder)]) == 0
    resume, lower = ("train", "--resume", str(folder), "--quiet"), ("--change", "ppo.learning_rate=1e-4")
    assert "leave out --change ppo.learning_rate=1e-4" in told(capsys, *resume, *lower)
    (folder / "stage1" / "diverged.json").write_text('{"update": 2}')
    assert "leave out --change num_envs=8" in told(capsys, *resume, "--change", "num_envs=8")
    assert main([*resume, *lower]) == 0
    assert json.loads((folder / "config.json").read_text())["training"]["ppo"]["learning_rate"] == 1e-4
    assert (folder / "stage1" / "diverged-00000002.json").is_file()
    assert RunFolder(folder).complete()


def test_policies_with_bad_weights_are_neither_written_nor_read(tmp_path, monkeypatch):
    policy = Policy(TINY)
    with torch.no_grad():
        policy.actor.weight[0, 0] = torch.inf
    with pytest.raises(ValueError, match=r"actor\.weight.*finite.*diverged"):
        save_policy(tmp_path / "bad", policy, {})
    assert not (tmp_path / "bad").exists()
    monkeypatch.setattr("housemates.policies.checkpoint._check_finite", lambda path, tensors: None)
    save_policy(tmp_path / "bad", policy, {})
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"actor\.weight.*finite.*diverged"):
        load_policy(tmp_path / "bad")


def test_a_collapsed_entropy_is_in_the_log_and_told_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("housemates.training.logger.importlib.util.find_spec", lambda name: None)
    run = trainer(tmp_path, SHORT, ppo=PPO(chunk=4, learning_rate=1e10, anneal_lr=False))
    with Record(tmp_path, "a run", SHORT.budget) as show:
        run.run(show)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["losses/entropy"] < COLLAPSED
    assert rows[-1]["collapsed"] == ["members/00", "members/01"]
    assert "collapsed" not in rows[0]
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert sorted(line.split()[1] for line in warnings) == ["members/00", "members/01"]
    assert all("lower ppo.learning_rate" in line for line in warnings)


def test_an_ordinary_training_warns_of_nothing(tmp_path):
    run = trainer(tmp_path, SHORT)
    run.run()
    assert "collapsed" not in (tmp_path / "metrics.jsonl").read_text()


@pytest.mark.slow
def test_all_workers_stop_and_are_not_started_again(tmp_path):
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "housemates", *SMOKE, "--workers", "2", "--change", "ppo.value_coef=1e38"]
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_ADDR")}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH")])
    )
    ended = subprocess.run([*words, "--out", str(folder)], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("training diverged in update 1") == 1
    assert "Traceback" not in ended.stderr
    assert not RunFolder(folder).complete()
