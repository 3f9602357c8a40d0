"""Numbers of an evaluation, computed from its rows: success, efficiency, who does what, the worst partners, best responses.

Everything here is a function of `Rows` alone. Shares are fractions from 0 to 1; tables show them in points. Errors and
intervals are in `stats`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from housemates.agents.agent import BEST_RESPONSE, DISTURBED, TRAINED
from housemates.evaluation.rows import AGENT, COLUMNS, PARTNER
from housemates.sim.rules import Rules

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SUBGOALS = 6
HORIZON = Rules().horizon
"""What a failed episode counts in one reading of the efficiency gain, steps."""
WORST = 0.2
"""The share of the partners that the worst-partner number looks at."""
GAINS = ("success", "failures", "actual")
"""How episodes enter the efficiency gain: only successful ones; all, failures as HORIZON steps; all as long as they were."""
LOOKS_AHEAD = " + look-ahead"
"""Behind the name of an agent that looks ahead (`agents.agent.looking`), perhaps with a variant."""
MEMBER = re.compile(r"/(agent|z?\d+)$")
"""The last piece of the name of a member or agent of a run."""
ALONE = "alone"
"""Evaluation of agents that play alone in the home."""
REFERENCES = {"solo_steps": "scripted solo robot", "learned_solo_steps": "learned solo agent"}
"""Columns with the steps that a lone robot needs from the agent's start, -1 where it fails or was not asked for."""
TEAM = "gt_coord"
"""Method of teams that were trained together."""
SHIPPED = re.compile(r"^\w+/(?:examples|holdouts)/(.+)-\d+$")
"""A member of a team that comes with the package: its run."""
SCRIPTED, LEARNED = "script", TRAINED
"""Kinds of partners that the paper's table 5 tells apart."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of an evaluation as one numpy array [N] per column; `subgoals` is int8 [N, 6], -1 beyond the task's own.

    Beside the columns of `evaluation.rows` there is `agent_run`: the agent's name without its place in the run, so that
    members of one training count as one sample; and `learned_solo_steps`, from the rows of evaluation `alone` among them. Words
    are kept as numbers, since a whole benchmark has many rows.
    """

    columns: dict[str, np.ndarray]
    """Numbers; for a column of words indices into its vocabulary."""
    words: dict[str, np.ndarray]
    """Vocabularies."""

    def __len__(self) -> int:
        return len(self.columns["success"])

    def __getitem__(self, name: str) -> np.ndarray:
        return self.words[name][self.columns[name]] if name in self.words else self.columns[name]

    def take(self, which: np.ndarray) -> Rows:
        """The rows of a mask [N] or of indices."""
        return Rows({name: array[which] for name, array in self.columns.items()}, self.words)

    def only(self, **wanted: object) -> Rows:
        """Rows whose columns have these values; a tuple allows any of its members."""
        mask = np.ones(len(self), bool)
        for name, value in wanted.items():
            allowed: Any = value if isinstance(value, tuple) else (value,)
            if name in self.words:
                allowed = np.flatnonzero([word in allowed for word in self.words[name].tolist()])
            mask &= np.isin(self.columns[name], allowed) if len(allowed) != 1 else self.columns[name] == allowed[0]
        return self.take(mask)

    def distinct(self, name: str) -> list[Any]:
        """The values of a column, each once, sorted as people count (member 2 before member 10)."""
        values = np.unique(self.columns[name])
        return sorted((self.words[name][values] if name in self.words else values).tolist(), key=natural)


def natural(name: object) -> list[tuple[int, int, str]]:
    """A key for sorting names with numbers in them."""
    return [(0, int(piece), "") if piece.isdigit() else (1, 0, piece) for piece in re.split(r"(\d+)", str(name)) if piece]


