"""Files: checksums of what is kept on disk, atomic writes, and the cache folder.

Nothing that was damaged on disk is taken for what was written. Arrays and tables have their checksums in the file that
describes them. A JSON object has its own: the entry "sha256", over everything else in it and the file's name. To change such a
file by hand, remove that entry, or make a new one with `python -m housemates.io FILE ...`.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import json
import lzma
import os
import re
import secrets
import shutil
import struct
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

SEAL = "sha256"
"""The entry of a JSON object with its checksum."""
DAMAGE = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, BufferError, MemoryError, RuntimeError),
    *(SyntaxError, OSError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What readers of JSON, `.npy`, zip and parquet raise when they meet damaged bytes."""


@contextmanager
def reading(path: Path, remedy: str) -> Generator[None]:
    """Whatever reading a file stumbles over becomes one line: that it is damaged, or may not be read, and the remedy."""
    try:
        yield
    except PermissionError as error:
        where = error.filename or path
        raise PermissionError(f"{where} may not be read ({error.strerror or error}) - change its permissions") from error
    except DAMAGE as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is damaged ({said[:200]}) - {remedy}") from error


def file_digest(path: Path) -> str:
    """The sha256 of a file, as hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values with their checksum, for a file of that name."""
    return {**values, SEAL: _digest(name, values)}


def unseal(name: str, values: Any) -> dict[str, Any]:
    """JSON values from a file of that name without their checksum, which must be there and fit."""
    if not isinstance(values, dict):
        raise ValueError("it holds no JSON object")
    plain = {key: value for key, value in values.items() if key != SEAL}
    if values.get(SEAL) != _digest(name, plain):
        raise ValueError("it is not what was written")
    return plain


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """The JSON object in a file, if it is what was written. One without checksum (written by an earlier version, or changed
    by hand) is taken with a note."""
    path = Path(path)
    with reading(path, remedy):
        values = json.loads(path.read_bytes())
    if not isinstance(values, dict) or SEAL in values or _renamed(path.name, values):
        with reading(path, f'{remedy}; if you changed it on purpose, remove its entry "{SEAL}"'):
            return unseal(path.name, values)
    warnings.warn(f"{path} has no checksum (of an earlier version, or changed by hand): damage stays unseen", stacklevel=2)
    return values


def _renamed(name: str, values: dict[str, Any]) -> bool:
    """Whether one of the entries is the checksum, with a damaged name."""
    rest = {key: {k: v for k, v in values.items() if k != key} for key, value in values.items() if _digital(value)}
    return any(values[key] == _digest(name, others) for key, others in rest.items())


