"""Agents and partners become rows: the same games for every pair, who did what, what was known before."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.batches import episodes, home
from housemates.agents.actors import load_actors
from housemates.agents.agent import Agent, latents, learned, scripted, write_partners
from housemates.evaluation.crossplay import RANDOM, Pair, controls, crossplay, identity, pair_up, trained_with
from housemates.evaluation.play import play
from housemates.evaluation.rows import COLUMNS
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder
from housemates.sim.rules import Reward, Rules

SHORT = Rules(horizon=120)
SCRIPTS = [scripted(name) for name in ("noop", "first_half", "second_half")]


def policy(folder: Path, seed: int = 0, **changes) -> Path:
    meta = {"decisions": 1000, "seed": seed, "task": "tidy_house", "method": "gt_coord", "environment": "x"}
    save_policy(folder, Policy(PolicyConfig.state(hidden=8, features=8, **changes), seed=seed), meta)
    return folder


@pytest.fixture(scope="module")
def agent(tmp_path_factory) -> Agent:
    return learned(policy(tmp_path_factory.mktemp("agent") / "policy", 3), "mine/0")


def rows(pairs, **more):
    return crossplay(pairs, episodes(), [home()], more.pop("rules", SHORT), count=4, **more).to_pydict()


def test_every_pair_plays_the_same_episodes_from_the_same_seats(agent):
    found = rows(pair_up([agent], SCRIPTS))
    assert found["partner"] == [p.name for p in SCRIPTS for _ in range(4)]
    for name in ("episode", "home", "robot", "solo_steps", "environment"):
        assert found[name][:4] == found[name][4:8] == found[name][8:]


def test_rows_tell_the_games_as_they_were_played(agent):
    found = rows(pair_up([agent], SCRIPTS[1:2]), seed=7)
    team = [load_actors([agent])[agent], "first_half"]
    played = play(episodes(), [home()], [team], SHORT, 7, which=np.arange(4))
    assert found["steps"] == played.steps.tolist()
    assert found["robot"] == played.robot[:, 0].tolist()
    assert found["timeout"] == (played.outcome == 3).tolist()
    assert found["idle_partner"] == played.idle[:, 1].tolist()
    assert found["distance_agent"] == played.travelled[:, 0].tolist()


def test_a_pair_is_the_same_alone_and_with_others(agent):
    alone, among = rows(pair_up([agent], SCRIPTS[1:2])), rows(pair_up([agent], SCRIPTS))
    assert {name: among[name][4:8] for name in COLUMNS} == alone


def test_subgoals_are_told_by_who_achieved_them():
    found = rows(pair_up([scripted("first_half")], SCRIPTS[:1]), rules=Rules(horizon=3000))
    for steps, subgoals in zip(found["collision"], found["subgoals"], strict=True):
        assert steps or sorted(subgoals) == [0, 0, 1, 1]
    swapped = rows(pair_up(SCRIPTS[:1], [scripted("first_half")]), rules=Rules(horizon=3000))
    assert [2 if by else 0 for one in found["subgoals"] for by in one] == [by for one in swapped["subgoals"] for by in one]


def test_solo_steps_are_those_of_a_lone_robot_from_the_agents_start():
    found = rows(pair_up(SCRIPTS[:1], SCRIPTS[:1]), rules=Rules(horizon=3000))
    lone = play(episodes(), [home()], [["solo"]], Rules(horizon=3000), which=np.arange(4))
    as_robot_0 = [k for k, robot in enumerate(found["robot"]) if robot == 0]
    assert [found["solo_steps"][k] for k in as_robot_0] == lone.steps[as_robot_0].tolist()
    others = [k for k, robot in enumerate(found["robot"]) if robot == 1]
    assert [found["solo_steps"][k] for k in others] != lone.steps[others].tolist()


def test_a_lone_robot_that_fails_has_no_solo_steps():
    assert rows(pair_up(SCRIPTS[:1], SCRIPTS[:1]), rules=Rules(horizon=3))["solo_steps"] == [-1] * 4


def test_agents_trained_for_another_reward_play_in_the_same_environment(agent):
    charged = Rules(horizon=120, reward=Reward(collision="timeout"))
    assert (
        rows(pair_up([agent], SCRIPTS[:1]))["environment"] == rows(pair_up([agent], SCRIPTS[:1]), rules=charged)["environment"]
    )


def test_three_robots_take_one_partner_twice_or_two_different_ones():
    pairs = pair_up(SCRIPTS[:1], SCRIPTS[1:2], robots=3) + [Pair(SCRIPTS[0], (SCRIPTS[1], SCRIPTS[2]))]
    assert rows(pairs)["partner"] == ["script/first_half"] * 4 + ["script/first_half + script/second_half"] * 4


def test_latents_of_one_policy_share_it_but_not_their_behaviour(tmp_path):
    everybody = latents(policy(tmp_path / "bdp", latent=3), "bdp")
    found = load_actors(everybody)
    assert len({id(found[p].policy) for p in everybody}) == 1
    assert [found[p].latent for p in everybody] == [0, 1, 2]


def test_a_person_cannot_be_played():
    with pytest.raises(ValueError, match="is a person, who plays only on the page"):
        load_actors([Agent("ada", "person")])


def test_an_agent_for_two_robots_is_refused_by_name_among_three(agent):
    with pytest.raises(ValueError, match=r"mine/0.*trained.*2 robots.*3"):
        rows(pair_up([agent], SCRIPTS, robots=3))


def test_too_many_episodes_are_refused(agent):
    with pytest.raises(ValueError, match=r"--episodes.*99.*24"):
        crossplay(pair_up([agent], SCRIPTS), episodes(), [home()], count=99)


def test_controls_are_a_blind_agent_a_lone_script_and_a_random_partner(agent):
    found = [(p.agent.name, p.partners[0].name, p.control) for p in controls(agent, SCRIPTS[:1])]
    assert found == [
        ("mine/0", "script/noop", "blind"),
        ("script/solo", "script/noop", "solo"),
        ("mine/0", "random", "random"),
    ]


def test_the_blind_control_plays_other_games_than_the_agent(agent):
    found = rows([*pair_up([agent], SCRIPTS[1:2]), *controls(agent, SCRIPTS[1:2])[:1]], rules=Rules(horizon=300))
    assert found["distance_agent"][:4] != found["distance_agent"][4:]


@pytest.fixture
def run(tmp_path) -> Path:
    """A run whose coordination agent was trained with two of three policies."""
    folder = tmp_path / "bdp-tidy_house-state-0"
    members = [learned(policy(folder / "stage1" / "members" / f"0{k}", k), f"{k}") for k in range(2)]
    policy(folder / "stage2" / "agent", 9)
    config = {"task": "tidy_house", "method": "bdp", "observations": "state", "training": {"seed": 0}}
    (folder / "config.json").write_text(json.dumps(config))
    write_partners(RunFolder(folder).partners, members, folder)
    return folder


def test_partners_of_stage_two_are_no_strangers(run, tmp_path):
    agent = learned(run / "stage2" / "agent", "a/agent", {"stage": 2})
    copy = learned(policy(tmp_path / "copy", 1), "copied")
    stranger = learned(policy(tmp_path / "stranger", 5), "stranger")
    pairs = pair_up([agent], [copy, stranger, RANDOM])
    assert [p.zero_shot for p in pairs] == [False, True, True]


def test_everybody_knows_itself(agent):
    assert identity(agent) in trained_with(agent)


def test_episodes_without_stored_starts_begin_the_same_for_every_pair():
    bare = replace(episodes(), spawn=None)
    pairs = pair_up([scripted("first_half")], [SCRIPTS[0], RANDOM])
    one, other = (crossplay(pairs, bare, [home()], SHORT, count=4, seed=seed).to_pydict() for seed in (0, 1))
    assert one["solo_steps"] == [-1] * 8
    alone = crossplay(pairs[1:], bare, [home()], SHORT, count=4).to_pydict()
    assert one["distance_agent"][4:] == alone["distance_agent"]
    assert one["distance_agent"] != other["distance_agent"]
