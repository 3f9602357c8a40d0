"""Triangles in the z-buffer: against a ray caster, against the same shapes as solids, and against Habitat's own pictures."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housemates.homes.home import Home, Meshes
from housemates.homes.replicacad.scene import load_replicacad
from housemates.renderer.pictures import Renderer, render
from housemates.renderer.scene import nothing_placed, pack

SCENE = "v3_sc0_staging_00"


def meshes_of(corners: np.ndarray) -> Meshes:
    """Loose triangles [F, 3, 3] as Meshes."""
    count = len(corners)
    return Meshes(
        vertices=corners.reshape(-1, 3).astype(np.float32),
        faces=np.arange(3 * count, dtype=np.int32).reshape(-1, 3),
        body=np.zeros(count, np.int16),
        colour=np.full((count, 3), 128, np.uint8),
        label=np.zeros(count, np.int16),
    )


def cast(corners: np.ndarray, camera: np.ndarray, size: int, near: float) -> np.ndarray:
    """Depth [S, S] of triangles [F, 3, 3] seen from their outer side, one ray per pixel centre (Moeller-Trumbore)."""
    across = (np.arange(size) + 0.5) / size * 2 - 1
    x, y = np.meshgrid(across, -across)
    rays = np.stack([x, y, -np.ones_like(x)], axis=-1) @ camera[:3, :3].T
    depth = np.full((size, size), np.inf)
    for a, b, c in corners.astype(float):
        side = np.cross(rays, c - a)
        area = side @ (b - a)
        start = camera[:3, 3] - a
        with np.errstate(divide="ignore", invalid="ignore"):
            u = (side @ start) / area
            v = (rays @ np.cross(start, b - a)) / area
            t = ((c - a) @ np.cross(start, b - a)) / area
        hit = (area > 0) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t > near) & (t < depth)
        depth = np.where(hit, t, depth)
    return np.where(np.isfinite(depth), depth, 0)


def draw(corners: np.ndarray, camera: np.ndarray, size: int, near: float = 0.01) -> np.ndarray:
    placed = nothing_placed(1, 0)
    placed.home[0] = 0
    out = np.empty((1, size, size), np.float32)
    Renderer([pack(meshes=meshes_of(corners))], size, near=near).depth(placed, np.zeros(1, int), camera[None], out)
    return out[0]


def camera_at(rng: np.random.Generator) -> np.ndarray:
    camera = np.eye(4)
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    camera[:3, :3] = q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]
    camera[:3, 3] = rng.uniform(-1, 1, 3)
    return camera


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(8, 90),
    width=st.sampled_from([0.05, 0.3, 2.0]),
    near=st.sampled_from([0.01, 0.3]),
)
def test_any_triangles_agree_with_the_ray_caster(seed, size, width, near):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-2, 2, (60, 1, 3))
    corners = (middle + width * rng.normal(size=(60, 3, 3))).astype(np.float32)
    camera = camera_at(rng)
    got, want = draw(corners, camera, size, near), cast(corners, camera, size, near)
    assert (np.abs(got - want) > 2e-3 * np.maximum(want, 1)).sum() <= max(2, 1e-3 * size * size)


def test_neighbouring_triangles_leave_no_crack():
    rng = np.random.default_rng(0)
    x, y = np.meshgrid(np.linspace(-2, 2, 41), np.linspace(-2, 2, 41))
    grid = np.stack([x, y, -1 + 0.05 * rng.normal(size=x.shape)], axis=-1)
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    corners = np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)
    assert (draw(corners, np.eye(4), 256) > 0).all()


def test_a_triangle_is_not_seen_from_behind():
    front = np.array([[[-9, -9, -2], [9, -9, -2], [0, 9, -2]]], np.float32)
    assert not draw(front[:, ::-1], np.eye(4), 64).any()


def test_a_triangle_is_seen_from_the_side_it_turns_counter_clockwise():
    front = np.array([[[-9, -9, -2], [9, -9, -2], [0, 9, -2]]], np.float32)
    assert draw(front, np.eye(4), 64)[32, 32] == pytest.approx(2.0)


def test_triangles_of_no_area_are_left_out():
    flat = np.array([[[0, 0, -2], [1, 1, -2], [2, 2, -2]], [[-9, -9, -3], [9, -9, -3], [0, 9, -3]]], np.float32)
    assert draw(flat, np.eye(4), 64)[32, 32] == pytest.approx(3.0)


@pytest.fixture(scope="module")
def real_home(replica_cad: Path) -> Home:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the shared files lack walls and bicycles, and so do the reference pictures
        return load_replicacad(replica_cad, SCENE)


@pytest.fixture(scope="module", params=[("depth", 256), ("depth64", 64)], ids=["256", "64"])
def pair(request, real_home: Home, habitat_reference: Path) -> tuple[np.ndarray, np.ndarray]:
    """Our and Habitat's pictures [20, S, S] of the same cameras."""
    key, size = request.param
    with np.load(habitat_reference / f"depth_{SCENE}.npz") as reference:
        cameras, hfov, theirs = reference["camera_to_world"], float(reference["hfov_deg"]), reference[key]
    return np.stack([render(real_home, camera, "depth", size, hfov) for camera in cameras]), theirs


def test_habitat_sees_the_same_depth_within_a_centimetre(pair):
    ours, theirs = pair
    assert (np.abs(ours - theirs) <= 0.01).mean() >= 0.999


def test_habitat_sees_something_where_we_do(pair):
    ours, theirs = pair
    assert ((ours > 0) != (theirs > 0)).mean() < 0.0005
