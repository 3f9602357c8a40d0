"""Low-level control: wheels, arm and suction on the same state as the skills."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batches import FAR, action, do, make, put, scripted
from helpers.low_level import Hand
from housemates.homes.generate import generate_home
from housemates.homes.objects import half_extents
from housemates.robots import FETCH
from housemates.robots.fetch import TORSO, reach_pose
from housemates.robots.robot import base_to_world
from housemates.robots.robot import turn as turn_about
from housemates.sim.batch import Batch
from housemates.sim.control import JOINT_STEP, angle_about
from housemates.sim.rules import SPEEDS, Rules
from housemates.sim.skills import OPEN_ENOUGH
from housemates.sim.state import SUCCESS
from housemates.sim.world import supports
from housemates.tasks.episodes import generate_episodes, with_approach

FREE = (3.5, 4.0)
"""A floor point of the hall with half a metre of room around it."""
PASS, TAKE, LET_GO = 0.0, 1.0, -1.0
OPEN_FLOOR = np.array([1.6, 0.5, 3.6])
"""A point above the bare floor of the hall."""


def send(batch: Batch, *numbers: dict, grip: float = LET_GO):
    """One step; each robot's numbers by name: ahead, left, arm, grip."""
    chosen = np.zeros((batch.size, batch.robots, 10))
    chosen[..., 9] = grip
    for r, given_numbers in enumerate(numbers):
        chosen[:, r, 0] = given_numbers.get("ahead", 0.0)
        chosen[:, r, 1] = given_numbers.get("left", 0.0)
        chosen[:, r, 2:9] = given_numbers.get("arm", 0.0)
        chosen[:, r, 9] = given_numbers.get("grip", grip)
    return batch.control(chosen)


def hand_of(batch: Batch, robot: int = 0) -> np.ndarray:
    """The end effector of a robot of home 0, by plain matrix products from the robot's table of links."""
    angles = dict(zip(FETCH.arm_links, batch.state.arm[0, robot], strict=True))
    frames = {"": base_to_world(batch.state.pose[0, robot])}
    for index, link in enumerate(FETCH.links):
        motion = np.eye(4)
        motion[:3, 3] = link.offset
        if link.name == "torso_lift_link":
            motion[2, 3] += TORSO
        if index in angles:
            motion[:3, :3] = turn_about(link.axis, angles[index])
        frames[link.name] = frames[link.parent] @ motion
    return (frames["gripper_link"] @ [*FETCH.grip, 1.0])[:3]


def hand_to(batch: Batch, robot: int, point: np.ndarray, side: float = 0.0) -> None:
    """Stand a robot of home 0 so that its end effector is at a point; side: from which direction it reaches, radians."""
    pose = reach_pose(point[1], 0.7)
    batch.state.arm[0, robot] = pose
    put(batch, robot, FAR, side)
    put(batch, robot, np.asarray(FAR) + (point - hand_of(batch, robot))[[0, 2]], side)


def holding(batch: Batch, i: int = 0) -> Batch:
    """Robot 0 has object i in its hand."""
    hand_to(batch, 0, batch.state.thing[0, i])
    send(batch, {"grip": TAKE})
    assert batch.state.held[0, 0] == i
    return batch


@pytest.mark.parametrize("speed", SPEEDS)
def test_full_speed_is_the_configured_step(speed):
    batch = make(robots=1, rules=Rules(speed=speed))
    put(batch, 0, FREE, 0.0)
    send(batch, {"ahead": 1.0})
    assert batch.state.pose[0, 0] == pytest.approx([FREE[0] + SPEEDS[speed].forward, FREE[1], 0.0])


def test_a_robot_can_drive_backwards():
    batch = make(robots=1)
    put(batch, 0, FREE, np.pi / 2)
    send(batch, {"ahead": -0.5})
    assert batch.state.pose[0, 0, 1] == pytest.approx(FREE[1] + 0.5 * SPEEDS["middle"].forward)


def test_a_positive_turn_is_to_the_left():
    batch = make(robots=1)
    put(batch, 0, FREE, 0.0)
    send(batch, {"left": 1.0})
    assert batch.state.pose[0, 0, 2] == pytest.approx(SPEEDS["middle"].turn)


def test_commands_beyond_one_are_clipped():
    batch = make(robots=1)
    put(batch, 0, FREE, 0.0)
    send(batch, {"ahead": 7.0})
    assert batch.state.pose[0, 0, 0] == pytest.approx(FREE[0] + SPEEDS["middle"].forward)


