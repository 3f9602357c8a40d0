"""One step of a home: who moves when, who is interrupted, how episodes end and begin."""

import numpy as np
import pytest

from helpers.batches import EPISODES, FAR, action, do, make, put, put_at_reach, scripted, world
from housemates.sim.batch import Batch
from housemates.sim.rules import COLLISION, RELEASE, Rules
from housemates.sim.state import COLLISION_END, SUCCESS, TIMEOUT
from housemates.tasks.actions import ACTIONS, NO_OP

HALL = (2.0, 3.5)
"""A floor point with free floor to its east."""


def distance(batch: Batch) -> float:
    return float(np.hypot(*(batch.state.pose[0, 0, :2] - batch.state.pose[0, 1, :2])))


def walk_past(batch: Batch, gaps: list[float]) -> list[tuple[float, bool]]:
    """Robot 1 stands at each of these distances in turn while robot 0 navigates; (distance, was cut) after each step."""
    put(batch, 0, HALL)
    put(batch, 1, FAR)
    seen = []
    batch.assign(0, 0, action("nav sofa"))
    for gap in gaps:
        batch.state.pose[0, 0] = (*HALL, 0.0)
        batch.state.pose[0, 1, :2] = (HALL[0] + gap, HALL[1])
        batch.state.waypoint[0, 0] = -1
        do(batch, "nav sofa", "no-op")
        seen.append((distance(batch), bool(batch.state.action[0, 0] < 0)))
    return seen


def expected_cuts(seen: list[tuple[float, bool]], thresholds: tuple[float, ...], first: float) -> list[bool]:
    """The rule in words: each threshold cuts when crossed, and is armed again once the partner is RELEASE beyond it."""
    armed = {t: first >= t for t in thresholds}
    cuts = []
    for gap, _ in seen:
        crossed = [t for t in thresholds if gap < t and armed[t]]
        cuts.append(bool(crossed))
        for t in thresholds:
            if gap < t:
                armed[t] = False
            elif gap >= t + RELEASE:
                armed[t] = True
    return cuts


APPROACH = [4.0, 2.9, 2.51, 2.45, 2.0, 1.6, 1.4, 1.3, 1.1, 1.0, 0.9, 0.82, 0.75, 0.63]
WOBBLE = [
    4.0,
    2.49,
    2.53,
    2.49,
    2.56,
    2.49,
    1.53,
    1.49,
    1.53,
    1.49,
    1.56,
    1.49,
    3.5,
    0.9,
    0.97,
    0.94,
    1.01,
    0.94,
    0.7,
    0.84,
    0.7,
]


@pytest.mark.parametrize("gaps", [APPROACH, WOBBLE])
@pytest.mark.parametrize(
    "thresholds", [(2.5, 1.5, 1.2, 0.95, 0.8, 0.65), (1.5, 1.2, 0.95, 0.8, 0.65), (4.0, 2.5, 1.5, 1.2, 0.95, 0.8, 0.65)]
)
def test_a_skill_is_cut_once_at_each_threshold(gaps: list[float], thresholds: tuple[float, ...]):
    batch = make(rules=Rules(thresholds=thresholds))
    seen = walk_past(batch, gaps)
    assert [cut for _, cut in seen] == expected_cuts(seen, thresholds, 4.7)


def test_coming_near_cuts_at_all_six_thresholds():
    assert sum(cut for _, cut in walk_past(make(), APPROACH)) == 6


def test_a_partner_that_hovers_at_a_threshold_cuts_once():
    batch = make(rules=Rules(thresholds=(1.5,)))
    seen = walk_past(batch, [4.0, 1.49, 1.53, 1.49, 1.53, 1.49])
    assert [cut for _, cut in seen] == [False, True, False, False, False, False]


def test_a_robot_that_is_not_interruptible_is_never_cut():
    batch = make()
    batch.state.interruptible[0, 0] = False
    assert not any(cut for _, cut in walk_past(batch, APPROACH))


def test_a_scripted_robot_is_never_cut():
    batch = make()
    scripted(batch, "first_half")
    assert not batch.state.interruptible[0, 0]


