"""The server of the page: files, JSON and the websocket of docs/api/page_protocol.md. Requests are answered by `service`."""

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
from housemates.web.connection import IDLE_CLOSED, TOO_MANY_CLIENTS, Connection, as_json, long_json
from housemates.web.library import LARGEST_FILE
from housemates.web.messages import IN_STUDY, LARGEST, Refused
from housemates.web.middleware import AccessMiddleware
from housemates.web.overlay import LookAheads, offered_of
from housemates.web.security import EVERYWHERE, HEADERS, LOCAL, AccessRules, client_address
from housemates.web.service import Options, Service
from housemates.web.views import DepthPictures, bodies, recording_row, recording_view, scene

if TYPE_CHECKING:
    import uvicorn

    from housemates.web.transport import ConnectionLimit

STATIC = Path(__file__).parent / "static"
MOST_CLIENTS, MOST_CLIENTS_EACH = 64, 48
"""Pages at the same time, and how many of them one address may have open."""
IDLE_SECONDS = 5.0
"""Seconds without a message after which a page that is in no game may be closed for a new one."""
WORKERS = 2
"""Requests that are worked on at the same time; games have threads of their own."""
MOST_UPLOADING = 4 * LARGEST_FILE
"""Bytes of uploads at the same time."""
CACHED = {"Cache-Control": "private, max-age=31536000, immutable"}
FRESH = {"Cache-Control": "no-store"}
INLINE = re.compile(rb"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)

log = logging.getLogger(__name__)


class Page:
    """The page's server as a web application: `app`."""

    def __init__(self, service: Service, rules: AccessRules | None = None, static: Path = STATIC) -> None:
        self.service, self.rules = service, rules or AccessRules()
        self.depths, self.aheads, self.pages = DepthPictures(), LookAheads(), set[Connection]()
        self.limit: ConnectionLimit | None = None
        self._uploading = 0
        self._workers: CapacityLimiter | None = None
        self._files = {path.relative_to(static).as_posix(): path for path in sorted(static.rglob("*")) if path.is_file()}
        self._scenes: dict[str, bytes] = {}
        self._building = asyncio.Lock()
        routes = [
            Route("/", self.index),
            Route("/static/{name:path}", self.file),
            Route("/api/start", self.start),
            Route("/api/recordings", self.recordings),
            Route("/api/recordings", self.upload, methods=["POST"]),
            Route("/api/recording/{id}", self.recording),
            Route("/api/recording/{id}/depth", self.depth),
            Route("/api/recording/{id}/lookahead", self.look_ahead),
            Route("/api/recording/{id}/file", self.download),
            Route("/api/scene/{id}", self.scene),
            Route("/api/bodies", self.bodies),
            Route("/api/run/{id}", self.run),
            WebSocketRoute("/ws", self.websocket),
        ]
        handlers: dict[Any, Callable] = {Refused: _refused, HTTPException: _http, Exception: _broken}
        self.app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)
        self.app.router.redirect_slashes = False
        self.app.add_middleware(AccessMiddleware, rules=self.rules)

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
        return JSONResponse(self.service.start(), headers=FRESH)

    def _not_in_a_study(self) -> None:
        """Participants see nothing of other games."""
        if self.service.participants is not None:
            raise Refused("a user study shows no recordings", 404)

    async def recordings(self, request: Request) -> Response:
        """All recordings, and the games that are being played."""
        self._not_in_a_study()
        await self._work(self.service.library.refresh)
        found = [recording_row(entry) for entry in self.service.library.entries()]
        return JSONResponse({"recordings": found, "games": self.service.running()}, headers=FRESH)

    async def upload(self, request: Request) -> Response:
        """Add an uploaded recording."""
        self._not_in_a_study()
        content = bytearray()
        try:
            async for some in request.stream():
                content += some
                self._uploading += len(some)
                if len(content) > LARGEST_FILE:
                    raise Refused(f"the file is larger than {LARGEST_FILE / 1e6:.0f} MB - give a recording of one episode", 413)
                if self._uploading > MOST_UPLOADING:
                    raise Refused("too many uploads - try again in a moment", 429)
            return JSONResponse({"id": await self._work(self.service.library.upload, bytes(content))}, headers=FRESH)
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            self._uploading -= len(content)

    async def recording(self, request: Request) -> Response:
        """One recording."""
        self._not_in_a_study()
        name = request.path_params["id"]

        def read() -> bytes:
            return long_json(recording_view(self.service.library.entry(name), self.service.library.recording(name)))

        return Response(await self._work(read), media_type="application/json", headers=FRESH)

    async def depth(self, request: Request) -> Response:
        """What a robot of a recording saw."""
        self._not_in_a_study()
        name = request.path_params["id"]
        frame, robot = _number(request, "frame"), _number(request, "robot")

        def draw() -> bytes:
            recording = self.service.library.recording(name)
            if not 0 <= frame <= recording.steps or not 0 <= robot < recording.robots:
                raise Refused(f"the recording has frames 0 to {recording.steps} and robots 0 to {recording.robots - 1}")
            return self.depths.picture(name, recording, self.service.library.home(recording), frame, robot)

        return Response(await self._work(draw), media_type="application/octet-stream", headers=FRESH)

    async def look_ahead(self, request: Request) -> Response:
        """What a robot of a recording expected, tried and did at each of its decisions."""
        self._not_in_a_study()
        name, robot = request.path_params["id"], _number(request, "robot")

        def compute() -> bytes:
            recording = self.service.library.recording(name)
            known = offered_of(recording)
            if robot >= len(known) or known[robot] is None:
                raise Refused("this recording holds no look-ahead of that robot - choose another robot", 404)
            found = self.aheads.of(name, recording, self.service.library.home(recording), robot)
            return long_json({"robot": robot, "decisions": found})

        return Response(await self._work(compute), media_type="application/json", headers=FRESH)

    async def download(self, request: Request) -> Response:
        """A recording as a file."""
        self._not_in_a_study()
        name = request.path_params["id"]

        def pack() -> bytes:
            import tempfile

            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "recording.npz"
                save_recording(path, self.service.library.recording(name))
                return path.read_bytes()

        headers = {**FRESH, "Content-Disposition": 'attachment; filename="recording.npz"'}
        return Response(await self._work(pack), media_type="application/octet-stream", headers=headers)

    async def scene(self, request: Request) -> Response:
        """A home."""
        name = request.path_params["id"]

        def draw() -> bytes:
            if name not in self._scenes:
                content = as_json(scene(self.service.library.home_by_hash(name)))
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
        self._not_in_a_study()
        run = self.service.runs.get(request.path_params["id"])
        if run is None:
            raise Refused("no such run here - choose one of the list", 404)
        return JSONResponse(await self._work(run.rows, _number(request, "from", 0)), headers=FRESH)

    async def websocket(self, ws: WebSocket) -> None:
        """One connection of a page."""
        await ws.accept()
        connection = Connection(ws, client_address(ws.client.host) if ws.client else "")
        if not await self._has_room(connection.address):
            await ws.close(TOO_MANY_CLIENTS, "too many pages are open")
            return
        self.pages.add(connection)
        sender = asyncio.create_task(connection.keep_sending())
        try:
            await connection.listen(partial(self._answer, connection))
        finally:
            self.pages.discard(connection)
            sender.cancel()
            connection.client.leave()
            await connection.close(1000, "")

    async def _has_room(self, address: str) -> bool:
        """Whether one more page may connect; an idle one is closed for it."""
        mine = {connection for connection in self.pages if connection.address == address}
        if len(self.pages) < MOST_CLIENTS and len(mine) < MOST_CLIENTS_EACH:
            return True
        idle = max(mine if len(mine) >= MOST_CLIENTS_EACH else self.pages, key=Connection.idle)
        if idle.idle() < IDLE_SECONDS:
            return False
        self.pages.discard(idle)
        await idle.close(IDLE_CLOSED, "idle")
        return True

    async def _work(self, call: Callable[..., Any], *args: Any) -> Any:
        """Do something in a thread; few at a time, so that games keep their share of the machine."""
        self._workers = self._workers or CapacityLimiter(WORKERS)  # made where a loop runs
        return await run_sync(call, *args, limiter=self._workers)

    async def _answer(self, connection: Connection, message: dict[str, Any]) -> dict[str, Any] | None:
        """Do what a message asks; returns what is answered beside `ok`."""
        kind, client, service = message["type"], connection.client, self.service
        if kind == "hello":
            connection.greeted, client.depth = True, message["depth"]
            return {"type": "welcome", "version": __version__, "hz": service.hz()}
        if not connection.greeted:
            raise Refused("send hello first")
        if service.participants is not None and kind not in IN_STUDY:
            raise Refused("this is not a part of the user study")
        if kind in ("study_enter", "study_answer"):
            return await run_in_threadpool(service.study, message)
        if kind == "study_game":
            return await self._begin_of_study(connection, await run_in_threadpool(service.of_study, message))
        if kind == "ack":
            client.acknowledge(message["frame"])
        elif kind == "leave":
            client.leave()
        elif kind == "overlay":
            client.look_ahead = message["look_ahead"]
        elif kind == "join":
            return service.join(client, message["game"], message["key"])
        elif kind in ("new_game", "swap"):
            return await self._begin(connection, message)
        else:
            await run_in_threadpool(service.command, client, message) if kind == "consent" else service.command(client, message)
        return None

    async def _begin(self, connection: Connection, message: dict[str, Any]) -> dict[str, Any]:
        service = self.service
        service.rate(message["hz"])
        await connection.send({"type": "preparing", "what": "preparing the home"})
        async with self._building:
            try:
                game, more = await run_in_threadpool(service.make, message)
            except Refused:
                raise
            except (ValueError, OSError, KeyError, ModuleNotFoundError) as error:
                log.exception("a game could not be prepared")
                raise Refused("the game could not be prepared - the server's log says why") from error
        return connection.client.enter(service.open(game, more, message, connection.address), True)

    async def _begin_of_study(self, connection: Connection, message: dict[str, Any]) -> dict[str, Any]:
        """`_begin`; why a game cannot begin might tell the partner, so only the log has it."""
        try:
            return await self._begin(connection, message)
        except Refused as error:
            if error.status == 429:
                raise
            log.warning("a game of the study could not begin: %s", error)
            raise Refused("the game could not begin - please tell those who run the study") from error

    def _static(self, name: str) -> Path:
        if name not in self._files:
            raise Refused("no such file", 404)
        return self._files[name]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        async def sweep() -> None:
            while True:
                await asyncio.sleep(5)
                self.service.sessions.sweep()
                if self.limit is not None:
                    self.limit.sweep()

        # What is there now stays: a search for garbage, which stops every thread, need not look through it again and again.
        gc.collect()
        gc.freeze()
        task = asyncio.create_task(sweep())
        try:
            yield
        finally:
            gc.unfreeze()
            task.cancel()
            self.service.sessions.close()


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, getattr(error, "status", 400), headers=FRESH)


