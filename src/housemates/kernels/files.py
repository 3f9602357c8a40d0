"""Files that are there whole or not at all: written beside their place, then renamed.

It stands in the lowest room because every room above writes files.
"""

import errno
import io
import json
import os
import secrets
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from housemates.checksums import seal
from housemates.kernels import cache_folder

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that say there is no more room."""


class WriteError(OSError):
    """A file or folder that could not be written, in one line with the cause and a remedy."""

    def __str__(self) -> str:
        cached = Path(str(self.filename)).is_relative_to(cache_folder())
        other = "set HOUSEMATES_CACHE to another folder" if cached else "choose another place"
        return f"cannot write {self.filename}: {self.strerror} - {'free some space, or ' if self.errno in FULL else ''}{other}"


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Whatever keeps a file or folder from being written becomes one line that names it, the cause and a remedy."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        # Libraries that close their files after a failed write may raise something else on the way.
        while cause is not None and not (isinstance(cause, OSError) and (cause is error or cause.errno in FULL)):
            cause = cause.__context__
        if cause is None or isinstance(cause, WriteError) or not _concerns(cause, path):
            raise
        # numpy tells only how much it could not write.
        number = errno.ENOSPC if cause.errno is None and " requested and " in str(cause) else cause.errno
        raise WriteError(number, cause.strerror or (os.strerror(number) if number else str(cause)), str(path)) from error


def _concerns(error: OSError, path: Path) -> bool:
    """Whether an error is about a path or its folders, not about some other file that is read meanwhile."""
    where = None if error.filename is None else Path(os.fsdecode(error.filename))
    return where is None or where.is_relative_to(path.parent) or path.is_relative_to(where)


def write_whole(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write a temporary file in the folder of `path` (made if it is missing), then rename it to `path`.

    fill gets the open file; its `name` is a path with the suffix of `path`, for programs that write by name. Whatever
    goes wrong, the temporary file is removed and a file that stood at `path` stays as it was. Returns when the disk has it.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}-{secrets.token_hex(4)}.tmp{path.suffix}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                fill(file)
            sync(temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object with its checksum (see `checksums`)."""
    text = json.dumps(seal(Path(path).name, values), indent=1) + "\n"
    write_whole(path, lambda file: file.write(text.encode()))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file by name. Every part is read to its end, where its checksum is; numpy alone stops where the
    array seems to end."""
    with zipfile.ZipFile(path) as packed:
        parts = {name.removesuffix(".npy"): io.BytesIO(packed.read(name)) for name in packed.namelist()}
    return {name: np.lib.format.read_array(part, allow_pickle=False) for name, part in parts.items()}


def sync(path: Path) -> None:
    """Wait until the disk has a file or the entries of a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
