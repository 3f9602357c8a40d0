"""Pictures of small homes: what shows, what hides, and that every way of drawing tells the same story."""

from dataclasses import replace

import numpy as np
import pytest

from housemates.homes.floor import Floor
from housemates.homes.generate import generate_home
from housemates.homes.home import Home, Joint, Meshes, Parts
from housemates.renderer.pictures import Renderer, metres, render
from housemates.renderer.scene import home_templates, link_templates, nothing_placed, pack
from housemates.robots import FETCH

LABELS = ("wall", "drawer", "ceiling")


def parts_of(boxes: list[tuple]) -> Parts:
    """Upright boxes from (centre, half extents, colour, body, label)."""
    center, half, colour, body, label = zip(*boxes, strict=True)
    count = len(boxes)
    return Parts(
        center=np.array(center, np.float32),
        rotation=np.tile(np.eye(3, dtype=np.float32), (count, 1, 1)),
        half=np.array(half, np.float32),
        sides=np.zeros(count, np.uint8),
        taper=np.ones(count, np.float32),
        colour=np.array(colour, np.uint8),
        body=np.array(body, np.int16),
        label=np.array(label, np.int16),
    )


@pytest.fixture(scope="module")
def home() -> Home:
    """A wall 4 m ahead (-z), a drawer before it that slides towards the camera, and a low ceiling that leaves a strip free."""
    parts = parts_of(
        [
            ((0, 0, -4.5), (2, 2, 0.5), (200, 100, 50), 0, 0),
            ((0, -0.5, -3.5), (0.4, 0.2, 0.5), (20, 200, 20), 1, 1),
            ((0, 1.1, 0), (3, 0.1, 3), (250, 250, 250), 0, 2),
        ]
    )
    free = np.ones((4, 4), bool)
    return Home(
        name="test/one_wall",
        parts=parts,
        labels=LABELS,
        joints=(Joint("drawer", "prismatic", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 0.0, 0.5),),
        receptacles=(),
        floor=Floor(origin=(0.0, 0.0), free=free, walkable=free, area=0.04),
    )


@pytest.fixture(scope="module")
def crowd() -> tuple:
    """Templates, what is placed in three environments, and eleven cameras: a home with robots standing about in it."""
    found = generate_home("train", 0)
    bodies, robot = home_templates(found), link_templates(FETCH.parts)
    rng = np.random.default_rng(5)
    placed = nothing_placed(3, len(bodies) - 1 + len(robot))
    placed.home[:] = 0
    placed.template[:, : len(bodies) - 1] = np.arange(1, len(bodies))
    placed.template[:, len(bodies) - 1 :] = len(bodies) + np.arange(len(robot))
    env, cells = rng.integers(0, 3, 11), found.floor.cells
    spots = [found.floor.point(*cells[i]) for i in rng.integers(0, len(cells), 14)]
    for e in range(3):
        placed.pose[e, len(bodies) - 1 :, :, 3] = (spots[e][0], 0.6, spots[e][1])
    cameras = np.stack([FETCH.camera_to_world(np.array([x, z, rng.uniform(-3, 3)])) for x, z in spots[3:]])
    return [*bodies, *robot], placed, env, cameras


def test_depth_of_a_wall_is_its_distance(home):
    assert render(home, np.eye(4), "depth", 64)[30, 20] == pytest.approx(4.0, abs=1e-4)


def test_a_drawer_comes_nearer_when_it_opens(home):
    shut, pulled = (render(home, np.eye(4), "depth", 64, joints=np.array([q]))[37, 32] for q in (0.0, 0.5))
    assert shut - pulled == pytest.approx(0.5, abs=1e-4)


def test_a_hidden_label_does_not_show(home):
    assert not render(home, np.eye(4), "depth", 64, hide=("ceiling", "wall", "drawer")).any()


