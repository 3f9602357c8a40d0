"""The three tables and how they are found."""

import numpy as np
import pytest

from helpers.rooms import FRIDGE_DOOR
from housemates.homes.home import OPENABLE, RECEPTACLES, Home
from housemates.homes.objects import NAMES
from housemates.tasks.task import initial_doors, initial_joints
from housemates.tasks.tasks import TASKS, get_task


def test_an_unknown_task_is_answered_with_the_choices():
    with pytest.raises(ValueError, match=r"'cook'.*set_table.*tidy_house.*prepare_groceries"):
        get_task("cook")


@pytest.mark.parametrize("name", TASKS)
def test_a_task_names_only_known_receptacles(name: str):
    assert set(get_task(name).kinds) <= set(RECEPTACLES)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_names_only_known_objects(name: str):
    assert {o for t in get_task(name).targets for o in t.objects} <= set(NAMES)


@pytest.mark.parametrize("name", TASKS)
def test_every_object_is_picked_and_placed_for_pay(name: str):
    assert {"pick obj0", "place obj0", "pick obj1", "place obj1"} <= set(get_task(name).subgoal_names)


@pytest.mark.parametrize("name", TASKS)
def test_only_closed_places_with_an_object_in_them_are_opened_for_pay(name: str):
    task = get_task(name)
    shut = {k for t in task.targets for k in t.start if k in OPENABLE and k not in dict(task.opened)}
    assert {s.thing for s in task.subgoals if s.verb == "open"} == shut


def test_the_open_fridge_of_the_groceries_is_a_joint_value(hall: Home):
    assert initial_joints(get_task("prepare_groceries"), hall)[FRIDGE_DOOR] == 1.5


def test_everything_is_shut_when_the_table_is_set(hall: Home):
    assert not initial_joints(get_task("set_table"), hall).any()


def test_doors_are_listed_in_the_order_of_the_open_actions():
    assert np.array_equal(initial_doors(get_task("prepare_groceries")), [1.5, 0.0, 0.0])
