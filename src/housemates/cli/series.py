"""`housemates series`: does an agent do better the longer it works with the same partner?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from housemates.cli.homes import SplitName, TaskName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from housemates.evaluation.series import Place


def series(
    run: Positional[Path | None] = None,
    /,
    agents: Annotated[tuple[str, ...], arg(aliases=["--agent"])] = (),
    partners: Annotated[tuple[str, ...], arg(aliases=["--partner"])] = (),
    holdouts: tuple[Path, ...] = (),
    games: int = 5,
    forget: bool = False,
    split: SplitName = "eval",
    episodes: int = 100,
    task: TaskName | None = None,
    seed: int = 0,
    threads: int | None = None,
    out: Path | None = None,
) -> None:
    """Let an agent play several games in a row with each partner, and compare the later games with the first ones.

    The agent keeps its memory from game to game. Every episode is played at every place of a series, so games with different
    numbers differ only in what was played before. Train agents for this with `housemates train --change games=5`.

    Args:
        run: The folder of a run that is complete; its agent plays.
        agents: These play instead; pretrained/NAME comes with the package.
        partners: Meet these instead of the paper's holdouts: suite, suite/FAMILY, or names.
        holdouts: Folders of further holdouts beside those that come with the package.
        games: How many in a row.
        forget: The agent forgets after each game, for comparison.
        split: The homes; choose settings on dev, look at eval once.
        episodes: How many of the split's episodes, a multiple of --games.
        task: What is to be done; default: what the first agent was trained for.
        seed: Of everything that is drawn.
        threads: Of simulator, renderer and networks (default: all cores).
        out: The parquet file of the rows; default: RUN/evaluation/series-GAMES-SPLIT.parquet (with --forget its name says
            so), or series.parquet.
    """
    from housemates.evaluation.evaluate import evaluate_series
    from housemates.evaluation.metrics import rows_of
    from housemates.evaluation.series import by_place
    from housemates.reports.series import draw_series

    done = evaluate_series(
        run, agents=agents, partners=partners, holdouts=holdouts, games=games, forget=forget, split=split, episodes=episodes,
        task=task, seed=seed, threads=threads, out=out or (Path("series.parquet") if run is None else None),
    )  # fmt: skip
    rows = rows_of(done.rows)
    memory = "forgets after each game" if forget else "keeps its memory"
    print(f"{done.task}, {episodes} episodes of {split} at each place of series of {games} games; the agent {memory}")
    show(by_place(rows))
    print(f"{done.rows.num_rows} rows: {done.file}")
    if done.file is not None:
        for place in draw_series({memory: rows}, done.file.with_suffix("")):
            print(place)


def show(places: Sequence[Place]) -> None:
    """Print one line for each number of a game."""
    rates = f"{'success':>7}  {'collision':>9}  {'time-out':>8}"
    print(f"{'game':>4}  {'games':>6}  {rates}  {'against the first game':>24}  efficiency")
    for p in places:
        gain = f"{100 * p.gain:+.1f} [{100 * p.low:+.1f}, {100 * p.high:+.1f}]"
        rates = f"{100 * p.success:>7.1f}  {100 * p.collision:>9.1f}  {100 * p.timeout:>8.1f}"
        print(f"{p.game + 1:>4}  {p.games:>6}  {rates}  {gain:>24}  {100 * p.efficiency:+.1f}")
