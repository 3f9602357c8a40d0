"""The running server, asked as a browser asks: files, recordings, homes, live games, swaps, watchers, slow clients."""

import json
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

from helpers import batches, pages
from housemates.recordings.recording import load_recording, replay, save_recording
from housemates.tasks.actions import ENTITIES
from housemates.web import connection, server
from housemates.web.security import AccessRules
from housemates.web.server import STATIC, Page, listen, open_page, running
from housemates.web.service import SURPRISE, Options
from housemates.web.session import HIDDEN


@pytest.fixture(scope="module")
def shown(port):
    """The first recording as the page gets it."""
    name = pages.get_json(port, "/api/recordings")["recordings"][0]["id"]
    return pages.get_json(port, f"/api/recording/{name}")


def click(guest: pages.Visitor, name: str) -> None:
    guest.send(type="click", entity=ENTITIES.index(name))


def test_the_first_answer_names_tasks_partners_and_actions(port):
    found = pages.get_json(port, "/api/start")
    assert {"tidy_house", "set_table", "prepare_groceries"} <= {t["name"] for t in found["tasks"]}
    assert found["tasks"][0]["name"] in {p["task"] for p in found["partners"]}
    assert {"script/solo", "random"} <= {p["name"] for p in found["partners"]}
    assert len(found["actions"]) == 25


def test_a_recording_is_shown_with_its_frames_and_events(shown, recording):
    assert shown["frames"]["pose"]["shape"] == [recording.steps + 1, 2, 3]
    assert [e["tick"] for e in shown["events"]] == [e["tick"] for e in recording.events]
    assert shown["events"][-1]["text"] == "task done"
    assert len(shown["decisions"]) == len(recording.decisions)


def test_bands_cover_every_decision_of_a_skill(shown, recording):
    assert {(b["robot"], b["action"]) for b in shown["bands"]} == {
        (int(d["robot"]), int(d["action"])) for d in recording.decisions
    }


def test_the_home_of_a_recording_is_shown(port, shown):
    assert pages.get_json(port, f"/api/scene/{shown['home_hash']}")["home"] == "hall"


def test_the_head_picture_of_a_frame_is_what_the_robot_saw(port, shown, recording):
    frame = recording.steps // 2
    status, content = pages.get(port, f"/api/recording/{shown['id']}/depth?frame={frame}&robot=1")
    batch = batches.make(size=1, autoreset=False, stored_spawns=True, pixels=128)
    batches.scripted(batch, "first_half", "second_half")
    batch.reset(np.array([pages.EPISODE]))
    for _ in range(frame):
        batch.tick()
    seen = batch.observe("depth")[0, 1, :, :, 0].astype(int)
    apart = np.abs(np.frombuffer(content, np.uint8).reshape(128, 128).astype(int) - seen)
    assert status == 200
    assert (apart > 2).mean() < 0.01


@pytest.mark.parametrize(
    "query", ["", "?frame=0", "?frame=-1&robot=0", "?frame=99999&robot=0", "?frame=0&robot=2", "?frame=a&robot=0"]
)
def test_a_picture_of_nothing_is_refused(port, shown, query):
    status, content = pages.get(port, f"/api/recording/{shown['id']}/depth{query}")
    assert status == 400
    assert "error" in json.loads(content)


def test_a_recording_that_is_dropped_and_fetched_plays_again(port, recording, tmp_path):
    save_recording(tmp_path / "mine.npz", recording)
    status, content = pages.get(port, "/api/recordings", "POST", (tmp_path / "mine.npz").read_bytes())
    assert status == 200
    (tmp_path / "back.npz").write_bytes(pages.get(port, f"/api/recording/{json.loads(content)['id']}/file")[1])
    back = load_recording(tmp_path / "back.npz")
    assert replay(back, batches.home()).header["digest"] == recording.header["digest"]


def test_a_file_that_is_too_large_is_refused_before_it_is_read_to_its_end(port):
    assert pages.get(port, "/api/recordings", "POST", bytes(8_100_000))[0] == 413


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static//etc/passwd", "/static/",
        "/static/vendor/../../games.py", "/server.py", "/api/recording/..%2f..%2fetc%2fpasswd", "/api/scene/..", "/api/run/x",
        "/%00", "/static/%00", "/api/recording/%ff",
    ],
)  # fmt: skip
def test_only_the_pages_own_files_are_served(port, path):
    status, content = pages.get(port, path)
    assert status == 404
    assert b"error" in content


