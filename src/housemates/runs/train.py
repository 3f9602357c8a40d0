"""Train a run, new or from where it stopped: what `housemates train` and `housemates.train` do."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from housemates.agents import agent as registry
from housemates.config import change as changed
from housemates.envs import loading
from housemates.homes.home import Home
from housemates.homes.sources import load_split, resolve_homes
from housemates.methods import change_method, find_method, resolve_method
from housemates.plugins import use
from housemates.run_folder import DESCRIPTION, WEIGHTS, RunFolder, is_run
from housemates.runs.presets import PRESETS
from housemates.runs.run import Run, amend, check_versions, create, extend, read, read_to_train, work
from housemates.sim.sensors import resolve_sensors
from housemates.tasks.episodes import Episodes, load_episodes
from housemates.tasks.task import Task
from housemates.tasks.tasks import resolve_task
from housemates.training.checkpoint import held
from housemates.training.checks import DivergedError
from housemates.training.distributed import give_up, launch, under_torchrun

RUNS = Path("runs")
"""Where new runs go if nothing else is said."""


@dataclass(frozen=True)
class Trained:
    """A run after it was trained, to its end or until its time was over."""

    folder: Path
    run: Run
    """What its config says."""
    complete: bool
    """Whether all its stages are trained to their end; else `train(resume=folder)` continues."""
    said: bool = False
    """Whether worker processes have told how it ended."""


def train(
    method: Any = None,
    task: str | Task | None = None,
    preset: str | None = None,
    *,
    observations: str | None = None,
    split: str | None = None,
    stage: int | None = None,
    population: Sequence[str] = (),
    start: str | None = None,
    allow: Sequence[str] = (),
    robots: int | None = None,
    workers: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    decisions: int | None = None,
    steps: int | None = None,
    change: Sequence[str] | Mapping[str, Any] = (),
    device: str = "auto",
    out: Path | str | None = None,
    resume: Path | str | None = None,
    hours: float | None = None,
    wandb: bool = False,
    quiet: bool = False,
) -> Trained:
    """Train a run into a folder and return it; progress is shown on the console unless `quiet`.

    method: a name, package.module:Class, or a class of your own; everything else as `housemates train --help` says.
    change: settings by name, {"ppo.epochs": 4}, or texts such as "ppo.epochs=4".
    """
    registry.allow((*population, *allow))
    if hours is not None and hours <= 0:
        raise ValueError(f"--hours {hours} - it must be positive")
    given = None if method is None else resolve_method(method)
    asked: dict[str, Any] = {"method": given, "preset": None if preset is None else PRESETS.named(preset).name}
    # A task, homes and sensors that are named as package.module:NAME are registered; the run keeps their names.
    asked |= {
        "task": None if task is None else resolve_task(task).name,
        "split": None if split is None else resolve_homes(split),
        "observations": None if observations is None else resolve_sensors(observations),
    }
    asked |= {"robots": robots, "workers": workers, "threads": threads, "seed": seed, "decisions": decisions, "steps": steps}
    changes = change_texts(change)
    made = False
    if resume is not None:
        if out is not None:
            raise ValueError("give either --out (a new run) or --resume (an old one)")
        if population:
            raise ValueError("a run keeps its partners while it is resumed - leave out --population, or start a new run")
        if start:
            raise ValueError("a run that is resumed goes on from its own weights - leave out --start, or start a new run")
        folder = Path(resume)
        run = _resumed(folder, asked, changes, stage)
    else:
        count = int(os.environ["WORLD_SIZE"]) if under_torchrun() else 1
        asked |= {"workers": workers or count, "stage": stage, "population": tuple(population) or None, "start": start}
        run = new_run(asked, changes, device)
        check_here(run, wandb)
        folder = Path(out) if out else RUNS / run_name(run)
        if not under_torchrun() or (os.environ["RANK"] == "0" and not _restarted(folder, run)):
            create(folder, run)
            made = True
    try:
        done = go_on(folder, run, resume is None, hours, wandb, quiet)
    except Exception:
        if made and run.workers == 1:
            discard(folder)
        raise
    return Trained(folder, run, RunFolder(folder).complete() if done is None else done, done is None)


def _resumed(folder: Path, asked: dict[str, Any], changes: Sequence[str], stage: int | None) -> Run:
    """A run that is there, with what may change of it."""
    check_same(read(folder), asked, folder)
    run = read_to_train(folder)
    if changes:
        run = amend(folder, run, changes)
    if stage is not None and stage not in run.stages:
        if stage == 1 or not RunFolder(folder).complete(1):
            raise ValueError(f"{folder} has no finished first stage to train an agent with - train that first")
        extend(folder)
        run = read(folder)
    check_versions(run, folder)
    return run


def change_texts(change: Sequence[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """Changes as KEY=VALUE, from those or from a mapping with values of Python."""
    if isinstance(change, str):
        raise ValueError(f"change = {change!r} - give a list of texts or a mapping")
    if isinstance(change, Mapping):
        return tuple(f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in change.items())
    return tuple(change)


def run_name(run: Run) -> str:
    """What a run is called if nothing else is said: METHOD-TASK-PRESET-SEED."""
    return f"{run.method.replace(':', '.')}-{run.task}-{run.preset}-{run.training.seed}"


def go_on(folder: Path, run: Run, new: bool, hours: float | None, wandb: bool, quiet: bool) -> bool | None:
    """Train a run that has a folder; whether it is complete, or None where workers have said so themselves."""
    if run.workers > 1 and not under_torchrun():
        _check_workers(run)
        with held(folder):  # said here once, not by every attempt of the workers
            load(run, quiet)
        arguments = ["train", "--resume", str(folder), *(["--hours", str(hours)] if hours is not None else [])]
        arguments += ["--wandb"] * wandb + ["--quiet"] * quiet
        arguments += ["--allow", *sorted(registry.NAMED)] if registry.NAMED else []
        if launch(run.workers, arguments):
            raise ValueError(f"training in {folder} failed, see above - when that is mended use --resume {folder}")
        return None
    if under_torchrun() and new:
        wait_for(RunFolder(folder).config)
    try:
        return work(folder, lambda one: load(one, quiet), hours, wandb, quiet)
    except DivergedError as error:
        if not give_up(str(error)):
            raise
        return None


def _check_workers(run: Run) -> None:
    """Let worker processes find a method of the user's own, or refuse one that they cannot import."""
    if run.method.startswith("__main__:"):
        raise ValueError(f"{run.method} is defined in a script, which workers cannot import - put it into a module of its own")
    if ":" in run.method:
        use(run.method)