def test_a_blocked_robot_does_not_slide():
    batch = make(robots=1)
    floor = batch.homes[0].floor
    put(batch, 0, floor.point(*floor.cells[0]), np.pi * 0.75)
    before = batch.state.pose[0, 0].copy()
    send(batch, {"ahead": 1.0})
    assert batch.state.pose[0, 0] == pytest.approx(before)


def test_an_arm_joint_moves_its_step():
    batch = make(robots=1)
    before = batch.state.arm[0, 0].copy()
    send(batch, {"arm": np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0, 0.0])})
    assert batch.state.arm[0, 0] - before == pytest.approx(JOINT_STEP * np.array([1.0, -1.0, 0.5, 0, 0, 0, 0]), abs=1e-9)


def test_an_arm_joint_stops_at_its_limit():
    batch = make(robots=1)
    batch.state.arm[0, 0, 1] = FETCH.limits[1, 1] - 0.001
    send(batch, {"arm": np.ones(7)})
    assert batch.state.arm[0, 0, 1] == FETCH.limits[1, 1]


def test_a_continuous_joint_wraps_round():
    batch = make(robots=1)
    batch.state.arm[0, 0, 2] = np.pi - 0.001
    send(batch, {"arm": np.ones(7)})
    assert batch.state.arm[0, 0, 2] == pytest.approx(-np.pi - 0.001 + JOINT_STEP)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_no_command_drives_a_robot_off_the_floor_or_an_arm_beyond_its_limits(seed):
    batch, rng = make(size=4), np.random.default_rng(seed)
    for _ in range(40):
        batch.control(rng.uniform(-1.5, 1.5, (4, 2, 10)))
        assert all(batch.homes[0].is_navigable((x, z)) for x, z in batch.state.pose[..., :2].reshape(-1, 2))
        arm, limits = batch.state.arm, FETCH.limits
        assert ((limits[:, 0] <= arm) & (arm <= limits[:, 1])).all()


def test_a_hand_takes_what_it_touches():
    batch = make()
    hand_to(batch, 0, batch.state.thing[0, 1])
    send(batch, {"grip": TAKE}, {})
    assert batch.state.held[0].tolist() == [1, -1]


def test_a_grip_of_exactly_zero_grasps():
    batch = make()
    hand_to(batch, 0, batch.state.thing[0, 0])
    send(batch, {"grip": PASS}, {})
    assert batch.state.held[0, 0] == 0


def test_an_open_hand_takes_nothing():
    batch = make()
    hand_to(batch, 0, batch.state.thing[0, 0])
    send(batch, {"grip": LET_GO}, {})
    assert batch.state.held[0, 0] == -1


def test_a_hand_beside_an_object_takes_nothing():
    batch = make()
    hand_to(batch, 0, batch.state.thing[0, 0] + [0.0, 0.25, 0.0])
    send(batch, {"grip": TAKE}, {})
    assert batch.state.held[0, 0] == -1


def test_a_closed_drawer_keeps_its_contents():
    batch = make("set_table")
    hand_to(batch, 0, batch.state.thing[0, 0])
    send(batch, {"grip": TAKE}, {})
    assert batch.state.held[0, 0] == -1


def test_picking_a_target_pays_the_sub_goal_once():
    batch = make(robots=1)
    hand_to(batch, 0, batch.state.thing[0, 0])
    first = send(batch, {"grip": TAKE}).reward[0, 0]
    send(batch, {"grip": LET_GO})
    batch.state.thing[0, 0] = hand_of(batch)
    assert (first, send(batch, {"grip": TAKE}).reward[0, 0]) == pytest.approx((0.5 - 0.01, -0.01))


def test_of_two_hands_at_one_object_exactly_one_gets_it():
    winners = set()
    for seed in range(12):
        batch = make(seed=seed)
        hand_to(batch, 0, batch.state.thing[0, 0])
        hand_to(batch, 1, batch.state.thing[0, 0], np.pi)
        send(batch, {"grip": TAKE}, {"grip": TAKE})
        assert sorted(batch.state.held[0].tolist()) == [-1, 0]
        winners.add(int(batch.state.held[0, 1]))
    assert winners == {-1, 0}


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_held_object_stays_at_the_end_effector(seed):
    batch, rng = holding(make(robots=1)), np.random.default_rng(seed)
    put(batch, 0, FREE)
    for _ in range(30):
        send(batch, {"ahead": rng.uniform(-1, 1), "left": rng.uniform(-1, 1), "arm": rng.uniform(-1, 1, 7), "grip": TAKE})
    assert batch.state.thing[0, 0] == pytest.approx(hand_of(batch))


def test_an_object_turns_with_the_robot_that_carries_it():
    batch = make(robots=1)
    yaw = batch.state.thing_yaw[0, 0]
    holding(batch)
    for _ in range(5):
        send(batch, {"left": 1.0, "grip": TAKE})
    send(batch, {})
    turned = batch.state.thing_yaw[0, 0] - yaw - 5 * SPEEDS["middle"].turn
    assert np.cos(turned) == pytest.approx(1.0)


