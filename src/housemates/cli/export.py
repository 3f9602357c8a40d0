"""`housemates export`: games as a dataset for imitation learning (docs/howto/datasets.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress


def export(
    agents: Annotated[tuple[str, ...], arg(aliases=["--agent"])] = (),
    partners: Annotated[tuple[str, ...], arg(aliases=["--partner"])] = (),
    games: Path | None = None,
    observations: tuple[str, ...] = ("state", "predicates"),
    size: int = 64,
    robots_of: Literal["all", "agent", "partner"] = "all",
    only: Literal["all", "successes"] = "all",
    split: SplitName = "train",
    episodes: int = 100,
    task: TaskName | None = None,
    seed: int = 0,
    greedy: bool = False,
    robots: int = 2,
    threads: int | None = None,
    out: Path = Path("dataset"),
) -> None:
    """Let agents play with partners, or take games that people have played, and write every decision as a dataset.

    One row per decision with what the robot sensed, what it chose, how likely that was, what it earned until its next decision,
    who moved it, and how the game ended. `housemates.load_dataset(folder)` reads it.

    Args:
        agents: Who is the agent of the games: script/solo, RUN/agent, RUN/3, RUN/z5, ... as for `housemates evaluate`.
        partners: Each agent plays with each of these.
        games: Instead of playing: a folder of games that people have played (see `housemates play`).
        observations: Of state, predicates, depth, rgb, segmentation, gps_compass, laser, laser_robots, track,
            egomotion, receptacles, window, privileged.
        size: Side of pictures in pixels.
        robots_of: Whose decisions are written.
        only: Write all games, or those that ended in success.
        split: The homes. Keep eval and test for evaluation.
        episodes: How many of the split's episodes every pair plays.
        task: What is to be done; default: what the first agent was trained for.
        seed: Of everything that is drawn: another seed, other games of the same episodes.
        greedy: Policies take the likeliest action instead of sampling.
        robots: Robots in each home; all but one are moved by the partner.
        threads: Of simulator, renderer and networks; they change nothing but the time (default: all cores).
        out: The folder, which must not exist yet.
    """
    from housemates.datasets.write import check_folder
    from housemates.evaluation.evaluate import of_list

    if (games is None) == (not agents):
        raise ValueError("export what? - give --agents with --partners, or --games with a folder of games")
    check_folder(out)
    if games is not None:
        counts = _of_people(games, out, observations, size, robots_of, only)
    else:
        if not partners and robots > 1:
            raise ValueError("no partners for the agents - add --partners, such as script/noop or RUN")
        from housemates.agents.agent import is_holdout
        from housemates.datasets.export import export_games

        what, rules, pairs = of_list(agents, partners, (), task, robots)
        for name in dict.fromkeys(p.name for pair in pairs for p in pair.partners if is_holdout(p)):
            print(f"note: {name} is a holdout - who learns from these games must not be evaluated with it")
        homes = load_homes(split)
        played = load_set(what, split, homes)
        workers = threads or len(os.sched_getaffinity(0))
        with progress("games") as report:
            counts = export_games(
                out, pairs, played, homes, rules, observations=observations, pixels=size, robots_of=robots_of, only=only,
                count=episodes, seed=seed, greedy=greedy, threads=workers, progress=report,
            )  # fmt: skip
    bytes_there = sum(file.stat().st_size for file in out.iterdir())
    print(f"{counts['games']} games, {counts['successes']} of them successes, {counts['decisions']} decisions")
    print(f"{out}: {bytes_there / 1e6:.1f} MB - read it with: housemates.load_dataset({str(out)!r})")


def _of_people(folder: Path, out: Path, observations: tuple[str, ...], size: int, robots_of: str, only: str) -> dict[str, int]:
    """Write the games of a folder."""
    from housemates.datasets.export import export_recordings
    from housemates.web.games import find_games

    found = [recording for _, recording in find_games(folder)]
    with progress("games") as report:
        return export_recordings(
            out, found, observations=observations, pixels=size, robots_of=robots_of, only=only, progress=report
        )
