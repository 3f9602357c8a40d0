"""The sections of a report: headline, zero-shot tables, controls, comparisons, single partners and runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from housemates.agents.agent import BEST_RESPONSE, DISTURBED
from housemates.evaluation.bounds import known_bounds
from housemates.evaluation.metrics import (
    MEMBER,
    Rows,
    bounds,
    by_partner,
    mean_over_partners,
    natural,
    per_run,
    proximity,
    worst_partners,
)
from housemates.evaluation.rows import BUDGETS
from housemates.evaluation.stats import (
    RESAMPLES,
    Scores,
    bootstrap_iqm,
    bootstrap_mean,
    bootstrap_proximity,
    compare,
    over_seeds,
    scores,
)
from housemates.reports import paper
from housemates.reports.marks import (
    COMPUTED,
    LOOKED,
    about_bdp,
    computed_apart,
    decisions_text,
    explain,
    looked_apart,
    marks_of,
    number,
    steps_text,
    trained_with,
)
from housemates.reports.tables import Cell, Table, groups, interval, percent, success_cell
from housemates.reports.work import STANDING
from housemates.sim.scripts import SCRIPTS
from housemates.tasks.tasks import task_title

FEW_METHODS = 4
"""Of so many a report compares every two."""
FEW_EPISODES = 100
"""With fewer for each partner a report is a demonstration."""
SHIPPED = re.compile(
    r"^\w+/(?:examples|holdouts)/(?P<method>\w+?)-\w+-(?P<seen>state|depth|rgb|laptop)-(?P<seed>\d+)(?:[-/](?P<member>z?\d+))?$"
)
"""Policies of the package, by their names: members behind a hyphen, latents behind a slash."""
SEEN_BY = {"state": "", "laptop": "depth"}
"""What is seen by runs that are named after their preset, in short."""
NOT_KNOWN = "unknown"
"""What was not written down when a run was trained."""
CONTROLS = {
    "blind": "cannot sense its partner",
    "random": "partner acts at random",
    "solo": "scripted robot that ignores its partner",
}
"""Words for the controls of `evaluation.rows`."""


def partners_in_order(rows: Rows) -> list[str]:
    """Scripted partners first, in the order of the spec, then the others by name."""
    kinds = dict(zip(rows["partner"].tolist(), rows["partner_kind"].tolist(), strict=True))
    names = [f"script/{name}" for name in SCRIPTS]
    known = {name: k for k, name in enumerate(names)}
    return sorted(kinds, key=lambda p: (kinds[p] != "script", known.get(p, len(names)), natural(p)))


def short_names(partners: Sequence[str], run: str = "") -> dict[str, str]:
    """Names of partners for axes and tables: `first half`, `GT Coord 100-1` (training seed and member); of the population of
    `run`, if that is given, `1` or `z5`. Partners that would get the same name keep their whole one."""
    found = {partner: _short(partner, run) for partner in partners}
    shared = {name for name, count in Counter(found.values()).items() if count > 1}
    return {partner: partner if name in shared else name for partner, name in found.items()}


def _short(partner: str, run: str) -> str:
    place, _, last = partner.rpartition("/")
    if run and MEMBER.search(partner):
        return last
    if partner == STANDING:
        return "standing"
    how, _, plain = partner.partition("/")
    if how in DISTURBED and plain:
        return f"{how} {_short(plain, run)}"
    shipped = SHIPPED.match(partner)
    if shipped:
        seen = SEEN_BY.get(shipped["seen"], shipped["seen"])
        words = [
            paper.label(shipped["method"]),
            *([seen] if seen else []),
            "-".join(filter(None, shipped.group("seed", "member"))),
        ]
        return " ".join(words)
    if last == "agent" and place:
        return place.rpartition("/")[2]
    return last.replace("_", " ") if place in ("", "script") else "/".join(partner.split("/")[-2:])


def references(rows: Rows, task: str) -> dict[str, float]:
    """What success with the held-out partners of a task is compared with, as far as it was played: the mean over partners of
    the scripted robot that ignores its partner, of the methods' agents without their partner sensor, of best responses."""
    mine = rows.only(task=task, evaluation="zsc")
    controls = rows.only(task=task, evaluation="control")
    reached = bounds(mine, known_bounds(rows.only(task=task)))
    found = {
        "scripted solo": mean_over_partners(controls.only(control="solo")),
        "partner-blind": mean_over_partners(controls.only(control="blind")),
        "best response": float(np.mean(list(reached.values())))
        if reached and len(reached) == len(by_partner(mine))
        else np.nan,
    }
    return {words: value for words, value in found.items() if not np.isnan(value)}


