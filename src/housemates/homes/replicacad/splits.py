"""Which layouts of ReplicaCAD are for training, for choices, and for evaluation.

The split of a layout is decided by its name alone, so training never meets what is set aside, whatever a folder lacks. The
evaluation takes macro 3, as the paper does. Where a folder has no macro 3, layouts of macros 0 to 2 that nobody trains in stand
in for it, and that is said and written down.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from housemates.homes.home import Home
from housemates.homes.replicacad.download import AssetError, find_replicacad
from housemates.homes.replicacad.scene import FETCH, load_replicacad, replicacad_scenes

LAYOUT = re.compile(r"v3_sc(\d)_staging_(\d\d)")
"""Names of the layouts: macro (walls and kitchen) and micro (all other furniture)."""
MACROS = (0, 1, 2)
"""Macros to train in."""
UNSEEN = 3
"""The macro of the evaluation."""
MICROS = {"train": range(15), "dev": range(15, 18), "eval": range(18, 21)}
"""Micros of macros 0 to 2 by split; those of `eval` stand in where macro 3 is missing."""
PREFIX = "replicacad-"
WHOLE = "replicacad"
"""All layouts of a folder."""


def layouts(split: str, scenes: list[str]) -> list[str]:
    """The layouts of a split (replicacad-train, -dev, -eval, or replicacad for all) among the scenes of a folder, in order."""
    known = {scene: (int(found[1]), int(found[2])) for scene in sorted(scenes) if (found := LAYOUT.fullmatch(scene))}
    if split == WHOLE:
        return list(known)
    part = split.removeprefix(PREFIX)
    unseen = [scene for scene, (macro, _) in known.items() if macro == UNSEEN]
    if part == "eval" and unseen:
        return unseen
    return [scene for scene, (macro, micro) in known.items() if macro in MACROS and micro in MICROS[part]]


def load_layouts(split: str, rest: str, progress: Callable[[int, int], None]) -> list[Home]:
    """The homes of a split, from the first folder with ReplicaCAD; a missing one is an error with the command that gets it."""
    folder = find_replicacad()
    names = layouts(split, replicacad_scenes(folder))
    if not names:
        raise AssetError(f"{folder} has no layouts of {split} - {FETCH}")
    homes = []
    for name in names:
        homes.append(load_replicacad(folder, name))
        progress(len(homes), len(names))
    if lacks_macro(split, names):
        _tell(split, folder)
    return homes


def lacks_macro(split: str, names: list[str]) -> bool:
    """Whether layouts of other macros stand in for the evaluation's."""
    return split == f"{PREFIX}eval" and not any(name.startswith(f"v3_sc{UNSEEN}_") for name in names)


def lacks(split: str, homes: list[Home]) -> str:
    """What the folder of these homes lacks, for rows of evaluations: files, layouts; nothing if all is there."""
    names = [home.name for home in homes]
    found = []
    if lacks_macro(split, names):
        found.append(f"v3_sc{UNSEEN}")
    elif split.startswith(PREFIX):
        part = split.removeprefix(PREFIX)
        wanted = [(UNSEEN, micro) for micro in range(21)] if part == "eval" else [(a, b) for a in MACROS for b in MICROS[part]]
        found += sorted({f"v3_sc{macro}_staging_{micro:02d}" for macro, micro in wanted} - set(names))
    return ", ".join([*found, *sorted({note.partition(" is missing")[0] for home in homes for note in home.notes})])


@lru_cache(maxsize=16)
def _tell(split: str, folder: Path) -> None:
    """Say once which layouts stand in for the unseen macro."""
    first, last = MICROS["eval"][0], MICROS["eval"][-1]
    instead = f"micros {first} to {last} of macros {MACROS[0]} to {MACROS[-1]}, in which nobody trains, stand in for it"
    warnings.warn(f"{folder} has no macro {UNSEEN} for {split}; {instead}", stacklevel=4)
