"""Teams play episodes: scripted robots, policies, chance and functions, all side by side and nobody in another's way."""

from copy import deepcopy

import numpy as np
import pytest

from helpers.batches import EPISODES, episodes, home, make
from housemates.agents.actors import Actor
from housemates.agents.draws import sample, uniform
from housemates.agents.functions import FunctionPolicy, RandomPolicy
from housemates.evaluation.play import play, seat_order
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.tasks.actions import ACTIONS, NO_OP

SHORT = Rules(horizon=60)
FEW = np.arange(6)


def games(teams, rules=SHORT, **more):
    return play(episodes(), [home()], teams, rules, **{"which": FEW} | more)


def same(one, other, rows=slice(None)) -> bool:
    names = ("episode", "robot", "outcome", "steps", "total", "done_by", "idle", "travelled", "decisions")
    return all(np.array_equal(getattr(one, name), getattr(other, name)[rows]) for name in names)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(PolicyConfig.state(hidden=16, features=16), seed=5)


@pytest.fixture(scope="module")
def seeing() -> Policy:
    return Policy(PolicyConfig.laptop(hidden=16, features=16), seed=6)


def eager(policy: Policy) -> Policy:
    """The same policy with strong opinions, so that what it sees decides what it does."""
    policy = deepcopy(policy)
    policy.load_state_dict({k: 60 * v if k == "actor.weight" else v for k, v in policy.state_dict().items()})
    return policy


def test_a_scripted_team_plays_as_it_does_in_a_batch():
    played = play(episodes(), [home()], [["first_half", "second_half"]], swap=False)
    batch = make(size=EPISODES, stored_spawns=True, autoreset=False)
    for robot, name in enumerate(("first_half", "second_half")):
        batch.script(robot, script(name))
    batch.reset(np.arange(EPISODES))
    batch.step(np.full((EPISODES, 2), -1))
    assert (played.outcome == batch.ended.outcome).all()
    assert (played.steps == batch.ended.steps).all()


def test_a_lone_scripted_robot_succeeds():
    assert play(episodes(), [home()], [["solo"]], Rules(horizon=3000)).rate("success") == 1.0


def test_the_same_seed_gives_the_same_games_and_another_seed_others(policy):
    first, again, other = (games([[policy, policy]], seed=s) for s in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)


def test_a_policy_plays_with_a_scripted_partner(policy):
    played = games([[policy, "noop"]])
    assert (played.outcome > 0).all()
    assert (played.idle[:, 1] == played.steps).all()
    assert (played.decisions[:, 1] == 0).all()


def test_an_unknown_script_is_named_with_the_known_ones(policy):
    with pytest.raises(ValueError, match="'nobody'"):
        games([[policy, "nobody"]])


def test_a_team_plays_the_same_alone_and_among_others(policy, seeing):
    latent = Policy(PolicyConfig.state(hidden=16, features=16, latent=4), seed=7)
    teams = [
        [policy, "noop"],
        [seeing, policy],
        [policy, Actor(latent, 1)],
        [RandomPolicy(), Actor(latent, 2)],
        [seeing, seeing],
    ]
    together = games(teams)
    for t, team in enumerate(teams):
        assert same(games([team]), together, together.team == t)


def test_games_are_the_same_with_two_threads_and_few_places(policy, seeing):
    teams = [[seeing, policy], [policy, RandomPolicy()], ["solo", seeing]]
    assert same(games(teams), games(teams, threads=2, slots=5))


def test_a_team_plays_an_episode_the_same_whichever_others_it_plays(policy):
    few, more = games([[policy, policy]], which=np.array([4, 2])), games([[policy, policy]])
    assert same(few, more, [4, 2])


def test_every_team_meets_the_same_draws(policy):
    played = games([[policy, "noop"], [policy, "noop"]])
    assert np.array_equal(played.steps[:6], played.steps[6:])
    assert np.array_equal(played.travelled[:6], played.travelled[6:])


def test_the_agent_moves_either_robot_in_half_of_the_episodes():
    first = seat_order(np.arange(100), 2)[:, 0]
    assert first.reshape(-1, 2).sum(axis=1).tolist() == [1] * 50
    assert 15 < first[::2].sum() < 35


def test_three_seats_share_three_robots_evenly():
    order = seat_order(np.arange(30), 3)
    assert (np.sort(order, axis=1) == np.arange(3)).all()
    assert np.bincount(order[:, 0]).tolist() == [10, 10, 10]


def test_swapped_robots_are_told_by_seat():
    played = games([["solo", "noop"]], Rules(horizon=3000), which=np.arange(EPISODES))
    assert set(played.robot[:, 0]) == {0, 1}
    won = played.outcome == 1
    assert won.any()
    assert (played.done_by[won, :4] == 0).all()
    assert (played.travelled[:, 1] == 0).all()


def test_three_robots_play_with_two_partners():
    trio = Policy(PolicyConfig.state(hidden=16, features=16, robots=3), seed=1)
    played = games([[trio, "noop", "first_half"]])
    assert played.idle.shape == (6, 3)
    assert (played.idle[:, 1] == played.steps).all()


def test_a_policy_for_two_robots_is_refused_among_three(policy):
    with pytest.raises(ValueError, match=r"trained.*2 robots.*3"):
        games([[policy, "noop", "noop"]])


def test_teams_of_different_sizes_are_refused(policy):
    with pytest.raises(ValueError, match=r"teams of \[1, 2\] robots"):
        games([[policy, "noop"], ["solo"]])


def test_executed_actions_add_up_to_the_steps(policy):
    played = games([[policy, "first_half"]], executed=True)
    assert played.executed is not None
    assert (played.executed.sum(axis=2) == played.steps[:, None]).all()
    assert (played.executed[:, :, NO_OP] == played.idle).all()


def test_counting_what_is_done_changes_nothing(policy):
    assert same(games([[policy, policy]]), games([[policy, policy]], executed=True))


def test_the_random_policy_draws_every_action():
    played = games([["noop", RandomPolicy()]], Rules(horizon=750), executed=True)
    assert played.executed is not None
    seen = played.executed[:, 1].sum(axis=0)
    assert (seen[[ACTIONS.index(name) for name in ("turn-left", "turn-right", "move-forward", "nav sofa")]] > 0).all()


def wait(obs: dict[str, np.ndarray]) -> np.ndarray:
    return np.full(len(obs["state"]), NO_OP)


def test_a_function_plays():
    played = games([["noop", FunctionPolicy(wait)]])
    assert (played.idle == played.steps[:, None]).all()


def test_greedy_policies_take_the_likeliest_action(policy):
    one, other = (games([[eager(policy), "noop"]], seed=s, greedy=True) for s in (1, 2))
    assert same(one, other)


def test_draws_follow_the_probabilities():
    drawn = uniform(3, np.arange(20_000), 1, 0)
    share = np.bincount(sample(np.tile(np.log([1.0, 2.0, 5.0]), (20_000, 1)), drawn), minlength=3) / 20_000
    assert np.abs(share - [0.125, 0.25, 0.625]).max() < 0.015


def test_draws_of_neighbouring_decisions_are_independent():
    drawn = uniform(0, np.arange(200)[:, None, None], np.arange(2)[:, None], np.arange(50))
    flat = drawn.reshape(-1)
    assert abs(np.corrcoef(flat[:-1], flat[1:])[0, 1]) < 0.03
    assert abs(np.corrcoef(drawn[:, 0].reshape(-1), drawn[:, 1].reshape(-1))[0, 1]) < 0.03
