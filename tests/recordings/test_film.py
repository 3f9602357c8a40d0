"""Films: the right number of pictures, marks where things are, words that tell what happens."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageSequence

from conftest import missing
from helpers import batches
from housemates.homes.objects import NAMES
from housemates.recordings.captions import bands, doing, holding, short, thing_names, told
from housemates.recordings.film import FARTHEST, HOLD, ROBOTS, Studio, Style, coloured, film, frames
from housemates.recordings.recording import Recording, record_batch
from housemates.robots import FETCH
from housemates.robots.meshes import object_mesh
from housemates.sim.shots import Shot, above_home, project
from housemates.sim.state import MOST_ROBOTS
from housemates.tasks.actions import ACTIONS

THINGS = ("bowl", "apple")


@pytest.fixture(scope="module")
def kept() -> Recording:
    batch = batches.make(size=1, autoreset=False, stored_spawns=True)
    batches.scripted(batch, "first_half", "second_half")
    return record_batch(batch, most=32)


@pytest.fixture(scope="module")
def studio(kept) -> Studio:
    return Studio(kept, batches.home())


def test_a_gif_has_a_picture_for_every_chosen_step(kept, tmp_path):
    film(kept, tmp_path / "film.gif", Style(every=8, width=480), batches.home())
    with Image.open(tmp_path / "film.gif") as made:
        assert sum(1 for _ in ImageSequence.Iterator(made)) == kept.steps // 8 + 1


def test_an_mp4_lasts_as_long_as_its_pictures_and_the_pause_at_the_end(kept, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    film(kept, tmp_path / "film.mp4", Style(fps=10, every=8, width=480), batches.home())
    count, _ = ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))
    assert count == kept.steps // 8 + 1 + round(10 * HOLD)


def test_the_last_step_is_always_shown(kept):
    assert len(list(frames(kept, Style(every=1000), batches.home()))) == 2


def test_the_same_frame_is_the_same_picture(studio):
    assert studio.picture(5).tobytes() == studio.picture(5).tobytes()


def test_pictures_have_the_width_that_was_asked_for(kept):
    assert next(frames(kept, Style(width=500), batches.home())).width == 500


def test_progress_is_told_to_the_end(kept):
    told_of = []
    list(frames(kept, Style(every=20), batches.home(), lambda done, count: told_of.append((done, count))))
    assert told_of[-1] == (3, 3)


@pytest.mark.parametrize("name", ["film.avi", "film"])
def test_other_kinds_of_film_are_refused(kept, tmp_path, name):
    with pytest.raises(ValueError, match=r"mp4.*gif"):
        film(kept, tmp_path / name)


def test_a_film_without_width_is_refused(kept, tmp_path):
    with pytest.raises(ValueError, match="width at least 320"):
        film(kept, tmp_path / "film.gif", Style(width=0))


def test_a_failed_film_leaves_no_file(kept, tmp_path):
    other = replace(kept, header=kept.header | {"home_hash": "0" * 24})
    with pytest.raises(ValueError, match="not the home"):
        film(other, tmp_path / "film.gif", home=batches.home())
    assert list(tmp_path.iterdir()) == []


def test_a_film_of_real_meshes_looks_different(kept, studio):
    if FETCH.meshes() is None or object_mesh(NAMES[0]) is None:
        missing("the meshes extra is not installed")
    assert (np.asarray(Studio(kept, batches.home(), real=True).picture(4)) != np.asarray(studio.picture(4))).any()


def test_a_robot_is_tinted_where_it_stands(studio):
    studio.picture(0)
    shot = studio.shot
    plain = shot.above((0, 0, 0), {}, {})
    tinted = shot.above((0, 0, 0), {0: (255, 0, 0)}, {})
    x, z, _ = studio.recording.frames["pose"][0, 0]
    right, down = 2 * shot.project(np.array([[x, 0.3, z]]))[0]
    changed = np.argwhere((plain != tinted).any(axis=-1)).mean(axis=0)
    assert np.hypot(*(changed - (down, right))) < 60


@pytest.mark.parametrize("shape", [(640, 360), (360, 640), (400, 400)])
def test_the_camera_above_sees_the_whole_floor(shape):
    home = batches.home()
    camera = above_home(home, shape)
    rows, columns = np.nonzero(home.floor.free)
    x, z = np.array([home.floor.point(r, c) for r, c in zip(rows, columns, strict=True)]).T
    seen = project(camera, np.stack([x, np.zeros_like(x), z], axis=1)) * max(shape) / np.array(shape)
    assert np.abs(seen).max() <= 1


def test_a_projected_point_is_where_the_picture_shows_it():
    batch = batches.make(size=1)
    shot = Shot(batch, (400, 300), 64)
    for r, place in enumerate(((3.5, 4.0), batches.FAR)):
        batches.put(batch, r, place)
    alone = np.argwhere((shot.above((0, 0, 0), {}, {}) != shot.above((0, 0, 0), {0: (255, 0, 0)}, {})).any(axis=-1))
    right, down = shot.project(np.array([[3.5, 0.5, 4.0]]))[0]
    assert np.hypot(*(alone.mean(axis=0) / 2 - (down, right))) < 12


def test_near_is_brighter_than_far():
    near, far = coloured(np.array([[0.5, FARTHEST - 1]]))[0]
    assert near.sum() > far.sum()


def test_nothing_hit_is_as_dark_as_the_farthest():
    nothing, farthest = coloured(np.array([[0.0, FARTHEST]]))[0]
    assert np.array_equal(nothing, farthest)


def test_every_action_can_be_said():
    assert all(doing(action, THINGS) for action in range(len(ACTIONS)))


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("nav obj1", "goes to the apple"),
        ("nav goal0", "brings the bowl"),
        ("pick obj0", "picks the bowl"),
        ("open drawer_right", "opens the right drawer"),
        ("no-op", "waits"),
        ("turn-left", "turns left"),
    ],
)
def test_actions_in_words(action, words):
    assert doing(ACTIONS.index(action), THINGS) == words


@pytest.mark.parametrize(("action", "words"), [("nav obj1", "to apple"), ("nav goal0", "bring bowl"), ("pick obj0", "pick")])
def test_actions_in_short(action, words):
    assert short(ACTIONS.index(action), THINGS) == words


@pytest.mark.parametrize(
    ("kind", "what", "words"),
    [
        ("subgoal", "place obj1", "robot 1 places the apple"),
        ("infeasible", "pick obj0", "robot 1 cannot pick the bowl"),
        ("interruption", "nav obj0", "robot 1 is interrupted: its partner is near"),
        ("collision", "", "collision"),
    ],
)
def test_events_in_words(kind, what, words):
    assert told({"tick": 3, "kind": kind, "robot": 1, "what": what}, THINGS) == words


def test_bands_of_a_robot_follow_each_other_without_overlap(kept):
    found = [b for b in bands(kept) if b.robot == 0]
    assert all(a.last <= b.first for a, b in pairwise(found))


def test_two_objects_of_one_kind_get_numbers(kept):
    episode = kept.episode | {"kind": np.array([[1, 1]], np.int8)}
    assert thing_names(replace(kept, episode=episode)) == ("cracker box 1", "cracker box 2")


def test_an_empty_hand_is_told(kept):
    assert holding(kept, 0, 0) == "hand empty"


def test_there_is_a_colour_for_every_robot():
    assert len(set(ROBOTS)) == MOST_ROBOTS


def test_four_robots_fit_into_a_picture():
    batch = batches.make(size=1, robots=4, autoreset=False)
    assert Studio(record_batch(batch, most=2), batches.home()).picture(1).height > 4 * 150
