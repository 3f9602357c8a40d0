"""The recordings of a server: files it was given, files of run folders, uploads, finished games and their forks.

Clients know them by opaque ids only, never by paths. Uploads are validated before they are kept.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from housemates.homes.home import Home
from housemates.recordings.captions import title
from housemates.recordings.recording import Recording, home_of, load_recording, read_header, read_recording
from housemates.web.messages import Refused
from housemates.web.validation import check_recording, public_recording

LARGEST_FILE = 8_000_000
"""Bytes of an uploaded recording."""
LONGEST_UPLOAD = 5000
"""Steps of an uploaded recording."""
MOST_FILES = 2000
"""Files that are looked at in a folder."""
IN_MEMORY = 64
"""Recordings without a file that are kept, of those that were dropped and of all others; the oldest is forgotten first."""
MOST_BYTES = 64_000_000
"""Memory that they may take, of each of the two."""
LOADED = 16
"""Recordings and homes that stay loaded."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """One recording of the library."""

    id: str
    kind: str
    """`recording`, `uploaded`, `game` or `fork`."""
    header: dict[str, Any]
    path: Path | None = None
    """Its file; None if it is only in memory."""
    folder: str = ""
    """Name of the folder that it was found in."""
    more: dict[str, Any] = field(default_factory=dict)
    """More fields for the page: `human`, `fork`, `first`."""


class Library:
    """All recordings of a server; safe to use from several threads."""

    def __init__(self, places: Sequence[Path] = ()) -> None:
        """places: recordings, and folders that are searched for them."""
        self.places = [Path(place).resolve() for place in places]
        self._lock = threading.RLock()
        self._entries: dict[str, Entry] = {}
        self._uploads: OrderedDict[str, Recording] = OrderedDict()
        self._games: OrderedDict[str, Recording] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._loaded: OrderedDict[str, Recording] = OrderedDict()
        self._homes: OrderedDict[str, Home] = OrderedDict()
        self._seen: dict[Path, float] = {}
        self.refresh()

    def refresh(self) -> None:
        """Find new and changed recordings in the given places."""
        for place in self.places:
            for path in sorted(place.rglob("*.npz"))[:MOST_FILES] if place.is_dir() else [place]:
                self._find(path, place)

    def entries(self) -> list[Entry]:
        """All recordings, newest of memory last."""
        with self._lock:
            return list(self._entries.values())

    def entry(self, name: str) -> Entry:
        """One of them by its id."""
        with self._lock:
            if name not in self._entries:
                raise Refused("no such recording here - choose one of the list", 404)
            return self._entries[name]

    def recording(self, name: str) -> Recording:
        """A recording by its id, read and checked if it is not in memory."""
        entry = self.entry(name)
        with self._lock:
            for known in (self._uploads, self._games, self._loaded):
                if name in known:
                    return known[name]
        if entry.path is None:
            raise Refused("this recording is no longer kept - play the game again", 404)
        try:
            found = load_recording(entry.path)
            check_recording(found)
        except Exception as error:
            raise Refused(f"this recording cannot be shown ({_public_text(error, entry.path)})") from error
        with self._lock:
            self._loaded[name] = found
            _trim(self._loaded, LOADED)
        return found

    def add(self, recording: Recording, kind: str, **more: Any) -> str:
        """Add a recording in memory; returns its id."""
        name = _name(kind, recording.header["digest"], json.dumps(recording.header, sort_keys=True), json.dumps(more))
        with self._lock:
            # Uploads take no memory from the games that are played here.
            kept = self._uploads if kind == "uploaded" else self._games
            self._entries[name] = Entry(name, kind, recording.header, more=more)
            kept[name] = recording
            kept.move_to_end(name)
            self._sizes[name] = recording_bytes(recording)
            while len(kept) > IN_MEMORY or (len(kept) > 1 and sum(self._sizes[n] for n in kept) > MOST_BYTES):
                gone, _ = kept.popitem(last=False)
                del self._entries[gone], self._sizes[gone]
        return name

    def upload(self, content: bytes) -> str:
        """Add a recording that a client sent; Refused if it is not valid."""
        if len(content) > LARGEST_FILE:
            raise Refused(f"the file is larger than {LARGEST_FILE / 1e6:.0f} MB - give a recording of one episode", 413)
        try:
            recording = read_recording(io.BytesIO(content), "the file")
            check_recording(recording)
            if recording.steps > LONGEST_UPLOAD:
                raise ValueError(f"it has more than {LONGEST_UPLOAD} steps")
        except Exception as error:  # what is in it may trip the checks in any way
            raise Refused(f"this is no recording that can be shown ({_public_text(error)})") from error
        return self.add(public_recording(recording), "uploaded")

    def home(self, recording: Recording) -> Home:
        """The home of a recording."""
        return self.home_by_hash(recording.header["home_hash"], recording)

    def home_by_hash(self, digest: str, recording: Recording | None = None) -> Home:
        """A home by its hash: one that is loaded, or one of a recording's."""
        with self._lock:
            if digest in self._homes:
                return self._homes[digest]
            entries = list(self._entries.values())
        if recording is None:
            fitting = [e for e in entries if e.header["home_hash"] == digest]
            if not fitting:
                raise Refused("no such home here - take the hash of a recording or a game", 404)
            recording = self.recording(fitting[0].id)
        name = recording.header["home"]
        try:
            found = _cached_home(name) or home_of(recording)
        except (ValueError, OSError, KeyError, ModuleNotFoundError) as error:
            log.exception("no home for a recording")
            raise Refused(f"the home {name} is not here - the server's log says why", 404) from error
        if found.content_hash != digest:
            version = recording.header["version"]
            raise Refused(f"the home {name} has changed since version {version} recorded it - record it again")
        self.add_home(found)
        return found

    def add_home(self, home: Home) -> None:
        """Keep a home that is loaded already."""
        with self._lock:
            self._homes[home.content_hash] = home
            _trim(self._homes, LOADED)

    def _find(self, path: Path, place: Path) -> None:
        try:
            path = path.resolve(strict=True)
            changed = path.stat().st_mtime
            # Anything but a file (a pipe, a device) might never give an answer.
            if not path.is_file():
                return
            if self._seen.get(path) == changed or not (path == place or path.is_relative_to(place)):
                return
            self._seen[path] = changed
            header = read_header(path)
            title_of(header)
            human = header["robots"].index("person") if "person" in header["robots"] else -1
        except Exception:  # whatever is wrong with a file in a folder, it is not shown
            if path == place:
                load_recording(path)
            return
        name = _name("recording", str(path), str(changed))
        inside = path.parent.name if path.parent != place else place.name
        with self._lock:
            for old in [e.id for e in self._entries.values() if e.path == path]:
                del self._entries[old]
            self._entries[name] = Entry(name, "game" if human >= 0 else "recording", header, path, inside, {"human": human})


