"""`housemates speed`: how fast this machine draws pictures, steps homes and learns, and how others do on the same scene."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from housemates.cli.homes import SplitName, load_homes, load_set

if TYPE_CHECKING:
    from housemates.speed.suite import Result


def speed(
    quick: bool = False,
    json_file: Annotated[Path | None, arg(name="json")] = None,
    seconds: float | None = None,
    peers: bool = True,
    learning: bool = True,
    split: SplitName = "dev",
) -> None:
    """Measure pictures, steps and learnt decisions a second on this machine.

    Args:
        quick: Fewer sizes and shorter turns, about a minute.
        json_file: Also write every figure to this file.
        seconds: How long to measure each figure.
        peers: Also measure MuJoCo and pybullet, where installed, on the same scene.
        learning: Also measure trainings, with the torch path and the fused one in turns.
        split: Where the homes come from; others draw only homes made of solids.
    """
    from housemates.homes.replicacad.download import AssetError, find_replicacad
    from housemates.io import check_place
    from housemates.speed.suite import QUICK, Plan, run

    if seconds is not None and seconds <= 0:
        raise ValueError(f"--seconds must be positive, not {seconds}")
    if json_file is not None:
        check_place(json_file)
    plan = replace(QUICK if quick else Plan(), peers=peers)
    if seconds is not None:
        plan = replace(plan, seconds=seconds)
    if not learning:
        plan = replace(plan, learning=())
    try:
        plan = replace(plan, replicacad=find_replicacad())
    except AssetError as error:
        print(f"note: real meshes are not measured: {error}", file=sys.stderr)
    homes = load_homes(split)
    episodes = load_set("tidy_house", split, homes)
    if not len(homes[0].parts):
        plan = replace(plan, peers=False)
    result = run(plan, homes, episodes, lambda what: print(f"measuring {what} ...", file=sys.stderr, flush=True))
    print(table(result))
    if json_file is not None:
        write_json(json_file, result)
        print(json_file)


def table(result: Result) -> str:
    """The figures as text."""
    found = result.machine
    load = f"{found['load'][0]:.1f} before, {found['load_after'][0]:.1f} after"
    lines = [
        f"{found['processor']}, {found['cores']} cores, load {load} (work waiting for a core), "
        f"the host took {found['taken_by_host']:.1%} of its time",
        f"housemates {found['housemates']} {found['commit']}, Python {found['python']}, numba {found['numba']}",
        ", ".join(f"{count:,} {what}" for what, count in result.scene.items()),
        "",
        f"{'':<48} {'threads':>7} {'per core':>12} {'wall clock':>12}",
    ]
    for figure in result.figures:
        rates = f"{figure.per_core:>12,.0f} {figure.wall:>12,.0f}"
        lines.append(f"{figure.name:<48} {figure.threads:>7} {rates} {figure.unit}")
    lines.append("")
    for name, ratio in result.two_threads.items():
        apart = f"two batches that share nothing {result.two_batches_apart[name]:.2f} times"
        lines.append(f"{name}: two threads are {ratio:.2f} times as fast as one by the clock, {apart}")
    lines += [f"{name}: housemates draws {ratio:.0f} times as many per core" for name, ratio in result.ratios.items()]
    lines += [f"{name}: {share:.1%} of pixels agree with ours" for name, share in result.agreement.items()]
    for row in result.learning:
        parts = ", ".join(f"{name} {getattr(row, name):.1f}" for name in ("simulation", "observation", "inference", "update"))
        share = f", the update at {row.update_gflops / row.peak_gflops:.0%} of a matrix product" if row.peak_gflops else ""
        lines.append(
            f"learning from {row.kind}, {row.path}: {row.decisions_per_second:,.0f} decisions a second and core "
            f"(microseconds each: {parts}){share}"
        )
    for kind, paths in result.acting.items():
        for path, each in paths.items():
            calls = ", ".join(f"{n} {cost:.1f}" for n, cost in each.items())
            lines.append(f"acting from {kind}, {path}: microseconds per decision by robots in a call: {calls}")
    return "\n".join(lines)


def write_json(path: Path, result: Result) -> None:
    """Write the result, whole or not at all."""
    from housemates.io import write_whole

    text = json.dumps(result.as_dict(), indent=1) + "\n"
    write_whole(path, text.encode())
