"""A run as a folder: config.json says everything that decides its bits; whoever has the folder can continue it.

Where its files are is said in `housemates.run_folder`.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import housemates
from housemates.agents.agent import Agent, is_holdout, population, read_partners, resolve_all, write_partners
from housemates.config import change, from_json, to_json
from housemates.homes.home import Home
from housemates.io import write_json
from housemates.methods import METHODS, find_method
from housemates.methods.ego import AGENT, Coordination, check_partners
from housemates.policies.checkpoint import config_of, load_policy, read_description, save_policy
from housemates.policies.config import PolicyConfig
from housemates.run_folder import STAGES, RunFolder, is_run, latest_place
from housemates.tasks.episodes import Episodes
from housemates.training import distributed
from housemates.training.algorithms import find_algorithm
from housemates.training.checkpoint import held
from housemates.training.checks import diverged
from housemates.training.logger import Record
from housemates.training.method import Method
from housemates.training.settings import LATER
from housemates.training.trainer import Trainer, Training

STAGE_CHOICES = ((1,), (2,), (1, 2))
REMEDY = "with other partners it will fail; train longer, or with more --change disturbances.share=0.5"
REDRAW = 10
"""Updates between two draws of partners in stage 2, for methods that do not say it (paper: 10)."""


@dataclass(frozen=True)
class Versions:
    """What the bits of a run depend on, beside its settings and the machine."""

    housemates: str = housemates.__version__
    python: str = platform.python_version()
    numpy: str = field(default_factory=lambda: metadata.version("numpy"))
    numba: str = field(default_factory=lambda: metadata.version("numba"))
    torch: str = field(default_factory=lambda: metadata.version("torch"))


@dataclass(frozen=True)
class Run:
    """Everything about a run."""

    method: str
    """Its name, or package.module:Class. A run whose method is not known here can be read, but not trained."""
    task: str
    preset: str
    """What the rest was taken from."""
    observations: str
    split: str
    """Where the homes come from."""
    robots: int
    """Robots in each home."""
    workers: int
    """Processes that train together."""
    threads: int
    """Torch's threads in each worker."""
    device: str
    """cpu or cuda."""
    policy: PolicyConfig
    training: Training
    """Of each stage."""
    versions: Versions = field(default_factory=Versions)
    stages: tuple[int, ...] = (1,)
    """Which stages this run trains: 1 the population, 2 the coordination agent."""
    population: tuple[str, ...] = ()
    """The partners of stage 2, as they were named; empty for the population of stage 1."""
    start: str = ""
    """The agent that stage 2 begins as, as it was named; empty for fresh weights."""
    zero_shot: bool = True
    """Whether the evaluation's partners are held out from stage 2, by its partners and by the agent it begins as."""
    settings: Any = None
    """The method's own settings, a dataclass; plain values by name where the method is not known here."""

    def __post_init__(self) -> None:
        spec = METHODS.get(self.method)
        if self.settings is None:
            object.__setattr__(self, "settings", find_method(self.method).settings)
        for name in ("robots", "workers", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} {getattr(self, name)} - it must be at least 1")
        if self.training.num_envs % self.workers:
            raise ValueError(
                f"{self.training.num_envs} homes cannot be shared by {self.workers} workers - choose another number"
            )
        if spec and spec.robots and self.robots != spec.robots:
            what = "one robot alone" if spec.robots == 1 else f"{spec.robots} robots"
            raise ValueError(f"the method '{self.method}' trains {what}, not {self.robots} - use --robots {spec.robots}")
        if spec and spec.observations and self.observations != spec.observations:
            seen = spec.observations
            raise ValueError(f"the method '{self.method}' sees {seen}, not {self.observations} - leave out --observations")
        self._check_stages()
        self.training.check()

    def _check_stages(self) -> None:
        if self.stages not in STAGE_CHOICES:
            raise ValueError(f"stages {list(self.stages)} - a run trains [1], [2] or [1, 2]")
        spec = METHODS.get(self.method)
        alone = spec is not None and spec.agent is not None
        if alone and self.stages != (2,):
            raise ValueError(f"the method '{self.method}' has one stage, in which its agent learns - leave out --stage")
        if alone and self.population:
            raise ValueError(f"the method '{self.method}' trains without partners of others - leave out --population")
        if alone and self.training.prioritised:
            raise ValueError(f"the method '{self.method}' has no population to prioritise - leave out prioritised")
        if 1 in self.stages and spec is not None and spec.make is None:
            raise ValueError(f"the method '{self.method}' has no first stage - use --stage 2 --population ...")
        if 1 in self.stages and self.population:
            raise ValueError("--population names the partners of stage 2, this run makes its own - add --stage 2")
        if self.stages == (2,) and not self.population and spec is not None and not alone:
            raise ValueError("stage 2 needs partners - name run folders or partners with --population")
        if self.start and 2 not in self.stages:
            raise ValueError("--start names the agent that stage 2 begins as, and this run has none - leave it out")
        if 2 in self.stages and self.robots < 2:
            raise ValueError(f"stage 2 needs at least two robots, not {self.robots} - use --stage 1 or --robots 2")


