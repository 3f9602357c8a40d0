"""`housemates evaluate`: how well does an agent work with partners it has never met, in homes it has never seen?"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress
from housemates.run_folder import RECORDINGS, RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from housemates.agents.agent import Partner
    from housemates.evaluation.crossplay import Pair
    from housemates.evaluation.resume import Kept
    from housemates.sim.rules import Rules


def evaluate(
    run: Positional[Path | None] = None,
    /,
    agents: Annotated[tuple[str, ...], arg(aliases=["--agent"])] = (),
    partners: Annotated[tuple[str, ...], arg(aliases=["--partner"])] = (),
    holdouts: tuple[Path, ...] = (),
    allow: tuple[str, ...] = (),
    members: bool = False,
    split: SplitName = "eval",
    episodes: int = 100,
    task: TaskName | None = None,
    seed: int = 0,
    greedy: bool = False,
    robots: int = 2,
    threads: int | None = None,
    out: Path | None = None,
) -> None:
    """Let an agent play every episode with every partner, and write one row per game; of a run, a few games as recordings.

    For a run: its agent with the partners of its training, with all holdouts of the task (strangers), and the controls: the
    agent blind to its partner, a scripted solo robot, a random partner. A run without a coordination agent (gt_coord, solo)
    plays as a team, a best response with its partner alone. With --agents and --partners: any of them with any, such as
    script/noop, random, RUN/3, RUN/z5, RUN/agent; --agents alone meet the holdouts. Interrupted, it keeps the games that were
    played, and the same command goes on with the others.

    Args:
        run: The folder of a run that is complete.
        agents: Evaluate these instead of a run's agent; pretrained/NAME comes with the package (see `housemates partners`).
        partners: Meet these instead of the holdouts.
        holdouts: Folders of further holdouts (see `housemates holdouts train`) beside those that come with the package.
        allow: Functions (package.module:function) that the list of partners in a run may name; what only a file names is
            never run.
        members: Members of a run without coordination agent also meet the strangers, each as an agent of its own.
        split: The homes; choose settings on dev, look at eval once.
        episodes: How many of the split's episodes.
        task: What is to be done; default: what the first agent was trained for.
        seed: Of everything that is drawn: the same for all pairs.
        greedy: Take the likeliest action instead of sampling.
        robots: Robots in each home, with --agents; all but one are moved by the partner.
        threads: Of simulator, renderer and networks; they change nothing but the time (default: all cores).
        out: The parquet file of the rows; default: RUN/evaluation/episodes.parquet (with another split or --greedy its name
            says so), or crossplay.parquet.
    """
    from housemates.agents import agent as registry
    from housemates.evaluation.crossplay import check_count, crossplay
    from housemates.evaluation.metrics import rows_of
    from housemates.evaluation.recordings import save_examples
    from housemates.evaluation.resume import kept_beside
    from housemates.evaluation.rows import write_rows
    from housemates.io import check_place
    from housemates.reports.summary import warnings

    registry.allow(allow)
    if (run is None) == (not agents):
        raise ValueError("evaluate what? - give the folder of a run, or --agents with --partners")
    if run is not None:
        what, rules, pairs = of_run(run, partners, holdouts, members, task)
        file = out or RunFolder(run).rows(split, greedy)
    else:
        what, rules, pairs = of_list(agents, partners, holdouts, task, robots)
        file = out or Path("crossplay.parquet")
    check_place(file)
    homes = load_homes(split)
    played = load_set(what, split, homes)
    workers = threads or len(os.sched_getaffinity(0))
    check_count(episodes, played)
    kept = kept_beside(file, pairs, played, homes, rules, episodes, seed, greedy) if pairs else None
    with interruptible(kept), progress("evaluation") as report:
        rows = crossplay(
            pairs, played, homes, rules,
            count=episodes, seed=seed, greedy=greedy, threads=workers, kept=kept, progress=report,
        )  # fmt: skip
    write_rows(file, rows)
    if kept is not None:
        kept.remove()
    if run is not None:
        save_examples(file.parent / RECORDINGS, pairs, played, homes, rules, episodes, seed, greedy)
    print(f"{what}, {episodes} episodes of {split}, seed {seed}{', greedy' if greedy else ''}; ± standard error over episodes")
    show(rows)
    if any(not pair.agent.meta.get("zero_shot", True) for pair in pairs):
        print("note: this agent was trained with holdouts (zero_shot = false); its rows with them are no zero-shot results")
    for words in warnings(rows_of(rows)):
        print(f"note: {words}")
    print(f"{rows.num_rows} rows: {file}")
    if run is not None:
        print(f"some of the games to look at: housemates watch {file.parent / RECORDINGS}")


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
    run: Path, partners: tuple[str, ...], folders: tuple[Path, ...], members: bool, task: str | None
) -> tuple[str, Rules, list[Pair]]:
    """Task, rules and pairs of the evaluation of a run."""
    from housemates.evaluation.protocol import run_pairs
    from housemates.methods import METHODS
    from housemates.runs.run import read

    settings = read(run)
    if task not in (None, settings.task):
        raise ValueError(f"{run} was trained for {settings.task}, not for {task} - leave out --task")
    two_stages = 2 in settings.stages
    if not RunFolder(run).complete():
        raise ValueError(f"{run} is not trained to its end - continue it: housemates train --resume {run}")
    robots = settings.robots
    entrant = two_stages and not METHODS[settings.method].one_partner
    found = strangers(settings.task, partners, folders) if entrant or members or partners else []
    return settings.task, settings.training.rules, run_pairs(run, found, robots, members or bool(partners))


def of_list(
    agents: tuple[str, ...], partners: tuple[str, ...], folders: tuple[Path, ...], task: str | None, robots: int
) -> tuple[str, Rules, list[Pair]]:
    """Task, rules and pairs of any agents with any partners (without --partners: with the holdouts, and the controls)."""
    from housemates.agents.agent import resolve_all
    from housemates.evaluation.crossplay import pair_up
    from housemates.evaluation.holdouts import run_of
    from housemates.evaluation.protocol import agent_pairs

    found = resolve_all(agents, task)
    what = task or next((p.meta["task"] for p in found if p.meta.get("task")), None)
    if what is None:
        raise ValueError("the agents do not say what they were trained for - add --task")
    resolve_all(agents, what)
    rules = common_rules([run for p in found if (run := run_of(p)) is not None])
    met = strangers(what, partners, folders)
    if partners:
        pairs = pair_up(found, met, robots=robots)
    else:
        pairs = list(dict.fromkeys(pair for agent in found for pair in agent_pairs(agent, (), met, robots)))
    return what, rules, pairs


def common_rules(runs: Iterable[Path]) -> Rules:
    """The rules that all runs were trained by, but for their rewards; the usual ones if there is no run."""
    from housemates.runs.run import read
    from housemates.sim.rules import Rules

    games = {replace(read(run).training.rules, reward=Rules().reward) for run in runs}
    if len(games) > 1:
        raise ValueError("the agents were trained by different rules (speed, interruption) - evaluate them one by one")
    return games.pop() if games else Rules()


def strangers(task: str, partners: tuple[str, ...], folders: tuple[Path, ...]) -> list[Partner]:
    """The partners that were named, or all holdouts of a task."""
    from housemates.agents.agent import resolve_all
    from housemates.evaluation.holdouts import holdouts

    if partners:
        return resolve_all(partners, task)
    found = holdouts(task, folders)
    if all(p.kind == "script" for p in found):
        print(f"note: there are no learned holdouts for {task} - make some: housemates holdouts train --task {task}")
    return found


def show(rows: pa.Table) -> None:
    """Print the means of rows, with a line for each partner."""
    from housemates.evaluation.protocol import summary

    lines = summary(rows)
    width = max(len(line.what) for line in lines)
    print(f"{'':<{width}}  {'games':>6}  {'success':>12}  {'collision':>12}  {'time-out':>12}")
    for what, games, rates in lines:
        cells = "".join(f"  {100 * mean:5.1f} ± {100 * error:4.1f}" for mean, error in rates)
        print(f"{what:<{width}}  {games:>6}{cells}")
