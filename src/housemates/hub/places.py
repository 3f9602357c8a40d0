"""Where things are shared: a repository of the Hugging Face Hub, or a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from housemates.hub.contents import LIST, NAME
from housemates.io import whole_folder

FILE = "file:"
"""Before the path of a folder; not needed where it begins with / . or ~."""
ADDRESS = "write OWNER/REPOSITORY for the Hugging Face Hub, or file:PATH for a folder"


class Place(Protocol):
    """Something that keeps things by name."""

    def names(self) -> list[str]:
        """What is there."""
        ...

    def put(self, name: str, fill: Callable[[Path], object]) -> str:
        """Keep what `fill` writes into an empty folder, whole or not at all; returns where it is."""
        ...

    def get(self, name: str, files: list[str], folder: Path) -> None:
        """Copy some files of a thing into a folder."""
        ...


@dataclass(frozen=True)
class Folder:
    """A folder on this machine, or on a disk that several machines see."""

    path: Path

    def names(self) -> list[str]:
        """What is there."""
        if not self.path.is_dir():
            raise FileNotFoundError(f"no folder {self.path} - push something there first, or check the address")
        return sorted(found.parent.name for found in self.path.glob(f"*/{LIST}"))

    def put(self, name: str, fill: Callable[[Path], object]) -> str:
        """Keep what `fill` writes into an empty folder."""
        place = self.path / name
        if place.exists():
            raise ValueError(f"{place} exists already - choose another --name, or delete it")
        with whole_folder(place) as temporary:
            fill(temporary)
        return str(place)

    def get(self, name: str, files: list[str], folder: Path) -> None:
        """Copy some files; links are not followed, since they may lead anywhere."""
        for file in files:
            source = self.path / name / file
            if source.is_symlink() or not source.is_file():
                raise FileNotFoundError(f"no {file} in {self.path / name} - check the name: housemates hub list {self.path}")
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / file)


@dataclass(frozen=True)
class Repository:
    """A model repository of the Hugging Face Hub."""

    name: str
    """OWNER/REPOSITORY."""

    def names(self) -> list[str]:
        """What is there."""
        with telling(self.name):
            files = api().list_repo_files(self.name)
        return sorted(file.removesuffix(f"/{LIST}") for file in files if file.endswith(f"/{LIST}") and file.count("/") == 1)

    def put(self, name: str, fill: Callable[[Path], object]) -> str:
        """Upload as one commit; a repository that is not there is made, private."""
        from tempfile import TemporaryDirectory

        hub = api()
        with TemporaryDirectory() as temporary:
            fill(Path(temporary))
            with telling(self.name):
                hub.create_repo(self.name, private=True, exist_ok=True)
                if hub.file_exists(self.name, f"{name}/{LIST}"):
                    raise ValueError(f"{self.name} has a '{name}' already - choose another --name")
                hub.upload_folder(
                    repo_id=self.name, folder_path=temporary, path_in_repo=name, commit_message=f"housemates: {name}"
                )
        return f"{self.name}/{name}"

    def get(self, name: str, files: list[str], folder: Path) -> None:
        """Download some files."""
        hub = api()
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            with telling(self.name):
                shutil.copyfile(hub.hf_hub_download(self.name, f"{name}/{file}"), folder / file)


def api() -> Any:
    """The client of the Hub; it finds the user's login by itself."""
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise ValueError(
            "the Hugging Face Hub needs huggingface_hub - run: pip install 'housemates[hub]', or share a folder: file:PATH"
        ) from None
    return HfApi(library_name="housemates")


@contextmanager
def telling(repository: str) -> Generator[None]:
    """Errors of the Hub, of its HTTP library and of the network become one line."""
    try:
        yield
    except ValueError:
        raise
    except Exception as error:  # they share no base class
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise ValueError(
            f"the Hub does not answer for {repository} ({reason}) - check the name and the network, and log in: hf auth login"
        ) from error


def find_place(address: str) -> Place:
    """The place that an address names."""
    if address.startswith(FILE):
        return Folder(Path(address.removeprefix(FILE)).expanduser())
    if address.startswith(("/", ".", "~")):
        return Folder(Path(address).expanduser())
    parts = address.split("/")
    if len(parts) != 2 or not all(NAME.fullmatch(part) for part in parts):
        raise ValueError(f"'{address}' is no place to share - {ADDRESS}")
    return Repository(address)
