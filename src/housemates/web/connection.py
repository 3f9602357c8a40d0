"""One websocket of a page: messages are read and answered one after the other, frames go out as they are acknowledged."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from housemates.web.messages import Refused, parse
from housemates.web.security import RateLimit
from housemates.web.session import Client

PIECE = 200
"""Entries of a list that are turned into JSON in one call."""
MESSAGES = 120
"""Messages a second from one connection."""
ERRORS = 20
"""Invalid messages before a connection is closed."""
TIMEOUT = 30.0
"""Seconds for the first message, for the acknowledgement of a frame, and for reading what is sent."""
IDLE, IDLE_IN_GAME = 120.0, 900.0
"""Seconds without a message after which a connection is closed; the page opens it again when it needs it."""
BAD, NO_TOKEN, WRONG_ORIGIN, TOO_SLOW, TOO_MANY_CLIENTS, IDLE_CLOSED, TOO_MANY = 4400, 4401, 4403, 4408, 4409, 4410, 4429
"""Close codes."""

DISCONNECTED = (WebSocketDisconnect, RuntimeError, OSError)
"""Exceptions of sending to a client that has left."""

log = logging.getLogger(__name__)

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Answers a message: raises Refused, or returns a message to send back, or None."""


def as_json(values: Any) -> bytes:
    """Values as compact JSON without nan."""
    return json.dumps(values, allow_nan=False, separators=(",", ":")).encode()


def long_json(values: dict[str, Any]) -> bytes:
    """The same for an object with very long lists, piece by piece: other threads wait during each call."""

    def one(value: Any) -> bytes:
        if not isinstance(value, list) or len(value) <= PIECE:
            return as_json(value)
        return b"[" + b",".join(as_json(value[k : k + PIECE])[1:-1] for k in range(0, len(value), PIECE)) + b"]"

    return b"{" + b",".join(as_json(key) + b":" + one(value) for key, value in values.items()) + b"}"


class Connection:
    """One websocket: messages are read one after the other, frames are sent as they are acknowledged."""

    def __init__(self, ws: WebSocket, address: str = "") -> None:
        """address: of the client."""
        self.ws, self.address, self.client, self.greeted = ws, address, Client(address), False
        self.last_message = time.monotonic()
        """When the last message came, `time.monotonic` seconds."""
        self._rate, self._errors, self._lock = RateLimit(MESSAGES), 0, asyncio.Lock()

    async def listen(self, answer: Answer) -> None:
        """Answer messages until the connection ends."""
        with suppress(*DISCONNECTED):
            await self._listen(answer)

    async def _listen(self, answer: Answer) -> None:
        while self.ws.application_state is WebSocketState.CONNECTED:
            waited = TIMEOUT if not self.greeted else IDLE if self.client.session is None else IDLE_IN_GAME
            try:
                message = await asyncio.wait_for(self.ws.receive(), waited)
            except TimeoutError:
                code, why = (IDLE_CLOSED, "idle") if self.greeted else (TOO_SLOW, "no hello")
                return await self.close(code, why)
            self.last_message = time.monotonic()
            if message["type"] == "websocket.disconnect":
                return None
            if not self._rate.allows():
                return await self.close(TOO_MANY, "too many messages")
            if message.get("text") is None:
                return await self.close(BAD, "messages are text")
            await self._handle(message["text"], answer)
        return None

    async def keep_sending(self) -> None:
        """Send whatever is new, the newest only, each frame after the last was acknowledged."""
        with suppress(*DISCONNECTED):
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.client.changed.wait(), 1.0)
                self.client.changed.clear()
                if self.client.waiting and time.monotonic() - self.client.sent_at > TIMEOUT:
                    await self.close(TOO_SLOW, "frames are not acknowledged")
                    return
                for what in self.client.outgoing():
                    await self.send(what)

    async def send(self, what: dict[str, Any] | bytes) -> None:
        """Send a message or a frame; a client that does not read it in time is closed."""
        async with self._lock:
            if self.ws.application_state is not WebSocketState.CONNECTED:
                return
            if isinstance(what, bytes):
                self._rate.refund()  # A frame asks for its acknowledgement, however fast the game's clock is.
            sending = self.ws.send_bytes(what) if isinstance(what, bytes) else self.ws.send_text(as_json(what).decode())
            try:
                await asyncio.wait_for(sending, TIMEOUT)
            except TimeoutError:
                await self.ws.close(TOO_SLOW)

    def idle(self) -> float:
        """Seconds since something came over a connection that is in no game; 0 for one that is."""
        return time.monotonic() - self.last_message if self.client.session is None else 0.0

    async def close(self, code: int, why: str) -> None:
        """End the connection, if it has not ended yet."""
        with suppress(*DISCONNECTED):
            if self.ws.application_state is WebSocketState.CONNECTED and self.ws.client_state is WebSocketState.CONNECTED:
                await self.ws.close(code, why)

    async def _handle(self, text: str, answer: Answer) -> None:
        message: dict[str, Any] = {}
        try:
            message = parse(text)
            reply = await answer(message)
        except Exception as error:
            if not isinstance(error, Refused):
                log.exception("a message could not be answered")
            text = str(error) if isinstance(error, Refused) else "internal error - see the server's log"
            self._errors += 1
            await self.send({"type": "error", "error": text, "id": message.get("id")})
            if self._errors >= ERRORS:
                await self.close(BAD, "too many invalid messages")
            return
        if reply is not None:
            await self.send(reply)
            self.client.changed.set()
        if message["id"] is not None:
            await self.send({"type": "ok", "id": message["id"]})