def rows_of(table: pa.Table) -> Rows:
    """The rows of a table in the schema of `evaluation.rows`."""
    columns, words = {}, {}
    for name, kind in COLUMNS.items():
        column = table.column(name).combine_chunks()
        if kind == "string":
            encoded = column.dictionary_encode()
            columns[name] = encoded.indices.to_numpy()
            words[name] = np.array(encoded.dictionary.to_pylist(), str)
        elif name == "subgoals":
            columns[name] = np.full((len(table), MOST_SUBGOALS), -1, np.int8)
            lengths = column.value_lengths().to_numpy()
            columns[name][np.arange(MOST_SUBGOALS) < lengths[:, None]] = column.flatten().to_numpy()
        else:
            columns[name] = column.to_numpy(zero_copy_only=False)
    methods = dict(zip(columns["agent"].tolist(), columns["method"].tolist(), strict=True))
    runs = [
        run_of(str(agent), str(words["method"][methods[k]]) if k in methods else "") for k, agent in enumerate(words["agent"])
    ]
    words["agent_run"], which = np.unique(np.array(runs, str), return_inverse=True)
    columns["agent_run"] = which[columns["agent"]] if len(table) else columns["agent"]
    columns["learned_solo_steps"] = _learned_solo_steps(Rows(columns, words))
    return Rows(columns, words)


def _learned_solo_steps(rows: Rows) -> np.ndarray:
    """Steps [N] float that agents of the method `solo` need alone from the agent's start in the same episode: the mean over
    those that succeed, -1 if there is none."""
    alone = rows.only(evaluation=ALONE, method="solo")
    found: dict[tuple[int, int, int], list[int]] = {}
    where = ("environment", "episode", "robot")
    for steps, success, *key in zip(alone["steps"], alone["success"], *(alone.columns[n] for n in where), strict=True):
        if success:
            found.setdefault(tuple(key), []).append(int(steps))
    if not found:
        return np.full(len(rows), -1.0)
    mean = {key: float(np.mean(steps)) for key, steps in found.items()}
    return np.array([mean.get(key, -1.0) for key in zip(*(rows.columns[name].tolist() for name in where), strict=True)])


def run_of(agent: str, method: str) -> str:
    """The training run an agent comes from, by its name; members of a team in the package are named after theirs."""
    found = SHIPPED.match(agent) if method == TEAM else None
    name, ahead, variant = agent.partition(LOOKS_AHEAD)
    return found[1] if found else MEMBER.sub("", name) + ahead + variant


def by_partner(rows: Rows, column: str = "success") -> dict[str, float]:
    """The mean of a column for every partner."""
    return {partner: float(rows.only(partner=partner)[column].mean()) for partner in rows.distinct("partner")}


def mean_over_partners(rows: Rows, column: str = "success") -> float:
    """Every partner counts the same, however many episodes it played: the plain mean over holdouts (spec 11.2)."""
    return float(np.mean(list(by_partner(rows, column).values()))) if len(rows) else np.nan


def per_run(rows: Rows, measure: Callable[[Rows], float]) -> np.ndarray:
    """A measure of each training run (seed of a method) alone, [S]; runs for which it is not defined (nan) are left out."""
    values = np.array([measure(rows.only(agent_run=run)) for run in agent_runs(rows)], float)
    return values[~np.isnan(values)]


def agent_runs(rows: Rows) -> list[str]:
    """The runs that the agents come from, in the order of their seeds."""
    seeds = dict(zip(rows["agent_run"].tolist(), rows["agent_seed"].tolist(), strict=True))
    return sorted(seeds, key=lambda run: (seeds[run], natural(run)))


def scripted(rows: Rows) -> Rows:
    """Rows with scripted partners."""
    return rows.only(partner_kind=SCRIPTED)


def learned(rows: Rows) -> Rows:
    """Rows with learned partners."""
    return rows.only(partner_kind=LEARNED)


def efficiency_gain(rows: Rows, kind: str = "success", horizon: int = HORIZON, reference: str = "solo_steps") -> float:
    """L1 / L2 - 1: mean steps of a lone robot over mean steps of the team, on the same episodes (spec 11.3).

    kind, one of GAINS, says which episodes count and how long a failure is. With `success` both must have succeeded.
    reference, one of REFERENCES, says who the lone robot is. nan where no episode counts, or where its time was not asked for.
    """
    if kind not in GAINS:
        raise ValueError(f"no efficiency gain '{kind}' - choose one of: {', '.join(GAINS)}")
    solo, steps, success = (rows[name].astype(float) for name in (reference, "steps", "success"))
    known = solo >= 0
    if not known.any():
        return np.nan
    if kind == "success":
        both = known & (success > 0)
        return float(solo[both].mean() / steps[both].mean() - 1) if both.any() else np.nan
    solo = np.where(known, solo, horizon)
    team = np.where(success > 0, steps, horizon) if kind == "failures" else steps
    return float(solo.mean() / team.mean() - 1)


