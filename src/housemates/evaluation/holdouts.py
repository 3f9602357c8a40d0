"""Held-out partners: where each comes from, how competent it is, and how trained ones become part of the package.

Whatever was not recorded at training time stays UNKNOWN; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from housemates.agents import agent as registry
from housemates.agents.actors import load_actors
from housemates.agents.agent import HOLDOUT_SCRIPTS, LATENTS, Agent
from housemates.config import to_json
from housemates.evaluation import suite
from housemates.evaluation.metrics import ALONE
from housemates.evaluation.play import play
from housemates.evaluation.rows import BUDGETS, UNKNOWN, read_rows
from housemates.homes.home import Home
from housemates.io import read_json, write_json, write_whole
from housemates.methods.hidden_utility import PREFERENCES
from housemates.policies.checkpoint import config_of, load_policy, read_description, save_policy
from housemates.run_folder import RunFolder, is_held_out, is_policy, policies_below, run_around, runs_below
from housemates.runs.run import Run, read
from housemates.sim.state import SUCCESS
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import get_task


def run_of(partner: Agent) -> Path | None:
    """The folder of the run that a learned partner lies in, if it lies in one."""
    return run_around(partner.path) if partner.trained else None


def origin(agent: Agent) -> dict[str, Any]:
    """Columns of `evaluation.rows` that are known of an agent's training: preset, homes, pixels, the budgets of both stages.

    pixels: the side of its pictures, 0 if it sees none. Who was not trained (a script) has budgets of 0.
    """
    return {"preset": _preset(agent), "trained_in": _trained_in(agent), "pixels": _pixels(agent)} | _budgets(agent)


def training_of(agent: Agent) -> dict[str, Any]:
    """What the run of an agent knows of its training: to be written down with a policy that leaves its run."""
    return {name: value for name, value in origin(agent).items() if name != "pixels"} | {"decisions": budget(agent)}


def budget(agent: Agent) -> int:
    """Decisions an agent was trained with, over both stages: its own and those of all runs its partners come from."""
    return int(agent.meta.get("decisions", 0)) + max(_population(agent, "decisions"), 0)


def _preset(agent: Agent) -> str:
    run = run_of(agent)
    if "preset" in agent.meta or run is None:
        return str(agent.meta.get("preset", ""))
    return str(RunFolder(run).read_config().get("preset", ""))


def _trained_in(agent: Agent) -> str:
    run = run_of(agent)
    if "trained_in" in agent.meta or run is None:
        return str(agent.meta.get("trained_in", ""))
    return str(RunFolder(run).read_config().get("split", ""))


def _pixels(agent: Agent) -> int:
    if not agent.trained:
        return 0
    if not is_policy(agent.path):
        return UNKNOWN
    config = config_of(read_description(agent.path), agent.path)
    return config.picture if config.pictures else 0


def _budgets(agent: Agent) -> dict[str, int]:
    meta = agent.meta
    if not agent.trained:
        return dict.fromkeys(BUDGETS, 0)
    if BUDGETS[0] in meta:
        return {name: int(meta[name]) for name in BUDGETS}
    own = [int(meta.get(unit, UNKNOWN)) for unit in ("decisions", "steps")]
    if meta.get("stage") == 1:
        return dict(zip(BUDGETS, (*own, 0, 0), strict=True))
    if meta.get("stage") == 2 and run_of(agent) is not None:
        before = [_population(agent, unit) for unit in ("decisions", "steps")]
        spent = dict(zip(BUDGETS, (*before, *own), strict=True))
        begun = _budget_of_start(agent)
        return {name: UNKNOWN if UNKNOWN in (spent[name], begun[name]) else spent[name] + begun[name] for name in BUDGETS}
    return dict.fromkeys(BUDGETS, UNKNOWN)


def _budget_of_start(agent: Agent) -> dict[str, int]:
    """What the agent had been trained with that this one began as; nothing if it began with fresh weights."""
    run = run_of(agent)
    if run is None or not is_policy(RunFolder(run).start):
        return dict.fromkeys(BUDGETS, 0)
    meta = read_description(RunFolder(run).start)["meta"]
    found = {name: int(meta.get(name, UNKNOWN)) for name in BUDGETS}
    if BUDGETS[0] not in meta and meta.get("stage") == 2:
        found |= {f"stage2_{unit}": int(meta.get(unit, UNKNOWN)) for unit in ("decisions", "steps")}
    return found


def _population(agent: Agent, unit: str) -> int:
    """What the population of an agent's second stage was trained with, each run once; UNKNOWN if one of them does not say."""
    run = run_of(agent)
    if agent.meta.get("stage") != 2 or run is None or not RunFolder(run).partners.is_file():
        return 0
    spent: dict[str, int] = {}
    for partner in registry.read_partners(RunFolder(run).partners, run):
        if partner.trained:
            place = str(run_of(partner) or partner.path)
            spent[place] = max(spent.get(place, UNKNOWN), int(partner.meta.get(unit, UNKNOWN)))
    return UNKNOWN if UNKNOWN in spent.values() else sum(spent.values())


