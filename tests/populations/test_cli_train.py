"""`housemates train` from the command line: the smoke preset end to end, resuming, and what is refused."""

import json
from typing import get_args

import pytest

from housemates.cli import main
from housemates.cli_train import MethodName, ObservationsName, PresetName, new_run
from housemates.policies import partners
from housemates.policies.checkpoint import load_policy
from housemates.populations import METHODS
from housemates.populations.bdp import BDPSettings
from housemates.presets import PRESETS
from housemates.presets.preset import NETWORKS, Preset

NOTHING: dict = {}


def told(capsys, *arguments: str) -> str:
    assert main(["train", *arguments]) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The smoke preset, paused at once."""
    folder = tmp_path_factory.mktemp("runs") / "smoke"
    assert main(["train", "--preset", "smoke", "--decisions", "3000", "--hours", "1e-9", "--out", str(folder)]) == 0
    return folder


def test_a_paused_run_says_how_to_continue(smoke, capsys):
    assert main(["train", "--resume", str(smoke), "--hours", "1e-9"]) == 0
    assert f"paused - continue with: housemates train --resume {smoke}" in capsys.readouterr().out


def test_other_options_are_refused_on_resume(smoke, capsys):
    assert "is a run with --task tidy_house, not set_table" in told(capsys, "--resume", str(smoke), "--task", "set_table")


def test_changes_are_refused_on_resume(smoke, capsys):
    assert "leave out --change" in told(capsys, "--resume", str(smoke), "--change", "homes=4")


def test_a_new_run_does_not_begin_in_an_old_folder(smoke, capsys):
    assert "holds a run already" in told(capsys, "--preset", "smoke", "--out", str(smoke))


def test_the_smoke_preset_trains_to_its_end(smoke, capsys):
    assert main(["train", "--resume", str(smoke)]) == 0
    assert "complete" in capsys.readouterr().out
    assert load_policy(smoke / "stage1" / "members" / "01").config.hidden == 32
    rows = [json.loads(line) for line in (smoke / "stage1" / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["decisions"] >= 3000


def test_a_run_with_a_function_as_partner_goes_on_where_the_function_is_named_again(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend("tests/policies")
    monkeypatch.setattr(partners, "NAMED", set())
    run, function = str(tmp_path / "run"), "test_partners:forward"
    begin = ("--preset", "smoke", "--decisions", "600", "--observations", "state", "--hours", "1e-9", "--out", run)
    assert main(["train", "--population", function, *begin]) == 0
    monkeypatch.setattr(partners, "NAMED", set())
    assert f"names the function '{function}'" in told(capsys, "--resume", run)
    assert main(["train", "--resume", run, "--allow", function]) == 0
    assert "complete" in capsys.readouterr().out


def test_a_run_in_a_folder_that_cannot_be_is_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert "choose another --out" in told(capsys, "--preset", "smoke", "--out", str(tmp_path / "file" / "run"))


@pytest.mark.parametrize(
    ("change", "answer"),
    [("ppo.epoch=3", "did you mean 'epochs'"), ("homes", "KEY=VALUE"), ("policy.hiden=3", "did you mean 'hidden'")],
)
def test_a_misspelt_change_is_answered_with_the_nearest_setting(change, answer, tmp_path, capsys):
    assert answer in told(capsys, "--change", change, "--out", str(tmp_path / "run"))


def test_changes_reach_policy_and_training():
    run = new_run(NOTHING, ("policy.hidden=64", "ppo.epochs=7", "rules.speed=slow"), "cpu")
    assert (run.policy.hidden, run.training.ppo.epochs, run.training.rules.speed) == (64, 7, "slow")


@pytest.mark.parametrize(
    ("preset", "task", "split"),
    [
        ("state", "tidy_house", "train"),
        ("state", "set_table", "varied"),
        ("laptop", "prepare_groceries", "varied"),
        ("paper", "set_table", "train"),
    ],
)
def test_tasks_in_the_kitchen_train_in_more_kitchens_than_the_paper_s(preset, task, split):
    assert new_run({"preset": preset, "task": task}, (), "cpu").split == split
    assert new_run({"preset": preset, "task": task, "split": "dev"}, (), "cpu").split == "dev"


def test_a_preset_sets_what_a_method_leaves_open_and_nothing_else():
    preset = Preset("", method={"weight": 0.5, "taste": 0.3, "unknown": 1})
    assert preset.settings(BDPSettings()) == BDPSettings(weight=0.5, taste=0.3)
    assert preset.settings(BDPSettings(weight=0.0)) == BDPSettings(weight=0.0, taste=0.3)


def test_solo_has_one_robot():
    run = new_run({"method": "solo"}, (), "cpu")
    assert (run.robots, run.policy.robots) == (1, 1)


def test_the_methods_of_the_command_line_are_all_methods():
    assert set(get_args(MethodName)) == set(METHODS)


def test_the_presets_of_the_command_line_are_all_presets():
    assert set(get_args(PresetName)) == set(PRESETS)


def test_the_observations_of_the_command_line_are_all_observations():
    assert all(set(get_args(ObservationsName)) == set(family) for family in NETWORKS.values())


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("observations", get_args(ObservationsName))
def test_every_preset_has_a_network_for_all_observations(preset, observations):
    run = new_run({"preset": preset, "observations": observations}, (), "cpu")
    pictures = {"depth": ("depth",), "rgb": ("rgb",)}.get(observations, ())
    assert run.policy.pictures == pictures


def test_hours_must_be_positive(capsys):
    assert "--hours 0.0" in told(capsys, "--hours", "0")