def _cached_home(name: str) -> Home | None:
    """A procedural home of a split that has been made before; reading all of it is faster than making one again."""
    from housemates.homes.files import homes_file
    from housemates.homes.generate import SPLITS
    from housemates.homes.splits import cache_path, load_split

    split, _, number = name.partition("/")
    if split not in SPLITS or not number.isdigit() or not (homes_file(split).is_file() or cache_path(split).is_file()):
        return None
    homes = load_split(split)
    return homes[int(number)] if int(number) < len(homes) else None


def title_of(header: dict[str, Any]) -> str:
    """Task, home and episode of a recording's header."""
    for key in ("home_hash", "robots", "outcome", "steps"):
        header[key]
    nothing = dict.fromkeys(("start", "decisions", "probabilities", "value", "wanted"), _NONE)
    return title(Recording(header=header, episode={}, frames={}, **nothing))


_NONE = np.zeros(0)


def _name(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _trim(known: OrderedDict[str, Any], most: int) -> list[str]:
    """Forget the oldest entries; returns their names."""
    return [known.popitem(last=False)[0] for _ in range(len(known) - most)]


def recording_bytes(recording: Recording) -> int:
    """About how many bytes a recording takes in memory; a header takes up to ten times its text."""
    arrays = (*recording.frames.values(), *recording.episode.values(), recording.start, recording.decisions)
    held = sum(array.nbytes for array in (*arrays, recording.probabilities, recording.value, recording.wanted))
    return held + 10 * len(json.dumps(recording.header))


INNER = re.compile(r"""(^|[\s'"(=<])[/~]\w|\.py\b|Traceback|\\x""")
"""Paths, code and raw bytes in the words of a library."""


def _public_text(error: BaseException, path: Path | None = None) -> str:
    """What an error says, without the place of its file; libraries' words about files and code stay here."""
    text = " ".join(str(error).split())
    text = text.replace(str(path), "the file") if path else text
    return text[:200] if text and not INNER.search(text) else "it is damaged"