INDEX = "index.json"
"""Lists, for people, every policy that comes with the package."""
MOST_BYTES = 40_000_000
"""What all policies of the package may take together."""


def ship_agent(run: Path, root: Path | None = None) -> Path:
    """Copy the coordination agent of a run that was evaluated on dev, or its robot that works alone, into the package (or
    another root), as an example; returns its folder. Its success there, with the partners of its training and with held-out
    ones, or alone, is written down with it."""
    played = RunFolder(run).rows("dev")
    if not played.is_file():
        raise FileNotFoundError(f"{run} was not evaluated on dev - run: housemates evaluate {run} --split dev")
    settings = read(run)
    agent = registry.population(run)[0] if settings.robots == 1 else registry.agent(run)
    if settings.method == registry.BEST_RESPONSE:
        raise ValueError(f"{run} is a best response, a measure for others - ship agents that meet held-out partners")
    rows = read_rows(played).select(["evaluation", "success"]).to_pydict()
    name = f"{settings.method}-{settings.task}-{agent.meta['observations']}-{settings.training.seed}"
    meta = agent.meta | training_of(agent) | {"run": name, "split": "dev"}
    for kind in ("train_pop", "zsc", ALONE):
        games = [won for what, won in zip(rows["evaluation"], rows["success"], strict=True) if what == kind]
        if games:
            meta[kind] = round(sum(games) / len(games), 4)
    return ship_policy(Path(agent.path), Path(settings.task) / "examples" / name, meta, root)


def ship_policy(source: Path, place: Path | str, meta: dict[str, Any], root: Path | None = None) -> Path:
    """Copy one policy to a place in the package, with what is known of it, and list it in the index."""
    root = root or registry.SHIPPED
    left_out = ("sha256", "robots", "holdout", "zero_shot", "stage")
    described = read_description(source)
    _check_room(root, root / place, described["weights"])
    told = described["meta"] | {k: v for k, v in meta.items() if k not in left_out}
    save_policy(root / place, load_policy(source), told)
    write_index(root)
    return root / place


def shipped_bytes(root: Path | None = None) -> int:
    """What all files of the package's policies take."""
    return sum(file.stat().st_size for file in (root or registry.SHIPPED).rglob("*") if file.is_file())


def _check_room(root: Path, place: Path, weights: dict[str, Any]) -> None:
    """Refuse a policy that the package has under another name, or has no room for."""
    there = {folder: read_description(folder)["weights"] for folder in policies_below(root)}
    twin = next((folder for folder, known in there.items() if folder != place and known["sha256"] == weights["sha256"]), None)
    if twin is not None:
        raise ValueError(f"the package has these weights already, as {twin.relative_to(root)} - ship each policy once")
    size = shipped_bytes(root) - there.get(place, {"bytes": 0})["bytes"] + weights["bytes"]
    if size > MOST_BYTES:
        most = f"{size / 1e6:.1f} MB of policies in the package, more than {MOST_BYTES / 1e6:.0f}"
        raise ValueError(f"{place.name} would make it {most} - ship fewer members, or share them: housemates hub push")


