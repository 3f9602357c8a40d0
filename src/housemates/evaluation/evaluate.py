"""Evaluate agents with partners they have never met: what `housemates evaluate` and `housemates.evaluate` do."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from housemates.agents import agent as registry
from housemates.agents.agent import Agent, looking, resolve_all
from housemates.envs.loading import load_homes, load_set, progress
from housemates.evaluation.alone import alone_rows, plays_alone
from housemates.evaluation.crossplay import Pair, check_count, crossplay, pair_up
from housemates.evaluation.holdouts import holdouts as all_holdouts
from housemates.evaluation.holdouts import named_partners, run_of
from housemates.evaluation.protocol import Line, agent_pairs, run_pairs, team_pairs
from housemates.evaluation.protocol import summary as summarise
from housemates.evaluation.recordings import save_examples
from housemates.evaluation.resume import Kept, kept_beside
from housemates.evaluation.rows import write_rows
from housemates.evaluation.series import play_series
from housemates.evaluation.suite import is_suite
from housemates.homes.sources import resolve_homes
from housemates.io import check_place
from housemates.lookahead.settings import as_look_ahead
from housemates.methods import METHODS
from housemates.run_folder import RECORDINGS, RunFolder
from housemates.runs.run import read
from housemates.sim.rules import Rules
from housemates.tasks.tasks import resolve_task

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was played, and how it ended."""

    task: str
    rows: pa.Table
    """One row per game (see `evaluation.rows.COLUMNS`)."""
    summary: list[Line]
    """Success, collisions and time-outs of each agent with all its partners and with each of them, and of the controls."""
    file: Path | None
    """The parquet file of the rows; None if they were not written."""
    recordings: Path | None
    """The folder with a few of the games of a run."""
    zero_shot: bool
    """Whether no agent was trained with holdouts."""


def evaluate(
    run: Path | str | None = None,
    *,
    agents: Sequence[str] = (),
    partners: Sequence[str] = (),
    holdouts: Sequence[Path | str] = (),
    allow: Sequence[str] = (),
    members: bool = False,
    split: str = "eval",
    episodes: int = 100,
    task: str | None = None,
    seed: int = 0,
    greedy: bool = False,
    robots: int = 2,
    look_ahead: bool | str = False,
    threads: int | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
) -> Evaluation:
    """Let an agent play every episode with every partner; returns one row per game and a summary of them.

    run: the folder of a complete run. Its rows and a few games as recordings are written into it. agents: anybody else instead,
    by name; their rows are written only if `out` names a file. look_ahead: the agents look ahead before they act near a partner
    (True, or one of `lookahead.settings.VARIANTS`); partners do not. Everything else as `housemates evaluate --help` says. An
    interrupted evaluation keeps the games that were played, and the same call plays the others.
    """
    registry.allow(allow)
    task, split = None if task is None else resolve_task(task).name, resolve_homes(split)
    if (run is None) == (not agents):
        raise ValueError("evaluate what? - give the folder of a run, or --agents with --partners")
    folders, file = [Path(folder) for folder in holdouts], Path(out) if out else None
    if run is not None:
        what, rules, pairs = of_run(Path(run), partners, folders, members, task)
        file = file or rows_file(Path(run), split, greedy, look_ahead)
    else:
        what, rules, pairs = of_list(agents, partners, folders, task, robots)
    pairs = look_ahead_pairs(pairs, look_ahead)
    if file is not None:
        check_place(file)
    homes = load_homes(split, not quiet)
    played = load_set(what, split, homes, not quiet)
    workers = threads or len(os.sched_getaffinity(0))
    check_count(episodes, played)
    settings = {"count": episodes, "seed": seed, "greedy": greedy, "threads": workers}
    lone = [pair.agent for pair in pairs if not pair.partners]
    kept = kept_beside(file, pairs, played, homes, rules, episodes, seed, greedy) if pairs and file and not lone else None
    with interruptible(kept), progress("evaluation", not quiet) as report:
        if lone:
            rows = alone_rows(lone, played, homes, rules, **settings, progress=report)
        else:
            rows = crossplay(pairs, played, homes, rules, **settings, kept=kept, progress=report)
    recordings = None
    if file is not None:
        write_rows(file, rows)
    if kept is not None:
        kept.remove()
    if run is not None and file is not None:
        recordings = file.parent / RECORDINGS
        save_examples(recordings, pairs, played, homes, rules, episodes, seed, greedy)
    zero_shot = all(pair.agent.meta.get("zero_shot", True) for pair in pairs)
    return Evaluation(what, rows, summarise(rows), file, recordings, zero_shot)


