"""Tables of a report that go beyond one number for each method: by family of the partners, and where success comes from."""

from __future__ import annotations

from housemates.evaluation.bounds import known_bounds
from housemates.evaluation.metrics import REFERENCES, Rows, efficiency_gain, per_run, proximity
from housemates.evaluation.stats import RESAMPLES, bootstrap_mean, over_seeds, scores
from housemates.evaluation.suite import HIDDEN, NAMES
from housemates.evaluation.variance import PARTS, variance_shares
from housemates.reports import paper
from housemates.reports.marks import explain
from housemates.reports.paper import label
from housemates.reports.tables import Cell, Table, groups, interval, success_cell
from housemates.tasks.tasks import task_title

NO_FAMILY = "others"
"""Partners outside of the suite, or of rows from before it."""


def family_table(rows: Rows, seed: int = 0, resamples: int = RESAMPLES) -> Table:
    """Every method with every family of held-out partners: success, BR-Prox, efficiency gain over both lone robots."""
    lines: list[tuple[str | Cell, ...]] = []
    for task, method, seen, mine in groups(rows.only(evaluation="zsc")):
        best = known_bounds(rows.only(task=task))
        for family in families_of(mine):
            here = mine.only(family=family)
            near = over_seeds(per_run(here, lambda one, best=best: proximity(one, best).value))
            lines.append(
                (
                    task_title(task),
                    label(method),
                    seen,
                    family or NO_FAMILY,
                    str(len(here.distinct("partner"))),
                    success_cell(here),
                    interval(bootstrap_mean(scores(here), seed, resamples)),
                    Cell(near.mean, near.error, near.n, 2),
                    *(gain(here, reference) for reference in REFERENCES),
                )
            )
    columns = ("task", "method", "sees", "family", "partners", "success", "mean [95 %]", "BR-Prox")
    columns += tuple(f"gain, {words}" for words in REFERENCES.values())
    notes = (
        "Percent; success, BR-Prox and gain: mean ± standard error over seeds. Gain: L1 / L2 - 1, steps of the lone robot over "
        "steps of the team in episodes in which both succeed. The learned solo agent is known where its rows (method solo, "
        "evaluated alone) are among those of the report.",
        *explain(lines),
    )
    return Table("families", "Held-out partners by family", columns, tuple(lines), notes)


def families_of(rows: Rows) -> list[str]:
    """The families of the rows' partners, in the order of the suite."""
    order = {name: k for k, name in enumerate((*NAMES, HIDDEN))}
    return sorted(rows.distinct("family"), key=lambda name: (order.get(name, len(order)), name))


def gain(rows: Rows, reference: str) -> Cell:
    """The efficiency gain over one of REFERENCES, percent, over seeds."""
    found = over_seeds(per_run(rows, lambda mine: efficiency_gain(mine, reference=reference)))
    return Cell(100 * found.mean, 100 * found.error, found.n, 1, signed=True)


def variance_table(rows: Rows) -> Table:
    """What decides whether a game with a held-out partner succeeds, for each task and kind of observation."""
    lines: list[tuple[str | Cell, ...]] = []
    held_out = rows.only(evaluation="zsc")
    for task in paper.in_order(held_out.distinct("task")):
        for seen in held_out.only(task=task).distinct("observations"):
            found = variance_shares(held_out.only(task=task, observations=seen))
            if found is not None:
                cells = [Cell(100 * found.share[part], 100 * found.error[part], digits=2) for part in PARTS]
                games = f"{found.agents} × {found.partners} × {found.episodes}"
                lines.append((task_title(task), seen, games, *cells))
    notes = (
        "Percent of the variance of success, ± standard error over episodes (jackknife). Method: between methods; agent: "
        "between seeds of a method (with one seed each, method has both); partner, episode, and both together: the same for "
        "all agents; rest: what agents do differently from game to game, and chance. An estimate of nothing may be a little "
        "below 0.",
    )
    columns = ("task", "sees", "agents × partners × episodes", *PARTS)
    return Table("variance", "What decides whether a game succeeds", columns, tuple(lines), notes)
