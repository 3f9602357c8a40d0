"""docs/tutorials/your_own_method.md: what is printed there works, in a folder outside the package."""

import json
import os
import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import housemates
from helpers.learners import TINY
from housemates.agents.agent import agent, population
from housemates.cli.main import main
from housemates.methods import METHODS, MethodSpec, find_method, register_method, resolve_method
from housemates.plugins import USE
from housemates.policies.checkpoint import load_policy
from housemates.run_folder import RunFolder
from housemates.runs.run import read
from housemates.tasks.actions import ACTIONS
from housemates.training.store import Store

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "your_own_method.md").read_text()
SHORT = ("--decisions", "600", "--quiet", "--change", "num_envs=8", "method.members=2")


def block(title: str) -> str:
    """The code below a comment of the page."""
    found = re.search(rf"<!-- {title}.*?-->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"docs/tutorials/your_own_method.md has no {title}"
    return found.group(1)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What a test registers or imports is gone after it; `use` writes into the environment."""
    before = dict(METHODS)
    monkeypatch.setenv(USE, "")
    yield
    forget(before)


def forget(before=None) -> None:
    """As in a new process."""
    known = before or {name: spec for name, spec in METHODS.items() if name in METHODS.own}
    METHODS.clear()
    METHODS.update(known)
    sys.modules.pop("my_methods", None)
    os.environ[USE] = ""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with the example."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "my_methods.py").write_text(block("your own method"))
    return folder


@pytest.fixture
def here(place, monkeypatch) -> Path:
    monkeypatch.chdir(place)
    return place


def one_line(capsys, *words: str) -> str:
    assert main(list(words)) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_the_commands_of_the_page_train_evaluate_and_report(here, capsys):
    train, evaluate, report = (shlex.split(line)[1:] for line in block("commands").splitlines())
    assert main([*train, "--decisions", "600", "--quiet", "--change", "num_envs=8", "method.members=2"]) == 0
    assert main([*evaluate, "--episodes", "2", "--partners", "script/noop"]) == 0
    assert main([*report, "--no-films"]) == 0
    run = Path("runs/preferences")
    assert json.loads((run / "config.json").read_text())["method"] == "my_methods:Preferences"
    assert [partner.name for partner in population(run)] == ["preferences/0", "preferences/1"]
    assert load_policy(agent(run).path).config.latent == 0
    assert (run / "report" / "index.html").is_file()
    assert "preferences/agent: zero-shot" in capsys.readouterr().out


def test_the_lines_of_python_train_evaluate_and_report(here, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(here))
    lines = block("python").replace('preset="smoke"', 'preset="smoke", decisions=600, quiet=True')
    lines = lines.replace("episodes=20", 'episodes=2, partners=["script/noop"], quiet=True')
    done: dict = {}
    exec(compile(lines, "your_own_method.md", "exec", dont_inherit=True), done)
    assert done["trained"].complete
    assert done["played"].rows.num_rows == done["played"].summary[0].games + 2 * 4
    assert "runs/again/report/index.html" in capsys.readouterr().out


@pytest.fixture
def paused(here) -> Path:
    """A run of the example that was paused at once, in a process that has not named its method."""
    run = here / "runs" / "paused"
    if not run.exists():
        words = (
            "train",
            "--method",
            "my_methods:Preferences",
            "--preset",
            "smoke",
            *SHORT,
            "--hours",
            "1e-9",
            "--out",
            str(run),
        )
        assert main(list(words)) == 0
    forget()
    return run


def test_a_run_can_be_read_without_the_code_of_its_method(paused):
    assert read(paused).settings == {"members": 2, "weight": 0.05}
    assert "my_methods" not in sys.modules


def test_a_run_is_not_resumed_because_a_file_names_its_method(paused, capsys):
    told = one_line(capsys, "train", "--resume", str(paused))
    assert "a file may not run code - name it: --method my_methods:Preferences" in told
    assert "my_methods" not in sys.modules


def test_a_run_is_resumed_only_with_its_own_method(paused, capsys):
    assert "is a run with --method my_methods:Preferences, not bdp" in one_line(
        capsys, "train", "--resume", str(paused), "--method", "bdp"
    )


def test_a_paused_run_says_the_whole_command_that_continues_it(paused, capsys):
    words = ("train", "--resume", str(paused), "--method", "my_methods:Preferences", "--hours", "1e-9", "--quiet")
    assert main(list(words)) == 0
    assert f"--resume {paused} --method my_methods:Preferences" in capsys.readouterr().out


def test_a_run_that_is_named_again_is_trained_to_its_end_by_several_calls(paused):
    sys.path.insert(0, str(paused.parents[1]))
    try:
        from my_methods import Preferences
    finally:
        sys.path.remove(str(paused.parents[1]))
    trained = housemates.train(Preferences, resume=paused, quiet=True)
    assert trained.complete
    assert RunFolder(trained.folder).complete()
    assert trained.run.settings.members == 2


def test_the_example_is_short():
    lines = [line for line in block("your own method").splitlines() if line.strip() and not line.startswith(("import", "from"))]
    assert len(lines) <= 30


def test_the_example_pays_for_what_a_member_likes(here):
    spec = METHODS[resolve_method("my_methods:Preferences")]
    store = Store({}, 1, 3, {"window": ((40, 3), np.float32)})
    store.append(3)
    store.window[:, -1, 2] = [ACTIONS.index("pick obj1"), ACTIONS.index("pick obj0"), ACTIONS.index("place goal1")]
    store.closed[:2] = True
    assert spec.make(TINY, 2, 0, spec.settings).bonus(1, store).tolist() == [0.05, 0, 0]


def test_a_class_says_what_tables_and_options_need(here):
    spec = METHODS[resolve_method("my_methods:Preferences")]
    assert (spec.label, spec.two_stages) == ("Preferences", True)
    assert "one object" in spec.docs
    assert spec.settings.weight == 0.05


def test_a_registered_name_is_a_method_like_any_other(here):
    register_method("preferences", METHODS[resolve_method("my_methods:Preferences")])
    assert resolve_method("preferences") == "preferences"
    with pytest.raises(ValueError, match="'preferences'"):
        resolve_method("preference")


@pytest.mark.parametrize(
    ("name", "method", "told"),
    [
        ("bdp", MethodSpec("x", "x", "", None), "has a method 'bdp' already"),
        ("two words", MethodSpec("x", "x", "", None), "give it one word"),
        ("mine", dict, "it has no 'begin' - make it a child of housemates.Members"),
        ("mine", len, "is no method - give a class"),
        ("mine", type("Odd", (housemates.Members,), {"default_settings": 3}), "give an object of a frozen dataclass"),
    ],
)
def test_what_is_no_method_is_told(name, method, told):
    with pytest.raises(ValueError, match=told):
        register_method(name, method)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("my_methods:Preference", "did you mean 'Preferences'"),
        ("nowhere_at_all:Preferences", "no module 'nowhere_at_all'"),
        ("../evil:Preferences", "names no module"),
    ],
)
def test_a_place_without_a_method_is_told(here, named, told, capsys):
    assert told in one_line(capsys, "train", "--method", named)


def test_an_installed_package_offers_a_method_by_name(here, monkeypatch):
    entry = metadata.EntryPoint("preferences", "my_methods:Preferences", METHODS.group)
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    assert find_method("preferences").label == "Preferences"
    with pytest.raises(ValueError, match="no method 'nonsense'"):
        find_method("nonsense")


def test_a_broken_package_is_named(here, monkeypatch):
    entry = metadata.EntryPoint("preferences", "my_methods:Missing", METHODS.group)
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    with pytest.raises(ValueError, match=r"my_methods:Missing.*AttributeError"):
        find_method("preferences")
