"""`housemates train`: train policies into a run folder, alone or with several workers, and continue where it stopped."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from housemates.cli.homes import ObservationsName, SplitName, TaskName, load_homes, load_set
from housemates.run_folder import RunFolder, is_run

if TYPE_CHECKING:
    from housemates.homes.home import Home
    from housemates.runs.run import Run
    from housemates.tasks.episodes import Episodes

MethodName = Literal[
    "gt_coord",
    "solo",
    "sp",
    "pbt",
    "fcp",
    "trajedi",
    "pbt_state",
    "bdp",
    "bdp_literal",
    "bdp_no_discriminator",
    "bdp_no_latent_no_discriminator",
    "bdp_shared_encoder",
    "bdp_separate",
    "bdp_rgb",
    "bdp_state",
    "own",
    "best_response",
]
PresetName = Literal["smoke", "state", "laptop", "paper"]


def train(
    method: MethodName | None = None,
    task: TaskName | None = None,
    preset: PresetName | None = None,
    observations: ObservationsName | None = None,
    split: SplitName | None = None,
    stage: Literal[1, 2] | None = None,
    population: tuple[str, ...] = (),
    allow: tuple[str, ...] = (),
    robots: int | None = None,
    workers: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    decisions: int | None = None,
    steps: int | None = None,
    change: tuple[str, ...] = (),
    device: Literal["auto", "cpu", "cuda"] = "auto",
    out: Path | None = None,
    resume: Path | None = None,
    hours: float | None = None,
    wandb: bool = False,
    quiet: bool = False,
) -> None:
    """Train robots. The run is a folder; kill it whenever you like, `--resume` continues it bit for bit on the same machine.

    Most methods have two stages: first a population learns together, then one fresh agent learns to work with everybody of
    that population. `gt_coord` and `solo` have only the first, `own` and `best_response` only the second.

    Args:
        method: Who learns with whom; default gt_coord, or own with --population. gt_coord: as many policies as robots, always
            together. solo: one robot alone. sp: each member plays with itself. pbt: with random members. fcp: sp with earlier
            versions as partners. trajedi: pbt, paid for decisions of one's own. bdp: one policy with 8 latents, paid for
            behaviours that can be told apart. bdp_literal: that with the paper's own numbers. bdp_*: its ablations and
            variants. pbt_state: pbt on the ground truth. own: the partners that --population names. best_response: one of
            them, who may be a holdout.
        task: What is to be done (default tidy_house).
        preset: How long and with which network: smoke (under a minute), state (no pictures), laptop (the default), paper.
        observations: What robots see: a word, or names with plus signs (state+gps_compass); default: the preset's.
        split: Where the homes come from; default: the preset's.
        stage: Train only the population (1), or only the agent (2, with --population or with --resume of a finished stage 1).
        population: Partners of stage 2: run folders (all members), RUN/3, RUN/z5, folders of policies, random, script/NAME,
            package.module:function. Holdouts of the evaluation are refused (but for a
            best_response).
        allow: Functions (package.module:function) that the run's own list of partners may name when it is resumed; what only
            a file names is never run.
        robots: Robots in each home (default 2, for solo 1).
        workers: Processes that train together, each on one core (default 1).
        threads: Torch's threads in each worker (default 1).
        seed: Decides everything that is drawn (default 0).
        decisions: How long to train each stage, in decisions of all learners together; default: the preset's.
        steps: The same in simulation steps of all homes together, as the paper counts.
        change: Settings to change, such as ppo.epochs=4 homes=128 policy.hidden=64 rules.speed=slow method.members=4.
        device: Where networks run; auto takes a GPU if there is one.
        out: The folder of the run; default: runs/METHOD-TASK-PRESET-SEED.
        resume: Continue the run in this folder.
        hours: Pause after so long; the run can be resumed.
        wandb: Mirror the log at Weights & Biases.
        quiet: Show nothing while training.
    """
    from housemates.agents import agent as registry
    from housemates.runs.run import amend, check_versions, create, extend, read
    from housemates.training.distributed import under_torchrun

    registry.allow((*population, *allow))
    if hours is not None and hours <= 0:
        raise ValueError(f"--hours {hours} - it must be positive")
    asked: dict[str, object] = {
        "method": method,
        "task": task,
        "preset": preset,
        "observations": observations,
        "split": split,
        "robots": robots,
    }
    asked |= {"workers": workers, "threads": threads, "seed": seed, "decisions": decisions, "steps": steps}
    made = False
    if resume is not None:
        if out is not None:
            raise ValueError("give either --out (a new run) or --resume (an old one)")
        if population:
            raise ValueError("a run keeps its partners while it is resumed - leave out --population, or start a new run")
        folder, run = resume, read(resume)
        check_same(run, asked, folder)
        if change:
            run = amend(folder, run, change)
        if stage is not None and stage not in run.stages:
            if stage == 1 or not RunFolder(folder).complete(1):
                raise ValueError(f"{folder} has no finished first stage to train an agent with - train that first")
            extend(folder)
            run = read(folder)
        check_versions(run, folder)
    else:
        count = int(os.environ["WORLD_SIZE"]) if under_torchrun() else 1
        asked |= {"workers": workers or count, "stage": stage, "population": population or None}
        run = new_run(asked, change, device)
        check_here(run, wandb)
        folder = out or Path("runs") / f"{run.method}-{run.task}-{run.preset}-{run.training.seed}"
        if not under_torchrun() or (os.environ["RANK"] == "0" and not _restarted(folder, run)):
            create(folder, run)
            made = True
    try:
        done = go_on(folder, run, resume is None, hours, wandb, quiet)
    except Exception:
        if made and run.workers == 1:
            discard(folder)
        raise
    if done is not None and os.environ.get("RANK", "0") == "0":
        print(f"{folder}: {'complete' if done else f'paused - continue with: housemates train --resume {folder}'}")


def go_on(folder: Path, run: Run, new: bool, hours: float | None, wandb: bool, quiet: bool) -> bool | None:
    """Train a run that has a folder; whether it is complete, or None where workers have said so themselves."""
    from housemates.agents import agent as registry
    from housemates.runs.run import work
    from housemates.training.checkpoint import held
    from housemates.training.checks import DivergedError
    from housemates.training.distributed import give_up, launch, under_torchrun

    if run.workers > 1 and not under_torchrun():
        with held(folder):  # said here once, not by every attempt of the workers
            load(run)
        arguments = ["train", "--resume", str(folder), *(["--hours", str(hours)] if hours is not None else [])]
        arguments += ["--wandb"] * wandb + ["--quiet"] * quiet
        arguments += ["--allow", *sorted(registry.NAMED)] if registry.NAMED else []
        if launch(run.workers, arguments):
            raise ValueError(f"training in {folder} failed, see above - when that is mended use --resume {folder}")
        return None
    if under_torchrun() and new:
        wait_for(RunFolder(folder).config)
    try:
        return work(folder, load, hours, wandb, quiet)
    except DivergedError as error:
        if not give_up(str(error)):
            raise
        return None


def check_here(run: Run, wandb: bool) -> None:
    """Refuse what this machine cannot do, before a new run has a folder."""
    import importlib.util

    import torch

    if run.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda - there is no GPU that torch can use here; leave it out, or use --device cpu")
    if wandb and importlib.util.find_spec("wandb") is None:
        raise ValueError("--wandb needs the package wandb - run: pip install wandb")


def discard(folder: Path) -> None:
    """Remove the folder of a run that was refused before it began to train, so that the mended command may have its name."""
    files = RunFolder(folder)
    begun = {files.config, files.partners, files.lock}
    if {path for path in folder.rglob("*") if path.is_file()} <= begun:
        for path in begun:
            path.unlink(missing_ok=True)
        for place in (*sorted(folder.glob("*/"), reverse=True), folder):
            with suppress(OSError):
                place.rmdir()


def new_run(asked: dict, change: tuple[str, ...], device: str) -> Run:
    """The run that was asked for: the preset's, with what was given on the command line."""
    import torch

    from housemates.config import change as changed
    from housemates.methods import METHODS, change_method
    from housemates.runs.presets import PRESETS
    from housemates.runs.run import Run

    given = {name: value for name, value in asked.items() if value is not None}
    partners = given.get("population", ())
    method, name = given.get("method", "own" if partners else "gt_coord"), given.get("preset", "laptop")
    spec, preset = METHODS[method], PRESETS[name]
    robots, stage = given.get("robots", spec.robots or 2), given.get("stage", 2 if spec.make is None else None)
    stages = (stage,) if stage else (1, 2) if spec.two_stages else (1,)
    training = replace(preset.training, seed=given.get("seed", preset.training.seed))
    if spec.one_partner:
        # A best response answers its partner as it is.
        training = replace(training, disturbances=replace(training.disturbances, share=0.0))
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
    return Run(
        method=method,
        task=given.get("task", "tidy_house"),
        preset=name,
        observations=observations,
        split=given.get("split", preset.homes(given.get("task", "tidy_house"))),
        robots=robots,
        workers=given.get("workers", 1),
        threads=given.get("threads", 1),
        device=device,
        policy=policy,
        training=training,
        stages=stages,
        population=partners,
        settings=settings,
    )


def check_same(run: Run, asked: dict, folder: Path) -> None:
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


def load(run: Run) -> tuple[list[Home], Episodes]:
    """The homes and episodes of a run; the first worker shows progress where they must be made first."""
    if os.environ.get("RANK", "0") != "0":
        from housemates.homes.splits import load_split
        from housemates.tasks.episodes import load_episodes

        homes = load_split(run.split)
        return homes, load_episodes(run.task, run.split, homes=homes)
    homes = load_homes(run.split)
    return homes, load_set(run.task, run.split, homes)


def wait_for(path: Path, seconds: float = 60.0) -> None:
    """Until the first worker has begun the run."""
    import time

    until = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > until:
            raise FileNotFoundError(f"no {path} after {seconds:.0f} s - all workers need the same folder; give --out")
        time.sleep(0.05)


def _restarted(folder: Path, run: Run) -> bool:
    """Whether torchrun has started this very run before, and starts it again because a worker died."""
    from housemates.runs.run import read

    again = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
    return again and is_run(folder) and read(folder) == run