def test_hiding_the_ceiling_opens_the_view_from_above(home):
    above = np.array([[1.0, 0, 0, 0], [0, 0, 1, 6], [0, -1, 0, -3.5], [0, 0, 0, 1]])
    assert render(home, above, "segmentation", 64, hide=("ceiling",))[32, 32] == LABELS.index("drawer")


def test_labels_name_what_is_seen(home):
    assert render(home, np.eye(4), "segmentation", 64)[37, 32] == LABELS.index("drawer")


def test_nothing_is_labelled_minus_one(home):
    picture = render(home, np.eye(4), "segmentation", 64)
    assert ((picture == -1) == (render(home, np.eye(4), "depth", 64) == 0)).all()


def test_nothing_is_black(home):
    empty = render(home, np.eye(4), "depth", 64) == 0
    assert not render(home, np.eye(4), "rgb", 64)[empty].any()


def test_a_part_keeps_its_hue(home):
    red, green, blue = (int(v) for v in render(home, np.eye(4), "rgb", 64)[30, 20])
    assert red / green == pytest.approx(2, abs=0.1)
    assert red / blue == pytest.approx(4, abs=0.3)


def test_a_face_that_looks_up_is_brighter_than_one_that_looks_sideways(home):
    slope = np.array([[1.0, 0, 0, 0], [0, 0.8, 0.6, 1.5], [0, -0.6, 0.8, -1.5], [0, 0, 0, 1]])
    picture = render(home, slope, "rgb", 128, hide=("ceiling", "wall"))[..., 1]
    lit = picture[picture > 0]
    assert lit.max() > 1.1 * lit.min()


def test_extra_solids_stand_where_they_are_told(home):
    ball = parts_of([((1, 0, -2), (0.2, 0.2, 0.2), (1, 2, 3), 0, 77)])
    picture = render(home, np.eye(4), "segmentation", 64, extra=ball)
    assert picture[32, 48] == 77


def test_meshes_are_drawn_in_place_of_parts(home):
    corners = np.array([[-9, -9, -2], [9, -9, -2], [0, 9, -2]], np.float32)
    one, face = np.zeros(1, np.int16), np.array([[0, 1, 2]], np.int32)
    meshed = replace(home, meshes=Meshes(corners, face, one, np.full((1, 3), 9, np.uint8), one))
    assert render(meshed, np.eye(4), "depth", 64)[32, 32] == pytest.approx(2.0, abs=1e-5)


def test_parts_of_a_home_with_meshes_can_be_drawn_too(home):
    corners = np.array([[-9, -9, -2], [9, -9, -2], [0, 9, -2]], np.float32)
    one, face = np.zeros(1, np.int16), np.array([[0, 1, 2]], np.int32)
    meshed = replace(home, meshes=Meshes(corners, face, one, np.full((1, 3), 9, np.uint8), one))
    assert (render(meshed, np.eye(4), "depth", 64, meshes=False) == render(home, np.eye(4), "depth", 64)).all()


def test_millimetres_agree_with_metres(crowd):
    templates, placed, env, cameras = crowd
    exact, rounded = np.empty((11, 64, 64), np.float32), np.empty((11, 64, 64), np.uint16)
    renderer = Renderer(templates, 64)
    renderer.depth(placed, env, cameras, exact)
    renderer.depth(placed, env, cameras, rounded)
    assert np.abs(metres(rounded) - exact).max() <= 0.00051


def test_inverse_depth_agrees_with_metres(crowd):
    templates, placed, env, cameras = crowd
    exact, code = np.empty((11, 64, 64), np.float32), np.empty((11, 64, 64), np.uint8)
    renderer = Renderer(templates, 64)
    renderer.depth(placed, env, cameras, exact)
    renderer.depth(placed, env, cameras, code)
    want = np.where(exact > 0, np.minimum(255, 127.5 / np.maximum(exact, 1e-3)), 0)
    assert np.abs(code - want).max() <= 0.51


