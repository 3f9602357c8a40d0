"""Finished runs become part of a grid if they are what it would have trained; tables say what is missing."""

import json
from dataclasses import replace

import pytest

from helpers.small_runs import DECISIONS, TINY, small_run
from housemates.cli.main import main
from housemates.grid import adopt as adopting
from housemates.grid.adopt import adopt, recipe
from housemates.grid.plan import Settings, make_grid, selection
from housemates.grid.tables import table_lines
from housemates.run_folder import RunFolder
from housemates.runs.run import read


def grid(tmp_path, *methods, **settings):
    given = {"preset": "smoke", "decisions": DECISIONS, "holdout_seeds": ()} | settings
    return make_grid(tmp_path / "grid", selection("main", methods, ("tidy_house",)), (0, 1), Settings(**given))


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """What the grid would train has the network of the small runs."""
    monkeypatch.setattr(adopting, "new_run", lambda *a, real=adopting.new_run: replace(real(*a), policy=TINY))


@pytest.fixture
def runs(tmp_path):
    place = tmp_path / "elsewhere"
    for seed in (0, 1):
        small_run(place / f"sp-{seed}", "sp", seed)
    return place


def test_a_finished_run_of_the_same_recipe_is_copied_whole(tmp_path, runs):
    work = grid(tmp_path, "sp")
    taken, refused = adopt(work, [runs])
    assert (len(taken), refused) == (2, [])
    for seed in (0, 1):
        cells = [cell for cell in work.cells if cell.seed == seed and cell.kind != "evaluation"]
        assert all(work.done(cell) for cell in cells)
        assert read(work.folder(cells[0])) == read(runs / f"sp-{seed}")


def test_evaluations_are_not_taken_over(tmp_path, runs):
    RunFolder(runs / "sp-0").rows("eval").parent.mkdir(parents=True, exist_ok=True)
    RunFolder(runs / "sp-0").rows("eval").write_bytes(b"rows")
    work = grid(tmp_path, "sp")
    adopt(work, [runs])
    assert not any(work.done(cell) for cell in work.cells if cell.kind == "evaluation")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"decisions": DECISIONS + 1}, "decisions"),
        ({"change": ("num_envs=8",)}, "num_envs"),
        ({"change": ("sp.members=3",)}, "members"),
    ],
)
def test_a_run_of_another_recipe_is_refused_with_what_differs(tmp_path, runs, settings, why):
    work = grid(tmp_path, "sp", **settings)
    taken, refused = adopt(work, [runs])
    assert taken == []
    assert all(why in line for line in refused)
    assert not work.root.exists()


def test_an_unfinished_run_is_refused(tmp_path):
    small_run(tmp_path / "elsewhere" / "sp-0", "sp", done=3)
    taken, refused = adopt(grid(tmp_path, "sp"), [tmp_path / "elsewhere"])
    assert taken == []
    assert len(refused) == 1


def test_what_the_grid_has_already_stays(tmp_path, runs):
    work = grid(tmp_path, "sp")
    small_run(work.folder(work.cells[0]), "sp", 0, members=3)
    adopt(work, [runs])
    assert len(list(work.folder(work.cells[0]).rglob("members/*/policy.json"))) == 3


def test_the_recipe_of_a_cell_has_the_changes_of_its_method_only(tmp_path):
    work = grid(tmp_path, "sp", "pbt", change=("sp.members=3",))
    members = {cell.method: recipe(work, cell).settings.members for cell in work.cells if cell.kind == "population"}
    assert members == {"sp": 3, "pbt": 8}


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        adopt(grid(tmp_path, "sp"), [tmp_path / "nowhere"])


def test_tables_tell_what_is_evaluated_trained_begun_and_missing(tmp_path, runs):
    work = grid(tmp_path, "sp", "pbt", "bdp")
    adopt(work, [runs])
    first = next(cell for cell in work.cells if cell.name.startswith("evaluation/sp") and cell.seed == 0)
    work.rows(first).parent.mkdir(parents=True, exist_ok=True)
    work.rows(first).write_bytes(b"rows")
    begun = small_run(work.root / "runs" / "pbt-tidy_house-smoke-1", "pbt", 1, done=400)
    (begun / "stage1" / "metrics.jsonl").write_text(json.dumps({"decisions": 400}) + "\n")
    lines = {line.split()[0]: line for line in table_lines(work) if line}
    assert "1 of 2; 1: trained" in lines["SP"]
    assert "0 of 2; 1: stage 1 at 40%" in lines["PBT"]
    assert "0 of 2" in lines["BDP"]
    assert ":" not in lines["BDP"]


def test_the_command_prints_tables_and_runs_nothing(tmp_path, capsys):
    assert main(["benchmark", "--out", str(tmp_path / "g"), "--tables"]) == 0
    assert "not in this grid" not in capsys.readouterr().out
    assert not (tmp_path / "g" / "runs").exists()
