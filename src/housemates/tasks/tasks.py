"""The three tasks by name."""

from housemates.tasks.prepare_groceries import PREPARE_GROCERIES
from housemates.tasks.set_table import SET_TABLE
from housemates.tasks.task import Task
from housemates.tasks.tidy_house import TIDY_HOUSE

TASKS = {task.name: task for task in (SET_TABLE, TIDY_HOUSE, PREPARE_GROCERIES)}


def get_task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        raise ValueError(f"no task '{name}' - choose one of: {', '.join(TASKS)}")
    return TASKS[name]
