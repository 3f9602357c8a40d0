"""Homes of ReplicaCAD: all real scenes, compared with the dataset's facts and with Habitat; and folders with faults."""

import shutil
import warnings

import numpy as np
import pytest

from helpers.tiny_replicacad import SCENE, TABLE, write_dataset
from housemates.homes.files import load_homes, save_homes
from housemates.homes.home import RECEPTACLES, body_poses
from housemates.homes.replicacad.download import AssetError
from housemates.homes.replicacad.scene import load_replicacad, load_replicacad_split, replicacad_scenes

# Support heights of replicacad.md section 7, metres.
SURFACES = {
    "chair_1": 0.40,
    "chair_2": 0.40,
    "table_01": 0.76,
    "table_02": 0.92,
    "tvstand": 0.63,
    "sofa": 0.44,
    "counter_left": 0.86,
    "counter_right": 0.86,
    "sink": 0.71,
    "drawer_right": 0.50,
    "fridge_shelf": 1.26,
}


@pytest.fixture(scope="module")
def homes(replica_cad):
    """All real scenes, without triangles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_replicacad_split(replica_cad, "train", meshes=False)


@pytest.fixture(scope="module")
def home(replica_cad):
    """One real scene with its triangles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_replicacad(replica_cad, "v3_sc0_staging_00")


def named(home, name):
    return next(r for r in home.receptacles if r.name == name)


def joint_index(home, name):
    return [j.name for j in home.joints].index(name)


def moved(home, joint, value, points):
    """World points that ride on a joint's link, when the joint is at `value`."""
    values = np.zeros(len(home.joints))
    values[joint] = value
    pose = body_poses(home.joints, values)[joint + 1]
    return np.asarray(points) @ pose[:3, :3].T + pose[:3, 3]


def label_vertices(home, label):
    faces = home.meshes.faces[home.meshes.label == home.labels.index(label)]
    return home.meshes.vertices[np.unique(faces)]


# The real dataset


def test_all_sixty_three_scenes_load(homes, replica_cad):
    assert [h.name for h in homes] == replicacad_scenes(replica_cad)
    assert len(homes) == 63


def test_every_scene_has_all_ten_receptacles(homes):
    assert {kind for h in homes for kind in RECEPTACLES if not h.instances(kind)} == set()


def test_every_scene_has_two_chairs_and_two_counter_tops(homes):
    assert {(len(h.instances("chair")), len(h.instances("counter"))) for h in homes} == {(2, 2)}


def test_receptacle_names_are_unique(homes):
    assert all(len({r.name for r in h.receptacles}) == len(h.receptacles) for h in homes)


def test_the_two_chairs_are_two_pieces_and_the_counter_is_one(home):
    assert {named(home, f"chair_{n}").furniture for n in (1, 2)} == {"chair_1", "chair_2"}
    assert {named(home, n).furniture for n in ("counter_left", "counter_right", "sink")} == {"kitchen_counter"}


@pytest.mark.parametrize(("name", "height"), SURFACES.items())
def test_things_stand_at_the_heights_of_the_dataset(homes, name, height):
    assert max(abs(named(h, name).surface - height) for h in homes) < 0.02


def test_placement_areas_have_the_dataset_s_sizes(home):
    sizes = {name: 2 * np.array(named(home, name).half)[[0, 2]] for name in ("table_01", "counter_right", "fridge_shelf")}
    np.testing.assert_allclose(sizes["table_01"], (1.39, 0.85), atol=0.01)
    np.testing.assert_allclose(sizes["counter_right"], (0.60, 1.48), atol=0.01)
    np.testing.assert_allclose(sizes["fridge_shelf"], (0.54, 0.59), atol=0.01)


def test_every_volume_has_a_size(homes):
    assert all(min(r.half) > 0 for h in homes for r in h.receptacles)


def test_a_turned_table_s_volume_lies_over_its_top(home):
    table = named(home, "table_01")
    top = label_vertices(home, "table_01")
    local = table.local(top[top[:, 1] > table.surface - 0.05])
    np.testing.assert_allclose(np.abs(local).max(axis=0)[[0, 2]], np.array(table.half)[[0, 2]], atol=0.02)


