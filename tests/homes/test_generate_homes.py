"""Generated homes: walls that close, furniture that stands apart, receptacles within reach, the same homes every time."""

import re

import numba
import numpy as np
import pytest

from housemates.homes import generate, splits
from housemates.homes.files import save_homes
from housemates.homes.floor import CELL, ROBOT_RADIUS
from housemates.homes.generate import SPLITS, faults, generate_home
from housemates.homes.home import RECEPTACLES
from housemates.homes.pieces import corners
from housemates.homes.plan import MACROS, WALL_HEIGHT, WALL_THICKNESS, rooms, wall_faces, wall_rectangles
from housemates.homes.splits import cache_path, load_split, make_split

HOMES = (("train", 0), ("train", 1), ("train", 2), ("eval", 7), ("test", 3))
FLAT = ("rug_01", "rug_02", "mat")
HUNG = ("tv_screen", "picture_01", "kitchenCupboard_01", "ceiling", "floor")


@pytest.fixture(scope="module", params=HOMES, ids=lambda h: f"{h[0]}-{h[1]}")
def home(request):
    return generate_home(*request.param)


@pytest.fixture(params=MACROS, ids=range(len(MACROS)))
def plan(request):
    return rooms(request.param)


def in_rooms(plan, points):
    """[P] whether each floor point [P, 2] lies in a room."""
    return np.any([((points >= room.low) & (points <= room.high)).all(1) for room in plan], axis=0)


def test_rooms_do_not_overlap(plan):
    rng = np.random.default_rng(0)
    points = rng.uniform((-3, -5), (5, 8.5), (20000, 2))
    assert np.sum([((points > room.low) & (points < room.high)).all(1) for room in plan], axis=0).max() == 1


def test_walls_are_the_strip_around_the_rooms(plan):
    rng = np.random.default_rng(1)
    points = rng.uniform((-3, -5), (5, 8.5), (20000, 2))
    walls = wall_rectangles(plan)
    solid = np.any([((points > w[:2]) & (points < w[2:])).all(1) for w in walls], axis=0)
    shifts = WALL_THICKNESS * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [1, -1], [-1, 1], [-1, -1]])
    near = np.any([in_rooms(plan, points + shift) for shift in shifts], axis=0)
    assert (solid == (near & ~in_rooms(plan, points))).mean() > 0.9999


def test_wall_faces_have_a_room_before_and_none_behind(plan):
    for face in wall_faces(plan):
        points = face[:2] + (face[2:4] - face[:2]) * np.linspace(0.01, 0.99, 50)[:, None]
        normal = 0.02 * np.array([np.sin(face[4]), np.cos(face[4])])
        assert in_rooms(plan, points + normal).all()
        assert not in_rooms(plan, points - normal).any()


def test_all_macro_layouts_have_different_kitchens():
    assert len({(m.origin, m.fridge_right) for m in MACROS}) == len(MACROS)


def test_a_home_is_150_to_350_parts(home):
    assert 150 <= len(home.parts) <= 350


def test_all_ten_kinds_of_receptacles_are_there(home):
    counts = {kind: len(home.instances(kind)) for kind in RECEPTACLES}
    assert counts == dict.fromkeys(RECEPTACLES, 1) | {"chair": 2, "counter": 2}


def test_receptacle_names_are_unique(home):
    names = [r.name for r in home.receptacles]
    assert len(set(names)) == len(names)


def test_the_counter_is_one_piece_and_the_chairs_are_two(home):
    furniture = {r.name: r.furniture for r in home.receptacles}
    assert {furniture[n] for n in ("counter_left", "counter_right", "sink")} == {"kitchen_counter"}
    assert furniture["chair_1"] != furniture["chair_2"]


def test_what_opens_has_a_door_and_a_handle(home):
    for kind in ("fridge", "drawer_right", "drawer_left"):
        receptacle = home.receptacles[home.instances(kind)[0]]
        assert receptacle.door >= 0
        assert receptacle.handle is not None


def test_the_task_drawers_are_replicacads(home):
    joints = {
        kind: home.joints[home.receptacles[home.instances(kind)[0]].joint].name for kind in ("drawer_right", "drawer_left")
    }
    assert joints == {"drawer_right": "kitchen_counter/drawer3", "drawer_left": "kitchen_counter/drawer1_top"}