def write_index(root: Path) -> None:
    """List every policy below a root."""
    found = {}
    for place in policies_below(root):
        described = read_description(place)
        family = suite.family_of(registry.learned(place, place.name))
        facts = {"family": family} if family else {}
        facts |= {"bytes": described["weights"]["bytes"], "sha256": described["weights"]["sha256"]}
        found[place.relative_to(root).as_posix()] = dict(sorted(described["meta"].items())) | facts
    write_whole(root / INDEX, (json.dumps(found, indent=1) + "\n").encode())


PAIRS = "gt_coord_state"
"""The family of the pairs that are met if nothing is said."""
METHOD = "gt_coord"
"""How the paper's learned holdouts are trained (section 5.2)."""
PREFERENCE = "preference"
"""The entry of what is known of a policy that names what it prefers beside the task."""
COMPETENCE = ("alone", "alone_subgoals", "mate")
"""Success of a member by itself in the home, the share of the sub-goals it achieves there (a robot that has learned to leave
half of the work to its mate achieves half of them), and its success with the mate."""


def scripted_holdouts() -> list[Agent]:
    """The three scripts of every task: one stands still, one does the first half, one the second."""
    return [registry.scripted(name) for name in HOLDOUT_SCRIPTS]


def learned_holdouts(task: str, folders: Iterable[Path | str] = ()) -> list[Agent]:
    """Holdouts of a task that come with the package, then members of the complete runs in folders; each once."""
    found = [p for p in registry.shipped() if registry.is_holdout(p) and p.meta.get("task") == task]
    for folder in folders:
        runs = [run for run in runs_in(folder) if read(run).task == task]
        found += [p for run in runs if RunFolder(run).complete() for p in members(run)]
    return list({_same(p): p for p in reversed(found)}.values())[::-1]


def _same(partner: Agent) -> tuple[str, int]:
    """What two copies of one partner have in common: weights and latent."""
    return partner.meta["sha256"], partner.latent


def holdouts(task: str, folders: Sequence[Path | str] = ()) -> list[Agent]:
    """The paper's held-out partners of a task: its scripts, then pairs trained together, and everybody in the folders."""
    ours = [p for p in learned_holdouts(task) if suite.family_of(p) == PAIRS]
    known = {_same(p) for p in learned_holdouts(task)}
    theirs = [p for p in learned_holdouts(task, folders) if _same(p) not in known] if folders else []
    return scripted_holdouts() + ours + theirs


def suite_of(task: str, folders: Iterable[Path | str] = (), everybody: bool = False) -> dict[str, list[Agent]]:
    """The held-out suite of a task by family, empty families too; everybody: also those that the audit has dropped."""
    families = suite.by_family(learned_holdouts(task, folders))
    return families if everybody else suite.without(families, suite.dropped_of(task))


def named_partners(texts: Sequence[str], task: str, folders: Sequence[Path | str] = ()) -> list[Agent]:
    """Whom texts mean, as `agents.resolve_all`; suite, suite/paper and suite/FAMILY mean held-out partners of the task."""
    found: list[Agent] = []
    for text in texts:
        if suite.is_suite(text):
            found += suite.members(text, suite_of(task, folders), holdouts(task, folders))
        else:
            found += registry.resolve(text, task)
    return registry.distinct(found)


