"""Access rules of the server: Host, Origin, token, and rate limits."""

from __future__ import annotations

import hmac
import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from housemates.web.messages import Refused

LOCAL = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine that a page at 127.0.0.1 may be opened by."""
EVERYWHERE = ("0.0.0.0", "::", "[::]")
"""Addresses that mean all of a machine's own; the Host header is not checked then, only the token."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Sent with every answer: the page loads nothing from elsewhere and is not embedded."""


@dataclass(frozen=True)
class AccessRules:
    """Host, port and token of one server."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: not known yet (any port will do)."""
    token: str = ""
    """Empty: none is needed."""

    def host_fits(self, host: str | None) -> bool:
        """Whether the Host header names this server; a foreign name would be a page that has rebound its own to us."""
        if self.host in EVERYWHERE:
            return bool(host)
        name, port = _split(host or "")
        names = LOCAL if self.host in LOCAL else (self.host.lower(),)
        return name in names and (self.port == 0 or port in (str(self.port), ""))

    def origin_fits(self, origin: str | None, host: str | None) -> bool:
        """Whether a request was made by our own page: its Origin is the Host it talks to. No Origin: not a browser."""
        if origin is None:
            return True
        try:
            found = urlsplit(origin)
        except ValueError:
            return False
        return found.scheme in ("http", "https") and found.netloc.lower() == (host or "").lower()

    def token_fits(self, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
        """Whether the token came along, if one is needed."""
        if not self.token:
            return True
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        return any(tokens_match(given, self.token) for given in (bearer, query.get("token", "")))

    def check(self, headers: Mapping[str, str], query: Mapping[str, str], api: bool) -> None:
        """Refuse a request that may not be answered. api: more than the page's own files."""
        host, origin = headers.get("host"), headers.get("origin")
        if not self.host_fits(host):
            raise Refused("the Host header is not this server's - open the address that was printed", 403)
        if not self.origin_fits(origin, host):
            raise Refused("requests from other origins are refused", 403)
        if api and not self.token_fits(headers, query):
            raise Refused("a token is needed - open the address that was printed", 401)


def tokens_match(given: str, secret: str) -> bool:
    """Whether a text is the secret; how long the answer takes does not depend on how much of it was right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def client_address(host: str) -> str:
    """The key of a client for rate limits: an IPv4 address, or the network (64 bits) of an IPv6 one."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv4Address):
        return host
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False).network_address)


class RateLimit:
    """At most `most` in any `seconds`: a bucket that fills again evenly."""

    def __init__(self, most: int, seconds: float = 1.0) -> None:
        self.most, self.fill = float(most), most / seconds
        self.left, self.seen = self.most, time.monotonic()

    def allows(self, count: int = 1) -> bool:
        """Take one (or `count`) out of the bucket; False if there is not so much in it."""
        now = time.monotonic()
        self.left = min(self.most, self.left + (now - self.seen) * self.fill)
        self.seen = now
        if self.left < count:
            return False
        self.left -= count
        return True

    def refund(self) -> None:
        """Put one back, for an answer that was asked for."""
        self.left = min(self.most, self.left + 1)


def _split(host: str) -> tuple[str, str]:
    """Name and port of a Host header."""
    name, _, port = host.lower().rpartition(":")
    return (name, port) if name and port.isdigit() else (host.lower(), "")
