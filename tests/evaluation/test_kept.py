"""An evaluation that is interrupted keeps its games and goes on with the others; the rows are those of an uninterrupted one."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.small_runs import small_run
from housemates.agents import agent as partners
from housemates.cli.main import main
from housemates.evaluation import evaluate
from housemates.evaluation import resume as module
from housemates.evaluation.crossplay import pair_up
from housemates.evaluation.resume import Kept, kept_beside
from housemates.lookahead.mind import OUTPUTS, TRACKED, Mind, save_mind
from housemates.lookahead.settings import LookAhead
from housemates.sim.rules import Rules

GAMES = 20 * (2 + 3 + 3 + 3 + 1)
"""With the population, the scripted strangers, and as controls blind, solo and random."""


@pytest.fixture(autouse=True)
def nothing_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(partners, "SHIPPED", tmp_path / "agents")


@pytest.fixture
def run(tmp_path) -> Path:
    return small_run(tmp_path / "pbt", "pbt")


def words(run: Path, out: Path, *more: str) -> list[str]:
    return ["evaluate", str(run), "--split", "dev", "--episodes", "20", "--threads", "1", "--out", str(out), *more]


class Stopping:
    """Instead of the progress on the console: an interrupt when so many games are played; counts the reports."""

    def __init__(self, after: int) -> None:
        self.after, self.first, self.last = after, None, 0

    def __call__(self, what: str, show: bool = True):
        from contextlib import nullcontext

        return nullcontext(self.report)

    def report(self, done: int, total: int) -> None:
        self.first, self.last = done if self.first is None else self.first, done
        if done >= self.after:
            raise KeyboardInterrupt


def interrupted(run: Path, out: Path, after: int, monkeypatch, *more: str) -> Stopping:
    stopping = Stopping(after)
    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "progress", stopping)
        assert main(words(run, out, *more)) == (130 if after <= GAMES else 0)
    return stopping


def files(folder: Path) -> list[str]:
    """Names of the files in a folder; the recordings beside rows have their own."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@pytest.fixture
def slots(monkeypatch):
    """Few games side by side, so that they end one after the other."""
    from functools import partial

    from housemates.evaluation import crossplay

    monkeypatch.setattr(crossplay, "play", partial(crossplay.play, slots=32))


def test_an_interrupted_evaluation_goes_on_to_the_same_rows(run, tmp_path, monkeypatch, capsys, slots):
    whole, out = tmp_path / "whole" / "rows.parquet", tmp_path / "parts" / "rows.parquet"
    assert main(words(run, whole)) == 0
    before = 0
    for after in (30, 90, 91, GAMES - 1):
        capsys.readouterr()
        stopping = interrupted(run, out, after, monkeypatch)
        assert before in (0, stopping.first)
        before = stopping.last
        said = capsys.readouterr().err.splitlines()[-1]
        assert said == f"housemates: stopped, {before} of {GAMES} games are kept - the same command goes on with the others"
        assert [name.endswith(".played") for name in files(out.parent)] == [True]
    last = interrupted(run, out, GAMES + 1, monkeypatch)
    assert (last.first, last.last) == (before, GAMES)
    assert files(out.parent) == ["rows.parquet"]
    assert out.read_bytes() == whole.read_bytes()


def test_games_of_another_evaluation_are_not_taken(run, tmp_path, monkeypatch, slots):
    out = tmp_path / "parts" / "rows.parquet"
    interrupted(run, out, 30, monkeypatch)
    for more in (("--seed", "1"), ("--greedy",), ("--partners", "script/noop", "random")):
        assert interrupted(run, out, 1, monkeypatch, *more).first < 30
    assert len(files(out.parent)) == 4


