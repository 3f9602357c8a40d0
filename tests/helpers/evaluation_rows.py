"""Rows of episodes for tests: one that is complete, with whatever a test wants to change."""

from typing import Any


def row(**changes: Any) -> dict[str, Any]:
    """One row of `evaluation.rows.COLUMNS` by name: a success of one BDP agent with a scripted partner on Tidy House."""
    one = {
        "evaluation": "zsc",
        "control": "",
        "task": "tidy_house",
        "split": "eval",
        "agent": "bdp-tidy_house-state-0/agent",
        "method": "bdp",
        "agent_seed": 0,
        "observations": "state",
        "decisions": 1000,
        "partner": "script/noop",
        "partner_kind": "script",
        "partner_run": "script/noop",
        "partner_observations": "",
        "zero_shot": True,
        "episode": 0,
        "home": "eval/00",
        "environment": "0123456789abcdef",
        "robot": 0,
        "seed": 0,
        "greedy": False,
        "success": True,
        "collision": False,
        "timeout": False,
        "steps": 200,
        "total": 10.0,
        "subgoals": [1, 1, 1, 1],
        "idle_agent": 3,
        "idle_partner": 200,
        "distance_agent": 12.5,
        "distance_partner": 0.0,
        "solo_steps": 190,
    }
    return one | changes