def check_here(run: Run, wandb: bool) -> None:
    """Refuse what this machine cannot do, before a new run has a folder."""
    if run.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda - there is no GPU that torch can use here; leave it out, or use --device cpu")
    if wandb and importlib.util.find_spec("wandb") is None:
        raise ValueError("--wandb needs the package wandb - run: pip install wandb")


def discard(folder: Path) -> None:
    """Remove the folder of a run that was refused before it began to train, so that the mended command may have its name."""
    files = RunFolder(folder)
    begun = {files.config, files.partners, files.lock, files.start / DESCRIPTION, files.start / WEIGHTS}
    if {path for path in folder.rglob("*") if path.is_file()} <= begun:
        for path in begun:
            path.unlink(missing_ok=True)
        for place in (*sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True), folder):
            with suppress(OSError):
                place.rmdir()


def new_run(asked: dict[str, Any], change: Sequence[str], device: str) -> Run:
    """The run that was asked for: the preset's, with what was given."""
    given = {name: value for name, value in asked.items() if value is not None}
    partners = given.get("population", ())
    method, name = given.get("method", "own" if partners else "gt_coord"), given.get("preset", "laptop")
    spec, preset = find_method(method), PRESETS.find(name)
    robots, stage = given.get("robots", spec.robots or 2), given.get("stage", 2 if spec.make is None else None)
    stages = (stage,) if stage else (1, 2) if spec.two_stages else (1,)
    training = replace(preset.training, seed=given.get("seed", preset.training.seed))
    for setting in spec.training:
        key, _, text = setting.partition("=")
        training = changed(training, key, text)
    if "decisions" in given and "steps" in given:
        raise ValueError("--decisions and --steps both say how long to train - give one of them")
    if "decisions" in given or "steps" in given:
        training = replace(training, decisions=given.get("decisions", 0), steps=given.get("steps", 0))
    observations = given.get("observations", spec.observations or preset.observations)
    policy, settings = preset.policy(observations, robots), preset.settings(method, spec.settings)
    for setting in change:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--change {setting} - write it as KEY=VALUE, such as ppo.epochs=4")
        if key.startswith("policy."):
            policy = changed(policy, key.removeprefix("policy."), text)
        elif key.startswith("method."):
            settings = change_method(method, settings, key.removeprefix("method."), text)
        else:
            training = changed(training, key, text)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    task = given.get("task", "tidy_house")
    return Run(
        method=method,
        task=task,
        preset=name,
        observations=observations,
        split=given.get("split", preset.homes(task)),
        robots=robots,
        workers=given.get("workers", 1),
        threads=given.get("threads", 1),
        device=device,
        policy=policy,
        training=training,
        stages=stages,
        population=partners,
        start=given.get("start", ""),
        settings=settings,
    )


