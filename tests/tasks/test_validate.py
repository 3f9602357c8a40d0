"""Each rule of a valid episode, proved by breaking it on purpose."""

from collections.abc import Callable

import numpy as np
import pytest

from helpers.rooms import RECEPTACLES
from helpers.rooms import hall as make_hall
from housemates.homes.home import Home
from housemates.homes.navigation import navigation
from housemates.homes.objects import object_type
from housemates.homes.solids import box
from housemates.tasks.episodes import with_approach
from housemates.tasks.files import Episodes
from housemates.tasks.generate import generate_episodes
from housemates.tasks.tasks import TASKS
from housemates.tasks.validate import validate

NAMES = [r.name for r in RECEPTACLES]


def broken(home: Home, task: str, change: Callable[[Episodes], None], **options) -> list[str]:
    """The problems of one episode after a change to its arrays."""
    made = generate_episodes(task, [home], 1, seed=0, **options)
    change(made)
    return validate(made, [home])


@pytest.mark.parametrize("task", TASKS)
def test_generated_episodes_have_no_problems(hall: Home, task: str):
    assert validate(generate_episodes(task, [hall], 60, seed=9, clutter=10, spawns=True), [hall]) == []


def test_a_problem_names_episode_and_home(hall: Home):
    def lift(e: Episodes) -> None:
        e.start[0, 0, 1] += 0.1

    assert broken(hall, "set_table", lift, first=17)[0].startswith("episode 17 in hall: ")


def test_a_floating_object_is_found(hall: Home):
    def lift(e: Episodes) -> None:
        e.start[0, 0, 1] += 0.02

    assert "obj0 is +0.020 m off the surface of drawer_right" in broken(hall, "set_table", lift)[0]


def test_a_sunken_goal_is_found(hall: Home):
    def sink(e: Episodes) -> None:
        e.goal[0, :, 1] -= 0.02

    assert any("goal0 is -0.020 m off the surface" in p for p in broken(hall, "set_table", sink))


def test_an_object_over_the_edge_is_found(hall: Home):
    def push(e: Episodes) -> None:
        e.start[0, 0], e.yaw[0, 0] = [0.33, e.start[0, 0, 1], 1.4 + 0.39], 0.0

    assert any("obj0 sticks 0.0" in p and "out of drawer_right" in p for p in broken(hall, "set_table", push))


def test_overlapping_objects_are_found(hall: Home):
    def crowd(e: Episodes) -> None:
        e.kind[:] = object_type("002_master_chef_can")
        e.start_receptacle[:] = NAMES.index("sofa")
        e.start[0] = [[5.8, 0.5095, 5.35], [5.85, 0.5095, 5.35]]

    assert any("obj0 and obj1 overlap" in p for p in broken(hall, "tidy_house", crowd))


def test_a_goal_on_top_of_the_other_objects_start_is_found(hall: Home):
    def crowd(e: Episodes) -> None:
        e.kind[:] = object_type("002_master_chef_can")
        e.start_receptacle[0, 0] = e.goal_receptacle[0, 1] = NAMES.index("sofa")
        e.start[0, 0] = e.goal[0, 1] = [5.8, 0.5095, 5.35]

    assert any("obj0 and goal1 overlap" in p for p in broken(hall, "tidy_house", crowd))


def test_clutter_on_a_goal_is_found(hall: Home):
    def crowd(e: Episodes) -> None:
        e.clutter[0, 0], e.clutter_kind[0, 0] = e.goal[0, 0], object_type("024_bowl")
        e.clutter_receptacle[0, 0] = e.goal_receptacle[0, 0]

    assert any("goal0 and clutter0 overlap" in p for p in broken(hall, "set_table", crowd, clutter=1))


def test_an_object_in_the_furniture_is_found():
    vase = box((0.33, 0.95, 1.65), (0.2, 0.18, 0.2), (0, 0, 0))
    home = make_hall("vase", extra=(vase,))

    def push(e: Episodes) -> None:
        e.goal_receptacle[0, 0] = NAMES.index("counter_right")
        e.goal[0, 0, [0, 2]] = [0.33, 1.65]

    problems = broken(home, "prepare_groceries", push)
    assert any("goal0 overlaps a part of the furniture in counter_right" in p for p in problems)


def test_an_object_on_nothing_is_found():
    wide = tuple(RECEPTACLES[i] if r.name != "table_01" else _wider(r) for i, r in enumerate(RECEPTACLES))
    home = make_hall("wide", wide)

    def push(e: Episodes) -> None:
        e.goal[0, :, 0] = 3.4 + 0.9
        e.goal[0, :, 2] = 2.6

    assert any("goal0 has nothing under it on table_01" in p for p in broken(home, "set_table", push))


def _wider(receptacle):
    return type(receptacle)(**{**vars(receptacle), "half": (1.2, 0.095, 0.42)})


def test_an_unreachable_goal_is_found(hall: Home):
    def away(e: Episodes) -> None:
        e.goal[0, :, 0] = 30.0

    assert any("goal0 is out of reach" in p for p in broken(hall, "set_table", away))


def test_a_goal_on_the_same_furniture_is_found(hall: Home):
    def stay(e: Episodes) -> None:
        e.kind[0, 0] = object_type("009_gelatin_box")
        e.start_receptacle[0, 0], e.goal_receptacle[0, 0] = NAMES.index("counter_left"), NAMES.index("counter_right")
        e.start[0, 0], e.goal[0, 0] = [0.33, 0.874, 3.35], [0.33, 0.874, 1.65]

    problems = broken(hall, "tidy_house", stay)
    assert any("same piece of furniture as its goal (kitchen_counter)" in p for p in problems)


