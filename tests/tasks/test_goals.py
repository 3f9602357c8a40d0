"""Actions, predicates, sub-goals and success in the hand-made hall."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.rooms import DRAWER_RIGHT, FRIDGE_DOOR
from housemates.homes.home import Home
from housemates.tasks import actions as goals
from housemates.tasks.actions import ACTIONS, ENTITIES, Subgoal, predicate_names
from housemates.tasks.tasks import SET_TABLE
from reference import predicates as truth
from reference.predicates import Situation, predicates


@pytest.fixture
def now(hall: Home) -> Situation:
    """Bowl in the closed right drawer, fruit in the closed fridge, robots in two corners, hands empty."""
    objects = np.array([[0.33, 0.5465, 1.4], [0.35, 1.2975, 0.45]])
    targets = np.array([[3.4, 0.7865, 2.6], [3.4, 0.8265, 2.6]])
    robots = np.array([[6.5, 4.0, 0.0], [1.0, 5.5, 0.0]])
    return Situation(hall, robots, objects, targets, (-1, -1), np.zeros(3))


def bit(now: Situation, name: str, self_index: int = 0) -> bool:
    return bool(predicates(now, self_index)[predicate_names(len(now.robots)).index(name)])


def test_each_kind_of_action_starts_where_its_constant_says():
    starts = [goals.NAVIGATE, goals.PICK, goals.PLACE, goals.OPEN, goals.NO_OP, goals.MOVE_FORWARD, goals.TURN_LEFT]
    assert starts == [0, 14, 16, 18, 21, 22, 23]


def test_navigate_actions_follow_the_order_of_the_entities():
    assert ACTIONS[: len(ENTITIES)] == tuple(f"nav {entity}" for entity in ENTITIES)


def test_predicate_names_are_all_different():
    names = predicate_names(3)
    assert len(set(names)) == len(names)


def test_there_is_a_bit_for_every_name(now: Situation):
    assert predicates(now).shape == (len(predicate_names(2)),)


def test_a_robot_is_at_a_thing_up_to_the_reach_in_3d(now: Situation):
    goal = now.goals[0]
    flat = np.sqrt(goals.REACH**2 - goal[1] ** 2)
    inside = replace(now, robots=np.array([[goal[0] + flat - 1e-6, goal[2]], [1.0, 5.5]]))
    outside = replace(now, robots=np.array([[goal[0] + flat + 1e-6, goal[2]], [1.0, 5.5]]))
    assert (bit(inside, "robot_at(self, goal0)"), bit(outside, "robot_at(self, goal0)")) == (True, False)


def test_the_nearer_of_two_chairs_counts(now: Situation):
    beside_the_second = replace(now, robots=np.array([[5.4, 1.9], [1.0, 5.5]]))
    assert bit(beside_the_second, "robot_at(self, chair)")


def test_a_robot_goes_to_the_handle_of_an_open_drawer(now: Situation):
    closed = truth.receptacle_targets(now.home, "drawer_right", now.joints)[0]
    joints = now.joints.copy()
    joints[DRAWER_RIGHT] = 0.45
    opened = truth.receptacle_targets(now.home, "drawer_right", joints)[0]
    assert opened - closed == pytest.approx([0.45, 0, 0])


def test_self_comes_first_whoever_reads(now: Situation):
    near = replace(now, robots=np.array([[3.4, 1.6], [6.5, 4.0]]))
    assert (bit(near, "robot_at(self, table_01)", 0), bit(near, "robot_at(other1, table_01)", 1)) == (True, True)


def test_the_third_robot_sees_the_others_in_order(now: Situation):
    three = replace(now, robots=np.array([[6.5, 4.0], [6.5, 4.5], [3.4, 1.6]]), held_by=(0, -1))
    assert (bit(three, "is_holding(other1)", 2), bit(three, "is_holding(other2)", 2)) == (True, False)


def test_is_holding_belongs_to_the_holder(now: Situation):
    held = replace(now, held_by=(-1, 1))
    assert (bit(held, "is_holding(self)", 1), bit(held, "is_holding(self)", 0)) == (True, False)


def test_an_object_is_in_the_drawer_it_lies_in(now: Situation):
    assert bit(now, "object_at(obj0, drawer_right)")


def test_an_object_moves_with_its_open_drawer(now: Situation):
    joints = now.joints.copy()
    joints[DRAWER_RIGHT] = 0.45
    moved = now.objects + np.array([[0.45, 0, 0], [0, 0, 0]])
    assert bit(replace(now, joints=joints, objects=moved), "object_at(obj0, drawer_right)")


def test_an_object_left_behind_is_not_in_the_open_drawer(now: Situation):
    joints = now.joints.copy()
    joints[DRAWER_RIGHT] = 0.5
    assert not bit(replace(now, joints=joints), "object_at(obj0, drawer_right)")


def test_a_held_object_is_nowhere(now: Situation):
    held = replace(now, held_by=(0, -1))
    found = [name for name in predicate_names() if name.startswith("object_at(obj0") and bit(held, name)]
    assert found == []


def test_opening_the_fridge_door_leaves_its_contents_on_the_shelf(now: Situation):
    joints = now.joints.copy()
    joints[FRIDGE_DOOR] = 1.22
    assert bit(replace(now, joints=joints), "object_at(obj1, fridge)")


@pytest.mark.parametrize(("value", "expected"), [(1.07, False), (1.08, True)])
def test_the_fridge_is_open_above_its_threshold(now: Situation, value: float, expected: bool):
    assert truth.is_open(now.home, "fridge", np.array([value, 0, 0])) is expected


@pytest.mark.parametrize(("value", "expected"), [(0.35, False), (0.36, True)])
def test_a_drawer_is_open_above_its_threshold(now: Situation, value: float, expected: bool):
    assert truth.is_open(now.home, "drawer_right", np.array([0, value, 0])) is expected


def test_a_door_ajar_is_neither_open_nor_closed(now: Situation):
    ajar = np.array([0.5, 0, 0])
    assert (truth.is_open(now.home, "fridge", ajar), truth.is_closed(now.home, "fridge", ajar)) == (False, False)


def test_a_receptacle_without_a_door_cannot_be_opened(now: Situation):
    with pytest.raises(ValueError, match="sofa of hall has no door"):
        truth.is_open(now.home, "sofa", now.joints)


def test_no_subgoal_holds_at_the_start(now: Situation):
    assert not any(truth.subgoal_holds(s, now) for s in SET_TABLE.subgoals)


def test_opening_the_wrong_drawer_is_no_subgoal(now: Situation):
    left = replace(now, joints=np.array([0, 0, 0.45]))
    assert not any(truth.subgoal_holds(s, left) for s in SET_TABLE.subgoals)


def test_a_pick_counts_whoever_holds_the_object(now: Situation):
    assert truth.subgoal_holds(Subgoal("pick", "obj0"), replace(now, held_by=(1, -1)))


def test_carrying_an_object_past_its_goal_does_not_place_it(now: Situation):
    assert not truth.subgoal_holds(Subgoal("place", "obj0"), replace(now, objects=now.goals, held_by=(0, -1)))


@pytest.mark.parametrize(("off", "expected"), [(0.1499, True), (0.1501, False)])
def test_an_object_is_placed_within_the_success_radius(now: Situation, off: float, expected: bool):
    near = replace(now, objects=now.goals + np.array([[off, 0, 0], [0, 0, 0]]))
    assert truth.subgoal_holds(Subgoal("place", "obj0"), near) is expected


def test_success_needs_both_objects(now: Situation):
    one = replace(now, objects=np.stack([now.goals[0], now.objects[1]]))
    both = replace(now, objects=now.goals)
    assert (truth.succeeded(one), truth.succeeded(both)) == (False, True)


def test_success_needs_empty_hands(now: Situation):
    assert not truth.succeeded(replace(now, objects=now.goals, held_by=(-1, 0)))


def test_subgoals_have_codes_for_kernels():
    assert goals.subgoal_codes(SET_TABLE.subgoals).tolist() == [[0, 1], [1, 0], [2, 0], [0, 0], [1, 1], [2, 1]]
