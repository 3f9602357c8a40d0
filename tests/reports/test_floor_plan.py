"""Floor plans: outlines seen from above, names that stay apart, pictures that come out whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from housemates.homes.generate import generate_home
from housemates.homes.home import RECEPTACLES, Home
from housemates.reports.floor_plan import (
    bounds,
    contact_sheet,
    draw_floor_plan,
    footprints,
    piece_labels,
    pieces,
    receptacle_outline,
    separate,
)
from housemates.reports.labels import free_spot, path_between, scene_of
from housemates.tasks.generate import generate_episodes

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def home() -> Home:
    return generate_home("train", 0)


def picture(path):
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def test_every_part_has_a_footprint(home):
    assert len(footprints(home)) == len(home.parts)


def test_higher_things_are_drawn_over_lower_ones(home):
    tops = [f.top for f in footprints(home)]
    assert tops == sorted(tops)


def test_the_outline_of_a_receptacle_has_the_area_of_its_volume(home):
    for receptacle in home.receptacles:
        a, b, _, d = receptacle_outline(receptacle)
        area = np.linalg.norm(b - a) * np.linalg.norm(d - a)
        assert area == pytest.approx(4 * receptacle.half[0] * receptacle.half[2])


def test_two_chairs_of_one_name_are_two_groups_of_triangles():
    chair = np.array([[[0, 0], [1, 0], [0, 1]], [[1, 0], [1, 1], [0, 1]]], float)
    # On the diagonal the two overlap in x and in z; only a slanted cut keeps them apart.
    both = np.concatenate([chair, chair + [0.9, 0.9] + [0.15, 0.15]])
    turned = both @ np.array([[1, 0.4], [-0.4, 1]])
    assert sorted(sorted(group.tolist()) for group in separate(turned)) == [[0, 1], [2, 3]]


def test_triangles_that_touch_stay_one_group():
    strip = np.array([[[i, 0], [i + 1, 0], [i, 1]] for i in range(5)], float)
    assert [sorted(group.tolist()) for group in separate(strip)] == [[0, 1, 2, 3, 4]]


def test_touching_outlines_are_one_piece_and_distant_ones_two():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    assert len(pieces([square, square + [0.5, 0.5], square + [5, 0]])) == 2


coordinate = st.floats(0.5, 9.5)
boxes = st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), max_size=12)


@given(point=st.tuples(coordinate, coordinate), corners=boxes)
def test_a_label_never_covers_another_if_there_is_room(point, corners):
    taken = np.array([(x, y, x + 0.8, y + 0.3) for x, y in corners]).reshape(-1, 4)
    spot = free_spot((0.8, 0.3), point, taken, (0.0, 0.0), (10.0, 10.0))
    low, high = np.array(spot) - [0.4, 0.15], np.array(spot) + [0.4, 0.15]
    covered = ((taken[:, :2] < high) & (taken[:, 2:] > low)).all(axis=1).any() if len(taken) else False
    assert not covered or spot == point


def test_a_label_with_room_stays_on_its_point():
    assert free_spot((1.0, 0.3), (5.0, 5.0), np.empty((0, 4)), (0.0, 0.0), (10.0, 10.0)) == (5.0, 5.0)


def test_all_receptacles_that_actions_name_are_labelled(home):
    names = {label.text for label in piece_labels(home)}
    assert {r.name for r in home.receptacles if r.kind in RECEPTACLES} <= names


def test_a_path_is_as_long_as_the_geodesic_distance(home):
    first, last = (home.floor.point(*home.floor.cells[i]) for i in (100, -100))
    path = path_between(home.floor, first, last)
    length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    assert length == pytest.approx(home.geodesic(first, last), rel=0.03, abs=0.1)


def test_a_path_to_a_place_far_from_the_floor_is_empty(home):
    assert len(path_between(home.floor, home.floor.point(*home.floor.cells[0]), (50.0, 50.0))) == 0


def test_a_scene_names_where_each_object_comes_from(home):
    episode = generate_episodes("set_table", [home], 1, seed=0, spawns=True).episode(0)
    assert scene_of(home, episode).things[0].name.startswith("024_bowl, drawer_right")


def test_a_floor_plan_with_an_episode_is_a_whole_picture(home, tmp_path):
    episode = generate_episodes("tidy_house", [home], 1, seed=0, spawns=True).episode(0)
    draw_floor_plan(home, tmp_path / "deep" / "plan.png", scene_of(home, episode))
    assert (tmp_path / "deep" / "plan.png").read_bytes().startswith(PNG)
    assert len(np.unique(picture(tmp_path / "deep" / "plan.png").reshape(-1, 3), axis=0)) > 100


def test_the_same_home_gives_the_same_picture(home, tmp_path):
    for name in ("a.png", "b.png"):
        draw_floor_plan(home, tmp_path / name, dpi=50)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_failed_drawing_leaves_nothing_behind(home, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, file, **_):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        draw_floor_plan(home, tmp_path / "plan.png")
    assert list(tmp_path.iterdir()) == []


def test_a_contact_sheet_shows_every_home(home, tmp_path):
    contact_sheet([home] * 3, tmp_path / "sheet.png", columns=3)
    third = np.array_split(picture(tmp_path / "sheet.png"), 3, axis=1)
    assert all((part < 100).all(axis=2).mean() > 0.01 for part in third)


def test_a_contact_sheet_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one home"):
        contact_sheet([], tmp_path / "sheet.png")


def test_a_home_of_meshes_can_be_drawn(replica_cad, tmp_path):
    from housemates.homes.replicacad.scene import load_replicacad

    real = load_replicacad(replica_cad, "v3_sc0_staging_00")
    draw_floor_plan(real, tmp_path / "plan.png", dpi=50)
    low, high = bounds(real)
    assert (high - low > [6, 12]).all()
    assert (tmp_path / "plan.png").read_bytes().startswith(PNG)
