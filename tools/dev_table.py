"""The table of docs/results/dev.md from the rows in results/state-dev: `python tools/dev_table.py` writes it into the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from housemates.evaluation.metrics import Rows, efficiency_gain, mean_over_partners, rows_of
from housemates.evaluation.rows import read_rows
from housemates.methods import METHODS
from housemates.tasks.tasks import PAPER_TASKS

ROOT = Path(__file__).resolve().parents[1]
ROWS, PAGE = ROOT / "results" / "state-dev", ROOT / "docs" / "results" / "dev.md"
TASKS = "|".join(task.name for task in PAPER_TASKS)
NAME = re.compile(rf"^(?P<method>\w+)-(?P<task>{TASKS})-state-(?P<seed>\d+)(?P<ahead>\+lookahead)?$")
COLUMNS = ("method", "seeds", "own population", "held-out partners", "standing", "half scripts", "learned")
COLUMNS += ("collisions", "time-outs", "gain")
HALVES = ("script/first_half", "script/second_half")
VARIANTS = {"near": "more entropy near the partner", "prioritised": "prioritised partners", "liam": "partner model"}
"""Last words of the names of runs with an option."""


def label(method: str) -> str:
    """What a table calls a method, or a method with an option."""
    name, _, option = method.rpartition("_")
    return f"{METHODS[name].label}, {VARIANTS[option]}" if option in VARIANTS else METHODS[method].label


def numbers(rows: Rows) -> list[float]:
    """Success with its own population, with held-out partners, standing, half scripts, learned; collisions, time-outs, gain."""
    held_out = rows.only(evaluation="zsc", control="")
    parts = [rows.only(evaluation="train_pop"), held_out, held_out.only(partner="script/noop")]
    parts += [held_out.only(partner=HALVES), held_out.only(partner_kind="learned")]
    found = [100 * mean_over_partners(part) if len(part) else np.nan for part in parts]
    found += [100 * mean_over_partners(held_out, what) for what in ("collision", "timeout")]
    return [*found, 100 * efficiency_gain(held_out)]


def table(task: str) -> list[str]:
    """The lines of one task: mean over seeds, every seed in brackets for held-out partners."""
    runs: dict[tuple[str, bool], list[tuple[int, list[float]]]] = {}
    for path in sorted(ROWS.glob("*.parquet")):
        found = NAME.match(path.stem)
        if found and found["task"] == task:
            key = found["method"], bool(found["ahead"])
            runs.setdefault(key, []).append((int(found["seed"]), numbers(rows_of(read_rows(path)))))
    order = {method: place for place, method in enumerate(METHODS)}
    lines = []
    for method, ahead in sorted(runs, key=lambda key: (order.get(key[0], len(order)), key)):
        seeds = sorted(runs[method, ahead])
        values = np.array([values for _, values in seeds])
        cells = [f"{value:.1f}" for value in values.mean(axis=0)]
        if len(seeds) > 1:
            cells[1] += f" ({', '.join(f'{value:.1f}' for value in values[:, 1])})"
        cells[-1] = f"{values[:, -1].mean():+.0f} %"
        name = "... + look-ahead" if ahead else label(method)
        lines.append(f"| {name} | {', '.join(str(seed) for seed, _ in seeds)} | {' | '.join(cells)} |")
    if not lines:
        return ["", "Not measured yet.", ""]
    return ["", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", *lines, ""]


def with_tables(text: str) -> str:
    """The page with its tables made anew, between their marks."""
    for task in PAPER_TASKS:
        mark = f"<!-- {task.name} -->"
        before, _, rest = text.partition(mark)
        _, _, after = rest.partition(mark)
        text = "\n".join([f"{before}{mark}", *table(task.name), f"{mark}{after}"])
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
