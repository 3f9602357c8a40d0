"""An environment whose learner looks ahead."""

import numpy as np
import pytest

from helpers.batches import episodes, home
from housemates.envs.vector import make_vec
from housemates.tasks.actions import MOVE_FORWARD


def collisions(look_ahead: bool | str) -> int:
    """Games of a robot that always drives ahead beside one that does the task, which end in a collision."""
    envs = make_vec(
        "tidy_house", 24, partner="solo", observations=("state",), homes=[home()], episodes=episodes(), look_ahead=look_ahead,
        horizon=150,
    )  # fmt: skip
    envs.reset(seed=3)
    found = 0
    for _ in range(150):
        infos = envs.step(np.full(24, MOVE_FORWARD))[4]
        found += int((infos["outcome"] == 2).sum())
    return found


def test_a_learner_that_looks_ahead_collides_less_often():
    assert collisions("velocity") < collisions(False)


def test_low_level_control_has_no_look_ahead():
    with pytest.raises(ValueError, match="skills"):
        make_vec("tidy_house", 1, homes=[home()], episodes=episodes(), control="low_level", look_ahead=True)
