"""What can be reached with each held-out partner: success of its best response, from rows, and as it comes with the package.

The numbers of the package (`bounds.json`) are of one task, split and environment. They count only for rows of the same; rows of
best responses that are given themselves come first.
"""

from __future__ import annotations

from pathlib import Path

from housemates.agents import agent as registry
from housemates.agents.agent import BEST_RESPONSE
from housemates.evaluation.metrics import Rows, best_responses
from housemates.io import read_json, write_json

FILE = registry.SHIPPED / "bounds.json"
"""The bounds that come with the package."""
AGAIN = "make it again: housemates holdouts bounds ROWS"


def write_bounds(rows: Rows, path: Path | None = None) -> dict[tuple[str, str], int]:
    """Put the bounds of rows of best responses into a file, beside those of other tasks and splits.

    Returns how many partners have one, for each task and split. Rows of two environments of one task and split are refused.
    """
    path = path or FILE
    known = read_json(path, AGAIN) if path.is_file() else {}
    counts = {}
    found = rows.only(evaluation=BEST_RESPONSE)
    if not len(found):
        raise ValueError("these rows are not of best responses - train some: housemates holdouts best-responses")
    for task in found.distinct("task"):
        for split in found.only(task=task).distinct("split"):
            mine = found.only(task=task, split=split)
            environments = mine.distinct("environment")
            if len(environments) > 1:
                raise ValueError(f"rows of {task} in {split} are of {len(environments)} environments - give those of one")
            listed = [[*partner, round(best, 4)] for partner, best in sorted(best_responses(mine).items())]
            known.setdefault(task, {})[split] = {"environment": environments[0], "partners": listed}
            counts[task, split] = len(listed)
    write_json(path, {task: dict(sorted(known[task].items())) for task in sorted(known)})
    return counts


def read_bounds(task: str, split: str, environment: str, path: Path | None = None) -> dict[tuple[str, str], float]:
    """Success of the best response to each partner (see `metrics.who`) that the package knows there."""
    path = path or FILE
    there = read_json(path, AGAIN).get(task, {}).get(split, {}) if path.is_file() else {}
    if there.get("environment") != environment:
        return {}
    return {(run, place): float(best) for run, place, best in there["partners"]}


def known_bounds(rows: Rows) -> dict[tuple[str, str], float]:
    """Bounds for rows of one task: those that the rows say themselves, else those of the package for the same games."""
    held_out = rows.only(evaluation="zsc")
    found: dict[tuple[str, str], float] = {}
    tasks, splits, environments = (held_out.distinct(name) for name in ("task", "split", "environment"))
    if len(tasks) == len(splits) == len(environments) == 1:
        found = read_bounds(tasks[0], splits[0], environments[0])
    return found | best_responses(rows)
