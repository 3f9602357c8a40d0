"""Games of robots alone in the home, from the start of every robot: what a partner must add to, beside the scripted solo robot.

A policy of the method `solo` is evaluated this way. Its rows have the evaluation `alone`, the environment of the games with two
robots, and no partner; tables find the steps of an episode and a start in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from housemates.agents.actors import inference, load_actors
from housemates.agents.agent import Agent
from housemates.evaluation.crossplay import Pair, check_count, common_columns, pair_rows, solo_steps, started
from housemates.evaluation.metrics import ALONE
from housemates.evaluation.play import play
from housemates.evaluation.rows import join_rows
from housemates.homes.home import Home
from housemates.sim.rules import Reward, Rules
from housemates.sim.world import pack
from housemates.tasks.episodes import Episodes

if TYPE_CHECKING:
    import pyarrow as pa


def plays_alone(agent: Agent) -> bool:
    """Whether an agent was trained for a home without other robots."""
    return agent.trained and int(agent.meta.get("robots", 2)) == 1


def alone_rows(
    agents: Sequence[Agent],
    episodes: Episodes,
    homes: Sequence[Home],
    rules: Rules | None = None,
    *,
    robots: int = 2,
    count: int | None = None,
    seed: int = 0,
    greedy: bool = False,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """Rows of every agent alone in the first `count` episodes (default all), once from the start of each of so many robots."""
    rules = replace(rules or Rules(), reward=Reward())
    check_count(count, episodes)
    which, world, known = np.arange(count or len(episodes)), pack(episodes, homes), load_actors(agents)
    scripted = solo_steps(episodes, homes, rules, which, robots, world, threads)
    common = common_columns(episodes, homes, rules, robots) | {"seed": seed, "greedy": greedy}
    parts, total = [], robots * len(agents) * len(which)
    for robot in range(robots):
        moved, there = started(episodes, world, robot)
        teams = [[known[agent]] for agent in agents]
        played = play(moved, homes, teams, rules, seed, greedy, which=which, world=there, threads=threads)
        if progress is not None:
            progress((robot + 1) * total // robots, total)
        for k, agent in enumerate(agents):
            mine = played.team == k
            episode = played.episode[mine]
            more = {"robot": np.full(len(episode), robot), "solo_steps": scripted[episode, robot]}
            told = common | {"inference": inference(teams[k])}
            parts.append(pair_rows(Pair(agent, (), ALONE), played, mine, episodes, scripted, told, **more))
    return join_rows(parts)
