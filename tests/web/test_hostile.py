"""Ten thousand malformed and hostile messages: the server stays up, leaks nothing, and answers with an error or closes."""

import asyncio
import json
import random
import socket
import string
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed

from helpers import pages
from housemates.recordings.recording import save_recording
from housemates.web import connection, middleware
from housemates.web.messages import MESSAGES
from housemates.web.server import Page

COUNT = 10_000
PER_LINE = 24
"""Messages on one connection; the server closes it before the last."""
SECRETS = ("/root", "/home/", "/tmp/", "Traceback", "site-packages", ".py", "root:x:")
"""What no answer may contain."""


def nonsense(rng: random.Random) -> str | bytes:
    """One message that is wrong in one of many ways."""
    kind = rng.choice(list(MESSAGES))
    values = [
        None,
        True,
        -1,
        10**30,
        1.5,
        "",
        "x" * 300,
        [],
        {},
        [[]] * 50,
        "../../../etc/passwd",
        "\x00",
        "é" * 50,
        1e308,
        "NaN",
    ]
    fields = {name: rng.choice(values) for name in (*MESSAGES[kind], rng.choice(["path", "__class__", "token"]))}
    ways = [
        lambda: json.dumps({"type": kind, **fields}),
        lambda: json.dumps({"type": rng.choice(values), **fields}),
        lambda: json.dumps(rng.choice(values)),
        lambda: json.dumps({"type": kind, **fields})[: rng.randrange(1, 20)],
        lambda: "".join(rng.choices(string.printable, k=rng.randrange(60))),
        lambda: "[" * rng.randrange(1, 4000),
        lambda: '{"a":' * rng.randrange(1, 500),
        lambda: json.dumps({"type": "join", "game": "../" * rng.randrange(1, 60)}),
        lambda: json.dumps({"type": "swap", "recording": "../../etc/passwd", "frame": 0, "robots": [None, "person"]}),
        lambda: json.dumps({"type": "new_game", "task": "../x", "episode": 0, "robots": ["person", "/etc/passwd"]}),
        lambda: json.dumps({"type": "new_game", "task": "tidy_house", "episode": 0, "robots": ["os:system"]}),
        lambda: '{"type": "action", "action": ' + "9" * rng.randrange(1, 4000) + "}",
        lambda: rng.randbytes(rng.randrange(1, 200)),
        lambda: "x" * rng.choice([5000, 30_000]),
    ]
    return rng.choice(ways)()


class Attacker:
    """A line into the application itself: says one wrong thing after the other and keeps what it is answered."""

    def __init__(self, seed: int, count: int) -> None:
        self.rng, self.left, self.said, self.closed = random.Random(seed), count, [], False
        self.sent = 0

    async def receive(self) -> dict:
        if self.sent == 0:
            self.sent += 1
            return {"type": "websocket.connect"}
        if self.closed or not self.left:
            return {"type": "websocket.disconnect", "code": 1000}
        self.left, self.sent = self.left - 1, self.sent + 1
        if self.sent == 2 and self.rng.random() < 0.8:
            return {"type": "websocket.receive", "text": '{"type": "hello"}'}
        wrong = nonsense(self.rng)
        return {"type": "websocket.receive", "bytes" if isinstance(wrong, bytes) else "text": wrong}

    async def send(self, message: dict) -> None:
        if message["type"] == "websocket.close":
            self.closed = True
            self.said.append({"type": "close", "error": message.get("reason", "")})
        elif message["type"] == "websocket.send":
            self.said.append(json.loads(message["text"]))


SCOPE = {
    "type": "websocket",
    "path": "/ws",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1")],
    "client": ("attacker", 1),
}


async def attack(app, count: int) -> tuple[int, list[dict]]:
    """Send `count` messages over as many lines as it takes; how many lines, and all that was answered."""
    lines, said = 0, []
    while count > 0:
        guest = Attacker(lines, min(count, PER_LINE))
        await app(dict(SCOPE), guest.receive, guest.send)
        count -= guest.sent - 1
        lines += 1
        answers = [message for message in guest.said if message["type"] in ("error", "welcome", "close")]
        assert len(answers) >= guest.sent - 1, guest.said
        said += answers
    return lines, said


