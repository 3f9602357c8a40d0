"""Scripts with a habit: what each does, and that the kernel that chooses is the same as a slow reading of the rules."""

import numpy as np
import pytest

from helpers.batches import EPISODES, make
from housemates.homes.home import OPENABLE
from housemates.homes.navigation import navigation, path_length
from housemates.recordings.recording import record_batch, replay, resume
from housemates.sim import habits
from housemates.sim.rules import Rules
from housemates.sim.scripts import FURTHER, script
from housemates.sim.skills import OPEN_ENOUGH
from housemates.sim.state import SUCCESS
from housemates.tasks.actions import ACTIONS, REACH
from housemates.tasks.tasks import TASKS

ALONE = ("slow", "stubborn", "changes_mind", "other_order")
"""Scripts that do the whole task by themselves, whatever it is."""
FAR = Rules(horizon=3000)


def alone(name, task, rules=FAR):
    """A robot with a habit, by itself, in every episode of the hall."""
    batch = make(task, EPISODES, 1, rules, stored_spawns=True, autoreset=False)
    batch.script(0, script(name))
    batch.reset(np.arange(EPISODES))
    return batch


def together(name, task, plan="noop", rules=FAR):
    """A robot with a habit as robot 0, and a script as robot 1."""
    batch = make(task, EPISODES, 2, rules, stored_spawns=True, autoreset=False)
    batch.script(0, script(name))
    batch.script(1, script(plan))
    batch.reset(np.arange(EPISODES))
    return batch


def run(batch):
    """Play to the end."""
    batch.step(np.full((batch.size, batch.robots), -1))
    return batch.ended


# The slow twin: the rules of sim/habits.py read aloud, with the home's own lists instead of the kernels' tables.


class Twin:
    def __init__(self, batch, e, r):
        self.s, self.r = batch.records[e], r
        self.home, self.world = batch.homes[int(self.s["home"])], batch.world
        self.episode = batch.world.episodes[int(self.s["episode"])]
        self.way = navigation(self.home)

    def near(self, point):
        x, z = self.s["pose"][self.r, :2]
        return np.sqrt((point[0] - x) ** 2 + point[1] ** 2 + (point[2] - z) ** 2) <= REACH

    def holder(self, i):
        return [r for r in range(self.s["robots"]) if self.s["held"][r] == i]

    def work(self, i, opens):
        if self.s["held"][self.r] == i:
            return f"place goal{i}" if self.near(self.episode["goal"][i]) else f"nav goal{i}"
        if not self.holder(i) and (self.s["rest"][i] == self.episode["goal"][i]).all():
            return "done"
        if self.holder(i) or self.s["held"][self.r] >= 0:
            return "wait"
        box = int(self.s["inside"][i])
        if box >= 0 and self.s["door"][box] <= OPEN_ENOUGH[box]:
            handle = self.home.receptacles[self.home.instances(OPENABLE[box])[0]].target
            if not self.near(handle):
                return f"nav {OPENABLE[box]}"
            return f"open {OPENABLE[box]}" if opens else "wait"
        return f"pick obj{i}" if self.near(self.s["thing"][i]) else f"nav obj{i}"

    def left(self, points):
        """Metres to the nearest of the approach cells for some points."""
        cell = self.home.floor.cell_of[tuple(round(v) for v in self.home.floor.grid(self.s["pose"][self.r, :2]))]
        return min(path_length(self.way, self.home, int(cell), int(a)) for a in points if a >= 0)

    def go(self, word, cells):
        return f"nav {word}" if self.left(cells) > habits.THERE else "no-op"

    def choose(self, name):
        mind = int(self.s["plan_at"][self.r])
        if name == "blocks" and self.s["clock"] < habits.STANDS:
            return self.go("goal0", self.episode["goal_approach"][0])
        for i in (mind % 2, 1 - mind % 2):
            untouched = not self.holder(i) and (self.s["rest"][i] == self.episode["start"][i]).all()
            if (name == "blocks" and i == 0) or (name == "hands_over" and self.s["held"][self.r] != i and not untouched):
                continue
            word = self.work(i, name != "opens_nothing")
            if word not in ("wait", "done"):
                return word
            if name == "stubborn" and word == "wait":
                return "no-op"
        if name in ("blocks", "hands_over"):
            place = self.world.homes[int(self.s["home"])]["place_approach"][4]
            return self.go("sofa", place.reshape(-1))
        return "no-op"


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", FURTHER)
def test_the_kernel_chooses_as_its_slow_twin(name, task):
    batch = together(name, task, "second_half", Rules(horizon=700))
    some = (0, 5, 11)
    for _ in range(350):
        for e in some:
            if not batch.state.over[e]:
                chosen = habits.habitual(batch.world, batch.records[e], 0)
                assert ACTIONS[chosen] == Twin(batch, e, 0).choose(name)
        batch.tick()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ALONE)
