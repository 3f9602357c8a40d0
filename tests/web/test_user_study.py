"""User studies: reading their files, who plays what in which order, and the whole way of a participant over a websocket."""

import csv
import io
import json
import re
import time
import zipfile
from pathlib import Path

import pytest

from helpers import pages
from housemates.agents.agent import resolve
from housemates.evaluation.rows import read_rows
from housemates.recordings.recording import load_recording
from housemates.web.games import export
from housemates.web.messages import IN_STUDY, MESSAGES, Refused
from housemates.web.server import Page, running
from housemates.web.user_study import (
    Block,
    Participants,
    UserStudy,
    answers_csv,
    participant_files,
    prepare_user_study,
    read_user_study,
)

ROOT = Path(__file__).resolve().parents[2]
FILE = """
title = "Two robots"
consent = "I agree."
text = ["You move the blue robot."]
questions = ["I would work with these robots again."]
code = "CODE-1"
hz = 1000

[[blocks]]
partner = "script/noop"
episodes = [8]
practice = true

[[blocks]]
name = "first"
partner = "script/first_half"
episodes = [8, 9]
questions = ["The robot understood me.", "The robot was in my way."]

[[blocks]]
name = "second"
partner = "script/second_half"
episodes = [8]
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(FILE)
    return prepare_user_study(read_user_study(tmp_path / "study.toml"), "eval", fastest=1000)[0]


def kinds(study, number):
    return [(part["kind"], part.get("block"), part.get("episode")) for part in study.parts(number)]


def test_practice_comes_first_and_blocks_rotate(study):
    after = ("questions", -1, None), ("end", None, None)
    practice, second = ("game", 0, 8), ("game", 2, 8)
    first = ("game", 1, 8), ("game", 1, 9), ("questions", 1, None)
    assert kinds(study, 0) == [practice, *first, second, *after]
    assert kinds(study, 1) == [practice, second, *first, *after]
    assert kinds(study, 2) == kinds(study, 0)


def test_a_fixed_order_is_that_of_the_file(study):
    fixed = UserStudy(study.title, study.consent, study.blocks, order="fixed")
    assert kinds(fixed, 1) == kinds(fixed, 0)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('partner = "script/noop"', 'partner = "script/nop"', "no scripted robot 'nop'"),
        ("episodes = [8]\npractice", "episodes = [100]\npractice", "0 to 99"),
        ("episodes = [8]\npractice", "episodes = []\npractice", "without episodes"),
        ('consent = "I agree."', 'consent = " "', "consent is empty"),
        ("hz = 1000", 'hz = "quick"', "hz"),
        ("practice = true", "practise = true", "did you mean 'practice'?"),
        ('code = "CODE-1"', "code = ", "no TOML"),
        ('title = "Two robots"', "", "has no title"),
        ('partner = "script/first_half"\n', "", "block 1 of"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(tmp_path, before, after, said):
    assert before in FILE
    (tmp_path / "study.toml").write_text(FILE.replace(before, after, 1))
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        prepare_user_study(read_user_study(tmp_path / "study.toml"), "eval", fastest=1000)
    assert "\n" not in str(refused.value).strip()


def test_the_files_of_examples_and_docs_can_be_played(tmp_path):
    text = (ROOT / "docs" / "howto" / "user_study.md").read_text()
    (tmp_path / "docs.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])
    for path in (tmp_path / "docs.toml", ROOT / "examples" / "user_study.toml"):
        study, more = prepare_user_study(read_user_study(path), "eval")
        assert more == []
        assert study.parts(0)[0]["kind"] == "game"


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(FileNotFoundError, match="no study at"):
        read_user_study(tmp_path / "study.toml")


def test_partners_have_their_full_names_and_must_be_of_the_task():
    short = UserStudy("t", "c", (Block("pretrained/bdp-tidy_house-state+lookahead", (0,)),))
    full, more = prepare_user_study(short, "eval")
    name = resolve("pretrained/bdp-tidy_house-state")[0].name
    assert full.blocks[0].partner == f"{name}+lookahead"
    assert full.blocks[0].name == "pretrained/bdp-tidy_house-state+lookahead"
    assert more == []
    with pytest.raises(ValueError, match="trained for tidy_house"):
        prepare_user_study(UserStudy("t", "c", (Block(name, (0,), task="set_table"),)), "eval")


def test_who_comes_again_goes_on_and_a_changed_study_is_refused(study, tmp_path):
    people = Participants(study, tmp_path)
    begun = people.enter("anna-1")
    assert (begun["kind"], begun["game"], begun["games"], begun["practice"]) == ("game", 1, 4, True)
    block, episode, told = people.game("anna-1")
    assert (block.partner, episode, told["block"]) == ("script/noop", 8, "script/noop")
    people.played(told, "game-1.npz", {"outcome": "success", "steps": 50})
    people.played(told, "game-1.npz", {"outcome": "success", "steps": 50})
    again = Participants(study, tmp_path).enter("anna-1")
    assert (again["part"], again["game"], again["practice"]) == (1, 2, False)
    assert Participants(study, tmp_path).enter(None)["participant"] != "anna-1"
    other = UserStudy("Another", study.consent, study.blocks)
    with pytest.raises(Refused, match="changed"):
        Participants(other, tmp_path).enter("anna-1")


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 65, "ä"])
def test_a_participant_has_a_plain_name(study, tmp_path, name):
    people = Participants(study, tmp_path)
    for call in (lambda: people.enter(name), lambda: people.game(name), lambda: people.answer(name, 0, [1])):
        with pytest.raises(Refused):
            call()
    assert not list(tmp_path.rglob("*.json"))


def test_answers_are_asked_for_once_and_all_of_them(study, tmp_path):
    people = Participants(study, tmp_path)
    people.enter("p")
    for _ in range(3):
        people.played(people.game("p")[2], "game.npz", {"outcome": "timeout", "steps": 750})
    with pytest.raises(Refused, match="no game"):
        people.game("p")
    with pytest.raises(Refused, match="2 questions"):
        people.answer("p", 3, [1])
    with pytest.raises(Refused, match="not asked now"):
        people.answer("p", 2, [1, 2])
    assert people.answer("p", 3, [1, 7])["kind"] == "game"
    with pytest.raises(Refused, match="not asked now"):
        people.answer("p", 3, [1, 7])
    lines = list(csv.DictReader(io.StringIO(answers_csv(tmp_path))))
    assert [(line["block"], line["partner"], line["answer"]) for line in lines] == [
        ("first", "script/first_half", "1"),
        ("first", "script/first_half", "7"),
    ]
    assert answers_csv(tmp_path / "elsewhere") == ""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A server with a study: its port and games folder."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(FILE)
    study, _ = prepare_user_study(read_user_study(folder / "study.toml"), "eval", fastest=1000)
    with running(Page(pages.hall_service(study=study, games=folder / "games"))) as port:
        yield port, folder / "games"


def played(person, name):
    """Play the game of a participant to its end, standing still; the messages `game` and `over`."""
    person.send(type="study_game", participant=name)
    game = person.until("game", "error")
    assert game["type"] == "game", game
    person.send(type="pause", paused=False)
    return game, person.until("over")


def test_the_way_of_a_participant_from_consent_to_code(here):
    port, games = here
    start = pages.get_json(port, "/api/start")
    assert start["study"] == {"title": "Two robots", "consent": "I agree.", "text": ["You move the blue robot."]}
    assert (start["partners"], start["mode"]) == ([], "play")
    with pages.visitor(port) as person:
        person.send(type="study_enter", participant="anna")
        part = person.until("study")
        seen = []
        while part["kind"] != "end":
            seen.append(part["kind"])
            assert "partner" not in json.dumps(part)
            if part["kind"] == "game":
                game, over = played(person, "anna")
                assert game["robots"] == over["robots"] == ["person", "hidden"]
                assert over["recording"] is None
                assert over["saved"]
                person.send(type="study_enter", participant="anna")
            else:
                answers = [4] * len(part["questions"])
                person.send(type="study_answer", participant="anna", part=part["part"], answers=answers)
            part = person.until("study")
    assert seen == ["game", "game", "game", "questions", "game", "questions"]
    assert part["code"] == "CODE-1"
    kept = json.loads((games / "participants" / "anna.json").read_text())
    assert [one["block"] for one in kept["games"]] == ["script/noop", "first", "first", "second"]
    headers = [load_recording(games / one["game"]).header["game"] for one in kept["games"]]
    assert [header["study"]["participant"] for header in headers] == ["anna"] * 4
    assert [header["study"]["practice"] for header in headers] == [True, False, False, False]
    assert [header["team"][1]["name"] for header in headers] == [
        "script/noop", "script/first_half", "script/first_half", "script/second_half",
    ]  # fmt: skip
    assert [one["part"] for one in kept["begun"]] == [0, 1, 2, 4]
    assert export(games, games.parent / "all.zip") == 4
    with zipfile.ZipFile(games.parent / "all.zip") as packed:
        assert packed.read("answers.csv").decode().count("\n") == 4
        assert json.loads(packed.read("participants/anna.json")) == kept
        lines = list(csv.DictReader(io.StringIO(packed.read("games.csv").decode())))
    assert {line["block"]: line["counted"] for line in lines} == {"script/noop": "False", "first": "True", "second": "True"}
    assert export(games, games.parent / "all.parquet") == 3
    assert read_rows(games.parent / "all.parquet")["method"].to_pylist().count("second_half") == 1


@pytest.mark.parametrize("path", ["/api/recordings", "/api/recording/x", "/api/recording/x/file", "/api/run/x"])
def test_participants_see_no_other_games(here, path):
    status, content = pages.get(here[0], path)
    assert status == 404
    assert b"user study" in content


def test_nothing_but_the_study_is_answered(here):
    with pages.visitor(here[0]) as person:
        for refused in (
            {"type": "new_game", "task": "tidy_house", "episode": 0, "robots": ["person", "script/noop"]},
            {"type": "overlay", "look_ahead": True},
            {"type": "consent", "consent": True},
            {"type": "speed", "hz": 20},
        ):
            person.send(**refused)
            assert "user study" in person.until("error", "game")["error"]
    assert set(IN_STUDY) < set(MESSAGES)


def test_games_of_others_are_not_watched(here):
    with pages.visitor(here[0]) as person, pages.visitor(here[0]) as other:
        person.send(type="study_enter", participant="berta")
        person.until("study")
        person.send(type="study_game", participant="berta")
        game = person.until("game")
        other.send(type="join", game=game["game"])
        assert "not watched" in other.until("error", "game")["error"]
        other.send(type="join", game=game["game"], key=game["key"])
        assert other.until("error", "game")["type"] == "game"


def test_a_game_that_nobody_plays_waits_and_is_begun_again(here):
    port, games = here
    with pages.visitor(port) as person:
        person.send(type="study_enter", participant="clara")
        person.until("study")
        person.send(type="study_game", participant="clara")
        first = person.until("game")
        assert first["paused"]
        person.send(type="pause", paused=False)
        person.frame()
    time.sleep(1.5)  # time for more than a whole game
    kept = json.loads((games / "participants" / "clara.json").read_text())
    assert (kept["at"], kept["games"]) == (0, [])
    with pages.visitor(port) as person:
        person.send(type="study_game", participant="clara")
        second = person.until("game")
        assert second["game"] != first["game"]
        person.send(type="join", game=first["game"], key=first["key"])
        assert person.until("error", "game")["type"] == "error"
    kept = json.loads((games / "participants" / "clara.json").read_text())
    assert [one["part"] for one in kept["begun"]] == [0, 0]


def test_why_a_game_cannot_begin_does_not_tell_the_partner(here, monkeypatch):
    def refused(*_):
        raise Refused("script/noop is not here")

    monkeypatch.setattr("housemates.web.service.Service._partner", refused)
    with pages.visitor(here[0]) as person:
        person.send(type="study_enter", participant="dora")
        person.until("study")
        person.send(type="study_game", participant="dora")
        assert "noop" not in person.until("error", "game")["error"]


def test_what_a_cut_off_write_leaves_is_no_participant(study, tmp_path):
    people = Participants(study, tmp_path)
    people.enter("a")
    (tmp_path / "participants" / ".b-12345678.tmp.json").write_text("{")
    people.enter("c")
    (tmp_path / "participants" / "a.json").unlink()
    people.enter("d")
    numbers = [json.loads(path.read_text())["number"] for path in participant_files(tmp_path)]
    assert numbers == [1, 2]
    assert answers_csv(tmp_path).count("\n") == 1


def test_the_address_stays_the_same(study, tmp_path):
    token = Participants(study, tmp_path).token()
    assert len(token) > 20
    assert Participants(study, tmp_path).token() == token


@pytest.mark.parametrize(
    ("study", "said"),
    [
        (UserStudy("t", "c", (Block("script/noop", (0,)),), hz=60.0), "1 to 30 steps per second"),
        (UserStudy("t", "c", (Block("script/noop", (0,)),), hz=float("nan")), "1 to 30 steps per second"),
        (UserStudy("t", "c", (Block("script/noop+lookahead", (0,)),)), "only trained partners"),
        (UserStudy("t", "c", (Block("pretrained/bdp-tidy_house-state+lookahead-mind", (0,)),)), "only trained partners"),
    ],
)
def test_what_could_not_be_played_is_refused_at_the_start(study, said):
    with pytest.raises(ValueError, match=said):
        prepare_user_study(study, "eval")


def test_without_a_study_its_messages_are_refused(port):
    with pages.visitor(port) as person:
        person.send(type="study_enter")
        assert "no user study" in person.until("error", "study")["error"]
        person.send(type="study_game", participant="x")
        assert "no user study" in person.until("error", "game")["error"]
