"""Connections below HTTP: how many one address may have, and timeouts.

uvicorn waits for ever for the rest of a request and accepts as many connections as there are files. Here a request must be
whole in time, a connection that asks for nothing makes room for one that may, and what is not read is not kept.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from housemates.web.security import RateLimit, client_address

HEADER_SECONDS = 5.0
"""Seconds until a request's header must have come."""
BODY_SECONDS = 30.0
"""Seconds until the rest of it must have come."""
REFUSED_SECONDS = 2.0
"""Seconds that a body is still read after it was answered."""
TAKE_SECONDS = 30.0
"""Seconds in which a client must read what was sent."""
AT_ONCE = 16_384
"""Bytes that are read from one connection before the others have their turn."""
UNREAD = 1_000_000
"""Bytes that may wait for a client that does not read them."""
BYTES, BYTES_A_SECOND = 512_000, 128_000
"""Bytes that a websocket may send at once, and from then on in a second."""
FRAGMENTS = 64
"""Pieces of one websocket message."""
MOST = 400
"""Connections at the same time, if the machine allows that many open files."""

log = logging.getLogger(__name__)


@dataclass
class Peer:
    """The other end of a connection."""

    address: str
    asked: bool = False
    """Whether a whole request has come."""
    closing: bool = False
    """Whether it was found closing before."""


class ConnectionLimit:
    """All connections of a server, and how many there may be."""

    def __init__(self, most: int | None = None) -> None:
        """most: how many at the same time; by default as many as leave each of them a file to be open."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.most = most or (MOST if files < 0 else max(8, min(MOST, (files - 64) // 2)))
        self.each = max(1, 3 * self.most // 4)
        """How many of them one address may have."""
        self.peers: dict[asyncio.Transport, Peer] = {}

    def enter(self, transport: asyncio.Transport, host: str) -> bool:
        """Whether a new connection may stay; where there is no room, the oldest that has asked for nothing is cut for it."""
        address = client_address(host)
        mine = [known for known, peer in self.peers.items() if peer.address == address]
        full = len(self.peers) >= self.most
        if full or len(mine) >= self.each:
            idle = [known for known in (mine if len(mine) >= self.each else self.peers) if not self.peers[known].asked]
            if not idle:
                log.warning("a connection was refused: %s", "too many are open" if full else "too many from one address")
                return False
            log.warning("a connection that asked for nothing was cut: the limit was reached")
            self.leave(idle[0])
            idle[0].abort()
        self.peers[transport] = Peer(address)
        return True

    def asked(self, transport: asyncio.Transport) -> None:
        """A whole request has come over this connection."""
        if transport in self.peers:
            self.peers[transport].asked = True

    def leave(self, transport: asyncio.Transport) -> None:
        """A connection has ended."""
        self.peers.pop(transport, None)

    def sweep(self) -> None:
        """Cut connections that were closed a while ago and whose other side does not take the last of what it was sent."""
        for transport, peer in list(self.peers.items()):
            if peer.closing:
                transport.abort()
            peer.closing = transport.is_closing()


class Timeout:
    """A timer that aborts a connection unless it is stopped."""

    def __init__(self, why: str, quiet: bool = False) -> None:
        self.why, self._timer, self._until = why, None, 0.0
        self.quiet = quiet

    def start(self, transport: asyncio.Transport, seconds: float) -> None:
        """Cut the connection after so many seconds; a timer that would ring earlier is left."""
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._until <= loop.time() + seconds:
            return
        self.stop()
        self._until = loop.time() + seconds
        self._timer = loop.call_later(seconds, self._cut, transport)

    def stop(self) -> None:
        """Leave the connection as it is."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _cut(self, transport: asyncio.Transport) -> None:
        if not self.quiet:
            log.warning("a connection was cut: %s", self.why)
        transport.abort()


class Http(H11Protocol):
    """HTTP with timeouts for slow or hostile clients."""

    limit: ConnectionLimit
    _known = _body = _upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has connected."""
        peer = transport.get_extra_info("peername")
        self._known = self.limit.enter(transport, str(peer[0]) if peer else "")
        if not self._known:
            transport.abort()
            return
        with suppress(AttributeError):
            transport.max_size = AT_ONCE  # ty: ignore[missing-attribute]
        super().connection_made(transport)
        # Browsers open connections ahead and say nothing: not worth a log line.
        self._request = Timeout("its request was not whole in time", quiet=True)
        self._taking = Timeout("it did not take its answer")
        self._request.start(transport, HEADER_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Some of a request has come."""
        self._request.quiet = False
        super().data_received(data)
        if self._upgraded:
            return
        state, cycle = self.conn.their_state, self.cycle
        if state is h11.SEND_BODY:
            answered = cycle is not None and cycle.response_complete
            if not self._body:
                self._body = True
                self._request.stop()
            self._request.start(self.transport, REFUSED_SECONDS if answered else BODY_SECONDS)
        elif state is h11.IDLE:
            self._request.start(self.transport, HEADER_SECONDS)
        else:
            self._whole()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """The connection becomes a websocket, which has its own timeouts."""
        self._upgraded = True
        self._whole()
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """More was written than the other side takes."""
        super().pause_writing()
        self._taking.start(self.transport, TAKE_SECONDS)

    def resume_writing(self) -> None:
        """It takes again."""
        super().resume_writing()
        self._taking.stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        if not self._known:
            return
        self.limit.leave(self.transport)
        self._request.stop()
        self._taking.stop()
        super().connection_lost(exc)

    def _whole(self) -> None:
        self._body = False
        self._request.stop()
        self.limit.asked(self.transport)


class Websocket(WebSocketsSansIOProtocol):
    """A websocket with limits for what a client sends and does not read."""

    limit: ConnectionLimit

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._rate, self._taking = RateLimit(BYTES, BYTES / BYTES_A_SECOND), Timeout("it did not take what it was sent")

    def data_received(self, data: bytes) -> None:
        """Some of a message has come."""
        if not self._rate.allows(len(data)) or self.transport.get_write_buffer_size() > UNREAD:
            log.warning("a websocket was cut: it sent too much, or took too little")
            self.transport.abort()
            return
        super().data_received(data)

    def handle_cont(self, event: Any) -> None:
        """A piece of a message has come."""
        if len(self.frames) >= FRAGMENTS:
            log.warning("a websocket was cut: it sent a message in too many pieces")
            self.transport.abort()
            return
        super().handle_cont(event)

    def pause_writing(self) -> None:
        """More was written than the other side takes."""
        super().pause_writing()
        self._taking.start(self.transport, TAKE_SECONDS)

    def resume_writing(self) -> None:
        """It takes again."""
        super().resume_writing()
        self._taking.stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self.limit.leave(self.transport)
        self._taking.stop()
        super().connection_lost(exc)


def protocols(limit: ConnectionLimit) -> tuple[type[Http], type[Websocket]]:
    """The two protocols for the connections of one server."""
    return type("Http", (Http,), {"limit": limit}), type("Websocket", (Websocket,), {"limit": limit})
