"""`housemates report`: tables, figures and films of evaluated runs, as one folder with a page."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional


def report(
    runs: Positional[tuple[Path, ...]],
    /,
    out: Path | None = None,
    split: str | None = None,
    greedy: bool = False,
    films: bool = True,
    holdouts: tuple[Path, ...] = (),
    seed: int = 0,
    all_tables: bool = False,
) -> None:
    """Report how well agents work with held-out partners: tables beside the paper's, figures, videos, on one page.

    Args:
        runs: Folders of runs that were evaluated with `housemates evaluate`, or parquet files with rows of an evaluation.
        out: The folder of the report; default: RUN/report for one run, `report` for several.
        split: Whose rows; default: eval if it was played.
        greedy: Take the rows that were played with --greedy.
        films: Play three games again and film them.
        holdouts: Run folders of partners in the rows that do not come with the package, for the films.
        seed: Of the bootstrap intervals.
        all_tables: Show the paper's tables whole, also methods and tasks without a result of ours.
    """
    from housemates.reports import report as reports
    from housemates.reports.tables import console

    written = reports.report(
        runs, out, split=split, greedy=greedy, films=films, holdouts=holdouts, seed=seed, all_tables=all_tables
    )
    for table in written.headline:
        print(console(table))
        print()
    for line in written.lead:
        print(line)
    for note in written.notes:
        print(f"note: {note}")
    print(f"report: {written.page}")
    print("next: open it in a browser; housemates play")
