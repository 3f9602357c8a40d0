"""Furniture is solid where things are put on it, hollow where things are put in it, and moves the right way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from housemates.homes import decor, furniture
from housemates.homes.home import body_poses
from housemates.homes.kitchen import counter, cupboards, fridge
from housemates.homes.pieces import Piece, Placed, assemble, corners, footprints, hull, turn

GREY = (128, 128, 128)
PIECES = {
    "counter": counter(GREY, GREY),
    "fridge": fridge(GREY),
    "cupboards": cupboards(GREY),
    "table_01": furniture.table_01(GREY),
    "table_02": furniture.table_02(GREY),
    "table_03": furniture.table_03(GREY),
    "tvstand": furniture.tvstand(GREY),
    "sofa": furniture.sofa(GREY),
    "chair": furniture.chair(1, GREY),
    "shelves": furniture.shelves("wall_cabinet_02", 0.94, 1.98, GREY),
    "cabinet": furniture.cabinet(GREY, GREY),
    "chest": furniture.chest(GREY),
    "tv_screen": furniture.tv_screen(),
    "plant": decor.plant("indoor_plant_01", 0.5, 1.49, np.random.default_rng(0)),
    "beanbag": decor.beanbag(GREY),
    "bike": decor.bike("bike_01", GREY),
    "clothes_hanger": decor.clothes_hanger(),
}
WITH_RECEPTACLES = [name for name, piece in PIECES.items() if piece.receptacles]
PLACE = ((1.3, -0.4), 0.7)

SUPPORT_HEIGHTS = {
    "chair_1": 0.40,
    "table_01": 0.76,
    "table_02": 0.92,
    "tvstand": 0.63,
    "sofa": 0.44,
    "counter_left": 0.86,
    "counter_right": 0.86,
    "sink": 0.71,
    "drawer_right_top": 0.50,
    "fridge_shelf": 1.26,
}
"""Heights of HAB's receptacles in ReplicaCAD, metres."""

SIZES = {
    "table_01": (1.40, 0.85, 0.76),
    "table_02": (1.28, 0.81, 0.93),
    "table_03": (1.21, 0.71, 0.41),
    "tvstand": (1.52, 0.50, 0.62),
    "sofa": (2.14, 0.96, 0.80),
    "chair": (0.80, 0.71, 0.76),
    "cabinet": (1.59, 0.43, 0.78),
    "chest": (0.88, 0.37, 1.27),
    "fridge": (0.70, 0.74, 1.97),
}
"""Width, depth and height of ReplicaCAD's pieces, metres."""


def world(name):
    """Parts, joints and receptacles of one piece, placed askew."""
    parts, _, joints, receptacles = assemble([Placed(PIECES[name], *PLACE)])
    return parts, joints, receptacles


def inside(parts, points):
    """[P, N] whether each of the points [P, 3] lies in the interior of each box."""
    local = np.einsum("pnj,nji->pni", points[:, None] - parts.center[None], parts.rotation)
    return ((np.abs(local) < parts.half - 1e-4).all(-1)) & (parts.sides == 0)


@pytest.mark.parametrize("name", WITH_RECEPTACLES)
def test_a_thing_on_a_receptacle_rests_on_the_top_of_a_part(name):
    parts, _, receptacles = world(name)
    tops = parts.center[:, 1] + parts.half[:, 1]
    for receptacle in receptacles:
        half = np.array(receptacle.half)
        lattice = np.array([[x, -1.0, z] for x in (-0.97, 0.0, 0.97) for z in (-0.97, 0.0, 0.97)]) * half
        below = inside(parts, receptacle.world(lattice) - [0, 2e-3, 0])
        at_surface = np.abs(tops - receptacle.surface) < 1e-4
        assert (below & at_surface).any(1).all(), receptacle.name


@pytest.mark.parametrize("name", WITH_RECEPTACLES)
def test_the_placement_volumes_are_empty(name):
    parts, _, receptacles = world(name)
    steps = np.linspace(-0.98, 0.98, 9)
    lattice = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)
    for receptacle in receptacles:
        assert not inside(parts, receptacle.world(lattice * receptacle.half)).any(), receptacle.name


@pytest.mark.parametrize(("name", "height"), SUPPORT_HEIGHTS.items())
def test_support_heights_are_replicacads(name, height):
    receptacles = {r.name: r for piece in PIECES.values() for r in piece.receptacles}
    assert receptacles[name].surface == pytest.approx(height, abs=0.015)


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_pieces_have_replicacads_size(name, size):
    parts, _, _, _ = assemble([Placed(PIECES[name])])
    points = np.concatenate([corners(parts, i) for i in range(len(parts))])
    extent = points.max(0) - points.min(0)
    assert extent[[0, 2, 1]] == pytest.approx(size, abs=0.021)


@pytest.mark.parametrize("name", sorted(set(PIECES) - {"tv_screen", "cupboards"}))
def test_pieces_stand_on_the_floor(name):
    parts, _, _, _ = assemble([Placed(PIECES[name])])
    assert min(corners(parts, i)[:, 1].min() for i in range(len(parts))) == pytest.approx(0.0, abs=0.011)


