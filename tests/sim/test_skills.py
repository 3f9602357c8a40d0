"""Each of the 25 actions: when it may start, what it changes, when it ends."""

import numpy as np
import pytest

from helpers.batches import FAR, action, do, floor_points, home, make, put, put_at_reach, world
from housemates.sim.batch import Batch
from housemates.sim.rules import ARRIVE, CARRY, FACING, NAVIGATION_CAP, SPEEDS, Rules
from housemates.sim.skills import cell_at, path_length
from housemates.tasks.actions import ACTIONS, ENTITIES, NO_OP, REACH
from housemates.tasks.task import initial_doors
from housemates.tasks.tasks import get_task

FRIDGE, DRAWER_RIGHT, DRAWER_LEFT = 0, 1, 2
BOWL, FRUIT = 0, 1
OFF = Rules(interruption="off")


@pytest.fixture
def tidy() -> Batch:
    """Two robots in the hall, both far from obj0, which lies on open furniture."""
    return make("tidy_house", rules=OFF)


@pytest.fixture
def table() -> Batch:
    """Set Table: the bowl in the closed right drawer, the fruit in the closed fridge."""
    batch = make("set_table", rules=OFF)
    put(batch, 0, (1.5, 1.5))
    put(batch, 1, FAR)
    return batch


def goal(batch: Batch, i: int) -> np.ndarray:
    return batch.world.episodes["goal"][batch.state.episode[0], i]


def executed(batch: Batch, robot: int = 0) -> str:
    return ACTIONS[batch.state.executed[0, robot]]


def nearby(batch: Batch, robot: int, point: np.ndarray) -> None:
    """Stand a robot well within reach of a point."""
    put_at_reach(batch, robot, point, max(1.5, point[1] + 0.1))


def hand(batch: Batch, robot: int, i: int) -> None:
    """Put object i into a robot's gripper."""
    batch.state.held[0, robot] = i


def test_a_pick_puts_the_object_into_the_gripper(tidy: Batch):
    nearby(tidy, 0, tidy.state.thing[0, 0])
    do(tidy, "pick obj0", "no-op")
    assert tidy.state.held[0].tolist() == [0, -1]


@pytest.mark.parametrize(("metres", "expected"), [(REACH - 1e-6, 0), (REACH + 1e-6, -1)])
def test_a_pick_reaches_two_metres_in_3d(tidy: Batch, metres: float, expected: int):
    put_at_reach(tidy, 0, tidy.state.thing[0, 0], metres)
    do(tidy, "pick obj0", "no-op")
    assert tidy.state.held[0, 0] == expected


@pytest.mark.parametrize("yaw", [-3.0, -1.5, 0.0, 1.5])
def test_a_pick_asks_for_no_heading(tidy: Batch, yaw: float):
    nearby(tidy, 0, tidy.state.thing[0, 0])
    tidy.state.pose[0, 0, 2] = yaw
    do(tidy, "pick obj0", "no-op")
    assert tidy.state.held[0, 0] == 0


def test_a_full_hand_picks_nothing_more(tidy: Batch):
    nearby(tidy, 0, tidy.state.thing[0, 0])
    hand(tidy, 0, 1)
    do(tidy, "pick obj0", "no-op")
    assert (tidy.state.held[0, 0], executed(tidy)) == (1, "no-op")


def test_an_object_cannot_be_taken_out_of_the_partners_hand(tidy: Batch):
    nearby(tidy, 0, tidy.state.thing[0, 0])
    hand(tidy, 1, 0)
    do(tidy, "pick obj0", "no-op")
    assert tidy.state.held[0].tolist() == [-1, 0]


def test_a_closed_drawer_hides_its_contents(table: Batch):
    nearby(table, 0, table.state.thing[0, BOWL])
    do(table, "pick obj0", "no-op")
    assert (table.state.held[0, 0], executed(table)) == (-1, "no-op")


def test_a_closed_fridge_hides_its_contents(table: Batch):
    nearby(table, 0, table.state.thing[0, FRUIT])
    do(table, "pick obj1", "no-op")
    assert (table.state.held[0, 0], executed(table)) == (-1, "no-op")


@pytest.mark.parametrize(("box", "value", "expected"), [(DRAWER_RIGHT, 0.35, -1), (DRAWER_RIGHT, 0.36, BOWL)])
def test_a_drawer_gives_its_contents_when_open_far_enough(table: Batch, box: int, value: float, expected: int):
    nearby(table, 0, table.state.thing[0, BOWL])
    table.state.door[0, box] = value
    do(table, "pick obj0", "no-op")
    assert table.state.held[0, 0] == expected


