"""What the held-out partners can do: `python tools/suite_page.py` writes the tables of docs/benchmark/suite.md.

The numbers are those of the package (`housemates holdouts measure`), one table for each task, by family.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from housemates.evaluation import competence, suite
from housemates.evaluation.holdouts import suite_of
from housemates.reports.paper import TASKS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmark" / "suite.md"
MARK = "<!-- competence -->"
COLUMNS = ("alone", "standing", "probe", "probe_collision")


def family_table() -> list[str]:
    """Lines of the table of families: success of the probe with the partners of each, mean and range, by task."""
    lines = ["| family | " + " | ".join(TASKS) + " |", "|---" * (len(TASKS) + 1) + "|"]
    told = {task: by_family(task) for task in TASKS}
    names = [family.name for family in suite.FAMILIES if any(family.name in found for found in told.values())]
    lines += [f"| `{name}` | " + " | ".join(spread(told[task].get(name, [])) for task in TASKS) + " |" for name in names]
    return lines


def by_family(task: str) -> dict[str, list[float]]:
    """Success of the probe, per cent, with the partners of each family."""
    rates = competence.of(task)
    families = {family: [100 * rates[partner.name]["probe"] for partner in there] for family, there in suite_of(task).items()}
    return {family: values for family, values in families.items() if values}


def spread(values: list[float]) -> str:
    """Number of partners, mean and range."""
    return f"{len(values)}: {np.mean(values):.0f} ({min(values):.0f} to {max(values):.0f})" if values else "-"


def task_table(task: str) -> list[str]:
    """Lines of the table of a task."""
    lines = ["| partner | alone | standing | probe | collision |", "|---|---|---|---|---|"]
    for name, rates in competence.of(task).items():
        lines.append(f"| `{name}` | " + " | ".join(f"{100 * rates[column]:.0f}" for column in COLUMNS) + " |")
    return lines


def part() -> str:
    """All tables."""
    lines = [*family_table()]
    for task in TASKS:
        told = competence.read()[task]
        lines += ["", f"**{task}**, probe `{told['probe']}`, commit {told['commit']}:", "", *task_table(task)]
    return "\n".join(lines)


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(MARK)
    after = rest.partition(MARK)[2]
    PAGE.write_text(f"{before}{MARK}\n\n{part()}\n\n{MARK}{after}")
