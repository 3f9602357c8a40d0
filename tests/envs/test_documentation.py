"""docs/concepts/observations.md and docs/concepts/control.md say what the spaces say."""

import re
from pathlib import Path

import pytest

from housemates.envs.spaces import action_space, observation_space, observations_offered
from housemates.tasks.actions import ACTIONS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "concepts"
PAGE = (DOCS / "observations.md").read_text()


def row(name: str) -> list[str]:
    """The cells of an observation's row in the table."""
    found = re.search(rf"^\| `{name}` \|(.*)\|$", PAGE, re.MULTILINE)
    assert found, f"docs/concepts/observations.md has no row for {name}"
    return [cell.strip() for cell in found.group(1).split("|")]


@pytest.mark.parametrize("robots", [1, 2, 4])
@pytest.mark.parametrize("name", [*observations_offered(), "action_mask"])
def test_the_table_tells_shape_and_type(name, robots):
    space = observation_space(observations_offered(), robots, 48)[name]
    formula, kind = row(name)[:2]
    formula = re.sub(r"(\d) (?=[R(])", r"\1 * ", formula.strip("`"))
    sizes = tuple(eval(part, {"S": 48, "R": robots}) for part in formula.split(", "))
    assert (sizes, kind) == (space.shape, space.dtype.name)


def test_the_page_lists_every_decision_by_number():
    found = dict(re.findall(r"\| (\d+) \| ([a-z][\w -]*?) (?=\|)", PAGE))
    assert [found[str(k)] for k in range(len(ACTIONS))] == list(ACTIONS)


def test_low_level_control_is_ten_numbers():
    numbers = re.findall(r"^\| (\d+)(?: to (\d+))? \|", (DOCS / "control.md").read_text(), re.MULTILINE)
    told = [k for first, last in numbers for k in range(int(first), int(last or first) + 1)]
    assert told == list(range(action_space("low_level").shape[0]))
