"""Arrays out of a `.npz` file that may be damaged, or made to harm: what is read is bounded before anything is unpacked.

`numpy.load` trusts the file: it unpacks whatever is in it and allocates what an array says it needs. Here only arrays that
are asked for are unpacked, none beyond its limit, and an array must have exactly the bytes that its shape says.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

LARGEST_DIRECTORY = 65_536
"""Bytes of the archive's table of contents; `zipfile` reads all of it at once."""
HEAD = 16_384
"""Bytes beside the numbers that an array may take: its type and shape as text."""
END = struct.Struct("<4s4H2LH")
"""The last record of an archive without a comment."""


def read_arrays(file: BinaryIO, limits: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` that `limits` names; limits: most bytes of each array. Others are passed over unread.

    Raises whatever zipfile, zlib and numpy raise for a damaged file, and ValueError for one that is larger than its limits.
    """
    _check_directory(file)
    found: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(file) as packed:
        for info in packed.infolist():
            name = info.filename.removesuffix(".npy")
            if name in limits and name in found:
                raise ValueError(f"{name} is there twice")
            if name in limits:
                found[name] = _read(packed, info, name, limits[name])
            else:
                # The name stands in the file twice and must be the same: a damaged one would be passed over.
                packed.open(info).close()
    return found


def _check_directory(file: BinaryIO) -> None:
    """Refuse an archive with a comment, of the 64-bit format, or with a table of contents that no `.npz` of ours has."""
    size = file.seek(0, io.SEEK_END)
    if size < END.size:
        raise zipfile.BadZipFile("File is not a zip file")
    file.seek(-min(size, END.size + 20), io.SEEK_END)
    tail = file.read()
    mark, _, _, _, _, length, _, comment = END.unpack(tail[-END.size :])
    if mark != b"PK\x05\x06" or comment or tail.startswith(b"PK\x06\x07"):
        raise zipfile.BadZipFile("File is not a zip file that ends with its table of contents")
    if length > LARGEST_DIRECTORY:
        raise ValueError("its table of contents is too large")
    file.seek(0)


def _read(packed: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, most: int) -> np.ndarray:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise ValueError(f"{name} is packed in a way that no recording is")
    if info.file_size > most + HEAD:
        raise ValueError(f"{name} is larger than {most} bytes")
    with packed.open(info) as member:
        content = member.read(info.file_size + 1)
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{name} is an array of version {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(stream)
    count, start = math.prod(shape), stream.tell()
    if kind.hasobject:
        raise ValueError(f"{name} holds objects")
    if count * kind.itemsize != len(content) - start or len(content) - start > most:
        raise ValueError(f"{name} has not the bytes that its shape {list(shape)} needs")
    if not count:
        return np.zeros(shape, kind)
    return np.frombuffer(content, kind, count, start).reshape(shape, order="F" if fortran else "C").copy()
