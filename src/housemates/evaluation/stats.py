"""How sure are we? Errors over seeds, and bootstrap intervals that know what was drawn: agent seeds, holdout runs, episodes.

All pairs play the same episodes, so a resample draws one set of episodes for all, and a comparison of two methods is
paired by partner and episode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.agents.agent import WRITTEN
from housemates.evaluation.metrics import Rows, agent_runs, natural

RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds."""

    mean: float
    error: float
    """Standard error of the mean; nan for a single seed."""
    n: int
    """Seeds."""


@dataclass(frozen=True)
class Interval:
    """A number and its bootstrap interval of LEVEL."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Scores:
    """One score per run of a method, partner and episode of one task."""

    values: np.ndarray
    """[S, P, N] float, nan where a pair did not play the episode."""
    partners: list[str]
    """[P]; in the training population, where every seed has its own, only their places."""
    strata: np.ndarray
    """[P] int: partners are exchanged only within a stratum. A scripted holdout is one by itself: it was not drawn."""
    runs: np.ndarray
    """[P] int: partners of one training run are drawn together."""
    episodes: np.ndarray
    """[N]."""


@dataclass(frozen=True)
class Comparison:
    """Two methods on the same partners and episodes."""

    difference: Interval
    """Mean success of the first minus the second, a fraction."""
    improvement: Interval
    """P(improvement): how often a seed of the first beats a seed of the second with a partner; ties count half."""
    partners: int
    episodes: int


def over_seeds(values: np.ndarray) -> Estimate:
    """Mean and standard error of one number per seed."""
    values = np.asarray(values, float)
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()) if len(values) else np.nan, error, len(values))


def scores(rows: Rows, column: str = "success") -> Scores:
    """Rows of one method on one task as an array. Partners that only one run met are matched by their place."""
    names = agent_runs(rows)
    own = {name: rows.only(agent_run=name).distinct("partner") for name in names}
    every = sorted({partner for met in own.values() for partner in met}, key=natural)
    shared = len(names) < 2 or any(sum(p in met for met in own.values()) > 1 for p in every)
    place = {(name, p): (every.index(p) if shared else k) for name, met in own.items() for k, p in enumerate(met)}
    count = len(every) if shared else max(map(len, own.values()), default=0)
    partners = every if shared else [f"partner {k}" for k in range(count)]
    ids, episode = np.unique(rows["episode"], return_inverse=True)
    total, played = np.zeros((len(names), count, len(ids))), np.zeros((len(names), count, len(ids)))
    seed_of = {name: s for s, name in enumerate(names)}
    pairs = list(zip(rows["agent_run"].tolist(), rows["partner"].tolist(), strict=True))
    where = (np.array([seed_of[a] for a, _ in pairs], int), np.array([place[pair] for pair in pairs], int), episode)
    np.add.at(total, where, rows[column].astype(float))
    np.add.at(played, where, 1.0)
    with np.errstate(invalid="ignore"):
        values = total / played
    strata = runs = np.arange(count)
    if shared and (rows["evaluation"] != "train_pop").all():
        strata, runs = _design(rows, partners)
    return Scores(values, partners, strata, runs, ids)


def _design(rows: Rows, partners: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Strata and runs [P] of holdouts: learned ones of one kind of observation are a stratum, every script is its own."""
    strata, runs = [], []
    for partner in partners:
        first = int(np.flatnonzero(rows["partner"] == partner)[0])
        kind, run = str(rows["partner_kind"][first]), str(rows["partner_run"][first]) or partner
        fixed = kind in WRITTEN
        strata.append(f"{kind}/{partner}" if fixed else f"learned/{rows['partner_observations'][first]}")
        runs.append(partner if fixed else run)
    return np.unique(strata, return_inverse=True)[1], np.unique(runs, return_inverse=True)[1]


