"""Navmeshes read from their bytes, compared with the real Habitat simulator on the same files."""

import json

import numpy as np
import pytest

from housemates.homes.replicacad.download import AssetError
from housemates.homes.replicacad.navmesh import TOLERANCE, Navmesh, floor_from_navmesh, read_navmesh, rise

FLOOR_BAND = 0.5
"""How far from the floor's height Habitat's top-down map still looks, metres (replicacad.md 11)."""
SCENES = ("v3_sc0_staging_00", "v3_sc1_staging_00")


@pytest.fixture(scope="module")
def reference(habitat_reference):
    return json.loads((habitat_reference / "navmesh.json").read_text())["scenes"]


@pytest.fixture(scope="module")
def files(replica_cad):
    return {scene: replica_cad / "navmeshes" / f"{scene}.navmesh" for scene in SCENES}


@pytest.mark.parametrize("scene", SCENES)
def test_the_area_is_habitats_area(scene, files, reference):
    assert read_navmesh(files[scene]).area == pytest.approx(reference[scene]["navigable_area"], rel=1e-5)


@pytest.mark.parametrize("scene", SCENES)
def test_the_bounds_are_habitats_bounds(scene, files, reference):
    navmesh = read_navmesh(files[scene])
    np.testing.assert_allclose([navmesh.low, navmesh.high], reference[scene]["bounds"], atol=1e-6)


@pytest.mark.parametrize("scene", SCENES)
def test_the_floor_is_where_habitat_draws_its_map(scene, files, reference):
    assert read_navmesh(files[scene]).floor_height == pytest.approx(reference[scene]["topdown_height"], abs=1e-6)


@pytest.mark.parametrize("scene", SCENES)
def test_the_grid_agrees_with_habitats_top_down_map(scene, files, habitat_reference):
    habitat = np.load(habitat_reference / f"topdown_{scene}_0.05m.npy")
    ours = np.abs(rise(read_navmesh(files[scene]))) <= FLOOR_BAND
    assert (ours == habitat).mean() >= 0.999


def path_errors(file, pairs):
    """Relative difference [P] between our shortest paths and Habitat's, where it found one."""
    floor = floor_from_navmesh(file)
    found = [pair for pair in pairs if pair["found"]]
    habitat = np.array([pair["geodesic_distance"] for pair in found])
    ours = np.array([floor.geodesic(pair["start"][::2], pair["goal"][::2]) for pair in found])
    return np.abs(ours - habitat) / habitat


@pytest.mark.parametrize("scene", SCENES)
def test_half_of_the_paths_are_within_three_percent_of_habitats(scene, files, reference):
    assert np.median(path_errors(files[scene], reference[scene]["pairs"])) <= 0.03


@pytest.mark.parametrize("scene", SCENES)
def test_almost_all_paths_are_within_eight_percent_of_habitats(scene, files, reference):
    # Detour's search over polygons is not exact: some of its paths are several percent longer than the shortest.
    assert np.quantile(path_errors(files[scene], reference[scene]["pairs"]), 0.95) <= 0.08


@pytest.mark.parametrize("scene", SCENES)
def test_where_habitat_finds_no_path_there_is_none(scene, files, reference):
    floor = floor_from_navmesh(files[scene])
    lost = [pair for pair in reference[scene]["pairs"] if not pair["found"]]
    assert [floor.geodesic(pair["start"][::2], pair["goal"][::2]) for pair in lost] == [float("inf")] * len(lost)


def test_robots_stay_off_polygons_that_climb_furniture(files):
    floor = floor_from_navmesh(files[SCENES[0]])
    climbing = floor.walkable & ~floor.free
    assert 1.0 < climbing.sum() * floor.cell**2 < 4.0
    assert not (floor.free & ~floor.walkable).any()


def test_a_tilted_triangle_has_its_height_at_every_lattice_point():
    triangle = np.array([[[0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 2.0, 0.0]]])
    navmesh = Navmesh(triangle, np.array([0.0, 1.0, 0.0]), np.array([1.01, 2.0, 1.01]))
    level = rise(navmesh)
    x, z = np.meshgrid(np.arange(20) * 0.05, np.arange(20) * 0.05)
    inside = x + z <= 1.0
    np.testing.assert_allclose(level[inside], x[inside], atol=1e-9)


def test_a_point_within_a_centimetre_of_a_polygon_counts_as_on_it():
    edge = 0.5 - TOLERANCE / 2
    triangle = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 5.0], [edge, 0.0, 0.0]]])
    level = rise(Navmesh(triangle, np.zeros(3), np.array([1.01, 1.0, 5.01])))
    assert np.isfinite(level[0, 10])
    assert np.isinf(level[0, 11])


def test_of_two_storeys_the_one_nearer_to_the_floor_counts():
    flat = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    above = flat + np.array([0.0, 0.4, 0.0])
    level = rise(Navmesh(np.stack([above, flat]), np.zeros(3), np.ones(3)))
    assert level[2, 2] == 0.0


@pytest.mark.parametrize("keep", [0, 3, 50, 150, 4000, -1])
def test_a_navmesh_that_is_cut_off_is_named_with_the_remedy(tmp_path, files, keep):
    broken = tmp_path / "broken.navmesh"
    broken.write_bytes(files[SCENES[0]].read_bytes()[:keep])
    with pytest.raises(AssetError, match=r"broken\.navmesh .* housemates data replicacad") as caught:
        read_navmesh(broken)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_kind_is_not_taken_for_a_navmesh(tmp_path):
    other = tmp_path / "other.navmesh"
    other.write_bytes(b"glTF" + bytes(400))
    with pytest.raises(AssetError, match=r"other\.navmesh.*navmesh"):
        read_navmesh(other)
