"""Any agents with any partners on the same episodes: who plays whom, and what of it is written down as rows.

The games themselves are played by `play`. An agent and the held-out partners it meets are `Agent` entries alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.agents import agent as registry
from housemates.agents.actors import Actor, check_robots, inference, load_actors
from housemates.agents.agent import Agent, run_name
from housemates.evaluation import suite
from housemates.evaluation.holdouts import budget, origin, run_of
from housemates.evaluation.play import Played, play
from housemates.evaluation.resume import Kept
from housemates.evaluation.rows import AGENT, NOBODY, PARTNER, join_rows, make_rows
from housemates.homes.home import Home
from housemates.homes.sources import lacking
from housemates.lookahead.settings import VERSION
from housemates.run_folder import RunFolder
from housemates.sim.rules import Reward, Rules
from housemates.sim.state import COLLISION_END, SUCCESS, TIMEOUT
from housemates.sim.world import World, pack
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import get_task
from housemates.training.trainer import environment_hash

if TYPE_CHECKING:
    import pyarrow as pa

SOLO = registry.scripted("solo")
"""The agent of the control `solo`."""
RANDOM = Agent("random", "random")
"""The partner of the control `random`."""


@dataclass(frozen=True)
class Pair:
    """An agent and the partners of all other robots."""

    agent: Agent
    partners: tuple[Agent, ...]
    evaluation: str = "crossplay"
    """One of EVALUATIONS."""
    control: str = ""
    """One of CONTROLS; `blind` takes the partners from the agent's senses."""
    zero_shot: bool = True
    """Whether the agent has never been trained with these partners."""


def pair_up(
    agents: Iterable[Agent], partners: Sequence[Agent], evaluation: str = "crossplay", control: str = "", robots: int = 2
) -> list[Pair]:
    """Every agent with every partner; where there are more than two robots, the same partner moves all others."""
    found = []
    for agent in agents:
        known = trained_with(agent)
        found += [
            Pair(agent, (partner,) * (robots - 1), evaluation, control, identity(partner) not in known) for partner in partners
        ]
    return found


def controls(agent: Agent, holdouts: Sequence[Agent], robots: int = 2) -> list[Pair]:
    """What a zero-shot evaluation is compared with: the agent blind, a scripted solo robot, a random partner."""
    return [
        *pair_up([agent], holdouts, "control", "blind", robots),
        *pair_up([SOLO], holdouts, "control", "solo", robots),
        *pair_up([agent], [RANDOM], "control", "random", robots),
    ]


def identity(partner: Agent) -> tuple[str, str, int]:
    """What makes a partner the same one wherever it lies and whatever it is called."""
    if partner.trained:
        return (f"{partner.disturbed} policy".strip(), partner.meta.get("sha256") or partner.path, partner.latent)
    return (partner.kind, partner.script or partner.path, -1)


def trained_with(agent: Agent) -> set[tuple[str, str, int]]:
    """All partners an agent has met in training, itself included: the partners of stage 2, or the run's own population.

    Who has met a partner knows it also where it is disturbed.
    """
    met = [agent, *_met(agent)]
    changed = [registry.disturb(p, how) for p in met if p.trained for how in registry.DISTURBED]
    return {identity(p) for p in (*met, *changed)}


def _met(agent: Agent) -> list[Agent]:
    run = run_of(agent)
    if run is None:
        return []
    if agent.meta.get("stage") == 2:
        listed = RunFolder(run).partners
        found = registry.read_partners(listed, run) if listed.is_file() else []
    else:
        found = registry.population(run)
    return found


def teams_of(pairs: Sequence[Pair]) -> list[list[Actor]]:
    """The actors of every pair, the agent's first; policies for another number of robots are refused."""
    known = load_actors(p for pair in pairs for p in (pair.agent, *pair.partners))
    for actor in known.values():
        check_robots(actor, len(pairs[0].partners) + 1)
    return [[_as_control(known[pair.agent], pair.control), *(known[p] for p in pair.partners)] for pair in pairs]


def _as_control(actor: Actor, control: str) -> Actor:
    return replace(actor, blind=True) if control == "blind" else actor


def check_count(count: int | None, episodes: Episodes) -> None:
    """Refuse to play more episodes than there are, or none."""
    if count is not None and not 1 <= count <= len(episodes):
        raise ValueError(f"--episodes {count} - there are {len(episodes)} of them; choose 1 to {len(episodes)}")


