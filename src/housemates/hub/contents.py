"""What is shared of a run, an agent or rows: which files, their checksums, and whether they are what they should be.

Only data is shared: JSON, weights without code (safetensors) and tables (parquet). A list of the files with their checksums
(housemates.json) lies beside them; whatever is not on the list, or not of these kinds, is never taken.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from housemates import __version__
from housemates.config import from_json, to_json
from housemates.evaluation.rows import read_rows
from housemates.io import file_digest, read_json, reading, write_json
from housemates.policies.checkpoint import load_policy
from housemates.run_folder import (
    CONFIG,
    DESCRIPTION,
    WEIGHTS,
    RunFolder,
    is_policy,
    is_run,
    policies_below,
)
from housemates.runs.run import read as read_run

Kind = Literal["run", "agent", "rows"]
LIST = "housemates.json"
"""The list of the files that belong together."""
CARD = "README.md"
"""The model card of an agent, for readers of the Hub."""
FORMAT = 1
LARGEST = 20_000_000_000
"""Bytes of everything that is shared at once."""
_POLICY = r"(?:policy\.json|policy\.safetensors)"
PARTS: dict[str, re.Pattern[str]] = {
    "run": re.compile(
        r"config\.json|holdout\.json|diversity\.json|stage1/population\.json|stage2/partners\.json|stage[12]/metrics\.jsonl"
        rf"|stage1/members/\d+/(?:(?:start|middle)/)?{_POLICY}|stage2/agent/{_POLICY}|evaluation/episodes[\w-]*\.parquet"
    ),
    "agent": re.compile(rf"{_POLICY}|README\.md"),
    "rows": re.compile(r"[\w+-]+\.parquet"),
}
"""The files of each kind, by their paths; no other file is pushed or pulled."""
NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}")
"""What a thing may be called."""
AGAIN = "push it again"


@dataclass(frozen=True)
class File:
    """One file of the list."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Contents:
    """The list of files."""

    format: int
    kind: Kind
    software: str
    """The version of this package that wrote the list."""
    files: dict[str, File]
    """By path inside the folder."""


def kind_of(source: Path) -> Kind:
    """Whether a path is a run, an agent (a policy) or rows."""
    if is_run(source):
        return "run"
    if is_policy(source):
        return "agent"
    if source.is_file() and source.suffix == ".parquet":
        return "rows"
    raise ValueError(f"{source} is no run, agent or file of rows - give a run, RUN/stage2/agent, or a parquet file")


def gather(source: Path, folder: Path) -> Contents:
    """Copy what is shared of a run, an agent or rows into an empty folder, with its list, and check it there."""
    kind = kind_of(source)
    if kind == "run" and not RunFolder(source).complete():
        raise ValueError(f"{source} is not trained to its end - continue it: housemates train --resume {source}")
    root = source.parent if kind == "rows" else source
    found = [source] if kind == "rows" else sorted(path for path in source.rglob("*") if path.is_file())
    paths = [path.relative_to(root).as_posix() for path in found]
    if kind == "rows" and not PARTS[kind].fullmatch(paths[0]):
        raise ValueError(f"the file name '{paths[0]}' has odd characters - rename it: letters, digits, - and _")
    for path in filter(PARTS[kind].fullmatch, paths):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, folder / path)
    if kind == "agent":
        (folder / CARD).write_text(_card(source))
    contents = Contents(FORMAT, kind, __version__, _listed(folder))
    check(folder, contents)
    write_json(folder / LIST, to_json(contents))
    return contents


def _card(policy: Path) -> str:
    """The model card of a policy."""
    from housemates.agents.agent import resolve
    from housemates.agents.cards import card

    return card(resolve(str(policy))[0])


def _listed(folder: Path) -> dict[str, File]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): File(path.stat().st_size, file_digest(path)) for path in files}


def read_list(path: Path) -> Contents:
    """The list in a file; one that names anything but data in the right places is refused."""
    values = read_json(path, AGAIN)
    with reading(path, AGAIN):
        contents = from_json(Contents, values, LIST)
    if contents.format > FORMAT:
        raise ValueError(f"{path} has format {contents.format}, newer than {FORMAT} - update housemates")
    if contents.kind not in get_args(Kind) or not contents.files:
        raise ValueError(f"{path} lists nothing - {AGAIN}")
    for name, file in contents.files.items():
        if not PARTS[contents.kind].fullmatch(name):
            raise ValueError(f"'{name[:80]}' is no file of a shared {contents.kind}, so nothing is taken - {AGAIN}")
        if file.bytes < 0:
            raise ValueError(f"{path} says that {name} has {file.bytes} bytes - {AGAIN}")
    if sum(file.bytes for file in contents.files.values()) > LARGEST:
        raise ValueError(f"{path} lists more than {LARGEST / 1e9:.0f} GB - share less at once")
    return contents


def check(folder: Path, contents: Contents) -> None:
    """Refuse a folder whose files are not those of the list, or not what a run, an agent or rows must be. No code is run."""
    for name, file in contents.files.items():
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise ValueError(f"{name} is missing - {AGAIN}")
        if path.stat().st_size != file.bytes or file_digest(path) != file.sha256:
            raise ValueError(f"{name} is not the file that was pushed - pull it again, or {AGAIN}")
    for name in contents.files:
        _check_file(folder / name)
    if contents.kind == "run":
        _check_run(folder)
    elif contents.kind == "agent":
        load_policy(folder)


def _check_file(path: Path) -> None:
    """Refuse a JSON file or a table that cannot be read."""
    if path.suffix == ".parquet":
        read_rows(path)
    elif path.suffix == ".json":
        read_json(path, AGAIN)
    elif path.suffix == ".jsonl":
        with reading(path, AGAIN):
            for line in path.read_text().splitlines():
                json.loads(line)


def _check_run(folder: Path) -> None:
    """Refuse a run that lacks its config or one of its policies."""
    if not (folder / CONFIG).is_file():
        raise ValueError(f"the run has no {CONFIG} - {AGAIN}")
    read_run(folder)
    places = {path.parent for name in (DESCRIPTION, WEIGHTS) for path in folder.rglob(name)}
    if not places:
        raise ValueError(f"the run has no policies - {AGAIN}")
    for place in {*places, *policies_below(folder)}:
        load_policy(place)
    if not RunFolder(folder).complete():
        raise ValueError(f"the run is not trained to its end - {AGAIN}")
