"""What the look-ahead reads from a policy's logits: its work, unlikely decisions, detours and waiting; beside slow twins."""

import numpy as np
import pytest

from helpers.batches import EPISODES, make
from housemates.agents.actors import Actor, Actors
from housemates.agents.functions import FunctionPolicy
from housemates.lookahead import wishes
from housemates.lookahead.search import CHANGED, Planner
from housemates.lookahead.settings import LookAhead, evasions_only, settings
from housemates.sim.skills import OPENING, cell_at, choose_destination, may_start, move, path_length
from housemates.tasks.actions import ACTIONS, MOVE_FORWARD, NO_OP, PICK, TURN_LEFT
from lookahead.test_search import facing, revised

OBJECT_1, GOAL_0, GOAL_1, SOFA, FRIDGE = (ACTIONS.index(f"nav {name}") for name in ("obj1", "goal0", "goal1", "sofa", "fridge"))


def liking(**nats: float) -> np.ndarray:
    """Logits [1, 25] with which a policy likes some decisions, named with _ for spaces, and nothing else."""
    logits = np.full((1, len(ACTIONS)), -30.0)
    for name, value in nats.items():
        logits[0, ACTIONS.index(name.replace("_", " ") if name != "no_op" else "no-op")] = value
    return logits


def just_come(metres: float):
    """As `facing`, but robot 0 has come from two metres behind, and got here three steps ago."""
    batch = facing(metres)
    s = batch.state
    for k in range(40):
        s.window[0, 0, (60 - 1 - k) % 40, 0] = s.pose[0, 0, 0] - min(0.15 * max(k - 3, 0), 2.0)
    return batch


def slow_wished(batch, home: int, robot: int, logits: np.ndarray) -> int:
    """The navigation to a piece of work that is liked best, by names."""
    held = int(batch.state.held[home, robot])
    if held >= 0:
        return ACTIONS.index(f"nav goal{held}")
    opened = [name for k, name in enumerate(("fridge", "drawer_right", "drawer_left")) if opens(batch, k)]
    names = [f"obj{k}" for k in range(2) if int(batch.state.held[home, 1 - robot]) != k] + opened
    return max((ACTIONS.index(f"nav {name}") for name in names), key=lambda action: (logits[action], -action))


def opens(batch, box: int) -> bool:
    """Whether the task asks to open the fridge, the right or the left drawer."""
    return bool(batch.world.task["subgoal_of"][0, OPENING, box] >= 0)


def slow_intended(batch, home: int, robot: int, ahead: LookAhead, logits: np.ndarray, wanted: int) -> int:
    if (
        int(batch.state.clock[home]) >= 39
        and np.hypot(*(batch.state.pose[home, robot, :2] - before(batch, home, robot, 39))) < 0.5
    ):
        return wanted
    share = np.exp(logits - logits.max())
    if share[wanted] < ahead.min_p:
        wanted = int(share.argmax())
    work = [0, 1, 2, 3, *(11 + box for box in range(3) if opens(batch, box))]
    if wanted < PICK and wanted not in work:
        goal = slow_wished(batch, home, robot, logits)
        return goal if logits.max() - logits[goal] < ahead.detour and slow_way(batch, home, robot, goal) >= 0.5 else wanted
    return wanted


def slow_way(batch, home: int, robot: int, entity: int) -> float:
    """Metres to the nearest place from which an entity is reached, in the kernels' units: corner by corner."""
    s, world = batch.records[home], batch.world
    cell = cell_at(world, s["home"], *batch.state.pose[home, robot, :2])
    return path_length(world, s["home"], cell, choose_destination(world, s, cell, entity))


def before(batch, home: int, robot: int, steps: int) -> np.ndarray:
    """Where a robot was so many steps ago; before the first step, at its start."""
    s, clock = batch.state, int(batch.state.clock[home])
    return s.window[home, robot, (clock - 1 - steps) % 40, :2] if steps < clock else s.spawn[home, robot, :2]


def slow_eagerness(batch, home: int, robot: int, ahead: LookAhead, wanted: int) -> float:
    s = batch.state
    if ahead.haste == 0 or wanted < PICK:
        return 0.0
    if wanted < NO_OP and may_start(batch.world, batch.records[home], robot, wanted):
        return 0.0
    if wanted == MOVE_FORWARD:
        copy = batch.records[home : home + 1].copy()
        copy[0]["action"][robot] = MOVE_FORWARD
        move(batch.world, copy[0], batch.numbers, robot)
        if not np.allclose(copy[0]["pose"][robot, :2], s.pose[home, robot, :2], atol=1e-9):
            return 0.0
    clock, stood = int(s.clock[home]), 0
    for k in range(1, min(clock, 39) + 1):
        if np.hypot(*(s.pose[home, robot, :2] - before(batch, home, robot, k))) > 0.05:
            break
        stood = k
    return ahead.haste + ahead.patience * stood