def iqm(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Interquartile mean over the last axis: the mean of the middle half, with parts of values at its borders."""
    values = np.asarray(values, float)
    weights = np.ones_like(values) if weights is None else np.broadcast_to(weights, values.shape)
    order = np.argsort(values, axis=-1, kind="stable")
    values, weights = np.take_along_axis(values, order, -1), np.take_along_axis(weights, order, -1)
    upto = np.cumsum(weights, axis=-1)
    whole = upto[..., -1:]
    inside = np.clip(np.minimum(upto, 0.75 * whole) - np.maximum(upto - weights, 0.25 * whole), 0.0, None)
    return _divide((values * inside).sum(-1), inside.sum(-1))


def bootstrap_iqm(found: Scores, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """IQM over the cells (agent seed, partner) with its stratified bootstrap interval."""
    means, weights = _resample(found, seed, resamples)
    bad = np.isnan(means)
    plain = np.nanmean(found.values[~np.isnan(found.values).all(axis=2)], axis=1)
    return _interval(float(iqm(plain)), iqm(np.where(bad, 0.0, means), np.where(bad, 0.0, weights)))


def bootstrap_mean(found: Scores, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Plain mean over the cells with the same interval."""
    means, weights = _resample(found, seed, resamples)
    plain = np.nanmean(found.values[~np.isnan(found.values).all(axis=2)], axis=1)
    return _interval(float(plain.mean()), _weighted(means, weights))


def bootstrap_proximity(found: Scores, bounds: dict[str, float], seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """BR-Prox: mean over the cells of min(1, score / bound), with the same interval; partners without a bound are left out.

    The bounds are taken as they are: the interval says nothing about how well they are known.
    """
    part = _common(found, [partner for partner in found.partners if partner in bounds], found.episodes)
    if not part.partners:
        return Interval(np.nan, np.nan, np.nan)
    bound = np.tile([bounds[partner] for partner in part.partners], len(part.values))
    means, weights = _resample(part, seed, resamples)
    plain = _cell_means(part.values, np.ones((1, len(part.episodes)))).reshape(-1)
    return _interval(float(np.nanmean(np.minimum(1.0, plain / bound))), _weighted(np.minimum(1.0, means / bound), weights))


def _weighted(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean over cells [B, C] -> [B], without those that are nan."""
    weights = np.where(np.isnan(means), 0.0, weights)
    return _divide((np.nan_to_num(means) * weights).sum(1), weights.sum(1))


def _resample(found: Scores, seed: int, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Means over drawn episodes and weights of the cells, both [B, S P]."""
    rng = np.random.default_rng(seed)
    seeds = _draw_seeds(found.values.shape[0], resamples, rng)
    partners = _draw_partners(found, resamples, rng)
    means = _cell_means(found.values, _draw_episodes(len(found.episodes), resamples, rng))
    return means.reshape(resamples, -1), (seeds[:, :, None] * partners[:, None, :]).reshape(resamples, -1)


def compare(first: Scores, second: Scores, seed: int = 0, resamples: int = RESAMPLES) -> Comparison:
    """Paired by partner and episode; seeds of either method are drawn for themselves, partners and episodes for both."""
    partners = [p for p in first.partners if p in second.partners]
    episodes = np.intersect1d(first.episodes, second.episodes)
    if not partners or not len(episodes):
        raise ValueError("the methods have no partner and episode in common - evaluate both with the same holdouts and split")
    a, b = _common(first, partners, episodes), _common(second, partners, episodes)
    rng = np.random.default_rng(seed)
    seeds = [_draw_seeds(s.values.shape[0], resamples, rng) for s in (a, b)]
    weight = _draw_partners(a, resamples, rng)
    drawn_episodes = _draw_episodes(len(episodes), resamples, rng)
    drawn = [_cell_means(s.values, drawn_episodes) for s in (a, b)]
    one = [np.ones((1, s.values.shape[0])) for s in (a, b)]
    plain = [_cell_means(s.values, np.ones((1, len(episodes)))) for s in (a, b)]
    every = np.ones((1, len(partners)))
    difference = _interval(float(_difference(*plain, *one, every)[0]), _difference(*drawn, *seeds, weight))
    improvement = _interval(float(_improvement(*plain, *one, every)[0]), _improvement(*drawn, *seeds, weight))
    return Comparison(difference, improvement, len(partners), len(episodes))


def compare_populations(first: Scores, second: Scores, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Mean success of one method with its own partners minus that of another with its own, in the same episodes.

    Seeds are drawn for each, episodes for both together; a population has the members that it has.
    """
    episodes = np.intersect1d(first.episodes, second.episodes)
    if not len(episodes):
        raise ValueError("the methods have no episode in common - evaluate both in the same split")
    both = [_common(found, found.partners, episodes) for found in (first, second)]
    rng = np.random.default_rng(seed)
    drawn_episodes = _draw_episodes(len(episodes), resamples, rng)
    plain, drawn = [], []
    for found in both:
        once = np.ones((1, len(found.values))), np.ones((1, len(found.partners)))
        plain.append(_mean(_cell_means(found.values, np.ones((1, len(episodes)))), *once))
        times = _draw_seeds(len(found.values), resamples, rng), _draw_partners(found, resamples, rng)
        drawn.append(_mean(_cell_means(found.values, drawn_episodes), *times))
    return _interval(float((plain[0] - plain[1])[0]), drawn[0] - drawn[1])


def compare_homes(first: Scores, second: Scores, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Mean success of the same agents with the same partners in one set of homes minus that in another.

    Seeds and partners are drawn for both together, episodes for each: they have nothing in common.
    """
    if first.partners != second.partners or len(first.values) != len(second.values):
        raise ValueError("other agents or partners in either set of homes - give rows of the same agents and holdouts")
    rng = np.random.default_rng(seed)
    seeds, partners = _draw_seeds(len(first.values), resamples, rng), _draw_partners(first, resamples, rng)
    drawn = [_cell_means(s.values, _draw_episodes(len(s.episodes), resamples, rng)) for s in (first, second)]
    plain = [_cell_means(s.values, np.ones((1, len(s.episodes)))) for s in (first, second)]
    once = np.ones((1, len(first.values))), np.ones((1, len(first.partners)))
    value = _mean(plain[0], *once) - _mean(plain[1], *once)
    return _interval(float(value[0]), _mean(drawn[0], seeds, partners) - _mean(drawn[1], seeds, partners))


def _common(found: Scores, partners: list[str], episodes: np.ndarray) -> Scores:
    """The part of the scores with these partners and episodes."""
    columns = [found.partners.index(p) for p in partners]
    values = found.values[:, columns][:, :, np.searchsorted(found.episodes, episodes)]
    return Scores(values, partners, found.strata[columns], found.runs[columns], episodes)


def _draw_seeds(count: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each agent seed was drawn, [B, S]."""
    return rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(float)


def _draw_partners(found: Scores, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each partner was drawn, [B, P]: runs with replacement within each stratum, all members of a run together."""
    weights = np.zeros((resamples, len(found.partners)))
    for stratum in np.unique(found.strata):
        runs = np.unique(found.runs[found.strata == stratum])
        drawn = rng.multinomial(len(runs), np.full(len(runs), 1 / len(runs)), size=resamples)
        for k, run in enumerate(runs):
            weights[:, (found.strata == stratum) & (found.runs == run)] = drawn[:, k : k + 1]
    return weights


def _draw_episodes(count: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each episode was drawn, [B, N]."""
    return rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(float)


def _cell_means(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Mean over the drawn episodes for each cell, [B, S, P]; nan where none of them was played."""
    known = ~np.isnan(values)
    total = np.tensordot(drawn, np.where(known, values, 0.0), axes=(1, 2))
    count = np.tensordot(drawn, known.astype(float), axes=(1, 2))
    return _divide(total, count)


def _mean(means: np.ndarray, seeds: np.ndarray, partners: np.ndarray) -> np.ndarray:
    """Weighted mean over cells [B, S, P] -> [B]."""
    weights = seeds[:, :, None] * partners[:, None, :]
    return _weighted(means.reshape(len(means), -1), weights.reshape(len(weights), -1))


def _difference(a: np.ndarray, b: np.ndarray, seeds_a: np.ndarray, seeds_b: np.ndarray, partners: np.ndarray) -> np.ndarray:
    return _mean(a, seeds_a, partners) - _mean(b, seeds_b, partners)


def _improvement(a: np.ndarray, b: np.ndarray, seeds_a: np.ndarray, seeds_b: np.ndarray, partners: np.ndarray) -> np.ndarray:
    """Share of (seed of a, seed of b, partner) in which a is better, [B]."""
    gap = a[:, :, None, :] - b[:, None, :, :]
    wins = np.where(np.abs(gap) < 1e-12, 0.5, (gap > 0).astype(float))
    weight = seeds_a[:, :, None, None] * seeds_b[:, None, :, None] * partners[:, None, None, :]
    weight = np.where(np.isnan(gap), 0.0, weight)
    return _divide((wins * weight).sum((1, 2, 3)), weight.sum((1, 2, 3)))


def _divide(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """total / count, nan where nothing was counted: a resample may consist of pairs that did not play."""
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)


def _interval(value: float, drawn: np.ndarray) -> Interval:
    """Percentiles of the resampled numbers."""
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.nanpercentile(drawn, [tail, 100 - tail])
    return Interval(value, float(low), float(high))
