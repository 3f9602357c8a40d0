"""Self-play, PBT and FCP: who moves whom, who learns, and which moments become partners."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.batches import episodes, home, make
from helpers.learners import SHORT, TINY
from housemates.methods.bdp import BDPSeparate
from housemates.methods.self_play import FCP, PBT, PopulationSettings, SelfPlay
from housemates.methods.trajedi import TrajeDi
from housemates.training.distributed import Group
from housemates.training.trainer import Trainer


def small_trainer(folder, method, **changes) -> Trainer:
    """A stage 1 in the hall."""
    return Trainer(replace(SHORT, num_envs=8, **changes), method(TINY), episodes(), [home()], folder)


RNG = np.random.default_rng(0)


def counts(players: np.ndarray) -> list[int]:
    return np.bincount(players.ravel(), minlength=8).tolist()


def test_in_self_play_a_member_moves_all_robots_of_its_homes():
    slots = SelfPlay(TINY, 3).pairs(0, RNG, 16, 3)
    assert (slots.player == slots.player[:, :1]).all()
    assert slots.learns.all()


@pytest.mark.parametrize("method", [SelfPlay, PBT])
def test_every_member_moves_the_same_number_of_robots(method):
    assert counts(method(TINY).pairs(0, RNG, 64, 2).player) == [16] * 8


def test_self_play_never_changes_who_plays():
    assert SelfPlay(TINY).pairs(10, RNG, 16, 2) is None


@pytest.mark.parametrize(("update", "drawn"), [(0, True), (1, False), (10, True), (11, False), (20, True)])
def test_pbt_draws_new_pairs_every_ten_updates(update, drawn):
    assert (PBT(TINY).pairs(update, RNG, 16, 2) is not None) == drawn


def test_in_pbt_everybody_meets_all_others_equally_often_and_never_itself():
    slots = PBT(TINY).pairs(0, np.random.default_rng(1), 5600, 2)
    met = np.bincount(slots.player[:, 0] * 8 + slots.player[:, 1], minlength=64).reshape(8, 8)
    assert (np.diag(met) == 0).all()
    assert met[~np.eye(8, dtype=bool)].tolist() == pytest.approx([100] * 56, abs=40)


@pytest.mark.parametrize("robots", [2, 3, 4])
@pytest.mark.parametrize(("members", "homes"), [(8, 64), (8, 61), (4, 4), (5, 7)])
def test_nobody_moves_two_robots_of_a_home_in_pbt(robots, members, homes):
    method = PBT(TINY, robots, settings=PopulationSettings(members))
    for seed in range(20):
        player = method.pairs(0, np.random.default_rng(seed), homes, robots).player
        assert player.shape == (homes, robots)
        assert all(len(set(team)) == robots for team in player.tolist())
        moved = np.array([np.bincount(column, minlength=members) for column in player.T])
        assert moved.max() - moved.min() <= 1


def test_two_members_of_pbt_meet_each_other_also_in_an_odd_number_of_homes():
    player = PBT(TINY, settings=PopulationSettings(2)).pairs(0, RNG, 7, 2).player
    assert (player.sum(axis=1) == 1).all()


def test_with_fewer_members_than_robots_both_members_of_pbt_are_in_every_home():
    player = PBT(TINY, 3, settings=PopulationSettings(2)).pairs(0, RNG, 8, 3).player
    assert ((player.sum(axis=1) == 1) | (player.sum(axis=1) == 2)).all()


def test_a_population_of_one_plays_with_itself():
    assert (PBT(TINY, settings=PopulationSettings(1)).pairs(0, RNG, 5, 2).player == 0).all()


@pytest.mark.parametrize("method", [TrajeDi, BDPSeparate])
def test_methods_made_from_pbt_pair_as_pbt_does(method):
    player = method(TINY).pairs(0, np.random.default_rng(3), 64, 2).player
    assert (player[:, 0] != player[:, 1]).all()
    assert (player == PBT(TINY).pairs(0, np.random.default_rng(3), 64, 2).player).all()


def test_members_begin_with_different_weights():
    heads = {policy.actor.weight.detach().numpy().tobytes() for policy in SelfPlay(TINY).policies}
    assert len(heads) == 8


def test_a_population_may_have_another_size():
    assert len(PBT(TINY, settings=PopulationSettings(members=3)).policies) == 3


def test_a_population_without_members_is_refused():
    with pytest.raises(ValueError, match="members = 0"):
        PopulationSettings(members=0)


def test_too_few_homes_for_the_members_are_told():
    with pytest.raises(ValueError, match=r"4 homes.*8 members.*--change.*num_envs=8"):
        SelfPlay(TINY).begin(Group(), make(size=4))


def test_the_population_of_fcp_holds_start_middle_and_end_of_every_member():
    found = {p.name: p.path for p in FCP(TINY).population()}
    assert len(found) == 24
    assert [found["3"], found["3-start"], found["3-middle"]] == ["members/03", "members/03/start", "members/03/middle"]


def test_the_population_of_pbt_holds_its_members():
    assert [(p.name, p.path, p.kind) for p in PBT(TINY).population()][5] == ("5", "members/05", "learned")


@pytest.mark.parametrize(("method", "teams"), [(PBT, 1), (SelfPlay, 8)])
def test_with_one_draw_all_homes_have_one_team_unless_teams_never_change(tmp_path, method, teams):
    trainer = small_trainer(tmp_path, method, one_draw=True)
    assert len({tuple(team) for team in trainer.collector.slots.player.tolist()}) == teams


@pytest.mark.parametrize("learner", ["torch", "fused"])
def test_members_that_do_not_play_for_a_while_stay_as_they_are(tmp_path, learner):
    trainer = small_trainer(tmp_path, PBT, one_draw=True, learner=learner)
    before = [torch.cat([p.detach().clone().ravel() for p in policy.parameters()]) for policy in trainer.method.policies]
    playing = set(trainer.collector.slots.player[0].tolist())
    trainer.step()
    after = [torch.cat([p.detach().ravel() for p in policy.parameters()]) for policy in trainer.method.policies]
    moved = {k for k in range(8) if not torch.equal(before[k], after[k])}
    assert moved == playing
