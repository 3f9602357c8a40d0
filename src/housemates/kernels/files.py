"""Files that are there whole or not at all: written beside their place, then renamed.

It stands in the lowest room because every room above writes files.
"""

import errno
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
    folder = path.absolute().parent
    try:
        if path.is_dir():
            raise ValueError(f"{path} is a folder - name a file in it")
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} is a device or a pipe, which would be replaced - choose another place")
        while not folder.exists():
            folder = folder.parent
        # Only an attempt tells: some folders that seem to be open to everybody (/proc, a full disk) take no file.
        attempt = folder / f".{path.stem}-{secrets.token_hex(4)}.tmp{path.suffix}"
        try:
            with attempt.open("xb") as file:
                file.write(bytes(4096))
        finally:
            attempt.unlink(missing_ok=True)
    except OSError as error:
        why = f"{folder} takes no files ({error.strerror})"
        remedy = "free some space, or choose another place" if error.errno == errno.ENOSPC else "choose another place"
        raise ValueError(f"{path} cannot be written: {why} - {remedy}") from error
