"""`housemates export` from the command line, on a few dev episodes."""

import pytest

from helpers.small_runs import small_run
from housemates import datasets
from housemates.cli.main import main

FEW = ("--split", "dev", "--episodes", "2", "--threads", "1")


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "pbt", "pbt")


def told(capsys, *arguments: str) -> str:
    assert main(["export", *arguments]) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_agents_of_a_run_play_with_its_population(run, tmp_path, capsys):
    out = tmp_path / "data"
    assert main(["export", *FEW, "--agents", f"{run}/agent", "--partners", str(run), "--out", str(out)]) == 0
    data, about = datasets.load_dataset(out), datasets.describe(out)
    assert about["counts"]["games"] == 4
    assert (about["task"], about["split"], about["episodes"]) == ("tidy_house", "dev", 2)
    assert set(data["partner"]) == {"pbt/0", "pbt/1"}
    assert set(data["mover"]) == {"pbt/agent", "pbt/0", "pbt/1"}
    assert f"{len(data['game'])} decisions" in capsys.readouterr().out


def test_holdouts_are_pointed_out(tmp_path, capsys):
    command = ["export", *FEW, "--agents", "script/solo", "--partners", "script/noop", "--task", "set_table"]
    assert (
        main([*command, "--robots-of", "agent", "--observations", "depth", "--size", "32", "--out", str(tmp_path / "d")]) == 0
    )
    assert "note: script/noop is a holdout" in capsys.readouterr().out
    assert datasets.load_dataset(tmp_path / "d")["depth"].shape[1:] == (32, 32, 1)


def test_nothing_to_export_is_an_error(capsys):
    assert told(capsys).startswith("housemates: export what? - give --agents with --partners, or --games")


def test_agents_without_partners_are_an_error(capsys):
    assert "add --partners" in told(capsys, "--agents", "script/solo")


def test_a_folder_that_exists_is_an_error(tmp_path, capsys):
    message = told(capsys, "--agents", "script/solo", "--partners", "random", "--out", str(tmp_path))
    assert "exists already - name another folder with --out" in message


def test_an_unknown_observation_is_an_error(tmp_path, capsys):
    command = ["--agents", "script/solo", "--partners", "random", "--task", "tidy_house", *FEW]
    assert "no observation 'smell'" in told(capsys, *command, "--observations", "smell", "--out", str(tmp_path / "d"))
    assert not (tmp_path / "d").exists()


def test_games_that_are_not_there_are_an_error(tmp_path, capsys):
    assert "no games at" in told(capsys, "--games", str(tmp_path / "none"), "--out", str(tmp_path / "d"))
