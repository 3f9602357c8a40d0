"""Files that are there whole or not at all: written beside their place, then renamed.

It stands in the lowest room because every room above writes files.
"""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write a temporary file in the folder of `path` (made if it is missing), then rename it to `path`.

    fill gets the open file; its `name` is a path with the suffix of `path`, for programs that write by name. Whatever
    goes wrong, the temporary file is removed and a file that stood at `path` stays as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-{secrets.token_hex(4)}.tmp{path.suffix}")
    try:
        with temporary.open("xb") as file:
            fill(file)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_place(path: Path) -> None:
    """Refuse a path that no file can be written to, before the work whose result belongs there is done."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder - name a file in it")
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{path} cannot be written: {folder} is no folder that may be written to - choose another place")
