"""docs/howto/datasets.md: its columns and shapes are the code's, and its example learns."""

import re
from pathlib import Path

import pytest

from helpers.batches import make
from helpers.exports import export
from housemates.agents.agent import Agent, scripted
from housemates.datasets.dataset import COLUMNS
from housemates.evaluation.crossplay import pair_up
from housemates.evaluation.trajectories import Senses
from housemates.sim.rules import Rules
from housemates.sim.sensors import SENSORS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "datasets.md").read_text()


def section(title: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    text = PAGE[PAGE.index(f"## {title}\n") :].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]


def test_the_page_tells_every_column_and_its_type():
    assert {row[0].strip("`"): row[1] for row in section("Columns")} == COLUMNS


@pytest.mark.parametrize("robots", [2, 3])
def test_the_page_tells_every_observation_with_shape_and_type(robots):
    shapes = Senses(make(robots=robots, stored_spawns=False), sorted(SENSORS.own), 48).shapes
    told = {}
    for name, formula, kind, _ in section("Observations"):
        formula = re.sub(r"(\d) (?=[R(])", r"\1 * ", formula.strip("`"))
        told[name.strip("`")] = (tuple(eval(part, {"S": 48, "R": robots}) for part in formula.split(", ")), kind)
    assert told == {name: (shape, kind.__name__) for name, (shape, kind) in shapes.items()}


def test_the_example_clones_a_robot(tmp_path, monkeypatch, capsys):
    found = re.search(r"<!-- cloning.*?-->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert found
    assert len(found.group(1).strip().splitlines()) <= 18
    export(tmp_path / "dataset", pair_up([scripted("solo")], [Agent("random", "random")]), Rules(), count=24)
    monkeypatch.chdir(tmp_path)
    exec(compile(found.group(1), "docs/howto/datasets.md", "exec"), {})
    right, often = map(float, re.findall(r"0\.\d+|1\.00", capsys.readouterr().out))
    assert right > 0.6
    assert right > 2 * often