def create(folder: Path, run: Run) -> None:
    """Begin a run: write its config (and the partners of stage 2, if named) into a folder that holds no run yet."""
    if is_run(folder):
        raise ValueError(f"{folder} holds a run already - continue it with --resume {folder}, or choose another --out")
    spec, partners = find_method(run.method), resolve_all(run.population, run.task)
    find_algorithm(run.training.learner)
    if partners:
        run = replace(run, zero_shot=check_partners(partners, run.robots, spec.one_partner))
    start = start_of(run, spec.one_partner) if run.start else None
    if start:
        run = replace(run, zero_shot=run.zero_shot and start.meta.get("zero_shot", True))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if partners or spec.agent is not None:
            write_partners(RunFolder(folder).partners, partners, folder)
        if start:
            save_policy(RunFolder(folder).start, load_policy(start.path), start.meta)
        _write(folder, run)
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror or error} - choose another --out") from error


def start_of(run: Run, one: bool = False) -> Agent:
    """The agent that stage 2 of a new run begins as; refused if it has another network, task or number of robots.

    one: for a best response, which may begin as a holdout.
    """
    found = resolve_all((run.start,), run.task)
    if len(found) != 1 or found[0].kind != "learned" or found[0].look_ahead is not None or found[0].disturbed:
        raise ValueError(f"--start {run.start} - name one learned policy without latents, such as RUN/agent")
    start = found[0]
    if is_holdout(start) and not one:
        raise ValueError(f"--start {run.start} is held out for the evaluation - choose another agent")
    if start.meta.get("robots", run.robots) != run.robots:
        raise ValueError(f"--start {run.start} was trained for {start.meta['robots']} robots, not {run.robots} - use --robots")
    theirs, ours = to_json(config_of(read_description(start.path), start.path)), to_json(run.policy)
    for name, value in ours.items():
        if theirs[name] != value:
            raise ValueError(f"--start {run.start} has another network: {name} {theirs[name]}, not {value} - use its preset")
    return start


def extend(folder: Path) -> None:
    """Give a run of a population a second stage."""
    run = read(folder)
    if run.stages == (1,):
        _write(folder, replace(run, stages=(1, 2)))


def amend(folder: Path, run: Run, changes: Sequence[str]) -> Run:
    """A run that diverged goes on with other settings of PPO; everything else stays as it was begun."""
    there = any(diverged(RunFolder(folder).stage(number).path) for number in STAGES)
    for setting in changes:
        key, equals, text = setting.partition("=")
        if not there or not equals or not key.startswith("ppo."):
            only = "only ppo.NAME=VALUE may change, of a run that diverged"
            raise ValueError(
                f"a run cannot change while it is resumed ({only}) - leave out --change {setting}, or start a new one"
            )
        run = replace(run, training=change(run.training, key, text))
    _write(folder, run)
    return run


def read(folder: Path) -> Run:
    """The run in a folder. The code of its method is not needed, and never run because the folder names it."""
    path = RunFolder(folder).config
    values = RunFolder(folder).read_config()
    if isinstance(values.get("training"), dict):
        values["training"] = LATER | values["training"]
    spec = METHODS.get(str(values.get("method")))
    if spec is not None and "settings" in values:
        values["settings"] = from_json(type(spec.settings), values["settings"], f"{path}: settings")
    return from_json(Run, values, str(path))


def read_to_train(folder: Path) -> Run:
    """The run in a folder, with its method; one of the user's own must have been named in this process."""
    named = str(RunFolder(folder).read_config().get("method", ""))
    try:
        find_method(named)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error
    return read(folder)


def check_versions(run: Run, folder: Path) -> None:
    """Refuse to continue a run with other versions than it began with: it would not go on bit for bit."""
    here, there = vars(Versions()), vars(run.versions)
    for name, version in there.items():
        if here[name] != version:
            raise ValueError(f"{folder} was trained with {name} {version}, here is {here[name]} - install that, or start again")


def work(
    folder: Path,
    load: Callable[[Run], tuple[Sequence[Home], Episodes]],
    hours: float | None = None,
    wandb: bool = False,
    quiet: bool = False,
) -> bool:
    """Train a run from its last resume point, as this process or as one worker of a torchrun group.

    load: gives the homes and episodes of a run. Returns whether the run is complete (else its time was over).
    """
    run = read_to_train(folder)
    check_versions(run, folder)
    # One process of a group holds the lock for all.
    with held(folder) if os.environ.get("RANK", "0") == "0" else nullcontext():
        return _work(folder, run, load, hours, wandb, quiet)


