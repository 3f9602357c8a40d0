"""The server of the page: files, JSON and the websocket of docs/page_protocol.md. What is asked is done by `table`."""

from __future__ import annotations

import asyncio
import base64
import gc
import hashlib
import logging
import mimetypes
import re
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from housemates import __version__
from housemates.recordings.recording import save_recording
from housemates.web.connection import ASLEEP, TOO_MANY_CLIENTS, Line, as_json, long_json
from housemates.web.library import LARGEST_FILE
from housemates.web.messages import LARGEST, Refused
from housemates.web.middleware import Door
from housemates.web.security import EVERYWHERE, HEADERS, LOCAL, Guard, whose
from housemates.web.service import Options, Table
from housemates.web.views import Depths, bodies, listed, scene, shown

if TYPE_CHECKING:
    import uvicorn

    from housemates.web.wire import Switchboard

STATIC = Path(__file__).parent / "static"
MOST_CLIENTS, MOST_CLIENTS_EACH = 64, 48
"""Pages at the same time, and how many of them one address may have open."""
SPARE = 5.0
"""Seconds of silence after which a page that is in no game gives its place to a newcomer, if there is no other."""
WORKERS = 2
"""Requests that are worked on at the same time; games have threads of their own."""
ARRIVING = 4 * LARGEST_FILE
"""Bytes of dropped files that may be on their way at the same time."""
CACHED = {"Cache-Control": "private, max-age=31536000, immutable"}
FRESH = {"Cache-Control": "no-store"}
INLINE = re.compile(rb"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)

log = logging.getLogger(__name__)


class Page:
    """The page's server as a web application: `app`."""

    def __init__(self, table: Table, guard: Guard | None = None, static: Path = STATIC) -> None:
        self.table, self.guard = table, guard or Guard()
        self.depths, self.lines = Depths(), set[Line]()
        self.board: Switchboard | None = None
        self._arriving = 0
        self._workers: CapacityLimiter | None = None
        self._files = {path.relative_to(static).as_posix(): path for path in sorted(static.rglob("*")) if path.is_file()}
        self._scenes: dict[str, bytes] = {}
        self._building = asyncio.Lock()
        routes = [
            Route("/", self.index),
            Route("/static/{name:path}", self.file),
            Route("/api/start", self.start),
            Route("/api/recordings", self.recordings),
            Route("/api/recordings", self.drop, methods=["POST"]),
            Route("/api/recording/{id}", self.recording),
            Route("/api/recording/{id}/depth", self.depth),
            Route("/api/recording/{id}/file", self.download),
            Route("/api/scene/{id}", self.scene),
            Route("/api/bodies", self.bodies),
            Route("/api/run/{id}", self.run),
            WebSocketRoute("/ws", self.talk),
        ]
        handlers: dict[Any, Callable] = {Refused: _refused, HTTPException: _http, Exception: _broken}
        self.app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._life)
        self.app.router.redirect_slashes = False
        self.app.add_middleware(Door, guard=self.guard)

    async def index(self, request: Request) -> Response:
        """The page; the scripts in it are allowed by their hashes."""
        content = self._static("index.html").read_bytes()
        hashes = [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in INLINE.findall(content)]
        allowed = "".join(f" 'sha256-{digest}'" for digest in hashes)
        policy = HEADERS["Content-Security-Policy"].replace("script-src 'self'", f"script-src 'self'{allowed}")
        return Response(content, media_type="text/html", headers={**FRESH, "Content-Security-Policy": policy})

    async def file(self, request: Request) -> Response:
        """One of the page's own files."""
        path = self._static(request.path_params["name"])
        kind = "text/javascript" if path.suffix in (".js", ".mjs") else mimetypes.guess_type(path.name)[0]
        return FileResponse(path, media_type=kind or "application/octet-stream", headers={"Cache-Control": "no-cache"})

    async def start(self, request: Request) -> Response:
        """What the page needs first."""
        return JSONResponse(self.table.start(), headers=FRESH)

    async def recordings(self, request: Request) -> Response:
        """All recordings, and the games that are being played."""
        await self._work(self.table.shelf.look)
        found = [listed(entry) for entry in self.table.shelf.entries()]
        return JSONResponse({"recordings": found, "games": self.table.running()}, headers=FRESH)

    async def drop(self, request: Request) -> Response:
        """Keep a recording that was dropped onto the page."""
        content = bytearray()
        try:
            async for some in request.stream():
                content += some
                self._arriving += len(some)
                if len(content) > LARGEST_FILE:
                    raise Refused(f"the file is larger than {LARGEST_FILE / 1e6:.0f} MB - give a recording of one episode", 413)
                if self._arriving > ARRIVING:
                    raise Refused("too many files are on their way - try again in a moment", 429)
            return JSONResponse({"id": await self._work(self.table.shelf.drop, bytes(content))}, headers=FRESH)
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            self._arriving -= len(content)

    async def recording(self, request: Request) -> Response:
        """One recording."""
        name = request.path_params["id"]

        def read() -> bytes:
            return long_json(shown(self.table.shelf.entry(name), self.table.shelf.recording(name)))

        return Response(await self._work(read), media_type="application/json", headers=FRESH)

    async def depth(self, request: Request) -> Response:
        """What a robot of a recording saw."""
        name = request.path_params["id"]
        frame, robot = _number(request, "frame"), _number(request, "robot")

        def draw() -> bytes:
            recording = self.table.shelf.recording(name)
            if not 0 <= frame <= recording.steps or not 0 <= robot < recording.robots:
                raise Refused(f"the recording has frames 0 to {recording.steps} and robots 0 to {recording.robots - 1}")
            return self.depths.picture(name, recording, self.table.shelf.home(recording), frame, robot)

        return Response(await self._work(draw), media_type="application/octet-stream", headers=FRESH)

    async def download(self, request: Request) -> Response:
        """A recording as a file."""
        name = request.path_params["id"]

        def pack() -> bytes:
            import tempfile

            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "recording.npz"
                save_recording(path, self.table.shelf.recording(name))
                return path.read_bytes()

        headers = {**FRESH, "Content-Disposition": 'attachment; filename="recording.npz"'}
        return Response(await self._work(pack), media_type="application/octet-stream", headers=headers)

    async def scene(self, request: Request) -> Response:
        """A home."""
        name = request.path_params["id"]

        def draw() -> bytes:
            if name not in self._scenes:
                content = as_json(scene(self.table.shelf.home_by_hash(name)))
                while len(self._scenes) >= 16:
                    self._scenes.pop(next(iter(self._scenes)), None)
                self._scenes[name] = content
            return self._scenes[name]

        return Response(await self._work(draw), media_type="application/json", headers=CACHED)

    async def bodies(self, request: Request) -> Response:
        """Robot and objects."""
        return JSONResponse(await self._work(bodies), headers=FRESH)

    async def run(self, request: Request) -> Response:
        """The log of a run."""
        run = self.table.runs.get(request.path_params["id"])
        if run is None:
            raise Refused("no such run here - choose one of the list", 404)
        return JSONResponse(await self._work(run.rows, _number(request, "from", 0)), headers=FRESH)

    async def talk(self, ws: WebSocket) -> None:
        """One connection of a page."""
        await ws.accept()
        line = Line(ws, whose(ws.client.host) if ws.client else "")
        if not await self._room(line.address):
            await ws.close(TOO_MANY_CLIENTS, "too many pages are open")
            return
        self.lines.add(line)
        sender = asyncio.create_task(line.keep_sending())
        try:
            await line.listen(partial(self._answer, line))
        finally:
            self.lines.discard(line)
            sender.cancel()
            line.client.leave()
            await line.close(1000, "")

    async def _room(self, address: str) -> bool:
        """Whether one more page may come in; one that has long said nothing goes out for it."""
        mine = {line for line in self.lines if line.address == address}
        if len(self.lines) < MOST_CLIENTS and len(mine) < MOST_CLIENTS_EACH:
            return True
        idle = max(mine if len(mine) >= MOST_CLIENTS_EACH else self.lines, key=Line.idle)
        if idle.idle() < SPARE:
            return False
        self.lines.discard(idle)
        await idle.close(ASLEEP, "others were waiting")
        return True

    async def _work(self, call: Callable[..., Any], *args: Any) -> Any:
        """Do something in a thread; few at a time, so that games keep their share of the machine."""
        self._workers = self._workers or CapacityLimiter(WORKERS)  # made where a loop runs
        return await run_sync(call, *args, limiter=self._workers)

    async def _answer(self, line: Line, message: dict[str, Any]) -> dict[str, Any] | None:
        """Do what a message asks; returns what is answered beside `ok`."""
        kind, client, table = message["type"], line.client, self.table
        if kind == "hello":
            line.greeted, client.depth = True, message["depth"]
            return {"type": "welcome", "version": __version__, "hz": table.hz()}
        if not line.greeted:
            raise Refused("say hello first")
        if kind == "ack":
            client.acknowledge(message["frame"])
        elif kind == "leave":
            client.leave()
        elif kind == "join":
            return table.join(client, message["game"], message["key"])
        elif kind in ("new_game", "swap"):
            return await self._begin(line, message)
        else:
            await run_in_threadpool(table.command, client, message) if kind == "consent" else table.command(client, message)
        return None

    async def _begin(self, line: Line, message: dict[str, Any]) -> dict[str, Any]:
        table = self.table
        table.rate(message["hz"])
        await line.send({"type": "preparing", "what": "the home is being prepared"})
        async with self._building:
            try:
                game, told = await run_in_threadpool(table.make, message)
            except Refused:
                raise
            except (ValueError, OSError, KeyError, ModuleNotFoundError) as error:
                log.exception("a game could not be prepared")
                raise Refused("the game could not be prepared - the server's log says why") from error
        return line.client.enter(table.open(game, told, message, line.address), True)

    def _static(self, name: str) -> Path:
        if name not in self._files:
            raise Refused("no such file", 404)
        return self._files[name]

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncGenerator[None]:
        async def sweep() -> None:
            while True:
                await asyncio.sleep(5)
                self.table.lobby.sweep()
                if self.board is not None:
                    self.board.sweep()

        # What is there now stays: a search for garbage, which stops every thread, need not look through it again and again.
        gc.collect()
        gc.freeze()
        task = asyncio.create_task(sweep())
        try:
            yield
        finally:
            gc.unfreeze()
            task.cancel()
            self.table.lobby.close()


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, getattr(error, "status", 400), headers=FRESH)


