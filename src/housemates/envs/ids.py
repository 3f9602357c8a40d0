"""The environments' names in Gymnasium's registry: `gymnasium.make("housemates/TidyHouse-v0", partner="pretrained/...")`.

`import housemates` registers them. Nothing of the simulator is imported before an environment is made.
"""

from __future__ import annotations

import gymnasium

IDS = {
    "housemates/TidyHouse-v0": "tidy_house",
    "housemates/SetTable-v0": "set_table",
    "housemates/PrepareGroceries-v0": "prepare_groceries",
}
"""The ids of the package's tasks."""
ANY_TASK = "housemates/Task-v0"
"""The id that takes the name of a task as `task`: one's own tasks too."""


def register_ids() -> None:
    """Register all ids, once."""
    for name, task in {**IDS, ANY_TASK: None}.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="housemates.envs.single:make_single",
                vector_entry_point="housemates.envs.vector:make_vec",
                kwargs={} if task is None else {"task": task},
            )
