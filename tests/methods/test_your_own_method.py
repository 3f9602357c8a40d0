"""docs/your_own_method.md: its example runs as printed, through both stages."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY
from housemates.agents.agent import agent, population
from housemates.config import change
from housemates.methods import METHODS
from housemates.policies.checkpoint import load_policy
from housemates.runs.run import Run, create, work
from housemates.tasks.actions import ACTIONS
from housemates.training.store import Store

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "your_own_method.md").read_text()


def block() -> str:
    """The method on the page."""
    found = re.search(r"<!-- your own method.*?-->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert found, "docs/your_own_method.md has no example"
    return found.group(1)


@pytest.fixture(scope="module")
def tastes():
    """The example, known as a method while the tests run."""
    defined: dict = {"__name__": "example"}
    exec(compile(block(), "your_own_method.md", "exec", dont_inherit=True), defined)
    yield defined
    del METHODS["tastes"]


@pytest.fixture(scope="module")
def run(tastes, tmp_path_factory) -> Path:
    """Both stages of it in the hall."""
    folder = tmp_path_factory.mktemp("tastes") / "run"
    training = replace(SHORT, decisions=300, homes=8)
    settings = change(METHODS["tastes"].settings, "members", "2")
    policy = replace(TINY, robots=2)
    create(
        folder,
        Run(
            "tastes", "tidy_house", "smoke", "state", "dev", 2, 1, 1, "cpu", policy, training, stages=(1, 2), settings=settings
        ),
    )
    assert work(folder, lambda _: ([home()], episodes()), quiet=True)
    return folder


def test_the_example_is_short():
    lines = [line for line in block().splitlines() if line.strip() and not line.startswith(("import", "from"))]
    assert len(lines) <= 30


def test_the_example_makes_a_population_and_an_agent(run):
    assert [partner.name for partner in population(run)] == ["run/0", "run/1"]
    assert load_policy(agent(run).path).config.latent == 0


def test_the_example_pays_for_what_a_member_likes(tastes):
    store = Store({}, 1, 3, {"window": ((40, 3), np.float32)})
    store.append(3)
    store.window[:, -1, 2] = [ACTIONS.index("pick obj1"), ACTIONS.index("pick obj0"), ACTIONS.index("place goal1")]
    store.closed[:2] = True
    method = tastes["Tastes"](TINY, 2, 0, tastes["TasteSettings"]())
    assert method.bonus(1, store).tolist() == [0.05, 0, 0]
