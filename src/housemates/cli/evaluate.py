"""`housemates evaluate`: how well does an agent work with partners it has never met, in homes it has never seen?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from housemates.cli.homes import SplitName, TaskName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from housemates.evaluation.metrics import Rows
    from housemates.evaluation.protocol import Line

CROSSPLAY = Path("crossplay.parquet")
"""Where rows of agents without a run go if nothing else is said."""


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
    look_ahead: bool = False,
    threads: int | None = None,
    out: Path | None = None,
) -> None:
    """Let an agent play every episode with every partner, and write one row per game; of a run, a few games as recordings.

    For a run: its agent with the partners of its training, with all held-out partners of the task, and the controls: the
    agent blind to its partner, a scripted solo robot, a random partner. A run without a coordination agent (gt_coord) plays as
    a team, a best response with its partner, and a robot that was trained alone (solo) plays alone. With --agents and
    --partners: any of them with any, such as script/noop, random, RUN/3, RUN/z5, RUN/agent; --agents alone meet the holdouts.
    Interrupted, it keeps the games that were played, and the same command goes on with the others.

    Args:
        run: The folder of a run that is complete.
        agents: Evaluate these instead of a run's agent; pretrained/NAME comes with the package (see `housemates partners`).
        partners: Meet these instead of the paper's holdouts: suite (all held-out partners of the task), suite/FAMILY, or names.
        holdouts: Folders of further holdouts (see `housemates holdouts train`) beside those that come with the package.
        allow: Functions (package.module:function) that the list of partners in a run may name; what only a file names is
            never run.
        members: Members of a run without coordination agent also meet the held-out partners, each as an agent.
        split: The homes; choose settings on dev, look at eval once.
        episodes: How many of the split's episodes.
        task: What is to be done; default: what the first agent was trained for.
        seed: Of everything that is drawn: the same for all pairs.
        greedy: Take the likeliest action instead of sampling.
        robots: Robots in each home, with --agents; all but one are moved by the partner.
        look_ahead: Agents look ahead before they act near a partner: where it goes is guessed, and decisions that would end in
            a collision are replaced (docs/concepts/methods/lookahead.md). Any command takes NAME+lookahead as the name of
            such an agent.
        threads: Of simulator, renderer and networks; they change nothing but the time (default: all cores).
        out: The parquet file of the rows; default: RUN/evaluation/episodes.parquet (with another split or --greedy its name
            says so), or crossplay.parquet.
    """
    from housemates.evaluation import evaluate as evaluation
    from housemates.evaluation.metrics import rows_of
    from housemates.reports.work import warnings

    done = evaluation.evaluate(
        run, agents=agents, partners=partners, holdouts=holdouts, allow=allow, members=members, split=split, episodes=episodes,
        task=task, seed=seed, greedy=greedy, robots=robots, look_ahead=look_ahead,
        threads=threads, out=out or (CROSSPLAY if run is None else None),
    )  # fmt: skip
    words = f"{done.task}, {episodes} episodes of {split}, seed {seed}{', greedy' if greedy else ''}"
    print(f"{words}; ± standard error over episodes")
    show(done.summary)
    if not done.zero_shot:
        print("note: this agent was trained with holdouts (zero_shot = false); its rows with them are no zero-shot results")
    rows = rows_of(done.rows)
    for line in near_best(rows):
        print(line)
    for note in warnings(rows):
        print(f"note: {note}")
    print(f"{done.rows.num_rows} rows: {done.file}")
    if done.recordings is not None:
        print(f"some of the games to look at: housemates watch {done.recordings}")
    print(f"next: housemates report {done.file if run is None else run}")


def near_best(rows: Rows) -> list[str]:
    """BR-Prox of every agent that met held-out partners whose best response is known, as lines."""
    from housemates.evaluation.bounds import known_bounds
    from housemates.evaluation.metrics import proximity

    best, found = known_bounds(rows), []
    for agent in rows.only(evaluation="zsc").distinct("agent"):
        near = proximity(rows.only(evaluation="zsc", agent=agent), best)
        if near.partners:
            many = f"{near.partners} of {near.partners + near.left_out} partners have a best response"
            above = f", {near.exceeded} of them are exceeded" if near.exceeded else ""
            found.append(f"BR-Prox of {agent}: {near.value:.2f} ({many}{above})")
    return found


def show(lines: Sequence[Line]) -> None:
    """Print the lines of a summary."""
    width = max(len(line.what) for line in lines)
    print(f"{'':<{width}}  {'games':>6}  {'success':>12}  {'collision':>12}  {'time-out':>12}")
    for what, games, rates in lines:
        cells = "".join(f"  {100 * mean:5.1f} ± {100 * error:4.1f}" for mean, error in rates)
        print(f"{what:<{width}}  {games:>6}{cells}")
