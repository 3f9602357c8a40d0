"""Decisions of recorded games as dataset rows: recordings and games of people are replayed step by step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from housemates.agents.agent import Agent
from housemates.config import to_json
from housemates.datasets.dataset import ROLES
from housemates.datasets.write import Seat, Writer, check_folder, roles, told
from housemates.evaluation.crossplay import Pair, check_count, teams_of
from housemates.evaluation.trajectories import NUMBERS, Game, Senses, trajectories
from housemates.homes.home import Home
from housemates.recordings.recording import Recording, batch_of
from housemates.sim.batch import Batch
from housemates.sim.rules import Reward, Rules
from housemates.sim.state import OUTCOMES, SUCCESS
from housemates.sim.world import pack
from housemates.tasks.episodes import Episodes
from housemates.training.trainer import environment_hash

PERSON = "person"


def export_recordings(
    folder: Path,
    recordings: Sequence[Recording],
    *,
    observations: Sequence[str] = ("state", "predicates"),
    pixels: int = 64,
    robots_of: str = "all",
    only: str = "all",
    homes: dict[str, Home] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, int]:
    """Write games with people as a dataset: the person's robot is the partner, the other one the agent.

    All must be of one task, with the same rules and robots. homes: those that are loaded already, by name. Otherwise as
    `export_games`.
    """
    check_choice("robots-of", robots_of, WHOSE)
    check_choice("only", only, KEPT)
    check_folder(folder)
    ended = [recording for recording in recordings if recording.header["outcome"] != OUTCOMES[0]]
    if not ended:
        raise ValueError("none of the games was played to its end - play one and agree to keep it: housemates play")
    first = ended[0]
    for one in ended:
        if (one.header["task"], one.robots, one.rules) != (first.header["task"], first.robots, first.rules):
            raise ValueError("the games are of different tasks or rules - put those of each into a folder of their own")
    shapes = Senses(batch_of(first, (homes or {}).get(first.header["home"])), observations, pixels).shapes
    agents: dict[str, Agent] = {}
    with Writer(folder, shapes) as writer:
        for count, recording in enumerate(ended, 1):
            header, human = recording.header, int(recording.header["game"]["human"])
            team = [Agent(who["name"], who["kind"], **_more(who)) for who in header["game"]["team"]]
            agent = next((r for r in range(recording.robots) if r != human), human)
            seats = [Seat(who, role) for who, role in zip(team, roles(len(team), agent), strict=True)]
            kept = [robots_of in ("all", seat.role) for seat in seats]
            game = witness_recording(recording, observations, pixels, kept, (homes or {}).get(header["home"]))
            if only == "all" or game.outcome == SUCCESS:
                agents.setdefault(team[agent].name, team[agent])
                writer.add(game, header["home"], seats, team[agent].name, PERSON)
            if progress is not None:
                progress(count, len(ended))
        check_some(writer.decisions, only)
        writer.finish(
            {
                "source": "people",
                "task": first.header["task"],
                "split": " + ".join(sorted({r.header["split"] for r in ended})),
                "robots": first.robots,
                "robots_of": robots_of,
                "only": only,
                "games_played": len(ended),
                "homes": {r.header["home"]: r.header["home_hash"] for r in sorted(ended, key=lambda r: r.header["home"])},
                "rules": to_json(first.rules),
                "agents": [told(who) for who in agents.values()],
                "partners": [told(Agent(PERSON, "person"))],
            }
        )
    return {"games": writer.games, "decisions": writer.decisions, "successes": int(writer.successes)}


def witness_recording(
    recording: Recording,
    observations: Sequence[str],
    pixels: int = 64,
    robots: Sequence[bool] | None = None,
    home: Home | None = None,
) -> Game:
    """All decisions of a recorded game, of robots [R] bool (default: all).

    A person who changes the mind ends one decision and begins another; the time a robot stands and waits for its next decision
    belongs to the one before.
    """
    kept = np.ones(recording.robots, np.bool_) if robots is None else np.asarray(robots)
    batch = batch_of(recording, home)
    batch.state.controllable[:] = True
    senses, state = Senses(batch, observations, pixels), batch.state
    rows: list[dict[str, Any]] = []
    seen: dict[str, list[np.ndarray]] = {name: [] for name in observations}
    running: dict[int, dict[str, Any]] = {}
    decision = 0

    def close(robot: int) -> None:
        if robot in running:
            earned = {"reward": state.terms[0, robot].sum(), "reward_discounted": state.discounted[0, robot]}
            running.pop(robot).update(earned, duration=state.duration[0, robot])

    for tick, taken in recording.by_step(recording.steps):
        # Two decisions of a robot in one tick: the last one counts.
        last = {int(robot): k for k, robot in enumerate(taken["robot"], start=decision)}
        decision += len(taken)
        which = np.zeros((1, recording.robots), np.bool_)
        which[0, list(last)] = kept[list(last)]
        looked = senses.look(which)
        fresh = []
        for place, robot in enumerate(np.flatnonzero(which[0])):
            close(robot)
            k = last[robot]
            likely, action = recording.probabilities[k], int(recording.decisions["action"][k])
            row = {"robot": robot, "clock": tick, "decision": action, "probabilities": likely, "log_prob": _log(likely[action])}
            rows.append(row)
            running[robot] = row
            fresh.append(row)
            for name, values in looked.items():
                seen[name].append(values[place])
        for robot, k in last.items():
            batch.assign(0, robot, int(recording.decisions["action"][k]))
        batch.tick()
        for row in fresh:
            row["feasible"] = bool(state.executed[0, int(row["robot"])] == row["decision"])
    for robot in list(running):
        close(robot)
    found = OUTCOMES[int(batch.ended.outcome[0])] if state.over[0] else OUTCOMES[0]
    told = recording.header["outcome"], recording.header["return"]
    if (found, float(state.total[0])) != told:
        made = recording.header["version"]
        raise ValueError(f"a game in {recording.header['home']} plays differently here (made by version {made}) - leave it out")
    sort = np.lexsort(([row["clock"] for row in rows], [row["robot"] for row in rows]))
    arrays = {
        name: np.array([rows[k][name] for k in sort], kind).reshape(-1, *shape) for name, (shape, kind) in NUMBERS.items()
    }
    pictures = {
        name: np.array([seen[name][k] for k in sort], kind).reshape(-1, *shape) for name, (shape, kind) in senses.shapes.items()
    }
    outcome, episode = OUTCOMES.index(found), int(recording.header["episode_id"])
    return Game(0, episode, np.arange(recording.robots), outcome, recording.steps, arrays, pictures)


def _log(likely: np.floating) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(likely))


def _more(who: dict[str, Any]) -> dict[str, Any]:
    """What a game tells of a player beside its kind; scripts and latents are told by the ends of their names."""
    last, more = who["name"].rpartition("/")[2], {"meta": dict(who.get("meta", {}))}
    if who["kind"] == "script":
        return more | {"script": last}
    return more | {"latent": int(last[1:])} if who["kind"] == "latent" and last[1:].isdigit() else more


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
        raise ValueError("no agents - name agents and partners")
    rules = dataclasses.replace(rules or Rules(), reward=Reward())
    robots, world, which = len(pairs[0].partners) + 1, pack(episodes, homes), np.arange(count or len(episodes))
    shapes = Senses(Batch(episodes, homes, 1, robots, world=world), observations, pixels).shapes
    seats = [robots_of in ("all", role) for role in roles(robots, 0)]
    shared: dict[str, Any] = {"which": which, "world": world, "threads": threads, "progress": progress}
    chosen: dict[str, Any] = {"observations": observations, "pixels": pixels, "seats": seats}
    with Writer(folder, shapes) as writer:
        for game in trajectories(episodes, homes, teams_of(pairs), rules, seed, greedy, **chosen, **shared):
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
                "rules": to_json(rules),
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
