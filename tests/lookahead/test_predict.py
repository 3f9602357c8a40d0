"""Where partners are expected: against the simulator for oracles, against slow twins for guesses."""

import numpy as np
import pytest

from helpers.batches import EPISODES, make, put, scripted
from housemates.lookahead.predict import EVIDENCE, PATHS, predict, standing, weigh
from housemates.lookahead.settings import GUESS, MIND, ORACLE_ACTION, ORACLE_DESTINATION, VELOCITY
from housemates.robots import DEFAULT
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.skills import cell_at, choose_destination, path_length
from housemates.sim.state import state_type
from housemates.tasks.actions import NO_OP, PICK, TURN_LEFT

HORIZON = 40
NOWHERE = np.eye(PICK + 1)[PICK]
"""A theory of mind that expects nothing; only its own variant reads it."""


def expected_of(batch: Batch, e: int, p: int, variant: int, decided: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Paths [K, H, 2] of robot p and their probabilities [K]."""
    paths, weights, scratch = np.zeros((PATHS, HORIZON, 2)), np.zeros(PATHS), np.zeros(1, state_type(DEFAULT.joints))
    scratch[0] = batch.records[e]
    count = predict(batch.world, batch.records[e], scratch[0], batch.numbers, p, variant, decided, NOWHERE, paths, weights)
    return paths[:count], weights[:count]


@pytest.mark.parametrize("entity", [1, 6])
def test_a_theory_of_mind_that_is_sure_expects_the_path_of_that_navigation(entity: int):
    batch = navigating(entity, 30)
    scratch, paths, weights = np.zeros(1, state_type(DEFAULT.joints)), np.zeros((PATHS, HORIZON, 2)), np.zeros(PATHS)
    for e in range(batch.size):
        (path,), _ = expected_of(batch, e, 1, ORACLE_DESTINATION)
        scratch[0] = s = batch.records[e]
        sure = np.eye(PICK + 1)[entity]
        assert predict(batch.world, s, scratch[0], batch.numbers, 1, MIND, -1, sure, paths, weights) == 1
        there = batch.records[e]["destination"][1]
        cell = batch.world.approach_cell[batch.world.homes[s["home"]]["approach_start"] + there]
        goal = batch.world.cell_xz[batch.world.homes[s["home"]]["cell_start"] + cell]
        # Both lead there; after that one of them goes on.
        steps = np.flatnonzero(np.hypot(*(path - goal).T) < 0.25)
        if len(steps):
            assert np.hypot(*(paths[0][: steps[0] + 1] - goal).T).min() < 0.5


def navigating(entity: int, steps: int) -> Batch:
    """Robot 1 has driven to an entity for some steps; robot 0 stands."""
    batch = make(size=EPISODES, rules=Rules(interruption="off"))
    batch.tick(np.tile([NO_OP, entity], (EPISODES, 1)))
    for _ in range(steps - 1):
        batch.tick(np.tile([NO_OP, -1], (EPISODES, 1)))
    return batch


def follow(batch: Batch) -> np.ndarray:
    """Places [H, E, 2] of robot 1 over the next steps, which goes on with what it does, then stands."""
    places = []
    for _ in range(HORIZON):
        batch.tick(np.full((batch.size, 2), -1))
        places.append(batch.state.pose[:, 1, :2].copy())
    return np.array(places)


def test_the_oracle_of_actions_knows_where_a_navigating_partner_will_be():
    batch = navigating(8, 12)
    expected = [expected_of(batch, e, 1, ORACLE_ACTION)[0][0] for e in range(EPISODES)]
    found, running = follow(batch), batch.state.clock == 12 + HORIZON
    assert running.sum() > EPISODES // 2
    assert np.array(expected)[running] == pytest.approx(found[:, running].transpose(1, 0, 2), abs=1e-9)


def test_the_oracle_of_actions_knows_what_was_just_decided():
    batch = make(size=EPISODES, rules=Rules(interruption="off"))
    expected = [expected_of(batch, e, 1, ORACLE_ACTION, decided=8)[0][0] for e in range(EPISODES)]
    batch.state.action[:, 1] = -1
    found = [batch.tick(np.tile([NO_OP, 8], (EPISODES, 1))) and batch.state.pose[:, 1, :2].copy()]
    found += list(follow(batch)[: HORIZON - 1])
    running = batch.state.clock == HORIZON + 1
    assert np.array(expected)[running] == pytest.approx(np.array(found)[:, running].transpose(1, 0, 2), abs=1e-9)


def test_the_oracle_of_destinations_ends_where_the_partner_goes():
    batch = navigating(8, 12)
    for e in np.flatnonzero(batch.state.action[:, 1] == 8):
        s = batch.records[e]
        home = batch.world.homes[s["home"]]
        goal = batch.world.cell_xz[home["cell_start"] + batch.world.approach_cell[home["approach_start"] + s["destination"][1]]]
        (path,), _ = expected_of(batch, e, 1, ORACLE_DESTINATION)
        before, after = np.hypot(*(path[0] - goal)), np.hypot(*(path[-1] - goal))
        assert after <= max(before, 0.21)


@pytest.mark.parametrize("variant", [ORACLE_DESTINATION, VELOCITY])
def test_a_partner_that_stands_is_expected_to_stand(variant: int):
    batch = navigating(NO_OP, 20)
    for e in range(EPISODES):
        (path,), _ = expected_of(batch, e, 1, variant)
        assert path == pytest.approx(np.tile(batch.state.pose[e, 1, :2], (HORIZON, 1)), abs=1e-6)


def test_a_partner_that_has_stood_for_long_is_expected_to_stay():
    batch = navigating(TURN_LEFT, 1)
    for _ in range(39):
        batch.tick(np.tile([NO_OP, TURN_LEFT], (EPISODES, 1)))
    paths, weights = expected_of(batch, 0, 1, GUESS)
    assert standing(batch.records[0], 1) == 39
    assert weights[0] > 0.9
    assert paths[0] == pytest.approx(np.tile(batch.state.pose[0, 1, :2], (HORIZON, 1)))


def test_a_partner_that_has_just_stopped_may_drive_off_to_the_places_of_the_task():
    batch = make(size=1)
    paths, weights = expected_of(batch, 0, 1, GUESS)
    assert len(paths) > 2
    assert weights.sum() == pytest.approx(1)
    assert all(np.hypot(*(path[-1] - path[0])) > 0.3 for path in paths[1:])


def slow_weights(batch: Batch, e: int, p: int, history: np.ndarray) -> np.ndarray:
    """Misfits of shortest paths with what was driven, as probabilities, for places of the last steps [EVIDENCE + 1, 2]."""
    from housemates.lookahead.predict import ELSEWHERE, MISFIT, NOWHERE

    world, s = batch.world, batch.records[e]
    driven = np.hypot(*np.diff(history, axis=0).T).sum()
    before, now = (cell_at(world, s["home"], *history[k]) for k in (0, -1))
    weights = []
    for entity in range(PICK):
        a = choose_destination(world, s, before, entity)
        gained = path_length(world, s["home"], before, a) - path_length(world, s["home"], now, a)
        weights.append((1.0 if entity < 4 else ELSEWHERE) * np.exp(-max(driven - gained, 0) / MISFIT))
    weights = np.array([*weights, np.exp(-NOWHERE / MISFIT)])
    return weights / weights.sum()


def test_probabilities_of_destinations_agree_with_a_slow_twin():
    batch = make(size=EPISODES, rules=Rules(interruption="off"))
    history = [batch.state.pose[:, 1, :2].copy()]
    batch.tick(np.tile([NO_OP, 1], (EPISODES, 1)))
    for _ in range(25):
        history.append(batch.state.pose[:, 1, :2].copy())
        batch.tick(np.tile([NO_OP, -1], (EPISODES, 1)))
    history.append(batch.state.pose[:, 1, :2].copy())
    weights, destination = np.zeros(PICK + 1), np.zeros(PICK, np.int64)
    for e in np.flatnonzero(batch.state.clock == 26):
        last = np.array(history)[-EVIDENCE - 1 :, e]
        driven = float(np.hypot(*np.diff(last, axis=0).T).sum())
        weigh(batch.world, batch.records[e], 1, driven, weights, destination)
        assert weights == pytest.approx(slow_weights(batch, e, 1, last), abs=1e-4)


def test_a_partner_on_its_way_to_an_object_is_guessed_to_go_there():
    batch = navigating(1, 14)
    moving = (batch.state.action[:, 1] == 1) & (
        np.hypot(*(batch.state.window[:, 1, 13, :2] - batch.state.window[:, 1, 3, :2]).T) > 1
    )
    right = []
    for e in np.flatnonzero(moving):
        paths, weights = expected_of(batch, e, 1, GUESS)
        true = expected_of(batch, e, 1, ORACLE_DESTINATION)[0][0]
        right.append(max(weights[np.abs(paths[:, :10] - true[:10]).max(axis=(1, 2)) < 0.2], default=0.0))
    assert len(right) > 5
    assert np.mean(right) > 0.5


def test_the_plan_of_a_scripted_partner_is_known_to_the_oracle_alone():
    batch = make(size=1)
    scripted(batch, "noop", "solo")
    put(batch, 0, (6.6, 4.4))
    (path,), _ = expected_of(batch, 0, 1, ORACLE_ACTION)
    assert np.hypot(*(path[-1] - path[0])) > 0.3
