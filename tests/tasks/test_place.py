"""Where things can stand: the kernels against slow twins, and the rules one by one."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from helpers.rooms import hall as make_hall
from housemates.homes.home import Home
from housemates.homes.objects import OBJECTS, object_type
from housemates.homes.solids import box
from housemates.tasks import place as rules
from housemates.tasks.place import boxes_touch, convex_outline, find_place, floor_distance, places, polygon_touches

NOTHING = np.empty((0, 7))
BOWL = np.array(OBJECTS[object_type("024_bowl")].half)
number = st.floats(-0.3, 0.3)
size = st.floats(0.02, 0.15)
angle = st.floats(-7, 7)


def outline(thing: np.ndarray) -> np.ndarray:
    """Footprint corners [4, 2] of a box [7]."""
    c, s = np.cos(thing[3]), np.sin(thing[3])
    x, z = np.array([c, -s]) * thing[4], np.array([s, c]) * thing[6]
    return thing[[0, 2]] + np.array([x + z, x - z, -x - z, -x + z])


def depth(a: np.ndarray, b: np.ndarray) -> float:
    """How deep two convex polygons [M, 2] are in each other: radius of the largest disc in both, negative if apart."""
    rows, limits = [], []
    for polygon in (a, b):
        for normal in ConvexHull(polygon).equations:
            rows.append([normal[0], normal[1], 1.0])
            limits.append(-normal[2])
    solved = linprog([0, 0, -1], A_ub=rows, b_ub=limits, bounds=[(None, None)] * 3)
    return solved.x[2]


@given(number, number, angle, angle, size, size, size, size)
def test_boxes_touch_like_their_twin(x, z, turn_a, turn_b, ax, az, bx, bz):
    a, b = np.array([0, 0, 0, turn_a, ax, 0.1, az]), np.array([x, 0, z, turn_b, bx, 0.1, bz])
    shared = depth(outline(a), outline(b))
    if abs(shared) > 1e-6:
        assert boxes_touch(a, b, 0.0) == (shared > 0)


@given(number, number, angle, angle, size, size, size, size)
def test_touching_is_mutual(x, z, turn_a, turn_b, ax, az, bx, bz):
    a, b = np.array([0, 0, 0, turn_a, ax, 0.1, az]), np.array([x, 0, z, turn_b, bx, 0.1, bz])
    assert boxes_touch(a, b, 0.01) == boxes_touch(b, a, 0.01)


@given(st.lists(st.tuples(number, number), min_size=3, max_size=12), angle, size, size)
def test_a_footprint_touches_a_box_like_its_twin(points, turn, half_x, half_z):
    polygon = convex_outline(np.array(points))
    spread = polygon - polygon.mean(axis=0)
    if len(polygon) < 3 or np.linalg.svd(spread, compute_uv=False)[1] < 1e-3:
        return
    thing = np.array([0.05, 0, 0.02, turn, half_x, 0.1, half_z])
    shared = depth(polygon, outline(thing))
    if abs(shared) > 1e-6:
        assert polygon_touches(polygon, len(polygon), thing, 0.0) == (shared > 0)


@given(st.lists(st.tuples(number, number), min_size=4, max_size=20, unique=True))
def test_an_outline_has_the_area_of_scipys_hull(points):
    points = np.array(points)
    if np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] < 1e-3:
        return
    x, y = convex_outline(points).T
    area = abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
    assert area == pytest.approx(ConvexHull(points).volume, rel=1e-4)


def test_boxes_on_different_shelves_do_not_touch():
    a, b = np.array([0, 0, 0, 0, 0.1, 0.1, 0.1]), np.array([0, 0.2, 0, 0, 0.1, 0.1, 0.1])
    assert not boxes_touch(a, b, 0.01)


@given(st.floats(-0.5, 7.5), st.floats(0, 1.8), st.floats(-0.5, 6.5))
def test_the_distance_from_the_floor_is_that_of_the_nearest_cell(x, y, z):
    home = make_hall_once()
    floor = home.floor
    cells = np.asarray(floor.origin) + floor.cells[:, ::-1] * floor.cell
    flat = np.hypot(*(cells - [x, z]).T).min()
    expected = np.hypot(flat, y) if flat <= rules.REACH_3D else np.inf
    found = floor_distance(floor.main, *floor.origin, floor.cell, np.array([x, y, z]))
    assert found == pytest.approx(expected, abs=1e-6)


@lru_cache
def make_hall_once() -> Home:
    """One hall for all examples; hypothesis and fixtures of a test's scope do not mix."""
    return make_hall()


def index(home: Home, name: str) -> int:
    return next(i for i, r in enumerate(home.receptacles) if r.name == name)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("name", ["chair_1", "sofa", "table_01", "drawer_right"])
