"""How different are the members of a population? Numbers from games of every member with every other and with itself.

What a robot did in a game is told by the sub-goals it achieved and by the skills it executed. From these: mutual information
with the member that moved it, distances between members, and how much worse members work with each other than with
themselves. The games are played by `play`, the picture is drawn by `reports.diversity`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from housemates.agents.actors import load_actors
from housemates.agents.agent import Agent
from housemates.evaluation.play import play
from housemates.homes.home import Home
from housemates.sim.rules import Rules
from housemates.sim.state import SUCCESS
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import get_task

PERMUTATIONS = 1000
"""Random relabellings of the members that each estimate is compared with."""


@dataclass(frozen=True, eq=False)
class Games:
    """One row per game of K members: in game g robot 0 is moved by member first[g], all other robots by second[g]."""

    first: np.ndarray
    second: np.ndarray
    """[G] int64 each."""
    episode: np.ndarray
    """[G] int64, which episode of the split; every ordered pair plays every episode once."""
    success: np.ndarray
    """[G] bool."""
    done: np.ndarray
    """[G, R, S] bool, whether robot r achieved sub-goal s."""
    skills: np.ndarray
    """[G, R, A] int64, in how many steps robot r executed each of the A actions; an infeasible choice is a no-op."""

    @property
    def member(self) -> np.ndarray:
        """Who moved each robot, [G, R]."""
        others = np.repeat(self.second[:, None], self.done.shape[1] - 1, axis=1)
        return np.concatenate([self.first[:, None], others], axis=1)

    @property
    def members(self) -> int:
        """K."""
        return int(self.first.max()) + 1

    def take(self, rows: np.ndarray) -> Games:
        """Some of the games, by a mask [G]."""
        return Games(*(values[rows] for values in vars(self).values()))


@dataclass(frozen=True)
class Information:
    """An estimate of the mutual information of the member and something it does, bits."""

    bits: float
    """Corrected for the finite sample; about zero, also a little below, where there is nothing."""
    plug_in: float
    """Without the correction: too high."""
    null_mean: float
    """Mean of the same estimate when members are relabelled at random in every episode: zero if the correction is right."""
    null_95: float
    """The value that 95 % of the relabellings stay below."""
    p: float
    """Probability of an estimate as high as this if all members behaved alike."""
    most: float
    """What it could be at most: log2 of the number of members."""


def information(games: Games, did: np.ndarray, seed: int = 0, permutations: int = PERMUTATIONS) -> Information:
    """Mutual information of the member (all equally likely) and what a robot does, did [G, R, X], rows that sum to one.

    Members that act alike could exchange their names in any episode, so relabelling them there at random shows what chance
    does, whatever an episode and a partner make of a robot.
    """
    episode, member = np.unique(games.episode, return_inverse=True)[1], games.member
    sums = np.zeros((episode.max() + 1, games.members, did.shape[2]))
    squares, played = np.zeros_like(sums), np.zeros(sums.shape[:2])
    for total, values in ((sums, did), (squares, np.square(did, dtype=np.float64)), (played, 1)):
        np.add.at(total, (episode[:, None], member), values)
    found, bits = _estimate(sums, squares, played)
    rng, null = np.random.default_rng(seed), np.empty(permutations)
    for k in range(permutations):
        order = rng.permuted(np.tile(np.arange(games.members), (len(sums), 1)), axis=1)
        relabelled = (np.take_along_axis(a, order[:, :, None], axis=1) for a in (sums, squares))
        null[k] = _estimate(*relabelled, np.take_along_axis(played, order, axis=1))[1]
    return Information(
        bits,
        found,
        float(null.mean()) if permutations else 0.0,
        float(np.quantile(null, 0.95)) if permutations else 0.0,
        float((null >= bits - 1e-12).sum() + 1) / (permutations + 1),
        float(np.log2(games.members)),
    )


def _estimate(sums: np.ndarray, squares: np.ndarray, played: np.ndarray) -> tuple[float, float]:
    """Mutual information [bits] without and with correction.

    sums, squares: of what members do and of its squares, [episodes, K, X]; played: in how many games, [episodes, K].
    """
    number = played.sum(0)[:, None]
    share = sums.sum(0) / number
    found = plug_in(share)
    return found, found + _correction(share, (squares.sum(0) / number - share**2) / number)


def plug_in(share: np.ndarray) -> float:
    """Mutual information [bits] of row and column if rows are equally likely and row k has distribution share[k], [K, X]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(share > 0, share * np.log2(share / share.mean(0)), 0.0).sum(1).mean())


