"""Checksums of what is kept on disk: nothing that was damaged there is taken for what was written.

Arrays and tables have theirs in the file that describes them. A JSON object has its own: the entry "sha256", over everything
else in it and the file's name. Whoever changes such a file by hand on purpose removes that entry, or makes it anew with:
python -m housemates.checksums FILE ...
"""

from __future__ import annotations

import hashlib
import json
import lzma
import struct
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SEAL = "sha256"
"""The entry of a JSON object with its checksum."""
DAMAGE = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, BufferError, MemoryError, RuntimeError),
    *(SyntaxError, OSError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What readers of JSON, `.npy`, zip and parquet raise when they meet bytes that nobody wrote."""


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
