"""Episodes drawn in hand-made halls: who decides what, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.rooms import RECEPTACLES
from helpers.rooms import hall as make_hall
from housemates.homes.home import Home
from housemates.homes.objects import HAB_OBJECTS, NAMES
from housemates.tasks.files import Episodes
from housemates.tasks.generate import add_approach, draw_spawns, episode_rng, generate_episodes
from housemates.tasks.tasks import TASKS


@pytest.fixture(scope="module")
def tidy(hall: Home) -> Episodes:
    return generate_episodes("tidy_house", [hall], 400, seed=3)


def same(a: Episodes, b: Episodes) -> bool:
    ours, theirs = a.arrays(), b.arrays()
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[k], theirs[k], equal_nan=True) for k in ours)


@pytest.mark.parametrize("task", TASKS)
def test_the_same_seed_gives_the_same_bytes(hall: Home, task: str):
    made = [generate_episodes(task, [hall], 12, seed=5, clutter=4, spawns=True) for _ in range(2)]
    assert same(*made)


def test_another_seed_gives_other_episodes(hall: Home):
    a, b = (generate_episodes("tidy_house", [hall], 5, seed=s) for s in (0, 1))
    assert not (a.start == b.start).any(axis=(1, 2)).any()


def test_an_episode_depends_on_its_id_alone(hall: Home):
    homes = [hall, make_hall("another")]
    every = generate_episodes("tidy_house", homes, 9, seed=2, spawns=True)
    later = generate_episodes("tidy_house", homes, 4, seed=2, spawns=True, first=5)
    assert same(every.take(range(5, 9)), later)


def test_spawns_do_not_change_the_layout(hall: Home):
    a, b = (generate_episodes("set_table", [hall], 5, seed=2, spawns=s) for s in (False, True))
    assert np.array_equal(a.start, b.start)


def test_homes_take_turns(hall: Home):
    homes = [hall, make_hall("b"), make_hall("c")]
    assert generate_episodes("set_table", homes, 7, seed=0).home.tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_every_open_receptacle_is_used_about_equally(hall: Home, tidy: Episodes):
    kinds = [hall.receptacles[r].kind for r in tidy.start_receptacle.ravel()]
    shares = np.unique(kinds, return_counts=True)[1] / len(kinds)
    assert len(shares) == 6
    assert np.abs(shares - 1 / 6).max() < 0.05


def test_every_household_object_is_used_about_equally(tidy: Episodes):
    shares = np.bincount(tidy.kind.ravel(), minlength=len(NAMES)) / tidy.kind.size
    expected = [1 / 9 if name in HAB_OBJECTS else 0.0 for name in NAMES]
    assert np.abs(shares - expected).max() < 0.04


def test_yaws_go_all_the_way_round(tidy: Episodes):
    assert np.histogram(tidy.yaw, bins=8, range=(0, 2 * np.pi))[0].min() > 60


def test_without_asking_there_is_no_clutter(tidy: Episodes):
    assert (tidy.clutter_kind == -1).all()


def test_clutter_comes_in_the_number_asked_for(hall: Home):
    made = generate_episodes("tidy_house", [hall], 20, seed=0, clutter=4)
    assert ((made.clutter_kind >= 0).sum(axis=1) == 4).all()


@pytest.mark.parametrize("clutter", [-1, 11])
def test_clutter_has_bounds(hall: Home, clutter: int):
    with pytest.raises(ValueError, match=f"from 0 to 10, not {clutter}"):
        generate_episodes("tidy_house", [hall], 1, seed=0, clutter=clutter)


def test_a_home_without_a_needed_receptacle_is_refused():
    bare = make_hall("bare", tuple(r for r in RECEPTACLES if r.kind != "sofa"))
    with pytest.raises(ValueError, match=r"tidy_house.*sofa.*chair"):
        generate_episodes("tidy_house", [bare], 1, seed=0)


def test_a_home_without_a_sofa_can_still_have_its_table_set():
    bare = make_hall("bare", tuple(r for r in RECEPTACLES if r.kind != "sofa"))
    assert len(generate_episodes("set_table", [bare], 2, seed=0)) == 2


def test_a_drawer_too_small_for_the_bowl_is_refused():
    small = tuple(replace(r, half=(0.07, 0.08, 0.3)) if r.kind == "drawer_right" else r for r in RECEPTACLES)
    with pytest.raises(ValueError, match=r"024_bowl.*drawer_right"):
        generate_episodes("set_table", [make_hall("small", small)], 1, seed=0)


def test_a_table_out_of_reach_is_refused():
    high = tuple(replace(r, center=(3.4, 2.5, 2.6)) if r.kind == "table_01" else r for r in RECEPTACLES)
    with pytest.raises(ValueError, match=r"no room.*set_table"):
        generate_episodes("set_table", [make_hall("high", high)], 1, seed=0)


def test_no_homes_are_refused():
    with pytest.raises(ValueError, match="set_table"):
        generate_episodes("set_table", [], 1, seed=0)


def test_four_robots_start_apart(hall: Home):
    spawn = draw_spawns(hall.floor, episode_rng(0, "spawns", 0))
    apart = [np.hypot(*(spawn[a] - spawn[b])[:2]) for a in range(4) for b in range(a)]
    assert min(apart) >= 2.0


def test_robots_that_find_no_room_have_no_start(hall: Home):
    narrow = np.zeros_like(hall.floor.free)
    narrow[20, 20:70] = True
    spawn = draw_spawns(replace(hall.floor, free=narrow), episode_rng(0, "spawns", 0))
    assert np.isfinite(spawn).all(axis=1).tolist() == [True, True, False, False]


def test_a_floor_too_small_for_two_robots_is_refused(hall: Home):
    tiny = np.zeros_like(hall.floor.free)
    tiny[20, 20:30] = True
    with pytest.raises(ValueError, match="two robots cannot start"):
        draw_spawns(replace(hall.floor, free=tiny), episode_rng(0, "spawns", 0))


def test_progress_ends_at_the_count(hall: Home):
    seen = []
    generate_episodes("set_table", [hall], 3, seed=0, progress=lambda done, count: seen.append((done, count)))
    assert seen[-1] == (3, 3)


def test_approach_cells_are_asked_for_objects_then_goals(hall: Home):
    homes = [hall, make_hall("b")]
    made = generate_episodes("tidy_house", homes, 5, seed=0)

    def millimetres(home: Home, points: np.ndarray) -> np.ndarray:
        return np.tile((points[:, 0] * 1000).astype(int)[:, None], (1, 4))

    expected = (np.concatenate([made.start, made.goal], axis=1)[:, :, 0].astype(float) * 1000).astype(int)
    assert np.array_equal(add_approach(made, homes, millimetres).approach[:, :, 0], expected)
