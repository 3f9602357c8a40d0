"""How different are the members of a population? Numbers from games of every member with every other and with itself.

What a robot did in a game is told by the sub-goals it achieved and by the skills it executed. From these: mutual information
with the member that moved it, distances between members, and how much worse members work with each other than with
themselves. Playing is the business of `conventions`, drawing that of `reports.diversity`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

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
    """[G, R, A] int64, how many of robot r's decisions executed each of the A actions."""

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
    """With Miller and Madow's correction for the finite sample; about zero, also a little below, where there is nothing."""
    plug_in: float
    """Without it: too high."""
    null_mean: float
    """Mean of the plug-in estimate when members are relabelled at random in every episode: its bias."""
    null_95: float
    """The value that 95 % of the relabellings stay below."""
    p: float
    """Probability of an estimate as high as this if all members behaved alike."""
    most: float
    """What it could be at most: log2 of the number of members."""


def information(counts: np.ndarray, seed: int = 0, permutations: int = PERMUTATIONS) -> Information:
    """Mutual information of the member (all equally likely) and what it does, from counts [episodes, K, X].

    counts[e, k, x] is how often member k did x in games of episode e. Members that act alike could exchange their names in any
    episode, so relabelling them there shows what chance does, whatever an episode and a partner make of a robot.
    """
    counts = np.asarray(counts, np.float64)
    if not counts.sum((0, 2)).all():
        raise ValueError("a member did nothing that could be counted - play more episodes")
    plug_in, bits = (float(x) for x in _estimate(counts.sum(0)))
    rng = np.random.default_rng(seed)
    null = np.empty(permutations)
    for k in range(permutations):
        order = rng.permuted(np.tile(np.arange(counts.shape[1]), (len(counts), 1)), axis=1)
        null[k] = _estimate(np.take_along_axis(counts, order[:, :, None], axis=1).sum(0))[0]
    above = int((null >= plug_in - 1e-12).sum())
    return Information(
        bits,
        plug_in,
        float(null.mean()) if permutations else 0.0,
        float(np.quantile(null, 0.95)) if permutations else 0.0,
        (above + 1) / (permutations + 1),
        float(np.log2(counts.shape[1])),
    )


def _estimate(counts: np.ndarray) -> tuple[float, float]:
    """Mutual information [bits] of row and column of counts [K, X], rows equally likely: plug-in and corrected."""
    total = counts.sum(1)
    share = counts / total[:, None]
    mean = share.mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        plug_in = np.where(share > 0, share * np.log2(share / mean), 0.0).sum(1).mean()
    # Entropies of m occupied bins are too low by (m - 1) / 2N nats.
    within = ((counts > 0).sum(1) - 1) / (2 * total)
    between = ((mean > 0).sum() - 1) / (2 * total.sum())
    corrected = plug_in + (between - within.mean()) / np.log(2)
    return float(plug_in), float(min(corrected, np.log2(len(counts))))


def patterns(games: Games) -> np.ndarray:
    """Counts [episodes, K, 2^S] of the sub-goals that a robot achieved in a game, taken together."""
    code = games.done @ (1 << np.arange(games.done.shape[2]))
    return _count(games, code, 1 << games.done.shape[2])


def single(games: Games, subgoal: int) -> np.ndarray:
    """Counts [episodes, K, 2] of games in which a robot did not achieve, and did achieve, one sub-goal."""
    return _count(games, games.done[:, :, subgoal].astype(np.int64), 2)


def skills(games: Games) -> np.ndarray:
    """Counts [episodes, K, A] of decisions that executed each action."""
    _, episode = np.unique(games.episode, return_inverse=True)
    counts = np.zeros((episode.max() + 1, games.members, games.skills.shape[2]), np.int64)
    np.add.at(counts, (episode[:, None], games.member), games.skills)
    return counts


def _count(games: Games, code: np.ndarray, codes: int) -> np.ndarray:
    """Counts [episodes, K, codes] of code [G, R]."""
    _, episode = np.unique(games.episode, return_inverse=True)
    counts = np.zeros((episode.max() + 1, games.members, codes), np.int64)
    np.add.at(counts, (np.broadcast_to(episode[:, None], code.shape), games.member, code), 1)
    return counts


def who_does_what(games: Games) -> np.ndarray:
    """Share of a member's games [K, S] in which it achieved each sub-goal itself, over all partners and both places."""
    played = np.bincount(games.member.ravel(), minlength=games.members)
    done = np.zeros((games.members, games.done.shape[2]))
    np.add.at(done, games.member, games.done)
    return done / played[:, None]


def what_skills(games: Games) -> np.ndarray:
    """Share of a member's decisions [K, A] that executed each action."""
    counts = skills(games).sum(0)
    return counts / counts.sum(1, keepdims=True)


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
    joint = information(patterns(games), seed, permutations)
    each = {name: information(single(games, s), seed, permutations) for s, name in enumerate(subgoals)}
    return {
        "information": {
            "subgoals": asdict(joint),
            "subgoals_in_self_play": asdict(information(patterns(alone), seed, permutations)),
            "each_subgoal": {name: asdict(found) for name, found in each.items()},
            "sum_of_subgoals": sum(found.bits for found in each.values()),
            "skills": asdict(information(skills(games), seed, permutations)),
            "skills_in_self_play": asdict(information(skills(alone), seed, permutations)),
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