def test_handles_are_on_the_three_receptacles_that_open(homes):
    opening = {kind for h in homes for kind in RECEPTACLES for i in h.instances(kind) if h.receptacles[i].handle is not None}
    assert opening == {"fridge", "drawer_right", "drawer_left"}


def test_the_fridge_s_handle_is_in_front_of_its_door(home):
    fridge = named(home, "fridge_shelf")
    body = label_vertices(home, "fridge")
    assert fridge.handle[0] == pytest.approx(body[:, 0].max(), abs=0.05)
    assert body[:, 2].min() < fridge.handle[2] < body[:, 2].max()


def test_a_drawer_s_volume_moves_with_its_own_joint(home):
    drawer = named(home, "drawer_right")
    assert home.joints[drawer.joint].name == "kitchen_counter/drawer3"
    assert drawer.door == drawer.joint


def test_the_fridge_s_shelf_stands_still_behind_its_door(home):
    fridge = named(home, "fridge_shelf")
    assert (fridge.joint, home.joints[fridge.door].name) == (-1, "fridge/top_door")


def test_drawers_slide_out_of_the_counter_s_front(homes):
    for h in homes:
        for name in ("drawer_right", "drawer_left"):
            drawer = named(h, name)
            way = moved(h, drawer.joint, 0.45, drawer.center) - np.array(drawer.center)
            np.testing.assert_allclose(way, (0.45, 0, 0), atol=1e-6)


def test_the_fridge_s_door_opens_outward(homes):
    for h in homes:
        fridge = named(h, "fridge_shelf")
        out = moved(h, fridge.door, 1.22, fridge.handle) - np.array(fridge.handle)
        assert out[0] > 0.3
        assert abs(out[1]) < 0.02


def test_joints_can_be_at_zero(homes):
    assert all(j.lower <= 0 <= j.upper for h in homes for j in h.joints)


def test_a_scaled_piece_slides_its_scaled_distance(home):
    assert home.joints[joint_index(home, "kitchen_counter/drawer3")].upper == pytest.approx(0.49)
    assert home.joints[joint_index(home, "chestOfDrawers_01/drawer_topL")].upper == pytest.approx(0.2)


def test_every_receptacle_of_the_action_list_can_be_approached(homes):
    far = {
        (h.name, r.name)
        for h in homes
        for r in h.receptacles
        if r.kind in RECEPTACLES and h.floor.snap((r.target[0], r.target[2]), reach=1.2) is None
    }
    assert far == set()


def test_the_main_floor_is_as_large_as_the_dataset_s(homes):
    area = [h.floor.main.sum() * h.floor.cell**2 for h in homes]
    assert 24.0 < min(area) <= max(area) < 33.0
    assert np.mean(area) == pytest.approx(27.9, abs=0.6)


def test_depth_agrees_with_habitat_at_sampled_pixels(home, habitat_reference):
    with np.load(habitat_reference / "depth_v3_sc0_staging_00.npz") as data:
        depth, cameras = data["depth"], data["camera_to_world"]
    rng = np.random.default_rng(5)
    views, rows, cols = rng.integers(0, len(depth), 120), *rng.integers(0, 256, (2, 120))
    ours = [cast(home, cameras[v], r, c) for v, r, c in zip(views, rows, cols, strict=True)]
    agree = np.abs(np.array(ours) - depth[views, rows, cols]) < 0.01
    assert agree.mean() >= 0.99


def cast(home, camera, row, col, size=256):
    """Planar depth at one pixel of a 90 degree camera by testing every front-facing triangle; 0 where nothing is hit."""
    ray = camera[:3, :3] @ np.array([(col + 0.5) / size * 2 - 1, 1 - (row + 0.5) / size * 2, -1.0])
    a, b, c = np.moveaxis(home.meshes.vertices[home.meshes.faces].astype(float), 1, 0)
    normal, offset = np.cross(b - a, c - a), camera[:3, 3] - a
    facing = -(normal @ ray)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.cross(offset, ray)
        u, v, t = ((c - a) * turn).sum(1) / facing, -((b - a) * turn).sum(1) / facing, (offset * normal).sum(1) / facing
        hit = (facing > 0) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0.01)
    return t[hit].min(initial=np.inf) if hit.any() else 0.0


