"""Entries of the leaderboard: rows of one method that keep the rules, with what was declared and the figures made of them.

An entry is a folder with entry.json (checksummed) and rows.parquet. Reading one checks both files, the rules and every figure
again, so that a table made of entries shows nothing that the rows do not say. The rules: docs/benchmark/leaderboard.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates import __version__
from housemates.config import from_json, to_json
from housemates.evaluation.holdouts import holdouts, suite_of
from housemates.evaluation.metrics import LOOKS_AHEAD, Rows, by_partner, learned, mean_over_partners, per_run, rows_of, scripted
from housemates.evaluation.metrics import worst_partners as worst_of
from housemates.evaluation.rows import UNKNOWN, join_rows, read_rows, write_rows
from housemates.evaluation.stats import bootstrap_mean, scores
from housemates.evaluation.suite import PAPER_SUBSET, SUITE, VERSION, members
from housemates.homes.files import VERSION as HOMES
from housemates.homes.splits import load_split
from housemates.io import file_digest, read_json, reading, whole_folder, write_json
from housemates.run_folder import RunFolder, is_run
from housemates.sim.rules import Rules
from housemates.sim.sensors import sensor_names
from housemates.tasks.episodes import load_episodes
from housemates.tasks.tasks import PAPER_TASKS
from housemates.training.trainer import environment_hash

if TYPE_CHECKING:
    import pyarrow as pa

SPLIT = "eval"
"""The homes of the leaderboard."""
EPISODES = 100
"""For each partner: the first ones of the split."""
ROBOTS = 2
ENTRY, ROWS = "entry.json", "rows.parquet"
"""The files of an entry."""
GROUND_TRUTH = ("predicates", "segmentation")
"""Observations that no sensor of a robot could give."""
ROUNDED = 6
"""Decimals of figures, which are fractions from 0 to 1."""
NEAR = 0.005
"""How much ends of bootstrap intervals may differ between versions of numpy."""
AGAIN = "submit it again: housemates submit"


@dataclass(frozen=True)
class Figures:
    """What the table shows; all are fractions from 0 to 1, means over partners, then over trainings."""

    success: float
    low: float
    """Of the 95 % bootstrap interval of the success; with one training it says nothing about others."""
    high: float
    scripted: float
    """Success with scripted partners."""
    learned: float
    """Success with learned partners."""
    worst: float
    """Success with the worst fifth of the partners."""
    collision: float
    timeout: float
    by_partner: dict[str, float] = field(default_factory=dict)
    """Success with each partner."""


@dataclass(frozen=True)
class Entry:
    """A line of the leaderboard."""

    name: str
    """What the table calls it."""
    method: str
    """As the rows have it, without the look-ahead."""
    task: str
    observations: str
    """What the agent sees."""
    look_ahead: str
    """Which look-ahead it uses; empty: none."""
    ground_truth: str
    """Those of its observations that no sensor of a robot could give; empty: none."""
    privileged: str
    """What else it knows, or knew in training, that no robot could; empty: nothing."""
    decisions: int
    """Of its training, both stages, the most of any training."""
    steps: int
    """Simulation steps of both stages, the most of any training; -1: not recorded."""
    seeds: tuple[int, ...]
    """One for each training."""
    link: str
    """Where more is told; may be empty."""
    partners: str
    """paper (the paper's held-out partners) or suite (all of them)."""
    suite: int
    """Version of the held-out suite."""
    homes: int
    """Version of homes and episodes."""
    environment: str
    """Hash of task, homes, rules and number of robots."""
    software: str
    """The version of this package that made the entry."""
    rows: str
    """sha256 of rows.parquet."""
    figures: Figures


def submit(
    sources: Sequence[Path],
    name: str,
    out: Path,
    *,
    privileged: str = "",
    decisions: int | None = None,
    link: str = "",
) -> tuple[Path, Entry]:
    """Write the entry of one method into a new folder of `out`; returns that folder. Rows that break a rule are refused.

    sources: a run or a parquet file for each training. privileged: what the agent knows beyond its observations. decisions: of
    the training, for policies whose rows say nothing of it (0: it was written, not trained).
    """
    table = zero_shot_rows(join_rows(read_rows(rows_at(source)) for source in sources))
    track, kept = keep_rules(table)
    words = file_name(name)
    if not words:
        raise ValueError(f"the name '{name}' has no letters - name the entry, such as --name 'BDP, 12 M decisions'")
    folder = out / f"{kept.column('task')[0].as_py()}-{words}"
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} exists already - choose another --name, or delete it")
    with whole_folder(folder) as temporary:
        write_rows(temporary / ROWS, kept)
        entry = entry_of(kept, track, name, privileged, decisions, link, file_digest(temporary / ROWS))
        write_json(temporary / ENTRY, to_json(entry))
    return folder, entry


def rows_at(source: Path) -> Path:
    """The rows of a run on the evaluation homes, or the file itself."""
    if not is_run(source):
        return source
    found = RunFolder(source).rows(SPLIT)
    if not found.is_file():
        raise FileNotFoundError(f"{source} was not evaluated on {SPLIT} - run: housemates evaluate {source}")
    return found


