"""The table of docs/lab_notes/sensors.md from the rows in results/sensors-dev: `python tools/sensor_table.py` writes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from housemates.evaluation.metrics import LOOKS_AHEAD, Rows, mean_over_partners, rows_of
from housemates.evaluation.rows import read_rows
from housemates.evaluation.stats import compare, scores
from housemates.reports.tables import interval

ROOT = Path(__file__).resolve().parents[1]
ROWS, PAGE, MARK = ROOT / "results" / "sensors-dev", ROOT / "docs" / "lab_notes" / "sensors.md", "<!-- sensors -->"
NAMES = {
    "none": "`state+predicates`, as in the preset",
    "laser": "+ `laser`",
    "laser_laser_robots": "+ `laser`, `laser_robots`",
    "track": "+ `track`",
    "receptacles": "+ `receptacles`",
    "egomotion": "+ `egomotion`",
    "all": "+ all five",
    "sp": "SP",
    "sp-laser": "... + `laser` in both stages",
    "pbt": "PBT",
    "pbt-laser": "... + `laser` in both stages",
    "bdp-laser": "BDP (first line) + `laser` in both stages",
}
"""Lines of the table, by the name of the rows' file."""
FIRST = ("none", "sp", "pbt")
"""Without further sensors: others are compared with them."""
COLUMNS = (
    "sensors",
    "learned partners",
    "blind partners",
    "scripts of the whole task",
    "all eight",
    "difference",
    "with look-ahead",
)


def ends(rows: Rows) -> str:
    """Success / collisions / time-outs, per cent."""
    return " / ".join(f"{100 * mean_over_partners(rows, end):.1f}" for end in ("success", "collision", "timeout"))


def looks(rows: Rows, ahead: bool) -> Rows:
    """Those with look-ahead, or those without."""
    return rows.take(np.array([(LOOKS_AHEAD in method) == ahead for method in rows["method"]]))


def told(rows: Rows, beside: Rows | None) -> list[str]:
    """Cells of one agent; `beside`: rows of the same without the sensors."""
    plain = looks(rows, False)
    met = plain.distinct("partner")
    blind = tuple(name for name in met if name.startswith("blind/"))
    scripts = tuple(name for name in met if name.startswith("script/"))
    learned = tuple(name for name in met if name not in (*blind, *scripts))
    kinds = [ends(plain.only(partner=kind)) for kind in (learned, blind, scripts)]
    difference = interval(compare(scores(plain), scores(looks(beside, False))).difference, signed=True).text if beside else ""
    return [*kinds, ends(plain), difference, ends(looks(rows, True))]


def table() -> list[str]:
    """The lines of the table."""
    found = {name: rows_of(read_rows(ROWS / f"{name}.parquet")) for name in NAMES if (ROWS / f"{name}.parquet").is_file()}
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for name, rows in found.items():
        method = name.removesuffix("-laser")
        first = "" if name in FIRST else method if method in FIRST else "none"
        lines.append(f"| {NAMES[name]} | {' | '.join(told(rows, found.get(first)))} |")
    return lines


def with_table(text: str) -> str:
    """The page with its table made anew."""
    before, _, rest = text.partition(MARK)
    _, _, after = rest.partition(MARK)
    return "\n".join([f"{before}{MARK}", "", *table(), "", f"{MARK}{after}"])


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