@pytest.mark.parametrize(("kind", "dtype", "shape"), [("depth", "f4", ()), ("rgb", "u1", (3,)), ("segmentation", "i2", ())])
def test_two_threads_draw_the_same_bits_as_one(crowd, kind, dtype, shape):
    templates, placed, env, cameras = crowd
    drawn = []
    for threads in (1, 2):
        out = np.zeros((11, 64, 64, *shape), dtype)
        getattr(Renderer(templates, 64, threads=threads), kind)(placed, env, cameras, out)
        drawn.append(out.tobytes())
    assert drawn[0] == drawn[1]


def test_no_two_threads_write_to_the_same_cache_line(crowd):
    lines = []
    for scratch in Renderer(crowd[0], 64, threads=3)._depth_scratch:
        spans = [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in scratch]
        lines.append({line for first, end in spans for line in range(first // 64, (end - 1) // 64 + 1)})
    assert sum(len(some) for some in lines) == len(set.union(*lines))


def test_labels_and_depth_cover_the_same_pixels_in_a_full_home(crowd):
    templates, placed, env, cameras = crowd
    depth, label = np.empty((11, 64, 64), np.float32), np.empty((11, 64, 64), np.int16)
    renderer = Renderer(templates, 64)
    renderer.depth(placed, env, cameras, depth)
    renderer.segmentation(placed, env, cameras, label)
    assert ((depth > 0) == (label >= 0)).all()


def test_a_robot_indoors_sees_something_everywhere(crowd):
    templates, placed, env, cameras = crowd
    depth = np.empty((11, 64, 64), np.float32)
    Renderer(templates, 64).depth(placed, env, cameras, depth)
    assert (depth > 0).all()


def test_pictures_go_to_the_slots_they_are_given(crowd):
    templates, placed, env, cameras = crowd
    plain, chosen = np.empty((11, 64, 64), np.float32), np.full((20, 64, 64), -1, np.float32)
    renderer, slot = Renderer(templates, 64), np.arange(11)[::-1] + 4
    renderer.depth(placed, env, cameras, plain)
    renderer.depth(placed, env, cameras, chosen, slot=slot)
    assert (chosen[slot] == plain).all()


def test_pictures_of_odd_size_do_not_touch_their_neighbours(crowd):
    templates, placed, env, cameras = crowd
    out = np.full((13, 33, 33), -1, np.float32)
    Renderer(templates, 33).depth(placed, env, cameras, out, slot=np.arange(11) + 1)
    assert (out[[0, 12]] == -1).all()


def test_a_picture_does_not_depend_on_what_was_drawn_before(crowd):
    templates, placed, env, cameras = crowd
    renderer, first, again = Renderer(templates, 64), np.empty((1, 64, 64), np.float32), np.empty((11, 64, 64), np.float32)
    renderer.depth(placed, env[-1:], cameras[-1:], first)
    renderer.depth(placed, env, cameras, again)
    assert (first[0] == again[-1]).all()


def test_a_robot_sees_its_partner():
    wheel, placed = parts_of([((0, 0, 0), (0.3, 0.3, 0.3), (9, 9, 9), 0, 0)]), nothing_placed(1, 1)
    placed.template[0, 0], placed.label[0, 0] = 0, 42
    placed.pose[0, 0, :, 3] = (0, 0, -3)
    out = np.empty((1, 64, 64), np.int16)
    Renderer([pack(wheel)], 64).segmentation(placed, np.zeros(1, int), np.eye(4)[None], out)
    assert out[0, 32, 32] == 42


def test_a_solid_turned_by_its_pose_looks_like_one_packed_turned():
    angle = 0.7
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]], np.float32)
    lying = parts_of([((0.5, 0, 0), (0.3, 0.2, 0.6), (9, 9, 9), 0, 0)])
    turned = replace(lying, center=lying.center @ turn.T + [0, 0, -3], rotation=turn[None])
    placed, pictures = nothing_placed(2, 1), np.empty((2, 64, 64), np.float32)
    placed.template[:, 0] = [0, 1]
    placed.pose[0, 0, :, :3], placed.pose[0, 0, :, 3] = turn, (0, 0, -3)
    Renderer([pack(lying), pack(turned)], 64).depth(placed, np.arange(2), np.stack([np.eye(4)] * 2), pictures)
    assert np.allclose(pictures[0], pictures[1], atol=1e-4)


