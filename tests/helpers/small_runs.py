"""Runs as folders, made in a moment: nobody has learnt anything, but everything is where it belongs."""

from dataclasses import replace
from pathlib import Path

from housemates.agents.agent import learned, write_partners
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder
from housemates.runs.run import create
from housemates.runs.train import new_run

DECISIONS = 1000
TINY = PolicyConfig.state(hidden=8, features=8)


def small_run(
    folder: Path, method: str = "gt_coord", seed: int = 0, members: int = 2, done: int = DECISIONS, **more: object
) -> Path:
    """A run of some members, trained for `done` of its decisions; a method of two stages also has an agent.

    more: what its policies say of themselves beside the usual.
    """
    asked = {"preset": "smoke", "method": method, "seed": seed, "decisions": DECISIONS}
    run = replace(new_run(asked, (), "cpu"), policy=TINY)
    create(folder, run)
    meta = {"environment": "x", "decisions": done, "seed": seed, "method": method, "task": run.task, "observations": "state"}
    meta |= more
    files, population = RunFolder(folder), []
    for k in range(members):
        place = files.member(k)
        save_policy(place, Policy(TINY, seed=1000 * seed + k), meta | {"stage": 1})
        population.append(learned(place, str(k)))
    if done >= DECISIONS:
        write_partners(files.population, population, folder)
    if 2 in run.stages:
        save_policy(files.agent, Policy(TINY, seed=1000 * seed + 500), meta | {"stage": 2})
        write_partners(files.partners, [replace(p, name=f"{folder.name}/{p.name}") for p in population], folder)
    return folder
