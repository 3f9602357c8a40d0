"""Repeated interaction: several games in a row with the same partner, with or without memory of the earlier ones.

Every episode is played at every place of a series: the episodes of a block are played in all their rotations. So games with
different numbers differ in nothing but what was played before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from housemates.agents.actors import Actor, inference
from housemates.evaluation.crossplay import Pair, check_count, common_columns, pair_rows, solo_steps, teams_of
from housemates.evaluation.metrics import Rows, efficiency_gain
from housemates.evaluation.play import Games, seat_order
from housemates.evaluation.rows import join_rows
from housemates.homes.home import Home
from housemates.sim.rules import Reward, Rules
from housemates.sim.world import World, pack
from housemates.tasks.episodes import Episodes

if TYPE_CHECKING:
    import pyarrow as pa

EVALUATION = "series"


def rotations(ids: np.ndarray, games: int) -> np.ndarray:
    """Series [S, games] of episodes: ids [n] in blocks of `games`, each block in all its rotations, so S = n."""
    if len(ids) % games:
        raise ValueError(f"{len(ids)} episodes do not make series of {games} games - use a multiple of it as --episodes")
    turns = (np.arange(games)[:, None] + np.arange(games)) % games
    return ids.reshape(-1, games)[:, turns].reshape(-1, games)


class Series(Games):
    """Every team plays every series, the games of one series one after the other in one home's place."""

    def __init__(
        self,
        episodes: Episodes,
        homes: Sequence[Home],
        teams: Sequence[Sequence[Actor]],
        rules: Rules,
        seed: int,
        ids: np.ndarray,
        games: int,
        keeps: bool,
        threads: int = 1,
        world: World | None = None,
    ) -> None:
        """As `play`; ids [n]: the episodes; keeps: whether the first of each team remembers earlier games of a series."""
        order = rotations(ids, games)
        super().__init__(episodes, homes, teams, rules, seed, False, order.ravel(), threads=threads, world=world)
        # An agent stays the same robot for a whole series, and in all rotations of a block.
        block = np.repeat(np.arange(len(ids) // games), games * games)
        self.robot = np.tile(seat_order(block, len(teams[0])), (len(teams), 1))
        self.number = np.tile(np.arange(games), len(self.team) // games)
        self.games, self.keeps = games, keeps

    def rounds(self) -> Iterator[np.ndarray]:
        """Play everything; after each call of the simulator come the games [n] that have just ended."""
        batch, following, last = self.batch, 0, np.full(self.batch.size, -1)
        while True:
            free = np.flatnonzero(self.job < 0)
            more = (last[free] >= 0) & ((last[free] + 1) % self.games > 0)
            going, fresh = free[more], free[~more][: (len(self.team) - following) // self.games]
            first = following + self.games * np.arange(len(fresh))
            following += self.games * len(fresh)
            slots, jobs = np.concatenate([going, fresh]), np.concatenate([last[going] + 1, first])
            last[free[~more]] = -1
            if len(slots):
                last[slots] = jobs
                self.begin(slots, jobs)
            if (self.job < 0).all():
                return
            batch.step(self.ask())
            ended = np.flatnonzero((self.job >= 0) & batch.state.over)
            over = self.job[ended]
            self.end(ended)
            yield over

    def begin(self, slots: np.ndarray, jobs: np.ndarray) -> None:
        """Start the games jobs [n] in slots [n]; agents keep their memory from the second game of a series on."""
        self.actors.keeps[slots] = False
        self.actors.keeps[slots, self.robot[jobs][:, 0]] = self.keeps & (self.number[jobs] > 0)
        super().begin(slots, jobs)


def play_series(
    pairs: Sequence[Pair],
    episodes: Episodes,
    homes: Sequence[Home],
    rules: Rules | None = None,
    *,
    games: int = 5,
    keeps: bool = True,
    count: int | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """Rows (see `rows`) of all pairs: each of the first `count` episodes (default all) at every place of a series.

    Starts and draws of an episode are the same at every place. keeps: whether agents remember the earlier games.
    """
    if games < 1:
        raise ValueError(f"--games {games} - it must be at least 1")
    rules = replace(rules or Rules(), reward=Reward())
    check_count(count, episodes)
    if not pairs:
        return join_rows([])
    which, world = np.arange(count or len(episodes)), pack(episodes, homes)
    teams, robots = teams_of(pairs), len(pairs[0].partners) + 1
    series = Series(episodes, homes, teams, rules, seed, which, games, keeps, threads, world)
    played = series.play(progress)
    alone = solo_steps(episodes, homes, rules, which, robots, world, threads)
    common = common_columns(episodes, homes, rules, robots) | {"seed": seed, "greedy": False, "keeps_memory": keeps}
    return join_rows(
        pair_rows(
            replace(pair, evaluation=EVALUATION), played, played.team == k, episodes, alone,
            common | {"inference": inference(teams[k])}, game=series.number[played.team == k],
        )
        for k, pair in enumerate(pairs)
    )  # fmt: skip


class Place(NamedTuple):
    """How games with one number in their series went."""

    game: int
    """From 0."""
    games: int
    success: float
    """From 0 to 1."""
    collision: float
    timeout: float
    gain: float
    """Success minus that of the first games of the same series' episodes and partners."""
    low: float
    high: float
    """The 95 % interval of `gain`, over episodes."""
    steps: float
    """Mean steps of the games that succeed at every place."""
    efficiency: float
    """The efficiency gain (see `metrics.efficiency_gain`)."""


def by_place(rows: Rows) -> list[Place]:
    """One line for each number of a game; differences are paired by episode and partner."""
    numbers = np.unique(rows["game"])
    key = np.array([f"{a}|{p}|{e}" for a, p, e in zip(rows["agent"], rows["partner"], rows["episode"], strict=True)])
    order = {n: np.flatnonzero(rows["game"] == n)[np.argsort(key[rows["game"] == n])] for n in numbers}
    first = order[numbers[0]]
    always = np.all([rows["success"][order[n]] for n in numbers], axis=0)
    found = []
    for n in numbers:
        at = order[n]
        gain, error = _paired(rows["success"][at].astype(float) - rows["success"][first], rows["episode"][at])
        steps = float(rows["steps"][at][always].mean()) if always.any() else np.nan
        rates = [float(rows[name][at].mean()) for name in ("success", "collision", "timeout")]
        interval = gain - 1.96 * error, gain + 1.96 * error
        found.append(Place(int(n), len(at), *rates, gain, *interval, steps, efficiency_gain(rows.only(game=n))))
    return found


def _paired(difference: np.ndarray, episode: np.ndarray) -> tuple[float, float]:
    """Mean of differences [N] and its standard error over episodes [N]."""
    means = np.array([difference[episode == e].mean() for e in np.unique(episode)])
    return float(difference.mean()), float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else np.nan
