"""Takes the pictures of docs/howto/page.md: a recording, two futures, a game, its end, a phone; a training if a run is given.

Run it from the repository: python tests/browser/pictures.py docs/pictures [RUN]
With `--all` it takes more of them, light and dark, on a desk and on a phone, for whoever changes the page and wants to look.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, sync_playwright

from browser.tab import CHROMIUM, FLAGS, Tab
from housemates.web.server import Page, running
from housemates.web.service import Options, Service

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TASK = "tidy_house"
PAIR = tuple(f"tidy_house/examples/gt_coord-tidy_house-state-0-{robot}" for robot in range(2))
AGENT = "tidy_house/examples/bdp-tidy_house-state-0"
WATCHED, PLAYED, SWAPPED, EVADED = 7, 6, 30, 7
"""The episodes that are watched and played, the step at which the partner is swapped, an episode in which one evades."""


class Photographer:
    """Opens pages as a visitor would and takes pictures of them."""

    def __init__(self, browser: Browser, address: str, folder: Path, dark: bool = False, phone: bool = False) -> None:
        size = (
            {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 1} if phone else {"viewport": DESK}
        )
        self.context = browser.new_context(**size, color_scheme="dark" if dark else "light")
        self.tab, self.folder = Tab(self.context, address), folder
        self.tail = ("_phone" if phone else "") + ("_dark" if dark else "")

    def open(self, query: str) -> Tab:
        self.tab.page.goto(f"{self.tab.address}/?fine&still{query}")
        self.tab.until("window.housemates?.facts.ready && housemates.facts.connected")
        return self.tab

    def take(self, name: str) -> None:
        """A picture as soon as the page is at rest."""
        time.sleep(1.5)
        self.tab.page.screenshot(path=self.folder / f"page_{name}{self.tail}.png", timeout=120_000)

    def list(self) -> None:
        """Open the list of recordings, and in it the form for a fresh episode."""
        self.tab.page.click("#open-list")
        self.tab.until("document.querySelector('#list details')")
        self.tab.page.evaluate("document.querySelector('#list details').open = true")

    def watch(self) -> None:
        """A fresh episode of two trained robots, as a recording in the middle of it."""
        tab = self.open("&mode=watch")
        self.list()
        tab.page.select_option("#fresh-task", TASK)
        tab.page.fill("#fresh-episode", str(WATCHED))
        for robot, name in enumerate(PAIR):
            tab.page.select_option(f"#fresh-{robot}", name)
        tab.page.click("#fresh-begin")
        tab.until("housemates.film?.live")
        tab.page.select_option("#speed", "10")
        tab.until("housemates.film.live === false && housemates.facts.over")
        tab.page.evaluate("housemates.seek(Math.round(housemates.steps * 0.45))")
        tab.until("housemates.pictures === housemates.step")
        self.take("watch")

    def swap(self) -> None:
        """Goes on from the watched recording with somebody else."""
        tab = self.tab
        tab.page.evaluate(f"housemates.seek({SWAPPED})")
        tab.page.click("#swap")
        tab.page.select_option("#swap-partner", "script/first_half")
        tab.page.click("#swap-go")
        tab.until("housemates.other && housemates.latest?.step === " + str(SWAPPED))
        tab.page.select_option("#speed", "10")
        tab.page.click("#play")
        tab.until("housemates.other.live === false")
        tab.page.evaluate(f"housemates.seek({SWAPPED + 35})")
        self.take("swap")

    def play(self, also: bool = False) -> None:
        """A game with a script, and its end."""
        tab = self.open("&mode=play")
        if also:
            self.take("setup")
        tab.page.click(f"[data-task={TASK}]")
        tab.page.select_option("#partner", "script/second_half")
        tab.page.select_option("#pace", "6")  # The game must not end before its picture is taken.
        tab.page.fill("#episode", str(PLAYED))
        tab.page.dispatch_event("#episode", "change")
        tab.page.click("#begin")
        tab.until("document.querySelector('#ready').open && housemates.latest")
        if also:
            self.take("ready")
        tab.page.click("#go")
        tab.page.click("#skills [data-entity='0']")
        tab.until("housemates.latest.held[0] === 0")
        tab.page.click("#skills [data-entity='2']")
        step = tab.get("latest.step")
        tab.until(f"housemates.latest.step > {step + 2}")
        self.take("play")
        tab.until("document.querySelector('#end').open")
        self.take("end")

    def ahead(self) -> None:
        """A robot that looks ahead, at a decision for which it compared candidates."""
        tab = self.open("&mode=watch")
        tab.page.evaluate(f"housemates.begin('tidy_house', {EVADED}, ['{AGENT}+lookahead', 'script/solo'])")
        tab.until("housemates.film?.live === false && housemates.film.kind === 'game'")
        tab.page.select_option("#overlay", "0")
        tick = tab.until("housemates.overlay.aheads.findLast((a) => a.others.length)?.tick")
        tab.page.evaluate(f"housemates.seek({tick})")
        self.take("lookahead")

    def more(self) -> None:
        """What the pictures of the documentation do not show."""
        tab = self.open("&mode=watch")
        self.take("empty")
        self.list()
        self.take("list")
        tab.page.click("#help")
        self.take("help")

    def train(self) -> None:
        """The curves of a run."""
        tab = self.open("&mode=train")
        tab.until("document.querySelectorAll('.curve').length > 1")
        self.take("train")


def main() -> None:
    """Take them."""
    words = [word for word in sys.argv[1:] if word != "--all"]
    folder, runs = Path(words[0]), tuple(map(Path, words[1:2]))
    folder.mkdir(parents=True, exist_ok=True)
    everything = "--all" in sys.argv
    with tempfile.TemporaryDirectory() as games, sync_playwright() as playwright:
        service = Service(Options(games=Path(games), runs=runs))
        with running(Page(service)) as port:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            kinds = [(dark, phone) for dark in (False, True) for phone in (True, False)] if everything else [(False, False)]
            for dark, phone in kinds:
                visit = Photographer(browser, f"http://127.0.0.1:{port}", folder, dark, phone)
                if everything:
                    visit.more()
                visit.watch()
                visit.swap()
                visit.ahead()
                visit.play(everything)
                if runs:
                    visit.train()
                visit.context.close()
            if not everything:
                Photographer(browser, f"http://127.0.0.1:{port}", folder, phone=True).play()
            browser.close()


if __name__ == "__main__":
    main()