@pytest.mark.parametrize(("value", "expected"), [(1.07, -1), (1.08, FRUIT)])
def test_a_fridge_gives_its_contents_when_open_far_enough(table: Batch, value: float, expected: int):
    nearby(table, 0, table.state.thing[0, FRUIT])
    table.state.door[0, FRIDGE] = value
    do(table, "pick obj1", "no-op")
    assert table.state.held[0, 0] == expected


def test_the_open_fridge_of_groceries_gives_its_contents():
    batch = make("prepare_groceries", rules=OFF)
    put(batch, 1, FAR)
    nearby(batch, 0, batch.state.thing[0, 0])
    do(batch, "pick obj0", "no-op")
    assert batch.state.held[0, 0] == 0


def test_a_carried_object_stays_in_front_of_the_robot(tidy: Batch):
    hand(tidy, 0, 0)
    do(tidy, "turn-left", "no-op")
    x, z, yaw = tidy.state.pose[0, 0]
    assert tidy.state.thing[0, 0] == pytest.approx([x + CARRY[0] * np.cos(yaw), CARRY[1], z - CARRY[0] * np.sin(yaw)])


def test_a_place_puts_the_object_exactly_at_its_goal(tidy: Batch):
    hand(tidy, 0, 0)
    nearby(tidy, 0, goal(tidy, 0))
    do(tidy, "place goal0", "no-op")
    assert (tidy.state.thing[0, 0] == goal(tidy, 0)).all()


def test_a_place_empties_the_hand(tidy: Batch):
    hand(tidy, 0, 0)
    nearby(tidy, 0, goal(tidy, 0))
    do(tidy, "place goal0", "no-op")
    assert tidy.state.held[0, 0] == -1


@pytest.mark.parametrize(("metres", "expected"), [(REACH - 1e-6, -1), (REACH + 1e-6, 0)])
def test_a_place_reaches_two_metres_in_3d(tidy: Batch, metres: float, expected: int):
    hand(tidy, 0, 0)
    put_at_reach(tidy, 0, goal(tidy, 0), metres)
    do(tidy, "place goal0", "no-op")
    assert tidy.state.held[0, 0] == expected


def test_an_object_is_never_placed_at_the_other_ones_goal(tidy: Batch):
    hand(tidy, 0, 0)
    nearby(tidy, 0, goal(tidy, 1))
    do(tidy, "place goal1", "no-op")
    assert (tidy.state.held[0, 0], executed(tidy)) == (0, "no-op")


def test_an_empty_hand_places_nothing(tidy: Batch):
    nearby(tidy, 0, goal(tidy, 0))
    do(tidy, "place goal0", "no-op")
    assert executed(tidy) == "no-op"


@pytest.mark.parametrize(("box", "name", "value"), [(0, "fridge", 1.22), (1, "drawer_right", 0.45), (2, "drawer_left", 0.45)])
def test_opening_sets_the_joint(table: Batch, box: int, name: str, value: float):
    nearby(table, 0, world("set_table").homes["handle"][0, box])
    do(table, f"open {name}", "no-op")
    assert table.state.door[0, box] == value


@pytest.mark.parametrize(("metres", "expected"), [(REACH - 1e-6, 0.45), (REACH + 1e-6, 0.0)])
def test_opening_reaches_two_metres_to_the_handle(table: Batch, metres: float, expected: float):
    put_at_reach(table, 0, world("set_table").homes["handle"][0, DRAWER_RIGHT], metres)
    do(table, "open drawer_right", "no-op")
    assert table.state.door[0, DRAWER_RIGHT] == expected


@pytest.mark.parametrize("value", [0.15, 0.5, 1.22])
def test_only_what_is_closed_can_be_opened(table: Batch, value: float):
    nearby(table, 0, world("set_table").homes["handle"][0, FRIDGE])
    table.state.door[0, FRIDGE] = value
    do(table, "open fridge", "no-op")
    assert (table.state.door[0, FRIDGE], executed(table)) == (value, "no-op")


def test_a_full_hand_can_still_open(table: Batch):
    nearby(table, 0, world("set_table").homes["handle"][0, FRIDGE])
    hand(table, 0, BOWL)
    do(table, "open fridge", "no-op")
    assert table.state.door[0, FRIDGE] == 1.22


def test_an_open_drawer_brings_its_contents_along(table: Batch):
    before = table.state.thing[0, BOWL].copy()
    nearby(table, 0, world("set_table").homes["handle"][0, DRAWER_RIGHT])
    do(table, "open drawer_right", "no-op")
    assert table.state.thing[0, BOWL] - before == pytest.approx([0.45, 0, 0])


