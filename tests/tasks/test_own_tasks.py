"""Tasks of one's own: what a table derives, what is refused, how they are found, and that their episodes are theirs."""

from dataclasses import replace

import pytest

import housemates.plugins
from helpers.rooms import hall
from housemates.homes.home import Home
from housemates.homes.objects import HAB_OBJECTS
from housemates.sim.rules import Rules
from housemates.tasks.actions import Subgoal
from housemates.tasks.episodes import load_episodes
from housemates.tasks.task import Target, Task
from housemates.tasks.tasks import PAPER_TASKS, TASKS, get_task, known_task, register_task, resolve_task, task_key, task_title
from housemates.tasks.validate import validate
from housemates.training.trainer import environment_hash

BOWL = Target(objects=("024_bowl",), start=("table_01",), goal=("sink",))
BOX = Target(objects=HAB_OBJECTS, start=("table_01",), goal=("counter",))
MODULE = """
from housemates.tasks.task import Target, Task
THERE = Task("there_and_back", (Target(("024_bowl",), ("sofa",), ("sink",)), Target(("024_bowl",), ("sink",), ("sofa",))))
"""


def clear_table(**changes) -> Task:
    return Task(**{"name": "clear_table", "targets": (BOWL, BOX)} | changes)


@pytest.fixture
def table(monkeypatch):
    """The table of tasks, as it was before when the test is over."""
    monkeypatch.setenv("HOUSEMATES_USE", "")
    known = dict(TASKS)
    yield TASKS
    TASKS.clear()
    TASKS.update(known)


def test_sub_goals_and_scripts_follow_from_the_table():
    task = clear_table()
    assert task.subgoal_names == ("pick obj0", "place obj0", "pick obj1", "place obj1")
    assert task.halves[1] == ("nav obj1", "pick obj1", "nav goal1", "place goal1")


def test_what_is_closed_is_opened_first():
    task = clear_table(targets=(replace(BOWL, start=("drawer_left",)), BOX))
    assert task.halves[0][:4] == ("nav drawer_left", "open drawer_left", "nav obj0", "pick obj0")
    assert task.subgoals[0] == Subgoal("open", "drawer_left")


def test_a_goal_in_a_closed_fridge_is_opened_before_placing():
    task = clear_table(targets=(replace(BOWL, goal=("fridge",)), BOX))
    assert task.subgoal_names[:3] == ("pick obj0", "open fridge", "place obj0")


def test_two_objects_in_one_drawer_open_it_for_pay_once():
    shut = replace(BOWL, start=("drawer_left",))
    assert clear_table(targets=(shut, shut)).subgoal_names.count("open drawer_left") == 1


def test_a_title_follows_from_the_name():
    assert clear_table().title == "Clear Table"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "Clear Table"}, "use lower-case letters"),
        ({"targets": (BOWL,)}, "a task has 2"),
        ({"targets": (replace(BOWL, objects=("bowl",)), BOX)}, "objects of target 0 names 'bowl' - did you mean '024_bowl'"),
        ({"targets": (BOWL, replace(BOX, goal=("counters",)))}, "goal of target 1 names 'counters' - did you mean 'counter'"),
        ({"targets": (BOWL, replace(BOX, goal="counter"))}, "give a tuple of names"),
        ({"targets": (replace(BOWL, goal_above=1), BOX)}, "name an earlier target"),
        ({"targets": (replace(BOWL, start=("fridge", "sofa")), BOX)}, "give subgoals and halves"),
        ({"subgoals": (Subgoal("open", "obj0"),)}, "no sub-goal 'open obj0'"),
        ({"subgoals": (Subgoal("pick", "obj0"),) * 2}, "each once"),
        ({"halves": (("nav obj0",) * 7, ("nav obj1",) * 7)}, "two halves of 12 actions"),
        ({"halves": (("fetch obj0",), ())}, "a script has the action 'fetch obj0'"),
        ({"opened": (("sink", 1.0),)}, "opens 'sink'"),
        ({"instructions": "Clear it."}, "give a tuple of sentences"),
    ],
)
def test_a_table_with_a_mistake_is_refused_in_one_line(changes, words):
    with pytest.raises(ValueError, match=words) as error:
        clear_table(**changes)
    assert "\n" not in str(error.value)