@pytest.mark.parametrize("task", ["tidy_house", "set_table", "prepare_groceries"])
def test_the_kernels_are_their_slow_twins_in_random_games(task: str):
    batch, rng = make(task, size=EPISODES), np.random.default_rng(4)
    ahead = LookAhead()
    numbers, seen = settings(ahead), set()
    for _ in range(60):
        for e in range(EPISODES):
            for r in range(2):
                logits, wanted = rng.normal(0, 3, len(ACTIONS)), int(rng.integers(0, len(ACTIONS)))
                s = batch.records[e]
                assert wishes.wished(batch.world, s, r, logits) == slow_wished(batch, e, r, logits)
                found = wishes.intended(batch.world, s, r, numbers, logits, wanted)
                assert found == slow_intended(batch, e, r, ahead, logits, wanted)
                eager = wishes.eagerness(batch.world, s, batch.numbers, r, numbers, wanted)
                assert eager == pytest.approx(slow_eagerness(batch, e, r, ahead, wanted))
                seen |= {("intended", found == wanted), ("eager", eager > 0), ("held", int(batch.state.held[e, r]) >= 0)}
        # Objects are taken now and then, so that robots hold something.
        near = [may_start(batch.world, batch.records[e], 0, PICK) for e in range(EPISODES)]
        first = np.where(near, PICK, rng.choice([0, 1, 2, MOVE_FORWARD, TURN_LEFT, NO_OP], EPISODES))
        batch.tick(np.where(batch.decide, np.stack([first, rng.integers(0, 25, EPISODES)], axis=1), -1))
    assert seen >= {("intended", True), ("intended", False), ("eager", True), ("eager", False), ("held", False)}
    assert ("held", True) in seen or task == "set_table"


def test_a_robot_that_holds_an_object_has_the_work_of_putting_it_away():
    batch = facing(4.0)
    batch.state.held[0, 0] = 1
    assert wishes.wished(batch.world, batch.records[0], 0, liking(nav_goal0=0.0)[0]) == GOAL_1


def test_an_object_that_another_robot_carries_is_no_work():
    batch = facing(4.0)
    batch.state.held[0, 1] = 1
    assert wishes.wished(batch.world, batch.records[0], 0, liking(nav_obj1=0.0)[0]) == 0


def test_driving_ahead_is_waiting_only_where_the_way_is_blocked():
    batch, ahead = facing(4.0), settings(LookAhead())
    assert wishes.eagerness(batch.world, batch.records[0], batch.numbers, 0, ahead, MOVE_FORWARD) == 0
    x = batch.state.pose[0, 0, 0]
    while wishes.eagerness(batch.world, batch.records[0], batch.numbers, 0, ahead, MOVE_FORWARD) == 0:
        batch.state.pose[0, 0, 0] += 0.05
        assert batch.state.pose[0, 0, 0] < x + 20, "the hall has a wall"


def test_work_that_is_reached_replaces_no_detour():
    """Else a robot that wants to leave would stand at its object until it counts as stuck."""
    batch = just_come(4.0)
    logits = liking(nav_sofa=0.0, nav_obj1=-1.0)
    assert revised(batch, SOFA, LookAhead(), logits) == OBJECT_1
    world, s = batch.world, batch.records[0]
    cell = cell_at(world, s["home"], *batch.state.pose[0, 0, :2])
    home = world.homes[s["home"]]
    at = world.cell_xz[home["cell_start"] + world.approach_cell[home["approach_start"] + choose_destination(world, s, cell, 1)]]
    moved = at - batch.state.pose[0, 0, :2]
    batch.state.pose[0, 0, :2] = at
    batch.state.window[0, 0, :, :2] += moved.astype(np.float32)
    assert wishes.intended(world, batch.records[0], 0, settings(LookAhead()), logits[0], SOFA) == SOFA


def test_where_detours_are_left_alone_an_evasion_leads_to_what_was_chosen():
    batch, only = just_come(4.0), settings(evasions_only(LookAhead()))
    logits = liking(nav_sofa=0.0)[0]
    assert wishes.goal_of(batch.world, batch.records[0], 0, only, logits, SOFA) == SOFA
    assert wishes.goal_of(batch.world, batch.records[0], 0, settings(LookAhead()), logits, SOFA) == 0


