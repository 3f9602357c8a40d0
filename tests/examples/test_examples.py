"""The scripts under examples/: each runs with a small setting, and uses the public API alone."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import housemates
from housemates.evaluation.rows import read_rows
from housemates.homes.sources import HOMES
from housemates.sim.sensors import SENSORS
from housemates.tasks.tasks import TASKS

FOLDER = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
IMPORTS = (ast.Import, ast.ImportFrom)
PUBLIC_MODULES = {"housemates", "housemates.envs.sb3"}


def load(name):
    """An example as a module, without running it as a script."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_imports_nothing_internal(name):
    nodes = list(ast.walk(ast.parse((FOLDER / name).read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    taken = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {module for module in plain | taken if module.startswith("housemates")} <= PUBLIC_MODULES


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_uses_public_names_only(name):
    attributes = [n for n in ast.walk(ast.parse((FOLDER / name).read_text())) if isinstance(n, ast.Attribute)]
    used = {n.attr for n in attributes if isinstance(n.value, ast.Name) and n.value.id == "housemates"}
    assert used <= set(housemates.__all__)


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """A folder of a user that finds the examples by name; what they register is forgotten afterwards."""
    known = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))
    tables = [TASKS, SENSORS, HOMES]
    yield tmp_path
    for table in tables:
        for name in [name for name in table if name not in table.own]:
            del table[name]
    for name in set(sys.modules) - known:
        if (FOLDER / f"{name}.py").is_file():
            del sys.modules[name]


def test_the_short_loop_keeps_its_weights_and_another_example_evaluates_them(beside):
    curve = load("short_loop").train(updates=4, num_envs=8, split="dev", out=beside / "short_loop.pt")
    assert [decisions for decisions, _ in curve] == [8, 16, 24, 32]
    assert 0 <= load("outside_policy").main(episodes=2) <= 1
    rows = read_rows(beside / "outside.parquet").to_pylist()
    agents = {(row["agent"], row["method"], row["observations"]) for row in rows if row["evaluation"] == "zsc"}
    assert agents == {("outside_policy:policy", "short_loop", "state")}


def test_the_own_method_trains_both_stages_and_is_evaluated(beside):
    assert 0 <= load("own_method").main(decisions=400, episodes=2) <= 1


@pytest.mark.parametrize(("page", "example"), [("your_own_method", "own_method"), ("your_own_task", "own_task")])
def test_an_example_has_the_code_of_its_tutorial(page, example):
    text = (FOLDER.parent / "docs" / "tutorials" / f"{page}.md").read_text()
    blocks = re.findall(r"<!-- (?:your own method|my_house\.py).*?-->\n```python\n(.*?)```", text, re.DOTALL)
    defined = [ast.unparse(node) for block in blocks for node in ast.parse(block).body if not isinstance(node, IMPORTS)]
    there = [ast.unparse(node) for node in ast.parse((FOLDER / f"{example}.py").read_text()).body]
    assert [part for part in defined if part not in there] == []


def test_the_own_task_is_played_in_its_own_homes(beside):
    assert set(load("own_task").main(episodes=1)) <= {"success", "collision", "timeout"}


def test_own_homes_are_kept_in_a_folder_and_played_in(beside):
    assert len(load("own_home").main(out=beside / "homes", seeds="0-1", episodes=1)) == 1
    assert len(housemates.load_split(f"folder:{beside / 'homes'}")) == 2


def test_the_notebook_runs_from_top_to_bottom(beside):
    notebook = json.loads((FOLDER / "first_steps.ipynb").read_text())
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    assert "UPDATES, HOMES = 60, 64" in code
    code = "import matplotlib; matplotlib.use('Agg')\n" + code.replace("UPDATES, HOMES = 60, 64", "UPDATES, HOMES = 3, 8")
    done = subprocess.run([sys.executable, "-c", code], cwd=beside, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_smoke_grid_runs_on_a_ray_cluster_of_this_machine(beside):
    pytest.importorskip("ray")
    assert load("ray_cluster").main(out=beside / "grid") == 0


def test_the_pettingzoo_loop_plays_to_the_end():
    outcomes = load("pettingzoo_loop").main(episodes=2, horizon=40)
    assert set(outcomes) <= {"success", "collision", "timeout"}
    assert len(outcomes) == 2


def test_the_own_partner_finishes_its_half_of_the_task():
    assert load("own_partner").main(episodes=3) > 0


def test_the_own_partner_waits_when_its_object_is_at_its_goal():
    example = load("own_partner")
    seen = {"state": np.full((1, 18), 5.0), "predicates": np.zeros((1, 57), np.uint8)}
    seen["state"][:, example.HOLDING] = 0
    assert example.helper(seen).tolist() == [example.NAV_OBJ1]
    seen["predicates"][:, example.AT_GOAL1] = 1
    assert example.helper(seen).tolist() == [example.NO_OP]


def test_ppo_in_one_file_changes_its_policy_and_tells_returns():
    example = load("ppo_single_file")
    curve = example.train(example.Args(split="dev", steps=3000, num_envs=16, rollout=64))
    steps, returns, success = zip(*curve, strict=True)
    assert steps == (1024, 2048)
    assert all(np.isfinite(returns))
    assert all(0 <= share <= 1 for share in success)


def test_stable_baselines3_trains():
    pytest.importorskip("stable_baselines3")
    points = load("sb3").main(steps=2048, num_envs=16, rollout=64, split="dev")
    assert [steps for steps, *_ in points] == [1024, 2048]


def rise(curve):
    """How much the mean return grows from the first to the last point of a curve."""
    return curve[-1][1] - curve[0][1]


@pytest.mark.slow
def test_ppo_in_one_file_learns():
    example = load("ppo_single_file")
    assert rise(example.train(example.Args(steps=120_000))) > 4


@pytest.mark.slow
def test_ppo_of_stable_baselines3_learns():
    pytest.importorskip("stable_baselines3")
    assert rise(load("sb3").main(steps=120_000)) > 4
