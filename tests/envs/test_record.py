"""`housemates.record` and `housemates.replay`: episodes of any agents, kept and played again."""

import numpy as np
import pytest

import housemates
from helpers.batches import action, episodes, home

HERE = {"homes": [home()], "episodes": episodes("tidy_house"), "observations": ("state",), "horizon": 60}


def still(obs):
    return np.full(len(obs["state"]), action("no-op"))


def test_scripts_and_functions_are_recorded_together():
    recording = housemates.record(["script/first_half", still], **HERE)
    assert recording.header["robots"] == ["script/first_half", "still"]
    pose = recording.frames["pose"]
    assert (pose[:, 0] != pose[0, 0]).any()
    assert (pose[:, 1] == pose[0, 1]).all()


def test_policies_by_name_draw_the_same_from_the_same_seed():
    agents = ["random", "pretrained/bdp-tidy_house-depth"]
    one, two = (housemates.record(agents, episode=3, seed=8, **HERE) for _ in range(2))
    assert one.header["digest"] == two.header["digest"]


def test_the_episode_is_chosen_by_number():
    recording = housemates.record(["script/solo"], episode=5, **HERE)
    assert recording.header["episode_id"] == episodes("tidy_house").id[5]


def test_a_file_is_played_again(tmp_path):
    kept = housemates.record(["script/first_half", "script/second_half"], out=tmp_path / "game.npz", **HERE)
    assert housemates.replay(tmp_path / "game.npz", home()).header["digest"] == kept.header["digest"]


@pytest.mark.parametrize("agents", ["script/solo", [], None])
def test_agents_must_be_a_list(agents):
    with pytest.raises(ValueError, match="give a list with one for each robot"):
        housemates.record(agents, **HERE)


def test_an_episode_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"episode.*24.*0.*23"):
        housemates.record(["script/solo"], episode=24, **HERE)


def test_a_place_that_cannot_be_written_is_refused_before_playing(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file"):
        housemates.record([lambda obs: pytest.fail("played")], out=tmp_path / "file" / "game.npz", **HERE)