def headline(rows: Rows, seed: int = 0, resamples: int = RESAMPLES) -> list[str]:
    """The result in a sentence for each task: success of every method with held-out partners, and what to compare it with."""
    told = []
    held_out = rows.only(evaluation="zsc")
    for task in paper.in_order(held_out.distinct("task")):
        here = held_out.only(task=task)
        several = len({seen for *_, seen, _ in groups(here)}) > 1
        said = []
        for _, method, seen, mine in groups(here):
            mean = bootstrap_mean(scores(mine), seed, resamples)
            name = paper.label(method) + (f" ({seen})" if several else "")
            said.append(f"{name} {100 * mean.value:.1f} % [{100 * mean.low:.1f}, {100 * mean.high:.1f}]")
        compared = [f"{words} {100 * value:.1f} %" for words, value in references(rows, task).items()]
        partners, homes = len(here.distinct("partner")), len(here.distinct("home"))
        told.append(
            f"{task_title(task)}, success with {partners} held-out partners in {homes} homes of the split "
            f"{here.distinct('split')[0]}: {', '.join(said)}"
            + (f"; to compare: {', '.join(compared)}" if compared else "")
            + "."
        )
    return told


def few_episodes(rows: Rows) -> list[str]:
    """A warning if the held-out partners were met in too few episodes for a result."""
    held_out = rows.only(evaluation="zsc")
    episodes = len(held_out.distinct("episode"))
    if not 0 < episodes < FEW_EPISODES:
        return []
    return [
        f"Only {episodes} episodes with each held-out partner: good for a look, not for a result - "
        f"housemates evaluate plays {FEW_EPISODES} unless --episodes says otherwise."
    ]


def zero_shot_table(rows: Rows, seed: int = 0, resamples: int = RESAMPLES) -> Table:
    """How every method does with held-out partners: mean, IQM with interval, the worst partners, how episodes end."""
    held_out, lines = rows.only(evaluation="zsc"), []
    for task, method, seen, mine in groups(held_out):
        found = scores(mine)
        lines.append(
            (
                task_title(task),
                paper.label(method),
                seen,
                presets(mine),
                pictures(mine),
                decisions_text(mine),
                steps_text(mine),
                success_cell(mine),
                replace(interval(bootstrap_iqm(found, seed, resamples)), mark=marks_of(mine)),
                percent(over_seeds(per_run(mine, worst_partners)), marks_of(mine)),
                _ends(mine, "collision"),
                _ends(mine, "timeout"),
                _near(mine, found, known_bounds(rows.only(task=task)), seed, resamples),
            )
        )
    columns = ("task", "method", "sees", "preset", "pictures", "decisions", "steps", "success", "IQM [95 %]", "worst 20 %")
    columns += ("collision", "time-out", "BR-Prox")
    notes = (
        "Decisions and simulation steps of the training are of both stages together. Percent; success, worst 20 % (the worst "
        "fifth of the partners, rounded up), collision and time-out: plain mean over "
        "partners, mean ± standard error over seeds.",
        f"IQM over seeds and partners; interval: {resamples:,} bootstrap resamples of agent seeds, of training runs within "
        "learned partners, and of episodes. With n=1 it says nothing about other seeds.",
        "BR-Prox [95 %]: success as a share of the best response's, capped at 1; partners without one are left out. "
        "'k above': with k partners agents do better than the best response, whose bound is too low there.",
        *about_bdp(held_out),
        *explain(lines),
    )
    return Table("zero_shot", "Zero-shot: how well agents work with partners they never met", columns, tuple(lines), notes)


def _ends(rows: Rows, column: str) -> Cell:
    """How often episodes end in one way."""
    return percent(over_seeds(per_run(rows, lambda mine: mean_over_partners(mine, column))), marks_of(rows))


def _near(rows: Rows, found: Scores, best: dict[tuple[str, str], float], seed: int, resamples: int) -> Cell:
    """BR-Prox of one method's rows: over seeds, with its interval and how many partners have a best response."""
    whole = proximity(rows, best)
    if not whole.partners:
        return Cell()
    near = over_seeds(per_run(rows, lambda mine: proximity(mine, best).value))
    drawn = bootstrap_proximity(found, bounds(rows, best), seed, resamples)
    note = f"{whole.partners} of {whole.partners + whole.left_out}" + (f", {whole.exceeded} above" if whole.exceeded else "")
    return Cell(near.mean, near.error, near.n, 2, drawn.low, drawn.high, note, marks_of(rows))