def test_an_opened_fridge_leaves_its_contents_on_the_shelf(table: Batch):
    before = table.state.thing[0, FRUIT].copy()
    nearby(table, 0, world("set_table").homes["handle"][0, FRIDGE])
    do(table, "open fridge", "no-op")
    assert (table.state.thing[0, FRUIT] == before).all()


@pytest.mark.parametrize("name", ["pick obj0", "pick obj1", "place goal0", "place goal1", "open drawer_left"])
def test_an_infeasible_skill_is_a_no_op_of_one_step(name: str):
    tried, idle = make("set_table", rules=OFF), make("set_table", rules=OFF)
    for batch in (tried, idle):
        put(batch, 0, FAR)
        put(batch, 1, (1.5, 1.5))
    do(tried, name, "no-op")
    do(idle, "no-op", "no-op")
    assert tried.records.tobytes() == idle.records.tobytes()


@pytest.mark.parametrize("name", [*ACTIONS[14:]])
def test_everything_but_navigation_lasts_one_step(tidy: Batch, name: str):
    assert do(tidy, name, "no-op").decide[0, 0]


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("entity", range(len(ENTITIES)))
def test_navigation_arrives_within_20_cm_and_faces(speed: str, entity: int):
    """From many places, of the approach point and of the thing itself (of any instance, for two chairs or counter tops)."""
    points = floor_points(40, entity)
    batch = make("set_table", size=len(points), robots=1, rules=Rules(speed=speed, horizon=2000))
    for e, xz in enumerate(points):
        put(batch, 0, xz, e * 0.7 - 3, home=e)
    batch.step(np.full((batch.size, 1), entity))
    s, w = batch.state, batch.world
    there = w.cell_xz[w.approach_cell[s.destination[:, 0]]]
    assert np.linalg.norm(s.pose[:, 0, :2] - there, axis=1).max() <= ARRIVE
    kind = ENTITIES[entity]
    for e in range(batch.size):
        if entity < 4:
            targets = [(s.rest[e, entity] if entity < 2 else w.episodes["goal"][s.episode[e], entity - 2])]
        else:
            targets = [home().receptacles[i].target for i in home().instances(kind)]
        errors = [np.arctan2(-(p[2] - s.pose[e, 0, 1]), p[0] - s.pose[e, 0, 0]) - s.pose[e, 0, 2] for p in targets]
        assert min(abs(np.angle(np.exp(1j * error))) for error in errors) < FACING + 1e-9


@pytest.mark.parametrize("entity", range(len(ENTITIES)))
def test_from_where_a_navigation_ends_the_thing_is_within_reach(entity: int):
    batch = make("set_table", size=24, robots=1)
    batch.step(np.full((24, 1), entity))
    bits = batch.observe("predicates")[:, 0]
    assert bits[:, entity].all()


def test_a_navigation_gives_control_back_after_300_steps(tidy: Batch):
    put(tidy, 0, FAR)
    do(tidy, "nav fridge", "no-op")
    tidy.state.elapsed[0, 0] = NAVIGATION_CAP - 1
    assert do(tidy, None, "no-op").decide[0, 0]


def test_a_navigation_does_not_end_before_its_cap(tidy: Batch):
    put(tidy, 0, FAR)
    do(tidy, "nav fridge", "no-op")
    tidy.state.elapsed[0, 0] = NAVIGATION_CAP - 2
    assert not do(tidy, None, "no-op").decide[0, 0]


def test_a_navigation_goes_to_where_a_held_object_last_lay(tidy: Batch):
    """Never to the robot that holds it: the destination is the same wherever the holder stands."""
    put(tidy, 0, (1.2, 5.0))
    do(tidy, "nav obj0", "no-op")
    untouched = tidy.state.destination[0, 0]
    hand(tidy, 1, 0)
    put(tidy, 1, FAR)
    do(tidy, None, "no-op")
    tidy.assign(0, 0, action("nav obj0"))
    assert tidy.state.destination[0, 0] == untouched


def test_a_navigation_to_a_placed_object_goes_to_its_goal(tidy: Batch):
    hand(tidy, 1, 0)
    nearby(tidy, 1, goal(tidy, 0))
    put(tidy, 0, (1.2, 5.0))
    do(tidy, "nav goal0", "place goal0")
    destination = tidy.state.destination[0, 0]
    tidy.assign(0, 0, action("nav obj0"))
    assert tidy.state.destination[0, 0] == destination