def check_same(run: Run, asked: dict[str, Any], folder: Path) -> None:
    """Refuse options that differ from those the run began with."""
    budget, many = run.training.budget
    there = vars(run) | {
        "seed": run.training.seed,
        "decisions": f"0 but --{budget} {many}",
        "steps": f"0 but --{budget} {many}",
    }
    there[budget] = many
    for name, value in asked.items():
        if value is not None and there[name] != value:
            raise ValueError(f"{folder} is a run with --{name} {there[name]}, not {value} - leave it out, or start a new run")


def load(run: Run, quiet: bool = False) -> tuple[list[Home], Episodes]:
    """The homes and episodes of a run; the first worker shows progress where they must be made first."""
    if os.environ.get("RANK", "0") != "0":
        homes = load_split(run.split)
        return homes, load_episodes(run.task, run.split, homes=homes)
    homes = loading.load_homes(run.split, not quiet)
    return homes, loading.load_set(run.task, run.split, homes, not quiet)


def wait_for(path: Path, seconds: float = 60.0) -> None:
    """Until the first worker has begun the run."""
    until = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > until:
            raise FileNotFoundError(f"no {path} after {seconds:.0f} s - all workers need the same folder; give --out")
        time.sleep(0.05)


def _restarted(folder: Path, run: Run) -> bool:
    """Whether torchrun has started this very run before, and starts it again because a worker died."""
    again = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
    return again and is_run(folder) and read(folder) == run


def train_one(
    folder: Path, begin: dict[str, Any], always: dict[str, Any], until: float | None, first: Callable[[], object] | None = None
) -> bool:
    """Train one run of several, from its beginning or from where it stopped; whether it is complete then.

    A run that is there and was asked for otherwise is refused.

    begin, always: arguments of `train` for a new run only, and for any; until: when to pause, on the monotonic clock; first: a
    function to call before a new run is made.
    """
    if under_torchrun():
        raise ValueError("this command trains several runs and starts their workers itself - use --workers instead of torchrun")
    there = is_run(folder)
    if there:
        # How many workers trained it does not matter once it is complete; `train` asks if it is not.
        left_out = ("change", "population", "quiet", "stage", "workers")
        check_same(read(folder), {k: v for k, v in (begin | always).items() if k not in left_out}, folder)
        if RunFolder(folder).complete():
            return True
    left = None if until is None else (until - time.monotonic()) / 3600
    if left is not None and left <= 0:
        return False
    if there:
        return train(resume=folder, hours=left, **always).complete
    if first is not None:
        first()
    return train(out=folder, hours=left, **begin, **always).complete
