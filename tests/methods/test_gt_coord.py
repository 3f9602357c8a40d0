"""GT Coord and solo: who moves whom."""

import numpy as np
import pytest
import torch

from helpers.learners import TINY
from housemates.methods.self_play import GTCoord, Solo


def test_policy_r_always_moves_robot_r():
    slots = GTCoord(TINY, robots=3).pairs(0, np.random.default_rng(0), 2, 3)
    assert slots.player.tolist() == [[0, 1, 2]] * 2
    assert slots.learns.all()


def test_pairs_never_change():
    assert GTCoord(TINY).pairs(1, np.random.default_rng(0), 2, 2) is None


def test_the_policies_begin_with_different_weights():
    one, two = GTCoord(TINY).policies
    assert not torch.equal(one.actor.weight, two.actor.weight)


def test_solo_is_for_one_robot():
    assert len(Solo(TINY).policies) == 1
    with pytest.raises(ValueError, match="--robots 1"):
        Solo(TINY, robots=2)
