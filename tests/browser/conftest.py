"""The page in a real browser: a server in this process, headless Chromium, and waiting in real time."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from browser.tab import CHROMIUM, FLAGS, TOKEN, Tab
from conftest import missing
from helpers.small_runs import small_run
from housemates.agents.agent import looking, resolve, scripted
from housemates.cli.watch import play_scripted
from housemates.homes.splits import load_split
from housemates.lookahead.settings import LookAhead
from housemates.recordings.recording import save_recording
from housemates.sim.batch import Batch
from housemates.tasks.episodes import load_episodes
from housemates.web.game import new_game
from housemates.web.overlay import look_again

FASTEST = 100.0
"""Steps per second of the server's clock; with it a game of 100 steps takes a second or two."""


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A recording of two scripted robots that tidy up."""
    path = tmp_path_factory.mktemp("recordings") / "tidy.npz"
    save_recording(path, play_scripted("tidy_house", "eval", 3, ("first_half", "second_half")))
    return path


@pytest.fixture(scope="session")
def looked_ahead(tmp_path_factory):
    """A recording of a policy that looks ahead beside a script that does not give way, and its look-ahead."""
    homes = load_split("dev")
    who = looking(resolve("tidy_house/examples/bdp-tidy_house-state-0")[0], LookAhead())
    game = new_game(load_episodes("tidy_house", "dev", homes=homes), homes, 7, [who, scripted("solo")])
    while not game.over:
        game.tick()
    path, made = tmp_path_factory.mktemp("recordings") / "ahead.npz", game.recorder.finish()
    save_recording(path, made)
    return path, look_again(made, game.batch.homes[0], 0)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """The log of a run that has just begun."""
    folder = tmp_path_factory.mktemp("runs") / "young"
    (folder / "stage1").mkdir(parents=True)
    write_config(folder, "gt_coord", [1])
    write_rows(folder)
    return folder


def write_config(folder, method, stages):
    """The description of a run, as far as the page reads it."""
    training = {"seed": 0, "decisions": 100_000, "steps": 0}
    config = {"method": method, "task": "tidy_house", "observations": "state", "stages": stages, "training": training}
    (folder / "config.json").write_text(json.dumps(config))


def write_rows(folder, stage="stage1", count=5):
    """Some lines of a log."""
    rows = (
        f'{{"decisions": {1000 * k}, "charts/success": {0.1 * k}, "charts/episodic_return": {k - 1}.0}}\n'
        for k in range(1, count + 1)
    )
    (folder / stage / "metrics.jsonl").write_text("".join(rows))


@pytest.fixture(scope="session")
def two_stages(tmp_path_factory):
    """The logs of a run of two stages, each of which counts its decisions from the beginning."""
    folder = tmp_path_factory.mktemp("runs") / "two"
    for stage, count in (("stage1", 5), ("stage2", 3)):
        (folder / stage).mkdir(parents=True)
        write_rows(folder, stage, count)
    write_config(folder, "bdp", [1, 2])
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run with checkpoints."""
    folder = small_run(tmp_path_factory.mktemp("runs") / "trained")
    write_rows(folder)
    return folder


@pytest.fixture(scope="session")
def elsewhere(trained):
    """`housemates watch --run RUN --host ...`, as other machines see it: its address and its token."""
    # Every address that begins with 127 is this machine's, but only 127.0.0.1 is what the server takes for itself.
    command = [
        sys.executable,
        "-m",
        "housemates",
        "watch",
        "--run",
        trained,
        "--host",
        "127.0.0.2",
        "--port",
        "0",
        "--no-browser",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            printed = urlsplit(server.stdout.readline().split()[0])
            yield f"{printed.scheme}://{printed.netloc}", parse_qs(printed.query)["token"][0]
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def games(tmp_path_factory) -> Path:
    """Where games are kept."""
    return tmp_path_factory.mktemp("games")


@pytest.fixture(scope="session")
def address(recorded, run_folder, two_stages, games):
    """Where the page is."""
    from housemates.web.security import AccessRules
    from housemates.web.server import Page, running
    from housemates.web.service import Options, Service

    homes = load_split("eval")
    Batch(load_episodes("tidy_house", "eval", homes=homes), homes, 1, 2).observe("depth")  # compiled before anybody waits
    options = Options(mode="watch", places=(recorded,), runs=(run_folder, two_stages), games=games, fastest=FASTEST)
    with running(Page(Service(options), AccessRules(token=TOKEN))) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install playwright")
    if not Path(CHROMIUM).exists():
        missing(f"no browser at {CHROMIUM}: apt-get install chromium (or set HOUSEMATES_CHROMIUM)")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture
def context(browser):
    """A fresh profile with a small window."""
    found = browser.new_context(viewport={"width": 640, "height": 480})
    yield found
    found.close()


@pytest.fixture
def tab(context, address):
    """A tab that complains about nothing, to the end of its test."""
    found = Tab(context, address)
    yield found
    assert found.complaints == []
    assert found.get("facts.errors") == []
