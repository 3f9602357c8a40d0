"""The PettingZoo face: its own tests, and the contract of the house plan."""

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
from pettingzoo.utils import parallel_to_aec

import housemates
from helpers.batches import action, episodes, home, put
from housemates.envs.spaces import observations_offered
from housemates.sim.state import MUST_DECIDE
from housemates.tasks.actions import ACTIONS, NO_OP


def make(task="tidy_house", **options):
    return housemates.make(task, homes=[home()], episodes=episodes(task), **options)


def started(episode=0, **options):
    env = make(observations=("state",), **options)
    env.reset(seed=0, options={"episode": episode})
    return env


def no_ops(env):
    return dict.fromkeys(env.agents, NO_OP)


@pytest.mark.parametrize("control", ["skills", "low_level"])
def test_pettingzoo_accepts_the_environment(control):
    parallel_api_test(make(observations=("depth", "state"), size=16, control=control, horizon=40), num_cycles=60)


@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
def test_pettingzoo_can_take_turns_with_it():
    api_test(parallel_to_aec(make(observations=("state",), horizon=40)), num_cycles=60)


@pytest.mark.parametrize("control", ["skills", "low_level"])
def test_the_same_seed_gives_the_same_episodes(control):
    parallel_seed_test(lambda: make(observations=("state",), control=control, horizon=40), num_cycles=60)


@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_spaces_contain_every_observation_of_every_robot(robots):
    env = make(robots=robots, observations=observations_offered(), size=16)
    seen, _ = env.reset(seed=1)
    for _ in range(12):
        for agent, observation in seen.items():
            assert env.observation_space(agent).contains(observation)
        if not env.agents:
            break
        seen, *_ = env.step({agent: env.action_space(agent).sample() for agent in env.agents})


def test_agents_are_called_by_number():
    assert started(robots=3).agents == ["robot_0", "robot_1", "robot_2"]


def test_everybody_decides_after_a_reset():
    _, infos = make(observations=("state",)).reset(seed=0)
    assert [info["must_decide"] for info in infos.values()] == [True, True]


def test_a_busy_robot_has_a_mask_with_its_running_skill():
    env = started()
    seen, *_, infos = env.step({"robot_0": action("nav sofa"), "robot_1": NO_OP})
    assert not infos["robot_0"]["must_decide"]
    assert np.flatnonzero(seen["robot_0"]["action_mask"]).tolist() == [action("nav sofa")]


def test_a_robot_that_must_decide_may_choose_anything():
    env = started()
    seen, *_ = env.step(no_ops(env))
    assert seen["robot_1"]["action_mask"].tolist() == [1] * len(ACTIONS)


def test_the_action_of_a_busy_robot_is_ignored():
    env = started()
    env.step({"robot_0": action("nav sofa"), "robot_1": NO_OP})
    env.step({"robot_0": action("nav fridge"), "robot_1": NO_OP})
    assert env.batch.state.action[0, 0] in (action("nav sofa"), MUST_DECIDE)


def test_a_busy_robot_needs_no_action():
    env = started()
    env.step({"robot_0": action("nav sofa"), "robot_1": NO_OP})
    *_, infos = env.step({"robot_1": NO_OP})
    assert infos["robot_1"]["duration"] == 1


def test_one_step_lasts_until_somebody_must_decide():
    env = started(robots=1)
    *_, infos = env.step({"robot_0": action("nav sofa")})
    assert infos["robot_0"]["must_decide"]
    assert infos["robot_0"]["duration"] > 1


def test_every_tick_returns_after_each_simulation_step():
    env = started(robots=1, every_tick=True)
    *_, infos = env.step({"robot_0": action("nav sofa")})
    assert (infos["robot_0"]["must_decide"], infos["robot_0"]["duration"]) == (False, 1)


@pytest.mark.parametrize("every_tick", [False, True])
def test_rewards_of_all_steps_add_up_to_the_return(every_tick):
    env, total = started(every_tick=every_tick, horizon=120), 0.0
    rng = np.random.default_rng(3)
    while env.agents:
        _, rewards, *_ = env.step({agent: int(rng.integers(25)) for agent in env.agents})
        total += rewards["robot_1"]
    assert total == pytest.approx(env.batch.state.total[0])


def test_all_robots_get_the_same_reward():
    env = started(robots=3)
    _, rewards, *_ = env.step(no_ops(env))
    assert len(set(rewards.values())) == 1


def test_new_sub_goals_are_named():
    env = started(robots=1)
    env.step({"robot_0": action("nav obj0")})
    *_, infos = env.step({"robot_0": action("pick obj0")})
    assert infos["robot_0"]["subgoals"] == ["pick obj0"]


