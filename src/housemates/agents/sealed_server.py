"""The server of sealed partners: it reads a folder that `sealed.seal` wrote and answers `hello` and `act`, nothing else.

Every connection has streams of its own: the memories of the robots that its partners move. A client that sends anything but
whole frames of the right token, types and shapes is answered with one line, or not at all, and the connection ends.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
import socketserver
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from housemates.agents.actors import Actor, ActorGroup
from housemates.agents.draws import sample, uniform
from housemates.agents.sealed import FRESH, MOST_ROBOTS, PACK, SECONDS, TOKEN_FILE, FrameError, receive, send
from housemates.fused.layout import usable
from housemates.io import read_json
from housemates.policies.checkpoint import load_policy

CHUNK = 32
"""Robots a network decides for in one call, always, as in an evaluation."""
STREAMS = 100_000
"""Robots of a connection whose memory is kept; the one that was not asked for longest is forgotten first."""
CONNECTIONS = 16
"""Clients at the same time."""
IDLE = 3600.0
"""Seconds after which a client that asks nothing is left."""
RESTORE = "seal the policies again: housemates holdouts pack"


class Sealed:
    """One policy of a folder."""

    def __init__(self, folder: Path, name: str, latent: int, task: str) -> None:
        policy = load_policy(folder / name)
        self.name, self.latent, self.task, self.config = name, latent, task, policy.config
        self.group = ActorGroup([0], [Actor(policy)], 0, usable(policy))
        self.shapes = {one: tuple(self.config.shape(one)) for one in self.config.observations}
        self.types = {one: spec["types"] for one, spec in self.config.observation_spec().items()}
        self._lock = threading.Lock()

    def told(self) -> dict[str, Any]:
        """What a client may know."""
        config = self.config
        known = {"name": self.name, "task": self.task, "observations": list(config.observations)}
        return known | {"picture": config.picture if config.pictures else 0, "robots": config.robots, "network": config.network}

    def check(self, arrays: list[np.ndarray], n: int) -> dict[str, torch.Tensor]:
        """Observations of n robots by name, if they are what the policy sees."""
        if len(arrays) != len(self.shapes):
            raise FrameError(f"{self.name} sees {', '.join(self.shapes)} - send these, in this order")
        found = {}
        for (name, shape), array in zip(self.shapes.items(), arrays, strict=True):
            if array.shape != (n, *shape) or array.dtype.name not in self.types[name]:
                raise FrameError(f"{name} must be {(n, *shape)} {' or '.join(self.types[name])} - send that")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise FrameError(f"{name} has numbers that are not finite - send numbers")
            found[name] = torch.from_numpy(array.copy())
        return found

    def act(
        self, seen: dict[str, torch.Tensor], memory: torch.Tensor, drawn: np.ndarray | None
    ) -> tuple[np.ndarray, torch.Tensor]:
        """Actions [n] int64 and memories [n, M] after them; drawn: uniform numbers [n], None for the likeliest actions."""
        n, actions, after = len(memory), [], []
        padded = np.concatenate([np.arange(n), np.zeros(-n % CHUNK, np.int64)])
        with self._lock:
            for low in range(0, len(padded), CHUNK):
                rows = torch.from_numpy(padded[low : low + CHUNK])
                part = {name: values[rows] for name, values in seen.items()}
                member, latent = np.zeros(CHUNK, np.int64), np.full(CHUNK, self.latent)
                decided = self.group.act(part, memory[rows], member, latent, True)
                actions.append(decided.logits.numpy())
                after.append(decided.memory)
        logits = np.concatenate(actions)[:n]
        chosen = logits.argmax(axis=1) if drawn is None else sample(logits, drawn)
        return chosen.astype(np.int64), torch.cat(after)[:n].clone()


class Client:
    """What the server keeps of one connection."""

    def __init__(self, partners: list[Sealed], seed: int) -> None:
        self.partners, self.seed, self.following = partners, seed, 0
        self.streams: OrderedDict[int, tuple[int, int, torch.Tensor]] = OrderedDict()
        """By number: the partner, how often it has decided, its memory."""

    def act(self, header: dict[str, Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Actions and streams [n] for a question."""
        number, greedy = header.get("partner"), header.get("greedy", False)
        if type(number) is not int or not 0 <= number < len(self.partners) or type(greedy) is not bool:
            raise FrameError(f"there is no partner {str(number)[:20]} - choose one of 0 to {len(self.partners) - 1}")
        if not arrays or arrays[0].ndim != 1 or arrays[0].dtype != np.int64 or not 0 < len(arrays[0]) <= MOST_ROBOTS:
            raise FrameError(f"give a stream for each of 1 to {MOST_ROBOTS} robots")
        partner, asked = self.partners[number], arrays[0]
        seen = partner.check(arrays[1:], len(asked))
        streams, counts, memory = self._known(number, asked)
        drawn = None if greedy else uniform(self.seed, streams, 0, counts)
        chosen, after = partner.act(seen, memory, drawn)
        for stream, count, one in zip(streams.tolist(), counts.tolist(), after, strict=True):
            self.streams[stream] = (number, count + 1, one)
            self.streams.move_to_end(stream)
        while len(self.streams) > STREAMS:
            self.streams.popitem(last=False)
        return [chosen, streams]

    def _known(self, number: int, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray, torch.Tensor]:
        """Numbers, decisions so far and memories of streams; fresh ones get the next number."""
        empty = self.partners[number].group.policy.initial_memory(1)[0]
        streams, counts, memory = asked.copy(), np.zeros(len(asked), np.int64), []
        for k, stream in enumerate(asked.tolist()):
            if stream == FRESH:
                streams[k], self.following = self.following, self.following + 1
                memory.append(empty)
                continue
            found = self.streams.get(stream)
            if found is None or found[0] != number:
                raise FrameError(f"there is no stream {stream} of this partner - begin a new one with {FRESH}")
            counts[k] = found[1]
            memory.append(found[2])
        if len(set(streams.tolist())) < len(streams):
            raise FrameError("a stream is named twice - one robot has one stream")
        return streams, counts, torch.stack(memory)


