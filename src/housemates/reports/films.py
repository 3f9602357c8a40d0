"""Short films for a report: a success, a collision, and a game with the hardest partner.

A film shows a game of the rows: it is played again from its seed and must end as the row says, else it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from housemates.agents import agent as partners
from housemates.agents.agent import Agent
from housemates.evaluation.metrics import Rows, by_partner
from housemates.reports import paper
from housemates.reports.figures import (
    cross_play,
    drawing,
    heat_map,
    learning_curves,
    read_curves,
    save,
    success_by_method,
    success_by_partner,
)
from housemates.reports.page import Picture
from housemates.reports.sources import Source
from housemates.reports.summary import short_names
from housemates.sim.scripts import SCRIPTS
from housemates.tasks.tasks import task_title

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
        agent, partner = (short_names([name])[name] for name in (self.agent, self.partner))
        return f"{agent} with {partner}, episode {self.episode} of {self.split}: {end} after {self.steps} steps"


def choose(rows: Rows, known: set[str]) -> list[Choice]:
    """Games with held-out partners between players that are known by name; of each kind the one of middle length."""
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


def players(sources: Sequence[Source], holdouts: Sequence[Path] = ()) -> dict[str, Agent]:
    """All agents that the rows may name and whose weights are here; holdouts: folders of more runs."""
    found = [partners.scripted(name) for name in SCRIPTS] + [Agent("random", "random")] + partners.shipped()
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
    known: dict[str, Agent],
    run: Path | None,
    path: Path,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Play the game again and film it; a ValueError if it does not end as its row says."""
    from housemates.agents.actors import load_actors
    from housemates.evaluation.recordings import record_game
    from housemates.homes.splits import load_split
    from housemates.recordings.film import Style, film
    from housemates.runs.run import read
    from housemates.sim.rules import Reward, Rules
    from housemates.tasks.episodes import load_episodes

    homes = load_split(choice.split)
    episodes = load_episodes(choice.task, choice.split, homes=homes)
    rules = replace(read(run).training.rules if run is not None else Rules(), reward=Reward())
    names = (choice.agent, choice.partner)
    acting = load_actors(known[name] for name in names)
    team = [acting[known[name]] for name in names]
    recording = record_game(episodes, homes, team, choice.episode, rules, choice.seed, choice.greedy, names)
    ended = recording.header["outcome"], recording.steps
    if ended != (choice.outcome, choice.steps):
        raise ValueError(
            f"{choice.words} cannot be filmed: played again it ends with {ended[0]} after {ended[1]} steps - evaluate again"
        )
    every = max(1, round(recording.steps / (SECONDS * FPS)))
    film(recording, path, Style(FPS, every, WIDTH), home=homes[int(episodes.home[choice.episode])], progress=progress)


if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = ("success", "partners", "heat_map", "cross_play", "curves", "diversity")
Progress = Callable[[str, int, int], None]


def draw_all(
    rows: Rows, sources: Sequence[Source], folder: Path, seed: int = 0, progress: Progress | None = None
) -> dict[str, list[Picture]]:
    """Draw everything there is data for as PNG and SVG; the pictures by GROUPS."""
    jobs = _jobs(rows, sources, seed)
    drawn: dict[str, list[Picture]] = {group: [] for group in GROUPS}
    for number, (group, name, title, draw) in enumerate(jobs, start=1):
        with drawing():
            save(draw(), folder, name)
        drawn[group].append(Picture(folder / f"{name}.png", title))
        if progress is not None:
            progress("figures", number, len(jobs))
    for source in sources:
        if source.diversity is not None:
            from housemates.reports.diversity import draw_diversity

            path = folder / f"diversity_{source.name}.png"
            draw_diversity(source.diversity, [path, path.with_suffix(".svg")])
            drawn["diversity"].append(Picture(path, f"{source.name}: diversity audit"))
    return drawn


def _jobs(rows: Rows, sources: Sequence[Source], seed: int) -> list[tuple[str, str, str, Callable[[], Figure]]]:
    """(group, file name, title, how to draw it) of every figure."""
    logs = [curve for source in sources if source.folder is not None for curve in read_curves(source.folder)]
    jobs: list[tuple[str, str, str, Callable[[], Figure]]] = []

    def add(group: str, words: str, draw: Callable[[], Figure], more: str = "") -> None:
        # Rows may come from anywhere; whatever they call their task is no path.
        jobs.append((group, re.sub(r"[^\w-]", "_", f"{group}_{task}{more}"), f"{task_title(task)}: {words}", draw))

    for task in paper.in_order(rows.distinct("task")):
        mine = rows.only(task=task)
        held_out, crossed = mine.only(evaluation="zsc"), mine.only(evaluation="crossplay")
        if len(mine.only(evaluation=("zsc", "train_pop"))):
            add("success", "success by method", lambda t=task: success_by_method(rows, t, seed))
        if len(held_out):
            add("partners", "success by partner", lambda t=task: success_by_partner(rows, t))
        for seen in held_out.distinct("observations"):
            add("heat_map", f"who does what ({seen})", lambda t=task, o=seen: heat_map(rows, t, o), f"_{seen}")
        if len(held_out) or len(crossed):
            shown = crossed if len(crossed) else held_out
            add("cross_play", "agents with partners", lambda t=task, e=shown: cross_play(e, t))
        if any(curve.task == task for curve in logs):
            add("curves", "learning curves", lambda t=task: learning_curves(logs, t))
    return jobs
