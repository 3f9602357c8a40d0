"""Set Table: the bowl from its drawer to the dining table, the fruit from the fridge into the bowl.

Drawer and fridge are closed. The paper's text once says the bowl comes from the fridge; its appendix and figure say the
drawer, and so does this table. Bowl and fruit may come in any order.
"""

from housemates.tasks.goals import Subgoal
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
