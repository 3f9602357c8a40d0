"""Live games on their clocks, and the clients that watch them.

Each game runs in a thread of its own, one step per beat, whatever the clients do: a client only ever gets the newest state,
and only after it has acknowledged the one before.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from housemates.recordings.recording import Recording
from housemates.web.game import Game
from housemates.web.messages import OVER, PAUSED, PICTURES, PIXELS, Refused, encode_frame

MOST_GAMES, MOST_GAMES_EACH = 8, 6
"""Games at the same time, and how many of them one address may have begun."""
ABANDONED, ABANDONED_WHEN_FULL = 60.0, 5.0
"""Seconds after which a game without clients is closed; the second where new games are refused for it."""
HIDDEN = "hidden"
"""What a player reads instead of the partner's name until the game is over."""
MOST_INPUTS = 20_000
"""Inputs of a game that are logged; a person makes a few hundred."""
COMMANDS = 64
"""Commands that wait for the next step; more are dropped, oldest first."""

log = logging.getLogger(__name__)


class Snapshot(NamedTuple):
    """The game after a step, ready to be sent."""

    serial: int
    """Counts what was published, steps and changes of the clock."""
    frame: np.ndarray
    """The record of `encode_frame`; its number is set for each client."""
    pictures: bytes
    """Head pictures for clients that want them; empty if none does."""
    events: int
    """How many events there have been."""
    decisions: tuple[dict[str, Any], ...]
    """The last decision of each policy."""
    aheads: tuple[dict[str, Any], ...]
    """The look-ahead of each policy at its last decision, if any client wants it."""


