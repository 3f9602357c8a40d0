"""Geometry for the page: closed solids that look outwards, links where the simulator has them, clicks that mean something."""

import base64

import numpy as np
import pytest

from helpers import batches
from housemates.geometry.kinematics import forward_kinematics
from housemates.homes.objects import object_parts
from housemates.robots import FETCH
from housemates.robots.robot import turn as turn_about
from housemates.tasks.actions import ENTITIES
from housemates.web.views import bodies, encode_array, entities_of, home_triangles, scene, triangles


def unpack(values: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(values["data"]), f"<{values['type']}").reshape(values["shape"])


def volume(corners: np.ndarray) -> float:
    """Of a closed surface of triangles [T, 3, 3] that look outwards."""
    return float(np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6)


def expected(parts, index: int) -> float:
    """Volume of a box or a prism, by its formula."""
    hx, hy, hz = parts.half[index].astype(float)
    sides, t = int(parts.sides[index]), float(parts.taper[index])
    area = 4 * hx * hz if sides == 0 else sides / 2 * np.sin(2 * np.pi / sides) * hx * hz
    return 2 * hy * area * (1 if sides == 0 else (1 + t + t * t) / 3)


@pytest.mark.parametrize("parts", [FETCH.parts, object_parts()[0], batches.home().parts], ids=["robot", "objects", "home"])
def test_every_solid_is_closed_and_looks_outwards(parts):
    found = [volume(triangles(parts, i) - parts.center[i]) for i in range(len(parts))]
    assert np.allclose(found, [expected(parts, i) for i in range(len(parts))], rtol=1e-3)


def test_links_posed_as_the_protocol_says_stand_where_the_simulator_has_them():
    rng, chain = np.random.default_rng(0), FETCH.chain
    arm, pose = rng.uniform(-1, 1, 7), (1.0, 2.0, 0.7)
    out = np.zeros((1, 1, len(FETCH.links), 4, 4))
    forward_kinematics(
        chain.origin, chain.axis, chain.kind, chain.parent, chain.joint, arm[None, None], np.array(pose)[None, None], out
    )
    c, s = np.cos(pose[2]), np.sin(pose[2])
    base = np.array([[c, -s, 0, pose[0]], [0, 0, 1, 0], [-s, -c, 0, pose[1]], [0, 0, 0, 1]])
    poses = []
    for link in bodies()["robots"]["fetch"]["links"]:
        turn = np.eye(4)
        if link["kind"] == 1:
            turn[:3, :3] = turn_about(tuple(link["axis"]), arm[link["joint"]])
        before = base if link["parent"] < 0 else poses[link["parent"]]
        poses.append(before @ np.array(link["origin"]).reshape(4, 4) @ turn)
    assert np.allclose(poses, out[0, 0])


def test_all_triangles_of_a_home_are_in_one_group():
    groups = scene(batches.home())["groups"]
    assert sum(g["mesh"]["position"]["shape"][0] for g in groups) == len(home_triangles(batches.home())[0])


def test_each_of_the_three_doors_is_a_group_that_a_click_opens():
    groups = {g["door"]: g for g in scene(batches.home())["groups"] if g["door"] >= 0}
    meant = [{ENTITIES[e] for e in unpack(groups[k]["mesh"]["entity"])} for k in range(3)]
    assert meant == [{"fridge"}, {"drawer_right"}, {"drawer_left"}]


def test_every_receptacle_can_be_clicked():
    home = batches.home()
    position, _, body, label = home_triangles(home)
    found = {ENTITIES[e] for e in entities_of(home, position, body, label) if e >= 0}
    assert found >= set(ENTITIES[4:]) - {"sink"}


def test_floor_and_walls_mean_nothing():
    home = batches.home()
    position, _, body, label = home_triangles(home)
    shell = np.isin(label, [k for k, name in enumerate(home.labels) if name in ("floor", "wall", "ceiling")])
    assert (entities_of(home, position, body, label)[shell] == -1).all()


def test_an_encoded_array_comes_back():
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert np.array_equal(unpack(encode_array(values)), values)
