"""Watching on the page: it loads quietly, plays and scrubs recordings, and tells what happens when it happens."""

import base64
import json

import numpy as np
import pytest

from browser.tab import Tab
from housemates.recordings.captions import thing_names, told
from housemates.recordings.recording import load_recording
from housemates.web import connection
from housemates.web.training import TrainingRun


@pytest.fixture(scope="module")
def shown(browser, address):
    """One page for all tests that only look."""
    context = browser.new_context(viewport={"width": 640, "height": 480})
    found = Tab(context, address).open("&still&mode=watch")
    yield found
    assert found.complaints == []
    assert found.get("facts.errors") == []
    context.close()


@pytest.fixture
def watching(shown):
    """That page at the beginning of its recording."""
    shown.page.evaluate("housemates.seek(0)")
    return shown


@pytest.fixture
def alone(tab):
    """A page of a test's own."""
    return tab.open("&still&mode=watch")


def test_the_page_asks_no_other_server_for_anything(watching):
    watching.until("housemates.pictures === 0")
    assert len(watching.requests) > 10
    assert all(url.startswith((watching.address, watching.address.replace("http", "ws"))) for url in watching.requests)


def test_a_recording_plays_to_its_end(watching):
    watching.page.select_option("#speed", "10")
    watching.page.keyboard.press("Space")
    assert watching.get("playing")
    watching.until("!housemates.playing")
    assert watching.get("step") == watching.get("steps")
    assert watching.get("caption").endswith("task done")


def test_every_event_is_told_at_its_step_and_not_before(watching, recorded):
    recording = load_recording(recorded)
    for event in recording.events:
        words = told(event, thing_names(recording))
        for step, expected in ((event["tick"] - 1, False), (event["tick"], True)):
            drawn = watching.get("drawn")
            watching.page.evaluate(f"housemates.seek({step})")
            watching.until(f"housemates.drawn > {drawn}")
            assert (words in watching.get("caption")) == expected


def test_the_page_shows_the_poses_of_the_file(watching, recorded):
    recording = load_recording(recorded)
    for step in (0, 17, recording.steps):
        shown = watching.get(f"frameOf('film', {step})")
        for name in ("pose", "held", "thing", "door"):
            assert np.array_equal(np.array(shown[name], np.float32), recording.frames[name][step].ravel().astype(np.float32))


def test_the_timeline_is_scrubbed_by_pointer_and_keys(watching):
    box = watching.page.locator("#timeline").bounding_box()
    watching.page.mouse.click(box["x"] + box["width"] - 14, box["y"] + 40)
    assert watching.get("step") == watching.get("steps")
    watching.page.mouse.click(box["x"] + 66, box["y"] + 40)
    assert watching.get("step") == 0
    watching.page.keyboard.press("ArrowRight")
    watching.page.click("#forth")
    watching.page.click("#forth")
    watching.page.click("#back")
    assert watching.get("step") == 2


def test_every_camera_draws(watching):
    for name in ("top", "follow0", "follow1", "eyes", "orbit"):
        drawn = watching.get("drawn")
        watching.page.click(f"[data-camera={name}]")
        watching.until(f"housemates.drawn > {drawn}")
        assert watching.get("camera") == name


def test_a_file_is_opened_and_shown(alone, recorded):
    alone.page.click("#open-list")
    alone.page.set_input_files("#list input[type=file]", recorded)
    alone.until("housemates.film.kind === 'uploaded'")
    assert alone.get("film.outcome") == "success"


def test_a_recording_that_is_dropped_onto_the_page_plays(tab, recorded):
    tab.open("&mode=play")
    content = base64.b64encode(recorded.read_bytes()).decode()
    carried = tab.page.evaluate_handle(
        """(text) => {
            const carried = new DataTransfer();
            carried.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], "tidy.npz"));
            return carried;
        }""",
        content,
    )
    tab.page.dispatch_event("#setup", "dragenter", {"dataTransfer": carried})
    assert tab.page.is_visible("#drop")
    tab.page.dispatch_event("#setup", "drop", {"dataTransfer": carried})
    tab.until("housemates.film?.kind === 'uploaded' && housemates.step > 3")
    assert tab.get("facts.mode") == "watch"
    assert tab.page.is_hidden("#drop")


def test_a_file_that_is_no_recording_is_refused_in_one_line(context, address, tmp_path):
    tab = Tab(context, address).open("&still&mode=watch")
    (tmp_path / "noise.npz").write_bytes(b"not a recording")
    tab.page.click("#open-list")
    tab.page.set_input_files("#list input[type=file]", tmp_path / "noise.npz")
    assert "no recording" in tab.until("document.querySelector('#notice:not([hidden])')?.textContent")


def test_the_theme_is_kept(alone):
    assert alone.page.evaluate("document.documentElement.dataset.theme") == "light"
    alone.page.click("#theme")
    alone.open("&still&mode=watch")
    assert alone.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_young_run_shows_its_curves_and_no_door_yet(tab):
    tab.open("&mode=train")
    tab.until("document.querySelectorAll('.curve svg polyline').length === 2")
    assert "5,000 decisions" in tab.page.inner_text("#training")
    assert tab.page.is_disabled("#drop-in")