def control_table(rows: Rows) -> Table:
    """The controls: would the agent do as well without sensing its partner, and would any robot?"""
    lines: list[tuple[str | Cell, ...]] = []
    for task, method, seen, mine in groups(rows.only(evaluation=("zsc", "control", "human"))):
        cases = [("with held-out partners", mine.only(evaluation="zsc")), ("with people", mine.only(evaluation="human"))]
        cases += [(CONTROLS.get(c, c), mine.only(evaluation="control", control=c)) for c in CONTROLS]
        for what, part in cases:
            if len(part):
                cells = [success_cell(part), _ends(part, "collision"), _ends(part, "timeout")]
                # A script has no seeds that could be counted.
                cells = [replace(cell, n=0) for cell in cells] if method == "solo" else cells
                lines.append((task_title(task), paper.label(method), seen or "-", what, f"{len(part):,}", *cells))
    missing = [text for name, text in CONTROLS.items() if not len(rows.only(evaluation="control", control=name))]
    notes = (
        "Percent, mean ± standard error over seeds. If an agent does as well without sensing its partner, its success is no "
        "coordination.",
    )
    notes += (f"Not evaluated: {'; '.join(missing)}.",) if missing else ()
    columns = ("task", "method", "sees", "control", "episodes", "success", "collision", "time-out")
    notes = (*notes, *trained_with(rows.only(evaluation=("zsc", "control", "human"))), *explain(lines))
    return Table("controls", "Controls: what the success is compared with", columns, tuple(lines), notes)


def comparison_table(rows: Rows, seed: int = 0, resamples: int = RESAMPLES) -> Table:
    """Every two methods with the same held-out partners in the same episodes; the paper's own method first.

    Of more than FEW_METHODS only what a reader asks for: the first one with every other, and each with what is added to it.
    """
    held_out = rows.only(evaluation="zsc")
    lines: list[tuple[str | Cell, ...]] = []
    for task in paper.in_order(held_out.distinct("task")):
        found = [(m, seen, scores(mine), marks_of(mine)) for _, m, seen, mine in groups(held_out.only(task=task))]
        found.sort(key=lambda item: item[0] != "bdp")
        first = found[0][0].partition(" + ")[0] if len({m for m, *_ in found}) > FEW_METHODS else ""
        for (m, seen, a, marks), (other, seen_too, b, marks_too) in combinations(found, 2):
            same = seen == seen_too or m in paper.OWN_OBSERVATIONS or other in paper.OWN_OBSERVATIONS
            if not same or not set(a.partners) & set(b.partners) or not _asked(first, m, other):
                continue
            result = compare(a, b, seed, resamples)
            games = held_out.only(task=task, method=(m, other), observations=(seen, seen_too))
            more = (COMPUTED if computed_apart(games) else "") + (LOOKED if looked_apart(games) else "")
            both = "".join(dict.fromkeys(marks + marks_too + more))
            lines.append(
                (
                    task_title(task),
                    f"{paper.label(m)} − {paper.label(other)}",
                    seen if seen == seen_too else f"{seen}, {seen_too}",
                    replace(interval(result.difference, signed=True), mark=both),
                    replace(interval(result.improvement, 1.0, 2), mark=both),
                    f"{len(a.values)}, {len(b.values)}",
                    f"{result.partners} × {result.episodes}",
                )
            )
    columns = ("task", "methods", "sees", "difference [95 %]", "P(improvement) [95 %]", "seeds", "partners × episodes")
    notes = (
        "Difference of zero-shot success in points, paired by partner and episode. P(improvement): how often a seed of the "
        "first beats a seed of the second with the same partner. "
        f" {resamples:,} resamples of seeds, training runs of partners, episodes.",
        *trained_with(held_out),
        *explain(lines),
    )
    return Table("comparisons", "Methods compared", columns, tuple(lines), notes)


def _asked(first: str, *methods: str) -> bool:
    """Whether two of many methods are worth a line; `first`: the one that all others are compared with."""
    (name, _, added), (other, _, added_too) = (method.partition(" + ") for method in methods)
    return not first or name == other or (added == added_too and first in (name, other))