def test_every_receptacle_is_within_reach_of_the_main_island(home):
    points = np.array(home.floor.origin) + home.floor.cells[:, ::-1] * CELL
    for r in (r for r in home.receptacles if r.kind in RECEPTACLES):
        flat = np.hypot(*(points - [r.center[0], r.center[2]]).T).min()
        work = np.sqrt(((points - [r.target[0], r.target[2]]) ** 2).sum(1) + r.target[1] ** 2).min()
        assert flat <= 1.1, r.name
        assert work <= 1.9, r.name


def test_free_floor_keeps_a_robots_radius_from_furniture(home):
    labels = np.array(home.labels)[home.parts.label]
    blocked = [
        i for i in range(len(labels)) if labels[i] not in (*FLAT, "floor", "ceiling", "wall") and home.parts.sides[i] == 0
    ]
    points = np.array(home.floor.origin) + np.argwhere(home.floor.free)[:, ::-1] * CELL
    for i in blocked:
        ys = corners(home.parts, i)[:, 1]
        if ys.max() > 0.1 and ys.min() < 1.5 and home.parts.rotation[i, 1, 1] > 0.999:
            local = (points - home.parts.center[i, [0, 2]]) @ home.parts.rotation[i][np.ix_([0, 2], [0, 2])]
            outside = np.maximum(np.abs(local) - home.parts.half[i, [0, 2]], 0)
            assert np.hypot(*outside.T).min() > ROBOT_RADIUS - 1e-5, labels[i]


def test_pieces_do_not_stand_in_each_other_or_in_walls(home):
    parts, labels = home.parts, np.array(home.labels)[home.parts.label]
    steps = np.linspace(-1, 1, 5)
    lattice = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)
    solid = (parts.sides == 0) & ~np.isin(labels, FLAT)
    shrunk = np.maximum(parts.half - 0.01, 0.0)
    for i in np.flatnonzero(solid):
        points = (lattice * shrunk[i]) @ parts.rotation[i].T + parts.center[i]
        others = solid & (labels != labels[i])
        local = np.einsum("pnj,nji->pni", points[:, None] - parts.center[others], parts.rotation[others])
        hit = (np.abs(local) < parts.half[others] - 0.01).all(-1).any(0)
        assert not hit.any(), (labels[i], set(labels[others][hit]))


def test_nothing_floats(home):
    labels = np.array(home.labels)[home.parts.label]
    for label in set(labels) - set(HUNG):
        lowest = min(corners(home.parts, i)[:, 1].min() for i in np.flatnonzero(labels == label))
        assert lowest == pytest.approx(0.0, abs=0.011), label


def test_what_hangs_touches_a_wall(home):
    labels = np.array(home.labels)[home.parts.label]
    faces = wall_faces(home.rooms)
    for label in ("tv_screen", "picture_01", "kitchenCupboard_01"):
        points = np.concatenate([corners(home.parts, i) for i in np.flatnonzero(labels == label)])[:, [0, 2]]
        before = [np.abs((points - face[:2]) @ [np.sin(face[4]), np.cos(face[4])]).min() for face in faces]
        assert min(before) < 0.02, label


def test_wide_pieces_are_square_to_the_walls(home):
    for receptacle in home.receptacles:
        if receptacle.kind in ("table_01", "table_02", "tvstand", "sofa"):
            off = (np.degrees(receptacle.yaw) + 45) % 90 - 45
            assert abs(off) <= 5.01, receptacle.name


def test_walls_reach_from_floor_to_ceiling(home):
    labels = np.array(home.labels)[home.parts.label]
    tops = (home.parts.center[:, 1] + home.parts.half[:, 1])[labels == "wall"]
    assert tops == pytest.approx(WALL_HEIGHT)


def test_the_front_door_stands_open_at_rest(home):
    joint = next(j for j in home.joints if j.name == "door2/leaf")
    entry = next(r for r in home.rooms if r.name == "entry")
    middle = ((entry.low[0] + entry.high[0]) / 2, (entry.low[1] + entry.high[1]) / 2)
    assert (joint.lower, joint.upper) == (-2.0, 0.0)
    assert home.floor.main[tuple(home.floor.snap(middle))]


