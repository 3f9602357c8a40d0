"""The Gymnasium face: one learner per home, partners of every kind, same-step autoreset."""

from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

import housemates
from helpers import batches
from helpers.batches import action, episodes, home
from housemates.envs.spaces import observations_offered
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.sim.scripts import SCRIPTS
from housemates.sim.state import OUTCOMES
from housemates.tasks.actions import NO_OP


def make(task="tidy_house", num_envs=3, observations=("state",), **options):
    options = {"homes": [home()], "episodes": episodes(task)} | options
    return housemates.make_vec(task, num_envs, observations=observations, **options)


def random_partner(obs):
    return np.random.default_rng(len(obs["state"])).integers(25, size=len(obs["state"]))


def rollout(env, steps=60, seed=4):
    """Everything that random actions give, for comparing."""
    rng, given = np.random.default_rng(0), [env.reset(seed=seed)]
    shape = env.action_space.shape
    for _ in range(steps):
        drawn = rng.integers(25, size=shape) if len(shape) == 1 else rng.uniform(-1, 1, shape).astype(np.float32)
        given.append(env.step(drawn))
    return given


def test_spaces_are_batches_of_the_single_spaces():
    env = make(num_envs=5)
    assert env.observation_space == gymnasium.vector.utils.batch_space(env.single_observation_space, 5)
    assert env.action_space == gymnasium.vector.utils.batch_space(env.single_action_space, 5)


def test_the_autoreset_mode_is_same_step():
    assert make().metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


@pytest.mark.parametrize("control", ["skills", "low_level"])
def test_spaces_contain_what_steps_return(control):
    env = make(observations=observations_offered(), size=16, control=control)
    for returned in rollout(env, 15):
        assert env.observation_space.contains(returned[0])


def test_returned_arrays_have_one_entry_for_each_home():
    env = make(num_envs=4)
    env.reset(seed=0)
    _, reward, terminated, truncated, infos = env.step(np.full(4, NO_OP))
    found = [a.shape for a in (reward, terminated, truncated, infos["duration"], infos["outcome"], infos["subgoals"])]
    assert found == [(4,)] * 6


@pytest.mark.parametrize("partner", ["noop", "second_half", random_partner], ids=["noop", "script", "function"])
def test_the_same_seed_and_actions_give_the_same_results(partner):
    one, two = (rollout(make(partner=partner, horizon=100)) for _ in range(2))
    assert data_equivalence(one, two, exact=True)


def test_another_seed_gives_other_episodes():
    one, two = rollout(make(), 1, seed=1), rollout(make(), 1, seed=2)
    assert not data_equivalence(one, two)


def test_two_threads_give_the_same_results_as_one():
    one, two = (rollout(make(num_envs=4, threads=n, partner="first_half")) for n in (1, 2))
    assert data_equivalence(one, two, exact=True)


def test_gymnasium_wrappers_count_returns_and_lengths():
    env = RecordEpisodeStatistics(make(horizon=5))
    env.reset(seed=0)
    for _ in range(5):
        *_, infos = env.step(np.full(3, NO_OP))
    assert infos["episode"]["r"] == pytest.approx(np.full(3, -0.05))
    assert infos["episode"]["l"].tolist() == [5, 5, 5]


def test_gymnasium_wrappers_can_split_infos():
    env = DictInfoToList(make())
    env.reset(seed=0)
    *_, infos = env.step(np.full(3, NO_OP))
    assert [info["duration"] for info in infos] == [1, 1, 1]


def test_the_learner_decides_after_every_step():
    env = make(num_envs=6, partner=random_partner)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(50):
        env.step(rng.integers(25, size=6))
        assert env.batch.decide[:, 0].all()


def test_a_home_whose_learner_is_ready_waits_for_the_others():
    env = make(num_envs=2, partner=random_partner, interruption="off")
    env.reset(seed=0)
    *_, infos = env.step(np.array([NO_OP, action("nav sofa")]))
    assert env.batch.state.clock.tolist() == infos["duration"].tolist()
    assert infos["duration"][0] == 1 < infos["duration"][1]


def test_rewards_of_an_episode_add_up_to_its_return():
    env = make(num_envs=1, partner=random_partner, horizon=80)
    env.reset(seed=0)
    total, done, rng = 0.0, False, np.random.default_rng(1)
    while not done:
        _, reward, terminated, truncated, _ = env.step(rng.integers(25, size=1))
        total, done = total + reward[0], terminated[0] or truncated[0]
    assert total == pytest.approx(env.batch.ended.total[0])


def test_a_solo_partner_finishes_the_task_alone():
    env = make(num_envs=1, partner="solo", horizon=3000, interruption="off")
    env.reset(seed=0, options={"episodes": [0]})
    batches.put(env.batch, 0, (0.9, 5.4))
    outcomes = []
    while not any(outcomes):
        *_, infos = env.step(np.array([NO_OP]))
        outcomes.append(infos["outcome"][0])
    assert OUTCOMES[outcomes[-1]] == "success"


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_can_be_a_partner(name):
    env = make(partner=name, num_envs=6)
    rollout(env, 30)
    assert (env.batch.state.travelled[:, 1] > 0).any() == (name != "noop")


def test_a_function_partner_acts_for_its_robot():
    env = make(num_envs=2, partner=lambda obs: action("turn-left"))
    env.reset(seed=0)
    before = env.batch.state.pose[:, 1, 2].copy()
    env.step(np.full(2, NO_OP))
    turned = np.exp(1j * (env.batch.state.pose[:, 1, 2] - before))
    assert np.angle(turned) == pytest.approx(np.full(2, env.batch.numbers.turn))