def test_who_does_the_whole_task_completes_it_alone(name, task):
    assert (run(alone(name, task)).outcome == SUCCESS).all()


def test_a_slow_robot_needs_about_twice_the_time():
    slow, quick = (run(alone(name, "tidy_house")).steps for name in ("slow", "stubborn"))
    assert 1.8 < slow.mean() / quick.mean() < 2.1


def test_the_other_order_is_not_the_shorter_one():
    assert run(alone("other_order", "tidy_house")).steps.mean() > run(alone("stubborn", "tidy_house")).steps.mean()


def test_a_mind_is_changed_three_times_at_most():
    batch = alone("changes_mind", "tidy_house")
    batch.tick()
    seen = np.zeros(EPISODES, int)
    while not batch.state.over.all():
        batch.tick()
        seen = np.maximum(seen, batch.state.plan_at[:, 0] >> 1)
    assert seen.max() == habits.CHANGES
    assert batch.ended.steps.mean() > run(alone("stubborn", "tidy_house")).steps.mean()


def test_who_opens_nothing_never_opens_and_waits_at_what_is_closed():
    batch = alone("opens_nothing", "set_table", Rules(horizon=600))
    run(batch)
    assert (batch.ended.outcome != SUCCESS).all()
    assert (batch.state.door == batch.world.task[0]["door_start"]).all()


def test_who_opens_nothing_carries_what_somebody_else_has_opened():
    batch = alone("opens_nothing", "set_table")
    for box in range(len(OPENABLE)):
        batch.state.door[:, box] = OPEN_ENOUGH[box] + 0.1
    assert (run(batch).outcome == SUCCESS).all()


def test_a_blocker_stands_at_the_first_goal_and_then_does_the_second_object():
    batch = alone("blocks", "tidy_house", Rules(horizon=700))
    while batch.state.clock[0] < habits.STANDS:
        batch.tick()
    goal = batch.world.episodes["goal"][batch.state.episode, 0][:, [0, 2]]
    assert (np.linalg.norm(batch.state.pose[:, 0, :2] - goal, axis=1) < REACH).all()
    run(batch)
    assert (batch.state.rest[:, 1] == batch.world.episodes["goal"][batch.state.episode, 1]).all()
    assert (batch.state.rest[:, 0] == batch.world.episodes["start"][batch.state.episode, 0]).all()


def test_who_hands_over_leaves_objects_on_the_floor_where_skills_reach_them():
    batch = alone("hands_over", "tidy_house", Rules(horizon=900))
    run(batch)
    assert (batch.state.held[:, 0] < 0).all()
    on_floor = batch.state.rest[:, :, 1] < 0.15
    assert on_floor.mean() > 0.8
    floor = batch.homes[0].floor
    for e, i in np.argwhere(on_floor):
        assert floor.is_free(tuple(batch.state.rest[e, i, [0, 2]]))
        assert batch.state.approach[e, i, 0] >= 0


def test_what_was_handed_over_can_be_brought_to_its_goal():
    batch = alone("hands_over", "tidy_house", Rules(horizon=900))
    while batch.state.clock[0] < 500:
        batch.tick()
    # Somebody else takes the robot's place: the same state, another script.
    batch.state.script[:, 0] = batch.state.plan[:, 0] = script("stubborn")
    assert (run(batch).outcome == SUCCESS).all()


@pytest.mark.parametrize("name", FURTHER)
def test_a_game_with_a_habit_can_be_played_again_and_continued_from_any_step(name):
    batch = together(name, "tidy_house", rules=Rules(horizon=200))
    recording = record_batch(batch)
    assert replay(recording, batch.homes[0]).header["digest"] == recording.header["digest"]
    middle = resume(recording, recording.steps // 2, batch.homes[0])
    run(middle)
    run(batch)
    assert int(middle.ended.steps[0]) == int(batch.ended.steps[0]) == recording.steps
    np.testing.assert_array_equal(middle.state.pose[0], batch.state.pose[0])


def test_habits_play_beside_robots_under_low_level_control():
    batch = together("slow", "tidy_house", rules=Rules(horizon=60))
    batch.state.controllable[:, 1] = True
    while not batch.state.over.all():
        batch.control(np.zeros((batch.size, 2, 10), np.float32))
    assert (batch.ended.travelled[:, 0] > 0).all()
