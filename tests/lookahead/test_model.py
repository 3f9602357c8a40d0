"""The forward model of the look-ahead: own paths against the simulator itself, what becomes of them against slow twins."""

import numpy as np
import pytest

from helpers.batches import EPISODES, floor_points, make
from helpers.fates import slow_fate
from housemates.lookahead.model import (
    MANOEUVRES,
    ONLY_THOUGHT,
    PLAN,
    fate,
    go_on,
    next_action,
    own_action,
    own_path,
    primitive_of,
    set_plan,
    way_left,
)
from housemates.lookahead.predict import straight
from housemates.robots import DEFAULT
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.skills import cell_at, choose_destination, path_length
from housemates.sim.state import state_type
from housemates.tasks.actions import MOVE_FORWARD, NO_OP, PICK, TURN_LEFT, TURN_RIGHT

HORIZON = 40


def apart(size: int = EPISODES, seed: int = 0) -> Batch:
    """Robot 0 anywhere, nobody near enough to cut its skills."""
    batch, rng = make(size=size, rules=Rules(interruption="off")), np.random.default_rng(seed)
    batch.state.pose[:, 0, :2] = floor_points(size, seed)
    batch.state.pose[:, 0, 2] = rng.uniform(-np.pi, np.pi, size)
    return batch


def modelled(batch: Batch, e: int, plan: np.ndarray) -> np.ndarray:
    path, scratch = np.zeros((HORIZON, 2)), np.zeros(1, state_type(DEFAULT.joints))
    scratch[0] = batch.records[e]
    own_path(batch.world, batch.records[e], scratch[0], batch.numbers, 0, plan[0], path)
    return path


def simulated(batch: Batch, actions: list[int]) -> np.ndarray:
    """Places [H, E, 2] of robot 0 that takes these actions, one each time it must decide, then stands."""
    left = [list(actions) for _ in range(batch.size)]
    places = []
    for _ in range(HORIZON):
        chosen = np.full((batch.size, 2), NO_OP)
        for e in np.flatnonzero(batch.decide[:, 0]):
            chosen[e, 0] = left[e].pop(0) if left[e] else NO_OP
        batch.tick(chosen)
        places.append(batch.state.pose[:, 0, :2].copy())
    return np.array(places)


@pytest.mark.parametrize("action", [*range(PICK), MOVE_FORWARD, TURN_LEFT, NO_OP, PICK])
def test_a_single_decision_leads_where_the_simulator_leads(action: int):
    batch, plan = apart(seed=action), np.zeros(1, PLAN)
    own_action(plan[0], action)
    expected = [modelled(batch, e, plan) for e in range(batch.size)]
    found = simulated(batch, [action])
    running = batch.state.clock == HORIZON
    assert running.sum() > EPISODES // 2
    assert np.array(expected)[running] == pytest.approx(found[:, running].transpose(1, 0, 2), abs=1e-9)


@pytest.mark.parametrize("row", range(0, len(MANOEUVRES), 3))
def test_a_manoeuvre_leads_where_its_primitives_lead_in_the_simulator(row: int):
    batch, plan = apart(seed=row), np.zeros(1, PLAN)
    first, count, second, again = MANOEUVRES[row].tolist()
    set_plan(plan[0], first, count, second, again, 5, ONLY_THOUGHT)
    expected = [modelled(batch, e, plan) for e in range(batch.size)]
    found = simulated(batch, [first] * count + [second] * again + [5])
    running = batch.state.clock == HORIZON
    assert np.array(expected)[running] == pytest.approx(found[:, running].transpose(1, 0, 2), abs=1e-9)


def test_a_plan_says_its_primitives_one_after_the_other_and_leaves_the_rest_to_the_policy():
    plan = np.zeros(1, PLAN)
    set_plan(plan[0], TURN_RIGHT, 2, MOVE_FORWARD, 3, 5, ONLY_THOUGHT)
    told = []
    while next_action(plan[0]) >= 0:
        told.append(next_action(plan[0]))
        go_on(plan[0])
    assert told == [TURN_RIGHT] * 2 + [MOVE_FORWARD] * 3


def test_a_navigation_is_carried_out_to_its_end():
    plan = np.zeros(1, PLAN)
    own_action(plan[0], 5)
    go_on(plan[0])
    assert next_action(plan[0]) == 5


@pytest.mark.parametrize("entity", [0, 2, 5, 9])
def test_primitives_that_follow_a_navigation_lead_where_it_leads(entity: int):
    batch, scratch = apart(seed=entity), np.zeros(1, state_type(DEFAULT.joints))
    world = batch.world

    def way(e: int, a: int) -> float:
        s = batch.records[e]
        return path_length(world, s["home"], cell_at(world, s["home"], *s["pose"][0, :2]), a)

    cells = [cell_at(world, s["home"], *s["pose"][0, :2]) for s in batch.records]
    goals = [choose_destination(world, s, cell, entity) for s, cell in zip(batch.records, cells, strict=True)]
    before = [way(e, a) for e, a in enumerate(goals)]
    e = int(np.argmax(before))
    actions = np.full((batch.size, 2), NO_OP)
    for _ in range(400):
        scratch[0] = batch.records[e]
        actions[e, 0] = primitive_of(world, batch.records[e], scratch[0], batch.numbers, 0, entity)
        if actions[e, 0] == NO_OP:
            break
        batch.tick(actions)
    assert before[e] > 1
    assert way(e, goals[e]) <= 0.3


def test_fates_agree_with_a_slow_twin():
    batch, rng, found = make(), np.random.default_rng(0), []
    for _ in range(400):
        own, path = (np.cumsum(rng.normal(0, 0.2, (HORIZON, 2)), axis=0) + rng.uniform(-2, 2, 2) for _ in range(2))
        case = (0.65, batch.numbers, int(rng.integers(0, 6)), int(rng.choice([0, 10, HORIZON])), bool(rng.integers(2)))
        expected = slow_fate(own, path, case[0], batch.rules, *case[2:])
        found.append(expected[0])
        assert fate(own, path, *case) == pytest.approx(expected)
    assert 0 < np.mean(np.array(found) < HORIZON) < 1


def test_the_way_left_is_the_shortest_path_from_where_the_robot_stops():
    batch = apart()
    path = floor_points(HORIZON, 3)
    for e in range(batch.size):
        s = batch.records[e]
        cell = cell_at(batch.world, s["home"], path[20, 0], path[20, 1])
        expected = path_length(batch.world, s["home"], cell, choose_destination(batch.world, s, cell, 7))
        assert way_left(batch.world, s, path, 20, 7) == expected


def test_a_velocity_is_kept_for_some_steps_and_ends_at_walls():
    batch = apart()
    batch.step(np.full((batch.size, 2), NO_OP))
    path = np.zeros((HORIZON, 2))
    for e in range(batch.size):
        s, state = batch.records[e], batch.state
        state.clock[e] = 5
        before = state.pose[e, 1, :2] - [0.2, 0.1]
        state.window[e, 1, (5 - 1 - 2) % 40, :2] = before
        straight(batch.world, s, 1, path)
        steps = np.diff(np.vstack([state.pose[e, 1, :2], path]), axis=0)
        moving = np.abs(steps).sum(axis=1) > 0
        assert steps[moving] == pytest.approx(np.tile([0.1, 0.05], (moving.sum(), 1)), abs=1e-6)
        assert not moving[20:].any()
        assert all(cell_at(batch.world, s["home"], x, z) != 65535 for x, z in path)