async def _http(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 400)
    return JSONResponse({"error": "no such page" if status == 404 else "method not allowed"}, status, headers=FRESH)


async def _broken(request: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    return JSONResponse({"error": "internal error - see the server's log"}, 500, headers=FRESH)


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
    """A uvicorn server of a page, with limits for connections, messages and slow clients."""
    import uvicorn

    from housemates.web.logs import add_filters
    from housemates.web.transport import ConnectionLimit, protocols

    page.limit = ConnectionLimit()
    http, ws = protocols(page.limit)
    config = uvicorn.Config(
        page.app, http=http, ws=ws, backlog=128, log_level="warning", access_log=False, server_header=False,
        proxy_headers=False, ws_max_size=4 * LARGEST, ws_per_message_deflate=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    add_filters()
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
    """Serve the page until Ctrl-C. host: empty for this machine alone.

    query: what the address says, for example `mode=play`. token: only who has the printed address comes in; without it
    everybody on this machine does.
    """
    if host and not token:
        raise ValueError("a page for other machines needs its token - leave out --no-token, or --host")
    service = Service(options)
    # The addresses that participants of a study were sent stay valid.
    kept = service.participants.token() if service.participants is not None else secrets.token_urlsafe(18)
    secret = kept if token else ""
    place = listen(host or LOCAL[0], port)
    port = place.getsockname()[1]
    page = Page(service, AccessRules(host or LOCAL[0], port, secret))
    shown = socket.gethostname() if host in EVERYWHERE else host or LOCAL[0]
    shown = f"[{shown}]" if ":" in shown else shown
    words = "&".join(word for word in (query, f"token={secret}" if secret else "") if word)
    address = f"http://{shown}:{port}/" + (f"?{words}" if words else "")
    print(f"{address}  (Ctrl-C to close)", flush=True)
    if browser:
        webbrowser.open(address)
    with suppress(KeyboardInterrupt):
        prepare(page).run(sockets=[place])
