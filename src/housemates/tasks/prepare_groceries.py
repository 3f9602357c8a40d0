"""Prepare Groceries: one object out of the open fridge onto the counter, another from a table into the fridge.

The fridge stands open, so its door is nobody's sub-goal. The paper names three sources for the second object; this table
follows its appendix: a table.
"""

from housemates.homes.objects import HAB_OBJECTS
from housemates.tasks.goals import Subgoal
from housemates.tasks.task import Target, Task

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