def test_a_picture_that_is_too_small_is_refused(crowd):
    with pytest.raises(ValueError, match="8 or more"):
        Renderer(crowd[0], 4)


def test_a_buffer_of_the_wrong_type_is_refused(crowd):
    templates, placed, env, cameras = crowd
    with pytest.raises(TypeError, match="float32, uint16, uint8"):
        Renderer(templates, 64).depth(placed, env, cameras, np.empty((11, 64, 64), np.float64))


def test_a_buffer_with_too_few_pictures_is_refused(crowd):
    templates, placed, env, cameras = crowd
    with pytest.raises(ValueError, match="holds 10"):
        Renderer(templates, 64).depth(placed, env, cameras, np.empty((10, 64, 64), np.float32))


def test_a_buffer_that_is_not_contiguous_is_refused(crowd):
    templates, placed, env, cameras = crowd
    with pytest.raises(ValueError, match="contiguous"):
        Renderer(templates, 64).depth(placed, env, cameras, np.empty((11, 64, 128), np.float32)[..., ::2])


def test_the_wrong_number_of_joint_values_is_refused(home):
    with pytest.raises(ValueError, match="has 1 joints"):
        render(home, np.eye(4), "depth", 64, joints=np.zeros(3))


def test_meshes_of_a_home_without_any_are_refused(home):
    with pytest.raises(ValueError, match="has no meshes"):
        render(home, np.eye(4), "depth", 64, meshes=True)


def test_a_prism_of_too_many_sides_is_refused():
    drum = replace(parts_of([((0, 0, 0), (1, 1, 1), (9, 9, 9), 0, 0)]), sides=np.array([20], np.uint8))
    with pytest.raises(ValueError, match="3 to 16"):
        pack(drum)


def test_poses_of_the_wrong_type_are_refused(crowd):
    templates, placed, env, cameras = crowd
    with pytest.raises(TypeError, match=r"placed\.pose"):
        Renderer(templates, 64).depth(
            replace(placed, pose=placed.pose.astype(float)), env, cameras, np.empty((11, 64, 64), np.float32)
        )


@pytest.mark.parametrize("kind", ["depth", "rgb", "segmentation"])
def test_a_camera_that_is_no_pose_is_refused_with_the_shape_it_needs(home, kind):
    with pytest.raises(ValueError, match=r"shape.*3.*3.*camera.*matrix.*4.*4"):
        render(home, np.eye(3), kind, 64)


def test_a_robots_pose_is_its_head_camera(home):
    pose = np.array([0.3, -0.4, 0.7])
    assert (render(home, pose, "depth", 32) == render(home, FETCH.camera_to_world(pose), "depth", 32)).all()


def test_an_unknown_kind_of_picture_is_refused_with_those_that_exist(home):
    with pytest.raises(ValueError, match=r"'thermal'.*depth.*rgb"):
        render(home, np.eye(4), "thermal")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_camera_that_is_nowhere_is_refused(home, value):
    camera = np.eye(4)
    camera[0, 3] = value
    with pytest.raises(ValueError, match=r"camera.*0.*nan.*infinite"):
        render(home, camera, "depth", 64)


def test_the_last_row_of_a_camera_may_be_left_out(home):
    assert (render(home, np.eye(4)[:3], "depth", 16) == render(home, np.eye(4), "depth", 16)).all()


@pytest.mark.parametrize("shape", [(11, 3, 3), (11, 2, 4), (11, 4), (11, 1, 3, 4)])
def test_cameras_of_another_shape_are_refused(crowd, shape):
    templates, placed, env, _ = crowd
    with pytest.raises(ValueError, match=r"camera.*matrices.*4.*4"):
        Renderer(templates, 16).depth(placed, env, np.zeros(shape), np.zeros((11, 16, 16), np.float32))
