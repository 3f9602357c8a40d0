"""Homes and episodes packed for the kernels."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home, world
from helpers.rooms import hall
from housemates.homes.home import OPENABLE, RECEPTACLES
from housemates.homes.navigation import navigation
from housemates.sim.skills import BLOCKED, cell_at, path_length
from housemates.sim.world import pack
from housemates.tasks.actions import VERBS, door_of
from housemates.tasks.tasks import TASKS, get_task


def test_episodes_of_other_homes_are_refused():
    with pytest.raises(ValueError, match="made for other homes"):
        pack(episodes(), [hall("another")])


def test_episodes_without_approach_cells_are_refused():
    with pytest.raises(ValueError, match="no approach cells"):
        pack(replace(episodes(), approach=None), [home()])


def test_every_floor_cell_knows_itself():
    w = world()
    found = [cell_at(w, 0, x, z) for x, z in w.cell_xz]
    assert found == list(range(len(home().floor.cells)))


def test_off_the_floor_there_is_no_cell():
    w, receptacles = world(), home().receptacles
    points = [(r.center[0], r.center[2]) for r in receptacles] + [(-50.0, 0.0), (0.0, 1e4)]
    assert {cell_at(w, 0, x, z) for x, z in points} == {BLOCKED}


def test_path_lengths_are_geodesic():
    """Along corners a robot drives no more than a few per cent farther than the shortest way on the floor."""
    w, floor, way = world(), home().floor, navigation(home())
    rng = np.random.default_rng(0)
    for _ in range(50):
        cell, a = rng.integers(len(floor.cells)), rng.integers(len(way.approach))
        goal = w.cell_xz[w.approach_cell[a]]
        shortest = floor.geodesic(tuple(w.cell_xz[cell]), tuple(goal))
        assert shortest - 0.05 <= path_length(w, 0, cell, a) <= 1.03 * shortest + 0.1


def test_receptacles_keep_their_order_and_number():
    counts = [len(home().instances(kind)) for kind in RECEPTACLES]
    assert world().homes["place_count"][0].tolist() == counts


def test_doors_are_the_joints_of_the_home():
    assert world().homes["door_joint"][0].tolist() == [door_of(home(), kind) for kind in OPENABLE]


def test_objects_in_closed_furniture_know_what_hides_them():
    inside = world("set_table").episodes["start_inside"]
    assert (inside == [OPENABLE.index("drawer_right"), OPENABLE.index("fridge")]).all()


def test_objects_on_open_furniture_are_hidden_by_nothing():
    assert (world("tidy_house").episodes["start_inside"] == -1).all()


@pytest.mark.parametrize("task", TASKS)
def test_subgoals_are_found_by_verb_and_thing(task: str):
    table = world(task).task[0]["subgoal_of"]
    found = [table[VERBS.index(s.verb), s.index] for s in get_task(task).subgoals]
    assert found == list(range(len(found)))
    assert (table >= 0).sum() == len(found)
