"""`housemates train`: train policies into a run folder, alone or with several workers, and continue where it stopped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from housemates.cli.homes import ObservationsName, SplitName, TaskName


def train(
    method: str | None = None,
    task: TaskName | None = None,
    preset: str | None = None,
    observations: ObservationsName | None = None,
    split: SplitName | None = None,
    stage: Literal[1, 2] | None = None,
    population: tuple[str, ...] = (),
    start: str | None = None,
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

    Most methods have two stages: first a population learns together, then one fresh agent learns to work with all of
    that population. `gt_coord` and `solo` have only the first, `own` and `best_response` only the second. `cec`, `e3t` and
    `upd` train one agent in one stage, without a population.

    Args:
        method: Who trains with whom; default gt_coord, or own with --population.
            * populations: sp (each member plays with itself), pbt (random teams), fcp (sp with earlier checkpoints),
              trajedi (pbt, rewarded for distinct decisions), bdp (one policy with 8 latents, rewarded for distinguishable
              behaviour), bdp_literal (bdp with the paper's numbers), hidden_utility (one policy whose 8 latents dislike parts
              of the work)
            * oracles: gt_coord (as many policies as robots, always together), pbt_state (pbt on the ground truth),
              solo (one robot alone)
            * ablations of bdp: bdp_no_discriminator, bdp_no_latent_no_discriminator, bdp_shared_encoder, bdp_separate
            * variants of bdp: bdp_rgb (colour images), bdp_state (ground truth)
            * one stage: cec (one agent plays with itself in many homes), e3t (beside itself with random decisions in between),
              upd (beside disturbed copies of itself, chosen by what it can learn from them)
            * stage 2 only: own (the partners that --population names), best_response (one of them, who may be held out)
            * package.module:Class: a method of yours (docs/tutorials/your_own_method.md); to resume such a run, name it again
        task: What is to be done (default tidy_house).
        preset: How long and with which network: smoke (under a minute), state (no images), laptop (the default), paper.
        observations: What robots see: state, depth, blind, predicates or rgb, or sensors with plus signs (state+gps_compass);
            default: the preset's.
        split: Where the homes come from; default: the preset's.
        stage: Train only the population (1), or only the agent (2, with --population or with --resume of a finished stage 1).
        population: Partners of stage 2: run folders (all members), RUN/3, RUN/z5, folders of policies, random, script/NAME,
            package.module:function. Held-out partners of the evaluation are refused, except for best_response.
        start: Begin stage 2 with the weights of this agent (RUN/agent, pretrained/NAME) instead of fresh ones; it must have the
            same network.
        allow: Functions (package.module:function) that the run's own list of partners may name when it is resumed; what only
            a file names is never run.
        robots: Robots in each home (default 2, for solo 1).
        workers: Processes that train together, each on one core (default 1).
        threads: Torch's threads in each worker (default 1).
        seed: Decides everything that is drawn (default 0).
        decisions: How long to train each stage, in decisions of all learners together; default: the preset's.
        steps: The same in simulation steps of all homes together, as the paper counts.
        change: Settings to change, such as ppo.epochs=4 num_envs=128 policy.hidden=64 rules.speed=slow method.members=4.
        device: Where networks run; auto takes a GPU if there is one.
        out: The folder of the run; default: runs/METHOD-TASK-PRESET-SEED.
        resume: Continue the run in this folder.
        hours: Pause after so long; the run can be resumed.
        wandb: Mirror the log at Weights & Biases.
        quiet: Show nothing while training.
    """
    from housemates.runs import train as training

    done = training.train(
        method, task, preset,
        observations=observations, split=split, stage=stage, population=population, start=start, allow=allow,
        robots=robots,
        workers=workers, threads=threads, seed=seed, decisions=decisions, steps=steps, change=change, device=device,
        out=out, resume=resume, hours=hours, wandb=wandb, quiet=quiet,
    )  # fmt: skip
    if not done.said and os.environ.get("RANK", "0") == "0":
        ended = "complete" if done.complete else f"paused - continue with: {again(done.folder, done.run.method)}"
        print(f"{done.folder}: {ended}")
        if done.complete:
            print(f"next: housemates evaluate {done.folder}")


def again(folder: Path, method: str) -> str:
    """The command that continues a run; a method of the user's own is named again."""
    return f"housemates train --resume {folder}" + (f" --method {method}" if ":" in method else "")