def test_faces_name_vertices_bodies_and_labels_that_exist(home):
    assert home.meshes.faces.max() < len(home.meshes.vertices)
    assert home.meshes.body.max() <= len(home.joints)
    assert home.meshes.label.max() < len(home.labels)


def test_a_door_s_triangles_ride_on_its_joint(home):
    body = joint_index(home, "fridge/top_door") + 1
    assert set(home.meshes.label[home.meshes.body == body]) == {home.labels.index("fridge")}


def test_what_the_folder_lacks_is_noted(home):
    assert [note.split(" is ")[0] for note in home.notes] == [
        "stages/Stage_v3_sc0_staging.glb",
        "objects/frl_apartment_bike_02.glb",
    ]


def test_a_real_home_survives_being_saved(home, tmp_path):
    save_homes(tmp_path / "homes.npz", [home])
    assert load_homes(tmp_path / "homes.npz")[0].content_hash == home.content_hash


def test_the_same_scene_is_the_same_bytes(home, replica_cad):
    assert load_replicacad(replica_cad, home.name).content_hash == home.content_hash


# A folder made by hand


def test_a_missing_mesh_is_told_once_per_folder(tmp_path):
    folder = write_dataset(tmp_path / "replica_cad")
    shutil.copy(folder / f"configs/scenes/{SCENE}.scene_instance.json", folder / "configs/scenes/other.scene_instance.json")
    (folder / "objects/table.glb").unlink()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for scene in replicacad_scenes(folder):
            load_replicacad(folder, scene)
    assert [str(w.message).partition(" lacks ")[2] for w in told] == ["furniture (objects/table.glb); homes do without"]


def test_a_home_without_one_mesh_keeps_the_rest(tmp_path):
    folder = write_dataset(tmp_path / "replica_cad")
    (folder / "objects/table.glb").unlink()
    with pytest.warns(UserWarning, match="lacks furniture"):
        home = load_replicacad(folder, SCENE)
    assert "objects/table.glb is missing: left out" in home.notes
    assert len(label_vertices(home, "chest"))


def test_without_a_navmesh_the_floor_is_measured(tmp_path):
    floor = load_replicacad(write_dataset(tmp_path / "replica_cad"), SCENE).floor
    assert [floor.is_free(at) for at in ((1.5, 1.0), (0.2, 1.0), (3.0, 2.0), (3.75, 2.0), (3.85, 2.0), (6.5, 1.0))] == [
        True,
        False,  # nearer to the wall than a robot is wide
        False,  # under the table, a closed box
        False,
        True,
        False,  # outside
    ]


def test_a_measured_floor_keeps_a_robot_s_radius_from_everything(tmp_path):
    floor = load_replicacad(write_dataset(tmp_path / "replica_cad"), SCENE, meshes=False).floor
    boxes = [((2.5, 1.7), (3.5, 2.3)), ((0.25, 2.75), (0.75, 3.25)), ((0.7, 2.775), (0.8, 3.225))]  # table, chest, drawer
    x, z = np.meshgrid(*(np.arange(n) * floor.cell for n in floor.free.shape[::-1]))
    clear = np.minimum.reduce([x, 6.0 - x, z, 4.0 - z])
    for low, high in boxes:
        away = [np.maximum(np.maximum(a - p, p - b), 0) for a, b, p in zip(low, high, (x, z), strict=True)]
        clear = np.minimum(clear, np.hypot(*away))
    sure = np.abs(clear - 0.3) > 1e-6
    np.testing.assert_array_equal(floor.free[sure], (clear > 0.3)[sure])


def test_with_neither_navmesh_nor_stage_there_is_no_home(tmp_path):
    folder = write_dataset(tmp_path / "replica_cad")
    (folder / "stages/stage.glb").unlink()
    with pytest.raises(AssetError, match=r"navmesh.*housemates data.*replicacad"):
        load_replicacad(folder, SCENE)


