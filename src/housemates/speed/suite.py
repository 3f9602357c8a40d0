"""Everything that `housemates speed` measures, in order: pictures, steps, threads, paths, learning, others on one scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from housemates.geometry.distance import distance_field
from housemates.geometry.paths import corner_path_length
from housemates.homes.generate import generate_home
from housemates.homes.home import Home
from housemates.homes.navigation import navigation
from housemates.parallel import Threads
from housemates.sim.batch import Batch
from housemates.speed import peers
from housemates.speed import simulation as frames
from housemates.speed import simulation as steps
from housemates.speed.learning import KINDS, Learning, measure_acting, measure_training
from housemates.speed.measure import Figure, Job, figure, machine, measure, processor_time, take_turns
from housemates.tasks.episodes import Episodes

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to measure and for how long."""

    seconds: float = 2.0
    """For each figure."""
    sizes: tuple[int, ...] = (64, 128, 256)
    """Sides of pictures, pixels."""
    homes: tuple[int, ...] = (256, 1024, 4096)
    """Homes in a batch of steps without pictures."""
    picture_homes: int = 64
    """Homes in a batch with pictures."""
    peer_sizes: tuple[int, ...] = (64, 256)
    """Sides of the pictures that others draw too."""
    replicacad: Path | None = None
    """The real homes, measured where given."""
    peers: bool = True
    """Whether to measure others where they are installed."""
    learning: tuple[str, ...] = tuple(KINDS)
    """What trainings to measure, see `speed.learning.KINDS`."""
    updates: int = 4
    """PPO updates of each training that count."""
    num_envs: int = 256
    """Homes of each training."""


COMPARED = 20
"""Turns of one thread and two."""
QUICK = Plan(seconds=0.4, sizes=(64, 256), picture_homes=32, peer_sizes=(64,), learning=("state",), updates=2)
"""For a first look: about a minute with compiled kernels."""


