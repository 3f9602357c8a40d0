"""More exploration near a partner: which decisions count as near, and that a run with it continues exactly."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import make, put
from helpers.learners import SHORT, trainer, weights
from housemates.policies.config import PolicyConfig
from housemates.training.ppo import PPO, exploration

NEAR = replace(SHORT, ppo=PPO(chunk=4, entropy=0.05, entropy_near=20.0, near=3.0))


@pytest.mark.parametrize(("metres", "factor"), [(1.0, 20.0), (2.9, 20.0), (3.1, 1.0)])
def test_decisions_count_as_near_by_the_distance_of_the_nearest_partner(metres, factor):
    batch = make(robots=3)
    put(batch, 0, (2.5, 4.0), 0.0)
    put(batch, 1, (2.5 + metres, 4.0), 0.0)
    put(batch, 2, (2.5, 8.0), 0.0)
    state = batch.observe("state")[0, :1]
    assert exploration(state, 3, NEAR.ppo).tolist() == [factor]


@pytest.mark.parametrize("learner", ["fused", "torch"])
def test_it_changes_what_is_learnt_and_a_run_with_it_continues_exactly(tmp_path, learner):
    whole = trainer(tmp_path / "whole", NEAR, learner=learner)
    whole.run()
    plain = trainer(tmp_path / "plain", replace(NEAR, ppo=replace(NEAR.ppo, entropy_near=1.0)), learner=learner)
    plain.run()
    assert any(not np.array_equal(a, b) for a, b in zip(weights(whole), weights(plain), strict=True))
    first = trainer(tmp_path / "parts", NEAR, learner=learner)
    first.run(seconds=0.0)
    assert not first.done
    second = trainer(tmp_path / "parts", NEAR, learner=learner)
    assert second.load()
    second.run()
    assert all(np.array_equal(a, b) for a, b in zip(weights(whole), weights(second), strict=True))


def test_a_policy_that_sees_no_distances_keeps_them_for_this_alone(tmp_path):
    blind = PolicyConfig(("predicates",), "vector", features=8, hidden=8)
    made = trainer(tmp_path / "near", NEAR, blind)
    assert tuple(made.players[0].store.observations) == ("predicates", "state")
    assert made.players[0].policy.config.observations == ("predicates",)
    made.run()
    same = trainer(tmp_path / "plain", replace(NEAR, ppo=PPO(chunk=4)), blind)
    assert tuple(same.players[0].store.observations) == ("predicates",)


@pytest.mark.parametrize("changes", [{"entropy_near": -1.0}, {"near": 0.0}, {"entropy_near": float("inf")}])
def test_numbers_that_cannot_be_are_refused(changes):
    with pytest.raises(ValueError, match=" - "):
        PPO(**changes)