@pytest.mark.parametrize(("suffix", "kind"), [(".js", "text/javascript"), (".css", "text/css"), (".svg", "image/svg+xml")])
def test_every_file_of_the_page_is_served_with_its_type(port, suffix, kind):
    found = []
    for path in STATIC.rglob(f"*{suffix}"):
        with urlopen(f"http://127.0.0.1:{port}/static/{path.relative_to(STATIC).as_posix()}") as answer:
            found.append(answer.headers.get_content_type())
    assert set(found) == {kind}


def test_another_host_is_refused(port):
    assert pages.get(port, "/", Host="evil.example")[0] == 403


def test_another_origin_is_refused(port):
    assert pages.get(port, "/api/start", Origin="http://evil.example")[0] == 403


def test_a_websocket_of_another_page_is_closed(port):
    with pages.stranger(port, origin="http://evil.example") as guest:
        assert guest.close_code() == connection.WRONG_ORIGIN


def test_a_game_is_played_to_success_by_clicks(port, recording):
    with pages.visitor(port) as guest:
        guest.begin()
        for name in ("obj0", "goal0", "obj1", "goal1"):
            click(guest, name)
            number = ENTITIES.index(name) % 2
            wanted = number if name.startswith("obj") else -1
            while (found := guest.frame())["held"][0] != wanted or found["action"][0] >= 0:
                pass
        over = guest.until("over")
    assert over["outcome"] == "success"
    assert over["done_by"] == [0, 0, 0, 0]
    assert over["solo_steps"] > 0
    kept = pages.get_json(port, f"/api/recording/{over['recording']}")
    assert (kept["kind"], kept["human"], kept["steps"]) == ("game", 0, over["steps"])


def test_frames_carry_pictures_for_those_who_want_them(port):
    with pages.visitor(port, depth=True) as guest:
        guest.begin()
        while not (found := guest.frame())["flags"] & 2:
            pass
        assert found["depth"].any()


def test_events_come_before_the_frame_that_shows_them(port):
    with pages.visitor(port) as guest:
        guest.begin(robots=["script/first_half", "script/second_half"])
        guest.until("over")
    told = [event for message in guest.told if message["type"] == "events" for event in message["events"]]
    assert [e["kind"] for e in told].count("subgoal") == 4
    assert told[-1]["kind"] == "success"


def test_a_swap_waits_at_the_exact_state_and_goes_on_when_it_is_let_go(port, shown, recording):
    with pages.visitor(port) as guest:
        guest.send(type="swap", recording=shown["id"], frame=20, robots=[None, "script/noop"], hz=pages.FASTEST)
        game = guest.until("game", "error")
        assert (game["first"], game["paused"], game["fork"]) == (20, True, {"recording": shown["id"], "frame": 20})
        found = guest.frame()
        assert np.array_equal(found["pose"], recording.frames["pose"][20])
        guest.send(type="step")
        while (found := guest.frame())["step"] < 21:
            pass
        assert np.array_equal(found["pose"][0], recording.frames["pose"][21, 0])
        guest.send(type="pause", paused=False)
        over = guest.until("over")
    kept = pages.get_json(port, f"/api/recording/{over['recording']}")
    assert (kept["kind"], kept["first"], kept["fork"]["frame"]) == ("fork", 20, 20)


def test_a_robot_keeps_its_own_mind_by_name_in_a_swap(port):
    with pages.visitor(port) as guest:
        guest.begin(robots=["random", "script/noop"])
        name = guest.until("over")["recording"]
        guest.send(type="swap", recording=name, frame=3, robots=[None, "script/solo"])
        assert guest.until("game", "error")["robots"] == ["random", "script/solo"]


def test_a_person_is_not_kept_in_a_swap(port):
    with pages.visitor(port) as guest:
        guest.begin(robots=["person", "script/solo"])
        name = guest.until("over")["recording"]
        guest.send(type="swap", recording=name, frame=3, robots=[None, "script/noop"])
        assert "not available here" in guest.until("game", "error")["error"]


def test_a_paused_game_stands_still(port):
    with pages.visitor(port) as guest:
        guest.begin(robots=["script/solo", "script/noop"], hz=50)
        guest.send(type="pause", paused=True)
        guest.until("clock")
        step = guest.frame()["step"]
        time.sleep(0.2)
        guest.send(type="speed", hz=20)
        guest.until("clock")
        assert guest.frame()["step"] == step