def test_games_with_another_theory_of_mind_are_not_taken(run, tmp_path):
    """It looks ahead beside the same weights, so the games are others."""
    me = replace(partners.agent(run), look_ahead=LookAhead("mind"))
    pairs = pair_up([me], [partners.scripted("noop")])

    def place() -> Path:
        games = kept_beside(tmp_path / "rows.parquet", pairs, episodes(), [home()], Rules(), 2, 0, False)
        assert games is not None
        return games.path

    found = [place()]
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        sizes = ((TRACKED + 4,), (TRACKED + 4,), (TRACKED + 4, 3), (3,), (3, OUTPUTS), (OUTPUTS,), (OUTPUTS,))
        save_mind(me.path, Mind(*(rng.random(size) for size in sizes)), me.meta["sha256"], {})
        found.append(place())
    assert len(set(found)) == 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text"])
def test_a_damaged_file_is_played_again(damage, run, tmp_path, monkeypatch, slots):
    whole, out = tmp_path / "whole" / "rows.parquet", tmp_path / "parts" / "rows.parquet"
    assert main(words(run, whole)) == 0
    interrupted(run, out, 60, monkeypatch)
    (path,) = out.parent.iterdir()
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    path.write_bytes({"cut": content[:-100], "flipped": flipped, "empty": b"", "text": b"x" * 500}[damage])
    assert interrupted(run, out, GAMES + 1, monkeypatch).first < 60
    assert files(out.parent) == ["rows.parquet"]
    assert out.read_bytes() == whole.read_bytes()


def test_games_with_a_function_are_not_kept(run, tmp_path, monkeypatch, slots):
    """Nobody knows whether a function answers the same when it is asked again."""
    (tmp_path / "mine_kept.py").write_text("import numpy as np\ndef still(obs):\n    return np.zeros(len(obs['state']), int)\n")
    monkeypatch.chdir(tmp_path)
    interrupted(run, tmp_path / "parts" / "rows.parquet", 5, monkeypatch, "--partners", "mine_kept:still")
    assert not (tmp_path / "parts").exists()


def test_what_is_kept_is_saved_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SAVE_EVERY", 0.0)
    results = {"steps": np.arange(4)}
    one = Kept(tmp_path / "a.played", "key")
    assert one.begin(results).tolist() == [False] * 4
    one.add(np.array([2]))
    again = {"steps": np.zeros(4, int)}
    assert Kept(tmp_path / "a.played", "key").begin(again).tolist() == [False, False, True, False]
    assert again["steps"].tolist() == [0, 0, 2, 0]
    assert not Kept(tmp_path / "a.played", "other").begin(again).any()
    assert not Kept(tmp_path / "a.played", "key").begin({"steps": np.zeros(5, int)}).any()


STUBBORN = """
import sys
from functools import partial
from pathlib import Path
from housemates.cli.main import main
from housemates.agents import agent as partners
from housemates.evaluation import crossplay, evaluate
from housemates.evaluation import resume as kept
import contextlib, time
kept.SAVE_EVERY = 0.0
partners.SHIPPED = Path(sys.argv[1])
crossplay.play = partial(crossplay.play, slots=32)
def report(done, total):
    print("played", done, flush=True)
    time.sleep(0.02)
evaluate.progress = lambda what, show: contextlib.nullcontext(report)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_evaluation_goes_on_to_the_same_rows(number, run, tmp_path):
    whole, out = tmp_path / "whole" / "rows.parquet", tmp_path / "parts" / "rows.parquet"
    assert main(words(run, whole)) == 0
    command = [sys.executable, "-c", STUBBORN, str(tmp_path / "agents"), *words(run, out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if line.startswith("played") and int(line.split()[1]) >= 60)
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    if number != signal.SIGKILL:
        assert "games are kept - the same command goes on with the others" in said
    assert not out.exists()
    done = subprocess.run(command, capture_output=True, text=True)
    first = next(line for line in done.stdout.splitlines() if line.startswith("played"))
    assert int(first.split()[1]) >= 30
    assert out.read_bytes() == whole.read_bytes()
    assert files(out.parent) == ["rows.parquet"]
