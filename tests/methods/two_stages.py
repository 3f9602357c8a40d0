"""A small run of two stages in the hall, in a process of its own. Usage: two_stages.py FOLDER"""

import sys
from dataclasses import replace
from pathlib import Path

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY
from housemates.methods.self_play import PopulationSettings
from housemates.runs.run import Run, create, work

TRAINING = replace(SHORT, decisions=400)
RUN = Run("pbt", "tidy_house", "smoke", "state", "dev", 2, 1, 1, "cpu", TINY, TRAINING, stages=(1, 2))
RUN = replace(RUN, settings=PopulationSettings(members=2, redraw=2))


def train(folder: Path) -> bool:
    """Begin the run, or continue it."""
    if not (folder / "config.json").exists():
        create(folder, RUN)
    return work(folder, lambda _: ([home()], episodes()), quiet=True)


if __name__ == "__main__":
    train(Path(sys.argv[1]))
