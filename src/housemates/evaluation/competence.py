"""What partners of the held-out suite can do: alone, beside a robot that stands still, and with a probe agent.

The numbers of the suite come with the package (`competence.json`, one entry for each task and partner); `housemates holdouts
measure` makes them again. They say how hard a partner is, and are never part of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from housemates.agents import agent as registry
from housemates.agents.actors import load_actors
from housemates.agents.agent import Agent
from housemates.evaluation import suite
from housemates.evaluation.play import play
from housemates.homes.home import Home
from housemates.io import read_json, write_json
from housemates.sim.state import COLLISION_END, SUCCESS
from housemates.tasks.episodes import Episodes

FILE = registry.SHIPPED / "competence.json"
"""The numbers that come with the package."""
STANDING = "noop"
"""The script of the robot that stands still."""
RATES = ("alone", "standing", "probe", "probe_collision")
"""Success of a partner alone in the home, beside a robot that stands still, and with the probe; collisions with the probe."""


def probe_of(task: str) -> Agent:
    """The agent that partners of a task are probed with: the package's agent that sees the ground truth, else the script that
    does everything."""
    known = [p for p in registry.shipped() if p.meta.get("task") == task and p.meta.get("observations") == "state"]
    agents = [p for p in known if not registry.is_holdout(p) and int(p.meta.get("robots", 2)) > 1]
    trained = [p for p in agents if p.meta.get("method") != "gt_coord"]
    return (trained or agents or [registry.scripted("solo")])[0]


def measure(
    task: str,
    partners: Sequence[Agent],
    probe: Agent,
    episodes: Episodes,
    homes: Sequence[Home],
    count: int,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, dict[str, float]]:
    """RATES of every partner by name, on the first `count` episodes."""
    known = load_actors([probe, registry.scripted(STANDING), *partners])
    which = np.arange(count)
    still = known[registry.scripted(STANDING)]
    teams = [[known[p], still] for p in partners] + [[known[probe], known[p]] for p in partners]
    played = play(episodes, homes, teams, seed=seed, which=which, threads=threads, progress=progress)
    alone = play(episodes, homes, [[known[p]] for p in partners], seed=seed, which=which, threads=threads)
    found = {}
    for k, partner in enumerate(partners):
        beside, probed = played.outcome[played.team == k], played.outcome[played.team == len(partners) + k]
        rates = [(alone.outcome[alone.team == k] == SUCCESS), beside == SUCCESS, probed == SUCCESS, probed == COLLISION_END]
        found[partner.name] = {name: round(float(rate.mean()), 4) for name, rate in zip(RATES, rates, strict=True)}
    return found


def write(path: Path, task: str, found: dict[str, dict[str, float]], told: dict[str, Any]) -> None:
    """Put the numbers of a task into a file, beside those of other tasks; told: episodes, split, probe, seed, commit."""
    known = read(path) if path.is_file() else {}
    known[task] = {"suite": suite.VERSION, **told, "partners": found}
    write_json(path, dict(sorted(known.items())))


def read(path: Path = FILE) -> dict[str, Any]:
    """The numbers by task; nothing if they were never measured."""
    return read_json(path, "make it again: housemates holdouts measure") if path.is_file() else {}


def of(task: str) -> dict[str, dict[str, float]]:
    """What the package knows of the partners of a task, by name."""
    return read().get(task, {}).get("partners", {})
