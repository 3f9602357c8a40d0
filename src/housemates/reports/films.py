"""Three short films for a report: a success, a collision, and a game with the hardest partner.

A film shows a game that stands in the rows: it is played again from its seed and must end as the row says, else it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from housemates.evaluation.metrics import Rows, by_partner
from housemates.policies import partners
from housemates.policies.partners import Partner
from housemates.reports.runs import Source
from housemates.sim.scripted import SCRIPTS

WIDTH, FPS, SECONDS = 640, 12.0, 10.0
"""Pixels, pictures a second, and about how long a film lasts: long games are shown faster."""


@dataclass(frozen=True)
class Choice:
    """A game to be filmed."""

    name: str
    title: str
    task: str
    split: str
    agent: str
    partner: str
    episode: int
    seed: int
    greedy: bool
    outcome: str
    steps: int

    @property
    def words(self) -> str:
        """What the film shows, in a sentence."""
        end = {"success": "success", "collision": "a collision", "timeout": "out of time"}[self.outcome]
        return f"{self.agent} with {self.partner}, episode {self.episode} of {self.split}: {end} after {self.steps} steps"


def choose(rows: Rows, known: set[str]) -> list[Choice]:
    """Games with strangers between players that are known by name; of each kind the one of middle length."""
    mine = rows.only(evaluation="zsc")
    mine = mine.take(np.isin(mine["agent"], list(known)) & np.isin(mine["partner"], list(known)))
    if not len(mine):
        return []
    # One agent for all three: the paper's own method if it is there.
    methods = mine.distinct("method")
    mine = mine.only(method="bdp" if "bdp" in methods else methods[0])
    mine = mine.only(agent=mine["agent"][0])
    success = by_partner(mine)
    hardest = min(success, key=lambda p: (success[p], p))
    wanted = (
        ("success", "A success", mine.only(success=True)),
        ("collision", "A collision", mine.only(collision=True)),
        ("hard_partner", f"The hardest partner ({100 * success[hardest]:.0f} % success)", mine.only(partner=hardest)),
    )
    return [_choice(name, title, found) for name, title, found in wanted if len(found)]


def _choice(name: str, title: str, rows: Rows) -> Choice:
    """The game of middle length; of the hardest partner one that failed, if any did."""
    if name == "hard_partner" and not rows["success"].all():
        rows = rows.only(success=False)
    row = int(np.lexsort((rows["episode"], rows["steps"]))[len(rows) // 2])
    outcome = next(kind for kind in ("success", "collision", "timeout") if rows[kind][row])
    words = [str(rows[column][row]) for column in ("task", "split", "agent", "partner")]
    numbers = int(rows["episode"][row]), int(rows["seed"][row]), bool(rows["greedy"][row])
    return Choice(name, title, *words, *numbers, outcome, int(rows["steps"][row]))


def players(sources: Sequence[Source], holdouts: Sequence[Path] = ()) -> dict[str, Partner]:
    """Everybody whom the runs' rows may name and whose weights are here; holdouts: folders of more runs."""
    found = [partners.scripted(name) for name in SCRIPTS] + [Partner("random", "random")] + partners.shipped()
    for folder in [source.folder for source in sources if source.folder is not None] + list(holdouts):
        for read in (partners.population, lambda run: [partners.agent(run)]):
            try:
                found += read(folder)
            except (OSError, ValueError):
                # A run without its weights still has its rows.
                continue
    return {partner.name: partner for partner in found}


def make_film(
    choice: Choice,
    known: dict[str, Partner],
    run: Path | None,
    path: Path,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Play the game again and film it; a ValueError if it does not end as its row says."""
    from housemates.evaluation.crossplay import minds
    from housemates.evaluation.replay import record_game
    from housemates.homes.splits import load_split
    from housemates.populations.run import read
    from housemates.sim.film import Style, film
    from housemates.sim.rules import Reward, Rules
    from housemates.tasks.episodes import load_episodes

    homes = load_split(choice.split)
    episodes = load_episodes(choice.task, choice.split, homes=homes)
    rules = replace(read(run).training.rules if run is not None else Rules(), reward=Reward())
    names = (choice.agent, choice.partner)
    acting = minds(known[name] for name in names)
    team = [acting[known[name]] for name in names]
    recording = record_game(episodes, homes, team, choice.episode, rules, choice.seed, choice.greedy, names)
    ended = recording.header["outcome"], recording.steps
    if ended != (choice.outcome, choice.steps):
        raise ValueError(
            f"{choice.words} cannot be filmed: played again it ends with {ended[0]} after {ended[1]} steps - evaluate again"
        )
    every = max(1, round(recording.steps / (SECONDS * FPS)))
    film(recording, path, Style(FPS, every, WIDTH), home=homes[int(episodes.home[choice.episode])], progress=progress)
