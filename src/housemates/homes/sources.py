"""Where homes come from, by one name that every command takes as --split: the splits, ReplicaCAD, a folder, a range of seeds.

`HOMES` is the table; users add sources of their own with `register_homes` or as entry points `housemates.homes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from housemates.config import nearest
from housemates.homes.files import load_homes, save_homes
from housemates.homes.generate import SPLITS, generate_home
from housemates.homes.home import RECEPTACLES, Home
from housemates.homes.replicacad.splits import WHOLE, lacks, load_layouts
from housemates.homes.splits import Progress, generated, make_homes, seeded_cache
from housemates.plugins import Table, use

__all__ = ["HOMES", "HomeSource", "home_called", "lacking", "load_split", "register_homes", "save_homes", "source_of"]

EPISODES = 1000
"""Episodes of a task in homes of one's own."""
OWN_SEED = 6
"""Seed of episodes in homes that have none of their own."""
MOST = 1000
"""Most homes of one range of seeds."""
Load = Callable[[str, Progress], Sequence[Home]]
"""Gives homes: called with what follows the colon in the name (often nothing) and a function progress(done, count)."""


@dataclass(frozen=True)
class HomeSource:
    """Homes that have one name."""

    name: str
    """What comes before the colon: folder of folder:PATH."""
    load: Load
    """Gives the homes, in an order that never changes."""
    meaning: str = ""
    """One sentence."""
    takes: str = ""
    """What follows the colon, in capitals; nothing if there is no colon."""
    episodes: int = EPISODES
    """Episodes per task."""
    seed: int = OWN_SEED
    """Seed of these episodes."""
    trains: bool = False
    """Whether they are for training: robots then start somewhere else each time, else where the episode says."""


def load_split(split: str, seed: int = 0, progress: Progress | None = None) -> list[Home]:
    """All homes of a source in order: train, eval, ..., replicacad, folder:PATH, seeds:A-B, or one that was registered.

    seed: other homes than the benchmark's, for the generated splits alone.
    """
    source, rest = source_of(split)
    if split in SPLITS:
        return generated(split, seed, progress)
    if seed:
        raise ValueError(f"the homes of {split} have no seed - leave it out, or choose one of: {', '.join(SPLITS)}")
    return _checked(split, source.load(rest, progress or (lambda done, count: None)))


def source_of(split: str) -> tuple[HomeSource, str]:
    """The source that a name means, and what follows its colon. Nothing is imported: `resolve_homes` does that."""
    name, colon, rest = split.partition(":")
    if name not in HOMES and colon and "." in name:
        raise ValueError(f"no split '{split}' - one of your own is named with --split {split}, or --use {name}")
    source = HOMES.find(name)
    if bool(rest) != bool(source.takes):
        usage = f"{name}:{source.takes}" if source.takes else name
        raise ValueError(f"no split '{split}' - write {usage}: {source.meaning}")
    return source, rest


def resolve_homes(text: str) -> str:
    """The name of the homes that a user means; a source that is given as package.module:NAME is registered."""
    name, colon, _ = text.partition(":")
    if colon and name not in HOMES.everything():
        try:
            return HOMES.register(use(text)).name
        except ValueError as error:
            if get_close_matches(name, HOMES, 1):
                raise ValueError(f"no split '{text}' - {nearest(name, list(HOMES))}") from error
            raise
    source_of(text)
    return text


def register_homes(name: str, load: Load, *, meaning: str = "", takes: str = "", episodes: int = EPISODES) -> HomeSource:
    """Make homes known by a name that every command takes as --split; see `HomeSource` for the arguments."""
    return HOMES.register(HomeSource(name, load, meaning, takes, episodes))


def home_called(name: str, split: str = "") -> Home:
    """The home of that name: of a generated split (train/07), of the given homes, or a scene of ReplicaCAD."""
    where, _, number = name.partition("/")
    if where in SPLITS and number.isdigit():
        return generate_home(where, int(number))
    if where == "seeds" and number.isdigit():
        return load_split(f"seeds:{number}")[0]
    if split and split not in SPLITS and split.partition(":")[0] in HOMES:
        found = {home.name: home for home in load_split(split)}
        if name not in found:
            raise ValueError(f"no home '{name}' among those of {split} - it was another list of homes once")
        return found[name]
    from housemates.homes.replicacad.download import find_replicacad
    from housemates.homes.replicacad.scene import load_replicacad

    return load_replicacad(find_replicacad(), name)


def _checked(split: str, homes: Sequence[Home]) -> list[Home]:
    """The homes of a source, if robots can work in them."""
    found = list(homes)
    if not found or not all(isinstance(home, Home) for home in found):
        raise ValueError(f"{split} gives no homes - a source gives a list of Home, one or more")
    twice = [name for name, count in Counter(home.name for home in found).items() if count > 1]
    if twice:
        raise ValueError(f"{split} has {twice[0]} twice - give every home a name of its own")
    for home in found:
        lacking = set(RECEPTACLES) - {receptacle.kind for receptacle in home.receptacles}
        if lacking:
            raise ValueError(f"{home.name} of {split} has no {min(lacking)}, which an action names - add such a receptacle")
    return found


def _folder(path: str, progress: Progress) -> list[Home]:
    """The homes of all files in a folder, by the files' names."""
    folder = Path(path).expanduser()
    files = sorted(folder.glob("*.npz")) if folder.is_dir() else []
    if not files:
        raise ValueError(f"no homes at {folder} - save some there: housemates.save_homes('{folder}/mine.npz', homes)")
    return [home for file in files for home in load_homes(file, "save them again")]


def _seeds(text: str, progress: Progress) -> list[Home]:
    """One generated home for each seed of a range, kept in the cache."""
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first or last - first >= MOST:
        raise ValueError(f"no split 'seeds:{text}' - write a range of at most {MOST} seeds, such as seeds:0-19")
    jobs = [(f"seeds/{seed}", "train", seed % SPLITS["train"][0], seed) for seed in range(first, last + 1)]
    return seeded_cache(f"seeds-{first}-{last}", [job[0] for job in jobs], lambda: make_homes(jobs, progress))


def lacking(split: str, homes: Sequence[Home]) -> str:
    """What the files of these homes lack, in a few words for rows of evaluations; nothing for generated homes."""
    return lacks(split, list(homes))


def _split(name: str, rest: str, progress: Progress) -> list[Home]:
    return generated(name, progress=progress)


HOMES: Table[HomeSource] = Table(
    "split",
    "housemates.homes",
    HomeSource,
    [
        *(
            HomeSource(name, partial(_split, name), f"{count} generated homes with {len(macros)} kitchens")
            for name, (count, macros) in SPLITS.items()
        ),
        HomeSource(WHOLE, partial(load_layouts, WHOLE), "all real layouts (see: housemates data replicacad)"),
        *(
            HomeSource(f"{WHOLE}-{part}", partial(load_layouts, f"{WHOLE}-{part}"), meaning, "", count, seed, part == "train")
            for part, meaning, count, seed in (
                ("train", "real layouts to train in, of macros 0 to 2", 10_000, 7),
                ("dev", "real layouts to choose by, of macros 0 to 2", 100, 8),
                ("eval", "real layouts of macro 3, which nobody trains in", 100, 9),
            )
        ),
        HomeSource("folder", _folder, "homes that were saved with save_homes", "PATH"),
        HomeSource("seeds", _seeds, "one generated home for each seed of a range", "FIRST-LAST"),
    ],
)
"""All sources of homes that are known here, by name."""
