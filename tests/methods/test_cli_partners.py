"""`housemates partners`: who is listed, and who plays with whom."""

import json

import pytest

from housemates.cli.main import commands, main
from housemates.cli.parse import with_list
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy

TINY = PolicyConfig.state(hidden=8, features=8)
CONFIG = {"task": "tidy_house", "method": "sp", "observations": "state", "training": {"seed": 3}}


@pytest.fixture
def run(tmp_path):
    """A run of two members and an agent, as training leaves it."""
    folder = tmp_path / "runs" / "mine"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    for place in ("stage1/members/00", "stage1/members/01", "stage2/agent"):
        save_policy(folder / place, Policy(TINY), {"decisions": 1234})
    return folder


def listed(capsys, *words: str) -> list[list[str]]:
    assert main(["partners", *words]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_everybody_is_listed(run, capsys):
    names = [row[0] for row in listed(capsys, "list", str(run.parent))]
    assert {"script/noop", "random", "mine/0", "mine/1", "mine/agent"} <= set(names)


def test_a_line_says_what_is_known_of_a_partner(run, capsys):
    row = next(row for row in listed(capsys, "list", str(run)) if row[0] == "mine/1")
    assert row == ["mine/1", "learned", "tidy_house", "state", "sp", "3", "1,234", "-"]


def test_partners_of_another_task_are_left_out(run, capsys):
    names = [row[0] for row in listed(capsys, "list", str(run), "--task", "set_table")]
    assert "script/solo" in names
    assert "mine/0" not in names


def test_a_run_that_cannot_be_read_is_told_and_the_others_are_listed(run, capsys):
    (run.parent / "broken").mkdir()
    (run.parent / "broken" / "config.json").write_text("{")
    (run.parent / "broken" / "stage1" / "members" / "00").mkdir(parents=True)
    assert any(row[0] == "mine/0" for row in listed(capsys, "list", str(run.parent)))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["partners"], ["partners", "list"]),
        (["partners", "somewhere"], ["partners", "list", "somewhere"]),
        (["partners", "play", "a", "b"], ["partners", "play", "a", "b"]),
        (["partners", "--help"], ["partners", "--help"]),
        (["train"], ["train"]),
        ([], []),
    ],
)
def test_without_a_command_partners_are_listed(words, meant):
    assert with_list(commands(), words) == meant


def test_two_partners_play_by_one_command(run, capsys):
    assert main(["partners", "play", str(run), "script/solo", "--episodes", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tidy_house, 2 episodes of dev, seed 0"
    assert [line.split("  ")[0] for line in lines[2:]] == ["mine/0 + script/solo", "mine/1 + script/solo"]


def test_one_alone_does_not_play(capsys):
    assert main(["partners", "play", "random"]) == 2
    assert "at least two" in capsys.readouterr().err
