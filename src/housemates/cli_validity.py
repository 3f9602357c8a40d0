"""`housemates validity`: does the game tell robots that coordinate from robots that do not?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

TaskName = Literal["set_table", "tidy_house", "prepare_groceries"]
SpeedName = Literal["slow", "middle", "fast"]


def validity(
    task: TaskName | None = None,
    speed: SpeedName | None = None,
    episodes: int = 200,
    rounds: int = 8,
    branches: int = 64,
    json: Path | None = None,
) -> None:
    """Compare a robot blind to its partner with a clairvoyant one, both with the scripted holdouts, in the dev homes.

    Args:
        task: Only this task.
        speed: Only this speed.
        episodes: Dev episodes of each task.
        rounds: Rounds in which the clairvoyant robot searches episodes it has not solved yet.
        branches: Branches it tries in one round of an episode.
        json: Also write the rows to this file.
    """
    from housemates.evaluation.clairvoyant import Effort
    from housemates.evaluation.validity import Row, save, summary, table, validity
    from housemates.homes.splits import load_split
    from housemates.kernels.files import check_place
    from housemates.sim.rules import SPEEDS
    from housemates.tasks.tasks import TASKS

    if rounds < 0 or branches < 1:
        raise ValueError(f"--rounds must be 0 or more and --branches 1 or more, not {rounds} and {branches}")
    if json is not None:
        check_place(json)
    head, _, _ = table([]).partition("\n")

    def tell(rows: list[Row]) -> None:
        print(table(rows).split("\n", 2)[2], flush=True)

    print("each robot meets the scripted holdouts; this takes some minutes", file=sys.stderr, flush=True)
    print(head + "\n|" + "---|" * (head.count("|") - 1))
    rows = validity(
        load_split("dev"),
        tasks=(task,) if task else tuple(TASKS),
        speeds=(speed,) if speed else tuple(SPEEDS),
        count=episodes,
        effort=Effort(rounds, branches),
        tell=tell,
    )
    print("\n" + summary(rows))
    if json is not None:
        save(rows, json)
        print(f"\n{json}")
