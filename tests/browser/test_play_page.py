"""Playing on the page: a person wins by clicks and by keys, on a desk and on a phone, in two tabs and over a broken line."""

import math

import pytest

from browser.tab import Tab

OBJECT, GOAL = 0, 2
"""The first object and its place, as entities."""
EASY_BY_CLICKS, EASY_BY_KEYS, EASY_TABLE, EASY_GROCERIES = 6, 57, 34, 53
"""Episodes (two of Tidy House, Set Table, Groceries) in which the partner's way does not cross the person's, however slow."""


@pytest.fixture
def playing(tab):
    return tab.open("&mode=play")


def turned(tab):
    """The person's heading, radians."""
    return tab.get("latest.pose[2]")


def test_a_person_wins_with_clicks_alone(playing):
    playing.begin(EASY_BY_CLICKS)
    playing.click(OBJECT)
    playing.until("housemates.latest.held[0] === 0")
    playing.click(GOAL)
    over = playing.until("housemates.facts.over")
    assert over["outcome"] == "success"
    assert over["done_by"] == [0, 0, 1, 1]
    assert over["solo_steps"] > over["steps"]


def test_a_person_wins_with_keys_alone(playing):
    playing.begin(EASY_BY_KEYS, view="follow")
    heading = turned(playing)
    playing.page.keyboard.down("d")
    playing.until(f"housemates.latest.pose[2] !== {heading}")
    playing.page.keyboard.up("d")
    x = playing.get("latest.pose[0]")
    playing.page.keyboard.down("w")
    playing.until(f"housemates.latest.pose[0] !== {x}")
    playing.page.keyboard.up("w")
    playing.page.keyboard.press("1")
    playing.until("housemates.latest.held[0] === 0")
    playing.page.keyboard.press("2")
    assert playing.until("housemates.facts.over")["outcome"] == "success"


def test_the_key_of_a_disabled_button_does_nothing(playing):
    playing.begin(EASY_BY_KEYS, partner="script/noop")
    playing.page.keyboard.press("1")
    playing.until("housemates.latest.held[0] === 0 && housemates.latest.action[0] < 0")
    assert playing.until("document.querySelector('#skills [data-entity=\"0\"]').disabled")
    playing.page.keyboard.press("1")
    step = playing.get("latest.step")
    playing.until(f"housemates.latest.step > {step + 10}")
    assert playing.get("latest.action[0]") < 0


def test_a_person_sets_the_table_with_clicks(playing):
    playing.begin(EASY_TABLE, task="set_table")
    told = playing.page.text_content("#task")
    assert "The bowl is in the right drawer, the apple in the fridge" in told
    playing.click(OBJECT)
    playing.until("housemates.latest.done_by[0] === 0")
    assert playing.until("housemates.caption.includes('open')")
    playing.until("housemates.latest.held[0] === 0")
    playing.click(GOAL)
    over = playing.until("housemates.facts.over")
    assert (over["outcome"], over["done_by"]) == ("success", [0, 0, 0, 1, 1, 1])


def test_a_person_puts_groceries_away_with_clicks(playing):
    playing.begin(EASY_GROCERIES, task="prepare_groceries")
    assert "in the open fridge to the counter" in playing.page.text_content("#task")
    assert playing.page.locator("#skills [data-entity]").count() == 4
    playing.click(OBJECT)
    playing.until("housemates.latest.held[0] === 0")
    playing.click(GOAL)
    over = playing.until("housemates.facts.over")
    assert (over["outcome"], over["done_by"]) == ("success", [0, 0, 1, 1])


def test_the_end_tells_who_did_what_and_shows_the_game_again(playing, games):
    playing.begin(EASY_BY_CLICKS, pace=20)
    assert "name hidden until the end" in playing.page.inner_text("#robots")
    playing.page.keyboard.press("1")
    playing.until("housemates.latest.held[0] === 0")
    playing.page.keyboard.press("2")
    playing.until("document.querySelector('#end').open")
    told = playing.page.inner_text("#end")
    assert "Your partner: script" in told
    assert "Task done" in told
    assert told.count("your partner") >= 2
    assert not list(games.rglob("*.npz"))
    playing.page.check("#end-consent")
    playing.page.click("#replay")
    playing.until("housemates.facts.mode === 'watch' && housemates.film.live === false")
    assert playing.get("film.human") == 0
    assert playing.get("film.outcome") == "success"
    assert len(list(games.rglob("*.npz"))) == 1


