"""Datasets of games that are played for them: any agents with any partners, as `housemates evaluate` lets them play."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from housemates.datasets.layout import ROLES
from housemates.datasets.write import Seat, Writer, check_folder, roles, told
from housemates.evaluation.crossplay import Pair, check_count, teams_of
from housemates.evaluation.witness import Senses, witness
from housemates.homes.home import Home
from housemates.learning.trainer import environment_hash
from housemates.sim.batch import Batch
from housemates.sim.rules import Reward, Rules
from housemates.sim.state import SUCCESS
from housemates.sim.world import pack
from housemates.tasks.episodes import Episodes

KEPT = ("all", "successes")
"""Which games are written."""
WHOSE = ("all", *ROLES)
"""Whose decisions are written."""


def export_games(
    folder: Path,
    pairs: Sequence[Pair],
    episodes: Episodes,
    homes: Sequence[Home],
    rules: Rules | None = None,
    *,
    observations: Sequence[str] = ("state", "predicates"),
    pixels: int = 64,
    robots_of: str = "all",
    only: str = "all",
    count: int | None = None,
    seed: int = 0,
    greedy: bool = False,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, int]:
    """Let every pair play the first `count` episodes (default all) and write a dataset; returns its counts.

    observations: names of `Batch.observe`; pixels: side of pictures; robots_of: one of WHOSE; only: one of KEPT. Rewards are
    the paper's.
    """
    check_choice("robots-of", robots_of, WHOSE)
    check_choice("only", only, KEPT)
    check_count(count, episodes)
    check_folder(folder)
    if not pairs:
        raise ValueError("nobody plays - name agents and partners")
    rules = dataclasses.replace(rules or Rules(), reward=Reward())
    robots, world, which = len(pairs[0].partners) + 1, pack(episodes, homes), np.arange(count or len(episodes))
    shapes = Senses(Batch(episodes, homes, 1, robots, world=world), observations, pixels).shapes
    seats = [robots_of in ("all", role) for role in roles(robots, 0)]
    shared: dict[str, Any] = {"which": which, "world": world, "threads": threads, "progress": progress}
    chosen: dict[str, Any] = {"observations": observations, "pixels": pixels, "seats": seats}
    with Writer(folder, shapes) as writer:
        for game in witness(episodes, homes, teams_of(pairs), rules, seed, greedy, **chosen, **shared):
            if only == "successes" and game.outcome != SUCCESS:
                continue
            pair = pairs[game.team]
            team = [Seat(who, role) for who, role in zip((pair.agent, *pair.partners), roles(robots, 0), strict=True)]
            by_robot = [team[seat] for seat in np.argsort(game.robot)]
            home = episodes.homes[episodes.home[game.episode]]
            partner = " + ".join(dict.fromkeys(p.name for p in pair.partners))
            writer.add(game, home, by_robot, pair.agent.name, partner)
        check_some(writer.decisions, only)
        played = sorted({int(home) for home in episodes.home[which]})
        writer.finish(
            {
                "source": "play",
                "task": episodes.task,
                "split": episodes.split,
                "episodes": len(which),
                "episodes_seed": episodes.seed,
                "seed": seed,
                "greedy": greedy,
                "robots": robots,
                "robots_of": robots_of,
                "only": only,
                "games_played": len(pairs) * len(which),
                "environment": environment_hash(episodes, rules, robots),
                "homes": {episodes.homes[h]: episodes.hashes[h] for h in played},
                "rules": dataclasses.asdict(rules),
                "agents": [told(who) for who in dict.fromkeys(pair.agent for pair in pairs)],
                "partners": [told(who) for who in dict.fromkeys(who for pair in pairs for who in pair.partners)],
            }
        )
    return {"games": writer.games, "decisions": writer.decisions, "successes": int(writer.successes)}


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Refuse a value that is none of the known ones."""
    if value not in known:
        raise ValueError(f"--{name} {value} - choose one of: {', '.join(known)}")


def check_some(decisions: int, only: str) -> None:
    """Refuse to write a dataset of nothing."""
    if not decisions:
        why = "none of the games was a success - choose --only all or other players" if only == "successes" else "no decisions"
        raise ValueError(f"nothing to write: {why}")
