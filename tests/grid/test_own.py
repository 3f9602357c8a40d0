"""A method, a task and a preset of one's own in `housemates benchmark`, from a folder outside the package."""

import os
import sys
from pathlib import Path

import pytest

from housemates.cli.main import main
from housemates.grid.plan import Settings, make_grid, selection
from housemates.methods import METHODS, resolve_method
from housemates.plugins import USE
from housemates.run_folder import RunFolder
from housemates.runs.presets import PRESETS
from housemates.tasks.tasks import TASKS, resolve_task

MINE = '''
from housemates import Members, Policy, Preset, Slots, Target, Task, register_preset, register_task
import numpy as np


class Twins(Members):
    """Two members that only meet each other."""

    def __init__(self, config, robots, seed, settings):
        super().__init__([Policy(config, seed=seed + k) for k in range(2)])

    def pairs(self, update, rng, homes, robots):
        player = np.tile(np.array([0, 1], np.int16), (homes, 1))
        return Slots(player, np.zeros_like(player, np.int64), np.ones_like(player, np.bool_)) if update == 0 else None


register_task(
    Task(
        name="clear_table",
        targets=(
            Target(objects=("024_bowl",), start=("table_01",), goal=("sink",)),
            Target(objects=("003_cracker_box",), start=("table_01",), goal=("counter",)),
        ),
    )
)
register_preset(Preset("tiny", "a preset of one row", observations="state", hidden=16, split="dev"))
'''
TABLES = (METHODS, TASKS, PRESETS)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with the module; what it registers is gone after the test."""
    before = [dict(table) for table in TABLES]
    (tmp_path / "my_lab.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(USE, "")
    yield tmp_path
    for table, known in zip(TABLES, before, strict=True):
        table.clear()
        table.update(known)
    sys.modules.pop("my_lab", None)


def grid(methods=(), tasks=(), **settings):
    methods = [resolve_method(method) for method in methods]
    found = selection("smoke", methods, [resolve_task(task).name for task in tasks])
    return make_grid(Path("grid"), found, (0,), Settings(holdout_seeds=(), **settings))


def test_a_method_of_ones_own_plays_the_tasks_of_the_grid():
    made = grid(["my_lab:Twins"])
    assert {(cell.method, cell.task) for cell in made.cells} == {("my_lab:Twins", "tidy_house")}


def test_a_task_of_ones_own_is_played_by_the_methods_of_the_grid():
    resolve_method("my_lab:Twins")
    made = grid(tasks=["clear_table"])
    assert {cell.task for cell in made.cells} == {"clear_table"}
    assert {"gt_coord", "sp", "fcp", "bdp"} <= {cell.method for cell in made.cells}


def test_both_together_with_a_preset_of_ones_own_are_trained_by_the_command_of_a_cell(capsys):
    resolve_method("my_lab:Twins")
    made = grid(["my_lab:Twins"], ["clear_table"], preset="tiny", decisions=200, change=("num_envs=4", "rollout_decisions=4"))
    population = made.cells[0]
    command = made.command(population)[3:]
    assert os.environ[USE] == "my_lab:Twins"
    assert main([*command, "--quiet"]) == 0
    assert made.done(population)
    assert RunFolder(made.folder(population)).read_config()["preset"] == "tiny"


def test_a_setting_of_ones_own_method_is_checked_by_its_name():
    resolve_method("my_lab:Twins")
    with pytest.raises(ValueError, match="width"):
        Settings(change=("my_lab:Twins.width=2",))


def test_the_plan_of_a_grid_with_ones_own_method_and_task_is_printed(capsys):
    words = ["--grid", "smoke", "--methods", "my_lab:Twins", "--tasks", "clear_table", "--use", "my_lab", "--plan", "--cells"]
    assert main(["benchmark", "--out", "grid", *words]) == 0
    assert "my_lab.Twins-clear_table-smoke-0" in capsys.readouterr().out


def test_a_grid_is_not_continued_with_a_method_that_only_its_file_names(capsys):
    with pytest.raises(ValueError, match="--method my_lab:Twins"):
        selection("smoke", ["my_lab:Twins"])
