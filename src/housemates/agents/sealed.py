"""Sealed partners: policies behind a local socket that only act, so that an evaluation can keep them unseen.

`seal` writes policies into a folder under plain names, `agents.sealed_server` answers for that folder, and `SealedPolicy` is a
partner like any other that asks the server. What goes over the socket are frames: two lengths, a JSON header, and numbers of
types and shapes that both sides know. Nothing in it is code, everything has a largest size, and nobody is answered without the
token.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from housemates.agents.agent import Agent
from housemates.agents.functions import FunctionPolicy
from housemates.io import write_json
from housemates.policies.policy import Action
from housemates.tasks.actions import ACTIONS

SCHEME = "sealed://"
"""sealed://HOST:PORT/NAME, or without NAME all that a server has."""
TOKEN = "HOUSEMATES_SEALED_TOKEN"
"""The environment variable with the token of the server."""
PACK = "sealed.json"
"""The list of a folder's policies."""
TOKEN_FILE = "token"
MAGIC = b"HMS1"
PREFIX = struct.Struct("<4sII")
"""What a frame begins with: MAGIC, bytes of the header, bytes of the numbers."""
MOST_HEADER = 512 * 1024
MOST_BODY = 256 * 1024 * 1024
MOST_ROBOTS = 4096
"""Robots in one question."""
TYPES = ("uint8", "int8", "float32", "uint16", "bool")
"""Number types of observations."""
SECONDS = 60.0
"""How long an answer, or the rest of a frame, may take."""
SAME = "both sides need the same version of housemates"
FRESH = -1
"""Stream of a robot whose episode begins."""


class FrameError(ValueError):
    """What came over the socket is no frame, or too large."""


@dataclass(frozen=True)
class SealedConfig:
    """What stands in for a `PolicyConfig` where the network is elsewhere."""

    observations: tuple[str, ...]
    pictures: tuple[str, ...]
    picture: int
    """Side of its pictures, pixels."""
    robots: int
    network: str = ""
    latent: int = 0
    branches: bool = False
    informed: bool = False
    memory_size: int = 0


