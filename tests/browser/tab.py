"""One tab of a browser with the page in it."""

import os
import shutil
import time

CHROMIUM = os.environ.get("HOUSEMATES_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking")
TOKEN = "token-of-the-tests"
"""What the server of the tests asks for, as every server does."""
PATIENCE = 60.0
"""Seconds until a test gives up; only a broken page ever takes that long."""


class Tab:
    """One tab with the page, and everything it said that it should not have said."""

    def __init__(self, context, address):
        self.page, self.address = context.new_page(), address
        self.complaints, self.requests = [], []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, query=""):
        """Load the page and wait until it is ready."""
        self.page.goto(f"{self.address}/?fast{query}" + (f"&token={TOKEN}" if "token=" not in query else ""))
        self.until("window.housemates?.facts.ready && housemates.facts.connected")
        return self

    def get(self, what):
        """A value of `window.housemates`."""
        return self.page.evaluate(f"window.housemates.{what}")

    def until(self, condition):
        """Wait until an expression is true; its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.page.evaluate(condition)
            if found:
                return found
            time.sleep(0.03)
        facts = self.page.evaluate("JSON.stringify(window.housemates?.facts)")
        raise AssertionError(f"still not so after {PATIENCE:.0f} s: {condition}\n{facts}\n{self.complaints}")

    def begin(self, episode=6, partner="script/second_half", view="top", pace=20, task="tidy_house"):
        """Begin a game as robot 0."""
        self.page.click(f"[data-task={task}]")
        for name, value in (("partner", partner), ("your-view", view), ("pace", str(pace))):
            self.page.select_option(f"#{name}", value)
        self.page.fill("#episode", str(episode))
        self.page.dispatch_event("#episode", "change")
        self.page.click("#begin")
        self.until("housemates.film?.live && housemates.latest && housemates.drawn > 0")
        self.page.click("#go")
        self.until("!housemates.latest.paused")

    def click(self, entity):
        """Click where an entity is seen."""
        x, y = self.until(f"housemates.where({entity})")
        self.page.mouse.click(x, y)
