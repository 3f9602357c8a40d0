"""Middleware around the whole application: checks every request, limits its rate, adds the security headers."""

from __future__ import annotations

from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from housemates.web.connection import NO_TOKEN, TOO_MANY, WRONG_ORIGIN
from housemates.web.messages import Refused
from housemates.web.security import HEADERS, AccessRules, RateLimit, client_address

REQUESTS = 400
"""Requests at once from one address; as many again in the next two seconds."""
ADDRESSES = 1000
"""Addresses that are remembered."""


class AccessMiddleware:
    """Checks host, origin, token and rate of every request and websocket."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self.app, self.rules = app, rules
        self._rates: dict[str, RateLimit] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        address = client_address(scope["client"][0]) if scope.get("client") else ""
        try:
            inside = scope["type"] == "websocket" or scope["path"].startswith("/api")
            self.rules.check(Headers(scope=scope), QueryParams(scope["query_string"]), inside)
            if not self._allows(address):
                raise Refused("too many requests - wait a moment", 429)
        except Refused as error:
            if scope["type"] == "websocket":
                await _reject(scope, receive, send, error)
            else:
                await JSONResponse({"error": str(error)}, error.status, headers=dict(HEADERS))(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _allows(self, address: str) -> bool:
        """Whether an address has not asked too often."""
        if len(self._rates) > ADDRESSES:
            self._rates.clear()
        return self._rates.setdefault(address, RateLimit(REQUESTS, 2.0)).allows()


async def _reject(scope: Scope, receive: Receive, send: Send, error: Refused) -> None:
    codes = {401: NO_TOKEN, 403: WRONG_ORIGIN, 429: TOO_MANY}
    ws = WebSocket(scope, receive, send)
    with suppress(RuntimeError, OSError):
        await ws.accept()
        await ws.close(codes[error.status], str(error))
