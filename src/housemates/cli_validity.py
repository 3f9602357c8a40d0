"""`housemates validity`: does the game tell robots that coordinate from robots that do not?"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from housemates.cli_homes import TaskName, load_homes
from housemates.envs.progress import progress

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

    homes = load_homes("dev")
    print(head + "\n|" + "---|" * (head.count("|") - 1))
    with progress("games of the clairvoyant robot, in thousandths") as report:
        rows = validity(
            homes,
            tasks=(task,) if task else tuple(TASKS),
            speeds=(speed,) if speed else tuple(SPEEDS),
            count=episodes,
            effort=Effort(rounds, branches),
            tell=tell,
            progress=report,
        )
    print("\n" + summary(rows))
    if json is not None:
        save(rows, json)
        print(f"\n{json}")
