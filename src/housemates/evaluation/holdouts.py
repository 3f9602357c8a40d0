"""Partners that nobody trains with: three scripts per task, and members of GT Coord runs of other seeds (spec 11.1).

A run becomes a holdout by the file holdout.json, which also tells how competent its members are. Some come with the package,
in `housemates/agents/TASK/holdouts/`; `ship` puts them there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from housemates.checksums import read_json
from housemates.evaluation.play import Mind, play
from housemates.evaluation.shipping import ship_policy
from housemates.homes.home import Home
from housemates.kernels.files import write_json
from housemates.learning.settings import to_json
from housemates.learning.trainer import BEFORE_STEPS
from housemates.policies import partners as registry
from housemates.policies.checkpoint import load_policy
from housemates.policies.partners import HOLDOUT_SCRIPTS, MARKER, Partner
from housemates.populations.run import Run, read
from housemates.sim.state import SUCCESS
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import get_task

METHOD = "gt_coord"
"""How learned holdouts are trained (paper, section 5.2)."""
COMPETENCE = ("alone", "alone_subgoals", "mate")
"""Success of a member by itself in the home, the share of the sub-goals it achieves there (a robot that has learnt to leave
half of the work to its mate achieves half of them), and its success with the mate."""


def scripted_holdouts() -> list[Partner]:
    """The three scripts of every task: one stands still, one does the first half, one the second."""
    return [registry.scripted(name) for name in HOLDOUT_SCRIPTS]


def learned_holdouts(task: str, folders: Iterable[Path | str] = ()) -> list[Partner]:
    """Holdouts of a task that come with the package, then members of the complete runs in folders; each once."""
    found = [p for p in registry.shipped() if registry.is_holdout(p) and p.meta.get("task") == task]
    for folder in folders:
        runs = [run for run in runs_in(folder) if read(run).task == task]
        found += [p for run in runs if complete(run) for p in members(run)]
    return list({p.meta["sha256"]: p for p in reversed(found)}.values())[::-1]


def holdouts(task: str, folders: Iterable[Path | str] = ()) -> list[Partner]:
    """All holdouts of a task, scripted ones first."""
    return scripted_holdouts() + learned_holdouts(task, folders)


def runs_in(folder: Path | str) -> list[Path]:
    """Runs that are marked as holdouts in a folder, or the folder itself if it is one, in order of their names."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} with holdouts - make them with: housemates holdouts train")
    places = [folder] if (folder / "config.json").is_file() else sorted(p.parent for p in folder.glob("**/config.json"))
    return [place for place in places if registry.held_out(place.resolve())]


def members(run: Path) -> list[Partner]:
    """Both members of a run, with what its mark says of them."""
    told = read_mark(run).get("members", [])
    recipe = recipe_hash(read(run))
    found = []
    for k, partner in enumerate(registry.population(run)):
        more = told[k] if k < len(told) else {}
        more = more | {"recipe": recipe, "run": run.resolve().name, "member": k, "holdout": True}
        found.append(dataclasses.replace(partner, meta=partner.meta | more))
    return found


def complete(run: Path) -> bool:
    """Whether a run has been trained to its end."""
    try:
        found = registry.population(run)
    except FileNotFoundError:
        return False
    settings = read(run)
    spent = [(p.meta.get("decisions", 0), p.meta.get("steps", 0)) for p in found]
    return len(found) == settings.robots and all(settings.training.share(*numbers) >= 1 for numbers in spent)


def recipe_hash(run: Run) -> str:
    """A short hash of how a run is trained, whatever its seed and the versions it was trained with."""
    values = to_json(run)
    values.pop("versions", None)
    values["training"].pop("seed", None)
    # Recipes from before there were budgets in steps keep their names.
    for name, none in BEFORE_STEPS.items():
        if values["training"][name] == none:
            values["training"].pop(name)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def mark(run: Path, measured: dict[str, Any] | None = None) -> None:
    """Make a run (its folder may be new) a holdout, or write down how competent it is."""
    write_json(run / MARKER, measured or {"members": []})


def read_mark(run: Path) -> dict[str, Any]:
    """What the mark of a holdout says; nothing if the run has none of its own."""
    path = run / MARKER
    if not path.is_file():
        return {}
    return read_json(path, "delete it and run: housemates holdouts train")


def measure(
    run: Path, episodes: Episodes, homes: Sequence[Home], count: int | None = None, seed: int = 0, threads: int = 1
) -> dict[str, Any]:
    """How often each member of a run succeeds alone in the home and with its team mates, on the first `count` episodes."""
    settings = read(run)
    team = [Mind(load_policy(p.path)) for p in registry.population(run)]
    which = np.arange(count or len(episodes))
    together = [[team[k], *team[:k], *team[k + 1 :]] for k in range(len(team))]
    rules = settings.training.rules
    mates = play(episodes, homes, together, rules, seed, which=which, threads=threads)
    alone = play(episodes, homes, [[mind] for mind in team], rules, seed, which=which, threads=threads)
    achieved = alone.done_by[:, : len(get_task(episodes.task).subgoals)] >= 0
    found = []
    for k in range(len(team)):
        mine, ours = alone.team == k, mates.team == k
        rates = (alone.outcome[mine] == SUCCESS, achieved[mine], mates.outcome[ours] == SUCCESS)
        found.append({name: round(float(rate.mean()), 4) for name, rate in zip(COMPETENCE, rates, strict=True)})
    return {"split": episodes.split, "episodes": len(which), "members": found}


def ship(run: Path, root: Path | None = None) -> list[Path]:
    """Copy the members of a complete, measured holdout into the package (or another root); returns their folders."""
    if not registry.held_out(run.resolve()):
        raise ValueError(f"{run} is no holdout - make holdouts with: housemates holdouts train")
    if not complete(run):
        raise ValueError(f"{run} is not trained to its end - continue it: housemates train --resume {run}")
    settings, told = read(run), read_mark(run)
    if len(told.get("members", [])) != settings.robots:
        raise ValueError(f"{run} was not measured - run: housemates holdouts train --task {settings.task}")
    places = []
    shared = {k: told[k] for k in ("split", "episodes")}
    for partner in members(run):
        meta = {"method": settings.method, "preset": settings.preset} | partner.meta | shared
        place = Path(settings.task) / "holdouts" / f"{run.resolve().name}-{partner.meta['member']}"
        places.append(ship_policy(Path(partner.path), place, meta, root))
    mark((root or registry.SHIPPED) / settings.task / "holdouts", {"members": []})
    return places
