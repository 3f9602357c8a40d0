"""`housemates train` from the command line: the smoke preset end to end, resuming, and what is refused."""

import json

import pytest

from housemates.agents import agent as partners
from housemates.cli.main import main
from housemates.methods import METHODS
from housemates.methods.bdp import BDPSettings
from housemates.methods.trajedi import TrajeDiSettings
from housemates.policies.checkpoint import load_policy
from housemates.run_folder import RunFolder
from housemates.runs.presets import NETWORKS, PRESETS, Preset
from housemates.runs.run import create
from housemates.runs.train import new_run
from housemates.sim.sensors import SETS

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
    assert "leave out --change" in told(capsys, "--resume", str(smoke), "--change", "num_envs=4")


def test_a_new_run_does_not_begin_in_an_old_folder(smoke, capsys):
    assert "holds a run already" in told(capsys, "--preset", "smoke", "--out", str(smoke))


def test_the_smoke_preset_trains_to_its_end(smoke, capsys):
    assert main(["train", "--resume", str(smoke)]) == 0
    assert "complete" in capsys.readouterr().out
    assert load_policy(smoke / "stage1" / "members" / "01").config.hidden == 32
    rows = [json.loads(line) for line in (smoke / "stage1" / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["decisions"] >= 3000


def test_a_run_may_be_as_long_as_some_simulation_steps(tmp_path, capsys):
    folder = tmp_path / "run"
    few = ["--preset", "smoke", "--steps", "9000", "--change", "num_envs=8"]
    assert main(["train", *few, "--hours", "1e-9", "--out", str(folder)]) == 0
    training = json.loads((folder / "config.json").read_text())["training"]
    assert (training["decisions"], training["steps"]) == (0, 9000)
    assert not RunFolder(folder).complete()
    assert "is a run with --steps 9000, not 8000" in told(capsys, "--resume", str(folder), "--steps", "8000")
    assert "--decisions 0 but --steps 9000, not 5" in told(capsys, "--resume", str(folder), "--decisions", "5")
    assert main(["train", "--resume", str(folder), "--steps", "9000"]) == 0
    assert "complete" in capsys.readouterr().out
    assert RunFolder(folder).complete()
    rows = [json.loads(line) for line in (folder / "stage1" / "metrics.jsonl").read_text().splitlines()]
    assert rows[-2]["steps"] < 9000 <= rows[-1]["steps"]


def test_a_budget_is_given_in_one_unit(tmp_path, capsys):
    folder = tmp_path / "run"
    assert "give one of them" in told(capsys, "--steps", "5", "--decisions", "5", "--out", str(folder))
    assert "must be positive" in told(capsys, "--steps", "0", "--out", str(folder))
    assert not folder.exists()


def test_a_preset_in_steps_may_be_trained_for_decisions():
    run = new_run({"preset": "paper", "decisions": 700}, (), "cpu")
    assert run.training.budget == ("decisions", 700)
    assert new_run({"preset": "state", "steps": 700}, (), "cpu").training.budget == ("steps", 700)


REFUSED = {
    "--wandb": "--wandb needs the package wandb - run: pip install wandb",
    "--device cuda": "--device cuda - there is no GPU that torch can use here; leave it out, or use --device cpu",
    "--change ppo.learning_rate=NaN": "the setting learning_rate = nan - it must be a finite number",
    "--change ppo.max_grad_norm=Infinity": "the setting max_grad_norm = inf - it must be a finite number",
    "--change rules.reward.success=-Infinity": "the setting success = -inf - it must be a finite number",
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_is_refused_leaves_no_folder(option, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert (
        told(capsys, "--preset", "smoke", *option.split(), "--out", str(tmp_path / "run")) == f"housemates: {REFUSED[option]}"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", [True, False])
def test_a_run_that_fails_before_it_trains_leaves_nothing(before, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "run"

    def refuse(run, quiet):
        raise ValueError("no homes today")

    if before:
        folder.mkdir()
        (folder / "mine.txt").write_text("kept")
    monkeypatch.setattr("housemates.runs.train.load", refuse)
    options = ("--preset", "smoke", "--stage", "2", "--population", "script/solo", "--out", str(folder))
    assert "no homes today" in told(capsys, *options)
    there = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert there == (["run/.lock", "run/config.json", "run/mine.txt", "run/stage2/partners.json"] if before else [])


def test_a_run_that_fails_while_it_trains_is_kept(smoke, capsys, monkeypatch):
    def refuse(run, quiet):
        raise ValueError("no homes today")

    monkeypatch.setattr("housemates.runs.train.load", refuse)
    assert "no homes today" in told(capsys, "--resume", str(smoke))
    assert (smoke / "config.json").is_file()


def test_a_run_with_a_function_as_partner_goes_on_where_the_function_is_named_again(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend("tests/agents")
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


def test_a_presets_settings_reach_the_method_they_are_for_and_no_other():
    preset = Preset("mine", "", methods={"bdp": {"weight": 0.5}})
    assert preset.settings("bdp", BDPSettings()) == BDPSettings(weight=0.5)
    assert preset.settings("bdp_literal", BDPSettings()) == BDPSettings()
    assert preset.settings("trajedi", TrajeDiSettings()) == TrajeDiSettings()


PAPERS = {"latents": 8, "redraw": 10, "hidden": 512, "buffer": 100_000, "batches": 8, "batch": 512}
PAPERS |= {"learning_rate": 3e-4, "weight": 0.01, "late_weight": None, "warmup_fraction": 0.1}
"""BDP's numbers in the paper (C.3, C.4), as far as it has them."""
PAID = PAPERS | {"weight": 0.015, "late_weight": 0.1, "warmup_fraction": 0.05}
LITERAL = PAPERS | {"branches": False, "latent_logit_std": 0.0}
POPULATION = {"members": 8, "redraw": 10}
ANY = {name: {} for name in ("gt_coord", "solo", "own", "best_response", "cec")}
ANY |= dict.fromkeys(("sp", "pbt", "fcp", "pbt_state"), POPULATION)
ANY |= {"trajedi": POPULATION | {"weight": 0.1}, "bdp_literal": LITERAL}
ANY |= {"hidden_utility": {"charge": 0.04, "redraw": 10, "latent_logit_std": 0.5}, "e3t": {"eps": 0.5, "redraw": 10}}
ANY |= {"upd": {"buffer": 256, "window": 8, "fresh": 0.5, "redraw": 10, "most": 0.8, "concentration": 0.1}}
"""Of every preset."""
NO_LATENT = LITERAL | {"weight": 0.0, "branches": True}
OWN_NUMBERS = ANY | {"bdp": LITERAL, "bdp_rgb": LITERAL, "bdp_state": LITERAL, "bdp_separate": PAPERS}
OWN_NUMBERS |= {"bdp_no_discriminator": LITERAL | {"weight": 0.0}, "bdp_no_latent_no_discriminator": NO_LATENT}
OWN_NUMBERS |= {"bdp_shared_encoder": LITERAL | {"branches": True}}
BDP = PAID | {"branches": False, "latent_logit_std": 1.0}
SMALL = ANY | {"bdp": BDP, "bdp_rgb": BDP, "bdp_state": BDP, "bdp_separate": PAID}
SMALL |= {
    "bdp_no_discriminator": LITERAL | {"weight": 0.0, "latent_logit_std": 1.0},
    "bdp_no_latent_no_discriminator": NO_LATENT,
}
SMALL |= {"bdp_shared_encoder": PAID | {"branches": True, "latent_logit_std": 0.0}}
TABLE = {"smoke": OWN_NUMBERS, "paper": OWN_NUMBERS, "state": SMALL, "laptop": SMALL}
"""What config.json holds as settings, by preset and method."""


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_the_settings_of_the_table_in_every_preset(preset, method, tmp_path):
    spec = METHODS[method]
    population = ("random",) if spec.make is None and spec.agent is None else None
    create(tmp_path, new_run({"method": method, "preset": preset, "population": population}, (), "cpu"))
    assert json.loads((tmp_path / "config.json").read_text())["settings"] == TABLE[preset][method]


@pytest.mark.parametrize(
    ("method", "change", "by"),
    [
        ("bdp_no_discriminator", "weight=0.02", "weight = 0.0"),
        ("bdp_literal", "latent_logit_std=1.0", "latent_logit_std = 0.0"),
        ("bdp_shared_encoder", "branches=false", "branches = True"),
    ],
)
def test_what_makes_a_method_what_it_is_cannot_be_changed(method, change, by, tmp_path, capsys):
    folder = tmp_path / "run"
    answer = told(capsys, "--method", method, "--change", f"method.{change}", "--out", str(folder))
    assert f"'{method}' is what it is by {by}" in answer
    assert not folder.exists()


def test_solo_has_one_robot():
    run = new_run({"method": "solo"}, (), "cpu")
    assert (run.robots, run.policy.robots) == (1, 1)


def test_the_help_names_every_method_preset_and_kind_of_observations(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert [name for name in (*METHODS.own, *PRESETS, *NETWORKS["laptop"]) if name not in said] == []


def test_both_families_of_networks_know_the_same_observations():
    assert NETWORKS["laptop"].keys() == NETWORKS["paper"].keys() == SETS.keys()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("observations", SETS)
def test_every_preset_has_a_network_for_all_observations(preset, observations):
    run = new_run({"preset": preset, "observations": observations}, (), "cpu")
    pictures = {"depth": ("depth",), "rgb": ("rgb",)}.get(observations, ())
    assert run.policy.pictures == pictures


def test_hours_must_be_positive(capsys):
    assert "--hours 0.0" in told(capsys, "--hours", "0")