def test_each_stage_of_a_run_has_its_own_curve(tab, two_stages):
    tab.open(f"&run={TrainingRun(two_stages).id}")
    tab.until("document.querySelectorAll('.curve').length === 2")
    lines = tab.page.evaluate(
        """[...document.querySelector('.curve').querySelectorAll('polyline')]
            .map((line) => [line.dataset.stage, line.getAttribute('points')])"""
    )
    assert [stage for stage, _ in lines] == ["1", "2"]
    across = [[float(point.split(",")[0]) for point in points.split()] for _, points in lines]
    assert [len(xs) for xs in across] == [5, 3]
    assert all(xs == sorted(xs) for xs in across)
    text = tab.page.inner_text("#training")
    assert "8,000 decisions" in text
    assert "stage 2: coordination agent" in text


def test_a_page_that_was_closed_for_silence_wakes_when_something_is_asked(tab, monkeypatch):
    monkeypatch.setattr(connection, "IDLE", 0.3)
    tab.open("&mode=watch&still")
    tab.until("!housemates.facts.connected || housemates.asleep")
    monkeypatch.undo()
    assert tab.page.is_hidden("#notice")
    tab.page.evaluate("housemates.begin('tidy_house', 3, ['script/first_half', 'script/second_half'])")
    tab.until("housemates.film?.live && housemates.latest?.step > 3")


def test_one_drops_into_a_fresh_episode_of_the_newest_checkpoint(context, elsewhere):
    address, token = elsewhere
    tab = Tab(context, address).open(f"&mode=train&token={token}")
    tab.until("document.querySelectorAll('.curve svg polyline').length === 2")
    tab.page.click("#drop-in")
    tab.until("housemates.film?.live && housemates.latest?.step > 3")
    assert tab.get("film.robots") == ["trained/0", "trained/1"]
    tab.until("document.querySelectorAll('#robots .action').length === 10")
    assert tab.complaints == []


def test_a_page_of_this_machine_wants_its_token(context, address):
    tab = Tab(context, address)
    tab.page.goto(f"{address}/?fast")
    assert "open the address that was printed" in tab.until("document.querySelector('#empty:not([hidden])')?.textContent")


def test_a_page_for_other_machines_wants_its_token(context, elsewhere):
    address, _ = elsewhere
    tab = Tab(context, address)
    tab.page.goto(f"{address}/?fast&token=guessed")
    assert "open the address that was printed" in tab.until("document.querySelector('#empty:not([hidden])')?.textContent")
    assert tab.page.evaluate("fetch('/api/recordings').then((answer) => answer.status)") == 401


def test_everything_fits_onto_a_phone(browser, address):
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tab = Tab(phone, address)
    for mode in ("watch", "play", "train"):
        tab.open(f"&still&mode={mode}")
        right = tab.page.evaluate(
            "Math.max(...[...document.querySelectorAll('header > *')].map((e) => e.getBoundingClientRect().right))"
        )
        assert right <= 390
    phone.close()


def test_who_has_no_recording_is_shown_two_robots(context, elsewhere):
    address, token = elsewhere
    tab = Tab(context, address).open(f"&mode=watch&token={token}")
    tab.page.click("#show-me")
    tab.until("housemates.film?.live && housemates.latest?.step > 3")
    assert tab.page.is_hidden("#empty")


def test_a_swapped_partner_goes_on_from_the_exact_state(alone):
    alone.page.evaluate("housemates.seek(30)")
    alone.page.click("#swap")
    alone.page.select_option("#swap-partner", "script/noop")
    alone.page.click("#swap-go")
    alone.until("housemates.other && housemates.latest?.step === 30")
    recorded, going_on = alone.get("frameOf('film', 30)"), alone.get("frameOf('other', 30)")
    for name in ("pose", "arm", "thing", "thing_yaw", "door", "held"):
        assert json.dumps(recorded[name]) == json.dumps(going_on[name]), name
    assert alone.get("future") == "both"


def test_both_futures_can_be_compared_after_a_swap(alone):
    alone.page.evaluate("housemates.seek(30)")
    alone.page.click("#swap")
    alone.page.select_option("#swap-partner", "script/solo")
    alone.page.click("#swap-go")
    alone.until("housemates.other && housemates.latest?.step === 30")
    alone.page.select_option("#speed", "10")
    alone.page.click("#play")
    alone.until("housemates.other.live === false")
    assert alone.get("other.first") == 30
    assert alone.get("other.outcome") in ("success", "collision", "timeout")
    alone.page.click("[data-future=recorded]")
    alone.page.evaluate("housemates.seek(40)")
    assert alone.get("frameOf('film', 40).step") == alone.get("frameOf('other', 40).step") == 40
