"""Whole games by both paths: networks decide alike, and rows say what computed them."""

import numpy as np
import pytest

from helpers.batches import episodes, home
from housemates.agents import actors as engine
from housemates.agents.actors import Actor, inference
from housemates.agents.agent import learned, scripted
from housemates.evaluation.crossplay import crossplay, pair_up
from housemates.evaluation.play import Played, play
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules

SHORT = Rules(horizon=60)
STATE, DEPTH = PolicyConfig.state(hidden=16, features=16), PolicyConfig.laptop(hidden=16, features=16)
DEEP = PolicyConfig.state(hidden=16, features=16, layers=2)


def games(config: PolicyConfig, greedy: bool) -> Played:
    teams = [[Policy(config, seed=k), Policy(config, seed=9)] for k in range(4)]
    return play(episodes(), [home()], teams, SHORT, 1, greedy, which=np.arange(6))


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("config", [STATE, DEPTH])
def test_games_are_the_same_by_both_paths_but_for_roundings(config, greedy, monkeypatch):
    fused = games(config, greedy)
    monkeypatch.setattr(engine, "usable", lambda policy: False)
    torch = games(config, greedy)
    same = np.ones(len(fused.team), np.bool_)
    for name in ("outcome", "steps", "total", "done_by", "idle", "travelled", "decisions"):
        pairs = zip(getattr(fused, name), getattr(torch, name), strict=True)
        same &= [bool((mine == theirs).all()) for mine, theirs in pairs]
    # Each draw is decided by a rounding once in some hundred thousand times.
    assert same.mean() >= 0.9


def test_who_computes_is_named_by_the_networks_of_a_team():
    fused, deep, lone = Actor(Policy(STATE)), Actor(Policy(DEEP)), Actor(script="solo")
    assert [inference(team) for team in ([fused, lone], [deep, lone], [fused, deep], [lone])] == ["fused", "torch", "both", ""]


@pytest.mark.parametrize(("fits", "path"), [(True, "fused"), (False, "torch")])
def test_rows_say_what_computed_the_decisions(fits, path, monkeypatch, tmp_path):
    save_policy(tmp_path, Policy(STATE), {"decisions": 1, "seed": 0, "task": "tidy_house", "method": "gt_coord"})
    if not fits:
        monkeypatch.setattr(engine, "usable", lambda policy: False)
    rows = crossplay(pair_up([learned(tmp_path, "mine")], [scripted("noop")]), episodes(), [home()], SHORT, count=2)
    assert rows["inference"].to_pylist() == [path] * 2
