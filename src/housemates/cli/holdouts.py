"""`housemates holdouts ...`: the partners of the zero-shot evaluation; list them, train more, put them into the package."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from housemates.cli.homes import SplitName, TaskName, load_homes, load_set
from housemates.envs.loading import progress
from housemates.run_folder import RunFolder

if TYPE_CHECKING:
    from housemates.agents.agent import Agent


BAR = 20
"""Characters of a bar of 100 %."""


def list_holdouts(folders: Positional[tuple[Path, ...]] = (), /, task: TaskName | None = None) -> None:
    """List the held-out suite by family: who they are, how they were trained, and how often they succeed.

    Alone: by themselves in the home. Standing: beside a robot that stands still. Probe: with the package's agent, which was not
    trained with them; the bar shows this one. With mate: with the partner of their own training.

    Args:
        folders: Folders with holdouts beside those that come with the package.
        task: Only those of one task.
    """
    from housemates.evaluation import competence, suite
    from housemates.evaluation.holdouts import runs_in, suite_of
    from housemates.tasks.tasks import TASKS

    measured = competence.read()
    for name in [task] if task else list(TASKS):
        told, families, gone = measured.get(name, {}), suite_of(name, folders), suite.dropped_of(name)
        count = sum(map(len, families.values()))
        print(f"{name}: suite version {suite.VERSION}, {count} partners; {how_measured(told)}")
        for family in suite.FAMILIES:
            there = families[family.name]
            print(f"  {family.name} ({family.meaning}): {len(there) or 'nobody yet'}")
            for line in table([partner_row(p, told.get("partners", {}).get(p.name, {})) for p in there]):
                print(f"    {line}")
        if gone:
            print(f"  not in the suite, since they behave like another one: {', '.join(f'{p} ({q})' for p, q in gone.items())}")
    for folder in folders:
        for run in runs_in(folder):
            if not RunFolder(run).complete():
                print(f"note: {run} is not trained to its end - continue it with: housemates holdouts train")


def how_measured(told: Mapping[str, Any]) -> str:
    """Where the numbers of a task come from."""
    if not told:
        return "not measured yet - run: housemates holdouts measure"
    where = f"{told['episodes']} episodes of {told['split']}, seed {told['seed']}"
    return f"measured on {where}, probe {told['probe']}, commit {told['commit'] or 'unknown'}"


def partner_row(partner: Agent, rates: Mapping[str, float]) -> tuple[str, ...]:
    """One partner as cells: name, what is known of its training, rates, a bar."""
    meta = partner.meta
    trained = f"{meta.get('observations', '?')}, seed {meta.get('seed', '?')}, {meta.get('decisions', 0):,} decisions"
    trained += f", {meta['preference']}" if meta.get("preference") else ""
    rates = {**{name: meta[name] for name in ("alone", "mate") if name in meta and not partner.disturbed}, **rates}
    cells = [f"{word} {share(rates.get(name))}" for word, name in WORDS.items()]
    return partner.name, "script" if partner.kind == "script" else trained, *cells, bar(rates.get("probe"))


WORDS = {"alone": "alone", "standing": "standing", "probe": "probe", "with mate": "mate"}
"""What is shown of a partner, and its name in the measured numbers."""


def share(rate: float | None) -> str:
    """A share in percent."""
    return "-" if rate is None else f"{100 * rate:.0f} %"


def bar(rate: float | None) -> str:
    """A share as a bar."""
    full = round(BAR * (rate or 0.0))
    return "" if rate is None else "█" * full + "░" * (BAR - full)


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows with their columns in line."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def measure(
    folders: Positional[tuple[Path, ...]] = (),
    /,
    task: TaskName | None = None,
    split: SplitName = "dev",
    episodes: int = 100,
    probe: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    out: Path | None = None,
) -> None:
    """Measure what the partners of the suite can do: alone, beside a robot that stands still, and with a probe agent.

    Args:
        folders: Folders with holdouts beside those that come with the package.
        task: Only those of one task.
        split: The homes.
        episodes: How many of the split's episodes.
        probe: The agent that meets all of them; default: the package's agent that sees the ground truth, else script/solo.
        seed: Of everything that is drawn.
        threads: Of the simulator and the networks (default: all cores).
        out: The file; default: the one of the package, which `housemates holdouts` shows.
    """
    from housemates.agents.agent import resolve
    from housemates.evaluation import competence
    from housemates.evaluation.crossplay import check_count
    from housemates.evaluation.holdouts import suite_of
    from housemates.io import check_place
    from housemates.speed.measure import commit
    from housemates.tasks.tasks import TASKS

    place = out or competence.FILE
    check_place(place)
    homes = load_homes(split)
    for name in [task] if task else list(TASKS):
        played = load_set(name, split, homes)
        check_count(episodes, played)
        partners = [p for family in suite_of(name, folders).values() for p in family]
        agent = resolve(probe, name)[0] if probe else competence.probe_of(name)
        workers = threads or len(os.sched_getaffinity(0))
        with progress(f"games of {name}") as report:
            found = competence.measure(name, partners, agent, played, homes, episodes, seed, workers, report)
        told = {"split": split, "episodes": episodes, "seed": seed, "probe": agent.name, "commit": commit()}
        competence.write(place, name, found, told)
        print(f"{name}: {how_measured(told)}")
        for line in table([partner_row(p, found[p.name]) for p in partners]):
            print(f"  {line}")
    print(place)


def train_holdouts(
    task: TaskName,
    seeds: tuple[int, ...] = (100, 101, 102, 103),
    method: str = "gt_coord",
    preset: str = "state",
    observations: str | None = None,
    decisions: int | None = None,
    steps: int | None = None,
    change: tuple[str, ...] = (),
    workers: int | None = None,
    hours: float | None = None,
    episodes: int = 100,
    out: Path = Path("holdouts"),
    quiet: bool = False,
) -> None:
    """Train holdouts: two robots that learn together, or a population, for each seed; all become holdouts.

    The same command continues.

    Args:
        task: What is to be done.
        seeds: One run each; never those of agents that are evaluated with them.
        method: How; of a method with two stages the first is trained, and its population is held out.
        preset: How long and with which network.
        observations: What they see; default: the preset's.
        decisions: How long to train each run; default: the preset's.
        steps: The same in simulation steps of all homes.
        change: Settings to change, as for `housemates train`.
        workers: Processes that train together.
        hours: Pause after so long.
        episodes: Dev episodes on which their competence is measured when they are trained.
        out: The folder of the runs; what is in it is excluded from training.
        quiet: Show nothing while training.
    """
    from housemates.evaluation.holdouts import mark, measure, read_mark
    from housemates.io import check_place
    from housemates.methods import METHODS
    from housemates.runs.presets import PRESETS
    from housemates.runs.train import train_one

    if not seeds:
        raise ValueError("holdouts of which seeds? - give --seeds, such as 100 101 102 103")
    if METHODS.named(method).make is None:
        raise ValueError(f"--method {method} has no first stage, so no population - choose another method")
    PRESETS.find(preset).policy(observations or PRESETS[preset].observations, 2)
    check_place(RunFolder(out).mark)
    until = None if hours is None else time.monotonic() + hours * 3600
    always = {"observations": observations, "decisions": decisions, "steps": steps, "workers": workers, "quiet": quiet}
    for seed in seeds:
        folder = out / f"{method}-{task}-{preset}-{seed}"
        begin = {"method": method, "task": task, "preset": preset, "seed": seed, "change": change, "stage": 1}
        # Marked before it exists, so that it is not taken for a partner while it is trained.
        if not train_one(folder, begin, always, until, lambda folder=folder: mark(folder)):
            break
        if not read_mark(folder).get("members"):
            homes = load_homes("dev")
            mark(folder, measure(folder, load_set(task, "dev", homes), homes, episodes))
    else:
        print(f"{len(seeds)} runs of holdouts in {out} - meet them with: housemates evaluate RUN --holdouts {out}")
        return
    print(f"paused - continue with the same command; what is there: housemates holdouts {out}")


def ship(runs: Positional[tuple[Path, ...]], /, members: tuple[int, ...] = (), root: Path | None = None) -> None:
    """Copy the members of trained holdouts into the package, for maintainers: pairs, populations, preferences.

    Every policy is copied once, as float32 safetensors, and a policy with latents is one file for all of them. What the package
    has already, or has no room for, is refused.

    Args:
        runs: Folders of holdouts.
        members: Only these of each run; a policy with latents is copied with all of them.
        root: Another folder than the package's `agents`.
    """
    from housemates.agents.agent import latents
    from housemates.evaluation.holdouts import MOST_BYTES, runs_in, shipped_bytes
    from housemates.evaluation.holdouts import ship as copy
    from housemates.evaluation.suite import family_of

    for run in [run for folder in runs for run in runs_in(folder)]:
        for place in copy(run, root, members):
            found = latents(place, place.name)
            many = f"{len(found)} partners of the family {family_of(found[0])}" if len(found) > 1 else family_of(found[0])
            print(f"{place}: {many}, {sum(f.stat().st_size for f in place.iterdir()) / 1000:.0f} kB")
    print(f"{shipped_bytes(root) / 1e6:.1f} of at most {MOST_BYTES / 1e6:.0f} MB of policies in the package")


def bounds(rows: Positional[tuple[Path, ...]], /, out: Path | None = None) -> None:
    """Put the success of best responses into the package, for BR-Prox wherever the same games are played; for maintainers.

    Args:
        rows: Files of rows that `housemates holdouts best-responses` wrote.
        out: The file; default: the one of the package.
    """
    from housemates.evaluation.bounds import FILE, write_bounds
    from housemates.evaluation.metrics import rows_of
    from housemates.evaluation.rows import read_rows
    from housemates.io import check_place

    if not rows:
        raise ValueError("whose bounds? - give rows of best responses, such as best_responses/tidy_house/episodes.parquet")
    check_place(out or FILE)
    for (task, split), count in write_bounds(rows_of(read_rows(rows)), out).items():
        print(f"{task}, {split}: {count} partners have a best response")
    print(out or FILE)


def pack(partners: Positional[tuple[str, ...]], /, out: Path, task: TaskName | None = None) -> None:
    """Seal policies for an evaluation server: copy them into a new folder without a word of who they are, with a new token.

    Args:
        partners: Learned policies, as `housemates evaluate --partners` names them.
        out: The new folder.
        task: Refuse policies that were trained for another task.
    """
    from housemates.agents.agent import resolve_all
    from housemates.agents.sealed import TOKEN_FILE, seal

    if not partners:
        raise ValueError("seal whom? - name learned policies, such as RUN/3")
    found = resolve_all(partners, task)
    seal(found, out)
    for number, partner in enumerate(found):
        print(f"p{number}: {partner.name}")
    print(f"{len(found)} sealed partners in {out} (keep the list above and {out / TOKEN_FILE} to yourself)")
    print(f"serve them: housemates holdouts serve {out}")


def serve(folder: Positional[Path], /, host: str = "127.0.0.1", port: int = 7440) -> None:
    """Let sealed partners act for evaluations on this machine, or behind a tunnel: observations in, actions out.

    Args:
        folder: What `housemates holdouts pack` wrote.
        host: The address to listen at; frames are not encrypted, so other machines should come through a tunnel (ssh -L).
        port: 0 takes any free port.
    """
    from housemates.agents.sealed import SCHEME, TOKEN
    from housemates.agents.sealed_server import SealedServer

    try:
        server = SealedServer(folder, host, port)
    except OSError as error:
        raise ValueError(f"cannot listen at {host}:{port} ({error.strerror or error}) - choose another --port") from error
    print(f"{len(server.partners)} sealed partners at {server.address}; who has the token meets them with:", flush=True)
    print(f"{TOKEN}={server.token} housemates evaluate RUN --partners {SCHEME}{server.address}", flush=True)
    with server:
        server.serve_forever()