def _correction(share: np.ndarray, variance: np.ndarray) -> float:
    """What to add to the plug-in estimate [bits] if share [K, X] are means with the given variance [K, X].

    To second order an entropy is too low by half the sum of variance / share: Miller and Madow's (m - 1) / 2N where every
    game shows one of m things, less where a game shows shares of several.
    """
    mean, of_mean = share.mean(0), variance.mean(0) / len(share)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.where(share > 0, variance / share, 0.0).sum(1).mean()
        between = np.where(mean > 0, of_mean / mean, 0.0).sum()
    return float((between - within) / 2 / np.log(2))


def patterns(games: Games) -> np.ndarray:
    """Which of the 2^S sets of sub-goals each robot achieved, [G, R, 2^S] with a single one in each row."""
    return np.eye(1 << games.done.shape[2])[games.done @ (1 << np.arange(games.done.shape[2]))]


def single(games: Games, subgoal: int) -> np.ndarray:
    """Whether each robot did not, or did, achieve one sub-goal, [G, R, 2]."""
    return np.eye(2)[games.done[:, :, subgoal].astype(np.int64)]


def skills(games: Games) -> np.ndarray:
    """Share of a robot's game that each action took, [G, R, A]."""
    return games.skills / games.skills.sum(-1, keepdims=True)


def who_does_what(games: Games) -> np.ndarray:
    """Share of a member's games [K, S] in which it achieved each sub-goal itself, over all partners and both places."""
    played = np.bincount(games.member.ravel(), minlength=games.members)
    done = np.zeros((games.members, games.done.shape[2]))
    np.add.at(done, games.member, games.done)
    return done / played[:, None]


def what_skills(games: Games) -> np.ndarray:
    """Share of a member's games [K, A] that each action took, every game counting the same."""
    share = np.zeros((games.members, games.skills.shape[2]))
    np.add.at(share, games.member, skills(games))
    return share / share.sum(1, keepdims=True)


def cross_play(games: Games) -> np.ndarray:
    """Success [K, K] of member i as robot 0 with member j."""
    success, played = np.zeros((2, games.members, games.members))
    np.add.at(success, (games.first, games.second), games.success)
    np.add.at(played, (games.first, games.second), 1)
    return success / played


def distances(shares: np.ndarray, exclusive: bool) -> np.ndarray:
    """Distances [K, K] from 0 to 1 of what members do, shares [K, X].

    exclusive: the shares of a member sum to one, and half the sum of their differences counts; else their mean difference.
    """
    gaps = np.abs(shares[:, None] - shares[None])
    return gaps.sum(-1) / 2 if exclusive else gaps.mean(-1)


def gap(games: Games) -> tuple[float, float, float, float]:
    """Success in self-play and in cross-play, their difference, and its standard error over episodes."""
    same = games.first == games.second
    each = np.array([[_mean(games.success[here & same]), _mean(games.success[here & ~same])] for here in _episodes(games)])
    apart = each[:, 0] - each[:, 1]
    error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else float("nan")
    return float(each[:, 0].mean()), float(each[:, 1].mean()), float(apart.mean()), float(error)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _episodes(games: Games) -> list[np.ndarray]:
    """Masks of the games of each episode."""
    return [games.episode == episode for episode in np.unique(games.episode)]


