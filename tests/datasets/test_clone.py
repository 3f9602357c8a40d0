"""Behaviour cloning: who is cloned, what a clone learns, and where it may play."""

import numpy as np
import pytest
import torch

from helpers.exports import RANDOM, export
from helpers.small_runs import TINY
from housemates.agents.agent import is_holdout, learned, scripted
from housemates.cli.main import main
from housemates.datasets.clone import Cloning, clone, clone_dataset, measure, read_games
from housemates.evaluation.crossplay import pair_up
from housemates.evaluation.suite import family_of
from housemates.policies.checkpoint import load_policy, read_description

NAMES = ("state", "predicates")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    place = tmp_path_factory.mktemp("clone") / "dataset"
    export(place, pair_up([RANDOM], [scripted("solo"), scripted("first_half")]), observations=NAMES)
    return place


def pattern(count: int, length: int = 9) -> list[dict[str, np.ndarray]]:
    """Games whose decision tells what was seen at the decision before: only a memory can know."""
    rng = np.random.default_rng(0)
    games = []
    for _ in range(count):
        sign = rng.integers(2, size=length)
        decision = np.concatenate([[0], sign[:-1]]).astype(np.int8)
        state = np.zeros((length, *TINY.shape("state")), np.float32)
        state[:] = 2 * sign[:, None] - 1
        games.append(
            {"decision": decision, "state": state, "predicates": np.zeros((length, *TINY.shape("predicates")), np.uint8)}
        )
    return games


def test_a_clone_learns_what_only_a_memory_can_know():
    found = clone(pattern(60), TINY, Cloning(epochs=300, learning_rate=1e-2, sequences=8))
    assert found.accuracy > 0.9
    assert found.commonest < 0.75


def test_the_same_games_and_seed_give_the_same_clone():
    one, two = (clone(pattern(12), TINY, Cloning(epochs=2, seed=3)).policy.state_dict() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_what_is_told_is_that_of_the_policy_on_the_games_aside():
    games = pattern(10)
    found = clone(games, TINY, Cloning(epochs=3))
    aside = [games[k] for k in np.random.default_rng(0).permutation(10)[:2]]
    accuracy, loss = measure(found.policy, aside)
    assert (accuracy, loss) == pytest.approx((found.accuracy, found.loss))


def test_likelihoods_are_those_of_acting_also_in_long_games():
    game = pattern(1, 150)[0]
    policy = clone(pattern(4), TINY, Cloning(epochs=1)).policy
    memory, total = policy.initial_memory(1), 0.0
    for k in range(150):
        obs = {name: torch.from_numpy(game[name][k : k + 1]) for name in NAMES if name in policy.config.observations}
        acted = policy.act(obs, memory)
        total -= float(acted.logits.log_softmax(-1)[0, int(game["decision"][k])])
        memory = acted.memory
    assert measure(policy, [game])[1] == pytest.approx(total / 150, rel=1e-4)


def test_robots_are_chosen_by_mover_and_kind(dataset):
    everybody = read_games(dataset, NAMES)
    scripts = read_games(dataset, NAMES, kind="script")
    solo = read_games(dataset, NAMES, movers=["script/solo"])
    assert (len(everybody), len(scripts), len(solo)) == (16, 8, 4)
    assert all(len(game["state"]) == len(game["decision"]) > 0 for game in everybody)


@pytest.mark.parametrize(("chosen", "told"), [({"movers": ["nobody"]}, "script/solo"), ({"kind": "person"}, "random")])
def test_who_is_not_in_the_dataset_is_told_with_who_is(dataset, chosen, told):
    with pytest.raises(ValueError, match=told):
        read_games(dataset, NAMES, **chosen)


def test_an_observation_that_was_not_exported_is_told(dataset):
    with pytest.raises(ValueError, match="depth"):
        read_games(dataset, ("depth",))


def test_a_single_game_is_refused():
    with pytest.raises(ValueError, match="two or more"):
        clone(pattern(1), TINY)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"aside": 0.0}, {"learning_rate": 0.0}, {"sequences": 0}])
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Cloning(**wrong)


def test_the_command_writes_a_partner_of_the_evaluation(dataset, tmp_path, capsys):
    out = tmp_path / "person"
    assert main(["clone", str(dataset), "--kind", "script", "--epochs", "1", "--held-out", "--out", str(out)]) == 0
    assert "kept aside" in capsys.readouterr().out
    partner = learned(out, "person")
    assert is_holdout(partner)
    assert family_of(partner) == "people"
    assert read_description(out)["meta"]["games"] == 8
    assert load_policy(out).config.observations
    assert main(["clone", str(dataset), "--epochs", "1", "--out", str(out)]) == 2


def test_a_clone_is_not_held_out_unless_asked_for(dataset, tmp_path):
    clone_dataset(dataset, tmp_path / "free", Cloning(epochs=1))
    assert not is_holdout(learned(tmp_path / "free", "free"))
