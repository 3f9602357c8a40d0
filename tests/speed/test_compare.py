"""`housemates speed --compare`: both trees are measured in turns. No test looks at how fast."""

import json
import subprocess
from pathlib import Path

import pytest

import housemates
from housemates.cli.speed import compared, speed
from housemates.speed import compare as beside
from housemates.speed.compare import Compared, Turns, compare, older

TREE = Path(housemates.__file__).parents[2]
SMALL = Turns(("state_partners",), ("state",), (2,), warm=0, turns=1, num_envs=4)


def commits() -> list[str]:
    """The newest commit of the repository that the tests run in, if it is one."""
    found = subprocess.run(["git", "-C", str(TREE), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_a_tree_beside_itself_is_measured_in_learning_and_acting():
    if not (TREE / "src" / "housemates").is_dir():
        pytest.skip("the package is installed without its repository")
    said = []
    found = compare(str(TREE), SMALL, said.append)
    assert [row.name for row in found] == ["learning, state_partners", "acting, state, 2 in a call"]
    assert all(row.ratio == pytest.approx(row.before / row.now) and row.lowest <= row.ratio <= row.highest for row in found)
    assert len(said) == 2


def test_the_files_of_a_commit_are_there_until_they_are_not_needed():
    if not commits():
        pytest.skip("no git repository")
    with older(commits()[0]) as folder:
        assert (folder / "src" / "housemates" / "__init__.py").is_file()
    assert not folder.exists()


def test_a_commit_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="0123456789"), older("0123456789"):
        pass


def test_a_table_has_a_line_for_each_figure():
    rows = [Compared("learning, state", 50.0, 20.0, 2.5, 2.4, 2.6), Compared("learning, depth", 200.0, 100.0, 2.0, 1.9, 2.1)]
    text = compared(rows, "abc", {"processor": "P", "load": [0.5], "commit": "def"})
    assert "2.50" in text
    assert len(text.splitlines()) == 4


def test_the_command_prints_and_writes_the_figures_of_both(monkeypatch, tmp_path, capsys):
    row = Compared("learning, state", 50.0, 20.0, 2.5, 2.4, 2.6)
    monkeypatch.setattr(beside, "compare", lambda commit, plan, say: [row])
    speed(compare="abc", json_file=tmp_path / "beside.json")
    assert "2.50" in capsys.readouterr().out
    written = json.loads((tmp_path / "beside.json").read_text())
    assert written["beside"] == "abc"
    assert written["figures"] == [vars(row)]
