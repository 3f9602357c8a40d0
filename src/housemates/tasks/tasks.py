"""The paper's three tasks as tables, and all tasks by name.

Set Table: the bowl from its drawer to the dining table, the fruit from the fridge into the bowl. Drawer and fridge are closed.
The paper's text once says the bowl comes from the fridge; its appendix and figure say the drawer, and so does this table.
"""

from housemates.homes.home import OPEN_RECEPTACLES
from housemates.homes.objects import HAB_OBJECTS
from housemates.tasks.actions import Subgoal
from housemates.tasks.task import Target, Task

SET_TABLE = Task(
    name="set_table",
    targets=(
        Target(objects=("024_bowl",), start=("drawer_right",), goal=("table_01",)),
        Target(objects=("013_apple",), start=("fridge",), goal=("table_01",), goal_above=0, goal_lift=0.04),
    ),
    subgoals=(
        Subgoal("open", "drawer_right"),
        Subgoal("pick", "obj0"),
        Subgoal("place", "obj0"),
        Subgoal("open", "fridge"),
        Subgoal("pick", "obj1"),
        Subgoal("place", "obj1"),
    ),
)


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


PREPARE_GROCERIES = Task(
    name="prepare_groceries",
    targets=(
        Target(objects=HAB_OBJECTS, start=("fridge",), goal=("counter",)),
        Target(objects=HAB_OBJECTS, start=("table_01", "table_02"), goal=("fridge",)),
    ),
    subgoals=(
        Subgoal("pick", "obj0"),
        Subgoal("place", "obj0"),
        Subgoal("pick", "obj1"),
        Subgoal("place", "obj1"),
    ),
    opened=(("fridge", 1.5),),
)


TASKS = {task.name: task for task in (SET_TABLE, TIDY_HOUSE, PREPARE_GROCERIES)}


def get_task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        raise ValueError(f"no task '{name}' - choose one of: {', '.join(TASKS)}")
    return TASKS[name]