def test_always_cuts_at_every_step_below_one_and_a_half_metres():
    seen = walk_past(make(rules=Rules(interruption="always")), APPROACH)
    assert [cut for _, cut in seen] == [gap < 1.5 for gap, _ in seen]


def test_off_never_cuts():
    assert not any(cut for _, cut in walk_past(make(rules=Rules(interruption="off")), APPROACH))


def test_robots_that_start_near_are_not_cut_for_it():
    """Spawning within a threshold is no coming nearer."""
    batch = make()
    put(batch, 0, HALL)
    put(batch, 1, (HALL[0] + 2.2, HALL[1]))
    do(batch, "turn-left", "no-op")
    batch.assign(0, 0, action("nav tvstand"))
    do(batch, None, "turn-left")
    assert distance(batch) >= 1.5
    assert batch.state.action[0, 0] == action("nav tvstand")


def test_robots_move_at_the_same_time():
    """Robots that trade places in the list end up in the same poses."""
    batch, swapped = make(rules=Rules(interruption="off")), make(rules=Rules(interruption="off"))
    for r in range(2):
        put(batch, r, (HALL, FAR)[r], 0.3 * r)
        put(swapped, 1 - r, (HALL, FAR)[r], 0.3 * r)
    for _ in range(12):
        do(batch, "nav sofa", "nav fridge")
        do(swapped, "nav fridge", "nav sofa")
        assert (batch.state.pose[0] == swapped.state.pose[0, ::-1]).all()


def both_pick(size: int = 40) -> Batch:
    batch = make(size=size)
    for e in range(size):
        batch.state.episode[e] = batch.state.episode[0]
        for name in ("thing", "rest", "inside", "approach"):
            getattr(batch.state, name)[e] = getattr(batch.state, name)[0]
        put_at_reach(batch, 0, batch.state.thing[0, 0], 1.9, home=e)
        batch.state.pose[e, 1] = batch.state.pose[e, 0] + (0.65, 0.0, 0.0)
        gap = batch.state.pose[e, 1, :2] - batch.state.thing[e, 0, [0, 2]]
        if np.hypot(*gap) > 1.6:
            batch.state.pose[e, 1] = batch.state.pose[e, 0] - (0.65, 0.0, 0.0)
    batch.state.level[:] = 9
    batch.tick(np.full((size, 2), action("pick obj0")))
    return batch


def test_of_two_robots_that_pick_the_same_object_one_gets_it():
    batch = both_pick()
    assert ((batch.state.held == 0).sum(axis=1) == 1).all()


def test_the_one_who_comes_second_does_nothing():
    batch = both_pick()
    assert ((batch.state.executed == NO_OP) == (batch.state.held != 0)).all()


def test_either_robot_may_be_the_first():
    winners = both_pick().state.held[:, 0] == 0
    assert 0 < winners.sum() < len(winners)


@pytest.mark.parametrize(("gap", "outcome"), [(COLLISION - 1e-6, COLLISION_END), (COLLISION + 1e-6, 0)])
def test_robots_collide_below_60_cm(gap: float, outcome: int):
    batch = make(autoreset=False)
    put(batch, 0, HALL)
    put(batch, 1, (HALL[0] + gap, HALL[1]))
    do(batch, "no-op", "no-op")
    assert batch.state.outcome[0] == outcome


@pytest.mark.parametrize("robots", [3, 4])
def test_any_pair_of_robots_can_collide(robots: int):
    batch = make(robots=robots, autoreset=False)
    for r in range(robots):
        put(batch, r, (1.5 + 0.9 * r, 3.6))
    put(batch, robots - 1, (1.5 + 0.9 * (robots - 2) + 0.5, 3.6))
    do(batch, *["no-op"] * robots)
    assert batch.state.outcome[0] == COLLISION_END


