"""How long from a key to its picture? Plays a game in headless Chromium and prints the median and the 95th percentile.

Run it from the repository on a quiet machine: python tests/browser/latency.py
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import sync_playwright

from browser.tab import CHROMIUM, FLAGS, Tab
from housemates.web.server import Page, running
from housemates.web.table import Options, Table

PRESSES = 100
"""Keys that are pressed, unless the game ends before."""
PACE = 20
"""Steps per second of the game."""


def main() -> None:
    """Press left and right in turn, each at another moment of the game's clock."""
    with running(Page(Table(Options(mode="play")))) as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = Tab(browser.new_context(viewport={"width": 640, "height": 480}), f"http://127.0.0.1:{port}").open("&mode=play")
        tab.begin(partner="script/noop", view="follow", pace=PACE)
        for press in range(PRESSES):
            key = "ad"[press % 2]
            tab.page.keyboard.down(key)
            tab.until(f"housemates.latencies.length > {press} || housemates.facts.over")
            tab.page.keyboard.up(key)
            if tab.get("facts.over"):
                break
            time.sleep(0.05 + 0.0073 * (press % 11))
        found = sorted(tab.get("latencies"))
        browser.close()
    print(f"{len(found)} keys at {PACE} steps a second, ?fast, 640 x 480, software WebGL")
    print(f"median {statistics.median(found):.0f} ms, 95th percentile {found[int(0.95 * len(found)) - 1]:.0f} ms")


if __name__ == "__main__":
    main()
