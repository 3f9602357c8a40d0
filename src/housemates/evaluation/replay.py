"""One game of an evaluation again, with everything written down: for films, and for looking at what went wrong.

`play` makes every game a function of its seed, episode and team, so nothing but those is needed to see it again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from housemates.evaluation.play import Mind, _Games, as_mind
from housemates.homes.home import Home
from housemates.policies.policy import Policy
from housemates.sim.recording import Recorder, Recording
from housemates.sim.rules import Rules
from housemates.tasks.episodes import Episodes


def record_game(
    episodes: Episodes,
    homes: Sequence[Home],
    team: Sequence[Mind | Policy | str],
    episode: int,
    rules: Rules | None = None,
    seed: int = 0,
    greedy: bool = False,
    names: Sequence[str] | None = None,
) -> Recording:
    """The game that `play` gives this team (seat 0 first) in this episode, step by step; names: of the seats, for people."""
    minds = [as_mind(who) for who in team]
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        games = _Games(episodes, homes, [minds], rules or Rules(), seed, greedy, np.array([episode]), True, 1, 1, False, None)
        games._begin(np.array([0]), np.array([0]))
        by_robot = None if names is None else [names[seat] for seat in np.argsort(games.robot[0])]
        recorder = Recorder(games.batch, names=by_robot)
        while not recorder.over:
            recorder.tick(games._ask() if games.batch.decide.any() else None)
    finally:
        torch.set_num_threads(before)
    return recorder.finish()
