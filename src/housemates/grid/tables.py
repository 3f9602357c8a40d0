"""What a grid has of each of the paper's tables, and what is missing."""

from __future__ import annotations

from housemates.grid.estimate import share_done
from housemates.grid.plan import ABLATIONS, GRIDS, MAIN, OBSERVATIONS, Grid
from housemates.methods import METHODS

TABLES = (
    ("tables 1, 2 and 5", (*MAIN, "bdp_literal"), "paper"),
    ("tables 3 and 4 (ablations)", ABLATIONS, "ablations"),
    ("other observations", OBSERVATIONS, "observations"),
)
"""Title, rows, and the grid that names the tasks of each row."""


def table_lines(grid: Grid) -> list[str]:
    """For each of the paper's tables: how many seeds of each cell were evaluated, and how far the others are."""
    runs = {(c.method, c.task): [] for c in grid.cells if c.kind == "evaluation"}
    for cell in grid.cells:
        if cell.kind == "evaluation":
            runs[cell.method, cell.task].append(cell)
    lines: list[str] = []
    for title, methods, name in TABLES:
        tasks = list(dict.fromkeys(task for method, task in GRIDS[name] if method in methods))
        known = [method for method in methods if any((method, task) in runs for task in tasks)]
        if not known:
            continue
        wide = max(len(METHODS[method].label) for method in known)
        lines += [
            "",
            f"{title}: seeds evaluated, and how far the others are",
            " " * wide + "".join(f"  {t:<28}" for t in tasks),
        ]
        for method in known:
            cells = [_words(grid, runs.get((method, task), [])) if (method, task) in GRIDS[name] else "" for task in tasks]
            lines.append(f"{METHODS[method].label:<{wide}}" + "".join(f"  {cell:<28}" for cell in cells))
    return [line.rstrip() for line in lines[1:]]


def _words(grid: Grid, evaluations: list) -> str:
    """One cell of a table: 2 of 3; 2: stage 2 at 61 %."""
    if not evaluations:
        return "not in this grid"
    done = [cell for cell in evaluations if grid.done(cell)]
    words = f"{len(done)} of {len(evaluations)}"
    others = [(cell.seed, _stand(grid, cell.run)) for cell in evaluations if cell not in done]
    return "; ".join([words, *(f"{seed}: {stand}" for seed, stand in others if stand)])


def _stand(grid: Grid, run: str) -> str:
    """How far a run is; nothing if it has not begun."""
    mine = [cell for cell in grid.cells if cell.run == run and cell.kind in ("population", "agent")]
    for cell in mine:
        if not grid.done(cell):
            share = share_done(grid, cell)
            stage = 2 if cell.kind == "agent" else 1
            return f"stage {stage} at {share:.0%}" if share or (stage == 2 and len(mine) > 1) else ""
    return "trained"
