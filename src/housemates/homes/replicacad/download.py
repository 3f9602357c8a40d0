"""Where downloaded homes are kept and how they get there, with their licences.

Nothing here is needed to run: procedural homes ship with the package. ReplicaCAD is an upgrade found at run time.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from housemates.io import cache_folder, whole_folder

REPLICACAD = "replica_cad"
"""Name of the ReplicaCAD folder inside a data folder."""
REPLICACAD_REPOSITORY = "ai-habitat/ReplicaCAD_dataset"
"""The dataset on the Hugging Face Hub."""
REPLICACAD_REVISION = "6be07e532c83c5799a6e96152f926d07838c2084"
"""The commit of the tag v1.6, the version that habitat-sim 0.3 asks for (its datasets_download.py)."""
REPLICACAD_LICENCE = (
    "ReplicaCAD is licensed CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/): name its authors when you use it."
)


class AssetError(ValueError):
    """A file of a dataset is missing or unusable; the message is one line that names it and the remedy."""


def data_folders() -> list[Path]:
    """Folders that may hold datasets, first choice first: `$HOUSEMATES_DATA`, `data` in `$HOUSEMATES_SHARED`, `./data`, the
    cache folder's `data`."""
    chosen, shared = os.environ.get("HOUSEMATES_DATA"), os.environ.get("HOUSEMATES_SHARED")
    named = [Path(chosen).expanduser()] if chosen else []
    named += [Path(shared).expanduser() / "data"] if shared else []
    return [*named, Path("data"), cache_folder() / "data"]


def find_replicacad() -> Path:
    """The first folder with ReplicaCAD in it; an AssetError with the command that fetches it if there is none."""
    for folder in data_folders():
        for found in (folder / REPLICACAD, folder):
            if is_replicacad(found):
                return found
    raise AssetError(f"No ReplicaCAD at {data_folders()[0] / REPLICACAD} - run: housemates data replicacad")


def is_replicacad(folder: Path) -> bool:
    """Whether `folder` holds a scene dataset in Habitat's layout."""
    return folder.is_dir() and any(folder.glob("*.scene_dataset_config.json"))


def download_replicacad(target: Path | None = None, revision: str = REPLICACAD_REVISION) -> Path:
    """Fetch ReplicaCAD from the Hugging Face Hub into `target` (default: `replica_cad` in the first data folder).

    It is fetched into a temporary folder beside `target` and renamed when complete, so `target` is never half there.
    """
    target = data_folders()[0] / REPLICACAD if target is None else Path(target)
    print(REPLICACAD_LICENCE, file=sys.stderr)
    if is_replicacad(target):
        print(f"ReplicaCAD is already at {target} ({_megabytes(target):.0f} MB).", file=sys.stderr)
        return target
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise AssetError(f"{target} exists and is not ReplicaCAD - choose another target or move it away")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise AssetError("Downloads need huggingface_hub - run: pip install 'housemates[assets]'") from error
    with whole_folder(target) as temporary:
        print(f"Fetching {REPLICACAD_REPOSITORY} at {revision[:12]} into {target} ...", file=sys.stderr)
        _fetch(snapshot_download, temporary, target, revision)
        if not is_replicacad(temporary):
            raise AssetError(f"{REPLICACAD_REPOSITORY} at {revision} is not a scene dataset - try another revision")
        shutil.rmtree(temporary / ".cache", ignore_errors=True)
    print(f"ReplicaCAD is at {target} ({_megabytes(target):.0f} MB).", file=sys.stderr)
    return target


def _fetch(snapshot_download, temporary: Path, target: Path, revision: str) -> None:
    try:
        snapshot_download(repo_id=REPLICACAD_REPOSITORY, repo_type="dataset", revision=revision, local_dir=temporary)
    except Exception as error:  # the hub's own, its HTTP library's and the system's errors share no base class
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise AssetError(
            f"Cannot fetch ReplicaCAD ({reason}) - where there is a network run: git lfs install && git clone "
            f"https://huggingface.co/datasets/{REPLICACAD_REPOSITORY} replica_cad, then copy that folder to {target}"
        ) from error


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
