"""What decides whether a game succeeds: the method, the agent, the partner, the episode, or chance?

The variance of success over all games of several agents with the same partners in the same episodes is split into parts. Each
part is estimated without bias from products of two games that share just what the part is about. Every method counts the same,
however many seeds it has; between seeds, only methods with several of them tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.evaluation.metrics import Rows, agent_runs

PARTS = ("method", "agent", "partner", "episode", "partner and episode", "rest")
"""Between methods; between seeds of one method; between partners; between episodes (homes, objects, starts); how a partner and
an episode go together for every agent; everything else: what agents do differently from game to game, and chance."""


@dataclass(frozen=True)
class Shares:
    """Shares of the variance of success, fractions of 1; an estimate of nothing may be a little below 0."""

    share: dict[str, float]
    """For each of PARTS; nan where it cannot be told: of methods if there is one, of agents if every method has one seed, whose
    share `method` then has too."""
    error: dict[str, float]
    """Standard errors over episodes, by the jackknife."""
    agents: int
    partners: int
    episodes: int


def variance_shares(rows: Rows) -> Shares | None:
    """Shares for the rows of one task and kind of observation, with what all agents have played; None if that is nothing to
    compare: it takes two agents, two partners and three episodes."""
    values, methods = block_of(rows)
    if min(values.shape) < 2 or values.shape[2] < 3:
        return None
    share = parts_of(values, methods)
    left = np.array([list(parts_of(np.delete(values, n, axis=2), methods).values()) for n in range(values.shape[2])])
    count = len(left)
    errors = np.sqrt((count - 1) / count * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    return Shares(share, dict(zip(PARTS, errors.tolist(), strict=True)), *values.shape)


def block_of(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """(success [A, P, N] of agents, partners and episodes that all of them played, method [A] int)."""
    runs, partners, episodes = agent_runs(rows), rows.distinct("partner"), np.unique(rows["episode"])
    found = np.full((len(runs), len(partners), len(episodes)), np.nan)
    place = [{name: k for k, name in enumerate(names)} for names in (runs, partners)]
    a, p = (
        np.array([place[k][name] for name in rows[column].tolist()], int) for k, column in enumerate(("agent_run", "partner"))
    )
    found[a, p, np.searchsorted(episodes, rows["episode"])] = rows["success"]
    met = ~np.isnan(found).all(axis=(0, 2))
    whole = found[:, met]
    methods = dict(zip(rows["agent_run"].tolist(), rows["method"].tolist(), strict=True))
    # Partners that somebody did not meet are left out first, then episodes that somebody did not play.
    whole = whole[:, ~np.isnan(whole).all(axis=2).any(axis=0)]
    whole = whole[:, :, ~np.isnan(whole).any(axis=(0, 1))]
    return whole, np.unique([methods[run] for run in runs], return_inverse=True)[1]


def parts_of(values: np.ndarray, methods: np.ndarray) -> dict[str, float]:
    """Shares for each of PARTS of success values [A, P, N], method [A]."""
    _, partners, episodes = values.shape
    both = np.tensordot(values, values, axes=([1, 2], [1, 2]))
    per_partner, per_episode = values.sum(axis=2), values.sum(axis=1)
    partner, episode = per_partner @ per_partner.T, per_episode @ per_episode.T
    whole = np.outer(values.sum(axis=(1, 2)), values.sum(axis=(1, 2)))
    # Mean products [A, A] of two games of two agents, by what the games share.
    same = both / (partners * episodes)
    same_partner = (partner - both) / (partners * episodes * (episodes - 1))
    same_episode = (episode - both) / (partners * episodes * (partners - 1))
    neither = (whole - partner - episode + both) / (partners * episodes * (partners - 1) * (episodes - 1))
    # Every method counts the same, however many seeds it has.
    _, place, seeds = np.unique(methods, return_inverse=True, return_counts=True)
    share = np.eye(len(seeds))[place] / seeds[place, None]
    apart, several = ~np.eye(len(seeds), dtype=bool), seeds > 1

    def others(products: np.ndarray) -> float:
        """The mean of products over two agents of different methods, or over two seeds if there is one method."""
        if len(seeds) > 1:
            return float((share.T @ products @ share)[apart].mean())
        return float(products[~np.eye(len(products), dtype=bool)].mean())

    itself = share.T @ np.diag(neither)
    two_seeds = ((share.T @ neither @ share).diagonal() * seeds - itself) / np.maximum(seeds - 1, 1)
    base = others(neither)
    agent = (itself - two_seeds)[several].mean() if several.any() else np.nan
    # A method with one seed: what it has itself, without what seeds differ by, as far as that is known.
    alike = np.where(several, two_seeds, itself - np.nan_to_num(agent))
    found = {
        "method": alike.mean() - base if len(seeds) > 1 else np.nan,
        "agent": agent,
        "partner": others(same_partner) - base,
        "episode": others(same_episode) - base,
        "partner and episode": others(same) - others(same_partner) - others(same_episode) + base,
    }
    total = float((share.T @ (values**2).mean(axis=(1, 2))).mean()) - base
    if not total > 0:
        return dict.fromkeys(PARTS, np.nan)
    found["rest"] = total - np.nansum(list(found.values()))
    return {name: float(found[name] / total) for name in PARTS}
