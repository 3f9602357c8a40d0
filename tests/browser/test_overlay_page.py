"""The look-ahead on the page: off until it is asked for, then on the floor and in words, for recordings and live games."""

import pytest

SHIPPED = "tidy_house/examples/bdp-tidy_house-state-0"


@pytest.fixture
def opened(tab, looked_ahead):
    """A page with a recording of a robot that looks ahead."""
    path, _ = looked_ahead
    tab.open("&still&mode=watch")
    tab.page.click("#open-list")
    tab.page.set_input_files("#list input[type=file]", path)
    tab.until("housemates.film.kind === 'uploaded' && housemates.overlay.offered.length === 2")
    return tab


def asked(tab):
    return [url for url in tab.requests if "/lookahead" in url]


def test_the_look_ahead_of_a_recording_is_shown_when_it_is_chosen(opened, looked_ahead):
    _, rows = looked_ahead
    row = next(row for row in rows if row["others"])
    held = next(r for r in rows if r["became"] == "held")
    assert opened.get("overlay.robot") == -1
    assert not asked(opened)
    assert opened.page.is_hidden("#ahead")
    opened.page.select_option("#overlay", "0")
    opened.until(f"housemates.overlay.aheads.length === {len(rows)}")
    opened.page.evaluate(f"housemates.seek({row['tick']})")
    card = opened.until(f"housemates.overlay.card.includes('step {row['tick']}:') && housemates.overlay.card")
    safe = sum(c["risk"] <= row["limit"] for c in row["others"])
    assert "replaces its policy's decision: it might end in contact" in card
    assert f"contact in {row['own']['contact']} steps" in card
    assert f"{safe} other candidates are safe" in card
    # Paths and marks of all candidates, of the decision and of the partner.
    assert opened.get("overlay.drawn") >= len(row["others"]) + len(row["partners"]) + 2
    opened.page.evaluate(f"housemates.seek({held['tick']})")
    opened.until("housemates.overlay.card.includes('holds on to a manoeuvre')")
    opened.page.keyboard.press("o")
    opened.until("housemates.overlay.robot === -1 && housemates.overlay.drawn === 0")
    assert opened.page.is_hidden("#ahead")
    assert len(asked(opened)) == 1


def test_a_live_game_shows_its_look_ahead_while_it_is_chosen(tab):
    tab.open("&still&mode=watch")
    tab.page.evaluate(f"housemates.begin('tidy_house', 3, ['{SHIPPED}+lookahead', 'script/solo'])")
    tab.until("housemates.film?.live && housemates.latest")
    assert tab.get("overlay.aheads") == []
    tab.page.select_option("#overlay", "0")
    assert tab.until("housemates.overlay.aheads.length > 0 && housemates.overlay.aheads")[0]["acts"]


def test_on_a_phone_the_look_ahead_leaves_room_for_the_home(opened):
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.page.select_option("#overlay", "0")
    opened.until("housemates.overlay.aheads.length > 0 && !document.getElementById('ahead').hidden")
    card, stage = (opened.page.locator(name).bounding_box() for name in ("#ahead", "#stage"))
    assert card["x"] >= 0
    assert card["x"] + card["width"] <= 390
    assert card["height"] < stage["height"] / 3