def _work(
    folder: Path,
    run: Run,
    load: Callable[[Run], tuple[Sequence[Home], Episodes]],
    hours: float | None,
    wandb: bool,
    quiet: bool,
) -> bool:
    files = RunFolder(folder)
    torch.set_num_threads(run.threads)
    if run.device == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"{folder} is a run on a GPU, and there is none here - continue it where there is one")
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    until = None if hours is None else time.monotonic() + hours * 3600
    group = distributed.join(run.device)
    try:
        if group.size != run.workers:
            raise ValueError(f"{folder} is a run of {run.workers} workers, not {group.size} - use --workers {run.workers}")
        # One worker first: what is not in the cache yet is made once.
        if group.rank > 0:
            group.wait()
        homes, episodes = load(run)
        if group.rank == 0:
            group.wait()
        for stage in run.stages:
            if stage == 1 and files.complete(1):
                continue
            trainer = make_trainer(folder, run, stage, homes, episodes, group)
            trainer.load()
            if not _train(folder, run, stage, trainer, until, wandb, quiet):
                return False
            if group.rank == 0 and (fault := trainer.verdict()):
                print(f"housemates: {folder}: {fault} - {REMEDY}", file=sys.stderr, flush=True)
            if stage == 1 and group.rank == 0:
                write_population(folder, run, trainer)
            group.wait()
        return True
    except RuntimeError as error:
        if not distributed.lost(error):
            raise
        raise OSError(f"worker {group.rank} has lost another one - see its own words, then use --resume {folder}") from error
    finally:
        distributed.leave()


def make_trainer(
    folder: Path, run: Run, stage: int, homes: Sequence[Home], episodes: Episodes, group: distributed.Group
) -> Trainer:
    """What trains one stage of a run, at its beginning."""
    pixels, seed = run.policy.picture, run.training.seed
    meta = {"method": run.method, "task": run.task, "observations": run.observations, "stage": stage}
    method: Method
    spec = find_method(run.method)
    if stage == 1:
        if spec.make is None:
            raise ValueError(f"the method '{run.method}' has no first stage - use --stage 2 --population ...")
        method = spec.make(run.policy, run.robots, seed, run.settings)
        meta["settings"] = to_json(run.settings)
    elif spec.agent is not None:
        method = spec.agent(run.policy, run.robots, seed, run.settings)
        meta |= {"settings": to_json(run.settings), "zero_shot": run.zero_shot}
    else:
        redraw, one = getattr(run.settings, "redraw", REDRAW), spec.one_partner
        prioritised = run.training.prioritised
        method = Coordination(run.policy, run.robots, seed, partners_of(folder), redraw, one, prioritised)
        pixels = method.pixels or pixels
        meta["zero_shot"] = run.zero_shot
    if stage == 2 and run.start:
        method.policies[AGENT].load_state_dict(load_policy(RunFolder(folder).start).state_dict())
        meta["start"] = run.start
    place, training = RunFolder(folder).stage(stage).path, run.training.of_stage(stage)
    return Trainer(training, method, episodes, homes, place, run.robots, group, pixels, run.device, stage, meta)


def partners_of(folder: Path) -> list[Agent]:
    """The partners that the ego agent of a run trains with; noted in its folder before it begins."""
    listed = RunFolder(folder).partners
    if not listed.is_file():
        write_partners(listed, population(folder), folder)
    return read_partners(listed, folder)


def write_population(folder: Path, run: Run, trainer: Trainer) -> None:
    """Tell who belongs to the population that stage 1 has made, and how well each of them did lately."""
    stage, entries = RunFolder(folder).stage(1).path, []
    for partner in trainer.method.population():
        description = read_description(stage / partner.path)
        place = latest_place(partner.path)
        meta = description["meta"] | {"sha256": description["weights"]["sha256"], "robots": run.robots, "holdout": False}
        if place == partner.path:
            index = next(k for k, trains in enumerate(trainer.method.trains) if trains and trainer.method.place(k) == place)
            meta |= trainer.standing(index, partner.latent if partner.kind == "latent" else None)
        entries.append(replace(partner, path=f"{stage.name}/{partner.path}", meta=meta))
    write_partners(RunFolder(folder).population, entries, folder)


def _train(folder: Path, run: Run, stage: int, trainer: Trainer, until: float | None, wandb: bool, quiet: bool) -> bool:
    """Train a stage to its end (True) or until its time is over (False)."""
    numbered = f" stage {stage}" if len(run.stages) > 1 else ""
    title = f"{run.method}{numbered}, {run.task}, {run.observations} ({folder})"
    shown = trainer.group.rank == 0 and not quiet
    record = Record(trainer.folder, title, trainer.config.budget, wandb, to_json(run)) if shown else nullcontext()
    with stopping(trainer), record as show:
        return trainer.run(show, None if until is None else until - time.monotonic())


def _write(folder: Path, run: Run) -> None:
    write_json(RunFolder(folder).config, to_json(run))


@contextmanager
def stopping(trainer: Trainer) -> Generator[None]:
    """While a trainer runs, the first interrupt ends it after its present update, with a resume point; the second at once."""
    before: dict[int, Any] = {}

    def stop(number: int, frame: object) -> None:
        trainer.stopping = True
        signal.signal(number, before[number])

    for number in distributed.pausing():
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
