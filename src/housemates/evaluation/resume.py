"""Games of an evaluation that was interrupted: kept in a hidden file beside its rows, so that the same command goes on.

The file is no result: it says which games it is of (a hash of everything that decides them), holds a checksum, has a name that
is not taken for rows, and is removed when the rows are written. Whatever does not fit or is damaged is played again.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import time
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from housemates.homes.home import Home
from housemates.io import write_whole
from housemates.lookahead.mind import FILE, FOLDER
from housemates.parallel import kernel_sources
from housemates.run_folder import DESCRIPTION
from housemates.sim.rules import Reward, Rules
from housemates.tasks.episodes import Episodes
from housemates.training.trainer import environment_hash

if TYPE_CHECKING:
    from housemates.evaluation.crossplay import Pair

SAVE_EVERY = 10.0
"""Seconds of games that a killed process loses at most."""
DIGEST = 64
"""Characters of the checksum at the beginning of the file."""


class Kept:
    """Which games of one evaluation have been played, and how they ended."""

    def __init__(self, path: Path, key: str) -> None:
        """path: of the file; key: names everything that decides the games."""
        self.path, self.key = path, key
        self.done = np.zeros(0, np.bool_)
        """[N], which games have been played."""
        self.results: dict[str, np.ndarray] = {}
        self._saved, self._new = time.monotonic(), False

    def begin(self, results: dict[str, np.ndarray]) -> np.ndarray:
        """Fill arrays [N, ...], into which games go later, with those that are kept; returns which they are [N]."""
        count = len(next(iter(results.values())))
        self.results, self.done = results, np.zeros(count, np.bool_)
        found = self._read()
        if found is not None:
            self.done[:] = found["done"]
            for name, values in results.items():
                values[self.done] = found[name][self.done]
        return self.done.copy()

    def add(self, games: np.ndarray) -> None:
        """The results of games [n] (indices) are there; they are saved now and then."""
        self.done[games] = True
        self._new |= len(games) > 0
        if time.monotonic() - self._saved > SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write down what has been played since the last time."""
        if self._new:
            packed = io.BytesIO()
            np.savez(packed, key=np.array(self.key), done=self.done, **self.results)  # ty: ignore[invalid-argument-type]
            content = packed.getvalue()
            write_whole(self.path, hashlib.sha256(content).hexdigest().encode() + content)
            self._new = False
        self._saved = time.monotonic()

    def remove(self) -> None:
        """The rows are written: nothing needs to be kept."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, np.ndarray] | None:
        """What the file holds, if it is whole and of these games."""
        try:
            content = self.path.read_bytes()
            if hashlib.sha256(content[DIGEST:]).hexdigest().encode() != content[:DIGEST]:
                return None
            with np.load(io.BytesIO(content[DIGEST:]), allow_pickle=False) as packed:
                found = dict(packed)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            return None
        shapes = {name: (values.shape, values.dtype) for name, values in (self.results | {"done": self.done}).items()}
        fits = found.keys() == shapes.keys() | {"key"} and all((found[n].shape, found[n].dtype) == shapes[n] for n in shapes)
        return found if fits and str(found["key"]) == self.key else None


def kept_beside(
    rows: Path,
    pairs: Sequence[Pair],
    episodes: Episodes,
    homes: Sequence[Home],
    rules: Rules,
    count: int,
    seed: int,
    greedy: bool,
) -> Kept | None:
    """Where the games of an evaluation are kept until the file `rows` is written; other games have another file.

    None if a function of the user's or a sealed partner plays: nobody knows what it does when it is asked again.
    """
    everybody = list(dict.fromkeys(partner for pair in pairs for partner in (pair.agent, *pair.partners)))
    if any(partner.kind in ("function", "sealed") for partner in everybody):
        return None
    names = {partner: place for place, partner in enumerate(everybody)}
    digest = hashlib.sha256()
    for name, array in sorted(episodes.arrays().items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    for partner in everybody:
        digest.update(f"{partner.kind} {partner.script} {partner.latent} {partner.meta.get('sha256', '')}".encode())
        digest.update(repr(partner.look_ahead).encode() + partner.disturbed.encode())
        if partner.trained:
            digest.update((Path(partner.path) / DESCRIPTION).read_bytes())
            if (mind := Path(partner.path) / FOLDER / FILE).is_file():
                digest.update(mind.read_bytes())  # it has the checksum of the weights
    package = Path(__file__).parents[1]
    acting = (path for name in ("agents", "fused", "lookahead", "policies") for path in sorted(package.glob(f"{name}/*.py")))
    for source in (package / "evaluation" / "play.py", *acting):
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    teams = [([names[pair.agent], *(names[p] for p in pair.partners)], pair.control == "blind") for pair in pairs]
    versions = [platform.machine(), *(metadata.version(name) for name in ("numpy", "numba", "torch")), kernel_sources()]
    environment = environment_hash(episodes, replace(rules, reward=Reward()), len(pairs[0].partners) + 1)
    key = json.dumps([environment, [h.content_hash for h in homes], teams, count, seed, greedy, versions, digest.hexdigest()])
    name = hashlib.sha256(key.encode()).hexdigest()
    return Kept(rows.absolute().with_name(f".{rows.stem}-{name[:12]}.played"), name)