def numbers(games: Games, subgoals: tuple[str, ...], seed: int = 0, permutations: int = PERMUTATIONS) -> dict[str, Any]:
    """Everything the audit says, as JSON values; subgoals names the S sub-goals."""
    if games.members < 2:
        raise ValueError("a population of one has no diversity - give a run with at least two members or latents")
    alone = games.take(games.first == games.second)
    shares, used = who_does_what(games), what_skills(games)
    by_subgoals, by_skills = distances(shares, exclusive=False), distances(used, exclusive=True)
    pairs = np.triu_indices(games.members, 1)
    same, other, apart, error = gap(games)
    joint = information(games, patterns(games), seed, permutations)
    each = {name: information(games, single(games, s), seed, permutations) for s, name in enumerate(subgoals)}
    return {
        "information": {
            "subgoals": asdict(joint),
            "subgoals_in_self_play": asdict(information(alone, patterns(alone), seed, permutations)),
            "each_subgoal": {name: asdict(found) for name, found in each.items()},
            "sum_of_subgoals": sum(found.bits for found in each.values()),
            "skills": asdict(information(games, skills(games), seed, permutations)),
            "skills_in_self_play": asdict(information(alone, skills(alone), seed, permutations)),
        },
        "behaviours": 2.0 ** max(joint.bits, 0.0),
        "distance": {
            "subgoals": float(by_subgoals[pairs].mean()),
            "skills": float(by_skills[pairs].mean()),
            "events": float((by_subgoals + by_skills)[pairs].mean() / 2),
            "matrix": ((by_subgoals + by_skills) / 2).tolist(),
        },
        "success": {"self_play": same, "cross_play": other, "gap": apart, "gap_error": error},
        "cross_play": cross_play(games).tolist(),
        "who_does_what": shares.tolist(),
        "skills": used.tolist(),
    }


def audit(
    population: Sequence[Agent],
    episodes: Episodes,
    homes: Sequence[Home],
    robots: int = 2,
    rules: Rules | None = None,
    seed: int = 0,
    count: int = 100,
    threads: int = 1,
    permutations: int = PERMUTATIONS,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Let every ordered pair of a population play the first `count` episodes; returns `numbers` and the names of it all.

    With more than two robots all but the first are moved by the second of a pair. Actions are sampled.
    """
    if len(population) < 2:
        raise ValueError("a population of one has no diversity - give at least two members or latents")
    if robots < 2:
        raise ValueError("a robot alone has no partner - give a run with two robots or more")
    if not 1 <= count <= len(episodes):
        raise ValueError(f"{count} episodes - choose 1 to {len(episodes)}")
    subgoals = get_task(episodes.task).subgoal_names
    games = play_pairs(population, episodes, homes, robots, rules, seed, count, threads, progress)
    return {
        "task": episodes.task,
        "episodes": count,
        "robots": robots,
        "seed": seed,
        "members": short_names([partner.name for partner in population]),
        "partners": [partner.name for partner in population],
        "subgoals": list(subgoals),
        "actions": list(ACTIONS),
        **numbers(games, subgoals, seed, permutations),
    }


def play_pairs(
    population: Sequence[Agent],
    episodes: Episodes,
    homes: Sequence[Home],
    robots: int = 2,
    rules: Rules | None = None,
    seed: int = 0,
    count: int = 100,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Games:
    """The games of every ordered pair, with itself too."""
    actors, everybody = load_actors(population), range(len(population))
    pairs = np.array([(i, j) for i in everybody for j in everybody])
    teams = [[actors[population[i]], *[actors[population[j]]] * (robots - 1)] for i, j in pairs]
    played = play(
        episodes,
        homes,
        teams,
        rules,
        seed,
        which=np.arange(count),
        swap=False,
        threads=threads,
        executed=True,
        progress=progress,
    )
    if played.executed is None:
        raise ValueError("these games do not tell which skills were executed - play them with executed=True")
    first, second = pairs[played.team].T
    by = played.done_by[:, : len(get_task(episodes.task).subgoals)]
    done = by[:, None, :] == np.arange(robots)[:, None]
    return Games(first, second, played.episode, played.outcome == SUCCESS, done, played.executed.astype(np.int64))


def short_names(names: Sequence[str]) -> list[str]:
    """Names without the folder that they share."""
    if len({PurePath(name).parent for name in names}) > 1:
        return list(names)
    return [PurePath(name).name for name in names]