def subgoal_shares(rows: Rows) -> tuple[list[str], np.ndarray]:
    """(partners [P], p(E_i | partner) [S, P]): in which share of its episodes the agent itself achieved each sub-goal.

    The paper's section 5.4; the sub-goals are the task's, in its order.
    """
    count = int((rows["subgoals"] >= 0).any(axis=0).sum())
    partners = rows.distinct("partner")
    shares = np.zeros((count, len(partners)))
    for column, partner in enumerate(partners):
        shares[:, column] = (rows.only(partner=partner)["subgoals"][:, :count] == AGENT).mean(axis=0)
    return partners, shares


def agent_share(rows: Rows) -> float:
    """Of the sub-goals that were achieved the share that the agent achieved; nan if none was."""
    achieved = (rows["subgoals"] == AGENT).sum() + (rows["subgoals"] == PARTNER).sum()
    return float((rows["subgoals"] == AGENT).sum() / achieved) if achieved else np.nan


def success_matrix(rows: Rows) -> tuple[list[str], list[str], np.ndarray]:
    """(agents [A], partners [P], success [A, P]); nan where a pair did not play."""
    left, right = rows.distinct("agent"), rows.distinct("partner")
    matrix = np.full((len(left), len(right)), np.nan)
    for a, agent in enumerate(left):
        mine = by_partner(rows.only(agent=agent))
        for p, partner in enumerate(right):
            matrix[a, p] = mine.get(partner, np.nan)
    return left, right, matrix


def worst_partners(rows: Rows, share: float = WORST) -> float:
    """Mean success with the worst `share` of the partners (rounded up to whole ones): the tail that an average hides."""
    values = np.sort(list(by_partner(rows).values()))
    return float(values[: int(np.ceil(share * len(values) - 1e-9))].mean()) if len(values) else np.nan


@dataclass(frozen=True)
class Proximity:
    """How near an agent comes to the best responses to its partners."""

    value: float
    """Mean of min(1, J(agent, p) / J(BR_p, p)) over the partners p with a best response; nan without any."""
    partners: int
    """How many that were."""
    left_out: int
    """Partners without a best response, or whose best response never succeeds."""
    exceeded: int
    """Partners with which the agent does better than the best response: a bound that is too weak."""


def best_responses(rows: Rows) -> dict[tuple[str, str], float]:
    """Success of the best response to each partner that has one (see `who`): the best agent trained with that very partner.

    Those are agents of method `best_response` in the evaluation of that name, and for members of a team trained together the
    team mates.
    """
    mates = (rows["method"] == TEAM) & (rows["agent_run"] == rows["partner_run"]) & (rows["agent"] != rows["partner"])
    found = rows.take((mates | (rows["evaluation"] == BEST_RESPONSE)) & (rows["control"] == ""))
    runs = dict(zip(found["partner"].tolist(), found["partner_run"].tolist(), strict=True))
    _, partners, matrix = success_matrix(found)
    return {who(partner, runs[partner]): float(np.nanmax(matrix[:, p])) for p, partner in enumerate(partners)}


def who(partner: str, run: str) -> tuple[str, str]:
    """A partner by its training run and its place there: the same one wherever it lies, in a run or in the package."""
    place, how = re.search(r"(z?\d+)$", partner), partner.partition("/")[0]
    run_of = f"{how}/{run}" if how in DISTURBED else run
    return (run_of, place[1]) if place and run != partner else (partner, "")


def bounds(rows: Rows, best: dict[tuple[str, str], float]) -> dict[str, float]:
    """What the best response reaches with each of the rows' partners, by their names; without those where it never succeeds."""
    runs = dict(zip(rows["partner"].tolist(), rows["partner_run"].tolist(), strict=True))
    found = {partner: best.get(who(partner, run), 0.0) for partner, run in runs.items()}
    return {partner: bound for partner, bound in found.items() if bound > 0}


def proximity(rows: Rows, best: dict[tuple[str, str], float]) -> Proximity:
    """BR-Prox of the rows' agent (success as J), given the success of the best response to each partner."""
    mine, bound = by_partner(rows), bounds(rows, best)
    ratios = [min(1.0, mine[partner] / bound[partner]) for partner in bound]
    exceeded = sum(mine[partner] > bound[partner] for partner in bound)
    return Proximity(float(np.mean(ratios)) if ratios else np.nan, len(bound), len(mine) - len(bound), exceeded)
