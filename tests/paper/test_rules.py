"""What the paper and docs/concepts/spec.md say about the rules of the game, number by number."""

import numpy as np
import pytest

from housemates.sim import rules
from housemates.sim.rules import SPEEDS, Reward, Rules
from housemates.sim.step import SPAWN_APART
from housemates.tasks.tasks import get_task


def test_the_reward_is_the_papers():
    reward = Reward()
    assert (reward.success, reward.subgoal, reward.step, reward.collision) == (10.0, 0.5, -0.01, "none")


def test_an_episode_lasts_750_steps():
    assert Rules().horizon == 750


def test_robots_start_two_metres_apart():
    assert SPAWN_APART == 2.0


def test_robots_are_discs_of_30_cm():
    assert rules.COLLISION == 0.6


def test_a_window_holds_40_steps():
    assert rules.WINDOW == 40


def test_navigation_stops_within_20_cm_and_a_tenth_of_a_radian():
    assert (rules.ARRIVE, rules.FACING, rules.NAVIGATION_CAP) == (0.2, 0.1, 300)


@pytest.mark.parametrize(("name", "forward", "degrees"), [("slow", 0.083, 4.77), ("middle", 0.15, 9.55), ("fast", 0.333, 9.55)])
def test_the_three_speeds(name: str, forward: float, degrees: float):
    assert (SPEEDS[name].forward, np.degrees(SPEEDS[name].turn)) == pytest.approx((forward, degrees), abs=5e-4)


def test_the_released_code_interrupts_below_one_and_a_half_metres():
    assert rules.ALWAYS_BELOW == 1.5


def test_thresholds_are_released_after_5_cm():
    assert rules.RELEASE == 0.05


@pytest.mark.parametrize(("task", "most"), [("tidy_house", 12.0), ("prepare_groceries", 12.0), ("set_table", 13.0)])
def test_the_largest_return_before_the_cost_of_time(task: str, most: float):
    assert Reward().success + Reward().subgoal * len(get_task(task).subgoals) == most


@pytest.mark.parametrize("task", ["tidy_house", "prepare_groceries"])
def test_half_a_task_is_four_actions(task: str):
    assert [len(half) for half in get_task(task).halves] == [4, 4]


def test_set_table_opens_before_it_picks():
    assert [half[1] for half in get_task("set_table").halves] == ["open drawer_right", "open fridge"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"speed": "warp"}, "unknown speed 'warp'"),
        ({"interruption": "often"}, "unknown interruption 'often'"),
        ({"thresholds": (1.0, 2.0)}, "must fall from far to near"),
        ({"thresholds": (float("nan"),)}, "distances in metres"),
        ({"discount": 1.5}, "at most 1"),
        ({"horizon": 0}, "at least one step"),
    ],
)
def test_rules_that_make_no_sense_are_refused(wrong: dict, message: str):
    with pytest.raises(ValueError, match=message):
        Rules(**wrong)
