"""docs/tutorials/your_own_method.md, a partner of one's own: the function that is printed there acts by its name."""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers import batches
from housemates.agents.actors import Actors, load_actors
from housemates.agents.agent import resolve
from housemates.tasks.actions import ACTIONS

PAGE = next((Path(__file__).resolve().parents[2] / "docs").rglob("your_own_method.md")).read_text()


@pytest.fixture
def careful(tmp_path, monkeypatch):
    """The agent that `my_robots:careful` names in a folder outside the package."""
    block = re.search(r"<!-- my_robots\.py.*?-->\n```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "my_robots.py").write_text(block.group(1))
    monkeypatch.chdir(tmp_path)
    (found,) = resolve("my_robots:careful")
    return found


def test_it_waits_near_its_partner_and_works_far_from_it(careful):
    batch = batches.make(size=2)
    for home, place in enumerate([(3.5, 4.0), batches.FAR]):
        batches.put(batch, 0, (2.5, 4.0), home=home)
        batches.put(batch, 1, place, home=home)
    apart = np.linalg.norm(batch.state.pose[:, 0, :2] - batch.state.pose[:, 1, :2], axis=1)
    assert apart[0] < 2.0 < apart[1]
    (actor,) = load_actors([careful]).values()
    actors = Actors(batch, [actor])
    actors.actor[:] = 0
    actions = np.full((2, 2), -1)
    actors.decide(np.ones((2, 2), bool), actions)
    assert [ACTIONS[a] for a in actions[:, 0]] == ["no-op", "nav obj0"]
