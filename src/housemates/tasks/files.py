"""A set of episodes: who lies where and belongs where, as compact arrays, and the same on disk.

On disk it is a folder with one `.npy` file per array, read memory-mapped, and `episodes.json`, which names the task and
the homes (by content hash) the episodes were made for and has a checksum of every array and of itself. A folder is written
aside and renamed, so it is whole or absent.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from housemates.homes.home import Home
from housemates.homes.objects import NAMES
from housemates.io import file_digest, reading, seal, unseal, writing

FORMAT = 2
"""Version of the files; another version is refused."""
HEADER = "episodes.json"
CLUTTER = 10
"""Most clutter objects in an episode (spec section 14, 31)."""
SPAWNS = 4
"""Robots for which evaluation episodes store a start."""
APPROACHES = 4
"""Approach cells stored for each object and goal."""
ARRAYS = {
    "id": ("i4", ()),
    "home": ("i2", ()),
    "kind": ("i1", (2,)),
    "start": ("f4", (2, 3)),
    "yaw": ("f4", (2,)),
    "start_receptacle": ("i2", (2,)),
    "goal": ("f4", (2, 3)),
    "goal_receptacle": ("i2", (2,)),
    "doors": ("f4", (3,)),
    "clutter_kind": ("i1", (CLUTTER,)),
    "clutter": ("f4", (CLUTTER, 3)),
    "clutter_yaw": ("f4", (CLUTTER,)),
    "clutter_receptacle": ("i2", (CLUTTER,)),
}
"""Type and shape per episode of every array that is always there."""
OPTIONAL = {"spawn": ("f4", (SPAWNS, 3)), "approach": ("i2", (4, APPROACHES))}


@dataclass(frozen=True)
class Episode:
    """One episode in words and numbers, for reading."""

    id: int
    task: str
    home: str
    home_index: int
    objects: tuple[str, str]
    start: np.ndarray
    """[2, 3] centres of the objects, metres."""
    yaw: np.ndarray
    """[2] radians."""
    start_receptacle: tuple[int, int]
    """Indices into `Home.receptacles`."""
    goal: np.ndarray
    """[2, 3] metres."""
    goal_receptacle: tuple[int, int]
    doors: np.ndarray
    """[3] joint values of OPENABLE at the start, radians or metres."""
    clutter: tuple[tuple[str, np.ndarray, float], ...]
    """Name, position [3] and yaw of each clutter object."""
    spawn: np.ndarray | None
    """[4, 3] (x, z, yaw) where robots start, where stored; nan for robots that found no room."""


@dataclass(frozen=True, eq=False)
class Episodes:
    """N episodes of one task in a list of homes. Positions are of objects' centres, metres, doors and drawers as `doors` says.

    An object keeps its yaw: where it stands at its goal it is turned as it was at its start.
    """

    task: str
    split: str
    """Where the homes come from: a split's name, or any word."""
    seed: int
    homes: tuple[str, ...]
    """Names of the homes, in the order `home` counts."""
    hashes: tuple[str, ...]
    """Their content hashes."""
    id: np.ndarray
    """[N] int32; with the seed and the homes it determines everything else."""
    home: np.ndarray
    """[N] int16, index into the homes."""
    kind: np.ndarray
    """[N, 2] int8, type of each target object (index into homes.objects.OBJECTS)."""
    start: np.ndarray
    """[N, 2, 3] float32."""
    yaw: np.ndarray
    """[N, 2] float32, radians."""
    start_receptacle: np.ndarray
    """[N, 2] int16, index into the home's receptacles."""
    goal: np.ndarray
    """[N, 2, 3] float32."""
    goal_receptacle: np.ndarray
    """[N, 2] int16."""
    doors: np.ndarray
    """[N, 3] float32, starting joint values of fridge, drawer_right, drawer_left (radians, metres)."""
    clutter_kind: np.ndarray
    """[N, 10] int8, -1 for none."""
    clutter: np.ndarray
    """[N, 10, 3] float32."""
    clutter_yaw: np.ndarray
    """[N, 10] float32."""
    clutter_receptacle: np.ndarray
    """[N, 10] int16, -1 for none."""
    spawn: np.ndarray | None = None
    """[N, 4, 3] float32 (x, z, yaw) of up to four robots, nan where there was no room; None in training sets."""
    approach: np.ndarray | None = None
    """[N, 4, 4] int16, indices into the home's approach cells for obj0, obj1, goal0, goal1, nearest first, padded with -1."""

    def __len__(self) -> int:
        return len(self.id)

    def episode(self, index: int) -> Episode:
        """One episode for reading."""
        shown = [k for k in range(CLUTTER) if self.clutter_kind[index, k] >= 0]
        home = int(self.home[index])
        return Episode(
            id=int(self.id[index]),
            task=self.task,
            home=self.homes[home],
            home_index=home,
            objects=(NAMES[self.kind[index, 0]], NAMES[self.kind[index, 1]]),
            start=self.start[index],
            yaw=self.yaw[index],
            start_receptacle=(int(self.start_receptacle[index, 0]), int(self.start_receptacle[index, 1])),
            goal=self.goal[index],
            goal_receptacle=(int(self.goal_receptacle[index, 0]), int(self.goal_receptacle[index, 1])),
            doors=self.doors[index],
            clutter=tuple(
                (NAMES[self.clutter_kind[index, k]], self.clutter[index, k], float(self.clutter_yaw[index, k])) for k in shown
            ),
            spawn=None if self.spawn is None else self.spawn[index],
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays that are there, by name."""
        found = {name: getattr(self, name) for name in (*ARRAYS, *OPTIONAL)}
        return {name: array for name, array in found.items() if array is not None}

    def take(self, indices: Sequence[int] | np.ndarray) -> Episodes:
        """Some of the episodes, in the given order."""
        return replace(self, **{name: array[np.asarray(indices)] for name, array in self.arrays().items()})


def empty_arrays(count: int) -> dict[str, np.ndarray]:
    """Arrays for `count` episodes without clutter, to be filled."""
    arrays = {name: np.zeros((count, *shape), kind) for name, (kind, shape) in ARRAYS.items()}
    arrays["clutter_kind"][:] = -1
    arrays["clutter_receptacle"][:] = -1
    return arrays


def save_episodes(folder: Path, episodes: Episodes) -> None:
    """Write episodes as a folder of files; an older folder of that name is replaced."""
    names = [f.name for f in fields(Episodes) if f.name not in (*ARRAYS, *OPTIONAL)]
    arrays = episodes.arrays()
    header = {"format": FORMAT, **{n: getattr(episodes, n) for n in names}, "count": len(episodes)}
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=folder.name, suffix=".tmp"))
        try:
            temporary.chmod(0o755)
            for name, array in arrays.items():
                np.save(temporary / f"{name}.npy", array, allow_pickle=False)
            header["arrays"] = {name: file_digest(temporary / f"{name}.npy") for name in arrays}
            (temporary / HEADER).write_text(json.dumps(seal(HEADER, header), indent=1))
            _put_in_place(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _put_in_place(new: Path, folder: Path) -> None:
    """Rename a folder over another one, which may be there already or appear meanwhile."""
    for _ in range(10):
        try:
            new.replace(folder)
            return
        except OSError:
            if not folder.exists():
                raise
            aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=folder.name, suffix=".old"))
            try:
                folder.replace(aside)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    raise OSError(f"{folder} keeps being written by others - try again when they are done")


def read_episodes(folder: Path, homes: Sequence[Home]) -> Episodes:
    """Read a folder of episodes, memory-mapped, and make sure that it belongs to these homes."""
    header_file = folder / HEADER
    if not header_file.is_file():
        raise FileNotFoundError(f"no episodes at {folder} ({HEADER} is missing) - make them with: housemates episodes")
    with reading(folder, "delete it; it is made again on the next use"):
        header = json.loads(header_file.read_bytes())
        version = header["format"]
    if version != FORMAT:
        raise ValueError(f"{folder} has format {version}, this version reads {FORMAT} - delete it and make it again")
    with reading(folder, "delete it; it is made again on the next use"):
        header = unseal(HEADER, header)
        for name, written in header["arrays"].items():
            if file_digest(folder / f"{name}.npy") != written:
                raise ValueError(f"{name}.npy is not what was written")
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in header["arrays"]}
        keys = {n: header[n] for n in ("task", "split", "seed")}
        episodes = Episodes(**keys, homes=tuple(header["homes"]), hashes=tuple(header["hashes"]), **arrays)
        for name, (kind, shape) in (ARRAYS | OPTIONAL).items():
            if name in arrays and (arrays[name].dtype != np.dtype(kind) or arrays[name].shape != (header["count"], *shape)):
                raise ValueError(f"{name}.npy is not {kind} {shape}")
    _check_homes(folder, episodes, homes)
    return episodes


def _check_homes(folder: Path, episodes: Episodes, homes: Sequence[Home]) -> None:
    """Refuse episodes that were made for other homes."""
    advice = "load the homes they were made for, or generate new episodes"
    if len(homes) != len(episodes.hashes):
        raise ValueError(f"{folder} was made for {len(episodes.hashes)} homes, but {len(homes)} were given - {advice}")
    for name, known, home in zip(episodes.homes, episodes.hashes, homes, strict=True):
        if home.content_hash != known:
            raise ValueError(f"{folder} was made for {name} ({known}), not for {home.name} ({home.content_hash}) - {advice}")
