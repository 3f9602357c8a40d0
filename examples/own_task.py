"""A task, a sensor and homes of one's own in one file, and an episode with them.

    python examples/own_task.py
    housemates train --use own_task --task clear_table --preset smoke --method sp --split flats

The tutorial docs/tutorials/your_own_task.md explains every line.
"""

import numpy as np
import tyro

import housemates
from housemates import Sensor, Target, Task, load_split, register_homes, register_sensor, register_task

CLEAR_TABLE = register_task(
    Task(
        name="clear_table",
        targets=(
            Target(objects=("024_bowl",), start=("table_01",), goal=("sink",)),
            Target(objects=("003_cracker_box", "004_sugar_box"), start=("table_01",), goal=("counter",)),
        ),
        instructions=("Bring the bowl from the dining table to the sink, and the box to the counter.",),
        kitchen=True,
    )
)


def write_gap(world, state, rules, which, out):
    """How near the nearest partner is, 1 for touching and 0 for far away, into out [E, R, 1]."""
    robots = which.shape[1]
    place = state["pose"][:, :robots, :2]
    apart = np.linalg.norm(place[:, :, None] - place[:, None], axis=-1)
    apart[:, np.arange(robots), np.arange(robots)] = np.inf
    out[which] = np.exp(-apart.min(axis=2))[which][:, None]


def hide_gap(values, robots):
    values[:] = 0.0


GAP = register_sensor(Sensor("gap", (1,), np.float32, (0, 1), write_gap, "exp(-metres to the nearest partner)", hide_gap))


def largest(text, progress):
    """The two homes of dev with most room."""
    return sorted(load_split("dev"), key=lambda home: home.floor.area)[-2:]


register_homes("flats", largest, meaning="two large flats", episodes=40)


def main(episodes: int = 2) -> list[str]:
    """Scripted robots clear the table in the registered homes; returns how the episodes ended.

    Args:
        episodes: how many.
    """
    env = housemates.make("clear_table", split="flats", observations=("state", "predicates", "gap"))
    seen, _ = env.reset(seed=0)
    print(f"gap of robot 0 at the start: {seen['robot_0']['gap'][0]:.3f}")
    team = ["script/first_half", "script/second_half"]
    outcomes = [
        housemates.record(team, "clear_table", split="flats", episode=number).header["outcome"] for number in range(episodes)
    ]
    print(f"episodes of clear_table: {', '.join(outcomes)}")
    return outcomes


if __name__ == "__main__":
    tyro.cli(main)
