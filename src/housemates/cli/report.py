"""`housemates report`: tables, figures and films of evaluated runs, as one folder with a page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tyro.conf import Positional

from housemates.envs.loading import progress
from housemates.run_folder import RunFolder


def report(
    runs: Positional[tuple[Path, ...]],
    /,
    out: Path | None = None,
    split: str | None = None,
    greedy: bool = False,
    films: bool = True,
    holdouts: tuple[Path, ...] = (),
    seed: int = 0,
) -> None:
    """Tell how well the agents of evaluated runs work with strangers: the paper's tables beside ours, figures, films.

    Args:
        runs: Folders of runs that were evaluated with `housemates evaluate`, or parquet files with rows of an evaluation.
        out: The folder of the report; default: RUN/report for one run, `report` for several.
        split: Whose rows; default: eval if it was played.
        greedy: Take the rows that were played with --greedy.
        films: Play three games again and film them.
        holdouts: Run folders of partners in the rows that do not come with the package, for the films.
        seed: Of the bootstrap intervals.
    """
    from housemates.reports.report import Options, write_report
    from housemates.reports.tables import console

    if not runs:
        raise ValueError("no run was given - for example: housemates report runs/main")
    if out is None:
        out = RunFolder(runs[0]).report if len(runs) == 1 and runs[0].is_dir() else Path("report")

    with ExitStack() as stack:
        shown: dict[str, Callable[[int, int], None]] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in shown:
                stack.close()
                shown[what] = stack.enter_context(progress(what))
            shown[what](done, total)

        written = write_report(runs, out, Options(split, greedy, films, holdouts, seed), tell)
    for table in written.headline:
        print(console(table))
        print()
    for note in written.notes:
        print(f"note: {note}")
    print(f"report: {written.page}")
