"""`housemates holdouts audit`: who of the held-out suite works with whom, and does everybody behave differently?"""

from __future__ import annotations

import os
from pathlib import Path

from tyro.conf import Positional

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress
from housemates.run_folder import ROWS

NAME = "audit"
"""Of the files that are written beside the rows."""


def audit(
    folders: Positional[tuple[Path, ...]] = (),
    /,
    *,
    task: TaskName,
    split: SplitName = "dev",
    episodes: int = 100,
    seed: int = 0,
    threads: int | None = None,
    out: Path = Path("audit"),
    drop: bool = False,
) -> None:
    """Let every partner of the suite play with its learned partners and the paper's scripts; say who behaves like whom.

    Leaves rows (OUT/TASK/episodes.parquet), a table (audit.md) and a figure (audit.png, audit.svg). Interrupted, it keeps the
    games that were played, and the same command goes on with the others.

    Args:
        folders: Folders with holdouts beside those that come with the package.
        task: What is to be done.
        split: The homes.
        episodes: How many of the split's episodes.
        seed: Of everything that is drawn.
        threads: Of the simulator and the networks (default: all cores).
        out: The folder of the results.
        drop: Leave partners that are indistinguishable from another one out of the package's suite, for maintainers.
    """
    from housemates.evaluation import suite
    from housemates.evaluation.audit import audit as compare
    from housemates.evaluation.audit import audit_pairs, mates_of, write_dropped
    from housemates.evaluation.crossplay import check_count, crossplay
    from housemates.evaluation.evaluate import interruptible
    from housemates.evaluation.holdouts import holdouts, suite_of
    from housemates.evaluation.metrics import rows_of
    from housemates.evaluation.resume import kept_beside
    from housemates.evaluation.rows import write_rows
    from housemates.io import write_whole
    from housemates.reports.audit import audit_table, draw_audit
    from housemates.reports.diversity import check_drawing
    from housemates.reports.tables import console, markdown
    from housemates.sim.rules import Rules
    from housemates.speed.measure import commit

    folder = out / task
    for kind in ("png", "svg"):
        check_drawing(folder / f"{NAME}.{kind}")
    homes = load_homes(split)
    played = load_set(task, split, homes)
    check_count(episodes, played)
    families = suite_of(task, folders, everybody=True)
    partners = [partner for found in families.values() for partner in found]
    pairs = audit_pairs(partners, mates_of(families))
    kept = kept_beside(folder / ROWS, pairs, played, homes, Rules(), episodes, seed, False)
    with interruptible(kept), progress(f"games of {len(pairs)} pairs") as report:
        workers = threads or len(os.sched_getaffinity(0))
        rows = crossplay(pairs, played, homes, count=episodes, seed=seed, threads=workers, kept=kept, progress=report)
    write_rows(folder / ROWS, rows)
    if kept is not None:
        kept.remove()
    names = [partner.name for partner in partners]
    found = compare(rows_of(rows), names, keep={partner.name for partner in holdouts(task)})
    told = {"split": split, "episodes": episodes, "seed": seed, "commit": commit()}
    how = (
        f"{episodes} episodes of {split} for each of {len(pairs)} pairs, seed {seed}, commit {told['commit'] or 'unknown'}: "
        f"`housemates holdouts audit --task {task} --split {split} --episodes {episodes}`"
    )
    by_name = {partner.name: name for name, members in families.items() for partner in members}
    table = audit_table(found, by_name, task, how)
    write_whole(folder / f"{NAME}.md", markdown(table).encode())
    draw_audit(found, by_name, [folder / f"{NAME}.{kind}" for kind in ("png", "svg")])
    print(console(table))
    print(f"{len(names) - len(found.dropped)} of {len(names)} partners are distinguishable")
    print(f"{folder / ROWS}, {NAME}.md, {NAME}.png, {NAME}.svg")
    if drop:
        write_dropped(suite.AUDIT, task, partners, found, told)
        print(f"the others are no longer in the suite: {suite.AUDIT}")