def test_every_drawer_slides_out_of_the_counters_front():
    _, joints, receptacles = world("counter")
    front = turn(PLACE[1]) @ [0, 0, 1]
    drawers = [joints[r.joint] for r in receptacles if r.joint >= 0]
    assert [tuple(np.round(j.axis, 6)) for j in drawers] == [tuple(np.round(front, 6))] * 7


def test_a_drawer_opens_itself():
    _, _, receptacles = world("counter")
    assert all(r.door == r.joint for r in receptacles if r.joint >= 0)


def test_an_open_fridge_door_swings_its_handle_out_to_the_front():
    _, joints, receptacles = world("fridge")
    shelf = next(r for r in receptacles if r.name == "fridge_shelf")
    values = np.zeros(len(joints))
    values[shelf.door] = 1.22
    moved = body_poses(joints, values)[shelf.door + 1] @ [*shelf.handle, 1.0]
    assert (moved[:3] - shelf.handle) @ (turn(PLACE[1]) @ [0, 0, 1]) > 0.5


def test_an_open_fridge_door_clears_the_shelf():
    parts, joints, receptacles = world("fridge")
    shelf = next(r for r in receptacles if r.name == "fridge_shelf")
    front = turn(PLACE[1]) @ [0, 0, 1]
    ray = np.array(shelf.center) + np.linspace(0.28, 0.7, 50)[:, None] * front
    values = np.zeros(len(joints))
    values[shelf.door] = 1.22
    back = np.linalg.inv(body_poses(joints, values)[shelf.door + 1])
    carried = ray @ back[:3, :3].T + back[:3, 3]
    leaf = parts.body == shelf.door + 1
    assert inside(parts, ray)[:, leaf].any()
    assert not inside(parts, carried)[:, leaf].any()


def test_the_fridge_shelf_needs_the_upper_door():
    _, joints, receptacles = world("fridge")
    shelf = next(r for r in receptacles if r.name == "fridge_shelf")
    assert joints[shelf.door].name == "fridge/top_door"


def test_the_sliding_doors_of_the_cabinet_pass_each_other():
    parts, _, _ = world("cabinet")
    left, right = (np.flatnonzero(parts.body == body)[0] for body in (1, 2))
    front = (turn(PLACE[1]) @ [0, 0, 1]).astype(np.float32)
    gap = (parts.center[right] - parts.center[left]) @ front - parts.half[left, 2] - parts.half[right, 2]
    assert gap > 0.001


def test_joints_and_bodies_of_several_pieces_are_counted_on():
    parts, _, joints, receptacles = assemble([Placed(PIECES["cabinet"]), Placed(PIECES["fridge"], (3.0, 0.0))])
    shelf = next(r for r in receptacles if r.name == "fridge_shelf")
    assert [j.name for j in joints] == ["cabinet/left_door", "cabinet/right_door", "fridge/top_door", "fridge/bottom_door"]
    assert shelf.door == 2
    assert set(parts.body) == {0, 1, 2, 3, 4}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=3, max_size=20))
def test_hull_is_scipys(points):
    points = np.round(np.array(points), 3)
    spread = np.linalg.svd(points - points.mean(0))[1]
    if spread[-1] < 1e-2:
        return
    slow = points[ConvexHull(points).vertices]
    assert {tuple(p) for p in hull(points)} == {tuple(p) for p in slow.round(6)}


@settings(max_examples=30, deadline=None)
@given(st.floats(-3.2, 3.2), st.floats(0.05, 1), st.floats(0.05, 1), st.sampled_from([0, 3, 8, 16]), st.floats(0.3, 1.5))
def test_footprints_hold_every_corner_of_a_part(yaw, width, depth, sides, taper):
    piece = Piece("thing")
    if sides:
        piece.prism((0.2, 0.5, 0.1), (width, 0.5, depth), GREY, sides, taper)
    else:
        piece.box((-width, 0, -depth), (width, 1, depth), GREY)
    parts, _, _, _ = assemble([Placed(piece, (0.3, -0.8), yaw)])
    polygons, counts = footprints(parts, 0.1, 1.5)
    outline = ConvexHull(corners(parts, 0)[:, [0, 2]])
    assert counts.tolist() == [len(outline.vertices)]
    assert ConvexHull(polygons[0, : counts[0]]).volume == pytest.approx(outline.volume, rel=1e-4)


def test_what_is_low_or_high_leaves_no_footprint():
    piece = Piece("thing")
    piece.box((0, 0.0, 0), (1, 0.09, 1), GREY)
    piece.box((0, 1.53, 0), (1, 2.5, 1), GREY)
    piece.box((0, 0.05, 0), (2, 0.2, 1), GREY)
    polygons, _ = footprints(assemble([Placed(piece)])[0], 0.1, 1.5)
    assert len(polygons) == 1