def runs_in(folder: Path | str) -> list[Path]:
    """Runs that are marked as holdouts in a folder, or the folder itself if it is one, in order of their names."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} with holdouts - make them with: housemates holdouts train")
    return [place for place in runs_below(folder) if is_held_out(place.resolve())]


def members(run: Path) -> list[Agent]:
    """The members of a run, with what its mark says of them."""
    told = read_mark(run).get("members", [])
    settings = read(run)
    recipe, found = recipe_hash(settings), []
    for k, partner in enumerate(registry.population(run)):
        more = told[k] if k < len(told) else {}
        more = more | {"recipe": recipe, "run": run.resolve().name, "member": k, "holdout": True}
        if settings.method == "hidden_utility" and partner.kind == "latent":
            more |= {PREFERENCE: PREFERENCES[partner.latent].name}
        found.append(dataclasses.replace(partner, meta=partner.meta | more))
    return found


def recipe_hash(run: Run) -> str:
    """A short hash of how a run is trained, whatever its seed and the versions it was trained with."""
    values = to_json(run)
    values.pop("versions", None)
    values["training"].pop("seed", None)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def mark(run: Path, measured: dict[str, Any] | None = None) -> None:
    """Make a run (its folder may be new) a holdout, or write down how competent it is."""
    write_json(RunFolder(run).mark, measured or {"members": []})


def read_mark(run: Path) -> dict[str, Any]:
    """What the mark of a holdout says; nothing if the run has none of its own."""
    path = RunFolder(run).mark
    if not path.is_file():
        return {}
    return read_json(path, "delete it and run: housemates holdouts train")


def measure(
    run: Path, episodes: Episodes, homes: Sequence[Home], count: int | None = None, seed: int = 0, threads: int = 1
) -> dict[str, Any]:
    """How often each member of a run succeeds alone in the home and with its mates, on the first `count` episodes.

    The mates of a pair are each other, those of a population's member are copies of itself.
    """
    settings = read(run)
    actors = load_actors(registry.population(run))
    team = list(actors.values())
    which = np.arange(count or len(episodes))
    pair = settings.method == METHOD
    together = [[team[k], *team[:k], *team[k + 1 :]] if pair else [team[k]] * settings.robots for k in range(len(team))]
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


def ship(run: Path, root: Path | None = None, chosen: Sequence[int] = ()) -> list[Path]:
    """Copy the members of a complete, measured holdout into the package (or another root); returns their folders.

    chosen: the numbers of the members, all if empty. A policy with latents is copied once, with all of them.
    """
    if not is_held_out(run.resolve()):
        raise ValueError(f"{run} is no holdout - make holdouts with: housemates holdouts train")
    if not RunFolder(run).complete():
        raise ValueError(f"{run} is not trained to its end - continue it: housemates train --resume {run}")
    settings, told = read(run), read_mark(run)
    found = members(run)
    if len(told.get("members", [])) != len(found):
        raise ValueError(f"{run} was not measured - run: housemates holdouts train --task {settings.task}")
    if wrong := [number for number in chosen if not 0 <= number < len(found)]:
        raise ValueError(f"{run} has no member {wrong[0]} - choose from 0 to {len(found) - 1}")
    places = []
    shared = {k: told[k] for k in ("split", "episodes")}
    # The mark comes first: nothing that is shipped as a holdout is ever without it.
    mark((root or registry.SHIPPED) / settings.task / "holdouts", {"members": []})
    for partner in list({p.path: p for p in reversed([found[k] for k in chosen] or found)}.values())[::-1]:
        meta = {"method": settings.method, "preset": settings.preset} | partner.meta | shared
        if partner.kind == "latent":
            # What is known of a single latent stands in the list of all of them.
            own = (*COMPETENCE, PREFERENCE, "member", "success")
            shared_by_all = {name: value for name, value in meta.items() if name not in own}
            each = [{name: p.meta[name] for name in own[:-2] if name in p.meta} for p in found if p.path == partner.path]
            meta = shared_by_all | {LATENTS: each}
        number = "" if partner.kind == "latent" else f"-{partner.meta['member']}"
        place = Path(settings.task) / "holdouts" / f"{run.resolve().name}{number}"
        places.append(ship_policy(Path(partner.path), place, meta, root))
    return places