def send(link: socket.socket, header: Mapping[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
    """Send one frame; the header says the types and shapes of the arrays."""
    told = dict(header) | {"arrays": [[array.dtype.name, list(array.shape)] for array in arrays]}
    text, body = json.dumps(told).encode(), b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    if len(text) > MOST_HEADER or len(body) > MOST_BODY:
        raise FrameError(f"a frame of {len(text) + len(body)} bytes is too large - send fewer robots at once")
    link.sendall(PREFIX.pack(MAGIC, len(text), len(body)) + text + body)


def receive(link: socket.socket) -> tuple[dict[str, Any], list[np.ndarray]] | None:
    """The next frame; None where the other side has ended the connection between two frames."""
    first = _exactly(link, PREFIX.size, True)
    if first is None:
        return None
    magic, header_bytes, body_bytes = PREFIX.unpack(first)
    if magic != MAGIC or header_bytes > MOST_HEADER or body_bytes > MOST_BODY:
        raise FrameError(f"this is no frame of a sealed partner - {SAME}")
    text, body = _exactly(link, header_bytes), _exactly(link, body_bytes)
    try:
        header = json.loads(text or b"")
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise FrameError(f"the header of a frame is no JSON object - {SAME}")
    return header, _arrays(header.pop("arrays", []), body or b"")


def _arrays(told: Any, body: bytes) -> list[np.ndarray]:
    """The arrays of a frame, as its header tells them; every byte must belong to one."""
    found, at = [], 0
    if not isinstance(told, list) or len(told) > 16:
        raise FrameError(f"the header of a frame tells no arrays - {SAME}")
    for entry in told:
        well = isinstance(entry, list) and len(entry) == 2 and entry[0] in (*TYPES, "int64") and isinstance(entry[1], list)
        well = well and len(entry[1]) <= 4 and all(type(side) is int and 0 <= side <= MOST_BODY for side in entry[1])
        if not well:
            raise FrameError(f"a frame has an array of an unknown type or shape - {SAME}")
        kind, count = np.dtype(entry[0]), 1
        for side in entry[1]:
            count *= side
        if count * kind.itemsize > len(body) - at:
            raise FrameError(f"a frame has fewer numbers than its header tells - {SAME}")
        found.append(np.frombuffer(body, kind, count, at).reshape(entry[1]))
        at += count * kind.itemsize
    if at != len(body):
        raise FrameError(f"a frame has more numbers than its header tells - {SAME}")
    return found


def _exactly(link: socket.socket, count: int, may_end: bool = False) -> bytes | None:
    """So many bytes from a socket; None if there are none at all and it may end here."""
    parts, left = [], count
    while left:
        part = link.recv(min(left, 1 << 20))
        if not part:
            if may_end and left == count:
                return None
            raise FrameError("the connection ended within a frame - try again")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


class Connection:
    """A client's connection to a server of sealed partners."""

    def __init__(self, address: str, token: str | None = None, seed: int = 0) -> None:
        """address: HOST:PORT; token: default, that of the environment; seed: of the actions that the server draws."""
        host, _, port = address.rpartition(":")
        token = os.environ.get(TOKEN, "") if token is None else token
        if not host or not port.isdigit():
            raise ValueError(f"'{SCHEME}{address}' is no address - write {SCHEME}HOST:PORT/NAME")
        if not token:
            raise ValueError(f"{SCHEME}{address} needs a token - set {TOKEN} to what the server printed")
        self.address, self._lock = address, threading.Lock()
        try:
            self._link = socket.create_connection((host, int(port)), timeout=SECONDS)
        except OSError as error:
            start = "start them: housemates holdouts serve PACK"
            raise ValueError(f"no sealed partners at {address} ({error.strerror or error}) - {start}") from error
        self.partners: list[dict[str, Any]] = self.ask({"op": "hello", "token": token, "seed": seed})[0]["partners"]

    def ask(self, header: Mapping[str, Any], arrays: Sequence[np.ndarray] = ()) -> tuple[dict[str, Any], list[np.ndarray]]:
        """The server's answer; what it refuses is a ValueError."""
        with self._lock:
            try:
                send(self._link, header, arrays)
                answer = receive(self._link)
            except OSError as error:
                raise ValueError(f"the sealed partners at {self.address} do not answer ({error}) - start them again") from error
        if answer is None:
            raise ValueError(f"the sealed partners at {self.address} ended the connection - is the token right?")
        if "error" in answer[0]:
            raise ValueError(f"{self.address}: {str(answer[0]['error'])[:300]}")
        return answer

    def close(self) -> None:
        """End the connection."""
        self._link.close()


class SealedPolicy(FunctionPolicy):
    """A policy that asks a server: observations in, actions out. Its memory is the number of the robot's stream there."""

    def __init__(self, connection: Connection, name: str) -> None:
        number = [partner["name"] for partner in connection.partners].index(name)
        told = connection.partners[number]
        names = tuple(told["observations"])
        super().__init__(lambda seen: None, names, name)
        pictures = tuple(one for one in names if one in ("depth", "rgb"))
        self.config = SealedConfig(names, pictures, int(told["picture"]), int(told["robots"]), str(told["network"]))
        self.connection, self.number = connection, number

    def initial_memory(self, n: int) -> Tensor:
        """Streams [n, 1] of robots whose episode begins."""
        return torch.full((n, 1), float(FRESH))

    def act(
        self,
        obs: dict[str, Tensor],
        memory: Tensor,
        latent: Tensor | None = None,
        greedy: bool = False,
        generator: torch.Generator | None = None,
        privileged: Tensor | None = None,
    ) -> Action:
        """One decision of each of n robots; what only the server knows is nan."""
        actions, streams = np.empty(len(memory), np.int64), np.empty(len(memory), np.int64)
        for low in range(0, len(memory), MOST_ROBOTS):
            some = slice(low, low + MOST_ROBOTS)
            asked = [memory[some, 0].numpy().astype(np.int64), *(obs[name][some].numpy() for name in self.config.observations)]
            _, answer = self.connection.ask({"op": "act", "partner": self.number, "greedy": bool(greedy)}, asked)
            actions[some], streams[some] = answer
        if len(actions) and not 0 <= actions.min() <= actions.max() < len(ACTIONS):
            raise ValueError(f"{self.name} gave an action that does not exist - the server has another version of housemates")
        unknown = torch.full((len(memory),), torch.nan)
        after = torch.from_numpy(streams.astype(np.float32))[:, None]
        return Action(torch.from_numpy(actions), unknown, unknown, after, torch.zeros(len(memory), len(ACTIONS)))


def sealed_agents(text: str) -> list[Agent]:
    """Whom sealed://HOST:PORT/NAME means, or without NAME everybody of that server."""
    address, _, name = text.removeprefix(SCHEME).partition("/")
    connection = Connection(address)
    found = []
    for partner in connection.partners:
        meta = {"holdout": True, "task": partner["task"], "robots": partner["robots"]}
        meta["observations"] = "+".join(partner["observations"])
        found.append(Agent(f"{SCHEME}{address}/{partner['name']}", "sealed", f"{address}/{partner['name']}", meta=meta))
    connection.close()
    chosen = [agent for agent in found if not name or agent.path == f"{address}/{name}"]
    if not chosen:
        raise ValueError(f"no '{name}' at {address} - choose one of: {', '.join(a.path.partition('/')[2] for a in found)}")
    return chosen


def load_sealed(agent: Agent) -> SealedPolicy:
    """What acts for a sealed partner."""
    address, _, name = agent.path.partition("/")
    return SealedPolicy(Connection(address), name)


def seal(partners: Sequence[Agent], folder: Path) -> str:
    """Write policies into a new folder for a server, as p0, p1, ... without a word of who they are; returns the new token."""
    from housemates.policies.checkpoint import load_policy, save_policy

    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty - choose another --out")
    listed = []
    for number, partner in enumerate(partners):
        if not partner.trained or partner.disturbed:
            raise ValueError(f"{partner.name} cannot be sealed - give learned policies as they are")
        name = f"p{number}"
        save_policy(folder / name, load_policy(partner.path), {"task": partner.meta.get("task", "")})
        listed.append({"name": name, "latent": max(partner.latent, 0), "task": partner.meta.get("task", "")})
    token = secrets.token_urlsafe(24)
    place = folder / TOKEN_FILE
    place.touch(mode=0o600)
    place.write_text(token + "\n")
    write_json(folder / PACK, {"format": 1, "partners": listed})
    return token
