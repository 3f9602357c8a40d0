"""`housemates submit`: rows of one method become an entry of the leaderboard."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional

FOLDER = Path("results/leaderboard")
"""Where the site's leaderboard looks for entries."""


def submit(
    sources: Positional[tuple[Path, ...]],
    /,
    name: str,
    privileged: str = "",
    decisions: int | None = None,
    link: str = "",
    out: Path = FOLDER,
) -> None:
    """Make an entry of the leaderboard from the rows of an agent; rows that break a rule are refused.

    The entry is a folder with entry.json (what was declared, the figures, a checksum) and rows.parquet (the games with held-out
    partners). An agent from outside is a function that was evaluated with --agents module:function; its attributes method,
    observations and decisions name it. The rules are in docs/benchmark/leaderboard.md.

    Args:
        sources: Runs that were evaluated with `housemates evaluate`, or parquet files of rows: one for each training seed.
        name: What the table calls the entry.
        privileged: What the agent knows, or its training used, that no robot could know; observations are found by themselves.
        decisions: Decisions of the training, where the rows do not say it; 0 if nothing was trained.
        link: Where more is told: a paper, a repository.
        out: The folder of all entries.
    """
    from housemates.evaluation.leaderboard import submit as make_entry

    if not sources:
        raise ValueError("submit what? - give evaluated runs, or parquet files of rows")
    folder, entry = make_entry(sources, name, out, privileged=privileged, decisions=decisions, link=link)
    found = entry.figures
    print(f"{name}: {entry.task} from {entry.observations}, {len(entry.seeds)} seed{'s' if len(entry.seeds) > 1 else ''}")
    print(f"success with {len(found.by_partner)} held-out partners: {100 * found.success:.1f} %", end="")
    print(f" [{100 * found.low:.1f}, {100 * found.high:.1f}], with the worst fifth of them {100 * found.worst:.1f} %")
    if len(entry.seeds) < 3:
        print("note: fewer than three trainings say something about these agents, not about the method")
    print(f"entry: {folder}")
    print("next: commit the folder, and send it as a pull request")
