"""The hostile campaign: an honest player's game goes on while the server is attacked, and its memory stays what it was.

Run it with: pytest -s -m slow tests/web/test_campaign.py   (it prints the figures of docs/api/page_protocol.md)
"""

import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

from helpers import pages
from web.campaign import BOMBS, FRAMES, HALF_OPEN

SCRIPT = Path(__file__).with_name("campaign.py")
HZ = 10.0
"""Steps a second of the honest player's game, the usual number."""
LATE = 0.25
"""Seconds between two frames of which at most one in twenty may be more."""
MORE = 200e6
"""Bytes that the server may take beside what it takes at rest, whatever is thrown at it."""


class Honest(threading.Thread):
    """Plays on and on, notes when frames come, and asks for the first page now and then."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.gaps, self.lost, self.asked = port, [], 0, []
        self.stop = False

    def run(self) -> None:
        while not self.stop:
            with suppress(ConnectionClosed, TimeoutError, OSError), pages.visitor(self.port) as guest:
                self._play(guest)
                continue
            self.lost += 1

    def _play(self, guest: pages.Visitor) -> None:
        assert guest.begin(hz=HZ)["type"] == "game"
        before, asked = None, time.monotonic()
        while not self.stop:
            found = guest.read()
            now = time.monotonic()
            if isinstance(found, bytes):
                self.gaps += [] if before is None else [now - before]
                before = now
            elif found["type"] == "over":
                return
            if now - asked > 1.0:
                asked = now
                threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        began = time.monotonic()
        try:
            status = pages.get(self.port, "/api/start")[0]
        except OSError:
            status = -1
        self.asked.append((status, time.monotonic() - began))


@contextmanager
def served(log: Path):
    """The server; its process and port."""
    with log.open("wb") as errors:
        server = subprocess.Popen(
            [sys.executable, SCRIPT, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            yield server, int(server.stdout.readline())
        finally:
            server.stdin.close()
            server.wait(30)


def memory(process: subprocess.Popen) -> int:
    """Bytes that a process has in memory."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096


def attacked(kind: str, server: subprocess.Popen, port: int) -> tuple[dict, float, int]:
    """Run one kind of attack to its end; what it tells, how long it took, the most memory the server had."""
    began, most = time.monotonic(), 0
    with subprocess.Popen([sys.executable, SCRIPT, kind, str(port)], stdout=subprocess.PIPE, text=True) as attack:
        while attack.poll() is None:
            most = max(most, memory(server))
            time.sleep(0.02)
        assert attack.returncode == 0
        return json.loads(attack.stdout.read()), time.monotonic() - began, max(most, memory(server))


@pytest.mark.slow
def test_an_honest_player_plays_on_while_the_server_is_attacked(tmp_path):
    log = tmp_path / "log"
    with served(log) as (server, port):
        honest = Honest(port)
        honest.start()
        time.sleep(10)
        rest, quiet = memory(server), len(honest.gaps)
        figures = {"at rest": {"memory, MB": rest / 1e6, "p95, s": float(np.percentile(honest.gaps, 95))}}
        for kind in ("half_open", "frames", "bombs", "bombs"):
            first, asked = len(honest.gaps), len(honest.asked)
            told, took, most = attacked(kind, server, port)
            gaps, answers = honest.gaps[first:], honest.asked[asked:]
            name = kind if kind not in figures else f"{kind} again"
            figures[name] = told | {
                "took, s": took,
                "most memory, MB": most / 1e6,
                "memory afterwards, MB": memory(server) / 1e6,
                "frames of the player": len(gaps),
                "gap median, s": float(np.median(gaps)),
                "gap p95, s": float(np.percentile(gaps, 95)),
                "gap worst, s": max(gaps),
                "answered": f"{sum(status == 200 for status, _ in answers)} of {len(answers)}",
                "slowest answer, s": max((seconds for _, seconds in answers), default=0.0),
            }
        assert pages.get(port, "/api/start")[0] == 200
        honest.stop = True
        honest.join(30)
    lines = log.read_text(errors="replace").splitlines()
    figures["log"] = {"lines": len(lines), "tracebacks": sum("Traceback" in line for line in lines), "games lost": honest.lost}
    for name, found in figures.items():
        print(name, {key: round(value, 3) if isinstance(value, float) else value for key, value in found.items()})
    attacks = [found for name, found in figures.items() if name not in ("at rest", "log")]
    assert quiet > 50
    assert figures["frames"]["frames"] >= FRAMES
    assert figures["half_open"]["opened"] >= HALF_OPEN
    assert sum(count for name, count in figures["bombs"].items() if name.startswith("dropped")) == BOMBS
    assert max(found["gap p95, s"] for found in attacks) < LATE
    assert max(found["most memory, MB"] for found in attacks) * 1e6 < rest + MORE
    assert figures["bombs again"]["memory afterwards, MB"] < figures["bombs"]["memory afterwards, MB"] + 60
    assert honest.lost == 0
    assert figures["log"]["tracebacks"] == 0
    assert len(lines) < 500, lines[:20]
