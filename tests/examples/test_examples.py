"""The scripts under examples/: each runs with a small setting, and uses the public API alone."""

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import housemates

FOLDER = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
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
