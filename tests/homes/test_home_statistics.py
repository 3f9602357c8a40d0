"""The statistics are those of the reference, and generated homes have them."""

import numpy as np
import pytest

from housemates.homes.floor import CELL, Floor
from housemates.homes.generate import generate_home
from housemates.homes.replicacad.navmesh import floor_from_navmesh
from housemates.homes.splits import load_split
from housemates.homes.statistics import (
    CLEARANCES,
    REPLICACAD,
    clearance_shares,
    home_statistics,
    receptacle_geodesics,
    statistics_table,
)

WINDOWS = {
    "navigable area, smallest (m2)": (24, 33),
    "navigable area, largest (m2)": (24, 33),
    "navigable area, mean (m2)": (26.9, 28.9),
    "geodesic between receptacles, mean (m)": (3.9, 4.9),
    "geodesic between receptacles, p90 (m)": (6.9, 8.9),
    "clearance above 0.1 m, share": (0.80, 0.88),
    "clearance above 0.2 m, share": (0.63, 0.73),
    "clearance above 0.3 m, share": (0.45, 0.65),
    "clearance above 0.5 m, share": (0.27, 0.37),
}
"""What the homes of a split must measure."""


@pytest.fixture(scope="module")
def dev_homes():
    return load_split("dev")


@pytest.fixture(scope="module")
def dev_statistics(dev_homes):
    return home_statistics(dev_homes)


def test_clearance_of_an_empty_room_is_its_inner_rectangle():
    free = np.zeros((40, 60), bool)
    free[5:35, 5:55] = True
    shares = clearance_shares(Floor((0.0, 0.0), free, free, 0.0))
    inner = [(30 - 2 * k) * (50 - 2 * k) / 1500 for k in (2, 4, 5, 10)]
    assert shares == pytest.approx(inner)


def test_clearance_measured_on_the_real_floors_gives_the_reference(replica_cad):
    files = sorted((replica_cad / "navmeshes").rglob("*.navmesh"))[::4]
    measured = np.mean([clearance_shares(floor_from_navmesh(file)) for file in files], axis=0)
    assert measured == pytest.approx([REPLICACAD[f"clearance above {d} m, share"] for d in CLEARANCES], abs=0.02)


def test_area_measured_on_the_real_floors_gives_the_reference(replica_cad):
    files = sorted((replica_cad / "navmeshes").rglob("*.navmesh"))[::4]
    areas = [len(floor_from_navmesh(file).cells) * CELL**2 for file in files]
    assert np.mean(areas) == pytest.approx(REPLICACAD["navigable area, mean (m2)"], abs=0.4)


def test_receptacle_paths_are_all_pairs_of_twelve_and_finite():
    paths = receptacle_geodesics(generate_home("dev", 0))
    assert paths.shape == (66,)
    assert np.isfinite(paths).all()


@pytest.mark.parametrize("name", WINDOWS)
def test_the_dev_homes_measure_like_replicacad(dev_statistics, name):
    low, high = WINDOWS[name]
    assert low <= dev_statistics[name] <= high


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "eval", "test"])
def test_the_homes_of_every_split_measure_like_replicacad(split):
    measured = home_statistics(load_split(split))
    outside = {name: measured[name] for name, (low, high) in WINDOWS.items() if not low <= measured[name] <= high}
    assert outside == {}


def test_the_table_stands_beside_the_reference(dev_homes, dev_statistics):
    table = statistics_table(dev_homes)
    assert [(name, reference) for name, _, reference in table] == list(REPLICACAD.items())
    assert [value for _, value, _ in table] == list(dev_statistics.values())


def test_no_homes_cannot_be_measured():
    with pytest.raises(ValueError, match="No homes to measure"):
        home_statistics([])