def test_a_player_learns_the_partners_name_at_the_end(port):
    with pages.visitor(port) as guest:
        game = guest.begin(robots=["person", "random"])
        assert (game["robots"], game["hidden"]) == (["person", HIDDEN], True)
        frame = guest.frame()
        assert frame["action"][1] == frame["executed"][1] == -1
        over = guest.until("over")
    assert over["robots"] == ["person", "random"]
    assert not [message for message in guest.told if message["type"] == "decision"]


def test_a_player_may_ask_to_see_the_partner(port):
    with pages.visitor(port) as guest:
        game = guest.begin(robots=["person", "script/solo"], reveal=True)
        assert (game["robots"], game["hidden"]) == (["person", "script/solo"], False)
        while guest.frame()["action"][1] < 0:
            pass


def test_a_surprise_is_a_trained_partner_of_the_task(port, service):
    with pages.visitor(port) as guest:
        game = guest.begin(robots=["person", SURPRISE], reveal=True)
    partner = service.partners[game["robots"][1]]
    assert (partner.kind in ("learned", "latent"), partner.meta["task"]) == (True, "tidy_house")


def test_a_kept_game_has_what_the_player_did_and_when(port, service):
    before = set(service.options.games.glob("*.npz"))
    with pages.visitor(port) as guest:
        guest.begin(robots=["person", "script/solo"], consent=True)
        guest.send(type="view", view="top")
        guest.send(type="click", entity=0)
        guest.send(type="key", key="left", down=True)
        guest.until("over")
    (new,) = set(service.options.games.glob("*.npz")) - before
    game = load_recording(new).header["game"]
    inputs = game["inputs"]
    assert [one[2:] for one in inputs] == [["speed", pages.FASTEST], ["view", "top"], ["click", 0], ["key", ["left", True]]]
    seconds, steps = [one[0] for one in inputs], [one[1] for one in inputs]
    assert seconds == sorted(seconds)
    assert steps == sorted(steps)
    assert game["seconds"] >= seconds[-1]
    assert abs((datetime.now(UTC) - datetime.fromisoformat(game["began"])).total_seconds()) < 600.0
    assert game["hidden"] is True


def test_a_second_tab_watches_and_may_not_play(port):
    with pages.visitor(port) as first, pages.visitor(port) as second:
        game = first.begin(hz=20)
        second.send(type="join", game=game["game"])
        joined = second.until("game")
        assert (joined["owner"], joined["key"]) == (False, None)
        second.send(type="action", action=0)
        assert "only its player" in second.until("error")["error"]
        assert second.frame()["robots"] == 2


def test_a_player_who_reconnects_goes_on_playing(port):
    with pages.visitor(port) as first:
        game = first.begin(hz=50)
        step = first.frame()["step"]
    with pages.visitor(port) as again:
        again.send(type="join", game=game["game"], key=game["key"])
        assert again.until("game")["owner"]
        again.send(type="key", key="left", down=True)
        while (found := again.frame())["executed"][0] != 23:
            pass
        assert found["step"] > step


def test_a_wrong_key_is_refused(port):
    with pages.visitor(port) as first, pages.visitor(port) as second:
        game = first.begin(hz=20)
        second.send(type="join", game=game["game"], key="guess", id=7)
        answer = second.until("error")
        assert "not the key" in answer["error"]
        assert answer["id"] == 7


def test_twenty_watchers_see_a_game_to_its_end(port):
    with pages.visitor(port) as player:
        game = player.begin(robots=["script/first_half", "script/second_half"], hz=60)
        with ExitStack() as stack:
            guests = [stack.enter_context(pages.visitor(port)) for _ in range(20)]
            for guest in guests:
                guest.send(type="join", game=game["game"])
            ends = [guest.until("over")["outcome"] for guest in guests]
    assert ends == ["success"] * 20


def test_a_client_that_never_acknowledges_neither_slows_the_game_nor_gets_a_queue(port):
    with pages.visitor(port) as player, pages.visitor(port, depth=True) as slow:
        game = player.begin(robots=["script/first_half", "script/second_half"], hz=200)
        slow.send(type="join", game=game["game"])
        slow.until("game")
        assert player.until("over")["outcome"] == "success"
        slow.send(type="stop", id=1)
        slow.until("error", acknowledge=False)
        assert len(slow.frames) == 1
        # Once it catches up it gets the newest state alone.
        slow.send(type="ack", frame=1)
        slow.until("over")
        assert len(slow.frames) == 2
        assert pages.unpack(slow.frames[-1])["flags"] & 1


