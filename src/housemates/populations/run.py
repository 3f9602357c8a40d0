"""A run as a folder: config.json says everything that decides its bits; whoever has the folder can continue it.

RUN/config.json
RUN/stage1/  metrics.jsonl  members/00/{policy.safetensors, policy.json}  resume/  tensorboard/
"""

from __future__ import annotations

import json
import os
import platform
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import housemates
from housemates.homes.home import Home
from housemates.learning import distributed
from housemates.learning.record import Record
from housemates.learning.resume import replace
from housemates.learning.settings import from_json, nearest, to_json
from housemates.learning.trainer import Trainer, Training
from housemates.policies.config import PolicyConfig
from housemates.populations import METHODS
from housemates.tasks.episodes import Episodes

CONFIG = "config.json"
STAGE = "stage1"


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
    """A key of METHODS."""
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
    versions: Versions = field(default_factory=Versions)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"no method '{self.method}' - {nearest(self.method, list(METHODS))}")
        for name in ("robots", "workers", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} {getattr(self, name)} - it must be at least 1")
        if self.training.homes % self.workers:
            raise ValueError(f"{self.training.homes} homes cannot be shared by {self.workers} workers - choose another number")
        if self.method == "solo" and self.robots != 1:
            raise ValueError(f"the method 'solo' trains one robot alone, not {self.robots} - use --robots 1")
        self.training.check()


def create(folder: Path, run: Run) -> None:
    """Begin a run: write its config into a folder that holds no run yet."""
    if (folder / CONFIG).exists():
        raise ValueError(f"{folder} holds a run already - continue it with --resume {folder}, or choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace(folder / CONFIG, (json.dumps(to_json(run), indent=2) + "\n").encode())
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror or error} - choose another --out") from error


def read(folder: Path) -> Run:
    """The run in a folder."""
    path = folder / CONFIG
    if not path.is_file():
        raise FileNotFoundError(f"no {CONFIG} in {folder} - give the folder of a run")
    try:
        values = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged ({error}) - restore it from a copy") from error
    return from_json(Run, values, str(path))


def check_versions(run: Run, folder: Path) -> None:
    """Refuse to continue a run with other versions than it began with: it would not go on bit for bit."""
    here, there = vars(Versions()), vars(run.versions)
    for name, version in there.items():
        if here[name] != version:
            raise ValueError(f"{folder} was trained with {name} {version}, here is {here[name]} - install that, or start anew")


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
    run = read(folder)
    check_versions(run, folder)
    torch.set_num_threads(run.threads)
    if run.device == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"{folder} is a run on a GPU, and there is none here - continue it where there is one")
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
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
        spec = METHODS[run.method]
        if spec.make is None:
            raise ValueError(f"the method '{run.method}' has no first stage")
        method = spec.make(run.policy, run.robots, run.training.seed, spec.settings)
        trainer = Trainer(
            run.training, method, episodes, homes, folder / STAGE, run.robots, group, run.policy.picture, run.device
        )
        trainer.load()
        title = f"{run.method}, {run.task}, {run.observations} ({folder})"
        shown = group.rank == 0 and not quiet
        record = Record(folder / STAGE, title, run.training.decisions, wandb, to_json(run)) if shown else nullcontext()
        with stopping(trainer), record as show:
            return trainer.run(show, None if hours is None else hours * 3600)
    except RuntimeError as error:
        if not distributed.lost(error):
            raise
        raise OSError(f"worker {group.rank} has lost another one - see its own words, then use --resume {folder}") from error
    finally:
        distributed.leave()


@contextmanager
def stopping(trainer: Trainer) -> Generator[None]:
    """While a trainer runs, the first interrupt ends it after its present update, with a resume point; the second at once."""
    before: dict[int, Any] = {}

    def stop(number: int, frame: object) -> None:
        trainer.stopping = True
        signal.signal(number, before[number])

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
