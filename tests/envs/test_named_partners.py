"""`make_vec(partner=NAME)`: whoever the command line can name, latents and populations too; lists of seeds; progress."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

import housemates
from helpers.batches import episodes, home
from helpers.small_runs import small_run
from housemates.agents.agent import latents, resolve, write_partners
from housemates.envs import loading
from housemates.envs import loading as progress
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy

LATENT = PolicyConfig.state(hidden=8, features=8, latent=3)


def make(num_envs=3, robots=2, **options):
    options = {"homes": [home()], "episodes": episodes("tidy_house"), "observations": ("state",), "horizon": 60} | options
    return housemates.make_vec("tidy_house", num_envs, robots=robots, **options)


def rollout(env, steps=20, seed=4):
    rng, given = np.random.default_rng(0), [env.reset(seed=seed)]
    return given + [env.step(rng.integers(25, size=env.num_envs)) for _ in range(steps)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with members 0 and 1 and an agent, and one whose population are three latents."""
    return small_run(tmp_path_factory.mktemp("runs") / "pbt", "pbt")


@pytest.fixture(scope="module")
def latent_run(tmp_path_factory):
    folder = small_run(tmp_path_factory.mktemp("latents") / "bdp", "bdp")
    save_policy(folder / "stage1" / "members" / "00", Policy(LATENT, seed=3), {"task": "tidy_house"})
    write_partners(folder / "stage1" / "population.json", named(latents(folder / "stage1" / "members" / "00", "x")), folder)
    return folder


def named(found):
    from dataclasses import replace

    return [replace(p, name=p.name.rpartition("/")[2]) for p in found]


@pytest.mark.parametrize(
    "name",
    [
        "script/solo",
        "random",
        "pretrained/bdp-tidy_house-depth",
        "RUN/agent",
        "RUN/1",
        "RUN/stage2/agent",
        "BDP/z2",
        "mine_named:wait",
    ],
)
def test_every_name_of_the_command_line_is_a_partner(name, run, latent_run, tmp_path, monkeypatch):
    (tmp_path / "mine_named.py").write_text("import numpy as np\ndef wait(obs):\n    return np.zeros(len(obs['state']), int)\n")
    monkeypatch.chdir(tmp_path)
    env = make(partner=name.replace("RUN", str(run)).replace("BDP", str(latent_run)), horizon=40)
    one = rollout(env, 6)
    assert len(one) == 7
    # The same again after a reset with the seed, and in another environment: nothing is drawn from anywhere else.
    assert data_equivalence(one, rollout(env, 6))
    assert data_equivalence(
        one, rollout(make(partner=name.replace("RUN", str(run)).replace("BDP", str(latent_run)), horizon=40), 6)
    )


def test_a_partner_that_was_found_is_a_partner(run):
    (agent,) = resolve(f"{run}/agent")
    assert data_equivalence(rollout(make(partner=agent)), rollout(make(partner=f"{run}/agent")))


def test_a_latent_is_given_to_its_policy(latent_run, monkeypatch):
    given = []
    monkeypatch.setattr("housemates.agents.actors.usable", lambda policy: False)
    monkeypatch.setattr(Policy, "act", watched(Policy.act, given))
    rollout(make(partner=f"{latent_run}/z1"), 3)
    assert {int(one) for latent in given for one in latent} == {1}


def watched(act, given):
    def watching(self, obs, memory, latent=None, **more):
        given.append(latent)
        return act(self, obs, memory, latent, **more)

    return watching


def test_a_population_takes_the_homes_in_turn(latent_run, monkeypatch):
    env = make(num_envs=7, partner=str(latent_run))
    rollout(env, 5)
    (partner,) = env.partners
    assert len(partner.actors.groups) == 1
    assert partner.actors.latent[:, 1].tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_members_keep_their_memories_apart(run):
    env = make(num_envs=4, partner=str(run))
    rollout(env, 5)
    (partner,) = env.partners
    used = [group.memory[1::2].abs().sum(1) > 0 for group in partner.actors.groups]
    assert used[0].tolist() == [True, False, True, False]
    assert used[1].tolist() == [False, True, False, True]


