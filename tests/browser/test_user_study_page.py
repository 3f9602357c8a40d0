"""A user study in the browser: a participant agrees, plays, answers and gets the code; a reload in between changes nothing."""

import json

import pytest

from browser.conftest import FASTEST
from browser.tab import TOKEN, Tab
from housemates.web.user_study import Block, UserStudy, prepare_user_study

OBJECT, GOAL = 0, 2
EASY = 6
"""An episode in which the partner's way does not cross the person's."""


@pytest.fixture(scope="module")
def study(tmp_path_factory, address):
    """A server with a study: its address and games folder. `address`: everything has been compiled before."""
    from housemates.web.security import AccessRules
    from housemates.web.server import Page, running
    from housemates.web.service import Options, Service

    blocks = (Block("script/second_half", (EASY,), "helper", questions=("It helped me.", "It was in my way.")),)
    whole, _ = prepare_user_study(UserStudy("Robots", "I agree.", blocks, ("Hello.",), code="C-7", hz=20.0), "eval")
    folder = tmp_path_factory.mktemp("study")
    options = Options(mode="play", games=folder, fastest=FASTEST, study=whole)
    with running(Page(Service(options), AccessRules(token=TOKEN))) as port:
        yield f"http://127.0.0.1:{port}", folder


def test_from_consent_to_code(context, study):
    place, folder = study
    tab = Tab(context, place).open("&pid=anna")
    page = tab.page
    assert page.is_hidden("nav")
    assert page.is_hidden("#open-list")
    assert page.is_disabled("#study-begin")
    assert "Hello." in page.inner_text("#setup")
    page.check("#study-agree")
    page.click("#study-begin")
    page.click("#study-game")
    tab.until("housemates.film?.live && housemates.latest && housemates.drawn > 0")
    assert "second" not in page.inner_text("#ready")
    page.click("#go")
    tab.until("!housemates.latest.paused")
    # The page is loaded again in the middle of the game, and goes on.
    tab.open("&pid=anna")
    tab.until("housemates.film?.live && housemates.latest && housemates.drawn > 0")
    page.click("#go")
    tab.until("!housemates.latest.paused")
    page.keyboard.press("1")
    tab.until("housemates.latest.held[0] === 0")
    page.keyboard.press("2")
    tab.until("housemates.facts.over")
    assert "second" not in page.inner_text("#end")
    page.click("#study-on")
    page.wait_for_selector(".question")
    assert page.is_disabled("#study-answer")
    page.check("[name=question-0][value='6']")
    page.check("[name=question-1][value='2']")
    page.click("#study-answer")
    page.wait_for_selector("#study-code")
    assert page.inner_text("#study-code") == "C-7"
    kept = json.loads((folder / "participants" / "anna.json").read_text())
    assert [one["outcome"] for one in kept["games"]] == ["success"]
    assert [(one["question"], one["answer"]) for one in kept["answers"]] == [("It helped me.", 6), ("It was in my way.", 2)]
    assert len(list(folder.glob("game-*.npz"))) == 1
    assert tab.complaints == []
    assert tab.get("facts.errors") == []