@pytest.fixture
def busy(port, monkeypatch):
    """The server without its limit of requests, which would end an attack at once."""
    monkeypatch.setattr(middleware.AccessMiddleware, "_allows", lambda *_: True)
    return port


def test_ten_thousand_hostile_messages_are_answered_with_an_error_or_closed(service, monkeypatch):
    monkeypatch.setattr(middleware.AccessMiddleware, "_allows", lambda *_: True)
    page = Page(service)
    with ThreadPoolExecutor(1) as elsewhere:  # the browser's tests may have left this thread with a loop of their own
        lines, said = elsewhere.submit(asyncio.run, attack(page.app, COUNT)).result()
    assert lines > COUNT // PER_LINE
    assert {message["error"] for message in said if message["type"] == "close"} <= {
        "messages are text", "too many invalid messages",
    }  # fmt: skip
    assert not [m for m in said if any(secret in m.get("error", "") for secret in SECRETS)]
    assert not page.pages


def test_a_thousand_hostile_messages_over_the_wire_leave_the_server_up(busy):
    rng, sent = random.Random(3), 0
    while sent < 1000:
        with pages.stranger(busy) as guest, suppress(ConnectionClosed):
            for _ in range(PER_LINE):
                sent += 1
                guest.line.send(nonsense(rng))
            guest.close_code()
    with pages.visitor(busy) as guest:
        assert guest.begin(robots=["script/solo", "script/noop"])["type"] == "game"


def test_broken_requests_leave_the_server_up(busy):
    rng = random.Random(1)
    starts = [
        b"GET / HTTP/1.1\r\n",
        b"POST /api/recordings HTTP/1.1\r\nContent-Length: 99999999999\r\n",
        b"\x16\x03\x01",
        b"GET ",
    ]
    starts += [b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"]
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", busy), timeout=10) as line_:
            line_.sendall(rng.choice(starts) + rng.randbytes(rng.randrange(300)) + b"\r\n\r\n")
    assert pages.get(busy, "/api/start")[0] == 200


def test_hostile_paths_get_an_error_that_tells_nothing(busy):
    rng, answers = random.Random(2), []
    pieces = [
        "..",
        "%2e%2e",
        "etc",
        "passwd",
        "static",
        "api",
        "recording",
        "scene",
        "%00",
        "%ff",
        "run",
        "depth",
        "//",
        "\\",
        "~",
    ]
    for _ in range(200):
        path = (
            "/" + "/".join(rng.choices(pieces, k=rng.randrange(1, 6))) + rng.choice(["", "?frame=x", "?from=-1", "?token=%00"])
        )
        answers.append(pages.get(busy, path))
    assert {status for status, _ in answers} <= {400, 404}
    assert not [text for _, text in answers if any(secret.encode() in text for secret in SECRETS)]


@pytest.mark.parametrize("seed", range(40))
def test_a_recording_with_changed_bytes_is_refused_or_harmless(busy, recording, tmp_path, seed):
    save_recording(tmp_path / "r.npz", recording)
    content, rng = bytearray((tmp_path / "r.npz").read_bytes()), random.Random(seed)
    for _ in range(rng.randrange(1, 8)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    status, answer = pages.get(busy, "/api/recordings", "POST", bytes(content))
    assert status in (200, 400)
    if status == 200:
        assert pages.get(busy, f"/api/recording/{json.loads(answer)['id']}")[0] == 200
    else:
        assert not any(secret.encode() in answer for secret in SECRETS)


def test_too_many_requests_are_turned_away(port, monkeypatch):
    monkeypatch.setattr(middleware.AccessMiddleware, "_allows", lambda *_: False)
    assert pages.get(port, "/api/start")[0] == 429
    with pages.stranger(port) as guest:
        assert guest.close_code() == connection.TOO_MANY


def test_a_line_over_which_nobody_speaks_is_closed(port, monkeypatch):
    monkeypatch.setattr(connection, "TIMEOUT", 0.2)
    with pages.stranger(port) as guest:
        assert guest.close_code() == connection.TOO_SLOW
