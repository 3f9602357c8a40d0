"""Numba kernels on plain arrays: transforms, kinematics, distances, collisions, pictures.

This room imports nothing of the package. It also decides where compiled kernels are kept: in the user's cache
folder, so that a read-only install works and a second process starts at once.
"""

import hashlib
import os
from pathlib import Path


def cache_folder() -> Path:
    """Where everything that can be made again is kept: `$HOUSEMATES_CACHE`, else `~/.cache/housemates`."""
    chosen = os.environ.get("HOUSEMATES_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "housemates"


ROOMS = ("kernels", "homes", "tasks", "sim")
"""Rooms whose kernels use constants and functions of their neighbours."""


def kernel_sources() -> str:
    """A short hash of every file that a compiled kernel may depend on.

    numba notices a change in a kernel's own file only, not in the kernels it calls nor in the constants it takes from other
    files; a folder per hash makes up for that.
    """
    digest, package = hashlib.sha256(), Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if path.relative_to(package).parts[0] in ROOMS or b"@njit" in text:
            digest.update(path.name.encode() + text)
    return digest.hexdigest()[:12]


if "NUMBA_CACHE_DIR" not in os.environ:
    import numba

    # Set on the module, not in the environment: numba reads the environment once, when it is first imported.
    numba.config.CACHE_DIR = str(cache_folder() / "numba" / kernel_sources())