def nearly_done(batch: Batch) -> None:
    """Object 0 is at its goal, robot 0 holds object 1 within reach of its goal, robot 1 is far."""
    goal = world().episodes["goal"][batch.state.episode[0]]
    batch.state.thing[0, 0] = batch.state.rest[0, 0] = goal[0]
    batch.state.held[0, 0] = 1
    put_at_reach(batch, 0, goal[1], 1.8)
    gaps = [np.hypot(*(np.array(xz) - batch.state.pose[0, 0, :2])) for xz in (FAR, (1.2, 5.3))]
    put(batch, 1, (FAR, (1.2, 5.3))[int(np.argmax(gaps))])


def test_placing_the_last_object_succeeds_at_once():
    batch = make(autoreset=False)
    nearly_done(batch)
    step = do(batch, "place goal1", "no-op")
    assert (step.outcome[0], step.done[0]) == (SUCCESS, True)


def test_an_object_in_the_hand_at_its_goal_is_no_success():
    batch = make(autoreset=False)
    nearly_done(batch)
    batch.state.held[0, 1] = 0
    step = do(batch, "place goal1", "no-op")
    assert step.outcome[0] == 0


def test_the_time_runs_out_at_the_horizon():
    batch = make(rules=Rules(horizon=5), autoreset=False)
    outcomes = [int(do(batch, "no-op", "no-op").outcome[0]) for _ in range(5)]
    assert outcomes == [0, 0, 0, 0, TIMEOUT]


def test_success_in_the_last_step_counts():
    batch = make(rules=Rules(horizon=1), autoreset=False)
    nearly_done(batch)
    assert do(batch, "place goal1", "no-op").outcome[0] == SUCCESS


def test_the_next_episode_begins_in_the_same_step():
    batch = make(rules=Rules(horizon=3))
    batch.follow(np.array([7]))
    for _ in range(3):
        step = do(batch, "no-op", "nav fridge")
    assert (step.done[0], step.decide[0].tolist()) == (True, [True, True])
    assert (batch.state.clock[0], batch.state.episode[0]) == (0, 7)


def test_the_end_closes_every_running_decision():
    batch = make(rules=Rules(horizon=3, interruption="off"))
    put(batch, 0, FAR)
    put(batch, 1, (1.2, 5.3))
    for _ in range(3):
        step = do(batch, "nav fridge", "no-op")
    assert step.duration[0].tolist() == [3, 1]


def test_what_ended_is_kept_until_the_next_end():
    batch = make(rules=Rules(horizon=3))
    for _ in range(4):
        do(batch, "no-op", "no-op")
    ended = batch.ended
    assert (ended.outcome[0], ended.steps[0], ended.episode[0], ended.idle[0].tolist()) == (TIMEOUT, 3, 0, [3, 3])


def test_an_ended_home_waits_for_its_reset_without_autoreset():
    batch = make(rules=Rules(horizon=2), autoreset=False)
    for _ in range(4):
        step = do(batch, "no-op", "no-op")
    assert (batch.state.clock[0], step.decide.any(), step.done[0]) == (2, False, False)


def test_a_reset_begins_the_episode_from_its_start():
    batch = make("set_table", size=3)
    rng = np.random.default_rng(0)
    fresh = [batch.state.thing.copy(), batch.state.door.copy(), batch.state.done_by.copy()]
    for _ in range(300):
        batch.tick(rng.integers(0, 25, (3, 2)))
    batch.reset(np.arange(3))
    now = [batch.state.thing, batch.state.door, batch.state.done_by]
    assert all((a == b).all() for a, b in zip(fresh, now, strict=True))


def test_step_runs_until_somebody_must_decide():
    batch = make(size=EPISODES)
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert batch.step(rng.integers(0, 25, (EPISODES, 2))).decide.any(axis=1).all()


def test_a_busy_robots_action_is_ignored():
    batch = make(rules=Rules(interruption="off"))
    put(batch, 0, FAR)
    put(batch, 1, HALL)
    do(batch, "nav fridge", "no-op")
    do(batch, "turn-left", "no-op")
    assert ACTIONS[batch.state.action[0, 0]] == "nav fridge"


def test_a_waiting_robot_stands_still_and_keeps_being_asked():
    batch = make()
    before = batch.state.pose[0, 0].copy()
    step = do(batch, None, "no-op")
    assert step.decide[0, 0]
    assert (batch.state.pose[0, 0] == before).all()
