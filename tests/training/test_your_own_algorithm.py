"""A learning algorithm of one's own: a child of `Algorithm` trains and resumes exactly without a change in the package."""

import numpy as np
import pytest
import torch

from helpers.learners import SHORT, trainer, weights
from housemates.training.algorithm import Algorithm
from housemates.training.algorithms import ALGORITHMS, find_algorithm, register_algorithm
from housemates.training.ppo import replay
from housemates.training.sequences import chunks, links


class Reinforce(Algorithm):
    """REINFORCE with the critic as a baseline: returns of whole decisions, one step of Adam a rollout."""

    name = "reinforce"

    def optimise(self) -> torch.optim.Optimizer:
        self.mean = 0.0
        return super().optimise()

    def update(self, store, streams, bonus, rng, left):
        settings, policy = self.training.ppo, self.learner.policy
        self.set_rate(settings.learning_rate * left)
        following = np.empty(store.size, np.int64)
        links(store.stream, store.done, np.empty(streams, np.int64), following)
        returns = store.reward.copy() if bonus is None else store.reward + bonus
        for i in range(store.size - 1, -1, -1):
            if not store.done[i] and following[i] >= 0:
                returns[i] += settings.discount * returns[following[i]]
        table = np.empty((store.size, settings.chunk), np.int64)
        index = torch.from_numpy(table[: chunks(store.stream, store.start, store.closed, settings.chunk, streams, table)])
        index = index[(index >= 0).sum(1).argsort(descending=True, stable=True)].T
        seen = {name: torch.from_numpy(values[: store.size]) for name, values in store.observations.items()}
        stored = {name: torch.from_numpy(getattr(store, name)) for name in ("action", "memory", "latent")}
        self.mean += 0.1 * (float(returns.mean()) - self.mean)
        self.optimiser.zero_grad(set_to_none=True)
        result = replay(policy, seen, stored, index)
        target = torch.from_numpy(returns)[result.at]
        policy_loss = -(result.log_prob * (target - result.value).detach()).mean()
        value_loss = (result.value - target).square().mean()
        (policy_loss + settings.value_coef * value_loss).backward()
        self.group.average_gradients(list(policy.parameters()), float(len(result.at)))
        self.optimiser.step()
        losses = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": result.entropy.mean()}
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def state(self):
        return super().state() | {"mean": np.array([self.mean])}

    def load(self, arrays):
        super().load(arrays)
        self.mean = float(arrays["mean"][0])


@pytest.fixture(autouse=True)
def known():
    register_algorithm(Reinforce)
    yield
    ALGORITHMS.pop(Reinforce.name, None)


def test_it_trains_by_its_name_and_its_losses_are_logged(tmp_path):
    run = trainer(tmp_path, SHORT, learner="reinforce")
    before = weights(run)
    row = run.step()
    assert row["losses/value_loss"] > 0
    assert row["charts/learning_rate"] == pytest.approx(SHORT.ppo.learning_rate)
    assert any((a != b).any() for a, b in zip(before, weights(run), strict=True))


def test_it_resumes_exactly_with_what_it_keeps_beside_the_weights(tmp_path):
    whole = trainer(tmp_path / "whole", SHORT, learner="reinforce")
    assert whole.run()
    complete = False
    while not complete:
        run = trainer(tmp_path / "paused", SHORT, learner="reinforce")
        run.load()
        complete = run.run(seconds=0)
    assert all((a == b).all() for a, b in zip(weights(run), weights(whole), strict=True))
    assert [one.mean for one in run.algorithms] == [one.mean for one in whole.algorithms]


def test_a_run_does_not_go_on_with_another_algorithm(tmp_path):
    trainer(tmp_path, SHORT, learner="reinforce").run(seconds=0)
    with pytest.raises(ValueError, match=r"config\.json"):
        trainer(tmp_path, SHORT, learner="torch").load()


@pytest.mark.parametrize("learner", ["auto", "torch", "fused", "ppo"])
def test_the_paths_of_ppo_are_the_algorithm_ppo(learner):
    assert find_algorithm(learner) is ALGORITHMS["ppo"]


@pytest.mark.parametrize(("thing", "named"), [(dict, "dict"), (type("Odd", (Reinforce,), {"name": "fused"}), "fused")])
def test_what_is_no_algorithm_is_refused(thing, named):
    with pytest.raises(ValueError, match=named):
        register_algorithm(thing)


def test_a_misspelt_algorithm_is_told(tmp_path):
    with pytest.raises(ValueError, match="reinforce"):
        trainer(tmp_path, SHORT, learner="reinforced")
