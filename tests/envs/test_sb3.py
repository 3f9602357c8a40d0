"""The adapter for Stable-Baselines3, and what is said where that is not installed."""

import subprocess
import sys

import numpy as np
import pytest

import housemates
from helpers.batches import action, episodes, home
from housemates.tasks.actions import NO_OP


def options(**more):
    return {"homes": [home()], "episodes": episodes("tidy_house"), "observations": ("state",), "horizon": 60} | more


@pytest.fixture
def sb3():
    pytest.importorskip("stable_baselines3")
    from housemates.envs import sb3

    return sb3


def test_without_the_package_one_line_says_what_to_install():
    code = "import sys; sys.modules['stable_baselines3'] = None\nimport housemates.envs.sb3"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith("needs stable-baselines3 - run: pip install stable-baselines3")


def test_an_episode_that_times_out_is_told_with_its_last_observation(sb3):
    env = sb3.make_sb3("tidy_house", 2, **options(horizon=1))
    env.reset()
    seen, reward, done, infos = env.step(np.full(2, action("turn-left")))
    assert done.all()
    assert (infos[0]["TimeLimit.truncated"], infos[0]["outcome"], infos[0]["is_success"]) == (True, "timeout", False)
    assert env.observation_space.contains(infos[1]["terminal_observation"])
    assert (infos[1]["terminal_observation"]["state"] != seen["state"][1]).any()
    assert reward.dtype == np.float32


def test_running_episodes_have_no_last_observation(sb3):
    env = sb3.make_sb3("tidy_house", 2, **options())
    env.reset()
    *_, infos = env.step(np.full(2, NO_OP))
    assert [("terminal_observation" in info, info["outcome"]) for info in infos] == [(False, "running")] * 2


def test_the_mask_is_a_method_and_not_an_observation(sb3):
    env = sb3.make_sb3("tidy_house", 2, **options())
    seen = env.reset()
    assert set(seen) == set(env.observation_space.keys()) == {"state"}
    assert env.has_attr("action_masks")
    assert np.stack(env.env_method("action_masks")).tolist() == [[True] * 25] * 2


def test_the_same_seed_gives_the_same_episodes(sb3):
    one, two = (sb3.make_sb3("tidy_house", 2, **options()) for _ in range(2))
    for env in (one, two):
        env.seed(7)
    assert (one.reset()["state"] == two.reset()["state"]).all()


def test_an_environment_that_drops_last_observations_is_refused(sb3):
    with pytest.raises(ValueError, match="final_observations=True"):
        sb3.SB3VecEnv(housemates.make_vec("tidy_house", 1, **options()))


def test_ppo_takes_pictures_vectors_and_bits(sb3):
    from stable_baselines3 import PPO

    env = sb3.make_sb3("tidy_house", 2, **options(observations=("depth", "rgb", "state", "predicates"), size=36))
    PPO("MultiInputPolicy", env, n_steps=4, batch_size=8, n_epochs=1, device="cpu").learn(8)
    assert env.num_envs == 2