@dataclass(frozen=True, eq=False)
class Result:
    """What was measured."""

    machine: dict[str, Any]
    figures: list[Figure]
    two_threads: dict[str, float] = field(default_factory=dict)
    """How many times as fast two threads are as one, wall time, by figure: the median of turns beside each other. A busy
    machine has no second core to give."""
    two_batches_apart: dict[str, float] = field(default_factory=dict)
    """The same for two batches that share nothing, in the same turns: what both cores gave just then."""
    ratios: dict[str, float] = field(default_factory=dict)
    """How many times as many pictures per core we draw as others, by figure."""
    agreement: dict[str, float] = field(default_factory=dict)
    """Share of pixels on which others' pictures agree with ours, by name."""
    scene: dict[str, int] = field(default_factory=dict)
    """How much there is to draw."""
    learning: list[Learning] = field(default_factory=list)
    """Trainings by the torch path and by the fused one, which took turns."""
    acting: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)
    """Microseconds of CPU time per decision, by observations, path and robots in one call."""

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values."""
        learnt = [vars(row) for row in self.learning]
        return {**vars(self), "figures": [figure.as_dict() for figure in self.figures], "learning": learnt}


def run(plan: Plan, homes: Sequence[Home], episodes: Episodes, say: Say) -> Result:
    """Measure everything of a plan in these homes; `say` is told what comes next."""
    before, clock, figures = machine(), processor_time(), []
    scene = {"homes": len(homes), "solids of home 0": len(homes[0].parts)}
    batch = partial(Batch, episodes, homes, world=Batch(episodes, homes, 1).world)
    say("depth pictures")
    figures += measure(
        [frames.head_depth(batch(plan.picture_homes, pixels=s), "depth", "depth") for s in plan.sizes], plan.seconds
    )
    if plan.replicacad is not None:
        say("depth pictures of real meshes")
        real = frames.real_batches(plan.replicacad, plan.sizes, plan.picture_homes)
        meshes = real[0].homes[0].meshes
        scene["triangles of the real home"] = 0 if meshes is None else len(meshes.faces)
        figures += measure([frames.head_depth(b, "depth of meshes", "meshes") for b in real], plan.seconds)
    say("steps without pictures")
    figures += measure([steps.without_pictures(batch(size)) for size in plan.homes], plan.seconds)
    say("steps with pictures")
    figures += measure(
        [steps.with_pictures(batch(plan.picture_homes, pixels=plan.sizes[0]), every) for every in (True, False)], plan.seconds
    )
    say("one thread and two")
    scaled, two_threads, two_batches = scaling(batch, plan)
    figures += scaled
    say("paths and homes")
    figures += measure([*other_jobs(homes[0]), steps.look_ahead(batch(plan.homes[0]))], plan.seconds)
    learning, acting = [], {}
    for kind in plan.learning:
        say(f"learning: {kind}")
        learning += measure_training(kind, homes, episodes, plan.updates, plan.num_envs)
        if not kind.endswith("_partners"):
            acting[kind] = measure_acting(kind)
    ratios: dict[str, float] = {}
    agreement: dict[str, float] = {}
    for size in plan.peer_sizes if plan.peers else ():
        say(f"others on the same scene, {size}x{size}")
        jobs, agree = peers.jobs(homes[0], size)
        ours, *theirs = measure(jobs, plan.seconds)
        figures += [ours, *theirs]
        ratios |= {figure.name: ours.per_core / figure.per_core for figure in theirs}
        agreement |= {f"{name} {size}x{size}": share for name, share in agree.items()}
    passed, taken = (now - then for now, then in zip(processor_time(), clock, strict=True))
    after = {"load_after": machine()["load"], "taken_by_host": taken / max(passed, 1.0)}
    return Result(before | after, figures, two_threads, two_batches, ratios, agreement, scene, learning, acting)


def scaling(batch: Callable[..., Batch], plan: Plan) -> tuple[list[Figure], dict[str, float], dict[str, float]]:
    """Figures with two threads, and how many times as fast as one thread two are, and two batches that share nothing."""
    made: list[Callable[[int], Job]] = [
        *(lambda n, size=size: steps.without_pictures(batch(size, threads=n)) for size in plan.homes[1:]),
        lambda n: frames.head_depth(batch(plan.homes[0], pixels=plan.sizes[0], threads=n), "depth", "depth"),
    ]
    figures, two_threads, two_batches = [], {}, {}
    for make in made:
        one, two, other = make(1), make(2), make(1)
        rates = take_turns([one, two, apart([one, other])], plan.seconds, COMPARED)
        figures.append(figure(two, rates[1]))
        two_threads[two.name], two_batches[two.name] = np.median(rates[1:, :, 1] / rates[0, :, 1], axis=1).tolist()
    return figures, two_threads, two_batches


def apart(jobs: Sequence[Job]) -> Job:
    """Jobs that share nothing, side by side on a thread each."""
    threads, done = Threads(len(jobs)), [0] * len(jobs)

    def some(thread: int, low: int, high: int) -> None:
        for k in range(low, high):
            done[k] = jobs[k].work()

    def work() -> int:
        threads.share(len(jobs), some)
        return sum(done)

    return replace(jobs[0], work=work, threads=len(jobs))


def other_jobs(home: Home) -> list[Job]:
    """What happens once per home or per decision: generating it, distance fields, path lengths."""
    floor, way = home.floor, navigation(home)
    row, col = (float(v) for v in floor.cells[-1])
    out = np.empty(floor.main.shape, np.float32)
    towards = np.ascontiguousarray(way.corner[0])
    starts = np.random.default_rng(0).integers(len(floor.cells), size=100)

    def lengths() -> int:
        for start in starts:
            corner_path_length(floor.cells, towards, start, floor.cell)
        return len(starts)

    def field_of_distances() -> int:
        distance_field(floor.main, row, col, floor.cell, out)
        return 1

    def home_made() -> int:
        generate_home("train", 0)
        return 1

    return [
        Job("path lengths", "other", "paths/s", lengths),
        Job("distance fields", "other", "fields/s", field_of_distances),
        Job("homes generated", "other", "homes/s", home_made),
    ]