def crossplay(
    pairs: Sequence[Pair],
    episodes: Episodes,
    homes: Sequence[Home],
    rules: Rules | None = None,
    *,
    count: int | None = None,
    seed: int = 0,
    greedy: bool = False,
    threads: int = 1,
    kept: Kept | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """Rows (see `rows`) of all pairs on the first `count` episodes (default all), pair by pair.

    Every pair meets the same episodes, starts and draws; the agent moves either robot in half of the episodes. Rewards are
    the paper's, whatever the agents were trained for. kept: where games are kept if it is interrupted (see `kept_beside`).
    """
    rules = replace(rules or Rules(), reward=Reward())
    check_count(count, episodes)
    if not pairs:
        return join_rows([])
    which, world = np.arange(count or len(episodes)), pack(episodes, homes)
    teams, robots = teams_of(pairs), len(pairs[0].partners) + 1
    shared: dict[str, Any] = {"which": which, "world": world, "threads": threads}
    played = play(episodes, homes, teams, rules, seed, greedy, **shared, kept=kept, progress=progress)
    alone = solo_steps(episodes, homes, rules, which, robots, world, threads)
    common = common_columns(episodes, homes, rules, robots) | {"seed": seed, "greedy": greedy}
    return join_rows(
        pair_rows(pair, played, played.team == k, episodes, alone, common | {"inference": inference(teams[k])})
        for k, pair in enumerate(pairs)
    )


def common_columns(episodes: Episodes, homes: Sequence[Home], rules: Rules, robots: int) -> dict[str, Any]:
    """What the rows of all pairs say of the episodes and homes."""
    return {
        "task": episodes.task,
        "split": episodes.split,
        "lacks": lacking(episodes.split, homes),
        "environment": environment_hash(episodes, rules, robots),
    }


def solo_steps(
    episodes: Episodes, homes: Sequence[Home], rules: Rules, which: np.ndarray, robots: int, world: World, threads: int = 1
) -> np.ndarray:
    """Steps [n, R] that the scripted solo robot needs alone in episodes which [n] from robot r's start; -1 if it fails."""
    found = np.full((len(which), robots), -1, np.int32)
    if episodes.spawn is None or not np.isfinite(episodes.spawn[:, :robots]).all():
        return found
    for r in range(robots):
        moved, there = started(episodes, world, r)
        lone = play(moved, homes, [["solo"]], rules, which=which, world=there, threads=threads)
        found[:, r] = np.where(lone.outcome == SUCCESS, lone.steps, -1)
    return found


def started(episodes: Episodes, world: World, robot: int) -> tuple[Episodes, World]:
    """Episodes in which a lone robot, always robot 0, starts where one of several robots would."""
    if episodes.spawn is None:
        raise ValueError(f"episodes of {episodes.split} store no starts, so nobody can be compared there - use another --split")
    # Every episode's starts are turned until that robot's is the first.
    there = world.episodes.copy()
    there["spawn"] = np.roll(there["spawn"], -robot, axis=1)
    return replace(episodes, spawn=np.roll(episodes.spawn, -robot, axis=1)), world._replace(episodes=there)


def pair_rows(
    pair: Pair, played: Played, mine: np.ndarray, episodes: Episodes, alone: np.ndarray, common: dict[str, Any], **more: Any
) -> pa.Table:
    """The rows of one pair, whose games are mine [N] bool; common: columns of one value; more: columns of one value a game."""
    agent, partners = pair.agent, tuple(dict.fromkeys(pair.partners))
    outcome, episode, robot = played.outcome[mine], played.episode[mine], played.robot[mine][:, 0]
    done_by = played.done_by[mine][:, : len(get_task(episodes.task).subgoals)]
    same = common | {
        "evaluation": pair.evaluation,
        "control": pair.control,
        "agent": agent.name,
        "method": method_of(agent),
        "agent_seed": int(agent.meta.get("seed", -1)),
        "observations": agent.meta.get("observations", ""),
        "decisions": budget(agent),
        **origin(agent),
        "partner": _joined(p.name for p in partners),
        "partner_kind": _joined(p.kind for p in partners),
        "partner_run": _joined(run_name(p) for p in partners),
        "partner_observations": _joined(p.meta.get("observations", "") for p in partners),
        "zero_shot": pair.zero_shot,
        "look_ahead": 0 if agent.look_ahead is None else VERSION,
        **suite.columns(partners),
    }
    each = {
        "episode": episode,
        "home": [episodes.homes[h] for h in episodes.home[episode]],
        "robot": robot,
        "success": outcome == SUCCESS,
        "collision": outcome == COLLISION_END,
        "timeout": outcome == TIMEOUT,
        "steps": played.steps[mine],
        "total": played.total[mine],
        "subgoals": np.where(done_by < 0, NOBODY, np.where(done_by == 0, AGENT, PARTNER)).tolist(),
        "idle_agent": played.idle[mine][:, 0],
        "idle_partner": played.idle[mine][:, 1:].sum(axis=1),
        "distance_agent": played.travelled[mine][:, 0],
        "distance_partner": played.travelled[mine][:, 1:].sum(axis=1),
        "solo_steps": alone[episode, robot],
    }
    return make_rows({name: [value] * len(episode) for name, value in same.items()} | each | more)


def method_of(agent: Agent) -> str:
    """What made an agent, as rows name it; one that looks ahead is another method, so that tables have rows of its own."""
    method = agent.script or agent.meta.get("method", agent.kind)
    return method if agent.look_ahead is None else f"{method} + {agent.look_ahead.title}"


def _joined(words: Iterable[str]) -> str:
    """Several words as one, each once."""
    return " + ".join(dict.fromkeys(words))
