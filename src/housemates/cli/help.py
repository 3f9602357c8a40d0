"""`--help`: what a command does, what it takes and what to do next, in plain text from its signature and docstring."""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

INDENT, COLUMN, WIDEST = 2, 26, 110
"""Before an option; where its meaning begins; the widest line, characters."""
KINDS = {int: "N", float: "X", Path: "PATH", str: "NAME"}
"""What stands for a value of a kind."""
TOPICS = {
    "Start here": ("info", "prepare", "watch", "play"),
    "Train": ("train", "clone", "partners", "holdouts"),
    "Evaluate": ("evaluate", "series", "report", "submit", "diversity", "mind", "benchmark", "study", "validity"),
    "Data": ("homes", "episodes", "data", "export", "games", "hub", "speed"),
}
"""The commands by what a person wants."""
NEXT = {
    "": "housemates play, or: housemates evaluate --agents pretrained/bdp-tidy_house-depth --episodes 10",
    "info": "housemates play",
    "prepare": "housemates train --preset smoke",
    "homes": "housemates homes show eval/00 --task tidy_house",
    "episodes": "housemates train --preset smoke",
    "data": "housemates evaluate --agents script/solo --partners script/noop --task tidy_house --split replicacad",
    "train": "housemates evaluate RUN, then: housemates report RUN",
    "evaluate": "housemates report RUN, or the file of rows",
    "export": "in Python: housemates.load_dataset(FOLDER)",
    "partners": "housemates partners card NAME, or: housemates partners play NAME NAME",
    "holdouts": "housemates evaluate RUN",
    "diversity": "housemates report RUN",
    "mind": "housemates evaluate --agents RUN/agent+lookahead-mind --split dev",
    "report": "open the page that it names; housemates watch RUN",
    "submit": "commit the folder of the entry, and send it as a pull request",
    "benchmark": "housemates watch FOLDER/runs/RUN",
    "study": "read FOLDER/study.md; housemates report FOLDER/CONDITION/runs/RUN",
    "watch": "housemates play",
    "play": "housemates games list",
    "games": "housemates export --games games --out people",
    "hub": "housemates evaluate runs/NAME, or: housemates partners card agents/NAME",
    "speed": "housemates train --preset state",
    "validity": "housemates holdouts",
}
"""What to do after a command; RUN and the like stand for what it made."""


class Told(NamedTuple):
    """A docstring in its parts."""

    first: str
    """What the command does, one sentence or two."""
    rest: list[str]
    """The other paragraphs."""
    arguments: dict[str, list[str]]
    """What each argument means, line by line; lines that begin with a star are items of a list."""


def read(function: Callable[..., Any]) -> Told:
    """The parts of a command's docstring."""
    text, _, arguments = (inspect.getdoc(function) or "").partition("\nArgs:\n")
    first, *rest = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    meanings = {}
    for found in re.finditer(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", arguments, re.MULTILINE | re.DOTALL):
        items = re.split(r"\n\s*\* ", found[2].strip())
        meanings[found[1].replace("_", "-")] = [
            " ".join(item.split()) if place == 0 else f"* {' '.join(item.split())}" for place, item in enumerate(items)
        ]
    return Told(first, rest, meanings)


def overview(commands: dict[str, str], description: str) -> str:
    """All commands by topic; commands: what each does."""
    lines = ["usage: housemates COMMAND ...", "", *wrapped(description), ""]
    known = {name for names in TOPICS.values() for name in names}
    topics = TOPICS | {"Other": tuple(name for name in commands if name not in known)}
    for topic, names in topics.items():
        if not names:
            continue
        lines += [f"{topic}:", *(line for name in names for line in row(name, [commands[name]])), ""]
    return "\n".join([*lines, "Options of a command: housemates COMMAND --help", f"next: {NEXT['']}"])


def of_group(name: str, words: str, commands: dict[str, str]) -> str:
    """The commands of a group; commands: what each does."""
    lines = [f"usage: housemates {name} COMMAND ...", "", *wrapped(words), ""]
    lines += [line for inner, said in commands.items() for line in row(inner, [said])]
    return "\n".join([*lines, "", f"next: {NEXT.get(name, NEXT[''])}"])


def of_command(name: str, function: Callable[..., Any], placed: Sequence[Any], named: Sequence[Any]) -> str:
    """What a command does and takes; placed, named: its options (`main.options`)."""
    told = read(function)
    places = [f"[{one.name.upper()} ...]" if one.many else one.name.upper() for one in placed]
    needed = [f"{one.name} {value(one)}" for one in named if one.required]
    lines = [" ".join(["usage: housemates", name, *places, *needed, "[OPTIONS]"]), "", *wrapped(told.first), ""]
    for paragraph in told.rest:
        lines += [*wrapped(paragraph), ""]
    for one in placed:
        lines += row(one.name.upper(), told.arguments.get(one.name, []))
    lines += [""] if placed else []
    for one in sorted(named, key=lambda one: not one.required):
        names = ", ".join((one.name, *one.aliases)) + (f" {value(one)}" if one.kind is not bool else "")
        default = defaults(function, one.name)
        lines += row(names, [*told.arguments.get(one.name.strip("-"), [""])], default)
    lines += row("--use MODULE", ["A module of yours that registers tasks, sensors, homes or methods."])
    return "\n".join([*lines, "", f"next: {NEXT.get(name.split()[0], NEXT[''])}"])


def value(option: Any) -> str:
    """What stands for the value of an option: the choices if they are few, else a word."""
    word = KINDS.get(option.kind, "NAME")
    if get_origin(option.kind) is Literal:
        word = "|".join(str(choice) for choice in get_args(option.kind))
        word = word if len(word) <= 40 else "NAME"
    return f"{word} ..." if option.many else word


def defaults(function: Callable[..., Any], name: str) -> str:
    """The default of an option as words; empty where it says nothing or the docstring says it."""
    parameter = inspect.signature(function).parameters.get(name.strip("-").replace("-", "_"))
    given = None if parameter is None else parameter.default
    if given in (None, inspect.Parameter.empty, (), "", False):
        return ""
    if given is True:
        return f"--no-{name.strip('-')} turns it off"
    return f"default {' '.join(map(str, given)) if isinstance(given, tuple) else given}"


def row(name: str, meaning: Iterable[str], default: str = "") -> list[str]:
    """An option or a command and its meaning beside it; items of lists on lines of their own."""
    first, *items = list(meaning) or [""]
    if default and "default" not in first:
        first = f"{first.rstrip('.')} ({default})."
    body = [line for text in (first, *items) for line in wrapped(text, COLUMN, "  " if text.startswith("* ") else "")]
    head = " " * INDENT + name
    if len(head) < COLUMN - 1 and body:
        return [head.ljust(COLUMN) + body[0].lstrip(), *body[1:]]
    return [head, *body]


def wrapped(text: str, indent: int = 0, hanging: str = "") -> list[str]:
    """Text in lines that fit the terminal."""
    width = min(WIDEST, max(60, shutil.get_terminal_size().columns - 1))
    return textwrap.wrap(
        text, width, initial_indent=" " * indent, subsequent_indent=" " * indent + hanging, break_on_hyphens=False
    )
