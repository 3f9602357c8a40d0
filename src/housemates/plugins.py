"""What users add from outside the package: modules that they name, and entry points of installed packages.

A table has things by name: tasks, sensors, homes, methods, robots, learning algorithms, presets. No code runs because a file
names it. A module is imported when a user names it (`--use package.module`, `--task package.module:NAME`, the environment
variable HOUSEMATES_USE, Python), or when an installed package offers what was asked for as an entry point.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from housemates.config import nearest

USE = "HOUSEMATES_USE"
"""The environment variable with what was named, separated by commas; processes that are started from here inherit it."""


class Named(Protocol):
    """What a table can hold."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...


Thing = TypeVar("Thing", bound=Named)


def use(place: str) -> Any:
    """The module package.module, or the object package.module:NAME; modules of the present folder are found as well.

    Importing a module is enough if it registers what it defines. It is added to HOUSEMATES_USE.
    """
    found = _import(place)
    known = places()
    if place not in known:
        os.environ[USE] = ",".join([*known, place])
    return found


def places() -> list[str]:
    """What HOUSEMATES_USE names: modules and objects."""
    return [place for place in os.environ.get(USE, "").split(",") if place]


def _import(place: str) -> Any:
    module, colon, name = place.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *([name] if colon else []))):
        raise ValueError(f"'{place}' names no module - write package.module or package.module:NAME")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"no module '{error.name}' for '{place}' - is it installed, or in the present folder?") from error
    finally:
        sys.path.remove(here)
    if not colon:
        return found
    if not hasattr(found, name):
        there = [word for word in vars(found) if not word.startswith("_")]
        raise ValueError(f"no '{name}' in {module} - {nearest(name, there)}")
    return getattr(found, name)


class Table(dict[str, Thing], Generic[Thing]):
    """Things by name, those of the package first; users add theirs with `register`, `use` or an entry point."""

    hint: ClassVar[str] = "--use package.module"
    """How a user names one of their own, for errors."""

    def __init__(self, what: str, group: str, kind: type[Thing], own: Iterable[Thing]) -> None:
        """what: the word for one of them; group: of entry points; own: those of the package, which cannot be replaced."""
        super().__init__({thing.name: thing for thing in own})
        self.what, self.group, self.kind, self.own = what, group, kind, frozenset(self)

    def fits(self, thing: Any) -> bool:
        """Whether something that a user names is meant for this table."""
        return isinstance(thing, self.kind)

    def read(self, thing: Any, name: str) -> Thing:
        """The entry that a thing gives, which a user names by `name` (empty: by its own); an error says what is wrong."""
        if not self.fits(thing):
            raise ValueError(f"{thing!r:.60} is no {self.what} - give a {self.kind.__name__}")
        return thing

    def register(self, thing: Any, name: str = "") -> Thing:
        """Add a thing, or replace one that was added before; returns its entry."""
        made = self.read(thing, name)
        if made.name in self.own and self[made.name] != made:
            raise ValueError(f"housemates has a {self.what} '{made.name}' already - give yours another name")
        self[made.name] = made
        return made

    def find(self, name: str) -> Thing:
        """The thing of that name; what users named and what installed packages offer counts as well."""
        if name not in self:
            self._take_used()
        if name not in self and (entry := _offered(self.group).get(name)) is not None:
            self._take(entry)
        if name not in self and ":" in name:
            what = f"the {self.what} '{name}' is your own, and a file may not run code"
            raise ValueError(f"{what} - name it: --{self.what} {name}")
        if name not in self:
            choices = [*self, *(one for one in _offered(self.group) if one not in self)]
            raise ValueError(f"no {self.what} '{name}' - {nearest(name, choices)} (one of your own: {self.hint})")
        return self[name]

    def named(self, text: str) -> Thing:
        """The thing that a user names: by its name, or as package.module:NAME, which is imported and registered."""
        return self.register(use(text), text) if ":" in text and text not in self else self.find(text)

    def everything(self) -> dict[str, Thing]:
        """All there is by name; entry points that cannot be loaded are left out with a warning."""
        self._take_used()
        for entry in _offered(self.group).values():
            if entry.name not in self:
                try:
                    self._take(entry)
                except ValueError as error:
                    warnings.warn(str(error), stacklevel=2)
        return dict(self)

    def _take_used(self) -> None:
        for place in places():
            thing = _import(place)
            if self.fits(thing):
                self.register(thing, place)

    def _take(self, entry: metadata.EntryPoint) -> None:
        where = f"the {self.what} '{entry.name}' of the installed package {entry.value}"
        try:
            thing = entry.load()
        except Exception as error:
            raise ValueError(f"{where} cannot be loaded: {type(error).__name__}: {error} - reinstall or remove it") from error
        if not self.fits(thing) or self.read(thing, entry.name).name != entry.name:
            raise ValueError(f"{where} is no {self.kind.__name__} of that name - correct its entry point in {self.group}")
        self.register(thing, entry.name)


def _offered(group: str) -> dict[str, metadata.EntryPoint]:
    return {entry.name: entry for entry in metadata.entry_points(group=group)}
