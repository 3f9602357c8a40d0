"""A server with few open files, and everything that can be thrown at it; each in a process of its own.

python tests/web/campaign.py serve            # prints the port of a server in the hall, with `ulimit -n 256`
python tests/web/campaign.py KIND PORT        # KIND: frames, half_open, bombs; prints what came back, as JSON
"""

import io
import json
import logging
import random
import resource
import socket
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

FILES = 256
"""Open files that the server may have."""
FRAMES, PER_LINE, LINES = 10_000, 24, 8
"""Hostile frames in all and on one websocket, and websockets at the same time."""
HALF_OPEN, HELD, AGAIN = 300, 30.0, 3.0
"""Half-sent requests; for how many seconds, and how many seconds after one was cut it is begun again."""
BOMBS, AT_ONCE = 100, 4
"""Files that are dropped, and how many at the same time."""
HERE, ELSEWHERE = "127.0.0.1", "127.0.0.5"
"""Addresses of the honest player, and of those who send frames and files; half-sent requests come from both."""


def serve() -> None:
    """A server in the hall until its input ends."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    from helpers import pages
    from housemates.web.server import Page, running

    service = pages.hall_service(fastest=30.0)
    service.library.add(pages.scripted(), "recording")
    with running(Page(service)) as port:
        print(port, flush=True)
        sys.stdin.read()


def frames(port: int) -> dict:
    """Hostile websocket frames: wrong messages, text that is no text, floods of pings, messages in very many pieces."""
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect

    from web.test_hostile import nonsense
    from web.test_transport import frame

    logging.getLogger("websockets.client").disabled = True  # a line that is cut is no news here

    def one(seed: int) -> int:
        rng, sent = random.Random(seed), 0
        try:
            with connect(f"ws://{HERE}:{port}/ws", source_address=(ELSEWHERE, 0), open_timeout=60) as line:
                for _ in range(PER_LINE):
                    kind = rng.random()
                    if kind < 0.7:
                        line.send(nonsense(rng))
                    elif kind < 0.85:
                        line.socket.sendall(frame(1, rng.randbytes(100)))
                    else:
                        line.socket.sendall(
                            frame(9) * 50 if kind < 0.95 else frame(1, b"{", False) + frame(0, b"", False) * 100
                        )
                    sent += 1
        except (WebSocketException, OSError, EOFError):
            pass
        return sent

    sent, lines = 0, 0
    with ThreadPoolExecutor(LINES) as crowd:
        while sent < FRAMES:
            done = list(crowd.map(one, range(lines, lines + LINES)))
            sent, lines = sent + sum(done), lines + len(done)
            if not any(done):
                time.sleep(0.2)
    return {"frames": sent, "websockets": lines}


def half_open(port: int) -> dict:
    """Requests of which only the beginning is sent; each that is cut is sent again."""
    starts = [
        b"GET / HTTP/1.1\r\nX: ",
        b"",
        b"G",
        b"POST /api/recordings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\nPK",
    ]
    found: list[socket.socket | None] = [None] * HALF_OPEN
    since = [0.0] * HALF_OPEN
    end, opened, cut, most = time.monotonic() + HELD, 0, 0, 0
    while (now := time.monotonic()) < end:
        for k, line in enumerate(found):
            if line is not None:
                try:
                    gone = line.recv(1024) == b""
                except BlockingIOError:
                    continue
                except OSError:
                    gone = True
                if gone:
                    cut += 1
                    line.close()
                    found[k], since[k] = None, now
                continue
            if now - since[k] < AGAIN:
                continue
            try:
                line = socket.create_connection((HERE, port), 5, source_address=((HERE, ELSEWHERE)[k % 2], 0))
                line.sendall(starts[k % len(starts)])
                line.setblocking(False)
                found[k], opened = line, opened + 1
            except OSError:
                since[k], cut = now, cut + 1
        most = max(most, sum(line is not None for line in found))
        time.sleep(0.05)
    return {"opened": opened, "cut": cut, "most at once": most}


def packed(arrays: dict, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A file of arrays."""
    import numpy as np

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as made:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array))
            made.writestr(f"{name}.npy", content.getvalue())
    return file.getvalue()


def bomb_makers() -> list[Callable[[int], bytes]]:
    """Ways to make a file that is small and takes much; the last two are whole recordings, as large as there can be."""
    import numpy as np

    from helpers import pages
    from housemates.recordings.recording import DECISION, save_recording
    from housemates.web.library import LONGEST_UPLOAD
    from web.test_library import crowded

    recording = pages.scripted()
    place = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp") / f"campaign-{time.time_ns()}.npz"
    save_recording(place, recording)
    with np.load(place) as found:
        arrays = {name: found[name] for name in found.files}
    place.unlink()
    crowd = crowded()

    def header(**more) -> dict:
        return arrays | {"header": np.frombuffer(json.dumps(recording.header | more).encode(), np.uint8)}

    def long(seed: int) -> bytes:
        count = LONGEST_UPLOAD
        frames = {name: np.repeat(array[:1], count + 1, axis=0) for name, array in recording.frames.items()}
        made = header(seed=seed, steps=count, outcome="timeout", events=[])
        made |= {f"frames/{name}": array for name, array in frames.items()}
        decisions = np.zeros(2 * count, DECISION)
        decisions["tick"] = np.arange(2 * count) // 2
        made |= {f"decisions/{name}": decisions[name] for name in DECISION.names or ()}
        made |= {"decisions/probabilities": np.full((2 * count, 25), 0.04, np.float32)}
        return packed(made | {"decisions/value": np.zeros(2 * count, np.float32)})

    emptiness = "[" + "{}," * 20_000_000 + "{}]"
    sixty = arrays | {"header": np.frombuffer(b'{"x":' + emptiness.encode() + b"}", np.uint8)}
    ticks = arrays | {f"decisions/{name}": np.zeros(20_000_000, np.int8) for name in DECISION.names or ()}
    huge, many = packed(sixty), packed(ticks)
    return [
        lambda seed: huge,
        lambda seed: many,
        lambda seed: crowd,
        lambda seed: packed(sixty if seed < 10 else arrays, zipfile.ZIP_BZIP2),
        lambda seed: packed(header(seed=seed, x="y" * 900_000)),
        lambda seed: packed(header(seed=seed, x=[{}] * 20_000)),
        lambda seed: packed(header(seed=seed, rules=json.loads("[" * 900 + "]" * 900))),
        lambda seed: random.Random(seed).randbytes(2_000_000),
        lambda seed: packed(header(seed=seed)),
        long,
    ]


def bombs(port: int) -> dict:
    """Files that are dropped; those that are kept are looked at as well."""
    makers = bomb_makers()
    answers: Counter = Counter()

    def ask(method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        import http.client

        line = http.client.HTTPConnection(HERE, port, timeout=120, source_address=(ELSEWHERE, 0))
        try:
            line.request(method, path, body or None)
            answer = line.getresponse()
            return answer.status, answer.read()
        except OSError:
            return -1, b""
        finally:
            line.close()

    def one(number: int) -> None:
        status, content = ask("POST", "/api/recordings", makers[number % len(makers)](number))
        answers[f"dropped {status}"] += 1
        if status == 200:
            shown, _ = ask("GET", f"/api/recording/{json.loads(content)['id']}")
            answers[f"shown {shown}"] += 1

    with ThreadPoolExecutor(AT_ONCE) as crowd:
        list(crowd.map(one, range(BOMBS)))
    return dict(answers)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        print(json.dumps({"frames": frames, "half_open": half_open, "bombs": bombs}[sys.argv[1]](int(sys.argv[2]))))
