"""The look-ahead on the page: live games and their recordings tell the same, and only to those who ask."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers import batches, pages
from housemates.agents.agent import Agent, looking, resolve, scripted
from housemates.evaluation.recordings import record_game
from housemates.lookahead.settings import LookAhead, titled
from housemates.recordings.recording import UNKNOWN, Recording, load_recording, save_recording
from housemates.web.game import Game, new_game
from housemates.web.overlay import look_again, offered_of
from housemates.web.server import Page, running

SHIPPED = "tidy_house/examples/bdp-tidy_house-state-0"


def agent(variant: str | None = "guess") -> Agent:
    return looking(resolve(SHIPPED)[0], LookAhead(variant) if variant else None)


def played(*team: Agent, explaining: bool = True, most: int = 150) -> tuple[Game, list[dict], Recording]:
    """A game, everything that was told of the look-ahead of robot 0, and its recording."""
    game, told = new_game(batches.episodes(), [batches.home()], 3, team), []
    game.explaining = explaining
    for _ in range(most):
        if game.over:
            break
        game.tick()
        newest = game.aheads.get(0)
        if newest is not None and newest not in told[-1:]:
            told.append(newest)
    return game, told, game.recorder.finish()


@pytest.fixture(scope="module")
def with_look_ahead():
    return played(agent(), scripted("solo"))


def test_a_live_game_tells_the_look_ahead_at_each_decision(with_look_ahead):
    _, told, kept = with_look_ahead
    mine = kept.decisions[kept.decisions["robot"] == 0]
    assert [row["tick"] for row in told] == mine["tick"].tolist()
    assert [row["action"] for row in told] == mine["action"].tolist()
    assert {"changed", "own"} <= {row["became"] for row in told}


def test_a_recording_tells_what_the_live_game_told(with_look_ahead, tmp_path):
    _, told, kept = with_look_ahead
    save_recording(tmp_path / "game.npz", kept)
    again = look_again(load_recording(tmp_path / "game.npz"), batches.home(), 0)
    assert json.dumps(again) == json.dumps(told)


def test_a_game_that_nobody_asks_about_tells_nothing():
    game, told, _ = played(agent(), scripted("solo"), explaining=False, most=20)
    assert (game.aheads, told) == ({}, [])


def test_asking_changes_no_game(with_look_ahead):
    _, _, kept = with_look_ahead
    assert played(agent(), scripted("solo"), explaining=False)[2].header["digest"] == kept.header["digest"]


def test_what_the_policy_decided_is_kept_beside_what_was_done(with_look_ahead):
    _, told, kept = with_look_ahead
    mine = kept.decisions["robot"] == 0
    assert kept.wanted[mine].tolist() == [row["wanted"] for row in told]
    assert (kept.wanted[mine] != kept.decisions["action"][mine]).any()
    assert (kept.wanted[~mine] == UNKNOWN).all()


def test_candidates_are_told_with_path_and_fate(with_look_ahead):
    _, told, _ = with_look_ahead
    row = next(row for row in told if row["others"])
    assert sum(p["probability"] for p in row["partners"]) == pytest.approx(1, abs=0.01)
    for found in (row["own"], row["chosen"], *row["others"]):
        assert (found["contact"] is None) == (found["at"] is None)
        assert found["contact"] is None or 1 <= found["contact"] <= 40
        assert all(len(point) == 2 for point in found["points"])
    assert row["own"]["risk"] > row["limit"]
    assert row["chosen"] not in row["others"]


def test_of_a_policy_that_does_not_look_ahead_it_is_shown_what_it_would_do():
    game, told, kept = played(agent(None), scripted("solo"))
    assert game.offered() == [{"title": "look-ahead", "acts": False}, None]
    assert {row["acts"] for row in told} == {False}
    assert "held" not in {row["became"] for row in told}
    assert json.dumps(look_again(kept, batches.home(), 0)) == json.dumps(told)


def test_a_recording_without_the_policys_decisions_offers_no_look_ahead(with_look_ahead):
    _, _, kept = with_look_ahead
    assert offered_of(kept) == [{"title": "look-ahead", "acts": True}, None]
    assert offered_of(replace(kept, wanted=np.full_like(kept.wanted, UNKNOWN)))[0] is None
    assert offered_of(pages.scripted()) == [None, None]


def test_decisions_that_come_out_differently_are_left_out(with_look_ahead):
    _, told, kept = with_look_ahead
    other = replace(kept, header={**kept.header, "robots": [agent("velocity").name, "script/solo"]})
    assert len(look_again(other, batches.home(), 0)) < len(told)


def test_the_names_of_agents_say_how_they_look_ahead():
    for variant in ("guess", "velocity", "oracle_action"):
        assert titled(agent(variant).name) == (SHIPPED, LookAhead(variant))
    assert titled("a robot + a look-ahead") == ("a robot + a look-ahead", None)


def test_recorded_games_of_an_evaluation_can_be_explained():
    from housemates.agents.actors import load_actors

    who = agent()
    kept = record_game(
        batches.episodes(), [batches.home()], [load_actors([who])[who], "solo"], 3, names=[who.name, "script/solo"]
    )
    robot = kept.header["robots"].index(who.name)
    found = look_again(kept, batches.home(), robot)
    assert len(found) == (kept.decisions["robot"] == robot).sum()


@pytest.fixture(scope="module")
def shown():
    service = pages.hall_service()
    with running(Page(service)) as port:
        yield port


def test_the_server_tells_the_look_ahead_to_those_who_ask(shown):
    team = [f"{SHIPPED}+lookahead", "script/solo"]
    with pages.visitor(shown) as guest, pages.visitor(shown) as other:
        guest.send(type="overlay", look_ahead=True)
        game = guest.begin(robots=team, episode=3, hz=200)
        assert game["look_ahead"] == [{"title": "look-ahead", "acts": True}, None]
        other.send(type="join", game=game["game"])
        over = guest.until("over")
        other.until("over")
    told = [message for message in guest.told if message["type"] == "look_ahead"]
    assert told
    assert not [message for message in other.told if message["type"] == "look_ahead"]
    view = pages.get_json(shown, f"/api/recording/{over['recording']}")
    assert view["look_ahead"] == [{"title": "look-ahead", "acts": True}, None]
    rows = pages.get_json(shown, f"/api/recording/{over['recording']}/lookahead?robot=0")["decisions"]
    by_tick = {row["tick"]: row for row in rows}
    assert all(by_tick[message["tick"]] == {k: v for k, v in message.items() if k != "type"} for message in told)
    for robot in ("1", "7"):
        status, content = pages.get(shown, f"/api/recording/{over['recording']}/lookahead?robot={robot}")
        assert (status, "no look-ahead" in json.loads(content)["error"]) == (404, True)


def test_a_player_is_not_told_how_the_partner_looks_ahead(shown):
    with pages.visitor(shown) as guest:
        guest.send(type="overlay", look_ahead=True)
        game = guest.begin(robots=["person", f"{SHIPPED}+lookahead"])
        assert game["look_ahead"] == [None, None]
        guest.until("over")
    assert not [message for message in guest.told if message["type"] == "look_ahead"]


def test_a_robot_that_looks_ahead_is_kept_in_a_swap(shown):
    with pages.visitor(shown) as guest:
        guest.begin(robots=[f"{SHIPPED}+lookahead", "script/noop"], episode=3)
        name = guest.until("over")["recording"]
        guest.send(type="swap", recording=name, frame=3, robots=[None, "script/solo"])
        assert guest.until("game", "error")["robots"] == [f"{SHIPPED} + look-ahead", "script/solo"]


@pytest.mark.parametrize("name", [f"{SHIPPED}+lookahead-magic", f"{SHIPPED}+lookahead-mind", "script/solo+lookahead"])
def test_a_look_ahead_that_cannot_be_is_refused_in_one_line(shown, name):
    with pages.visitor(shown) as guest:
        assert guest.begin(robots=[name, "script/noop"])["type"] == "error"