def partner_table(rows: Rows, task: str, evaluation: str = "zsc") -> Table:
    """Success with every partner of one task, a column for each method, and for best responses if there are any."""
    mine = rows.only(task=task, evaluation=evaluation)
    found = [(f"{paper.label(m)} ({seen})", part) for _, m, seen, part in groups(mine)]
    reached = bounds(mine, known_bounds(rows.only(task=task)))
    names = short_names(partners_in_order(mine))
    lines = []
    for partner in names:
        with_it = mine.only(partner=partner)
        kind = str(with_it["partner_kind"][0])
        cells = [success_cell(part.only(partner=partner)) for _, part in found]
        cells += [Cell(100 * reached[partner]) if partner in reached else Cell()] if reached else []
        lines.append((names[partner], kind, str(with_it["partner_observations"][0]) or "-", *cells))
    columns = ("partner", "kind", "sees", *(name for name, _ in found), *(["best response"] if reached else []))
    title = f"{task_title(task)}: success with each held-out partner, percent"
    return Table(f"partners_{task}", title, columns, tuple(lines), (*trained_with(mine), *explain(lines)))


def response_table(rows: Rows, task: str) -> Table:
    """What was reached with each partner by agents that know it: its best responses, and the mates of its own training."""
    mine = rows.only(task=task, evaluation=BEST_RESPONSE)
    names = short_names(partners_in_order(mine))
    lines: list[tuple[str | Cell, ...]] = []
    for partner in names:
        for agent in mine.only(partner=partner).distinct("agent"):
            part = mine.only(partner=partner, agent=agent)
            kind = "trained for it" if part["method"][0] == BEST_RESPONSE else "its team mate"
            ends = [Cell(100 * float(part[column].mean())) for column in ("success", "collision", "timeout")]
            lines.append(
                (
                    names[partner],
                    kind,
                    short_names([agent])[agent],
                    str(part["observations"][0]),
                    decisions_text(part),
                    steps_text(part),
                    *ends,
                )
            )
    columns = ("partner", "best response", "agent", "sees", "decisions", "steps", "success", "collision", "time-out")
    notes = ("Percent. The best one of each partner is its bound in BR-Prox.",)
    return Table(
        f"responses_{task}", f"{task_title(task)}: what could be reached with each partner", columns, tuple(lines), notes
    )


def run_table(rows: Rows) -> Table:
    """What was evaluated: a line for each run."""
    lines: list[tuple[str | Cell, ...]] = []
    entrants = rows.take(rows["evaluation"] != BEST_RESPONSE)
    for task, method, seen, group in groups(entrants.only(control=("", "blind", "random"))):
        for run in group.distinct("agent_run"):
            mine = group.only(agent_run=run)
            held_out = mine.only(evaluation="zsc")
            asked = "yes" if held_out["zero_shot"].all() else "NO †"
            counts = [len(by_partner(mine.only(evaluation=e))) for e in ("train_pop", "zsc")]
            lines.append(
                (
                    run,
                    paper.label(method),
                    task_title(task),
                    seen,
                    presets(mine),
                    pictures(mine),
                    str(int(mine["agent_seed"][0])),
                    *_stages(mine),
                    *map(str, counts),
                    f"{len(mine):,}",
                    asked if len(held_out) else "-",
                    ", ".join(mine.distinct("environment")),
                )
            )
    columns = (
        "run",
        "method",
        "task",
        "sees",
        "preset",
        "pictures",
        "seed",
        "decisions",
        "steps",
        "partners",
        "holdouts",
        "episodes",
        "zero-shot",
        "environment",
    )
    return Table("runs", "Runs", columns, tuple(lines), explain(lines))


def presets(rows: Rows) -> str:
    """What the runs were trained by."""
    return ", ".join(name or NOT_KNOWN for name in rows.distinct("preset"))


def pictures(rows: Rows) -> str:
    """How large the pictures are that the runs see."""
    sizes = [int(side) for side in rows.distinct("pixels")]
    return ", ".join(f"{side} × {side}" if side > 0 else "none" if side == 0 else NOT_KNOWN for side in sizes)


def _stages(rows: Rows) -> tuple[str, str]:
    """Decisions and simulation steps of one run, stage 1 + stage 2 where both are known."""
    spent = {name: int(rows[name][0]) for name in BUDGETS}
    told = []
    for unit, whole in (("decisions", decisions_text(rows)), ("steps", steps_text(rows))):
        parts = [spent[f"stage{k}_{unit}"] for k in (1, 2)]
        told.append(" + ".join(map(number, parts)) if min(parts) > 0 else whole)
    return told[0], told[1]
