"""What the paper claims, claim by claim: its own numbers, ours, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from housemates.evaluation.metrics import Rows, agent_runs, efficiency_gain, per_run
from housemates.evaluation.stats import RESAMPLES, Interval, compare, compare_populations, over_seeds, scores
from housemates.reports import paper
from housemates.reports.marks import about_bdp
from housemates.reports.tables import SEEN, Table
from housemates.tasks.tasks import task_title

HOLDS, NOT_SEEN, OPPOSITE, ONE_SEED, NOT_MEASURED = "holds", "not seen", "the opposite", "one seed", "not measured"
"""Verdicts on one task: our interval is above 0, includes 0, is below 0; too few seeds to say; a method is missing."""
T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Student's t for 95 %, by degrees of freedom from 1 on."""
Compare = Callable[[Rows, Rows, int, int], Interval]


@dataclass(frozen=True)
class Claim:
    """One method is better than another in one respect."""

    text: str
    first: str
    second: str
    evaluation: str
    printed: paper.PrintedTable
    compare: Compare
    sees: tuple[str, ...] = SEEN
    """For which observations of ours it says something."""


def _with_held_out(first: Rows, second: Rows, seed: int, resamples: int) -> Interval:
    return compare(scores(first), scores(second), seed, resamples).difference


def _with_own(first: Rows, second: Rows, seed: int, resamples: int) -> Interval:
    return compare_populations(scores(first), scores(second), seed, resamples)


def _gains(first: Rows, second: Rows, seed: int, resamples: int) -> Interval:
    """The difference of efficiency gains with Welch's interval over seeds."""
    a, b = (over_seeds(per_run(rows, efficiency_gain)) for rows in (first, second))
    value, error = a.mean - b.mean, float(np.hypot(a.error, b.error))
    if min(a.n, b.n) < 2 or not error > 0:
        return Interval(value, value, value)
    free = error**4 / (a.error**4 / (a.n - 1) + b.error**4 / (b.n - 1))
    error *= T95[min(max(int(free), 1), len(T95)) - 1]
    return Interval(value, value - error, value + error)


def _better(first: str, second: str, printed: paper.PrintedTable, own: bool = False) -> Claim:
    """One is better than the other with held-out partners, or each with its own population."""
    text = f"{paper.LABELS[first]} is better than {paper.LABELS[second]} with "
    if own:
        return Claim(f"{text}its own population", first, second, "train_pop", printed, _with_own)
    return Claim(f"{text}held-out partners", first, second, "zsc", printed, _with_held_out)


def _faster(second: str) -> Claim:
    text = f"BDP gains more time than {paper.LABELS[second]} with held-out partners"
    return Claim(text, "bdp", second, "zsc", paper.GAIN, _gains)


BASELINES = ("sp", "pbt", "fcp", "trajedi")
ABLATED = ("bdp_no_discriminator", "bdp_no_latent_no_discriminator", "bdp_shared_encoder", "bdp_separate")
CLAIMS = (
    *(_better("bdp", other, paper.SUCCESS) for other in BASELINES),
    *(_better("bdp", other, paper.SUCCESS, own=True) for other in BASELINES),
    *(_faster(other) for other in BASELINES),
    replace(_better("pbt_state", "bdp", paper.SUCCESS), sees=("depth", "rgb")),
    *(_better("bdp", other, paper.ABLATIONS) for other in ABLATED),
)
"""In the order of the paper's tables 1, 2, 3 and 4."""


@dataclass(frozen=True)
class Found:
    """Our difference on one task."""

    difference: Interval
    """In points."""
    seeds: tuple[int, int]
    """Of the first and of the second method."""


def verdict(told: Found | None) -> str:
    """What our interval says of a claim."""
    if told is None or np.isnan(told.difference.value):
        return NOT_MEASURED
    found = told.difference
    if min(told.seeds) < 2:
        return ONE_SEED
    return HOLDS if found.low > 0 else OPPOSITE if found.high < 0 else NOT_SEEN


def measured(claim: Claim, rows: Rows, task: str, seen: str, seed: int = 0, resamples: int = RESAMPLES) -> Found | None:
    """Our difference of a claim on one task; None where a method was not evaluated.

    seen: the observations of methods that do not say theirs.
    """
    found = rows.only(task=task, evaluation=claim.evaluation)
    pair = [
        found.only(method=name) if name in paper.OWN_OBSERVATIONS else found.only(method=name, observations=seen)
        for name in (claim.first, claim.second)
    ]
    if not all(len(one) for one in pair):
        return None
    if claim.evaluation == "zsc" and not set(pair[0].distinct("partner")) & set(pair[1].distinct("partner")):
        return None
    one = claim.compare(*pair, seed, resamples)
    seeds = len(agent_runs(pair[0])), len(agent_runs(pair[1]))
    return Found(Interval(100 * one.value, 100 * one.low, 100 * one.high), seeds)


def claim_table(rows: Rows, seed: int = 0, resamples: int = RESAMPLES, whole: bool = False) -> Table:
    """Claim by claim: the paper's difference, ours with its interval, and the verdict, a column for each task.

    whole: also claims of which nothing was measured here.
    """
    kinds = rows.only(evaluation=("zsc", "train_pop")).distinct("observations")
    lines = []
    for claim in CLAIMS:
        tasks = [task for task, kind in claim.printed if kind == claim.evaluation]
        for seen in [one for one in claim.sees if one in kinds and one != "predicates"]:
            found = {task: measured(claim, rows, task, seen, seed, resamples) for task in tasks}
            if whole or any(found.values()):
                cells = [_cell(claim, task, found[task]) if task in tasks else "" for task in paper.TASKS]
                lines.append((claim.text, seen, *cells, overall([verdict(found[task]) for task in tasks])))
    columns = ("the paper says", "sees", *(task_title(task) for task in paper.TASKS), "here")
    notes = (
        "Differences in points, of efficiency gains in per cent. In brackets the 95 % interval of ours "
        f"({resamples:,} resamples of seeds, training runs of held-out partners and episodes; of gains Welch's over seeds), "
        "then the seeds of both methods. A claim holds where the interval is above 0. With three seeds intervals are too "
        "narrow: about one of eight comparisons of equal methods would look like a difference.",
        *about_bdp(rows),
    )
    return Table("claims", "What the paper claims, and what is seen here", columns, tuple(lines), notes)


def _cell(claim: Claim, task: str, told: Found | None) -> str:
    """`paper +14.0, here +0.2 [-3.2, +3.6], n=3`."""
    line = claim.printed[task, claim.evaluation]
    words = f"paper {line[claim.first][0] - line[claim.second][0]:+.1f}"
    if told is None or verdict(told) == NOT_MEASURED:
        return f"{words}, {NOT_MEASURED}"
    found, (first, second) = told.difference, told.seeds
    seeds = f"n={first}" if first == second else f"n={first}, {second}"
    if min(told.seeds) < 2:
        return f"{words}, here {found.value:+.1f}, {seeds}"
    return f"{words}, here {found.value:+.1f} [{found.low:+.1f}, {found.high:+.1f}], {seeds}"


def overall(verdicts: list[str]) -> str:
    """One word if all tasks that were measured agree, else how many there are of each."""
    known = [one for one in verdicts if one != NOT_MEASURED]
    if not known:
        return NOT_MEASURED
    words = known[0]
    if len(set(known)) > 1:
        words = ", ".join(f"{one} in {known.count(one)}" for one in (HOLDS, NOT_SEEN, OPPOSITE, ONE_SEED) if one in known)
    return words if len(known) == len(verdicts) else f"{words} ({len(known)} of {len(verdicts)} tasks measured)"
