"""`housemates partners ...`: all agents, and any two of them (or more) in one game."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress
from housemates.run_folder import runs_in

if TYPE_CHECKING:
    from housemates.agents.agent import Agent

COLUMNS = ("name", "kind", "task", "sees", "method", "seed", "decisions", "success")


def list_partners(folders: Positional[tuple[Path, ...]] = (), /, task: TaskName | None = None) -> None:
    """List all agents: scripts, the random policy, policies that come with the package, members and agents of runs.

    A person can act as well (`housemates play`), and so can a function of yours: write it as package.module:function.

    Args:
        folders: Folders of runs, or folders in which runs lie; default: runs.
        task: Only those that were trained for one task (scripts do every task).
    """
    from housemates.agents.agent import resolve, scripted, shipped
    from housemates.sim.scripts import SCRIPTS

    found = [*(scripted(name) for name in SCRIPTS), *resolve("random"), *shipped()]
    for run in dict.fromkeys(run for folder in folders or (Path("runs"),) for run in runs_in(folder)):
        found += of_run(run)
    shown = [p for p in found if task is None or p.meta.get("task", task) == task]
    print(table([COLUMNS, *(row(p) for p in shown)]))
    print("\nnext: housemates partners card NAME, or: housemates partners play NAME NAME", file=sys.stderr)


def play_partners(
    names: Positional[tuple[str, ...]],
    /,
    task: TaskName | None = None,
    split: SplitName = "dev",
    episodes: int = 20,
    seed: int = 0,
    greedy: bool = False,
) -> None:
    """Let agents play together: one name for each robot. A run's folder stands for all its members, each in turn.

    Args:
        names: Who moves each robot: script/NAME, random, RUN (its population), RUN/3, RUN/z5, RUN/agent, the folder of a
            policy, package.module:function, or a name that `housemates partners` lists.
        task: What is to be done; default: what the first of them was trained for.
        split: The homes.
        episodes: How many of the split's episodes.
        seed: Of everything that is drawn.
        greedy: Take the likeliest action instead of sampling.
    """
    from itertools import product

    from housemates.agents.agent import resolve
    from housemates.evaluation.crossplay import Pair, crossplay

    if len(names) < 2:
        raise ValueError("give at least two who play together, for example: housemates partners play random script/solo")
    teams = [resolve(name, task) for name in names]
    known = [p.meta["task"] for team in teams for p in team if p.meta.get("task")]
    what = task or next(iter(known), "tidy_house")
    if any(other != what for other in known):
        raise ValueError(f"they were trained for {' and '.join(dict.fromkeys(known))} - choose partners for one task")
    homes = load_homes(split)
    played = load_set(what, split, homes)
    pairs = [Pair(team[0], tuple(team[1:])) for team in product(*teams)]
    threads = len(os.sched_getaffinity(0))
    with progress("games") as report:
        rows = crossplay(pairs, played, homes, count=episodes, seed=seed, greedy=greedy, threads=threads, progress=report)
    outcomes = {name: rows.column(name).to_numpy(zero_copy_only=False) for name in ("success", "collision", "timeout", "steps")}
    print(f"{what}, {episodes} episodes of {split}, seed {seed}")
    lines = [("team", "success", "collision", "time-out", "steps")]
    for k, pair in enumerate(pairs):
        mine = {name: values[k * episodes : (k + 1) * episodes] for name, values in outcomes.items()}
        rates = [f"{100 * mine[name].mean():.0f} %" for name in ("success", "collision", "timeout")]
        lines.append((" + ".join(p.name for p in (pair.agent, *pair.partners)), *rates, f"{mine['steps'].mean():.0f}"))
    print(table(lines))


def card_of(name: Positional[str], /) -> None:
    """Print the model card of a policy as Markdown: task, observations, training budget, scores, limits.

    Args:
        name: A policy: a name that `housemates partners` lists, RUN/agent, RUN/3, RUN/z5 or the folder of a policy.
    """
    from housemates.agents.agent import resolve
    from housemates.agents.cards import card

    print("\n".join(card(agent) for agent in resolve(name)))


def ship_partners(runs: Positional[tuple[Path, ...]], /, root: Path | None = None) -> None:
    """Copy the coordination agents of runs into the package, for maintainers; they must have been evaluated on dev.

    Args:
        runs: Folders of runs.
        root: Another folder than the package's `agents`.
    """
    from housemates.evaluation.holdouts import ship_agent

    for run in runs:
        place = ship_agent(run, root)
        print(f"{place} ({sum(f.stat().st_size for f in place.iterdir()) / 1000:.0f} kB)")


def of_run(run: Path) -> list[Agent]:
    """Members and agent of a run, as far as they have been trained; a run that cannot be read is told in a line."""
    from housemates.agents.agent import agent, population

    found: list[Agent] = []
    for what in (population, lambda folder: [agent(folder)]):
        try:
            found += what(run)
        except FileNotFoundError:
            continue
        except ValueError as error:
            print(f"note: {error}")
    return found


def row(partner: Agent) -> tuple[str, ...]:
    """A partner as a line of the table; success is that of members with themselves or in training, of what comes with the
    package on dev with its mate, of an agent with the partners of its training."""
    meta = partner.meta
    success = next((meta[k] for k in ("self_play_success", "success", "mate", "train_pop") if meta.get(k) is not None), None)
    return (
        partner.name + (" (holdout)" if meta.get("holdout") else ""),
        partner.kind,
        str(meta.get("task", "all" if partner.kind in ("script", "random") else "?")),
        str(meta.get("observations", "-")),
        str(meta.get("method", "-")),
        str(meta.get("seed", "-")),
        f"{meta['decisions']:,}" if "decisions" in meta else "-",
        "-" if success is None else f"{100 * success:.0f} %",
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as text in columns."""
    widths = [max(len(cells[k]) for cells in rows) for k in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)).rstrip() for cells in rows)
