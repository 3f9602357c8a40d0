"""Games that were kept: what is in a file, the list, and the rows they become."""

import csv
import json
import zipfile

import numpy as np
import pytest

from helpers import batches
from housemates.agents.agent import Agent, scripted
from housemates.cli.main import main
from housemates.evaluation.rows import read_rows
from housemates.recordings.recording import load_recording, replay
from housemates.tasks.actions import ENTITIES
from housemates.web.game import PERSON, new_game
from housemates.web.games import export, find_games, game_rows, save_game


def played(robot: int = 0):
    """A person at one robot picks an object; a script at the other does the second half."""
    team: list[Agent] = [PERSON, scripted("second_half")] if robot == 0 else [scripted("second_half"), PERSON]
    game = new_game(batches.episodes(), [batches.home()], 12, team)
    game.click(ENTITIES.index("obj0"))
    while not game.over and game.batch.state.done_by[0, 0] < 0:
        game.tick()
    return game


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("games")
    for robot in (0, 1):
        game = played(robot)
        did = [[0.0, 0, "speed", 10.0], [1.5, 12, "key", ["left", True]]]
        more = {"began": "2026-01-01T10:00:00+00:00", "seconds": 9.0, "hidden": True}
        save_game(found, game.recorder.finish(), game.team, game.result(), did, more)
    return found


def test_a_kept_game_plays_again_bit_for_bit(folder):
    for path, recording in find_games(folder):
        assert replay(load_recording(path), batches.home()).header["digest"] == recording.header["digest"]


def test_a_file_tells_who_played_but_not_which_person(folder):
    header = find_games(folder)[0][1].header
    assert sorted(header["game"]) == ["began", "consent", "hidden", "human", "id", "inputs", "result", "seconds", "team"]
    assert sorted(header["robots"]) == ["person", "script/second_half"]


def test_a_row_counts_what_the_robot_did_as_the_agents(folder):
    rows = game_rows([recording for _, recording in find_games(folder)]).to_pylist()
    assert [row["evaluation"] for row in rows] == ["human", "human"]
    for row in rows:
        assert row["agent"] == "script/second_half"
        assert row["partner"] == "person"
        assert row["subgoals"][0] == 2
    assert sorted(row["robot"] for row in rows) == [0, 1]


def test_the_export_holds_recordings_and_rows(folder, tmp_path):
    assert export(folder, tmp_path / "all.zip") == 2
    with zipfile.ZipFile(tmp_path / "all.zip") as packed:
        names = packed.namelist()
        (tmp_path / "rows.parquet").write_bytes(packed.read("rows.parquet"))
        inputs = list(csv.DictReader(packed.read("inputs.csv").decode().splitlines()))
    assert len([name for name in names if name.startswith("games/game-")]) == 2
    assert [(one["kind"], one["step"], json.loads(one["value"])) for one in inputs] == 2 * [
        ("speed", "0", 10.0), ("key", "12", ["left", True])
    ]  # fmt: skip
    assert {one["game"] for one in inputs} == {game.header["game"]["id"] for _, game in find_games(folder)}
    assert {one["began"] for one in inputs} == {"2026-01-01T10:00:00+00:00"}
    assert read_rows(tmp_path / "rows.parquet").num_rows == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.zip", "rows.parquet"]


def test_the_rows_alone_can_be_exported(folder, tmp_path, capsys):
    assert main(["games", "export", str(folder), "--out", str(tmp_path / "rows.parquet")]) == 0
    assert read_rows(tmp_path / "rows.parquet").num_rows == 2
    assert "2 games" in capsys.readouterr().out


def test_games_are_listed(folder, capsys):
    assert main(["games", "list", str(folder)]) == 0
    assert "Tidy House, home hall, episode" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["list", "export"])
def test_a_folder_that_is_not_there_is_one_line(command, tmp_path, capsys):
    assert main(["games", command, str(tmp_path / "none")]) == 2
    assert "housemates play --games" in capsys.readouterr().err


def test_an_export_of_another_kind_is_refused(folder, tmp_path, capsys):
    assert main(["games", "export", str(folder), "--out", str(tmp_path / "games.csv")]) == 2
    assert "neither a .zip nor a .parquet" in capsys.readouterr().err


def test_idle_steps_and_metres_are_those_of_each_robot():
    game = played()
    result = game.result()
    assert result["idle"] == [int(n) for n in game.batch.state.idle[0]]
    assert np.allclose(result["distance"], game.batch.state.travelled[0])