@pytest.mark.parametrize("kind", ["chair", "counter"])
def test_a_navigation_goes_to_the_nearest_instance(kind: str):
    """Of all approach cells of both instances, to the one with the shortest way (a slow search says which)."""
    points, w = floor_points(60, 5), world()
    batch = make("tidy_house", size=len(points), robots=1)
    for e, xz in enumerate(points):
        put(batch, 0, xz, home=e)
    batch.tick(np.full((batch.size, 1), action(f"nav {kind}")))
    candidates = w.homes["place_approach"][0, ENTITIES.index(kind) - 4].ravel()
    for e, (x, z) in enumerate(points):
        cell = cell_at(w, 0, x, z)
        lengths = {a: path_length(w, 0, cell, a) for a in candidates if a >= 0}
        assert lengths[batch.state.destination[e, 0]] == min(lengths.values())


def test_a_navigation_ignores_the_partner():
    beside, apart = make("tidy_house", rules=OFF), make("tidy_house", rules=OFF)
    for batch, xz in ((beside, (5.9, 3.9)), (apart, (1.2, 5.2))):
        put(batch, 0, FAR)
        put(batch, 1, xz)
        for _ in range(3):
            do(batch, "nav fridge", "no-op")
    assert beside.state.pose[0, 0].tolist() == apart.state.pose[0, 0].tolist()


def test_navigation_moves_at_most_one_step_of_the_speed():
    batch = make("tidy_house", size=24, robots=1)
    speed = SPEEDS[batch.rules.speed]
    rng = np.random.default_rng(0)
    for _ in range(100):
        before = batch.state.pose.copy()
        done = batch.tick(rng.integers(0, 14, (24, 1))).done
        moved = np.linalg.norm(batch.state.pose[:, 0, :2] - before[:, 0, :2], axis=1)
        turned = np.abs(np.angle(np.exp(1j * (batch.state.pose[:, 0, 2] - before[:, 0, 2]))))
        assert moved[~done].max() <= speed.forward + 1e-9
        assert turned[~done].max() <= speed.turn + 1e-9


@pytest.mark.parametrize("speed", SPEEDS)
def test_move_forward_goes_one_step_along_the_heading(speed: str):
    batch = make("tidy_house", rules=Rules(speed=speed, interruption="off"))
    put(batch, 0, (2.0, 3.3), np.pi / 2)
    put(batch, 1, FAR)
    do(batch, "move-forward", "no-op")
    assert batch.state.pose[0, 0] == pytest.approx([2.0, 3.3 - SPEEDS[speed].forward, np.pi / 2])


def test_a_robot_does_not_slide_along_a_wall(tidy: Batch):
    put(tidy, 0, (6.65, 4.0), 0.4)
    before = tidy.state.pose[0, 0].copy()
    do(tidy, "move-forward", "no-op")
    assert (tidy.state.pose[0, 0] == before).all()


@pytest.mark.parametrize(("name", "sign"), [("turn-left", 1), ("turn-right", -1)])
def test_turning_left_adds_to_the_yaw(tidy: Batch, name: str, sign: int):
    put(tidy, 0, (2.0, 3.3), 0.5)
    do(tidy, name, "no-op")
    assert tidy.state.pose[0, 0, 2] == pytest.approx(0.5 + sign * SPEEDS["middle"].turn)


def test_yaw_stays_within_half_a_turn(tidy: Batch):
    put(tidy, 0, (2.0, 3.3), 3.1)
    do(tidy, "turn-left", "no-op")
    assert tidy.state.pose[0, 0, 2] == pytest.approx(3.1 + SPEEDS["middle"].turn - 2 * np.pi)


def test_a_no_op_stands_still(tidy: Batch):
    before = tidy.state.pose[0, 0].copy()
    do(tidy, "no-op", "no-op")
    assert (tidy.state.pose[0, 0] == before).all()


def test_assign_drops_what_the_robot_was_doing(tidy: Batch):
    put(tidy, 0, FAR)
    do(tidy, "nav fridge", "no-op")
    tidy.assign(0, 0, NO_OP)
    assert do(tidy, None, "no-op").decide[0, 0]


def test_the_arm_comes_back_to_rest_after_opening(table: Batch):
    rest = table.state.arm[0, 0].copy()
    nearby(table, 0, world("set_table").homes["handle"][0, FRIDGE])
    do(table, "open fridge", "no-op")
    reached = table.state.arm[0, 0].copy()
    for _ in range(40):
        do(table, "no-op", "no-op")
    assert np.abs(reached - rest).max() > 0.1
    assert table.state.arm[0, 0] == pytest.approx(rest)


@pytest.mark.parametrize("task", ["set_table", "tidy_house", "prepare_groceries"])
def test_doors_start_as_the_task_says(task: str):
    assert make(task).state.door[0] == pytest.approx(initial_doors(get_task(task)))
