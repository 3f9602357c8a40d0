"""The probe beside a standing robot, and the words for an agent that leaves the work to its partners."""

import numpy as np
import pytest
import torch

from helpers.batches import episodes, home, make
from helpers.learners import TINY
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.tasks.actions import NO_OP
from housemates.training.checks import free_riding, standing_partner
from housemates.training.logger import line, panel


def probe(policy, seed: int = 0, horizon: int = 120, count: int = 8) -> float:
    rules = Rules(horizon=horizon)
    return standing_partner(policy, episodes(), [home()], make(size=1).world, rules, 2, seed, 64, count)


def test_an_agent_that_does_nothing_never_succeeds():
    policy = Policy(TINY)
    with torch.no_grad():
        policy.actor.weight.zero_()
        policy.actor.bias.fill_(-50.0)
        policy.actor.bias[NO_OP] = 50.0
    assert probe(policy) == 0.0


def test_a_probe_is_the_same_again_and_leaves_the_policy_alone():
    policy = Policy(TINY, seed=3)
    before = [v.clone() for v in policy.parameters()]
    state = torch.get_rng_state()
    assert probe(policy, 5) == probe(policy, 5)
    assert all((a == b).all() for a, b in zip(before, policy.parameters(), strict=True))
    assert (torch.get_rng_state() == state).all()


def test_success_counts_episodes_won(monkeypatch):
    from housemates.training import checks as module

    outcomes = {"outcome": np.array([1, 2, 1, 3])}
    finished = type("Finished", (), {"arrays": lambda self: outcomes})()
    monkeypatch.setattr(module.Collector, "collect", lambda *_: finished)
    assert probe(Policy(TINY), count=4) == 0.5


@pytest.mark.parametrize(
    ("success", "share", "alone", "words"),
    [
        (0.73, 0.0, 0.0, "does only 0% of the sub-goals"),
        (0.73, 0.24, 0.7, "does only 24% of the sub-goals"),
        (0.73, 0.4, 0.3, "only 30% beside a robot that stands still"),
        (0.73, 0.4, 0.5, None),
        (0.73, None, None, None),
        (0.1, 0.0, 0.0, None),
    ],
)
def test_what_is_said_of_an_agent(success, share, alone, words):
    told = free_riding(success, share, alone)
    assert told is None if words is None else words in told


def test_the_console_shows_the_agents_work():
    row = {
        "decisions": 10, "steps": 20, "seconds": 1.0, "update": 1, "charts/success": 0.5, "charts/collision": 0.2,
        "charts/timeout": 0.3,
        "charts/episodic_return": 1.0, "charts/episodic_length": 9.0, "charts/decisions_per_second": 5.0,
    }  # fmt: skip
    agent = {"charts/agent_subgoals": 0.44, "charts/standing_partner": 0.61}
    budget = ("decisions", 100)
    assert "sub-goals" not in line(row, budget)
    assert "agent does 44% of the sub-goals  beside a standing robot 61%" in line(row | agent, budget)
    from rich.console import Console

    console = Console(width=160, record=True)
    console.print(panel(row | agent, "x", budget))
    shown = console.export_text()
    assert "44% of the sub-goals" in shown
    assert "61%" in shown