def test_the_horizon_truncates():
    env = started(horizon=1)
    _, _, terminated, truncated, infos = env.step(no_ops(env))
    assert (terminated["robot_0"], truncated["robot_0"], infos["robot_0"]["outcome"]) == (False, True, "timeout")


def test_a_collision_terminates():
    env = started()
    put(env.batch, 0, (3.5, 4.0))
    put(env.batch, 1, (4.0, 4.0))
    _, _, terminated, truncated, infos = env.step(no_ops(env))
    assert (terminated["robot_1"], truncated["robot_1"], infos["robot_1"]["outcome"]) == (True, False, "collision")


def test_success_terminates():
    env = started(robots=1, horizon=5000)
    for i in range(2):
        for name in (f"nav obj{i}", f"pick obj{i}", f"nav goal{i}", f"place goal{i}"):
            _, rewards, terminated, _, infos = env.step({"robot_0": action(name)})
    assert (terminated["robot_0"], infos["robot_0"]["outcome"]) == (True, "success")
    assert rewards["robot_0"] == pytest.approx(10 + 0.5 - 0.01)


def test_nobody_is_left_after_the_end():
    env = started(horizon=1)
    env.step(no_ops(env))
    assert env.agents == []
    with pytest.raises(RuntimeError, match="call reset"):
        env.step({})


def test_an_episode_can_be_chosen():
    assert started(episode=7).batch.state.episode[0] == 7


def test_observations_are_not_overwritten_by_later_steps():
    env = started()
    seen, _ = env.reset(seed=2)
    before = seen["robot_0"]["state"].copy()
    env.step(dict.fromkeys(env.agents, action("turn-left")))
    assert (seen["robot_0"]["state"] == before).all()


def test_render_shows_the_home_from_above():
    env = make(observations=("state",), render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((512, 512, 3), np.uint8)
    assert picture.std() > 10


def test_render_follows_the_robots():
    env = make(observations=("state",), render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    put(env.batch, 0, (3.5, 4.0))
    assert (env.render() != before).any()


def test_a_robot_can_be_looked_at_over_its_shoulder():
    env = make(observations=("state",), render_mode="rgb_array", view="robot_1")
    env.reset(seed=0)
    before = env.render()
    put(env.batch, 1, (3.5, 4.0), 1.0)
    assert (env.render() != before).any()


def test_there_is_no_picture_without_a_render_mode():
    assert started().render() is None


def test_depth_is_in_metres():
    env = make(observations=("depth",), size=32)
    seen, _ = env.reset(seed=0)
    assert 0.5 < np.median(seen["robot_0"]["depth"]) < 10.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"observations": ("smell",)}, "no observation 'smell' - choose one of: state"),
        ({"observations": ()}, "name one or more"),
        ({"observations": ("state", "state")}, "each once"),
        ({"control": "thoughts"}, "no control 'thoughts' - choose one of: skills"),
        ({"size": 2}, "pictures of 2 pixels - choose a size from 8"),
        ({"robots": 5}, "1 to 4 robots, got 5"),
        ({"robots": 0}, "1 to 4 robots, got 0"),
        ({"render_mode": "human"}, "no render mode 'human'"),
        ({"view": "robot_2"}, "no view 'robot_2' - choose one of: top, robot_0, robot_1"),
        ({"speed": "warp"}, "unknown speed 'warp'"),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_an_unknown_argument_is_refused_with_the_rules_that_exist():
    with pytest.raises(TypeError, match="'gravity'"):
        make(gravity=9.81)


def test_an_unknown_task_is_refused():
    with pytest.raises((KeyError, ValueError), match="set_tabel"):
        housemates.make("set_tabel")


def test_episodes_of_another_task_are_refused():
    with pytest.raises(ValueError, match=r"tidy_house.*set_table"):
        housemates.make("set_table", homes=[home()], episodes=episodes())


@pytest.mark.parametrize("wrong", [25, -1, 1.5, "pick", [1, 2]])
def test_a_wrong_action_is_refused_by_the_name_of_its_agent(wrong):
    env = started()
    with pytest.raises(ValueError, match=r"robot_1.*0..24"):
        env.step({"robot_0": 0, "robot_1": wrong})


def test_a_missing_action_is_asked_for():
    with pytest.raises(ValueError, match=r"robot_1.*action"):
        started().step({"robot_0": 0})


def test_an_unknown_agent_is_refused():
    with pytest.raises(ValueError, match="no agent 'robot_9'"):
        started().step({"robot_9": 0})


def test_low_level_actions_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match=r"robot_0.*10 numbers"):
        started(control="low_level").step(dict.fromkeys(["robot_0", "robot_1"], np.zeros(9)))