def test_a_registered_task_is_found_by_its_name(table):
    assert get_task(register_task(clear_table()).name) == clear_table()


def test_a_task_of_the_paper_cannot_be_replaced(table):
    with pytest.raises(ValueError, match="give yours another name"):
        register_task(clear_table(name="set_table"))


def test_a_task_is_named_by_its_module_in_the_present_folder(table, tmp_path, monkeypatch):
    (tmp_path / "own_tasks_here.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    assert resolve_task("own_tasks_here:THERE").name == "there_and_back"
    del TASKS["there_and_back"]
    assert get_task("there_and_back").title == "There And Back", "processes started from here know it by HOUSEMATES_USE"


def test_a_module_that_only_a_file_names_is_not_imported(table, tmp_path, monkeypatch):
    (tmp_path / "bad_tasks.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="'bad_tasks:X'"):
        get_task("bad_tasks:X")


class Entry:
    """What an installed package offers."""

    value = "kitchen_tasks:CLEAR"

    def __init__(self, name: str, thing: object) -> None:
        self.name, self.thing = name, thing

    def load(self) -> object:
        if isinstance(self.thing, Exception):
            raise self.thing
        return self.thing


def offer(monkeypatch, *entries: Entry) -> None:
    monkeypatch.setattr(
        housemates.plugins.metadata, "entry_points", lambda group: entries if group == "housemates.tasks" else ()
    )


def test_a_task_of_an_installed_package_is_found(table, monkeypatch):
    offer(monkeypatch, Entry("clear_table", clear_table()))
    assert get_task("clear_table") == clear_table()


def test_an_entry_point_that_is_no_task_is_told_in_one_line(table, monkeypatch):
    offer(monkeypatch, Entry("clear_table", 3))
    with pytest.raises(ValueError, match="kitchen_tasks:CLEAR"):
        get_task("clear_table")


def test_a_broken_package_does_not_hide_the_other_tasks(table, monkeypatch):
    offer(monkeypatch, Entry("broken", ImportError("no such thing")), Entry("clear_table", clear_table()))
    with pytest.warns(UserWarning, match="cannot be loaded"):
        assert known_task("clear_table") is not None


def test_an_unknown_task_has_its_own_name_for_a_title(table):
    assert task_title("polish_floor") == "polish_floor"


def test_only_the_paper_s_tasks_are_told_apart_by_their_name_alone(table):
    register_task(clear_table())
    assert [task_key(task.name) for task in PAPER_TASKS] == [task.name for task in PAPER_TASKS]
    assert task_key("clear_table") != "clear_table"


@pytest.fixture(scope="module")
def home() -> Home:
    return hall()


def test_episodes_of_a_task_of_ones_own_hold_every_rule_and_are_kept(table, tmp_path, monkeypatch, home):
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    register_task(clear_table())
    episodes = load_episodes("clear_table", "dev", homes=[home])
    assert validate(episodes, [home]) == []
    monkeypatch.setattr("housemates.tasks.episodes.make_episodes", lambda *_: pytest.fail("made again"))
    assert (load_episodes("clear_table", "dev", homes=[home]).goal == episodes.goal).all()


def test_a_changed_table_has_other_episodes_and_another_environment(table, tmp_path, monkeypatch, home):
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    register_task(clear_table())
    before = load_episodes("clear_table", "dev", homes=[home])
    known = environment_hash(before, Rules(), 2)
    register_task(clear_table(targets=(replace(BOWL, goal=("sofa",)), BOX)))
    after = load_episodes("clear_table", "dev", homes=[home])
    assert {home.receptacles[r].kind for r in after.goal_receptacle[:, 0]} == {"sofa"}
    assert environment_hash(before, Rules(), 2) != known


def test_other_words_change_no_episode(table):
    assert clear_table(title="Clean Up", instructions=("Clean up.",)).table_hash == clear_table().table_hash
