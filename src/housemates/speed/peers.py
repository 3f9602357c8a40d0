"""The same boxes drawn by others: depth pictures of one scene by us, MuJoCo and pybullet, whichever is installed.

The scene is a furnished home with two robots in it, every solid as its box, nothing moving but the camera.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import numpy as np

from housemates.geometry.kinematics import forward_kinematics
from housemates.homes.home import Home, Parts
from housemates.homes.solids import join
from housemates.renderer.pictures import Renderer
from housemates.renderer.scene import nothing_placed, pack
from housemates.robots import DEFAULT
from housemates.speed.measure import Job

VIEWS = 32
"""Cameras in one piece of work."""
NEAR, FAR = 0.01, 30.0
"""Clipping planes, metres; nothing in a home is farther."""

Draw = Callable[[np.ndarray], np.ndarray]
"""draw(camera [4, 4]) -> depth [S, S] in metres."""


def boxes(home: Home, seed: int = 0) -> tuple[Parts, np.ndarray]:
    """A home with two robots as boxes, world coordinates, and cameras [VIEWS, 4, 4] at robots' heads about it."""
    rng = np.random.default_rng(seed)
    cells = home.floor.cells[rng.integers(len(home.floor.cells), size=VIEWS)]
    points = np.asarray(home.floor.origin) + cells[:, ::-1] * home.floor.cell
    bases = np.column_stack([points, rng.uniform(-np.pi, np.pi, VIEWS)])
    scene = join([home.parts, *(robot_at(base) for base in bases[:2])])
    solid = replace(scene, sides=np.zeros_like(scene.sides), taper=np.ones_like(scene.taper), body=np.zeros_like(scene.body))
    return solid, DEFAULT.camera_to_world(bases)


def robot_at(base: np.ndarray) -> Parts:
    """The solids of a robot at rest at base (x, z, yaw), world coordinates."""
    chain, links, parts = DEFAULT.chain, np.zeros((1, 1, len(DEFAULT.links), 4, 4)), DEFAULT.parts
    arm, ground = DEFAULT.rest[None, None], np.asarray(base, float)[None, None]
    forward_kinematics(chain.origin, chain.axis, chain.kind, chain.parent, chain.joint, arm, ground, links)
    frame = links[0, 0][parts.body]
    return replace(
        parts,
        center=(np.einsum("nij,nj->ni", frame[:, :3, :3], parts.center) + frame[:, :3, 3]).astype(np.float32),
        rotation=(frame[:, :3, :3] @ parts.rotation).astype(np.float32),
    )


def jobs(home: Home, size: int) -> tuple[list[Job], dict[str, float]]:
    """Jobs that draw the scene, ours first, and how well each other's pictures agree with ours (see `agreement`)."""
    scene, cameras = boxes(home)
    ours = our_pictures(scene, cameras, size)

    def by_us() -> int:
        our_pictures(scene, cameras, size, ours[1])
        return len(cameras)

    found, agree = [Job(f"housemates {size}x{size}", "peers", "frames/s", by_us)], {}
    for name, make in PEERS.items():
        draw = make(scene, size) if find_spec(name) else None
        if draw is not None:
            found.append(Job(f"{name} {metadata.version(name)} {size}x{size}", "peers", "frames/s", _all(draw, cameras)))
            agree[name] = agreement(ours[0], np.stack([draw(camera) for camera in cameras]))
    return found, agree