def test_a_goal_too_near_the_start_is_found(hall: Home):
    def stay(e: Episodes) -> None:
        e.goal[0, 0] = e.start[0, 0] + np.array([0.3, 0, 0], np.float32)

    assert any("obj0 starts 0.30 m from its goal" in p for p in broken(hall, "tidy_house", stay))


def test_robots_that_start_too_near_are_found(hall: Home):
    def near(e: Episodes) -> None:
        e.spawn[0, 1, :2] = e.spawn[0, 0, :2] + np.array([0.05, 0], np.float32)

    assert any("robots 0 and 1 start 0.05 m apart" in p for p in broken(hall, "tidy_house", near, spawns=True))


def test_a_robot_in_the_furniture_is_found(hall: Home):
    def inside(e: Episodes) -> None:
        e.spawn[0, 0, :2] = [3.4, 2.6]

    assert any("robot 0 starts off the main island" in p for p in broken(hall, "tidy_house", inside, spawns=True))


def test_a_missing_second_robot_is_found(hall: Home):
    def absent(e: Episodes) -> None:
        e.spawn[0, 1] = np.nan

    assert any("first two robots have no start" in p for p in broken(hall, "tidy_house", absent, spawns=True))


@pytest.mark.parametrize(("task", "value"), [("set_table", 1.22), ("prepare_groceries", 0.0)])
def test_a_wrong_fridge_door_is_found(hall: Home, task: str, value: float):
    def swing(e: Episodes) -> None:
        e.doors[0, 0] = value

    assert any(f"the fridge stands at {value:.2f}, but {task}" in p for p in broken(hall, task, swing))


def test_a_drawer_beyond_its_limit_is_found(hall: Home):
    def pull(e: Episodes) -> None:
        e.doors[0, 1] = 0.7

    assert any("drawer_right stands at 0.70, outside its limits" in p for p in broken(hall, "set_table", pull))


@pytest.fixture
def approached(hall: Home) -> Episodes:
    return with_approach(generate_episodes("tidy_house", [hall], 5, seed=0), [hall])


def test_approach_cells_of_the_navigation_are_in_reach(hall: Home, approached: Episodes):
    assert validate(approached, [hall]) == []


def test_a_thing_without_approach_cells_is_found(hall: Home, approached: Episodes):
    approached.approach[0, 2] = -1
    assert validate(approached, [hall]) == ["episode 0 in hall: goal0 has no approach cell"]


def test_an_approach_cell_elsewhere_is_found(hall: Home, approached: Episodes):
    cells = np.asarray(hall.floor.origin) + hall.floor.cells[navigation(hall).approach][:, ::-1] * hall.floor.cell
    away = np.linalg.norm(cells - approached.start[0, 1, [0, 2]], axis=1)
    approached.approach[0, 1, 0] = np.argmax(away)
    assert any("obj1 is" in p and "from one of its approach cells" in p for p in validate(approached, [hall]))


def test_an_approach_cell_that_does_not_exist_is_found(hall: Home, approached: Episodes):
    approached.approach[0, 1, 0] = 30_000
    assert any("obj1 has approach cell 30000, but there are only" in p for p in validate(approached, [hall]))


def test_an_object_of_another_task_is_found(hall: Home):
    def swap(e: Episodes) -> None:
        e.kind[0, 0] = object_type("013_apple")

    assert any("obj0 is 013_apple, which tidy_house does not use" in p for p in broken(hall, "tidy_house", swap))


def test_a_start_on_the_wrong_receptacle_is_found(hall: Home):
    def swap(e: Episodes) -> None:
        e.start_receptacle[0, 0] = NAMES.index("drawer_left")

    assert any("obj0 starts on drawer_left, but set_table wants drawer_right" in p for p in broken(hall, "set_table", swap))


def test_fruit_beside_the_bowl_is_found(hall: Home):
    def beside(e: Episodes) -> None:
        e.goal[0, 1, 0] += 0.1

    assert any("goal1 is not 0.04 m above goal0" in p for p in broken(hall, "set_table", beside))


def test_fruit_at_the_edge_of_the_fridge_is_found(hall: Home):
    def push(e: Episodes) -> None:
        e.start[0, 1, 0] = 0.35 + 0.2

    assert any("obj1 is not in the central half of fridge_shelf" in p for p in broken(hall, "set_table", push))


def test_clutter_in_the_sink_is_found(hall: Home):
    def wash(e: Episodes) -> None:
        e.clutter_receptacle[0, 0] = NAMES.index("sink")

    assert any("clutter0 is not on an open receptacle" in p for p in broken(hall, "set_table", wash, clutter=1))


def test_a_receptacle_that_does_not_exist_is_found(hall: Home):
    def lose(e: Episodes) -> None:
        e.goal_receptacle[0, 0] = 99

    assert any("does not exist" in p for p in broken(hall, "set_table", lose))


def test_episodes_of_other_homes_are_not_checked_against_these(hall: Home):
    made = generate_episodes("set_table", [hall], 1, seed=0)
    assert validate(made, [make_hall("other")]) == ["the episodes were made for other homes than the 1 given"]
