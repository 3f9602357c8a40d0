"""Give a run the trained population of another one, as if it had trained it itself: FCP's members are those of self-play.

Usage: python -m housemates.grid.share SOURCE FOLDER METHOD
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from housemates.agents.agent import read_partners, write_partners
from housemates.io import whole_folder
from housemates.methods.self_play import earlier_versions
from housemates.policies.checkpoint import read_description
from housemates.run_folder import ONLY_FOR_TRAINING, RunFolder
from housemates.runs.run import create, read


def share(source: Path, folder: Path, method: str) -> None:
    """Make `folder` a run of `method` whose first stage is that of the complete run `source`; all of it appears at once."""
    run = read(source)
    partners = read_partners(RunFolder(source).population, source)
    if method == "fcp":
        known = {"robots": run.robots, "holdout": False}
        partners += [replace(p, meta=_facts(Path(p.path)) | known) for p in earlier_versions(partners)]
    with whole_folder(folder) as scratch:
        create(scratch, replace(run, method=method, stages=(1,)))
        first, own = RunFolder(source).stage(1).path, RunFolder(scratch).stage(1).path
        shutil.copytree(first, own, ignore=shutil.ignore_patterns(*ONLY_FOR_TRAINING))
        moved = [replace(p, path=str(scratch.resolve() / Path(p.path).relative_to(source.resolve()))) for p in partners]
        write_partners(RunFolder(scratch).population, moved, scratch)


def _facts(folder: Path) -> dict[str, object]:
    """What an earlier version of a member says of itself; how well it did is known of the last one only."""
    described = read_description(folder)
    return described["meta"] | {"sha256": described["weights"]["sha256"]}


if __name__ == "__main__":
    share(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
    print(f"{sys.argv[2]}: the population of {sys.argv[1]}")