def test_the_clock_waits_until_the_person_has_read_the_task(playing):
    playing.page.select_option("#partner", "script/solo")
    playing.page.click("#begin")
    playing.until("document.querySelector('#ready').open && housemates.latest?.paused")
    assert "Bring both objects" in playing.page.inner_text("#ready")
    step = playing.get("latest.step")
    playing.page.wait_for_timeout(400)
    assert playing.get("latest.step") == step
    playing.page.keyboard.press("Enter")
    playing.until(f"housemates.latest.step > {step}")


def test_a_key_turns_the_robot_only_while_it_is_down(playing):
    playing.begin(partner="script/noop")
    playing.page.keyboard.down("ArrowLeft")
    playing.until("housemates.latest.executed[0] === 23")
    playing.page.keyboard.up("ArrowLeft")
    step = playing.until("housemates.latest.executed[0] !== 23 && housemates.latest.step")
    heading = turned(playing)
    playing.until(f"housemates.latest.step > {step + 10}")
    assert turned(playing) == heading


def test_a_right_click_offers_all_skills_of_a_thing(playing):
    playing.begin(partner="script/noop")
    start = playing.get("latest.pose")
    x, y = playing.until(f"housemates.where({OBJECT})")
    playing.page.mouse.click(x, y, button="right")
    assert playing.page.locator("#menu button").count() == 3
    playing.page.click("#menu [data-action='0']")
    playing.until(f"housemates.latest.pose[0] !== {start[0]}")
    assert playing.page.is_hidden("#menu")


def test_a_second_tab_watches_the_same_game(playing, context, address):
    playing.begin(partner="script/noop")
    other = Tab(context, address).open("&still&mode=watch")
    other.page.click("#open-list")
    game = playing.get("film.game")
    other.page.click(f"[data-game='{game}']")
    other.until(f"housemates.film?.game === '{game}' && housemates.latest?.step > 5")
    playing.page.keyboard.down("a")
    other.until("housemates.latest.executed[0] === 23")
    playing.page.keyboard.up("a")
    assert other.page.is_hidden("#skills")
    assert other.complaints == []


def test_a_broken_line_comes_back_into_the_game(playing):
    playing.begin(partner="script/noop")
    game, step = playing.get("film.game"), playing.get("latest.step")
    playing.page.evaluate("housemates.cut()")
    playing.until(f"housemates.facts.drops === 1 && housemates.facts.connected && housemates.latest?.step > {step + 5}")
    assert playing.get("film.game") == game
    playing.page.keyboard.down("d")
    playing.until("housemates.latest.executed[0] === 24")


def test_a_page_that_is_loaded_again_comes_back_into_its_game(playing):
    playing.begin(partner="script/noop")
    game = playing.get("film.game")
    playing.open("&mode=play")
    playing.until(f"housemates.film?.game === '{game}' && housemates.facts.mode === 'play' && housemates.latest")
    playing.page.click("#go")
    playing.page.keyboard.down("d")
    playing.until("housemates.latest.executed[0] === 24")


def test_a_phone_plays_with_its_fingers(browser, address):
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tab = Tab(phone, address).open("&mode=play")
    for place in ("document.documentElement", "document.querySelector('#setup')"):
        assert tab.page.evaluate(f"{place}.scrollWidth <= innerWidth")
    tab.begin(EASY_BY_CLICKS, "script/noop", "follow")
    heading = turned(tab)
    tab.page.dispatch_event("[data-primitive=turn-left]", "pointerdown")
    tab.until("housemates.latest.executed[0] === 23")
    tab.page.dispatch_event("[data-primitive=turn-left]", "pointerup")
    assert math.cos(turned(tab) - heading) < 1
    tab.page.tap(f"#skills [data-entity='{OBJECT}']")
    tab.until("housemates.latest.held[0] === 0")
    assert tab.complaints == []
    phone.close()
