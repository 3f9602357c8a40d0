"""`housemates speed`: how fast this machine draws pictures, steps homes and learns, and how others do on the same scene."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from housemates.cli.homes import SplitName, load_homes, load_set

if TYPE_CHECKING:
    from housemates.speed.compare import Compared
    from housemates.speed.suite import Result


def speed(
    quick: bool = False,
    json_file: Annotated[Path | None, arg(name="json")] = None,
    seconds: float | None = None,
    peers: bool = True,
    learning: bool = True,
    compare: str | None = None,
    split: SplitName = "dev",
) -> None:
    """Measure pictures, steps and decisions of learning a second on this machine.

    Args:
        quick: Fewer sizes and shorter turns, about a minute.
        json_file: Also write every figure to this file.
        seconds: How long to measure each figure.
        peers: Also measure MuJoCo and pybullet, where installed, on the same scene.
        learning: Also measure trainings, with the torch path and the fused one in turns.
        compare: Measure learning and acting beside this commit instead, in turns, and nothing else.
        split: Where the homes come from; others draw only homes made of solids.
    """
    from housemates.homes.replicacad.download import AssetError, find_replicacad
    from housemates.io import check_place
    from housemates.speed.suite import QUICK, Plan, run

    if seconds is not None and seconds <= 0:
        raise ValueError(f"--seconds must be positive, not {seconds}")
    if json_file is not None:
        check_place(json_file)
    if compare is not None:
        _beside(compare, quick, json_file)
        return
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
    result = run(plan, homes, episodes, _say)
    print(table(result))
    if json_file is not None:
        write_json(json_file, result)
        print(json_file)


def _beside(commit: str, quick: bool, json_file: Path | None) -> None:
    """Measure this source beside a commit, print it and write it down."""
    from housemates.speed import compare
    from housemates.speed.measure import machine

    before = machine()
    found = compare.compare(commit, compare.QUICK if quick else compare.Turns(), _say)
    print(compared(found, commit, before))
    if json_file is not None:
        figures = [vars(row) for row in found]
        _write(json_file, {"machine": before, "beside": commit, "figures": figures})
        print(json_file)


def compared(found: Sequence[Compared], commit: str, machine: dict[str, Any]) -> str:
    """Figures of two trees as text."""
    lines = [
        f"{machine['processor']}, load {machine['load'][0]:.1f}; {machine['commit']} beside {commit}, in turns",
        f"{'microseconds of CPU time per decision':<40} {'then':>8} {'now':>8} {'times as fast':>14} {'turns from, to':>16}",
    ]
    for row in found:
        spread = f"{row.lowest:.2f}, {row.highest:.2f}"
        lines.append(f"{row.name:<40} {row.before:>8.1f} {row.now:>8.1f} {row.ratio:>14.2f} {spread:>16}")
    return "\n".join(lines)


def _say(what: str) -> None:
    print(f"measuring {what} ...", file=sys.stderr, flush=True)


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
        share = f", the update at {row.update_gflops:.0f} GFLOP/s"
        if row.peak_gflops:
            share += f", {row.update_gflops / row.peak_gflops:.0%} of the {row.peak_gflops:.0f} of a matrix product"
        lines.append(
            f"learning, {row.kind}, {row.path}: {row.decisions_per_second:,.0f} decisions a second and core "
            f"(microseconds each: {parts}){share}"
        )
    for kind, paths in result.acting.items():
        for path, each in paths.items():
            calls = ", ".join(f"{n} {cost:.1f}" for n, cost in each.items())
            lines.append(f"acting from {kind}, {path}: microseconds per decision by robots in a call: {calls}")
    return "\n".join(lines)


def write_json(path: Path, result: Result) -> None:
    """Write the result, whole or not at all."""
    _write(path, result.as_dict())


def _write(path: Path, values: dict[str, Any]) -> None:
    from housemates.io import write_whole

    write_whole(path, (json.dumps(values, indent=1) + "\n").encode())