def test_more_members_than_homes_are_refused(latent_run):
    with pytest.raises(ValueError, match=r"bdp/z0.*bdp/z2.*3.*2 homes.*num_envs"):
        make(num_envs=2, partner=str(latent_run))


def test_a_policy_for_another_number_of_robots_is_refused(run):
    with pytest.raises(ValueError, match=r"pbt/agent.*trained.*2 robots.*3"):
        make(robots=3, partner=f"{run}/agent")


def test_a_policy_for_another_task_is_refused(run):
    with pytest.raises(ValueError, match=r"trained.*tidy_house.*set_table"):
        housemates.make_vec("set_table", 1, partner=f"{run}/agent")


def test_a_partner_of_other_pictures_has_its_own_cameras(tmp_path, monkeypatch):
    monkeypatch.setattr("housemates.agents.actors.usable", lambda policy: False)
    save_policy(tmp_path / "seer", Policy(PolicyConfig.laptop(hidden=8, features=8), seed=0), {"task": "tidy_house"})
    shown = []
    env = make(partner=str(tmp_path / "seer"), observations=("depth",), size=32)
    (actor,) = env.partners[0].given
    actor.policy.encoder.register_forward_pre_hook(lambda module, given: shown.append(given[0]["depth"].shape[1:]))
    rollout(env, 3)
    assert set(shown) == {(64, 64, 1)}


def test_homes_take_a_seed_each():
    one, two = make(num_envs=3), make(num_envs=2)
    first, _ = one.reset(seed=[5, 6, 7])
    second, _ = two.reset(seed=[7, 5])
    assert (first["state"][[2, 0]] == second["state"]).all()
    assert not (first["state"][0] == first["state"][1]).all()
    again, _ = one.reset(seed=[5, 6, 7])
    assert (again["state"] == first["state"]).all()


def test_a_home_without_a_seed_goes_on_as_it_would():
    one, two = make(num_envs=2, seed=3), make(num_envs=2, seed=3)
    free, _ = one.reset()
    mixed, _ = two.reset(seed=[None, 9])
    assert (free["state"][0] == mixed["state"][0]).all()


@pytest.mark.parametrize(
    ("seed", "told"),
    [
        ([1, 2], "2 seeds for 3 homes - give one seed, or a list of 3"),
        ([1, 2, -3], "must not be negative"),
        ([1, 2, 3.5], "whole number"),
        ("abc", "whole number"),
        (True, "whole number"),
    ],
)
def test_seeds_that_do_not_fit_are_refused(seed, told):
    with pytest.raises(ValueError, match=told):
        make(num_envs=3).reset(seed=seed)


@pytest.mark.parametrize("actions", [None, 3, [0, 0], "noop"])
def test_no_dict_of_actions_is_a_value_error(actions):
    env = housemates.make("tidy_house", homes=[home()], episodes=episodes("tidy_house"), observations=("state",))
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions must be a dict with an action for each agent, got"):
        env.step(actions)


@pytest.mark.parametrize("face", [housemates.make, housemates.make_vec])
@pytest.mark.parametrize("show", [True, False])
def test_python_shows_the_progress_of_the_command_line(face, show, capsys, monkeypatch):
    def slow_homes(split, progress):
        progress(1, 2)
        progress(2, 2)
        return [home()]

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(loading, "load_split", slow_homes)
    monkeypatch.setattr(loading, "load_episodes", lambda task, split, homes, progress: progress(4, 4) or episodes(task))
    face("tidy_house", split="dev", observations=("state",), progress=show)
    said = capsys.readouterr().err
    told = ("homes of dev: 2 of 2", "shortest paths in the homes of dev: 1 of 1", "episodes of tidy_house, dev: 4 of 4")
    assert all(line in said for line in told) if show else said == ""
