"""What the paper and docs/concepts/spec.md say about the tasks, number by number."""

import pytest

from helpers.rooms import hall
from housemates.homes.generate import PAPER
from housemates.homes.home import OPEN_RECEPTACLES, OPENABLE, RECEPTACLES
from housemates.homes.objects import HAB_OBJECTS
from housemates.tasks.actions import ACTIONS, REACH, SUCCESS_RADIUS, predicate_names
from housemates.tasks.episodes import SIZES
from housemates.tasks.generate import SPAWN_APART, START_GOAL, generate_episodes
from housemates.tasks.tasks import TASKS, get_task

ACTION_LIST = """nav obj0, nav obj1, nav goal0, nav goal1, nav chair, nav table_01, nav table_02, nav tvstand, nav sofa,
nav counter, nav sink, nav fridge, nav drawer_right, nav drawer_left, pick obj0, pick obj1, place goal0, place goal1,
open fridge, open drawer_right, open drawer_left, no-op, move-forward, turn-left, turn-right"""


def test_there_are_three_tasks():
    assert set(TASKS) == {"set_table", "tidy_house", "prepare_groceries"}


def test_the_25_actions_stand_in_the_agreed_order():
    assert tuple(ACTION_LIST.replace("\n", " ").split(", ")) == ACTIONS


def test_21_of_the_actions_are_skills():
    assert sum(a.split()[0] in ("nav", "pick", "place", "open") for a in ACTIONS) == 21


def test_there_are_ten_receptacles_of_which_three_open():
    assert (len(RECEPTACLES), len(OPENABLE), set(OPENABLE) < set(RECEPTACLES)) == (10, 3, True)


def test_two_robots_read_54_predicates_and_three_open_bits():
    names = predicate_names(2)
    assert (len(names), sum(n.startswith("is_open") for n in names)) == (57, 3)


@pytest.mark.parametrize("robots", [2, 3, 4])
def test_more_robots_read_15_bits_more_each(robots: int):
    assert len(predicate_names(robots)) == 14 * robots + robots + 24 + 3


def test_distances_are_those_of_the_fact_sheet():
    assert (REACH, SUCCESS_RADIUS, SPAWN_APART, START_GOAL) == (2.0, 0.15, 2.0, 0.5)


def test_set_sizes_are_the_papers():
    assert {split: SIZES[split] for split in PAPER} == {"train": 10_000, "dev": 100, "eval": 100, "test": 100}


def test_set_table_has_six_subgoals():
    expected = ("open drawer_right", "pick obj0", "place obj0", "open fridge", "pick obj1", "place obj1")
    assert get_task("set_table").subgoal_names == expected


@pytest.mark.parametrize("name", ["tidy_house", "prepare_groceries"])
def test_the_other_tasks_have_four_subgoals(name: str):
    assert get_task(name).subgoal_names == ("pick obj0", "place obj0", "pick obj1", "place obj1")


def test_set_table_takes_the_bowl_from_the_drawer():
    bowl = get_task("set_table").targets[0]
    assert (bowl.objects, bowl.start, bowl.goal) == (("024_bowl",), ("drawer_right",), ("table_01",))


def test_set_table_takes_the_fruit_from_the_fridge_into_the_bowl():
    fruit = get_task("set_table").targets[1]
    assert (fruit.objects, fruit.start, fruit.goal_above, fruit.goal_lift) == (("013_apple",), ("fridge",), 0, 0.04)


def test_the_fruit_in_the_bowl_counts_for_both_goals():
    made = generate_episodes("set_table", [hall()], 5, seed=0)
    lift = made.goal[:, 1] - made.goal[:, 0]
    assert (lift**2).sum(axis=1).max() < SUCCESS_RADIUS**2


def test_tidy_house_moves_two_of_nine_objects_between_six_open_receptacles():
    task = get_task("tidy_house")
    assert all((t.objects, t.start, t.goal) == (HAB_OBJECTS, OPEN_RECEPTACLES, OPEN_RECEPTACLES) for t in task.targets)


def test_tidy_house_goals_are_on_another_receptacle_and_piece():
    home = hall()
    made = generate_episodes("tidy_house", [home], 200, seed=0)
    pairs = zip(made.start_receptacle.ravel(), made.goal_receptacle.ravel(), strict=True)
    places = [(home.receptacles[a], home.receptacles[b]) for a, b in pairs]
    assert all(a.kind != b.kind and a.furniture != b.furniture for a, b in places)


def test_groceries_go_from_the_open_fridge_to_the_counter():
    task = get_task("prepare_groceries")
    assert (task.targets[0].start, task.targets[0].goal, task.opened) == (("fridge",), ("counter",), (("fridge", 1.5),))


def test_groceries_go_from_a_table_to_the_fridge():
    target = get_task("prepare_groceries").targets[1]
    assert (target.start, target.goal) == (("table_01", "table_02"), ("fridge",))
