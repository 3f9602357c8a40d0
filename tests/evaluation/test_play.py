"""Teams play episodes: scripted robots, policies, and both together."""

import numpy as np
import pytest

from batches import episodes, home, make
from housemates.evaluation.play import play
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.sim.scripted import script


def test_a_scripted_team_plays_as_it_does_in_a_batch():
    played = play(episodes(), [home()], ["first_half", "second_half"])
    batch = make(size=24, stored_spawns=True, autoreset=False)
    for robot, name in enumerate(("first_half", "second_half")):
        batch.script(robot, script(name))
    batch.reset(np.arange(24))
    batch.step(np.full((24, 2), -1))
    assert (played.outcome == batch.ended.outcome).all()
    assert (played.steps == batch.ended.steps).all()


def test_a_lone_scripted_robot_succeeds():
    assert play(episodes(), [home()], ["solo"], Rules(horizon=3000)).rate("success") == 1.0


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(PolicyConfig.state(hidden=16, features=16), seed=5)


def test_the_same_seed_gives_the_same_games_and_another_seed_others(policy):
    first, again, other = (play(episodes(), [home()], [policy, policy], seed=s) for s in (1, 1, 2))
    assert (first.steps == again.steps).all()
    assert (first.steps != other.steps).any()


def test_a_policy_plays_with_a_scripted_partner(policy):
    played = play(episodes(), [home()], [policy, "noop"])
    assert (played.outcome > 0).all()
    assert (played.idle[:, 1] == played.steps).all()


def test_an_unknown_partner_is_named_with_the_known_ones(policy):
    with pytest.raises(ValueError, match="no scripted robot 'nobody' - choose one of: noop"):
        play(episodes(), [home()], [policy, "nobody"])