def test_an_object_stands_whole_inside_the_volume(hall: Home, rng, name: str):
    receptacle, found = index(hall, name), []
    for _ in range(50):
        spot = find_place(places(hall, np.zeros(3)), receptacle, BOWL, rng.random((50, 3)), NOTHING)
        flat = outline(spot)
        points = np.stack([flat[:, 0], np.full(4, spot[1]), flat[:, 1]], axis=1)
        found.append(np.abs(hall.receptacles[receptacle].local(points)) - np.array(hall.receptacles[receptacle].half))
    assert np.max(found) < 1e-9


def test_an_object_stands_on_the_surface(hall: Home, rng):
    receptacle = index(hall, "sofa")
    spot = find_place(places(hall, np.zeros(3)), receptacle, BOWL, rng.random((50, 3)), NOTHING)
    assert spot[1] - BOWL[1] == pytest.approx(hall.receptacles[receptacle].surface)


def test_points_cover_the_whole_table(hall: Home, rng):
    table, ready = hall.receptacles[index(hall, "table_01")], places(hall, np.zeros(3))
    spots = np.array([find_place(ready, index(hall, "table_01"), BOWL, rng.random((9, 3)), NOTHING)[:3] for _ in range(400)])
    quadrants = (table.local(spots)[:, [0, 2]] > 0) @ [1, 2]
    assert np.bincount(quadrants, minlength=4).min() > 60


def test_the_fridge_is_filled_centrally(hall: Home, rng):
    shelf, ready = hall.receptacles[index(hall, "fridge_shelf")], places(hall, np.zeros(3))
    half = np.array(OBJECTS[object_type("013_apple")].half)
    spots = [find_place(ready, index(hall, "fridge_shelf"), half, rng.random((9, 3)), NOTHING)[:3] for _ in range(200)]
    off = np.abs(shelf.local(np.array(spots)))[:, [0, 2]] - np.array(shelf.half)[[0, 2]] / 2
    assert off.max() < 1e-9


def test_an_object_keeps_clear_of_what_is_there(hall: Home, rng):
    receptacle, ready = index(hall, "chair_1"), places(hall, np.zeros(3))
    first = find_place(ready, receptacle, BOWL, rng.random((50, 3)), NOTHING)
    spots = [find_place(ready, receptacle, BOWL, rng.random((50, 3)), first[None]) for _ in range(50)]
    assert not any(boxes_touch(spot, first, 0.0099) for spot in spots if spot is not None)


def test_a_full_chair_takes_no_more(hall: Home, rng):
    receptacle = index(hall, "chair_1")
    x, y, z = hall.receptacles[receptacle].center
    taken = np.array([[x, y, z, 0.3, 0.2, 0.1, 0.2]])
    assert find_place(places(hall, np.zeros(3)), receptacle, BOWL, rng.random((200, 3)), taken) is None


def test_furniture_that_reaches_into_a_volume_is_avoided(rng):
    vase = box((3.7, 0.9, 2.6), (0.7, 0.3, 0.8), (0, 0, 0))
    home = make_hall(extra=(vase,))
    spots = [
        find_place(places(home, np.zeros(3)), index(home, "table_01"), BOWL, rng.random((50, 3)), NOTHING) for _ in range(20)
    ]
    assert max(outline(spot)[:, 0].max() for spot in spots) < 3.35


def test_a_lamp_high_above_the_table_is_not_in_the_way():
    lamp = box((3.4, 1.6, 2.6), (1.4, 0.3, 0.8), (0, 0, 0))
    home = make_hall(extra=(lamp,))
    assert len(places(home, np.zeros(3)).furniture[index(home, "table_01")].corners) == 0


def test_a_drawer_only_minds_its_own_sides(hall: Home):
    around = places(hall, np.zeros(3)).furniture[index(hall, "drawer_right")]
    assert len(around.corners) == 0


def test_a_spot_keeps_its_distance_from_a_point(hall: Home, rng):
    table = index(hall, "table_01")
    middle, ready = np.array(hall.receptacles[table].center), places(hall, np.zeros(3))
    spots = [find_place(ready, table, BOWL, rng.random((50, 3)), NOTHING, None, middle, 0.5) for _ in range(30)]
    assert min(np.hypot(*(spot[:3] - middle)[[0, 2]]) for spot in spots) >= 0.5


def test_a_given_yaw_is_kept(hall: Home, rng):
    spot = find_place(places(hall, np.zeros(3)), index(hall, "sofa"), BOWL, rng.random((50, 3)), NOTHING, yaw=1.25)
    assert spot[3] == 1.25


def test_a_tall_thing_does_not_fit_into_a_drawer(hall: Home):
    half = np.array(OBJECTS[object_type("003_cracker_box")].half)
    assert not rules.fits(places(hall, np.zeros(3)), index(hall, "drawer_right"), half)


def test_a_tall_thing_fits_on_a_chair(hall: Home):
    half = np.array(OBJECTS[object_type("003_cracker_box")].half)
    assert rules.fits(places(hall, np.zeros(3)), index(hall, "chair_1"), half)