def test_a_good_home_has_no_faults(home):
    assert faults(home) == []


def test_the_same_seed_gives_the_same_home():
    assert generate_home("dev", 4).content_hash == generate_home("dev", 4).content_hash


@pytest.mark.parametrize("other", [("dev", 5, 0), ("train", 4, 0), ("dev", 4, 1)])
def test_another_split_index_or_seed_gives_another_home(other):
    assert generate_home("dev", 4).parts.center.tobytes() != generate_home(*other).parts.center.tobytes()


def test_homes_of_one_macro_share_their_kitchen():
    one, other = generate_home("train", 0), generate_home("dev", 3)
    sinks = [h.receptacles[h.instances("sink")[0]].center for h in (one, other)]
    assert sinks[0] == sinks[1]


def test_an_unknown_split_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=re.escape("no split 'holiday' - choose one of: train, dev, eval, test")):
        load_split("holiday")


def test_an_index_off_the_split_is_refused():
    with pytest.raises(ValueError, match=r"dev/12.*'dev'.*0.*11"):
        generate_home("dev", 12)


def test_splits_have_the_sizes_of_the_paper_and_unseen_kitchens():
    paper = {"train": 60, "dev": 12, "eval": 20, "test": 20}
    assert {name: count for name, (count, _) in SPLITS.items()} == paper | {"varied": 84, "kitchens": 12}
    seen = set(SPLITS["train"][1]) | set(SPLITS["varied"][1])
    unseen = [set(SPLITS[name][1]) for name in ("eval", "test", "kitchens")]
    assert not any(seen & kitchens for kitchens in unseen)
    assert len(set.union(*unseen)) == sum(len(kitchens) for kitchens in unseen)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(numba.config.CACHE_DIR))
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    return tmp_path


def test_a_split_is_read_from_the_cache(own_cache, monkeypatch):
    monkeypatch.setitem(SPLITS, "dev", (2, SPLITS["dev"][1]))
    homes = [generate_home("dev", 0, 1), generate_home("dev", 1, 1)]
    save_homes(cache_path("dev", 1), homes)
    monkeypatch.setattr(splits, "split_size", lambda _: (2, ()))
    monkeypatch.setattr(splits, "make_split", lambda *_: pytest.fail("made again"))
    assert [h.content_hash for h in load_split("dev", 1)] == [h.content_hash for h in homes]


def test_homes_of_another_split_are_not_taken_from_the_cache(own_cache, monkeypatch):
    homes = [generate_home("dev", 0, 1)]
    save_homes(cache_path("dev", 1), [generate_home("eval", 0, 1)])
    monkeypatch.setattr(splits, "split_size", lambda _: (1, ()))
    monkeypatch.setattr(splits, "make_split", lambda *_: homes)
    with pytest.warns(UserWarning, match="it holds other homes"):
        assert load_split("dev", 1) == homes


def test_a_damaged_cache_is_made_again(own_cache, monkeypatch):
    monkeypatch.setitem(SPLITS, "dev", (1, SPLITS["dev"][1]))
    homes = [generate_home("dev", 0, 1)]
    cache_path("dev", 1).parent.mkdir(parents=True)
    cache_path("dev", 1).write_bytes(b"not a zip file")
    monkeypatch.setattr(splits, "split_size", lambda _: (1, ()))
    monkeypatch.setattr(splits, "make_split", lambda *_: homes)
    load_split("dev", 1)
    monkeypatch.setattr(splits, "make_split", lambda *_: pytest.fail("made again"))
    assert [h.content_hash for h in load_split("dev", 1)] == [homes[0].content_hash]


def test_two_processes_make_the_homes_that_one_makes():
    told = []
    homes = make_split("dev", 0, lambda done, total: told.append((done, total)))
    assert [h.name for h in homes] == [f"dev/{i:02d}" for i in range(12)]
    assert homes[7].content_hash == generate_home("dev", 7).content_hash
    assert told[-1] == (12, 12)


def test_a_seed_without_a_layout_is_told_with_a_remedy(monkeypatch):
    monkeypatch.setattr(generate, "faults", lambda home: ["too small"])
    monkeypatch.setattr(generate, "ATTEMPTS", 1)
    with pytest.raises(ValueError, match="choose another seed"):
        generate_home("dev", 0)
