"""Tidy House: two household objects, each from one open piece of furniture to another one.

Nothing needs opening. The goal is on another of the six kinds than the start, and so on another piece of furniture.
"""

from housemates.homes.home import OPEN_RECEPTACLES
from housemates.homes.objects import HAB_OBJECTS
from housemates.tasks.goals import Subgoal
from housemates.tasks.task import Target, Task

TIDY_HOUSE = Task(
    name="tidy_house",
    targets=(
        Target(objects=HAB_OBJECTS, start=OPEN_RECEPTACLES, goal=OPEN_RECEPTACLES, other_piece=True),
        Target(objects=HAB_OBJECTS, start=OPEN_RECEPTACLES, goal=OPEN_RECEPTACLES, other_piece=True),
    ),
    subgoals=(
        Subgoal("pick", "obj0"),
        Subgoal("place", "obj0"),
        Subgoal("pick", "obj1"),
        Subgoal("place", "obj1"),
    ),
)
