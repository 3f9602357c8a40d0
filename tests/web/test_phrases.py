"""The words, colours and buttons that the page gets from the server: complete, filled in, and the same as elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import pages
from housemates.agents.agent import Agent
from housemates.evaluation import suite
from housemates.recordings import film, palette
from housemates.recordings.captions import doing
from housemates.reports import floor_plan
from housemates.sim.state import MOST_ROBOTS
from housemates.tasks.actions import ACTIONS, ENTITIES
from housemates.tasks.tasks import TASKS, get_task
from housemates.web import phrases
from housemates.web.game import everybody

THINGS = ("bowl", "apple")


@pytest.fixture(scope="module")
def start(port):
    return pages.get_json(port, "/api/start")


def filled(template):
    return template.format(*THINGS)


def test_every_action_has_a_name_a_kind_and_words(start):
    assert [row["name"] for row in start["actions"]] == list(ACTIONS)
    assert all(row["kind"] and row["doing"] and row["imperative"] for row in start["actions"])


def test_the_page_says_of_an_action_what_films_say(start):
    assert [filled(row["doing"]) for row in start["actions"]] == [doing(action, THINGS) for action in range(len(ACTIONS))]


def test_every_entity_has_a_title_and_its_navigation_first(start):
    assert [row["name"] for row in start["entities"]] == list(ENTITIES)
    for row in start["entities"]:
        assert filled(row["title"])
        assert ACTIONS[row["actions"][0]] == f"nav {row['name']}"


def test_every_action_on_an_entity_belongs_to_one_entity(start):
    owned = [action for row in start["entities"] for action in row["actions"]]
    assert sorted(owned) == [number for number, name in enumerate(ACTIONS) if " " in name]


@pytest.mark.parametrize(
    ("caption", "order"), [("goes to the sofa", "go to the sofa"), ("waits", "wait"), ("places the bowl", "place the bowl")]
)
def test_a_caption_becomes_an_order(caption, order):
    assert phrases.imperative(caption) == order


@pytest.mark.parametrize(
    ("kind", "what", "robot", "text"),
    [
        ("subgoal", "pick obj0", 1, "you pick the bowl"),
        ("subgoal", "pick obj0", 0, "your partner picks the bowl"),
        ("infeasible", "place obj1", 1, "you cannot place the apple"),
        ("infeasible", "place obj1", 0, "your partner cannot place the apple"),
    ],
)
def test_a_player_reads_who_did_what(kind, what, robot, text):
    event = {"tick": 3, "kind": kind, "robot": robot, "what": what}
    assert phrases.for_player(event, THINGS, 1) == text


def test_an_interrupted_player_is_addressed():
    event = {"tick": 3, "kind": "interruption", "robot": 0, "what": "nav obj0"}
    text = phrases.for_player(event, THINGS, 0)
    assert text.startswith("you are ")
    assert "robot" not in text


def test_who_only_watches_reads_of_robots_by_number():
    event = {"tick": 3, "kind": "subgoal", "robot": 0, "what": "pick obj0"}
    assert phrases.for_player(event, THINGS, -1).startswith("robot 0 ")


@pytest.mark.parametrize("task", TASKS)
def test_every_subgoal_of_a_task_has_one_button(task):
    ended = [number for button in phrases.buttons(task, THINGS) for number in button["subgoals"]]
    assert sorted(ended) == list(range(len(get_task(task).subgoals)))


def test_only_a_task_with_closed_furniture_has_buttons_to_open_it():
    entities = {task: {ENTITIES[b["entity"]] for b in phrases.buttons(task, THINGS)} for task in TASKS}
    assert {"drawer_right", "fridge"} <= entities["set_table"]
    assert not {"drawer_right", "fridge"} & entities["tidy_house"]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_instructions(task):
    assert all(phrases.instructions(task))


def test_a_task_without_texts_of_its_own_is_described_by_its_subgoals(monkeypatch):
    monkeypatch.setitem(TASKS, "set_table", replace(TASKS["set_table"], instructions=()))
    assert "open the right drawer" in phrases.instructions("set_table")[0]


@pytest.mark.parametrize("task", list(TASKS))
def test_no_two_partners_of_a_task_have_the_same_title(task):
    offered = [partner for partner in everybody().values() if partner.meta.get("task") in (None, "", task)]
    titles = [phrases.partner_title(partner) for partner in offered]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("task", list(TASKS))
def test_the_page_offers_learned_partners_in_every_task(task):
    assert [partner for partner in everybody().values() if partner.trained and partner.meta["task"] == task]


def test_the_page_does_not_offer_who_is_not_in_the_suite(monkeypatch):
    gone = next(p for p in everybody().values() if p.trained and p.meta["task"] == "set_table")
    monkeypatch.setattr(suite, "dropped_of", lambda task: {suite.key_of(gone): "another"} if task == "set_table" else {})
    assert gone.name not in everybody()


def test_latents_of_one_policy_have_titles_of_their_own():
    meta = {"method": "hidden_utility", "task": "tidy_house", "observations": "state", "seed": 100, "holdout": True}
    two = [Agent(f"tidy_house/holdouts/x/z{k}", "latent", "x", k, meta=meta | {"preference": "stays_put"}) for k in range(2)]
    titles = [phrases.partner_title(partner) for partner in two]
    assert titles[0] != titles[1]
    assert all("stays put" in title for title in titles)


def test_a_held_out_partner_is_named_as_one():
    shipped = [partner for partner in everybody().values() if partner.kind == "learned" and partner.meta.get("holdout")]
    assert shipped
    assert all(phrases.partner_title(partner).startswith("held-out robot") for partner in shipped)


def test_films_floor_plans_and_the_page_have_the_same_colours(start):
    assert tuple(colour.dark for colour in palette.ROBOTS) == film.ROBOTS
    assert list(floor_plan.THINGS) == [start["palette"]["light"][f"object{i}"] for i in range(2)]
    for theme in palette.THEMES:
        assert len({start["palette"][theme][f"robot{r}"] for r in range(MOST_ROBOTS)}) == MOST_ROBOTS


def test_a_depth_picture_has_the_colours_of_the_film(start):
    table = np.array(start["palette"]["depth"])
    assert table.shape == (256, 3)
    # The page colours inverse depth: 255 is nearest, 0 is nothing hit.
    near, far = film.coloured(np.array([[1e-6, film.FARTHEST]]))[0]
    assert np.abs(table[255] - near).max() <= 1
    assert table[0].tolist() == far.tolist()


def test_layouts_for_every_number_of_robots_are_sent(start):
    assert sorted(map(int, start["frames"]["layouts"])) == list(range(1, MOST_ROBOTS + 1))
    assert set(start["frames"]["flags"]) == {"over", "pictures", "paused"}