def zero_shot_rows(table: pa.Table) -> pa.Table:
    """The rows with held-out partners."""
    wanted = np.array(table.column("evaluation").to_pylist()) == "zsc"
    if not wanted.any():
        raise ValueError("no rows of an agent with held-out partners - make them: housemates evaluate RUN, or --agents NAME")
    return table.take(np.flatnonzero(wanted))


def entry_of(table: pa.Table, track: str, name: str, privileged: str, decisions: int | None, link: str, digest: str) -> Entry:
    """An entry from rows that keep the rules."""
    rows = rows_of(table)
    method, _, ahead = str(rows["method"][0]).partition(LOOKS_AHEAD)
    seen, spent = str(rows["observations"][0]), int(rows["decisions"].max())
    if spent == 0 and decisions is None:
        raise ValueError("the rows say nothing of the training's budget - add --decisions N (0 if nothing was trained)")
    if spent and decisions not in (None, spent):
        raise ValueError(f"--decisions {decisions}, but the rows say {spent} - leave it out")
    stages = [rows[f"stage{stage}_steps"] for stage in (1, 2)]
    known = all((part != UNKNOWN).all() for part in stages)
    return Entry(
        name=name, method=method, task=str(rows["task"][0]), observations=seen,
        look_ahead=f"{LOOKS_AHEAD.removeprefix(' + ')}{ahead}" if LOOKS_AHEAD in str(rows["method"][0]) else "",
        ground_truth=", ".join(sensor for sensor in sensor_names(seen) if sensor in GROUND_TRUTH), privileged=privileged,
        decisions=spent or int(decisions or 0), steps=int(sum(part.max() for part in stages)) if known else UNKNOWN,
        seeds=tuple(seeds_of(rows)), link=link, partners=track, suite=VERSION, homes=HOMES,
        environment=str(rows["environment"][0]), software=__version__, rows=digest, figures=figures(rows),
    )  # fmt: skip


def seeds_of(rows: Rows) -> list[int]:
    """The training seed of each agent."""
    return sorted({agent: int(seed) for agent, seed in zip(rows["agent"], rows["agent_seed"], strict=True)}.values())


def figures(rows: Rows) -> Figures:
    """What the table shows of rows with held-out partners."""
    drawn = bootstrap_mean(scores(rows))

    def over_trainings(part: Rows, column: str = "success") -> float:
        return float(np.mean(per_run(part, lambda mine: mean_over_partners(mine, column)))) if len(part) else np.nan

    found = {
        "success": over_trainings(rows), "low": drawn.low, "high": drawn.high,
        "scripted": over_trainings(scripted(rows)), "learned": over_trainings(learned(rows)),
        "worst": float(np.mean(per_run(rows, worst_of))),
        "collision": over_trainings(rows, "collision"), "timeout": over_trainings(rows, "timeout"),
    }  # fmt: skip
    each = {partner: round(share, ROUNDED) for partner, share in by_partner(rows).items()}
    return Figures(**{what: round(share, ROUNDED) for what, share in found.items()}, by_partner=each)


def keep_rules(table: pa.Table) -> tuple[str, pa.Table]:
    """Refuse rows that break a rule of the leaderboard; returns whom they met (paper or suite) and the rows that count."""
    rows = rows_of(table)
    for column, what in (("task", "tasks"), ("split", "splits"), ("method", "methods"), ("observations", "observations")):
        if len(rows.distinct(column)) > 1:
            raise ValueError(f"the rows mix {what} ({', '.join(rows.distinct(column))}) - submit one at a time")
    versions = rows.distinct("look_ahead")
    if max(versions, default=0) > 0 and len(versions) > 1:
        raise ValueError("the rows are of several versions of the look-ahead - evaluate all trainings again with one version")
    _check_agent(rows)
    _check_games(rows)
    _check_homes(rows)
    track, names = _track(rows)
    kept = table.take(np.flatnonzero(np.isin(rows["partner"], names)))
    _check_suite(rows_of(kept))
    _check_episodes(rows_of(kept))
    return track, kept


def _check_agent(rows: Rows) -> None:
    """Refuse agents that do not say what they are, that know what no robot can, or that are not zero-shot."""
    method, seen = str(rows["method"][0]), str(rows["observations"][0])
    if method in ("", "function"):
        raise ValueError("the policy does not name itself - give the function an attribute `method` and evaluate again")
    if not seen:
        raise ValueError(f"the rows do not say what '{method}' sees - give it an attribute `observations` and evaluate again")
    if LOOKS_AHEAD in method and "oracle" in method:
        raise ValueError(f"'{method}' is told what its partner will do - evaluate it without the oracle: --look-ahead")
    if not rows["zero_shot"].all():
        known = rows.take(~rows["zero_shot"]).distinct("partner")[0]
        raise ValueError(f"not zero-shot: '{rows['agent'][0]}' was trained with {known} - train it without held-out partners")