def test_a_function_partner_sees_from_its_own_robot():
    shown = []
    env = make(num_envs=2, partner=lambda obs: shown.append(obs["state"]) or NO_OP)
    env.reset(seed=0)
    expected = env.batch.observe("state")[:, 1].copy()
    env.step(np.full(2, NO_OP))
    assert (shown[0] == expected).all()


def test_a_policy_can_be_a_partner():
    env = make(partner=Policy(PolicyConfig(("state", "predicates"), "vector", hidden=16, features=16)), horizon=60)
    rollout(env, 20)
    assert env.partners[0].actors.memory_of(0).abs().sum() > 0


class Counter:
    """A policy whose memory counts its decisions since the start of the episode."""

    def initial_memory(self, n):
        import torch

        return torch.zeros(n, 1)

    def act(self, obs, memory):
        import torch

        return SimpleNamespace(action=torch.full((len(memory),), NO_OP), memory=memory + 1)


def test_a_policys_memory_lasts_through_an_episode_and_not_beyond():
    env = make(num_envs=2, partner=Counter(), horizon=3)
    env.reset(seed=0)
    found = []
    for _ in range(4):
        env.step(np.full(2, NO_OP))
        found.append(env.partners[0].actors.memory_of(0)[1::2, 0].tolist())
    assert found == [[1, 1], [2, 2], [0, 0], [1, 1]]


def test_each_robot_can_have_its_own_partner():
    env = make(robots=3, partner=["noop", random_partner])
    assert env.batch.state.controllable[0].tolist() == [True, False, True]


def test_a_learner_can_be_alone():
    env = make(robots=1)
    env.reset(seed=0)
    assert env.step(np.full(3, NO_OP))[1] == pytest.approx(np.full(3, -0.01))


def test_an_ended_home_begins_anew_in_the_same_step():
    env = make(horizon=2)
    env.reset(seed=0)
    env.step(np.full(3, NO_OP))
    _, _, terminated, truncated, infos = env.step(np.full(3, NO_OP))
    assert (terminated.any(), truncated.all()) == (False, True)
    assert env.batch.state.clock.tolist() == [0, 0, 0]
    assert "final_obs" not in infos


def test_final_observations_come_on_request():
    env = make(horizon=2, final_observations=True)
    env.reset(seed=0)
    env.step(np.full(3, action("turn-left")))
    seen, *_, infos = env.step(np.full(3, action("turn-left")))
    final = infos["final_obs"][1]["state"]
    assert infos["_final_obs"].all()
    assert env.single_observation_space.contains(infos["final_obs"][1])
    assert (final != seen["state"][1]).any()


def test_final_observations_change_nothing_else():
    plain, final = (rollout(make(horizon=30, partner="second_half", final_observations=f)) for f in (False, True))
    assert data_equivalence([step[0] for step in plain], [step[0] for step in final], exact=True)


def test_low_level_learners_can_have_scripted_partners():
    env = make(control="low_level", partner="first_half")
    steps = rollout(env, 10)
    assert steps[-1][4]["duration"].tolist() == [1, 1, 1]
    assert (env.batch.state.travelled[:, 1] > 0).any()


def test_episodes_can_be_chosen():
    env = make()
    env.reset(options={"episodes": [5, 1, 9]})
    assert env.batch.state.episode.tolist() == [5, 1, 9]


def test_render_shows_every_home():
    env = make(num_envs=2, render_mode="rgb_array")
    env.reset(seed=0)
    assert [picture.shape for picture in env.render()] == [(512, 512, 3)] * 2


@pytest.mark.parametrize("wrong", [np.zeros(2, int), np.zeros((3, 1), int), 0])
def test_actions_of_another_shape_are_refused(wrong):
    env = make()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must have shape \(3,\)"):
        env.step(wrong)


@pytest.mark.parametrize("wrong", [[0, 0, 25], [-1, 0, 0]])
def test_actions_out_of_range_are_refused(wrong):
    env = make()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"0\.\.24"):
        env.step(np.array(wrong))


def test_actions_that_are_no_integers_are_refused():
    env = make()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="must be integers"):
        env.step(np.zeros(3))


def test_an_unknown_script_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match=r"'dancer'.*script/NAME"):
        make(partner="dancer")


def test_a_thing_that_cannot_act_is_no_partner():
    with pytest.raises(TypeError, match="3 is no partner"):
        make(partner=3)


def test_a_list_of_partners_must_fit_the_robots():
    with pytest.raises(ValueError, match=r"1 partners.*3 robots.*2"):
        make(robots=3, partner=["noop"])


def test_a_partner_that_gives_too_few_actions_is_named():
    env = make(partner=lambda obs: np.zeros(7, int))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"robot 1.*actions.*shape.*7"):
        env.step(np.full(3, NO_OP))


def test_a_batch_without_homes_is_refused():
    with pytest.raises(ValueError, match="at least one home"):
        make(num_envs=0)


@pytest.mark.parametrize("paid", [0.5, 0.0])
@pytest.mark.parametrize("final", [True, False])
def test_new_sub_goals_are_counted_whatever_they_are_paid(paid, final):
    reward = replace(Rules().reward, subgoal=paid)
    env = make(num_envs=1, partner="solo", horizon=3000, interruption="off", reward=reward, final_observations=final)
    env.reset(seed=0, options={"episodes": [0]})
    batches.put(env.batch, 0, (0.9, 5.4))
    counts, done = [], False
    while not done:
        *_, infos = env.step(np.array([NO_OP]))
        counts.append(int(infos["subgoals"][0]))
        done = infos["outcome"][0] > 0
    assert (sum(counts), max(counts)) == (4, 1)


def test_a_view_over_a_shoulder_can_be_chosen():
    env = make(num_envs=2, render_mode="rgb_array", view="robot_1")
    env.reset(seed=0)
    assert [picture.shape for picture in env.render()] == [(512, 512, 3)] * 2
