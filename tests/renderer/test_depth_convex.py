"""Boxes and prisms in the z-buffer against a ray caster that knows nothing but half spaces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housemates.homes.home import Parts
from housemates.renderer.pictures import Renderer
from housemates.renderer.scene import nothing_placed, pack


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


def random_parts(rng: np.random.Generator, count: int, prisms: float, spread: float = 3.0) -> Parts:
    sides = np.where(rng.random(count) < prisms, rng.integers(3, 17, count), 0)
    return Parts(
        center=rng.uniform(-spread, spread, (count, 3)).astype(np.float32),
        rotation=np.array([rotation(rng) for _ in range(count)], np.float32),
        half=np.exp(rng.uniform(np.log(0.01), np.log(1.0), (count, 3))).astype(np.float32),
        sides=sides.astype(np.uint8),
        taper=np.where(sides > 0, rng.uniform(0.0, 1.6, count), 1.0).astype(np.float32),
        colour=rng.integers(0, 256, (count, 3)).astype(np.uint8),
        body=np.zeros(count, np.int16),
        label=np.arange(count, dtype=np.int16),
    )


def half_spaces(parts: Parts, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Outward normals [F, 3] and distances [F] of part i's faces, from its corners."""
    half, sides, taper = parts.half[i].astype(float), int(parts.sides[i]), float(parts.taper[i])
    if sides == 0:
        normals = np.concatenate([np.eye(3), -np.eye(3)])
        distances = np.tile(half, 2)
    else:
        angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides
        ring = np.stack([half[0] * np.cos(angle), np.zeros(sides), half[2] * np.sin(angle)], axis=1)
        low, high = ring - [0, half[1], 0], ring * taper + [0, half[1], 0]
        along, up = np.roll(low, -1, axis=0) - low, high - low
        normals = np.cross(up, along)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        distances = np.einsum("ij,ij->i", normals, low)
        normals = np.concatenate([normals, [[0, 1, 0], [0, -1, 0]]])
        distances = np.concatenate([distances, [half[1], half[1]]])
    turned = normals @ parts.rotation[i].astype(float).T
    return turned, distances + turned @ parts.center[i].astype(float)


def cast(parts: Parts, camera: np.ndarray, size: int, hfov: float, near: float) -> tuple[np.ndarray, np.ndarray]:
    """Depth [S, S] and the part seen [S, S] (-1: none), one ray per pixel centre."""
    scale = np.tan(np.radians(hfov) / 2)
    across = ((np.arange(size) + 0.5) / size * 2 - 1) * scale
    x, y = np.meshgrid(across, -across)
    rays = np.stack([x, y, -np.ones_like(x)], axis=-1) @ camera[:3, :3].T
    depth, seen = np.full((size, size), np.inf), np.full((size, size), -1)
    for i in range(len(parts)):
        normals, distances = half_spaces(parts, i)
        speed, gap = rays @ normals.T, distances - normals @ camera[:3, 3]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = gap / speed
        enter = np.where(speed < 0, t, -np.inf).max(axis=-1)
        leave = np.where(speed > 0, t, np.inf).min(axis=-1)
        outside = ((speed == 0) & (gap < 0)).any(axis=-1)
        hit = (enter <= leave) & ~outside & (enter > near) & (enter < depth)
        depth, seen = np.where(hit, enter, depth), np.where(hit, i, seen)
    return np.where(np.isfinite(depth), depth, 0), seen


def draw(parts: Parts, camera: np.ndarray, size: int, hfov: float = 90.0, near: float = 0.01) -> np.ndarray:
    placed = nothing_placed(1, 0)
    placed.home[0] = 0
    out = np.empty((1, size, size), np.float32)
    Renderer([pack(parts)], size, hfov, near).depth(placed, np.zeros(1, int), camera[None], out)
    return out[0]


def camera_at(rng: np.random.Generator, spread: float = 1.0) -> np.ndarray:
    camera = np.eye(4)
    camera[:3, :3], camera[:3, 3] = rotation(rng), rng.uniform(-spread, spread, 3)
    return camera


