"""A page's server in the hand-made hall, and a visitor that talks to it as a browser would."""

import http.client
import json
import struct
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from helpers import batches
from housemates.recordings.recording import Recording, record_batch
from housemates.web.messages import frame_layout
from housemates.web.service import Options, Service

EPISODE = 8
"""An episode in which two scripts succeed."""
FASTEST = 1000.0
"""Steps per second that tests may ask for."""


def scripted(
    task: str = "tidy_house", episode: int = EPISODE, names: tuple[str, str] = ("first_half", "second_half")
) -> Recording:
    """An episode of two scripts in the hall."""
    batch = batches.make(task, size=1, autoreset=False, stored_spawns=True)
    for robot, name in enumerate(names):
        batch.script(robot, batches.script(name))
    batch.reset(np.array([episode]))
    return record_batch(batch)


def hall_service(**options) -> Service:
    """A service with the hall's episodes."""
    service = Service(Options(**{"fastest": FASTEST, "games": Path("no-games"), **options}))
    service.offer([batches.home()], {"tidy_house": batches.episodes()})
    return service


def get(port: int, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Ask the server for something; status and content."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
    try:
        line.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            line.putheader(name.replace("_", "-"), value)
        if body is not None:
            line.putheader("Content-Length", str(len(body)))
        line.endheaders(body)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def get_json(port: int, path: str) -> dict:
    status, content = get(port, path)
    assert status == 200, content[:200]
    return json.loads(content)


class Visitor:
    """One websocket; frames are acknowledged as they are read."""

    def __init__(self, line) -> None:
        self.line, self.frames, self.told = line, [], []

    def greet(self, depth: bool = False) -> "Visitor":
        self.send(type="hello", depth=depth)
        self.until("welcome")
        return self

    def send(self, **message) -> None:
        self.line.send(json.dumps(message))

    def read(self, acknowledge: bool = True) -> dict | bytes:
        """The next message or frame."""
        found = self.line.recv(timeout=60)
        if isinstance(found, str):
            message = json.loads(found)
            self.told.append(message)
            return message
        self.frames.append(found)
        if acknowledge:
            self.send(type="ack", frame=struct.unpack_from("<I", found)[0])
        return found

    def until(self, *kinds: str, acknowledge: bool = True) -> dict:
        """The next message of one of these types."""
        while True:
            found = self.read(acknowledge)
            if isinstance(found, dict) and found["type"] in kinds:
                return found

    def frame(self) -> dict:
        """The next frame, unpacked."""
        while True:
            found = self.read()
            if isinstance(found, bytes):
                return unpack(found)

    def close_code(self, acknowledge: bool = False) -> int:
        """Read until the server closes the line; with which code."""
        try:
            while True:
                self.read(acknowledge)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd is not None else -1

    def begin(self, **changes) -> dict:
        """Begin a game, as a person with a script that stands still unless told otherwise."""
        wanted = {"task": "tidy_house", "episode": EPISODE, "robots": ["person", "script/noop"], "hz": FASTEST, **changes}
        self.send(type="new_game", **wanted)
        return self.until("game", "error")


@contextmanager
def visitor(port: int, depth: bool = False, query: str = "", **options):
    """A visitor of a server."""
    with connect(f"ws://127.0.0.1:{port}/ws{query}", **options) as line:
        yield Visitor(line).greet(depth)


@contextmanager
def stranger(port: int, **options):
    """A line to a server over which nothing has been said yet."""
    with connect(f"ws://127.0.0.1:{port}/ws", **options) as line:
        yield Visitor(line)


def unpack(frame: bytes) -> dict:
    """A frame, read with the table of the server (docs/api/page_protocol.md); `rest` is the length of the head pictures."""
    robots = frame[next(field["offset"] for field in frame_layout(1) if field["name"] == "robots")]
    found = {}
    for field in frame_layout(robots):
        count, kind = int(np.prod(field["shape"])), np.dtype(field["type"]).newbyteorder("<")
        if field["offset"] >= len(frame):
            continue
        array = np.frombuffer(frame, kind, count, field["offset"]).reshape(field["shape"])
        found[field["name"]] = array if field["shape"] else int(array)
    return found | {"rest": len(frame) - frame_layout(robots)[-1]["offset"]}