def test_a_client_that_is_silent_for_too_long_is_dropped(port, monkeypatch):
    monkeypatch.setattr(connection, "TIMEOUT", 0.3)
    with pages.visitor(port) as slow:
        slow.begin(hz=100)
        assert slow.close_code() == connection.TOO_SLOW


def test_without_consent_nothing_is_written_and_with_consent_one_recording(port, service):
    def played(consent: bool) -> dict:
        with pages.visitor(port) as guest:
            guest.begin(robots=["person", "script/solo"], consent=consent)
            return guest.until("over")

    before = set(service.options.games.glob("*"))
    assert not played(False)["saved"]
    assert set(service.options.games.glob("*")) == before
    assert played(True)["saved"]
    (path,) = set(service.options.games.glob("*")) - before
    assert load_recording(path).header["game"]["human"] == 0


def test_consent_may_come_after_the_end(port, service):
    before = len(list(service.options.games.glob("*"))) if service.options.games.exists() else 0
    with pages.visitor(port) as guest:
        guest.begin(robots=["person", "script/solo"])
        guest.until("over")
        guest.send(type="consent", consent=True, id=1)
        guest.until("ok")
    assert len(list(service.options.games.glob("*"))) == before + 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "rob_house"}, "no such task"),
        ({"episode": 90}, "choose an episode"),
        ({"robots": ["person", "person"]}, "one person"),
        ({"robots": ["person", "../../agents"]}, "no such partner"),
        ({"robots": ["person", "run/x"]}, "no such partner"),
        ({"hz": 0.5}, "steps per second"),
    ],
)
def test_a_game_that_cannot_be_is_refused(port, changes, said):
    with pages.visitor(port) as guest:
        assert said in guest.begin(**changes)["error"]


def test_too_many_games_are_refused(port, service, monkeypatch):
    monkeypatch.setattr("housemates.web.session.MOST_GAMES", 0)
    with pages.visitor(port) as guest:
        assert "too many games" in guest.begin()["error"]


def test_too_many_messages_are_too_many(port):
    with pages.visitor(port) as guest:
        with suppress(ConnectionClosed):
            for _ in range(1000):
                guest.send(type="leave")
        assert guest.close_code() == connection.TOO_MANY


def test_a_server_for_others_wants_its_token(recording):
    service = pages.hall_service()
    with running(Page(service, AccessRules("127.0.0.1", 0, "secret"))) as port:
        assert pages.get(port, "/")[0] == 200
        assert pages.get(port, "/api/start")[0] == 401
        assert pages.get(port, "/api/start?token=secret")[0] == 200
        assert pages.get(port, "/api/start", Authorization="Bearer secret")[0] == 200
        with pages.stranger(port) as guest:
            assert guest.close_code() == connection.NO_TOKEN
        with pages.visitor(port, query="?token=secret") as guest:
            assert guest.told[0]["type"] == "welcome"


class Served:
    """Takes the place of a server: keeps what it was to serve."""

    def __init__(self, monkeypatch) -> None:
        self.page = None
        monkeypatch.setattr(server, "prepare", self)

    def __call__(self, page: Page) -> "Served":
        self.page = page
        return self

    def run(self, sockets) -> None:
        sockets[0].close()


def test_a_page_for_this_machine_wants_the_token_that_its_address_has(monkeypatch, capsys):
    served = Served(monkeypatch)
    open_page(Options(), port=0, browser=False, query="mode=play")
    address = urlsplit(capsys.readouterr().out.split()[0])
    token = parse_qs(address.query)["token"][0]
    assert served.page.rules.token == token
    assert len(token) >= 24
    assert not served.page.rules.token_fits({}, {})
    assert served.page.rules.token_fits({}, {"token": token})


def test_the_token_can_be_left_out_on_this_machine_alone(monkeypatch, capsys):
    served = Served(monkeypatch)
    open_page(Options(), port=0, browser=False, token=False)
    assert served.page.rules.token == ""
    assert "token" not in capsys.readouterr().out
    with pytest.raises(ValueError, match="needs its token"):
        open_page(Options(), "0.0.0.0", 0, False, token=False)


def test_a_port_that_is_taken_is_one_line():
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="choose another with --port"):
        open_page(Options(), port=taken.getsockname()[1], browser=False)


def test_an_answer_forbids_scripts_from_elsewhere(port):
    with urlopen(f"http://127.0.0.1:{port}/") as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