def agreement(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Share of pixels of two sets of depth pictures [N, S, S] that agree within 2 cm or 2 %; nothing hit counts as FAR.

    Renderers place pixels' centres differently, so theirs may lie anywhere between our depths at a pixel and its neighbours.
    """
    ours, theirs = (np.where((d <= 0) | (d > FAR), FAR, d) for d in (ours, theirs))
    size = ours.shape[-1]
    padded = np.pad(ours, ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = np.stack([padded[:, i : i + size, j : j + size] for i in range(3) for j in range(3)])
    slack = np.maximum(0.02, 0.02 * ours)
    return float(((around.min(axis=0) - slack < theirs) & (theirs < around.max(axis=0) + slack)).mean())


def our_pictures(scene: Parts, cameras: np.ndarray, size: int, ready: tuple | None = None) -> tuple[np.ndarray, tuple]:
    """Our own pictures, and what is needed to draw them again."""
    if ready is None:
        placed = nothing_placed(1, 1)
        placed.home[0] = 0
        ready = (
            Renderer([pack(scene)], size),
            placed,
            np.zeros(len(cameras), np.int64),
            np.empty((len(cameras), size, size), "f4"),
        )
    renderer, placed, env, out = ready
    renderer.depth(placed, env, cameras, out)
    return out, ready


_without_opengl: set[str] = set()
"""Who found no OpenGL in this process; a second try with a half-begun driver would end it."""


def mujoco_pictures(scene: Parts, size: int) -> Draw | None:
    """MuJoCo's own renderer; None where it finds no OpenGL."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    if "mujoco" in _without_opengl:
        return None
    try:
        mujoco: Any = import_module("mujoco")
        model = mujoco.MjModel.from_xml_string(_mjcf(scene, size))
        renderer = mujoco.Renderer(model, size, size)
    except Exception:  # without a driver it is an AttributeError, a RuntimeError or a library's own error
        _without_opengl.add("mujoco")
        return None
    data = mujoco.MjData(model)
    renderer.enable_depth_rendering()
    matrix = np.zeros(4)

    def draw(camera: np.ndarray) -> np.ndarray:
        mujoco.mju_mat2Quat(matrix, np.ascontiguousarray(camera[:3, :3]).ravel())
        data.mocap_pos[0], data.mocap_quat[0] = camera[:3, 3], matrix
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        renderer.update_scene(data, camera="eye")
        return renderer.render()

    return draw


def _mjcf(scene: Parts, size: int) -> str:
    geoms = []
    for center, rotation, half in zip(scene.center, scene.rotation, np.maximum(scene.half, 1e-4), strict=True):
        axes = " ".join(f"{v:.6g}" for v in rotation[:, :2].T.ravel())
        at, size3 = (" ".join(f"{v:.6g}" for v in row) for row in (center, half))
        geoms.append(f'<geom type="box" pos="{at}" size="{size3}" xyaxes="{axes}"/>')
    return f"""<mujoco><statistic extent="1"/><visual><map znear="{NEAR}" zfar="{FAR}"/><quality shadowsize="0"/>
        <global offwidth="{size}" offheight="{size}"/></visual>
        <worldbody>{"".join(geoms)}<body name="eye" mocap="true"><camera name="eye" fovy="90"/></body></worldbody></mujoco>"""


def pybullet_pictures(scene: Parts, size: int) -> Draw | None:
    """pybullet's software renderer."""
    pybullet: Any = import_module("pybullet")
    client = pybullet.connect(pybullet.DIRECT)
    for center, rotation, half in zip(scene.center, scene.rotation, np.maximum(scene.half, 1e-4), strict=True):
        shape = pybullet.createVisualShape(pybullet.GEOM_BOX, halfExtents=half.tolist(), physicsClientId=client)
        turned = _quaternion(rotation)
        pybullet.createMultiBody(0, -1, shape, center.tolist(), turned, physicsClientId=client)
    lens = pybullet.computeProjectionMatrixFOV(90.0, 1.0, NEAR, FAR)

    def draw(camera: np.ndarray) -> np.ndarray:
        view = np.linalg.inv(camera).T.ravel().tolist()
        depth = pybullet.getCameraImage(
            size, size, view, lens, renderer=pybullet.ER_TINY_RENDERER, flags=pybullet.ER_NO_SEGMENTATION_MASK, shadow=0,
            physicsClientId=client,
        )[3]  # fmt: skip
        return FAR * NEAR / (FAR - (FAR - NEAR) * np.reshape(depth, (size, size)))

    return draw


def _quaternion(rotation: np.ndarray) -> list[float]:
    """(x, y, z, w) of a rotation matrix: the eigenvector that Bar-Itzhack's matrix keeps."""
    m = np.asarray(rotation, float)
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[2, 0] + m[0, 2], m[2, 1] - m[1, 2]],
            [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], m[2, 1] + m[1, 2], m[0, 2] - m[2, 0]],
            [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m.trace()],
        ]
    )
    return np.linalg.eigh(k)[1][:, -1].tolist()


def _all(draw: Draw, cameras: np.ndarray) -> Callable[[], int]:
    def work() -> int:
        for camera in cameras:
            draw(camera)
        return len(cameras)

    return work


PEERS: dict[str, Callable[[Parts, int], Draw | None]] = {"mujoco": mujoco_pictures, "pybullet": pybullet_pictures}
"""Others that can be measured, by the name they are imported under."""
