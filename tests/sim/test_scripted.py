"""Scripted robots: their plans, and that they can do the tasks, in procedural and in real homes."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from batches import EPISODES, make, play, scripted
from housemates.homes.generate import generate_home
from housemates.homes.home import Home
from housemates.homes.replicacad import load_replicacad
from housemates.sim.batch import Batch
from housemates.sim.rules import SPEEDS, Rules
from housemates.sim.scripted import HALVES, SCRIPTS, plans, script
from housemates.sim.state import SUCCESS, TIMEOUT
from housemates.tasks.episodes import generate_episodes, with_approach
from housemates.tasks.goals import ACTIONS
from housemates.tasks.tasks import TASKS, get_task

LONG = 5000
"""A horizon that nothing reaches, steps."""


def solo(task: str, homes: list[Home], count: int, speed: str, seed: int = 11) -> Batch:
    """A lone robot plays `count` new episodes to the end."""
    made = with_approach(generate_episodes(task, homes, count, seed, spawns=True), homes)
    rules = Rules(speed=speed, horizon=LONG)
    batch = Batch(made, homes, count, robots=1, rules=rules, stored_spawns=True, autoreset=False)
    batch.script(0, script("solo"))
    batch.reset(np.arange(count))
    play(batch)
    return batch


@pytest.fixture(scope="module")
def procedural() -> list[Home]:
    return [generate_home("dev", k) for k in range(3)]


@pytest.fixture(scope="module")
def real(replica_cad: Path) -> list[Home]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            load_replicacad(replica_cad, scene) for scene in ("v3_sc0_staging_00", "v3_sc1_staging_07", "v3_sc2_staging_11")
        ]


@pytest.mark.parametrize("task", TASKS)
def test_a_lone_robot_completes_99_of_100_episodes(procedural: list[Home], task: str):
    assert (solo(task, procedural, 100, "fast").ended.outcome == SUCCESS).sum() >= 99


@pytest.mark.parametrize("task", TASKS)
def test_a_lone_robot_completes_episodes_in_replicacad(real: list[Home], task: str):
    assert (solo(task, real, 30, "fast").ended.outcome == SUCCESS).all()


@pytest.mark.slow
@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_a_lone_robot_completes_99_percent_of_a_thousand_episodes(task: str, speed: str):
    homes = [generate_home("dev", k) for k in range(12)]
    ended = solo(task, homes, 1000, speed).ended
    within = (ended.steps <= 750).mean()
    print(f"{task} {speed}: mean {ended.steps.mean():.0f} steps, {ended.travelled.mean():.1f} m, {within:.1%} within 750")
    assert (ended.outcome == SUCCESS).mean() >= 0.99


@pytest.mark.parametrize("task", TASKS)
def test_each_half_achieves_its_subgoals_and_nothing_else(task: str):
    subgoals = get_task(task).subgoals
    for name, i in (("first_half", 0), ("second_half", 1)):
        batch = make(task, size=EPISODES, robots=1, autoreset=False)
        scripted(batch, name)
        play(batch)
        half = [a for a in HALVES[task][i] if not a.startswith("nav")]
        wanted = [str(s) in [a.replace("goal", "obj") for a in half] for s in subgoals]
        assert ((batch.ended.done_by[:, : len(subgoals)] >= 0) == wanted).all()


def test_the_noop_robot_never_moves():
    batch = make(size=4, rules=Rules(horizon=50), autoreset=False, robots=1)
    scripted(batch, "noop")
    before = batch.state.pose.copy()
    play(batch)
    assert (batch.state.pose == before).all()
    assert (batch.ended.outcome == TIMEOUT).all()


def test_the_two_halves_together_complete_the_task_unless_they_crash():
    batch = make("tidy_house", size=EPISODES, autoreset=False)
    scripted(batch, "first_half", "second_half")
    play(batch)
    assert not (batch.ended.outcome == TIMEOUT).any()
    assert (batch.ended.outcome == SUCCESS).any()


def test_the_better_order_is_no_longer_than_either():
    length = {}
    for name in ("solo", "solo_first", "solo_second"):
        batch = make("tidy_house", size=EPISODES, robots=1, rules=Rules(horizon=LONG), autoreset=False, stored_spawns=True)
        scripted(batch, name)
        play(batch)
        length[name] = batch.ended.travelled[:, 0].copy()
    best = np.minimum(length["solo_first"], length["solo_second"])
    assert (length["solo"] <= best + 0.5).all()


def test_a_script_skips_what_is_infeasible():
    """The partner has taken the bowl already: S1 goes through its plan and stops."""
    batch = make("set_table", rules=Rules(horizon=400), autoreset=False)
    scripted(batch, "first_half", "noop")
    batch.state.held[0, 1] = 0
    batch.state.pose[0, 1, :2] = 100.0
    play(batch)
    assert (batch.ended.outcome[0], batch.ended.done_by[0].tolist()) == (TIMEOUT, [0, -1, -1, -1, -1, -1])


def test_a_script_starts_again_with_the_next_episode():
    batch = make("tidy_house", size=EPISODES, robots=1, rules=Rules(horizon=LONG))
    scripted(batch, "solo")
    for _ in range(3):
        step = play(batch)
        assert (step.outcome == SUCCESS).all()


def test_scripted_robots_are_never_asked():
    batch = make(size=4)
    scripted(batch, "solo", "noop")
    assert not batch.decide.any()


@pytest.mark.parametrize("task", TASKS)
def test_plans_are_rows_of_actions(task: str):
    table = plans(task)
    names = [tuple(ACTIONS[a] for a in row if a >= 0) for row in table]
    first, second = HALVES[task]
    assert names == [(), first, second, first + second, second + first]


def test_an_unknown_script_is_refused():
    with pytest.raises(ValueError, match=f"no scripted robot 'lazy' - choose one of: {', '.join(SCRIPTS)}"):
        script("lazy")