def evaluate_series(
    run: Path | str | None = None,
    *,
    agents: Sequence[str] = (),
    partners: Sequence[str] = (),
    holdouts: Sequence[Path | str] = (),
    games: int = 5,
    forget: bool = False,
    split: str = "eval",
    episodes: int = 100,
    task: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
) -> Evaluation:
    """Let an agent play `games` games in a row with each partner (see `evaluation.series`); returns one row per game.

    run: the folder of a complete run, whose agent plays; agents: anybody else instead. forget: the agent forgets after each
    game. Everything else as `housemates series --help` says.
    """
    task, split = None if task is None else resolve_task(task).name, resolve_homes(split)
    if (run is None) == (not agents):
        raise ValueError("whose games? - give the folder of a run, or --agents")
    folders, file = [Path(folder) for folder in holdouts], Path(out) if out else None
    if run is not None:
        what, rules, pairs = of_run(Path(run), partners, folders, False, task)
        name = f"series-{games}-{split}{'-forget' if forget else ''}.parquet"
        file = file or RunFolder(Path(run)).rows(split).with_name(name.replace(":", "_").replace("/", "_"))
    else:
        what, rules, pairs = of_list(agents, partners, folders, task, 2)
    pairs = [pair for pair in pairs if pair.control == "" and pair.evaluation != "train_pop"]
    if not pairs:
        raise ValueError("there is no agent that meets partners - give a run with a coordination agent, or --agents")
    if file is not None:
        check_place(file)
    homes = load_homes(split, not quiet)
    played = load_set(what, split, homes, not quiet)
    workers = threads or len(os.sched_getaffinity(0))
    check_count(episodes, played)
    with progress("series", not quiet) as report:
        rows = play_series(
            pairs, played, homes, rules,
            games=games, keeps=not forget, count=episodes, seed=seed, threads=workers, progress=report,
        )  # fmt: skip
    if file is not None:
        write_rows(file, rows)
    zero_shot = all(pair.agent.meta.get("zero_shot", True) for pair in pairs)
    return Evaluation(what, rows, summarise(rows), file, None, zero_shot)


def look_ahead_pairs(pairs: Sequence[Pair], look_ahead: bool | str) -> list[Pair]:
    """The same pairs, but their agents look ahead; without the scripted control, whose games are those of any evaluation."""
    ahead = as_look_ahead(look_ahead)
    if ahead is None:
        return list(pairs)
    return [replace(pair, agent=looking(pair.agent, ahead)) for pair in pairs if pair.control != "solo"]


def rows_file(run: Path, split: str, greedy: bool, look_ahead: bool | str) -> Path:
    """Where the rows of a run are written; those with look-ahead beside those without."""
    file = RunFolder(run).rows(split, greedy)
    ahead = as_look_ahead(look_ahead)
    return file if ahead is None else file.with_name(f"{file.stem}-lookahead_{ahead.variant}{file.suffix}")


@contextmanager
def interruptible(kept: Kept | None) -> Generator[None]:
    """While games are played, an interrupt (Ctrl-C) or a termination ends them, and says what of them is kept."""

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, end) if ours else None
    try:
        yield
    except KeyboardInterrupt:
        if kept is None or not kept.done.any():
            raise
        games = f"{int(kept.done.sum())} of {len(kept.done)} games are kept"
        raise KeyboardInterrupt(f"{games} - the same command goes on with the others") from None
    finally:
        if ours:
            signal.signal(signal.SIGTERM, before)


def of_run(
    run: Path, partners: Sequence[str], folders: Sequence[Path], members: bool, task: str | None
) -> tuple[str, Rules, list[Pair]]:
    """Task, rules and pairs of the evaluation of a run."""
    settings = read(run)
    if task not in (None, settings.task):
        raise ValueError(f"{run} was trained for {settings.task}, not for {task} - leave out --task")
    if not RunFolder(run).complete():
        raise ValueError(f"{run} is not trained to its end - continue it: housemates train --resume {run}")
    spec, two_stages = METHODS.get(settings.method), 2 in settings.stages
    if not two_stages and len(registry.population(run)) != settings.robots:
        raise ValueError(f"{run} has a population and no agent - train one: housemates train --resume {run} --stage 2")
    entrant = two_stages and not (spec is not None and spec.one_partner)
    found = held_out(settings.task, partners, folders) if entrant or members or partners else []
    compared = not (partners and all(map(is_suite, partners)))
    pairs = run_pairs(run, found, settings.robots, members or bool(partners), compared)
    return settings.task, settings.training.rules, pairs


def of_list(
    agents: Sequence[str], partners: Sequence[str], folders: Sequence[Path], task: str | None, robots: int
) -> tuple[str, Rules, list[Pair]]:
    """Task, rules and pairs of any agents with any partners (without --partners: with the holdouts, and the controls)."""
    found = resolve_all(agents, task)
    what = task or next((p.meta["task"] for p in found if p.meta.get("task")), None)
    if what is None:
        raise ValueError("the agents do not say what they were trained for - add --task")
    resolve_all(agents, what)
    rules = common_rules([run for p in found if (run := run_of(p)) is not None])
    if all(map(plays_alone, found)) and not partners:
        return what, rules, [pair for agent in found for pair in team_pairs([agent])]
    met = held_out(what, partners, folders)
    if partners and not all(map(is_suite, partners)):
        pairs = pair_up(found, met, robots=robots)
    else:
        pairs = [pair for agent in found for pair in agent_pairs(agent, (), met, robots, compared=not partners)]
        pairs = list(dict.fromkeys(pairs))
    return what, rules, pairs


def common_rules(runs: Iterable[Path]) -> Rules:
    """The rules that all runs were trained by, but for their rewards; the usual ones if there is no run."""
    games = {replace(read(run).training.rules, reward=Rules().reward) for run in runs}
    if len(games) > 1:
        raise ValueError("the agents were trained by different rules (speed, interruption) - evaluate them one by one")
    return games.pop() if games else Rules()


def held_out(task: str, partners: Sequence[str], folders: Sequence[Path]) -> list[Agent]:
    """The partners that were named, or all holdouts of a task."""
    if partners:
        return named_partners(partners, task, folders)
    found = all_holdouts(task, folders)
    if all(p.kind == "script" for p in found):
        command = f"housemates holdouts train --task {task}"
        warnings.warn(f"there are no learned holdouts for {task} - make some: {command}", stacklevel=3)
    return found