class Session:
    """One game that is being played."""

    def __init__(self, game: Game, hz: float, paused: bool, finished: Callable[[Session, Recording], str], **more: Any) -> None:
        """finished(session, recording) is called at the end, in the game's thread; it returns the recording's id.

        more: sent to the page with the game (`fork`). Where a person plays, names and decisions of partners are hidden until
        the end unless `reveal` is set.
        """
        self.id, self.key = secrets.token_urlsafe(9), secrets.token_urlsafe(18)
        self.game, self.hz, self.paused, self.finished, self.more = game, hz, paused, finished, more
        self.clients: set[Client] = set()
        self.consent, self.saved, self.address = False, False, ""
        self.reveal = game.human < 0
        self.study: dict[str, Any] | None = None
        """Of a game in a user study: the participant and the part; the partner stays hidden after its end too."""
        self.inputs: list[list[Any]] = []
        """[seconds since the game began, step of the episode, kind of input, its value], as they came in."""
        self._began, self.began = time.monotonic(), datetime.now(UTC)
        self.seconds = 0.0
        """By the clock, from the beginning to the end, pauses included."""
        self.recording: Recording | None = None
        self.end: dict[str, Any] | None = None
        self.left_at = time.monotonic()
        self._commands: deque[Callable[[], None]] = deque(maxlen=COMMANDS)
        self._wake = threading.Condition()
        self._steps, self._closed, self._stale = 0, False, False
        self._loop = asyncio.get_running_loop()
        self.newest = self._snapshot(0)
        self._thread = threading.Thread(target=self._run, name=f"game-{self.id}", daemon=True)

    def start(self) -> None:
        """Let the clock run."""
        self._thread.start()

    def close(self) -> None:
        """Stop the clock for good."""
        with self._wake:
            self._closed = True
            self._wake.notify()

    def note(self, kind: str, value: Any = None) -> None:
        """Log an input of the player: a command, a pause, a change of the speed or of the camera."""
        if len(self.inputs) < MOST_INPUTS:
            seconds = round(time.monotonic() - self._began, 3)
            self.inputs.append([seconds, int(self.game.batch.state.clock[0]), kind, value])

    def circumstances(self) -> dict[str, Any]:
        """What is kept of a game beside its moves: when it was played, how long it took, and whether the partner was hidden."""
        told = {"began": self.began.isoformat(timespec="seconds"), "seconds": self.seconds, "hidden": not self.reveal}
        return told | ({} if self.study is None else {"study": self.study})

    @property
    def hidden(self) -> bool:
        """Whether names and decisions of the partners are not told now."""
        return not self.reveal and (self.end is None or self.study is not None)

    def names(self) -> list[str]:
        """Who sits at each robot, as far as that is told."""
        return [HIDDEN if self.hidden and who.kind != "person" else who.name for who in self.game.team]

    def command(self, call: Callable[[], None]) -> None:
        """Do something to the game before its next step, in its own thread."""
        with self._wake:
            self._commands.append(call)
            self._wake.notify()

    def pause(self, paused: bool) -> None:
        """Stop or continue."""
        self.command(lambda: setattr(self, "paused", paused))

    def step(self) -> None:
        """One step of a paused game."""

        def one() -> None:
            self._steps = min(self._steps + 1, COMMANDS) if self.paused else 0

        self.command(one)

    def speed(self, hz: float) -> None:
        """Steps per second from now on."""
        self.command(lambda: setattr(self, "hz", hz))

    def refresh(self) -> None:
        """Publish the present state once more."""
        self.command(lambda: setattr(self, "_stale", True))

    def describe(self, owner: bool) -> dict[str, Any]:
        """The message `game`."""
        return {
            "type": "game",
            "game": self.id,
            "key": self.key if owner else None,
            "owner": owner,
            **self.game.describe(),
            "robots": self.names(),
            "look_ahead": self.game.offered() if self.reveal else [None] * len(self.game.team),
            "hidden": self.hidden,
            "hz": self.hz,
            "paused": self.paused,
            "fork": None,
            **self.more,
            "events": self.game.events(),
        }

    def _run(self) -> None:
        """The game's thread: wait for the beat, do what was asked, step, publish."""
        beat = time.monotonic()
        try:
            while not self._closed and not self.game.over:
                self._wait(beat)
                clock, self._stale = (self.hz, self.paused), False
                while self._commands:
                    self._commands.popleft()()
                going = not self.paused or self._steps > 0
                now = time.monotonic()
                if (self.hz, self.paused) != clock:
                    beat, self._stale = now, True
                if self._stale:
                    self._publish()
                if going and now >= beat and not self._closed:
                    self._steps = max(self._steps - 1, 0)
                    self.game.explaining = self.reveal and any(client.look_ahead for client in tuple(self.clients))
                    self.game.tick()
                    # A step that took too long does not make the next ones come in a burst.
                    beat = max(beat + 1 / self.hz, now)
                    if self.game.over:
                        self._finish()
                    self._publish()
        except Exception:
            log.exception("a game broke off")
            self.end = self.end or {"type": "error", "error": "the game broke off - the server's log says why", "ended": True}
            self._call(self._notify)

    def _wait(self, beat: float) -> None:
        """Until the next beat, or until a command arrives."""
        with self._wake:
            if self._commands or self._closed:
                return
            idle = self.paused and self._steps == 0
            self._wake.wait(1.0 if idle else max(beat - time.monotonic(), 0.0))

    def _finish(self) -> None:
        self.seconds = round(time.monotonic() - self._began, 3)
        self.recording = self.game.recorder.finish()
        name = self.finished(self, self.recording)
        names = [who.name for who in self.game.team] if self.study is None else self.names()
        self.end = {"type": "over", **self.game.result(), "robots": names, "recording": name or None}

    def _publish(self) -> None:
        self.newest = self._snapshot(self.newest.serial + 1)
        self._call(self._notify)

    def _snapshot(self, serial: int) -> Snapshot:
        game, batch = self.game, self.game.batch
        flags = OVER * game.over | PAUSED * self.paused
        frame = encode_frame(batch.state, game.possible(), len(game.task.subgoals), flags)
        if self.hidden:
            # What a partner is about to do is not told, only what it does.
            others = np.arange(batch.robots) != game.human
            frame["action"][others] = frame["executed"][others] = -1
        # The set of clients changes in another thread; a copy is taken at once.
        wanted = any(client.depth for client in tuple(self.clients))
        pictures = self._pictures() if wanted else b""
        events, decisions = len(game.recorder.events), tuple(game.thoughts.values())
        return Snapshot(serial, frame, pictures, events, decisions, tuple(game.aheads.values()))

    def _pictures(self) -> bytes:
        batch = self.game.batch
        out: np.ndarray = np.zeros((1, batch.robots, PIXELS, PIXELS, 1), np.uint8)
        batch.cameras_of(PIXELS).heads("depth", batch.records, np.ones((1, batch.robots), bool), out)
        return out.tobytes()

    def _call(self, what: Callable[[], None]) -> None:
        """Call something in the server's loop, if that still runs."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(what)

    def _notify(self) -> None:
        for client in self.clients:
            client.changed.set()


class Client:
    """One connection that watches or plays; it holds no queue, only what it was last sent."""

    def __init__(self, address: str = "") -> None:
        """address: where it comes from."""
        self.address, self.depth, self.look_ahead, self.owner = address, False, False, False
        self.session: Session | None = None
        self.changed = asyncio.Event()
        self.sent, self.acknowledged = 0, 0
        """Number of the last frame that was sent, and of the last that was acknowledged."""
        self.sent_at = 0.0
        self._serial, self._events, self._clock, self._end_sent = -1, 0, (0.0, False), False
        self._decision_ticks: dict[tuple[str, int], int] = {}

    def enter(self, session: Session, owner: bool) -> dict[str, Any]:
        """Watch a game from now on; returns the message `game`."""
        self.leave()
        self.session, self.owner = session, owner
        described = session.describe(owner)
        self.acknowledged = self.sent
        self._serial, self._events, self._end_sent = -1, len(described["events"]), False
        self._clock, self._decision_ticks = (described["hz"], described["paused"]), {}
        session.clients.add(self)
        if self.depth and not session.newest.pictures:
            session.refresh()
        self.changed.set()
        return described

    def leave(self) -> None:
        """Watch nothing."""
        if self.session is not None:
            self.session.clients.discard(self)
            self.session.left_at = time.monotonic()
            if self.session.study is not None and not self.session.clients:
                self.session.pause(True)  # nobody plays now; the game waits, or is begun again
        self.session, self.owner = None, False

    def acknowledge(self, number: int) -> None:
        """A frame was drawn."""
        if not 0 < number <= self.sent:
            raise Refused("no such frame was sent")
        self.acknowledged = max(self.acknowledged, number)
        self.changed.set()

    @property
    def waiting(self) -> bool:
        """Whether the last frame is not acknowledged yet."""
        return self.acknowledged < self.sent

    def outgoing(self) -> list[dict[str, Any] | bytes]:
        """What can be sent now: changes of the clock, new events and the newest frame, at the end how it ended."""
        session, found = self.session, []
        if session is None or self.waiting:
            return found
        newest = session.newest
        clock = (session.hz, bool(int(newest.frame["flags"]) & PAUSED))
        if clock != self._clock:
            self._clock = clock
            found.append({"type": "clock", "hz": clock[0], "paused": clock[1]})
        if newest.serial != self._serial:
            if newest.events > self._events:
                found.append({"type": "events", "events": session.game.events(self._events)[: newest.events - self._events]})
                self._events = newest.events
            told = [("decision", newest.decisions), ("look_ahead", newest.aheads if self.look_ahead else ())]
            for kind, rows in told if session.reveal else ():
                for row in rows:
                    if self._decision_ticks.get((kind, row["robot"])) != row["tick"]:
                        self._decision_ticks[kind, row["robot"]] = row["tick"]
                        found.append({"type": kind, **row})
            self.sent = (self.sent + 1) % 2**32
            self.sent_at = time.monotonic()
            self._serial = newest.serial
            pictures = newest.pictures if self.depth else b""
            frame = newest.frame.copy()
            frame["number"] = self.sent
            frame["flags"] |= PICTURES if pictures else 0
            found.append(frame.tobytes() + pictures)
        over = int(newest.frame["flags"]) & OVER
        if session.end is not None and not self._end_sent and (over or session.end["type"] == "error"):
            self._end_sent = True
            found.append(session.end | ({"consent": session.consent, "saved": session.saved} if session.recording else {}))
        return found


class Sessions:
    """All games of a server."""

    def __init__(self, shared: bool = False) -> None:
        """shared: one address may begin all games, as participants of a study behind one router do."""
        self.sessions: dict[str, Session] = {}
        self.shared = shared

    def open(self, session: Session) -> None:
        """Start a game; too many at once are refused."""
        self.sweep()
        if self._full(session.address):
            session.close()
            raise Refused("too many games are being played - try again in a minute", 429)
        self.sessions[session.id] = session
        session.start()

    def find(self, name: str) -> Session:
        """A running game by its id."""
        found = self.sessions.get(name)
        if found is None or (found.end is not None and found.end["type"] == "error"):
            raise Refused("no such game - it has ended, or no page was connected for a minute", 404)
        return found

    def end_of(self, participant: str) -> None:
        """Close the games of a participant of a study: another one begins."""
        for name, session in list(self.sessions.items()):
            if session.study is not None and session.study["participant"] == participant:
                session.close()
                del self.sessions[name]

    def sweep(self) -> None:
        """Close games that have no clients any more."""
        now = time.monotonic()
        for name, session in sorted(self.sessions.items(), key=lambda item: item[1].left_at):
            timeout = ABANDONED if not self._full(session.address) else ABANDONED_WHEN_FULL if session.end is None else 0.0
            if not session.clients and now - session.left_at > timeout:
                session.close()
                del self.sessions[name]

    def _full(self, address: str) -> bool:
        """Whether an address cannot begin another game."""
        mine = sum(session.address == address for session in self.sessions.values())
        return len(self.sessions) >= MOST_GAMES or (mine >= MOST_GAMES_EACH and not self.shared)

    def close(self) -> None:
        """Stop all clocks."""
        for session in self.sessions.values():
            session.close()
