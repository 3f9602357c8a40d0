"""The audit of the held-out suite: does every partner behave differently from all others?

Every partner plays the same episodes with the same mates, the learned partners of the suite and the paper's scripts. Two
partners are compared mate by mate and episode by episode: how games end, which sub-goals the partner achieves, how much it
waits and how long games last. Everything here is a function of rows; `housemates holdouts audit` plays the games.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from housemates.agents import agent as registry
from housemates.agents.agent import Agent
from housemates.evaluation import suite
from housemates.evaluation.crossplay import Pair
from housemates.evaluation.metrics import HORIZON, Rows
from housemates.evaluation.rows import AGENT
from housemates.io import read_json, write_json
from housemates.sim.scripts import PAPER

LIMIT = 0.05
"""Partners that differ by less in all GROUPS are indistinguishable."""
GROUPS = ("outcome", "work", "pace")
"""What is compared: success and collisions; which sub-goals the partner achieves; its share of idle steps, and how long games
last as a share of the horizon. All are shares of 1."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What the audit of P partners with M mates has found."""

    partners: list[str]
    """[P] names, in the order of the suite."""
    mates: list[str]
    """[M]."""
    success: np.ndarray
    """[P, M] share of successful games of partner p with mate m."""
    groups: np.ndarray
    """[3, P, P] differences of two partners in each of GROUPS."""
    dropped: dict[str, str]
    """Partners that are indistinguishable from another one, and from whom."""

    @property
    def difference(self) -> np.ndarray:
        """[P, P] the largest of the three differences."""
        return self.groups.max(axis=0)

    def nearest(self, partner: int) -> int:
        """The other partner that differs least from a partner."""
        others = self.difference[partner].copy()
        others[partner] = np.inf
        return int(others.argmin())


def mates_of(families: Mapping[str, Sequence[Agent]]) -> list[Agent]:
    """With whom everybody of a suite plays: the paper's scripts, and all learned partners as they are."""
    learned = [p for name, found in families.items() if name != "disturbed" for p in found if p.trained]
    return [*(registry.scripted(name) for name in PAPER), *learned]


def audit_pairs(partners: Sequence[Agent], mates: Sequence[Agent]) -> list[Pair]:
    """Every partner, as the agent of the rows, with every mate."""
    return [Pair(partner, (mate,)) for partner in partners for mate in mates]


def audit(rows: Rows, partners: Sequence[str], keep: Collection[str] = (), limit: float = LIMIT) -> Audit:
    """Compare partners (agents of the rows), in the order of the suite; those of keep are never dropped.

    Who is indistinguishable from a partner that comes before it, or from one of keep, is dropped.
    """
    mates = list(dict.fromkeys(rows["partner"].tolist()))
    outcome, work, pace = games_of(rows, partners, mates)
    found = np.stack([differences(values) for values in (outcome, work, pace)])
    largest, kept, dropped = found.max(axis=0), [k for k, name in enumerate(partners) if name in keep], {}
    for k, name in enumerate(partners):
        if name in keep:
            continue
        like = min(kept, key=lambda other: largest[k, other], default=None)
        if like is not None and largest[k, like] < limit:
            dropped[name] = partners[like]
        else:
            kept.append(k)
    return Audit(list(partners), mates, outcome[..., 0].mean(axis=2), found, dropped)


def games_of(rows: Rows, partners: Sequence[str], mates: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is compared, for each of GROUPS an array [P, M, N, X] over partners, mates and episodes."""
    place = [{name: k for k, name in enumerate(names)} for names in (partners, mates)]
    if set(rows["agent"].tolist()) != place[0].keys():
        odd = sorted(set(rows["agent"].tolist()) ^ place[0].keys())[0]
        raise ValueError(f"the rows of the audit and its partners differ in '{odd}' - audit again: housemates holdouts audit")
    p, m = (np.array([place[k][name] for name in rows[column].tolist()]) for k, column in enumerate(("agent", "partner")))
    episodes, n = np.unique(rows["episode"], return_inverse=True)
    shape = (len(partners), len(mates), len(episodes))
    if len(rows) != np.prod(shape) or len(np.unique(np.ravel_multi_index((p, m, n), shape))) != len(rows):
        raise ValueError("not every partner played every episode with every mate - audit again: housemates holdouts audit")
    count = int((rows["subgoals"] >= 0).any(axis=0).sum())
    steps = rows["steps"].astype(float)
    columns = (
        np.stack([rows["success"], rows["collision"]], axis=1),
        rows["subgoals"][:, :count] == AGENT,
        np.stack([rows["idle_agent"] / np.maximum(steps, 1), steps / HORIZON], axis=1),
    )
    found = []
    for values in columns:
        whole = np.zeros((*shape, values.shape[1]))
        whole[p, m, n] = values
        found.append(whole)
    return found[0], found[1], found[2]


def differences(values: np.ndarray) -> np.ndarray:
    """Differences [P, P] of partners, values [P, M, N, X]: root mean square over mates and quantities of the difference of
    their means over episodes, less what chance adds to its square (the games are paired, so that is known)."""
    count, episodes = len(values), values.shape[2]
    found = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            apart = values[i] - values[j]
            noise = apart.var(axis=1, ddof=1) / episodes if episodes > 1 else 0.0
            found[i, j] = found[j, i] = np.sqrt(max(0.0, float((apart.mean(axis=1) ** 2 - noise).mean())))
    return found


def write_dropped(path: Path, task: str, partners: Sequence[Agent], found: Audit, told: dict[str, Any]) -> None:
    """Put who is dropped of a task into a file, beside other tasks; told: episodes, split, seed, commit."""
    known = read_json(path, suite.AUDIT_AGAIN) if path.is_file() else {}
    names = {partner.name: suite.key_of(partner) for partner in partners}
    gone = {names[name]: names[like] for name, like in found.dropped.items()}
    known[task] = {"suite": suite.VERSION, **told, "limit": LIMIT, "dropped": dict(sorted(gone.items()))}
    write_json(path, dict(sorted(known.items())))