def share_of_wrong_pixels(got: np.ndarray, want: np.ndarray) -> float:
    """Pixels that differ by more than a thousandth; outlines are rounded, so a few on them may fall to either side."""
    return float((np.abs(got - want) > 1e-3 * np.maximum(want, 1)).mean())


@pytest.mark.parametrize("size", [64, 128, 256])
def test_boxes_look_as_a_ray_caster_sees_them(size):
    rng = np.random.default_rng(size)
    parts, camera = random_parts(rng, 60, prisms=0.0), camera_at(rng)
    assert share_of_wrong_pixels(draw(parts, camera, size), cast(parts, camera, size, 90, 0.01)[0]) < 2e-4


@pytest.mark.parametrize("size", [64, 128, 256])
def test_prisms_look_as_a_ray_caster_sees_them(size):
    rng = np.random.default_rng(100 + size)
    parts, camera = random_parts(rng, 60, prisms=1.0), camera_at(rng)
    assert share_of_wrong_pixels(draw(parts, camera, size), cast(parts, camera, size, 90, 0.01)[0]) < 2e-4


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), size=st.integers(8, 90), hfov=st.floats(20, 140), near=st.sampled_from([0.01, 0.05, 0.5])
)
def test_any_scene_camera_lens_and_size_agrees_with_the_ray_caster(seed, size, hfov, near):
    rng = np.random.default_rng(seed)
    parts, camera = random_parts(rng, 25, prisms=0.5, spread=1.5), camera_at(rng)
    got, want = draw(parts, camera, size, hfov, near), cast(parts, camera, size, hfov, near)[0]
    assert (np.abs(got - want) > 2e-3 * np.maximum(want, 1)).sum() <= max(2, 1e-3 * size * size)


def one_box(center, half) -> Parts:
    return Parts(
        center=np.array([center], np.float32),
        rotation=np.eye(3, dtype=np.float32)[None],
        half=np.array([half], np.float32),
        sides=np.zeros(1, np.uint8),
        taper=np.ones(1, np.float32),
        colour=np.full((1, 3), 200, np.uint8),
        body=np.zeros(1, np.int16),
        label=np.zeros(1, np.int16),
    )


def test_depth_is_measured_along_the_axis_not_along_the_ray():
    wall = one_box((0, 0, -3), (50, 50, 1))
    assert np.allclose(draw(wall, np.eye(4), 64), 2.0, atol=1e-5)


def test_a_camera_inside_a_solid_looks_through_it():
    parts = one_box((0, 0, 0), (1, 1, 1))
    assert not draw(parts, np.eye(4), 64).any()


def test_what_is_nearer_than_the_near_plane_is_cut_away():
    slab = one_box((0, 0, -0.05), (1, 1, 0.02))
    assert not draw(slab, np.eye(4), 64, near=0.04).any()


def test_nothing_behind_the_camera_is_drawn():
    assert not draw(one_box((0, 0, 3), (1, 1, 1)), np.eye(4), 64).any()


def test_two_boxes_that_touch_leave_no_crack():
    rng = np.random.default_rng(3)
    turn = rotation(rng).astype(np.float32)
    a, b = one_box((0, 0, 0), (1, 2, 0.1)), one_box((2, 0, 0), (1, 2, 0.1))
    both = Parts(**{name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in vars(a)})
    both = Parts(**vars(both) | {"center": both.center @ turn.T, "rotation": np.stack([turn, turn])})
    camera = np.eye(4)
    camera[:3, :3], camera[:3, 3] = turn, turn @ [1.0, 0.0, 1.5]
    assert (draw(both, camera, 128, hfov=60) > 0).all()


def test_a_floor_under_the_camera_fills_the_lower_half():
    floor = one_box((0, -1.1, 0), (100, 0.1, 100))
    got = draw(floor, np.eye(4), 64)
    assert (got[33:] > 0).all()
    assert not got[:31].any()


def test_depth_of_a_floor_follows_from_its_height():
    floor = one_box((0, -1.1, 0), (1000, 0.1, 1000))
    row = np.arange(40, 64)
    assert np.allclose(draw(floor, np.eye(4), 64)[40:, 5], 32 / (row + 0.5 - 32), rtol=1e-4)