def test_the_stage_is_told_apart_into_floor_and_walls(tmp_path):
    home = load_replicacad(write_dataset(tmp_path / "replica_cad"), SCENE)
    assert label_vertices(home, "floor")[:, 1].max() == 0.0
    assert label_vertices(home, "wall")[:, 1].max() == 2.5


def test_a_piece_without_colours_has_always_the_same_one(tmp_path):
    homes = [load_replicacad(write_dataset(tmp_path / name), SCENE) for name in "ab"]
    first, second = (h.meshes.colour[h.meshes.label == h.labels.index("chest")] for h in homes)
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first, axis=0)) == 1


def test_link_offsets_scale_with_the_piece(tmp_path):
    home = load_replicacad(write_dataset(tmp_path / "replica_cad"), SCENE)
    assert home.joints[0].origin == pytest.approx((0.5 + 0.25, 0.5 + 0.2, 3.0))
    assert home.joints[0].upper == pytest.approx(0.4)


def test_a_pose_refers_to_the_centre_of_mass(tmp_path):
    home = load_replicacad(write_dataset(tmp_path / "replica_cad", table_config={"COM": [0, -0.35, 0]}), SCENE)
    assert label_vertices(home, "table_01")[:, 1].min() == pytest.approx(0.35)


def test_a_pose_may_refer_to_the_asset_s_own_origin(tmp_path):
    folder = write_dataset(tmp_path / "replica_cad", {"translation_origin": "ASSET_LOCAL"}, {"COM": [0, -0.35, 0]})
    home = load_replicacad(folder, SCENE)
    assert label_vertices(home, "table_01")[:, 1].min() == pytest.approx(0.0, abs=1e-6)


def test_a_scaled_object_is_larger_with_its_volume(tmp_path):
    home = load_replicacad(write_dataset(tmp_path / "replica_cad", {"uniform_scale": 2.0}), SCENE)
    assert np.ptp(label_vertices(home, "table_01"), axis=0) == pytest.approx(2 * np.array(TABLE))
    assert named(home, "table_01").half == pytest.approx((1.0, 0.2, 0.6))


def test_a_missing_folder_is_named_with_the_remedy(tmp_path):
    with pytest.raises(AssetError, match=r"housemates data.*replicacad"):
        load_replicacad(tmp_path / "nowhere", SCENE)


def test_a_folder_of_something_else_is_named(tmp_path):
    with pytest.raises(AssetError, match="so it is not ReplicaCAD"):
        replicacad_scenes(tmp_path)


def test_an_unknown_scene_is_answered_with_near_names(tmp_path):
    with pytest.raises(AssetError, match=f"did you mean {SCENE}"):
        load_replicacad(write_dataset(tmp_path / "replica_cad"), "v3_sc0_staging_0")


def test_an_unknown_split_is_answered_with_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="choose one of: train, val, test"):
        load_replicacad_split(tmp_path, "evaluation")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (f"configs/scenes/{SCENE}.scene_instance.json", "{"),
        (f"configs/scenes/{SCENE}.scene_instance.json", "[]"),
        (f"configs/scenes/{SCENE}.scene_instance.json", "{}"),
        ("configs/objects/frl_apartment_table_01.object_config.json", "nothing"),
        ("configs/objects/frl_apartment_table_01.object_config.json", "{}"),
        ("objects/table.glb", "glTF"),
        ("urdf/chest/chest.urdf", "<robot>"),
        (f"navmeshes/{SCENE}.navmesh", "TESM"),
    ],
)
def test_a_damaged_file_is_named_in_one_line(tmp_path, file, content):
    folder = write_dataset(tmp_path / "replica_cad")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(content)
    with pytest.raises(AssetError) as caught:
        load_replicacad(folder, SCENE)
    assert file in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "housemates data replicacad" in str(caught.value)


def test_a_scene_with_a_nonsense_rotation_is_named(tmp_path):
    folder = write_dataset(tmp_path / "replica_cad", {"rotation": [0, 0, 0, 0]})
    with pytest.raises(AssetError, match=rf"{SCENE}\.scene_instance\.json is not a usable scene"):
        load_replicacad(folder, SCENE)