class SealedServer(socketserver.ThreadingTCPServer):
    """Serves the policies of a folder on one address; `serve_forever` answers until `shutdown`."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folder: Path, host: str = "127.0.0.1", port: int = 0) -> None:
        """folder: what `sealed.seal` wrote."""
        listed = read_json(folder / PACK, RESTORE) if (folder / PACK).is_file() else {}
        rows = listed.get("partners")
        if not isinstance(rows, list) or not rows or not (folder / TOKEN_FILE).is_file():
            raise ValueError(f"{folder} holds no sealed partners - {RESTORE}")
        self.token = (folder / TOKEN_FILE).read_text().strip()
        if len(self.token) < 16:
            raise ValueError(f"the token of {folder} is too short to be secret - {RESTORE}")
        self.partners = []
        for row in rows:
            name = str(row.get("name", ""))
            if not name.isalnum():
                raise ValueError(f"{folder / PACK} names a policy outside of its folder - {RESTORE}")
            self.partners.append(Sealed(folder, name, int(row.get("latent", 0)), str(row.get("task", ""))))
        self.room = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((host, port), Handler)

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"{self.server_address[0]}:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is no fault of the server."""


class Handler(socketserver.BaseRequestHandler):
    """One connection."""

    server: SealedServer  # ty: ignore[incompatible-mutable-override]
    request: socket.socket

    def handle(self) -> None:
        """Answer frames until one is wrong, or nobody asks any more."""
        if not self.server.room.acquire(blocking=False):
            return
        try:
            with contextlib.suppress(OSError):
                self._talk()
        finally:
            self.server.room.release()

    def _talk(self) -> None:
        client: Client | None = None
        while True:
            self.request.settimeout(SECONDS if client is None else IDLE)
            try:
                frame = receive(self.request)
                if frame is None:
                    return
                client = self._answer(client, *frame)
            except FrameError as error:
                # Who has not shown the token learns nothing.
                if client is not None:
                    send(self.request, {"error": str(error)})
                return

    def _answer(self, client: Client | None, header: dict[str, Any], arrays: list[np.ndarray]) -> Client:
        if client is None:
            given, seed = header.get("token"), header.get("seed", 0)
            known = isinstance(given, str) and hmac.compare_digest(given.encode(), self.server.token.encode())
            if not known or header.get("op") != "hello" or type(seed) is not int or abs(seed) >= 2**62:
                raise FrameError("the token is wrong")
            send(self.request, {"partners": [partner.told() for partner in self.server.partners]})
            return Client(self.server.partners, seed)
        if header.get("op") != "act":
            raise FrameError("a sealed partner can be asked to act, and nothing else")
        send(self.request, {}, client.act(header, arrays))
        return client