def release_at(batch: Batch, point: np.ndarray) -> np.ndarray:
    """Robot 0 lets go of object 0 at a point; where the object then is."""
    hand_to(batch, 0, point)
    send(batch, {"grip": LET_GO})
    return batch.state.thing[0, 0]


def half_height(batch: Batch) -> float:
    return float(half_extents()[batch.world.episodes["kind"][batch.state.episode[0], 0], 1])


def test_a_released_object_comes_to_rest_on_the_table_below():
    batch = holding(make(robots=1))
    place = release_at(batch, np.array([3.4, 1.0, 2.6]))
    table = batch.homes[0].receptacles[batch.homes[0].instances("table_01")[0]]
    assert place == pytest.approx([3.4, table.surface + half_height(batch), 2.6])


def test_a_released_object_falls_to_the_bare_floor():
    batch = holding(make(robots=1))
    assert release_at(batch, OPEN_FLOOR)[1] == pytest.approx(half_height(batch))


def test_a_released_object_falls_past_a_table_above_it():
    batch = holding(make(robots=1))
    assert release_at(batch, np.array([3.4, 0.5, 2.6]))[1] == pytest.approx(half_height(batch))


def test_an_object_released_into_an_open_drawer_lies_inside_it():
    batch = holding(make(robots=1))
    batch.state.door[0, 1] = 0.45
    release_at(batch, np.array([0.33 + 0.45, 0.7, 1.4]))
    assert batch.state.inside[0, 0] == 1
    assert batch.state.rest[0, 0, 0] == pytest.approx(0.33)


def test_skills_find_an_object_where_it_was_released():
    batch = holding(make(robots=1, rules=Rules(horizon=2000)))
    release_at(batch, OPEN_FLOOR)
    put(batch, 0, FAR)
    batch.step(np.array([[action("nav obj0")]]))
    do(batch, "pick obj0")
    assert batch.state.held[0, 0] == 0


def test_letting_go_within_reach_of_the_goal_pays_the_place_sub_goal():
    batch = holding(make(robots=1))
    goal = batch.world.episodes["goal"][batch.state.episode[0], 0]
    hand_to(batch, 0, goal + [0.05, 0.02, 0.0])
    assert send(batch, {}).reward[0, 0] == pytest.approx(0.5 - 0.01)


def test_letting_go_elsewhere_pays_nothing():
    batch = holding(make(robots=1))
    hand_to(batch, 0, OPEN_FLOOR)
    assert send(batch, {}).reward[0, 0] == pytest.approx(-0.01)


def test_both_objects_at_their_goals_end_the_episode_in_success():
    batch = make(robots=1, autoreset=False)
    for i in range(2):
        holding(batch, i)
        hand_to(batch, 0, batch.world.episodes["goal"][batch.state.episode[0], i])
        step = send(batch, {})
    assert (step.outcome[0], step.terms[0, 0, 0]) == (SUCCESS, 10.0)


def test_a_hand_at_the_handle_pulls_a_drawer_open_and_is_paid():
    batch = make("set_table", robots=1)
    handle, paid = batch.world.homes["handle"][0, 1], 0.0
    for pulled in np.arange(0.0, 0.5, 0.08):
        hand_to(batch, 0, handle + [pulled, 0.0, 0.0], np.pi)
        paid += send(batch, {"grip": TAKE}).terms[0, 0, 1]
    assert batch.state.door[0, 1] == pytest.approx(0.45)
    assert paid == 0.5


def test_an_opened_drawer_brings_its_contents_along():
    batch = make("set_table", robots=1)
    before = batch.state.thing[0, 0].copy()
    hand_to(batch, 0, batch.world.homes["handle"][0, 1] + [0.09, 0.0, 0.0], np.pi)
    send(batch, {"grip": TAKE})
    assert batch.state.thing[0, 0] - before == pytest.approx([0.09, 0.0, 0.0])


def test_a_hand_swings_the_fridge_door_about_its_hinge():
    batch = make("set_table", robots=1)
    hinge, handle = batch.world.homes["door_origin"][0, 0], batch.world.homes["handle"][0, 0]
    arm = handle - hinge
    for angle in np.arange(0.0, 1.2, 0.1):
        c, s = np.cos(angle), np.sin(angle)
        hand_to(batch, 0, hinge + [c * arm[0] + s * arm[2], arm[1], -s * arm[0] + c * arm[2]])
        send(batch, {"grip": TAKE})
    assert batch.state.door[0, 0] == pytest.approx(1.1)
    assert batch.state.door[0, 0] > OPEN_ENOUGH[0]


