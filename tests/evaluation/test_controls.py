"""The blind do not sense their partners: not in numbers, not in pictures, not by interruption."""

import numpy as np
import pytest

from helpers.batches import EPISODES, episodes, home, make, put
from housemates.agents.actors import Actor
from housemates.evaluation.play import play
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.cameras import ROBOT_LABEL
from housemates.sim.rules import Rules
from housemates.sim.sensors import ABSENT, blindfold, draw_without_partners, sensed_alone

ALL = np.ones((1, 2), np.bool_)


def facing() -> tuple:
    """Two robots that look at each other from 1.5 m; robot 1 holds object 0."""
    batch = make(stored_spawns=True)
    put(batch, 0, (3.0, 4.0))
    put(batch, 1, (4.5, 4.0), np.pi)
    batch.state.held[0, 1] = 0
    return batch


def labels(batch, draw) -> list[set[int]]:
    out = np.zeros((1, 2, batch.pixels, batch.pixels, 1), np.int16)
    draw("segmentation", batch.records, ALL, out)
    return [set(np.unique(out[0, robot]).tolist()) for robot in range(2)]


def test_the_blind_see_no_partner_and_nothing_it_holds():
    batch = facing()
    seen = labels(batch, batch.cameras.heads)
    assert {ROBOT_LABEL + 1, 2000} <= seen[0]
    blind = labels(batch, lambda *more: draw_without_partners(batch.cameras, *more))
    assert not {ROBOT_LABEL + 1, 2000} & blind[0]
    assert ROBOT_LABEL not in blind[1]


def test_drawing_for_the_blind_leaves_the_seeing_their_view():
    batch = facing()
    before = labels(batch, batch.cameras.heads)
    labels(batch, lambda *more: draw_without_partners(batch.cameras, *more))
    assert labels(batch, batch.cameras.heads) == before


def test_the_view_of_the_blind_is_that_of_a_home_without_partner():
    batch = facing()
    batch.state.held[0, 1] = -1
    out = np.zeros((1, 2, batch.pixels, batch.pixels, 1), np.uint8)
    draw_without_partners(batch.cameras, "depth", batch.records, ALL, out)
    put(batch, 1, (100.0, 100.0))
    assert np.array_equal(out[0, 0], batch.observe("depth")[0, 0])


@pytest.mark.parametrize("name", ["state", "predicates"])
def test_numbers_of_the_blind_do_not_depend_on_the_partner(name):
    found = []
    for place in ((4.5, 4.0), (2.0, 1.0)):
        batch = facing()
        put(batch, 1, place)
        values = batch.observe(name)[:, 0]
        blindfold(name, values, 2)
        found.append(values)
    assert np.array_equal(*found)


def test_the_partner_of_the_blind_is_always_far_behind():
    values = make(robots=3).observe("state")[:, 0]
    blindfold("state", values, 3)
    assert np.allclose(values[0, 16:], ABSENT * 2)


def test_numbers_about_the_robot_itself_and_the_home_stay():
    batch = facing()
    for name, kept in {"state": list(range(16)), "predicates": [*range(14), 28, *range(30, 57)]}.items():
        values = batch.observe(name)[:, 0]
        before = values.copy()
        blindfold(name, values, 2)
        assert np.array_equal(values[:, kept], before[:, kept])


def test_only_the_partner_tells_a_seeing_agent_from_a_blind_one():
    policy = Policy(PolicyConfig.state(hidden=16, features=16), seed=5)
    teams = [[policy, "first_half"], [Actor(policy, blind=True), "first_half"]]
    played = play(episodes(), [home()], teams, Rules(horizon=200))
    assert (played.travelled[:EPISODES, 0] != played.travelled[EPISODES:, 0]).any()


def test_a_blind_agent_is_not_interrupted():
    policy = Policy(PolicyConfig.state(hidden=16, features=16), seed=5)
    one, other = ([[Actor(policy, blind=True), "noop"]] for _ in range(2))
    rules = Rules(horizon=150), Rules(horizon=150, interruption="off")
    often, never = (play(episodes(), [home()], team, r) for team, r in zip((one, other), rules, strict=True))
    assert np.array_equal(often.decisions, never.decisions)


@pytest.mark.parametrize("name", ["state", "predicates"])
def test_a_robot_alone_senses_what_a_blind_one_does(name):
    pair, lone = make(stored_spawns=True), make(robots=1, stored_spawns=True)
    blind = pair.observe(name)[:, 0]
    blindfold(name, blind, 2)
    assert np.array_equal(sensed_alone(name, lone.observe(name)[:, 0], 2), blind)


def test_a_policy_for_two_robots_can_play_alone():
    policy = Policy(PolicyConfig.laptop(hidden=16, features=16), seed=5)
    played = play(episodes(), [home()], [[policy]], Rules(horizon=20), which=np.arange(4))
    assert (played.steps == 20).all()
