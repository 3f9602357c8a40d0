"""A game played again is the game that was played."""

import numpy as np
import pytest

from helpers.batches import episodes, home
from housemates.agents.actors import Actor
from housemates.evaluation.play import play
from housemates.evaluation.recordings import record_game
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.sim.state import OUTCOMES

SHORT = Rules(horizon=60)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(PolicyConfig.state(hidden=16, features=16), seed=5)


def test_a_recorded_game_is_the_one_that_was_played_among_others(policy):
    teams = [[Actor(policy), "first_half"], [Actor(policy), Actor(policy)]]
    played = play(episodes(), [home()], teams, SHORT, seed=3, which=np.arange(6))
    for row in (1, 4, 8, 11):
        team, episode = int(played.team[row]), int(played.episode[row])
        again = record_game(episodes(), [home()], teams[team], episode, SHORT, seed=3)
        assert again.header["outcome"] == OUTCOMES[played.outcome[row]]
        assert again.steps == played.steps[row]
        assert again.header["return"] == played.total[row]


def test_names_follow_the_seats_to_their_robots(policy):
    team = [Actor(policy), "noop"]
    played = play(episodes(), [home()], [team], SHORT, which=np.arange(4))
    for row in range(4):
        names = record_game(episodes(), [home()], team, row, SHORT, names=("agent", "partner")).header["robots"]
        assert names[played.robot[row, 0]] == "agent"
        assert names[played.robot[row, 1]] == "partner"