def _digital(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 2 * hashlib.sha256().digest_size


def _digest(name: str, values: Mapping[str, Any]) -> str:
    text = json.dumps([name, values], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def seal_again(path: Path) -> None:
    """Give a JSON file that was changed on purpose the checksum of what it holds now."""
    text = path.read_text()
    values = {key: value for key, value in json.loads(text).items() if key != SEAL}
    second = text.splitlines()[1] if "\n" in text.strip() else ""
    indent = len(second) - len(second.lstrip()) or None
    path.write_text(json.dumps(seal(path.name, values), indent=indent) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        seal_again(Path(name))
        print(f"{name}: has the checksum of what it holds now")


def file_word(text: str) -> str:
    """A text as a part of a file's name: `folder:my homes/a` -> `folder-my-homes-a`; the end of a long one."""
    return re.sub(r"[^\w]+", "-", text).strip("-")[-100:]


def cache_folder() -> Path:
    """Where everything that can be made again is kept: `$HOUSEMATES_CACHE`, else `~/.cache/housemates`."""
    chosen = os.environ.get("HOUSEMATES_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "housemates"


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that say there is no more room."""


class WriteError(OSError):
    """A file or folder that could not be written, in one line with the cause and a remedy."""

    def __str__(self) -> str:
        cached = Path(str(self.filename)).is_relative_to(cache_folder())
        other = "set HOUSEMATES_CACHE to another folder" if cached else "choose another place"
        return f"cannot write {self.filename}: {self.strerror} - {'free some space, or ' if self.errno in FULL else ''}{other}"


@contextmanager
def writing(path: Path, inside: Path | None = None) -> Generator[None]:
    """Whatever keeps a file or folder from being written becomes one line that names it, the cause and a remedy.

    inside: the folder that is written to, if it is not the one around `path`.
    """
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        # Libraries that close their files after a failed write may raise something else on the way.
        while cause is not None and not (isinstance(cause, OSError) and (cause is error or cause.errno in FULL)):
            cause = cause.__context__
        if cause is None or isinstance(cause, WriteError) or not _concerns(cause, inside or path.parent):
            raise
        # numpy tells only how much it could not write.
        number = errno.ENOSPC if cause.errno is None and " requested and " in str(cause) else cause.errno
        raise WriteError(number, cause.strerror or (os.strerror(number) if number else str(cause)), str(path)) from error


def _concerns(error: OSError, folder: Path) -> bool:
    """Whether an error is about what is in a folder or about those around it, not about some other file that is read."""
    where = None if error.filename is None else Path(os.fsdecode(error.filename))
    return where is None or where.is_relative_to(folder) or folder.is_relative_to(where)


def aside(path: Path) -> Path:
    """A new name beside `path`, hidden and with the same suffix, for what is renamed to `path` when it is complete."""
    return path.with_name(f".{path.stem}-{secrets.token_hex(4)}.tmp{path.suffix}")


def write_whole(path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    """Write a temporary file in the folder of `path` (made if it is missing), then rename it to `path`.

    content: bytes, or a function that gets the open file; its `name` is a path with the suffix of `path`, for programs that
    write by name. Whatever goes wrong, the temporary file is removed and a file that was at `path` stays as it was. Returns
    when the disk has it.
    """
    path = Path(path)
    temporary = aside(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(content) if isinstance(content, bytes) else content(file)
            sync(temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Write a file of a folder that is renamed later, and wait until the disk has it."""
    path.write_bytes(content)
    sync(path)


@contextmanager
def whole_folder(path: Path) -> Generator[Path]:
    """A folder that appears complete or not at all: yields a temporary one beside it, which is renamed to `path` at the end.

    An empty folder at `path` is replaced; one that holds something is an error. Returns when the disk has everything.
    """
    path = Path(path)
    temporary = aside(path)
    with writing(path, inside=temporary):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        temporary.mkdir()
        try:
            yield temporary
            for file in temporary.rglob("*"):
                sync(file)
            temporary.rename(path)
            sync(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files that belong together into a folder, by name.

    A new folder appears complete or not at all. In an existing one all are written aside first, then renamed one after the
    other: a reader must be able to tell that they do not belong together if the machine stops in between.
    """
    folder = Path(folder)
    if not folder.is_dir():
        with whole_folder(folder) as temporary:
            for name, content in contents.items():
                (temporary / name).write_bytes(content)
        return
    with writing(folder):
        _remove_leftovers(folder)
        temporary = aside(folder)
        temporary.mkdir()
        try:
            for name, content in contents.items():
                write_synced(temporary / name, content)
            for name in contents:
                (temporary / name).replace(folder / name)
            sync(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _remove_leftovers(path: Path) -> None:
    """Remove temporary folders of a process that was killed while it wrote this one."""
    for left in path.parent.glob(f".{glob.escape(path.stem)}-????????.tmp{glob.escape(path.suffix)}"):
        shutil.rmtree(left, ignore_errors=True)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object with its checksum."""
    write_whole(path, (json.dumps(seal(Path(path).name, values), indent=1) + "\n").encode())


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
        # Only an attempt tells: some folders that seem to be writable (/proc, a full disk) take no file.
        attempt = folder / aside(path).name
        try:
            with attempt.open("xb") as file:
                file.write(bytes(4096))
        finally:
            attempt.unlink(missing_ok=True)
    except OSError as error:
        why = f"{folder} takes no files ({error.strerror})"
        remedy = "free some space, or choose another place" if error.errno == errno.ENOSPC else "choose another place"
        raise ValueError(f"{path} cannot be written: {why} - {remedy}") from error
