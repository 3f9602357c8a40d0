"""Games of an evaluation as recordings: played again from their seed, or kept as examples of a run.

`play` makes every game a function of its seed, episode and team, so nothing else is needed to see it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from housemates.agents.actors import Actor
from housemates.evaluation.crossplay import Pair, teams_of
from housemates.evaluation.play import Games, as_teams
from housemates.homes.home import Home
from housemates.io import file_word
from housemates.policies.policy import Policy
from housemates.policies.threads import one_thread
from housemates.recordings.recording import UNKNOWN, Recorder, Recording, save_recording
from housemates.sim.rules import Reward, Rules
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes


def record_game(
    episodes: Episodes,
    homes: Sequence[Home],
    team: Sequence[Actor | Policy | str],
    episode: int,
    rules: Rules | None = None,
    seed: int = 0,
    greedy: bool = False,
    names: Sequence[str] | None = None,
) -> Recording:
    """The game that `play` gives this team (seat 0 first) in this episode, step by step; names: of the seats, for people."""
    with one_thread():
        games = Games(episodes, homes, as_teams([team]), rules or Rules(), seed, greedy, np.array([episode]), slots=1)
        games.begin(np.array([0]), np.array([0]))
        by_robot = None if names is None else [names[seat] for seat in np.argsort(games.robot[0])]
        recorder = Recorder(games.batch, names=by_robot)
        while not recorder.over:
            recorder.tick(*(_asked(games) if games.batch.decide.any() else ()))
    return recorder.finish()


def _asked(games: Games) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What everybody does in the next step, and what the policies thought: see `Recorder.tick`."""
    actions = games.ask()
    likely, value = np.full((*actions.shape, len(ACTIONS)), np.nan, np.float32), np.full(actions.shape, np.nan)
    wanted = np.full(actions.shape, UNKNOWN)
    for decided in games.decided:
        result, rows = decided.result, decided.rows
        wanted.reshape(-1)[rows] = decided.action
        if bool(result.log_prob.isfinite().all()):
            value.reshape(-1)[rows] = result.value.numpy()
            likely.reshape(-1, len(ACTIONS))[rows] = result.logits.softmax(-1).numpy()
    return actions, likely, value, wanted


MOST = 5
"""Games that are kept."""
"""Where they lie, beside the rows."""


def choose(pairs: Sequence[Pair], most: int = MOST) -> list[Pair]:
    """Pairs with different partners, held-out ones before those of training, spread evenly over all there are; no controls."""
    plain = [pair for pair in pairs if not pair.control]
    held_out = [pair for pair in plain if pair.evaluation != "train_pop"]
    found = held_out or plain
    if len(found) <= most:
        rest = [pair for pair in plain if pair not in found]
        return found + rest[: most - len(found)]
    return [found[round(k * (len(found) - 1) / (most - 1))] for k in range(most)]


def save_examples(
    folder: Path,
    pairs: Sequence[Pair],
    episodes: Episodes,
    homes: Sequence[Home],
    rules: Rules,
    count: int,
    seed: int = 0,
    greedy: bool = False,
) -> list[Path]:
    """Play some games of an evaluation again, each with another partner in another of its first `count` episodes.

    They are the very games of the rows (see `record_game`). Returns the files.
    """
    chosen, written = choose(pairs), []
    rules = replace(rules, reward=Reward())
    for k, (pair, team) in enumerate(zip(chosen, teams_of(chosen) if chosen else [], strict=True)):
        episode = (k * count) // len(chosen)
        names = [pair.agent.name, *(partner.name for partner in pair.partners)]
        recording = record_game(episodes, homes, team, episode, rules, seed, greedy, names)
        partner = "-".join(dict.fromkeys(names[1:])) or "alone"
        words = [file_word(episodes.split), *(["greedy"] if greedy else []), f"{episode:03d}", names[0], partner]
        path = folder / ("-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", word) for word in words)[:150] + ".npz")
        save_recording(path, recording)
        written.append(path)
    return written