async def _http(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 400)
    return JSONResponse({"error": "no such page" if status == 404 else "this cannot be asked like that"}, status, headers=FRESH)


async def _broken(request: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    return JSONResponse({"error": "that did not work - the server's log says why"}, 500, headers=FRESH)


def _number(request: Request, name: str, default: int | None = None) -> int:
    """A whole number of the query."""
    text = request.query_params.get(name)
    if text is None and default is not None:
        return default
    if text is None or not re.fullmatch(r"[0-9]{1,9}", text):
        raise Refused(f"{name} must be a whole number")
    return int(text)


def listen(host: str, port: int) -> socket.socket:
    """A socket that the server listens at; port 0 takes a free one."""
    try:
        kind, _, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(kind, socket.SOCK_STREAM, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A frame is sent at once, not kept back until the one before has been confirmed; connections inherit this.
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.bind(address)
        # A browser that is opened before the server is ready waits instead of being turned away.
        found.listen(128)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise OSError(f"no page at port {port} of {host} ({why}) - choose another with --port or --host") from error
    return found


def prepare(page: Page) -> uvicorn.Server:
    """A server of a page: quiet, with small messages only, and with little patience for those who keep it waiting."""
    import uvicorn

    from housemates.web.logs import calm
    from housemates.web.wire import Switchboard, protocols

    page.board = Switchboard()
    http, ws = protocols(page.board)
    config = uvicorn.Config(
        page.app, http=http, ws=ws, backlog=128, log_level="warning", access_log=False, server_header=False,
        proxy_headers=False, ws_max_size=4 * LARGEST, ws_per_message_deflate=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    calm()
    return uvicorn.Server(config)


@contextmanager
def running(page: Page, host: str = "127.0.0.1", port: int = 0) -> Generator[int]:
    """The page's server in a thread; yields its port."""
    place = listen(host, port)
    server = prepare(page)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield place.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


def open_page(
    options: Options, host: str = "", port: int = 7431, browser: bool = True, query: str = "", token: bool = True
) -> None:
    """Serve the page until somebody presses Ctrl-C. host: empty for this machine alone.

    query: what the address says, for example `mode=play`. token: only who has the printed address comes in; without it
    everybody on this machine does.
    """
    if host and not token:
        raise ValueError("a page for other machines needs its token - leave out --no-token, or --host")
    secret = secrets.token_urlsafe(18) if token else ""
    table = Table(options)
    place = listen(host or LOCAL[0], port)
    port = place.getsockname()[1]
    page = Page(table, Guard(host or LOCAL[0], port, secret))
    shown = socket.gethostname() if host in EVERYWHERE else host or LOCAL[0]
    shown = f"[{shown}]" if ":" in shown else shown
    words = "&".join(word for word in (query, f"token={secret}" if secret else "") if word)
    address = f"http://{shown}:{port}/" + (f"?{words}" if words else "")
    print(f"{address}  (Ctrl-C to close)", flush=True)
    if browser:
        webbrowser.open(address)
    with suppress(KeyboardInterrupt):
        prepare(page).run(sockets=[place])