def test_a_robot_that_would_wait_goes_to_the_work_that_its_policy_likes_nearly_as_much_if_that_is_safe():
    batch, logits = facing(4.0), liking(no_op=0.0, nav_obj1=-1.0)
    quick = {"patience": 0.0}
    assert revised(batch, NO_OP, LookAhead(haste=0.0), logits) == NO_OP
    assert revised(batch, NO_OP, LookAhead(haste=0.5, **quick), logits) == NO_OP
    assert revised(batch, NO_OP, LookAhead(haste=2.0, **quick), logits) == OBJECT_1


def test_it_also_goes_when_its_partner_is_far_away():
    logits = liking(no_op=0.0, nav_obj1=-1.0)
    assert revised(facing(3.9), NO_OP, LookAhead(near=2.0), logits) == OBJECT_1


def test_the_longer_it_has_stood_the_sooner_it_goes():
    """It has not moved for 39 steps: 2 nats and 39 times 0.2."""
    assert revised(facing(4.0), NO_OP, LookAhead(), liking(no_op=0.0, nav_obj1=-9.0)) == OBJECT_1
    assert revised(facing(4.0), NO_OP, LookAhead(), liking(no_op=0.0, nav_obj1=-10.0)) == NO_OP


def test_a_detour_to_furniture_that_the_task_does_not_name_gives_way_to_work():
    batch = just_come(4.0)
    for furniture in (SOFA, FRIDGE):
        logits = liking(nav_obj1=-5.0)
        logits[0, furniture] = 0.0
        assert revised(batch, furniture, LookAhead(), logits) == OBJECT_1
        assert revised(batch, furniture, LookAhead(detour=4.0), logits) == furniture


def test_furniture_that_the_task_opens_is_work():
    batch = make("set_table", size=EPISODES)
    numbers, logits = settings(LookAhead()), liking(nav_fridge=0.0, nav_obj0=-1.0)[0]
    found = [wishes.intended(batch.world, batch.records[e], 0, numbers, logits, FRIDGE) for e in range(EPISODES)]
    assert found == [FRIDGE if opens(batch, 0) else 0] * EPISODES


def test_unlikely_decisions_give_way_to_the_likeliest():
    batch, logits = just_come(4.0), liking(nav_obj0=0.0, nav_obj1=-1.0)
    assert revised(batch, OBJECT_1, LookAhead(min_p=0.3), logits) == OBJECT_1
    assert revised(batch, OBJECT_1, LookAhead(min_p=0.4), logits) == 0
    planner = Planner(batch, LookAhead(min_p=0.4, near=2.0))
    planner.revise(np.array([0]), logits, np.array([OBJECT_1]), np.full((1, 2), -1))
    assert planner.counts.tolist() == [int(k == CHANGED) for k in range(4)]


def test_a_robot_that_gets_nowhere_does_what_its_policy_wants():
    """Else one that stands before a blocked way would stand there for ever."""
    logits = liking(nav_sofa=0.0, nav_obj1=-1.0, nav_counter=-5.0)
    counter = ACTIONS.index("nav counter")
    assert [revised(just_come(4.0), wanted, LookAhead(), logits) for wanted in (SOFA, counter)] == [OBJECT_1, OBJECT_1]
    assert [revised(facing(4.0), wanted, LookAhead(), logits) for wanted in (SOFA, counter)] == [SOFA, counter]


def test_who_only_evades_replaces_nothing_else():
    batch, only = just_come(4.0), evasions_only(LookAhead())
    logits = liking(nav_obj1=0.0)
    for wanted in (NO_OP, TURN_LEFT, SOFA, GOAL_0):
        assert revised(batch, wanted, only, logits) == wanted


def test_a_function_of_the_user_is_only_kept_from_collisions():
    """What it would like instead is not known: waiting stays waiting, a detour stays a detour."""
    for wanted in (NO_OP, SOFA):
        batch = just_come(4.0)
        policy = FunctionPolicy(lambda obs, wanted=wanted: np.full(len(obs["state"]), wanted), ("state",))
        actors = Actors(batch, [Actor(policy, look_ahead=LookAhead())])
        assert actors.planners[0].ahead == evasions_only(LookAhead())
        actors.actor[0, 0] = 0
        out = np.full((1, 2), -1)
        actors.decide(np.array([[True, False]]), out)
        assert out[0, 0] == wanted


@pytest.mark.parametrize("bad", [{"min_p": -0.1}, {"min_p": 1.1}, {"patience": -1.0}, {"detour": 101.0}])
def test_bad_numbers_are_refused(bad: dict[str, float]):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LookAhead(**bad)
