"""Which command the words of a command line name, and what is wrong with them, on one line.

Commands are plain functions; their signatures say which options they take. Wrong words are found here before the parser (tyro)
sees them, because its own errors are boxes of many lines.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, wraps
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from tyro.conf import OmitArgPrefixes, Positional
from tyro.constructors import PrimitiveConstructorSpec
from tyro.extras import SubcommandApp

from housemates.cli import help

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
