"""Push a run, an agent or rows to a place, and pull them: checked before anything is put where it is used."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from housemates.hub.contents import LIST, NAME, Contents, check, gather, read_list
from housemates.hub.places import find_place
from housemates.io import whole_folder, write_whole
from housemates.run_folder import run_around

OUT = {"run": "runs", "agent": "agents", "rows": "rows"}
"""The folders into which things are pulled if nothing else is said."""


def push(source: Path, address: str, name: str = "") -> str:
    """Share a run, an agent or rows under a name (default: its own); returns where it is."""
    name = name or own_name(source)
    check_name(name)
    place = find_place(address)
    return place.put(name, lambda folder: gather(source, folder))


def own_name(source: Path) -> str:
    """What a thing is called: its folder or file; the agent of a run after the run."""
    source = source.resolve()
    run = run_around(source)
    return run.name if run is not None and source.is_dir() else source.stem if source.is_file() else source.name


def check_name(name: str) -> None:
    """Refuse names that are no plain words."""
    if not NAME.fullmatch(name):
        raise ValueError(f"the name '{name}' has odd characters - use letters, digits, - and _")


def pull(address: str, name: str, out: Path | None = None) -> tuple[Path, Contents]:
    """Fetch a thing by its name, check it, and put it at `out`, whole or not at all; returns where it is.

    out: a folder that does not exist yet, for rows a file; default: runs/NAME, agents/NAME or rows/NAME.parquet.
    """
    check_name(name)
    place = find_place(address)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        place.get(name, [LIST], folder)
        contents = read_list(folder / LIST)
        target = out or Path(OUT[contents.kind]) / (f"{name}.parquet" if contents.kind == "rows" else name)
        if target.exists() and (target.is_file() or any(target.iterdir())):
            raise ValueError(f"{target} exists already - choose another --out, or move it away")
        place.get(name, list(contents.files), folder)
        check(folder, contents)
        _put(folder, contents, target)
    return target, contents


def _put(folder: Path, contents: Contents, target: Path) -> None:
    """Copy checked files to where they are used."""
    if contents.kind == "rows":
        (file,) = contents.files
        write_whole(target, (folder / file).read_bytes())
        return
    with whole_folder(target) as temporary:
        for file in contents.files:
            (temporary / file).parent.mkdir(parents=True, exist_ok=True)
            (temporary / file).write_bytes((folder / file).read_bytes())


def names(address: str) -> list[str]:
    """What is shared at a place."""
    return find_place(address).names()
