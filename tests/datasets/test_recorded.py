"""Datasets of games with people: the recorded decisions, with what the robots sensed and earned."""

import numpy as np
import pytest

from helpers import batches
from housemates import datasets
from housemates.agents.agent import scripted
from housemates.cli.main import main
from housemates.datasets.export import export_recordings, witness_recording
from housemates.recordings.recording import GIVEN, Recorder
from housemates.sim.rules import Rules
from housemates.tasks.actions import ACTIONS, ENTITIES
from housemates.web.game import PERSON, new_game
from housemates.web.games import find_games, save_game

HOMES = {batches.home().name: batches.home()}


def played(human: int, episode: int):
    """A person does the first half of the task, changes the mind on the way, then stands still; a script does the rest."""
    team = [PERSON, scripted("second_half")]
    rules = Rules(horizon=400)
    game = new_game(batches.episodes(), [batches.home()], episode, team if human == 0 else team[::-1], rules)
    game.click(ENTITIES.index("obj1"))
    for _ in range(5):
        game.tick()
    game.click(ENTITIES.index("obj0"))
    while not game.over:
        if game.batch.state.done_by[0, 0] == human and game.batch.state.done_by[0, 1] < 0 and game.batch.decide[0, human]:
            game.click(ENTITIES.index("goal0"))
        game.tick()
    return game


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("games")
    for human, episode in ((0, 12), (1, 4)):
        game = played(human, episode)
        save_game(found / "games", game.recorder.finish(), game.team, game.result())
    return found


@pytest.fixture(scope="module")
def recordings(folder):
    return [recording for _, recording in find_games(folder / "games")]


@pytest.fixture(scope="module")
def data(folder, recordings):
    export_recordings(folder / "data", recordings, observations=("state", "depth"), homes=HOMES)
    return datasets.load_dataset(folder / "data")


def test_the_decisions_are_the_recorded_ones(data, recordings):
    for game, recording in enumerate(recordings):
        mine = data["game"] == game
        found = set(zip(*(data[name][mine].tolist() for name in ("clock", "robot", "decision")), strict=True))
        assert found == {(int(d["tick"]), int(d["robot"]), int(d["action"])) for d in recording.decisions}


def test_rewards_of_each_robot_add_up_to_the_return(data, recordings):
    for game, recording in enumerate(recordings):
        for robot in range(2):
            mine = (data["game"] == game) & (data["robot"] == robot)
            late = data["clock"][mine][0]
            assert data["duration"][mine].sum() == recording.steps - late
            assert np.isclose(data["reward"][mine].sum(), recording.header["return"] + 0.01 * late)
            assert (data["clock"][mine][1:] == data["clock"][mine][0] + np.cumsum(data["duration"][mine])[:-1]).all()


def test_a_robot_senses_what_the_recorded_home_shows(data, recordings):
    recording = recordings[0]
    mine = (data["game"] == 0) & (data["kind"] == "person")
    held = recording.frames["held"][data["clock"][mine], data["robot"][mine]] >= 0
    assert held.any()
    assert np.array_equal(data["state"][mine][:, 7] > 0, held)


def test_a_person_is_the_partner(data):
    person = data["kind"] == "person"
    assert set(data["role"][person]) == {"partner"}
    assert set(data["mover"][~person]) == {"script/second_half"}
    assert sorted(set(data["robot"][person].tolist())) == [0, 1]


def test_a_change_of_mind_ends_a_decision(data):
    person = np.flatnonzero((data["kind"] == "person") & data["start"])
    assert (data["duration"][person] <= 5).all()
    assert {ACTIONS[d] for d in data["decision"][person]} == {"nav obj1"}


def test_beliefs_of_a_recording_are_kept():
    batch = batches.make(rules=Rules(horizon=6), stored_spawns=True, autoreset=False)
    recorder, likely = Recorder(batch), np.random.default_rng(0).dirichlet(np.ones(25), (1, 2)).astype(np.float32)
    while not recorder.over:
        recorder.tick(np.full((1, 2), 21), likely)
    recording = recorder.finish()
    assert (recording.decisions["source"] == GIVEN).all()
    game = witness_recording(recording, ("state",), home=batches.home())
    assert np.array_equal(game.rows["probabilities"][:6], np.repeat(likely[0, :1], 6, axis=0))
    assert np.allclose(game.rows["log_prob"], np.repeat(np.log(likely[0, :, 21]), 6))


def test_a_game_that_plays_differently_is_refused(folder, recordings):
    recordings[0].header["return"] += 1.0
    try:
        with pytest.raises(ValueError, match="plays differently here"):
            export_recordings(folder / "other", recordings, homes=HOMES)
    finally:
        recordings[0].header["return"] -= 1.0
    assert not (folder / "other").exists()


def test_a_game_without_an_end_is_refused(folder, tmp_path):
    game = new_game(batches.episodes(), [batches.home()], 12, [PERSON, scripted("noop")])
    game.tick()
    with pytest.raises(ValueError, match="none of the games was played to its end"):
        export_recordings(tmp_path / "data", [game.recorder.finish()], homes=HOMES)


def test_the_command_writes_games_of_people(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("housemates.recordings.recording.home_of", lambda recording: batches.home())
    out = tmp_path / "data"
    assert main(["export", "--games", str(folder / "games"), "--robots-of", "partner", "--out", str(out)]) == 0
    assert set(datasets.load_dataset(out)["mover"]) == {"person"}
    assert "2 games" in capsys.readouterr().out
    assert datasets.describe(out)["source"] == "people"
