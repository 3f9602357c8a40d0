"""`housemates games ...`: games that people have played and agreed to keep."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional


def list_games(folder: Positional[Path] = Path("games"), /) -> None:
    """List the games of a folder: who played, and how it ended.

    Args:
        folder: Where `housemates play` keeps them.
    """
    from housemates.sim.captions import ENDS, title
    from housemates.web.games import find_games

    found = find_games(folder)
    for path, recording in found:
        names = " and ".join(recording.header["robots"])
        end = ENDS[recording.header["outcome"]]
        print(f"{path.name}  {title(recording)}: {names}, {end} after {recording.steps} steps")
    print(f"{len(found)} games - watch them with: housemates watch {folder}")


def export_games(folder: Positional[Path] = Path("games"), /, out: Path = Path("games.zip")) -> None:
    """Write all games of a folder into one file.

    Args:
        folder: Where `housemates play` keeps them.
        out: A .zip with the recordings and rows.parquet (rows of the evaluation `human`), or a .parquet with the rows alone.
    """
    from housemates.kernels.files import check_place
    from housemates.web.games import export

    check_place(out)
    count = export(folder, out)
    print(f"{out}: {count} games ({out.stat().st_size / 1000:.0f} kB)")
