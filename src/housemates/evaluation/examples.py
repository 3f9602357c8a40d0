"""A handful of an evaluation's games as recordings beside its rows: something to watch, and to swap partners in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from housemates.evaluation.crossplay import Pair, teams_of
from housemates.evaluation.replay import record_game
from housemates.homes.home import Home
from housemates.sim.recording import save_recording
from housemates.sim.rules import Reward, Rules
from housemates.tasks.episodes import Episodes

MOST = 5
"""Games that are kept."""
FOLDER = "recordings"
"""Where they lie, beside the rows."""


def choose(pairs: Sequence[Pair], most: int = MOST) -> list[Pair]:
    """Pairs with different partners, strangers before partners of training, spread evenly over all there are; no controls."""
    plain = [pair for pair in pairs if not pair.control]
    strangers = [pair for pair in plain if pair.evaluation != "train_pop"]
    found = strangers or plain
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
        words = [episodes.split, *(["greedy"] if greedy else []), f"{episode:03d}", names[0], partner]
        path = folder / ("-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", word) for word in words)[:150] + ".npz")
        save_recording(path, recording)
        written.append(path)
    return written
