"""How long from a key to its picture, and how many pictures do twenty watchers get? Plays in headless Chromium and prints both.

Run it from the repository on a quiet machine: python tests/browser/latency.py
"""

import asyncio
import json
import multiprocessing
import statistics
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, sync_playwright
from websockets.asyncio.client import connect

from browser.tab import CHROMIUM, FLAGS, Tab
from housemates.web.server import Page, running
from housemates.web.service import Options, Service

PRESSES = 100
"""Keys that are pressed, unless the game ends before."""
PACE = 20
"""Steps per second of the game whose keys are measured."""
WATCHERS, SECONDS, WATCHED_PACE = 20, 10.0, 30
"""How many watch, how long they count, and how fast the game is that they watch."""


def play(browser: Browser, address: str) -> Tab:
    """A person's game that goes on for as long as it may."""
    tab = Tab(browser.new_context(viewport={"width": 640, "height": 480}), address).open("&mode=play")
    tab.begin(partner="script/noop", view="follow", pace=PACE)
    return tab


def press(tab: Tab) -> list[float]:
    """Press left and right in turn, each at another moment of the game's clock; milliseconds from key to picture, sorted."""
    for number in range(PRESSES):
        key = "ad"[number % 2]
        tab.page.keyboard.down(key)
        tab.until(f"housemates.latencies.length > {number} || housemates.facts.over")
        tab.page.keyboard.up(key)
        if tab.get("facts.over"):
            break
        time.sleep(0.05 + 0.0073 * (number % 11))
    return sorted(tab.get("latencies"))


async def watch(address: str, game: str, everybody: asyncio.Barrier) -> float:
    """Frames per second that one watcher gets, head pictures and all; each is acknowledged as soon as it is there."""
    async with connect(f"{address}/ws", max_size=None) as line:
        await line.send(json.dumps({"type": "hello", "depth": True}))
        await line.send(json.dumps({"type": "join", "game": game}))
        frames, begin = 0, 0.0
        while not begin or time.monotonic() - begin < SECONDS:
            found = await line.recv()
            if isinstance(found, str):
                continue
            if not begin:
                await everybody.wait()
                begin = time.monotonic()
            frames += 1
            await line.send(json.dumps({"type": "ack", "frame": struct.unpack_from("<I", found)[0]}))
        return frames / (time.monotonic() - begin)


def watch_together(address: str, game: str, answer) -> None:
    """Twenty watchers, in a process of their own; their rates go into the pipe `answer`, slowest first."""

    async def together() -> list[float]:
        everybody = asyncio.Barrier(WATCHERS)
        return await asyncio.gather(*(watch(address, game, everybody) for _ in range(WATCHERS)))

    answer.send(sorted(asyncio.run(together())))


def watchers(tab: Tab, port: int) -> list[float]:
    """Frames per second of each of twenty watchers of a game that the tab begins."""
    # A game of nobody goes on to its horizon: nothing ends it early.
    tab.page.evaluate("housemates.begin('tidy_house', 3, ['script/noop', 'script/noop'])")
    tab.until("housemates.film?.live && housemates.film.human < 0 && housemates.latest")
    tab.page.select_option("#speed", str(WATCHED_PACE // 10))
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    asked = (f"ws://127.0.0.1:{port}", tab.get("film.game"), theirs)
    process = multiprocessing.get_context("spawn").Process(target=watch_together, args=asked)
    process.start()
    theirs.close()
    found = ours.recv()
    process.join()
    return found


def main() -> None:
    """Measure and print."""
    with running(Page(Service(Options(mode="play")))) as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = play(browser, f"http://127.0.0.1:{port}")
        found = press(tab)
        late = found[int(0.95 * len(found)) - 1]
        print(f"{len(found)} keys at {PACE} steps a second, ?fast, 640 x 480, software WebGL:")
        print(f"  key to picture: median {statistics.median(found):.0f} ms, 95th percentile {late:.0f} ms")
        tab.open("&mode=watch")
        rates = watchers(tab, port)
        print(
            f"{WATCHERS} watchers and one page, {WATCHED_PACE} steps a second, head pictures with every frame, {SECONDS:.0f} s:"
        )
        print(f"  frames per second: slowest {rates[0]:.1f}, median {statistics.median(rates):.1f}")
        browser.close()


if __name__ == "__main__":
    main()
