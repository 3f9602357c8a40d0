"""`gymnasium.make("housemates/...")`: one home with one learner, and the vector environment by the same ids."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

import housemates
from helpers.batches import action, episodes, home
from housemates.envs.ids import IDS
from housemates.envs.vector import HomesEnv
from housemates.tasks.actions import NO_OP
from housemates.tasks.tasks import TASKS

TIDY = "housemates/TidyHouse-v0"


def options(task="tidy_house", **more):
    return {"homes": [home()], "episodes": episodes(task), "observations": ("state",), "horizon": 60} | more


def make(**more):
    return gymnasium.make(TIDY, **options(**more))


def test_every_task_of_the_package_has_an_id():
    assert sorted(IDS.values()) == sorted(TASKS)


@pytest.mark.parametrize("name", IDS)
def test_an_id_plays_its_task(name):
    env = gymnasium.make(name, **options(IDS[name]))
    assert env.unwrapped.homes.batch.episodes.task == IDS[name]


def test_any_task_can_be_named():
    env = gymnasium.make("housemates/Task-v0", task="set_table", **options("set_table"))
    assert env.unwrapped.homes.batch.episodes.task == "set_table"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("control", ["skills", "low_level"])
def test_gymnasium_accepts_the_environment(control):
    check_env(make(control=control, partner="second_half", observations="depth", size=16).unwrapped)


@pytest.mark.filterwarnings("error")
def test_a_step_is_that_of_the_vector_environment():
    env, envs = make(partner="second_half"), housemates.make_vec("tidy_house", 1, partner="second_half", **options())
    one, _ = env.reset(seed=5)
    many, _ = envs.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(10):
        chosen = int(rng.integers(25))
        assert data_equivalence(one, {name: values[0] for name, values in many.items()})
        one, reward, terminated, truncated, info = env.step(chosen)
        many, rewards, ends, cuts, infos = envs.step(np.array([chosen]))
        assert (reward, terminated, truncated, info["duration"]) == (rewards[0], ends[0], cuts[0], infos["duration"][0])
        if terminated or truncated:
            break


def test_an_ended_episode_shows_its_last_observation():
    env = make(horizon=1)
    env.reset(seed=0)
    seen, _, terminated, truncated, info = env.step(action("turn-left"))
    assert (terminated, truncated, info["outcome"], info["is_success"]) == (False, True, "timeout", False)
    assert data_equivalence(seen["state"], env.unwrapped.homes.observe()["state"][0])


def test_a_step_after_the_end_is_refused():
    env = make(horizon=1)
    env.reset(seed=0)
    env.step(NO_OP)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(NO_OP)


def test_an_episode_can_be_chosen():
    env = make()
    env.reset(options={"episode": 7})
    assert env.unwrapped.homes.batch.state.episode.tolist() == [7]


def test_render_is_one_picture():
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (512, 512, 3)


def test_every_decision_may_be_taken():
    assert make().unwrapped.action_masks().tolist() == [True] * 25


def test_a_number_of_homes_is_refused():
    with pytest.raises(TypeError, match="'final_observations'"):
        make(final_observations=True)


def test_many_homes_come_by_the_same_id():
    envs = gymnasium.make_vec(TIDY, num_envs=3, partner="script/solo", **options())
    assert isinstance(envs, HomesEnv)
    assert envs.reset(seed=0)[0]["state"].shape == (3, 18)


def test_gymnasiums_own_wrappers_count_returns():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.make_vec(TIDY, num_envs=2, **options(horizon=3)))
    envs.reset(seed=0)
    for _ in range(3):
        *_, infos = envs.step(np.full(2, NO_OP))
    assert infos["episode"]["r"] == pytest.approx([-0.03, -0.03])
