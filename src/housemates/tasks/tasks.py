"""The paper's three tasks as tables, and all tasks by name: users add their own with `register_task`.

Set Table: the bowl from its drawer to the dining table, the fruit from the fridge into the bowl. Drawer and fridge are closed.
The paper's text once says the bowl comes from the fridge; its appendix and figure say the drawer, and so does this table.
"""

from housemates.homes.home import OPEN_RECEPTACLES
from housemates.homes.objects import HAB_OBJECTS
from housemates.plugins import Table
from housemates.tasks.task import Target, Task

SET_TABLE = Task(
    name="set_table",
    targets=(
        Target(objects=("024_bowl",), start=("drawer_right",), goal=("table_01",)),
        Target(objects=("013_apple",), start=("fridge",), goal=("table_01",), goal_above=0, goal_lift=0.04),
    ),
    instructions=(
        "Bring the bowl to the table and the apple into the bowl, in any order.",
        "The bowl is in the right drawer, the apple in the fridge. Both are closed: open them.",
    ),
    kitchen=True,
)


TIDY_HOUSE = Task(
    name="tidy_house",
    targets=(
        Target(objects=HAB_OBJECTS, start=OPEN_RECEPTACLES, goal=OPEN_RECEPTACLES, other_piece=True),
        Target(objects=HAB_OBJECTS, start=OPEN_RECEPTACLES, goal=OPEN_RECEPTACLES, other_piece=True),
    ),
    instructions=("Bring both objects to their goals.",),
)


PREPARE_GROCERIES = Task(
    name="prepare_groceries",
    targets=(
        Target(objects=HAB_OBJECTS, start=("fridge",), goal=("counter",)),
        Target(objects=HAB_OBJECTS, start=("table_01", "table_02"), goal=("fridge",)),
    ),
    instructions=("Bring the object in the open fridge to the counter, and the object on the table into the fridge.",),
    kitchen=True,
    opened=(("fridge", 1.5),),
)


PAPER_TASKS = (SET_TABLE, TIDY_HOUSE, PREPARE_GROCERIES)
"""In the order of the paper's tables."""
TASKS: Table[Task] = Table("task", "housemates.tasks", Task, PAPER_TASKS)
"""All tasks that are known here, by name."""


def register_task(task: Task) -> Task:
    """Make a task known by its name to everything in this process: commands, reports, the page. Returns it."""
    return TASKS.register(task)


def get_task(name: str) -> Task:
    """The task of that name: the paper's, registered, or offered by an installed package (entry points housemates.tasks)."""
    return TASKS.find(name)


def resolve_task(task: str | Task) -> Task:
    """The task that a user means: a Task, a name, or package.module:NAME; it is registered. Not for what files say."""
    return TASKS.register(task) if isinstance(task, Task) else TASKS.named(task)


def known_task(name: str) -> Task | None:
    """The task of that name, None if it is not known here: rows and recordings may come from elsewhere."""
    return TASKS[name] if name in TASKS else TASKS.everything().get(name)


def task_title(name: str) -> str:
    """What people call a task; its own name if it is not known here."""
    task = known_task(name)
    return name if task is None else task.title


def task_key(name: str) -> str:
    """What tells tasks apart in hashes: the name of a paper's task, of others also what is in their table."""
    task = get_task(name)
    return name if task in PAPER_TASKS else f"{name} {task.table_hash}"
