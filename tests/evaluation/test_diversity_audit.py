"""The audit of populations that really play, its files and its command."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.learners import TINY
from housemates.agents.agent import Agent, latents, scripted
from housemates.cli.main import main
from housemates.evaluation.diversity import audit, play_pairs, short_names
from housemates.evaluation.play import play
from housemates.policies.checkpoint import save_policy
from housemates.policies.policy import Policy
from housemates.reports.diversity import draw_diversity, short_member
from housemates.sim.rules import Rules

SCRIPTS = [scripted(name) for name in ("noop", "first_half", "second_half")]
SHORT = Rules(horizon=80)


@pytest.fixture(scope="module")
def found():
    return audit(SCRIPTS, episodes(), [home()], count=8, permutations=99)


def test_a_script_is_known_by_the_sub_goals_of_its_half(found):
    shares = np.array(found["who_does_what"])
    assert found["subgoals"] == ["pick obj0", "place obj0", "pick obj1", "place obj1"]
    assert (shares[0] == 0).all()
    assert (shares[1, :2] > 0.3).all()
    assert (shares[1, 2:] == 0).all()
    assert (shares[2, :2] == 0).all()
    assert (shares[2, 2:] > 0.3).all()


def test_scripts_are_different_beyond_chance(found):
    assert found["information"]["subgoals"]["p"] == pytest.approx(0.01)
    assert found["information"]["skills"]["bits"] > 0.5
    assert found["members"] == ["noop", "first_half", "second_half"]


def test_scripts_succeed_only_with_the_other_half(found):
    matrix = np.array(found["cross_play"])
    assert matrix[1, 2] > 0
    assert matrix[2, 1] > 0
    assert matrix.sum() == matrix[1, 2] + matrix[2, 1]
    assert found["success"]["gap"] < 0


def test_every_pair_plays_as_it_would_alone():
    games = play_pairs(SCRIPTS, episodes(), [home()], count=4)
    pair = (games.first == 2) & (games.second == 1)
    alone = play(episodes(), [home()], [["second_half", "first_half"]], which=np.arange(4), swap=False, executed=True)
    assert (games.success[pair] == (alone.outcome == 1)).all()
    assert (games.skills[pair] == alone.executed).all()
    assert (games.done[pair, 1] == (alone.done_by[:, :4] == 1)).all()


def test_three_robots_are_a_member_and_two_of_another():
    games = play_pairs(SCRIPTS, episodes(), [home()], robots=3, rules=SHORT, count=2)
    assert games.member.shape == (18, 3)
    assert (games.member[:, 1] == games.member[:, 2]).all()
    assert (games.skills.sum(-1) > 0).all()


def test_latents_of_one_policy_are_members(tmp_path):
    save_policy(tmp_path / "policy", Policy(replace(TINY, latent=3)), {})
    population = latents(tmp_path / "policy", "tiny")
    found = audit(population, episodes(), [home()], rules=SHORT, count=2, permutations=5)
    assert found["members"] == ["z0", "z1", "z2"]


def test_members_that_are_the_same_policy_are_not_told_apart(tmp_path):
    save_policy(tmp_path / "policy", Policy(TINY), {})
    twins = [Agent(f"twin/{k}", "learned", str(tmp_path / "policy")) for k in range(3)]
    found = audit(twins, episodes(), [home()], rules=SHORT, count=6, permutations=50)
    assert found["information"]["skills"]["p"] > 0.05
    assert found["information"]["skills"]["bits"] < 0.02


@pytest.mark.parametrize(
    ("partners", "more", "words"),
    [
        (SCRIPTS[:1], {}, "a population of one"),
        (SCRIPTS, {"count": 1000}, "1000 episodes - choose 1 to 24"),
        (SCRIPTS, {"robots": 1}, "two robots or more"),
        ([*SCRIPTS, Agent("me", "person")], {}, "is a person"),
    ],
)
def test_what_cannot_be_audited_is_refused(partners, more, words):
    with pytest.raises(ValueError, match=words):
        audit(partners, episodes(), [home()], **{"count": 2} | more)


def test_names_lose_only_a_folder_they_share():
    assert short_names(["a/0", "a/z1"]) == ["0", "z1"]
    assert short_names(["a/0", "b/0"]) == ["a/0", "b/0"]


def test_the_figure_is_the_same_bytes_for_the_same_audit(found, tmp_path):
    shown = {"population": "scripts", "split": "dev"} | found
    for name in ("one", "two"):
        draw_diversity(shown, [tmp_path / f"{name}.svg"])
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    text = (tmp_path / "one.svg").read_text()
    assert all(words in text for words in ("bits of information about the member", "pick object 0", "Tidy House, scripts"))


def test_members_of_the_package_have_short_names_in_the_figure():
    assert short_member("gt_coord-tidy_house-state-0-1") == "GT Coord 0-1"
    assert short_member("z5") == "z5"


def test_the_command_leaves_numbers_and_figures(tmp_path, capsys):
    for name in ("a", "b"):
        save_policy(tmp_path / name, Policy(TINY, seed=ord(name)), {})
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["diversity", *folders, "--task", "tidy_house", "--episodes", "2", "--out", str(tmp_path / "out")]) == 0
    told = json.loads((tmp_path / "out" / "diversity.json").read_text())
    assert np.array(told["cross_play"]).shape == (2, 2)
    assert told["split"] == "dev"
    assert (tmp_path / "out" / "diversity.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "diversity.svg").is_file()
    assert "what a game tells about the member" in capsys.readouterr().out


def test_a_population_that_is_no_run_needs_a_place(tmp_path, capsys):
    assert main(["diversity", "script/noop", "script/first_half", "--task", "tidy_house"]) == 2
    assert "--out" in capsys.readouterr().err


def test_members_without_a_task_need_one(tmp_path, capsys):
    assert main(["diversity", "script/noop", "script/first_half", "--out", str(tmp_path)]) == 2
    assert "--task" in capsys.readouterr().err
