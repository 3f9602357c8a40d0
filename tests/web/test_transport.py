"""Below HTTP: half-sent requests, too many connections, silent websockets, and a log that stays short."""

import asyncio
import logging
import socket
import time
from contextlib import ExitStack, contextmanager

import pytest

from helpers import pages
from housemates.web import connection, server, transport
from housemates.web import session as sessions
from housemates.web.logs import MOST, NAMES, REPEAT_FILTER, RepeatFilter
from housemates.web.security import RateLimit, client_address, tokens_match
from housemates.web.server import Page, running


@contextmanager
def half(port: int, sent: bytes, source: str = "127.0.0.1"):
    """A connection over which some of a request was sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0)) as found:
        found.sendall(sent)
        yield found


def ended(found: socket.socket) -> bytes:
    """What comes until the server ends a connection."""
    content = b""
    try:
        while some := found.recv(4096):
            content += some
    except ConnectionResetError:
        pass
    return content


def cut(found: socket.socket, what: bytes, pause: float) -> bool:
    """Send something again and again; whether the server ends the connection."""
    try:
        for _ in range(300):
            found.sendall(what)
            time.sleep(pause)
    except OSError:
        return True
    return False


@pytest.fixture
def own():
    """A server of its own, with its page and a log that has said nothing yet."""
    REPEAT_FILTER._known.clear()
    page = Page(pages.hall_service())
    with running(page) as port:
        yield page, port


HOST = b"GET /api/start HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", HOST + b"X: ", HOST + b"\r\nGET"])
def test_half_a_header_is_cut_in_time(port, monkeypatch, sent):
    monkeypatch.setattr(transport, "HEADER_SECONDS", 0.3)
    began = time.monotonic()
    with half(port, sent) as found:
        ended(found)
    assert time.monotonic() - began < 10


def test_a_header_that_drips_is_cut_as_well(port, monkeypatch):
    monkeypatch.setattr(transport, "HEADER_SECONDS", 0.5)
    with half(port, b"GET / HTTP/1.1\r\n") as found:
        assert cut(found, b"X: y\r\n", 0.05)


def test_half_a_body_is_cut_in_time_and_no_traceback_is_written(own, monkeypatch, caplog):
    monkeypatch.setattr(transport, "BODY_SECONDS", 0.3)
    _, port = own
    head = f"POST /api/recordings HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1000\r\n\r\nabc"
    with half(port, head.encode()) as found:
        ended(found)
    time.sleep(0.2)
    assert pages.get(port, "/api/start")[0] == 200
    assert not [record for record in caplog.records if record.exc_info]
    assert "not whole in time" in caplog.text


def test_a_body_that_goes_on_after_its_answer_is_cut(port, monkeypatch):
    monkeypatch.setattr(transport, "REFUSED_SECONDS", 0.3)
    with half(port, b"POST /api/recordings HTTP/1.1\r\nHost: evil\r\nContent-Length: 100000\r\n\r\n") as found:
        assert found.recv(4096).startswith(b"HTTP/1.1 403")
        assert cut(found, b"x", 0.05)


def test_an_answer_that_nobody_takes_is_cut(port, monkeypatch):
    monkeypatch.setattr(transport, "TAKE_SECONDS", 0.3)
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        found.connect(("127.0.0.1", port))
        found.settimeout(20)
        found.sendall(b"GET /static/vendor/three.core.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 60)
        time.sleep(1.5)
        assert len(ended(found)) < 30 * len(pages.get(port, "/static/vendor/three.core.min.js")[1])


def test_connections_that_ask_for_nothing_make_room_for_one_that_does(own):
    page, port = own
    page.limit.most, page.limit.each = 8, 6
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(half(port, b"GET / HT"))
        assert pages.get(port, "/api/start")[0] == 200
        assert len(page.limit.peers) <= 6


def test_one_address_cannot_take_all_connections(own):
    page, port = own
    page.limit.most, page.limit.each = 8, 6
    with ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(pages.visitor(port))
        with half(port, b"GET /api/start HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n") as refused:
            assert ended(refused) == b""
        with half(port, b"GET /api/start HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", "127.0.0.9") as found:
            assert ended(found).startswith(b"HTTP/1.1 200")


def test_connections_leave_nothing_behind(own):
    page, port = own
    for _ in range(5):
        pages.get(port, "/")
        with pages.visitor(port) as guest:
            assert guest.told
    end = time.monotonic() + 10
    while (page.limit.peers or page.pages) and time.monotonic() < end:
        time.sleep(0.05)
    assert not page.limit.peers
    assert not page.pages


def test_few_open_files_mean_few_connections(monkeypatch):
    monkeypatch.setattr(transport.resource, "getrlimit", lambda _: (256, 256))
    assert transport.ConnectionLimit().most == 96


def test_a_page_that_says_nothing_is_closed_and_told_why(own, monkeypatch):
    monkeypatch.setattr(connection, "IDLE", 0.3)
    _, port = own
    with pages.visitor(port) as guest:
        assert guest.close_code() == connection.IDLE_CLOSED


def test_a_page_in_a_game_may_be_silent_for_longer(own, monkeypatch):
    monkeypatch.setattr(connection, "IDLE", 0.3)
    _, port = own
    with pages.visitor(port) as guest:
        guest.begin(hz=50)
        guest.send(type="pause", paused=True)
        time.sleep(0.8)
        guest.send(type="leave", id=9)
        assert guest.until("ok")["id"] == 9


def test_silent_pages_give_their_places_to_newcomers_and_busy_ones_do_not(own, monkeypatch):
    monkeypatch.setattr(server, "MOST_CLIENTS", 3)
    page, port = own
    with pages.visitor(port) as player, pages.visitor(port) as silent, pages.visitor(port):
        player.begin(hz=5)
        with pages.stranger(port) as refused:
            assert refused.close_code() == connection.TOO_MANY_CLIENTS
        monkeypatch.setattr(server, "IDLE_SECONDS", 0.0)
        with pages.visitor(port) as newcomer:
            assert newcomer.told[0]["type"] == "welcome"
            assert silent.close_code() == connection.IDLE_CLOSED
        assert len(page.pages) <= 3
        player.send(type="stop", id=3)
        assert player.until("ok")["id"] == 3


def test_one_address_cannot_take_all_places(own, monkeypatch):
    monkeypatch.setattr(server, "MOST_CLIENTS_EACH", 1)
    _, port = own
    with pages.visitor(port):
        with pages.stranger(port) as refused:
            assert refused.close_code() == connection.TOO_MANY_CLIENTS
        with pages.visitor(port, source_address=("127.0.0.9", 0)) as other:
            assert other.told[0]["type"] == "welcome"


def test_one_address_cannot_begin_all_games(own, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_GAMES_EACH", 1)
    _, port = own
    with pages.visitor(port) as first, pages.visitor(port) as second:
        assert first.begin(hz=5)["type"] == "game"
        assert "too many games" in second.begin(hz=5)["error"]
        with pages.visitor(port, source_address=("127.0.0.9", 0)) as other:
            assert other.begin(hz=5)["type"] == "game"


def frame(opcode: int, content: bytes = b"", end: bool = True) -> bytes:
    """A websocket frame of a client, masked with zeros."""
    return bytes([(0x80 if end else 0) | opcode, 0x80 | len(content)]) + bytes(4) + content


@contextmanager
def raw(port: int):
    """A websocket that can say what no client would."""
    asked = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    asked += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    with half(port, asked.encode()) as found:
        assert found.recv(4096).startswith(b"HTTP/1.1 101")
        yield found


def test_text_that_is_no_text_ends_a_websocket_without_a_traceback(own, caplog):
    _, port = own
    with raw(port) as found:
        found.sendall(frame(1, b"\xff\xfe\xfd"))
        assert b"\x03\xef" in ended(found)  # close code 1007
    assert not [record for record in caplog.records if record.exc_info]
    assert len([record for record in caplog.records if "UTF-8" in record.getMessage()]) == 1


def test_a_message_in_endless_pieces_is_cut(own, caplog):
    _, port = own
    with raw(port) as found:
        found.sendall(frame(1, b"{", False) + frame(0, b"", False) * 100)
        ended(found)
    assert "too many pieces" in caplog.text


def test_a_websocket_that_sends_without_end_is_cut(own, monkeypatch, caplog):
    _, port = own
    monkeypatch.setattr(transport, "BYTES", 10_000)
    with raw(port) as found:
        assert cut(found, frame(9) * 100, 0.002)
    assert "it sent too much" in caplog.text


def said(quiet: RepeatFilter, name: str, text: str, error: Exception | None = None) -> logging.LogRecord | None:
    """One line of a log, if it is written."""
    record = logging.LogRecord(name, logging.ERROR, "", 0, text, (), (type(error), error, None) if error else None)
    return record if quiet.filter(record) else None


def test_a_thousand_equal_lines_are_a_few():
    quiet = RepeatFilter()
    written = [record for _ in range(1000) if (record := said(quiet, NAMES[0], "no", OSError(24, "Too many open files")))]
    assert len(written) == MOST
    assert not any(record.exc_info for record in written)
    assert written[0].getMessage() == "no (OSError: [Errno 24] Too many open files)"


def test_lines_that_were_left_out_are_counted(monkeypatch):
    quiet = RepeatFilter()
    for _ in range(MOST + 7):
        said(quiet, NAMES[0], "no")
    monkeypatch.setattr("housemates.web.logs.SECONDS", -1.0)
    assert said(quiet, NAMES[0], "no").getMessage() == "no - and 7 more like this before"


def test_the_first_fault_of_the_server_itself_is_told_in_full():
    quiet = RepeatFilter()
    assert said(quiet, "housemates.web.server", "broken", KeyError("x")).exc_info
    assert not said(quiet, "housemates.web.server", "broken", KeyError("x")).exc_info


def test_networks_of_the_new_kind_count_as_one_address():
    assert client_address("2001:db8::1") == client_address("2001:db8::ffff:2") != client_address("2001:db8:0:1::1")
    assert client_address("10.0.0.1") != client_address("10.0.0.2")
    assert client_address("::ffff:10.0.0.1") == "10.0.0.1"


def test_a_secret_is_compared_whatever_is_given():
    assert tokens_match("secret", "secret")
    assert not any(tokens_match(given, "secret") for given in ("", "secre", "\ud800", "é", "x" * 1000))


def test_a_bucket_gives_many_at_once():
    rate = RateLimit(100, 1000)
    assert rate.allows(60)
    assert not rate.allows(60)
    assert rate.allows(40)


def test_a_connection_that_never_closes_is_cut_at_the_second_look():
    class Stuck(asyncio.Transport):
        cut = False

        def is_closing(self) -> bool:
            return True

        def abort(self) -> None:
            self.cut = True

    limit, stuck = transport.ConnectionLimit(8), Stuck()
    limit.enter(stuck, "127.0.0.1")
    limit.sweep()
    assert not stuck.cut
    limit.sweep()
    assert stuck.cut
