"""GLB and URDF files: our small readers against trimesh and yourdfpy on the real files, and against damage."""

import struct

import numpy as np
import pytest

from helpers.tiny_replicacad import write_glb
from housemates.homes.home import Joint, body_poses
from housemates.homes.replicacad.download import AssetError
from housemates.homes.replicacad.gltf import read_glb, rotation_of
from housemates.homes.replicacad.urdf import read_urdf

MESHES = ("objects/frl_apartment_tvstand", "urdf/fridge/body", "urdf/kitchen_counter/drawer3", "urdf/doors/door2")
URDFS = (
    "fridge/fridge",
    "kitchen_counter/kitchen_counter",
    "chest_of_drawers/chestOfDrawers_01",
    "doors/door2",
    "cabinet/cabinet",
)


TRIANGLE = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])


@pytest.mark.parametrize("name", MESHES)
def test_triangles_are_those_that_trimesh_reads(name, replica_cad):
    trimesh = pytest.importorskip("trimesh")
    path = replica_cad / f"{name}.glb"
    ours = read_glb(path)
    theirs = trimesh.load(path, force="scene").to_mesh()
    corners = [mesh.vertices[mesh.faces].reshape(-1, 9) for mesh in (ours, theirs)]
    first, second = (c[np.lexsort(np.round(c, 4).T)] for c in corners)
    np.testing.assert_allclose(first, second, atol=2e-5)


def test_a_textured_table_has_the_texture_s_colours(replica_cad):
    mesh = read_glb(replica_cad / "objects" / "frl_apartment_table_01.glb")
    assert mesh.coloured.all()
    assert (mesh.colour.mean(axis=0) < 90).all()  # dark wood


def test_a_plain_material_is_shown_as_a_display_would(tmp_path):
    write_glb(tmp_path / "grey.glb", TRIANGLE, {"pbrMetallicRoughness": {"baseColorFactor": [0.2140, 0.2140, 0.2140, 1]}})
    assert read_glb(tmp_path / "grey.glb").colour.tolist() == [[127, 127, 127]]


def test_vertex_colours_are_averaged_over_a_face(tmp_path):
    write_glb(tmp_path / "red.glb", TRIANGLE, colours=np.array([[[1.0, 0, 0], [1, 0, 0], [1, 0, 0]]]))
    assert read_glb(tmp_path / "red.glb").colour.tolist() == [[255, 0, 0]]


def test_a_mesh_without_any_colour_says_so(tmp_path):
    write_glb(tmp_path / "bare.glb", TRIANGLE)
    assert not read_glb(tmp_path / "bare.glb").coloured.any()


def test_winding_is_kept_as_in_the_file(tmp_path):
    write_glb(tmp_path / "a.glb", TRIANGLE)
    mesh = read_glb(tmp_path / "a.glb")
    np.testing.assert_array_equal(mesh.vertices[mesh.faces], TRIANGLE)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (b"", "not a GLB"),
        (b"solid teapot, but long enough to be read", "not a GLB"),
        (struct.pack("<4sIII4s", b"glTF", 2, 9000, 8, b"JSON") + b"{}      ", "cut off"),
        (struct.pack("<4sIII4s", b"glTF", 2, 28, 8, b"JSON") + b"{]      ", "damaged header"),
    ],
)
def test_a_damaged_mesh_is_named_with_what_is_wrong(tmp_path, content, says):
    (tmp_path / "sofa.glb").write_bytes(content)
    with pytest.raises(AssetError, match=rf"sofa\.glb .*{says}") as caught:
        read_glb(tmp_path / "sofa.glb")
    assert "\n" not in str(caught.value)


def test_a_mesh_cut_in_half_is_named(tmp_path):
    write_glb(tmp_path / "half.glb", TRIANGLE)
    whole = (tmp_path / "half.glb").read_bytes()
    (tmp_path / "half.glb").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AssetError, match=r"half\.glb.*cut off"):
        read_glb(tmp_path / "half.glb")


def test_a_rotation_need_not_be_normalised():
    np.testing.assert_allclose(rotation_of((-0.707, 0.707, 0, 0)), rotation_of((-1, 1, 0, 0)), atol=1e-12)


@pytest.mark.parametrize("name", URDFS)
def test_links_are_where_yourdfpy_puts_them(name, replica_cad):
    yourdfpy = pytest.importorskip("yourdfpy")
    path = replica_cad / "urdf" / f"{name}.urdf"
    theirs = yourdfpy.URDF.load(str(path), load_meshes=False, build_scene_graph=True)
    theirs.update_cfg(np.zeros(theirs.num_actuated_joints))
    for link in read_urdf(path).links:
        np.testing.assert_allclose(link.pose, theirs.get_transform(link.name), atol=1e-9, err_msg=link.name)


@pytest.mark.parametrize("name", URDFS)
def test_joints_move_links_as_yourdfpy_moves_them(name, replica_cad):
    yourdfpy = pytest.importorskip("yourdfpy")
    path = replica_cad / "urdf" / f"{name}.urdf"
    theirs = yourdfpy.URDF.load(str(path), load_meshes=False, build_scene_graph=True)
    furniture = read_urdf(path)
    joints = tuple(Joint(h.link, h.kind, tuple(h.axis), tuple(h.origin), h.lower, h.upper) for h in furniture.hinges)
    values = np.array([0.7 * j.lower + 0.3 * j.upper for j in joints])
    moved = body_poses(joints, values)
    child = {theirs.joint_map[n].child: k for k, n in enumerate(theirs.actuated_joint_names)}
    order = np.argsort([child[j.name] for j in joints])
    theirs.update_cfg(values[order])
    for link in furniture.links:
        np.testing.assert_allclose(moved[link.hinge + 1] @ link.pose, theirs.get_transform(link.name), atol=1e-9)


def test_scale_multiplies_offsets_meshes_and_sliding_distances_but_not_angles(replica_cad):
    whole = read_urdf(replica_cad / "urdf" / "chest_of_drawers" / "chestOfDrawers_01.urdf")
    small = read_urdf(replica_cad / "urdf" / "chest_of_drawers" / "chestOfDrawers_01.urdf", 0.4)
    drawer, little = whole.link("drawer_topL"), small.link("drawer_topL")
    np.testing.assert_allclose(little.pose[:3, 3], 0.4 * drawer.pose[:3, 3])
    np.testing.assert_allclose(little.pose[:3, :3], drawer.pose[:3, :3])
    np.testing.assert_allclose(little.meshes[0][1][:3, :3], 0.4 * drawer.meshes[0][1][:3, :3])
    assert small.hinges[0].upper == pytest.approx(0.2)


def test_a_joint_on_a_moving_link_is_refused(tmp_path):
    joint = '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/></joint>'
    links = "".join(f'<link name="{n}"/>' for n in "abc")
    (tmp_path / "arm.urdf").write_text(f"<robot>{links}{joint.format('j', 'a', 'b')}{joint.format('k', 'b', 'c')}</robot>")
    with pytest.raises(AssetError, match="link c hangs on two joints"):
        read_urdf(tmp_path / "arm.urdf")


@pytest.mark.parametrize(
    "content",
    ["<robot>", "<robot><link/></robot>", '<robot><link name="a"/><joint type="fixed"><child link="a"/></joint></robot>'],
)
def test_a_damaged_urdf_is_named(tmp_path, content):
    (tmp_path / "desk.urdf").write_text(content)
    with pytest.raises(AssetError, match=r"desk\.urdf") as caught:
        read_urdf(tmp_path / "desk.urdf")
    assert "\n" not in str(caught.value)