def _check_games(rows: Rows) -> None:
    """Refuse games of other homes, and those with the likeliest actions."""
    task, split = str(rows["task"][0]), str(rows["split"][0])
    if task not in {one.name for one in PAPER_TASKS}:
        raise ValueError(f"no leaderboard for the task '{task}' - there is one for: {', '.join(t.name for t in PAPER_TASKS)}")
    if split != SPLIT:
        raise ValueError(f"the rows are of the split {split} - evaluate on the evaluation homes: --split {SPLIT}")
    if rows["greedy"].any():
        raise ValueError("the rows were played with --greedy - evaluate again with sampled actions, without it")
    if len(rows.distinct("seed")) > 1:
        raise ValueError("the rows are of evaluations with several seeds - evaluate all trainings with the same --seed")


def _check_homes(rows: Rows) -> None:
    """Refuse rows of another version of homes or rules."""
    wanted, found = environment(str(rows["task"][0])), rows.distinct("environment")
    if found != [wanted]:
        raise ValueError(
            f"the rows are of the environment {', '.join(found)}, not {wanted} (homes version {HOMES}, the usual rules, "
            f"{ROBOTS} robots) - evaluate again with this version"
        )


def _check_suite(rows: Rows) -> None:
    """Refuse rows of another version of the held-out suite."""
    # Rows of before the suite had a version have met the partners that are its version 1; their names are all that tells.
    known = (VERSION, UNKNOWN) if VERSION == 1 else (VERSION,)
    other = [version for version in rows.distinct("suite") if version not in known]
    if other:
        raise ValueError(f"the rows are of version {other[0]} of the held-out suite, not {VERSION} - evaluate again")


@cache
def environment(task: str) -> str:
    """The hash of what the leaderboard of a task plays."""
    return environment_hash(load_episodes(task, SPLIT, homes=load_split(SPLIT)), Rules(), ROBOTS)


def _track(rows: Rows) -> tuple[str, list[str]]:
    """Whom the rows count with, and their names: the whole suite if all of it was met, else the paper's partners."""
    task, met = str(rows["task"][0]), set(rows.distinct("partner"))
    paper = [partner.name for partner in holdouts(task)]
    everybody = [partner.name for partner in members(SUITE, suite_of(task), ())]
    if met.issuperset(everybody):
        return SUITE, everybody
    missing = [name for name in paper if name not in met]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(paper)} held-out partners are missing, such as {missing[0]} - evaluate without --partners"
        )
    return PAPER_SUBSET, paper


def _check_episodes(rows: Rows) -> None:
    """Refuse a pair that did not play each of the episodes once."""
    for agent in rows.distinct("agent"):
        mine = rows.only(agent=agent)
        for partner in mine.distinct("partner"):
            played = np.sort(mine.only(partner=partner)["episode"])
            if len(np.unique(played)) < len(played):
                raise ValueError(
                    f"'{agent}' has two rows of one game with {partner} - give each training once, by its own name"
                )
            missing = np.setdiff1d(np.arange(EPISODES), played)
            if len(missing):
                raise ValueError(
                    f"'{agent}' played {EPISODES - len(missing)} of {EPISODES} episodes with {partner} - evaluate with "
                    f"--episodes {EPISODES}"
                )
            if len(played) > EPISODES:
                raise ValueError(f"'{agent}' played {len(played)} episodes with {partner} - evaluate {EPISODES} of them")


def file_name(text: str) -> str:
    """A name as a part of a path: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]


def read_entry(folder: Path) -> Entry:
    """An entry whose files are as they were written, whose rows keep the rules and whose figures are those of its rows."""
    values = read_json(folder / ENTRY, AGAIN)
    with reading(folder / ENTRY, AGAIN):
        entry = from_json(Entry, values, ENTRY)
    if file_digest(folder / ROWS) != entry.rows:
        raise ValueError(f"{folder / ROWS} is not the file that the entry was made of - {AGAIN}")
    track, kept = keep_rules(read_rows(folder / ROWS))
    again = entry_of(kept, track, entry.name, entry.privileged, entry.decisions, entry.link, entry.rows)
    for what in set(vars(entry)) - {"figures", "software"}:
        if getattr(again, what) != getattr(entry, what):
            raise ValueError(f"{folder / ENTRY} says {what} {getattr(entry, what)}, its rows {getattr(again, what)} - {AGAIN}")
    _same_figures(folder, entry.figures, again.figures)
    return entry


def _same_figures(folder: Path, told: Figures, found: Figures) -> None:
    """Refuse figures that the rows do not give."""
    pairs: Iterable[tuple[str, Any, Any]] = [
        (name, getattr(told, name), value) for name, value in vars(found).items() if name != "by_partner"
    ]
    pairs = [*pairs, *((name, told.by_partner.get(name, np.nan), share) for name, share in found.by_partner.items())]
    for name, said, value in pairs:
        if not abs(said - value) <= (NEAR if name in ("low", "high") else 10.0**-ROUNDED):
            raise ValueError(f"{folder / ENTRY} says {name} {said}, its rows {value} - {AGAIN}")


def read_entries(folder: Path) -> list[Entry]:
    """All entries in a folder, the best of each task first."""
    found = [read_entry(place.parent) for place in sorted(folder.glob(f"*/{ENTRY}"))]
    return sorted(found, key=lambda entry: (entry.task, entry.partners, -entry.figures.success, entry.name))
