"""Episodes in real and procedural homes pass the independent check."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from housemates.homes.generate import generate_home
from housemates.homes.home import Home
from housemates.homes.objects import half_extents
from housemates.homes.replicacad.scene import load_replicacad
from housemates.tasks.generate import generate_episodes
from housemates.tasks.tasks import TASKS
from housemates.tasks.validate import validate


@pytest.fixture(scope="module")
def procedural() -> list[Home]:
    return [generate_home("dev", 0), generate_home("eval", 1)]


@pytest.fixture(scope="module")
def real(replica_cad: Path) -> list[Home]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [load_replicacad(replica_cad, scene) for scene in ("v3_sc0_staging_00", "v3_sc1_staging_07")]


@pytest.mark.parametrize("task", TASKS)
def test_episodes_in_procedural_homes_are_valid(procedural: list[Home], task: str):
    assert validate(generate_episodes(task, procedural, 80, seed=4, clutter=5, spawns=True), procedural) == []


@pytest.mark.parametrize("task", TASKS)
def test_episodes_in_replicacad_are_valid(real: list[Home], task: str):
    assert validate(generate_episodes(task, real, 80, seed=4, clutter=5, spawns=True), real) == []


def test_nothing_stands_in_a_replicacad_mesh(real: list[Home]):
    """No corner of furniture that rises more than 3 cm above the surface lies within an object's footprint."""
    made = generate_episodes("tidy_house", real[:1], 80, seed=6)
    corners = real[0].meshes.vertices.astype(float)
    inside = 0
    for row in range(len(made)):
        for k in range(2):
            shown = made.episode(row)
            surface = real[0].receptacles[shown.start_receptacle[k]].surface
            half = half_extents()[made.kind[row, k]]
            c, s = np.cos(shown.yaw[k]), np.sin(shown.yaw[k])
            d = corners - shown.start[k]
            local = np.stack([c * d[:, 0] - s * d[:, 2], s * d[:, 0] + c * d[:, 2]], axis=1)
            level = (corners[:, 1] > surface + 0.03) & (corners[:, 1] < shown.start[k, 1] + half[1])
            inside += (level & (np.abs(local) < half[[0, 2]]).all(axis=1)).sum()
    assert inside == 0
