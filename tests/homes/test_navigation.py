"""Approach cells, the way to them, and their cache, in the hand-made hall and in a generated home."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.rooms import RECEPTACLES
from helpers.rooms import hall as make_hall
from housemates.geometry.distance import distance_field
from housemates.geometry.sight import sees
from housemates.homes import navigation as module
from housemates.homes.generate import generate_home
from housemates.homes.home import Home
from housemates.homes.navigation import (
    APART,
    EXTRA_2D,
    REACH_3D,
    THIN,
    Navigation,
    approach_cells,
    approach_for,
    approach_for_points,
    navigation,
    path_length,
    prepare,
)


@pytest.fixture(scope="module")
def hall() -> Home:
    return make_hall()


@pytest.fixture(scope="module")
def way(hall: Home) -> Navigation:
    return navigation(hall)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    return tmp_path / "navigation"


def corner_of_the_hall(name: str = "corner") -> Home:
    """The hall with one receptacle, so that its navigation is computed in a moment."""
    return make_hall(name, RECEPTACLES[:1])


def where(home: Home, cells: np.ndarray) -> np.ndarray:
    """World (x, z) [N, 2] of floor cells."""
    return np.asarray(home.floor.origin) + home.floor.cells[cells][:, ::-1] * home.floor.cell


def test_every_receptacle_has_an_approach_cell_next_to_its_target(hall, way):
    cells = where(hall, np.arange(len(hall.floor.cells)))
    for receptacle, start in zip(hall.receptacles, way.start, strict=True):
        target = np.asarray(receptacle.target)[[0, 2]]
        nearest = np.linalg.norm(cells - target, axis=1).min()
        assert np.linalg.norm(where(hall, way.approach[start[:1]])[0] - target) <= nearest + THIN


def test_approach_cells_of_a_receptacle_come_nearest_to_its_target_first(hall, way):
    for receptacle, start in zip(hall.receptacles, way.start, strict=True):
        away = np.linalg.norm(where(hall, way.approach[start]) - np.asarray(receptacle.target)[[0, 2]], axis=1)
        assert (np.diff(away) >= 0).all()


def test_no_two_approach_cells_are_closer_than_the_thinning(hall, way):
    xz = where(hall, way.approach)
    gaps = np.linalg.norm(xz[:, None] - xz[None], axis=2) + np.eye(len(xz))
    assert gaps.min() > THIN


def test_every_corner_of_a_receptacle_has_an_approach_cell_hardly_farther_than_the_nearest_floor(hall, way):
    cells, kept = where(hall, np.arange(len(hall.floor.cells))), where(hall, way.approach)
    for receptacle in hall.receptacles:
        for x, z in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
            corner = receptacle.world(np.array([x * receptacle.half[0], 0.0, z * receptacle.half[2]]))[[0, 2]]
            nearest = np.linalg.norm(cells - corner, axis=1).min()
            assert np.linalg.norm(kept - corner, axis=1).min() <= nearest + THIN + 1e-9


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_path_along_corners_is_hardly_longer_than_the_geodesic(hall, way, data):
    cell = data.draw(st.integers(0, len(hall.floor.cells) - 1))
    a = data.draw(st.integers(0, len(way.approach) - 1))
    start, goal = where(hall, np.array([cell, way.approach[a]]))
    assert path_length(way, hall, cell, a) <= hall.floor.geodesic(tuple(start), tuple(goal)) * 1.03 + 0.12


def test_every_hop_towards_an_approach_cell_is_in_sight(hall, way):
    cells = hall.floor.cells.astype(float)
    hops = [(c, int(way.corner[a, c])) for a in range(0, len(way.approach), 5) for c in range(0, len(cells), 7)]
    assert all(sees(hall.floor.main, *cells[c], *cells[n]) for c, n in hops)


def test_an_approach_cell_is_at_distance_zero_of_itself(hall, way):
    assert [path_length(way, hall, int(cell), a) for a, cell in enumerate(way.approach)] == [0.0] * len(way.approach)


def test_a_cell_that_does_not_exist_is_refused_by_name(hall, way):
    with pytest.raises(IndexError, match="No path from cell -1"):
        path_length(way, hall, -1, 0)


def slow_approach(home: Home, way: Navigation, point: np.ndarray) -> list[int]:
    """`approach_for` in plain words."""
    xz = where(home, way.approach)
    flat = np.linalg.norm(xz - point[[0, 2]], axis=1)
    order = np.argsort(flat, kind="stable")
    chosen = [int(order[0])]
    for a in order[1:]:
        near = flat[a] <= flat[order[0]] + EXTRA_2D and np.hypot(flat[a], point[1]) <= REACH_3D
        if len(chosen) < 4 and near and all(np.linalg.norm(xz[a] - xz[b]) >= APART for b in chosen):
            chosen.append(int(a))
    return chosen


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_approach_cells_for_a_point_are_the_nearest_and_those_apart_from_it(hall, way, seed):
    rng = np.random.default_rng(seed)
    receptacle = hall.receptacles[rng.integers(len(hall.receptacles))]
    point = receptacle.world(rng.uniform(-1, 1, 3) * receptacle.half)
    assert approach_for(hall, way, point).tolist() == slow_approach(hall, way, point)


def test_many_points_get_the_same_approach_cells_as_one_by_one(hall, way):
    points = np.array([r.center for r in hall.receptacles])
    single = [approach_for(hall, way, p).tolist() for p in points]
    assert [row[row >= 0].tolist() for row in approach_for_points(hall, way, points)] == single


def test_approach_cells_come_out_the_same_twice():
    first, second = approach_cells(corner_of_the_hall()), approach_cells(corner_of_the_hall())
    assert first[0].tobytes() == second[0].tobytes()


def test_a_second_process_reads_what_the_first_has_computed(empty_cache, monkeypatch):
    first = navigation(corner_of_the_hall())
    monkeypatch.setattr(module, "_make", lambda home: pytest.fail("computed again"))
    assert navigation(corner_of_the_hall()).corner.tobytes() == first.corner.tobytes()


def test_corners_are_memory_mapped(empty_cache):
    corner = navigation(corner_of_the_hall()).corner
    assert isinstance(corner.base, np.memmap)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_cache_file_is_made_again(empty_cache, suffix, damage):
    first = navigation(corner_of_the_hall()).corner.tobytes()
    (file,) = empty_cache.glob(f"*{suffix}")
    whole = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        # A new file in its place: the old one may still be mapped.
        other = file.with_suffix(".other")
        middle = len(whole) // 2
        other.write_bytes(whole[:middle] if damage == "cut" else whole[:middle] + b"\xff\xfe\xfd\xfc" + whole[middle + 4 :])
        other.replace(file)
    assert navigation(corner_of_the_hall()).corner.tobytes() == first


def test_nothing_but_the_two_files_is_left_in_the_cache(empty_cache):
    navigation(corner_of_the_hall())
    assert sorted(p.suffix for p in empty_cache.iterdir()) == [".npy", ".npz"]


def test_many_homes_are_prepared_at_once(empty_cache):
    seen = []
    prepare([corner_of_the_hall(), corner_of_the_hall("other")], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    assert len(list(empty_cache.glob("*.npy"))) == 2


def test_a_generated_home_has_a_hundred_or_two_approach_cells_with_near_shortest_ways():
    home = generate_home("train", 0)
    way = navigation(home)
    assert 80 <= len(way.approach) <= 220
    field = np.empty(home.floor.main.shape, np.float32)
    row, col = home.floor.cells[way.approach[0]]
    distance_field(home.floor.main, float(row), float(col), home.floor.cell, field)
    lengths = np.array([path_length(way, home, c, 0) for c in range(len(home.floor.cells))])
    assert (lengths <= field[home.floor.main] * 1.03 + 0.12).all()