def test_a_hand_away_from_the_handle_moves_no_drawer():
    batch = make("set_table", robots=1)
    hand_to(batch, 0, batch.world.homes["handle"][0, 1] + [0.15, 0.0, 0.0], np.pi)
    send(batch, {"grip": TAKE})
    assert batch.state.door[0, 1] == 0.0


@given(st.floats(-3.0, 3.0), st.floats(0.1, 2.0), st.floats(0.1, 2.0))
def test_angle_about_undoes_a_turn(angle, near, far):
    axis, origin, start = np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0]), np.array([1.0 + near, 2.0, 3.0])
    end = origin + far * np.array([np.cos(angle), 0.5, -np.sin(angle)])
    assert angle_about(axis, origin, start, end) == pytest.approx(angle)


def test_every_receptacle_of_the_hall_holds_things():
    batch = make()
    found = supports(batch.world, batch.homes).rows
    assert set(found["height"][found["favour"] > 0].round(3)) == {round(r.surface, 3) for r in batch.homes[0].receptacles}


def test_two_robots_that_meet_end_the_episode():
    batch = make(autoreset=False)
    put(batch, 0, FREE)
    put(batch, 1, (FREE[0] + 0.65, FREE[1]))
    assert send(batch, {"ahead": 1.0}, {}).done[0]


def test_the_horizon_ends_the_episode():
    batch = make(robots=1, rules=Rules(horizon=3), autoreset=False)
    assert [bool(send(batch, {}).done[0]) for _ in range(3)] == [False, False, True]


def test_a_scripted_partner_works_beside_a_controlled_robot():
    batch = make(rules=Rules(horizon=2000), autoreset=False)
    batch.script(1, 1)
    batch.reset(np.array([2]))
    put(batch, 0, (0.9, 5.4))
    while batch.state.done_by[0, 1] < 0 and not batch.state.over[0]:
        send(batch, {}, {})
    assert batch.state.done_by[0, :2].tolist() == [1, 1]


def test_a_scripted_partner_leaves_no_idle_steps_to_a_controlled_robot():
    batch = make(rules=Rules(horizon=2000))
    scripted(batch, "noop", "first_half")
    batch.state.controllable[0, 0] = True
    put(batch, 0, FREE)
    send(batch, {"left": 1.0}, {})
    assert batch.state.idle[0, 0] == 0


def test_two_threads_give_the_same_bits_as_one():
    one, two = make(size=8, seed=5), make(size=8, seed=5, threads=2)
    for batch in (one, two):
        rng = np.random.default_rng(0)
        for _ in range(60):
            batch.control(rng.uniform(-1, 1, (8, 2, 10)))
    assert one.records.tobytes() == two.records.tobytes()


def test_a_restored_state_continues_identically():
    batch = make(size=4)
    saved, ends = batch.save(), []
    for _ in range(2):
        batch.restore(saved)
        rng = np.random.default_rng(1)
        for _ in range(40):
            batch.control(rng.uniform(-1, 1, (4, 2, 10)))
        ends.append(batch.records.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("shape", [(1, 2, 9), (1, 10), (2, 2, 10)])
def test_actions_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(1, 2, 10\)"):
        make().control(np.zeros(shape))


def test_actions_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="finite"):
        make().control(np.full((1, 2, 10), np.nan))


@lru_cache
def furnished(task: str):
    home = generate_home("dev", 0)
    return home, with_approach(generate_episodes(task, [home], 6, seed=0, spawns=True), [home])


def hand_at_work(task: str, episode: int) -> Hand:
    """One robot of a furnished home with time enough, under the scripted low-level controller."""
    home, episodes = furnished(task)
    batch = Batch(episodes, [home], 1, robots=1, rules=Rules(horizon=5000), stored_spawns=True, autoreset=False)
    batch.reset(np.array([episode]))
    return Hand(batch)


@pytest.mark.parametrize("episode", range(3))
def test_wheels_arm_and_suction_pick_and_place_in_a_furnished_home(episode):
    hand = hand_at_work("tidy_house", episode)
    hand.pick(0)
    hand.place(hand.batch.world.episodes["goal"][episode, 0].copy())
    assert hand.batch.state.done_by[0, :2].tolist() == [0, 0]
    assert hand.reward == pytest.approx(2 * 0.5 - 0.01 * hand.steps)


def test_wheels_arm_and_suction_open_a_drawer_in_a_furnished_home():
    hand = hand_at_work("set_table", 0)
    hand.open_drawer(1)
    assert hand.reward == pytest.approx(0.5 - 0.01 * hand.steps)
