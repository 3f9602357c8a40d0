"""Depth, colour and label pictures: one at a time for people, thousands at once for learning.

Pictures are square, row 0 on top, pixel (r, c) seen through its centre; a camera looks along its own -z with y up. Depth is
measured along the camera's axis, 0 is nothing hit, and back faces do not show (as in Habitat, whose pictures these equal).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from housemates.homes.home import Home, Parts, body_poses
from housemates.parallel import Threads, announce
from housemates.renderer.kernels import (
    COLOUR,
    INVERSE,
    INVERSE_FULL,
    LABEL,
    METRES,
    MILLIMETRES,
    Scratch,
    draw_pictures,
    new_scratch,
)
from housemates.renderer.scene import KINDS, Placed, Template, gather, home_templates, nothing_placed, pack
from housemates.robots import DEFAULT

NEAR = 0.01
"""Nothing nearer to the camera than this is drawn, metres (Habitat's near plane)."""
SMALLEST = 8
"""Side of the smallest picture, pixels."""
LINE = 128
"""Bytes of memory that processors fetch at once: two cache lines."""
DEPTH_FORMS = {"float32": METRES, "uint16": MILLIMETRES, "uint8": INVERSE}
"""What a depth picture holds, by the type of the buffer: metres, millimetres, inverse depth (see `metres`)."""
RENDERED: dict[str, tuple[tuple[int, ...], type]] = {
    "depth": ((), np.float32),
    "rgb": ((3,), np.uint8),
    "segmentation": ((), np.int16),
}
"""The kinds of `render`, what comes after [S, S] in their shape, and their type."""


class Renderer:
    """Draws pictures of many environments into buffers of the caller, on a fixed number of threads.

    The same jobs give the same bits whatever the number of threads.
    """

    def __init__(
        self, templates: Sequence[Template], size: int, hfov: float = 90.0, near: float = NEAR, threads: int = 1
    ) -> None:
        """templates: what can be drawn; size: side in pixels; hfov: degrees; near: metres."""
        if size < SMALLEST:
            raise ValueError(f"a picture of {size} pixels is too small - choose a size of {SMALLEST} or more")
        if not 0 < hfov < 180:
            raise ValueError(f"a field of view of {hfov} degrees cannot be drawn - choose one between 0 and 180")
        if near <= 0:
            raise ValueError(f"near is {near} m - choose a distance over 0, for example {NEAR}")
        self.size, self.near, self.threads = size, near, Threads(threads)
        self.shapes = gather(templates)
        self._faces = [t.faces for t in templates]
        self._lens = (size / 2 / np.tan(np.radians(hfov) / 2), (size - 1) / 2)
        self._depth_scratch = [_own_memory(new_scratch(size)) for _ in range(threads)]
        self._surface_scratch: list = []

    def depth(
        self, placed: Placed, env: np.ndarray, camera: np.ndarray, out: np.ndarray, slot: np.ndarray | None = None
    ) -> None:
        """Depth pictures of J cameras [J, 3 or 4, 4] (camera to world), camera j standing in environment env[j].

        Picture j goes to out[slot[j]] (default: out[j]); out: [.., S, S] or [.., S, S, 1], C-contiguous; float32 holds metres,
        uint16 millimetres, uint8 inverse depth.
        """
        if out.dtype.name not in DEPTH_FORMS:
            raise TypeError(f"depth cannot be written as {out.dtype} - give a buffer of {', '.join(DEPTH_FORMS)}")
        self._draw(DEPTH_FORMS[out.dtype.name], self._depth_scratch, placed, env, camera, out, slot)

    def rgb(self, placed: Placed, env: np.ndarray, camera: np.ndarray, out: np.ndarray, slot: np.ndarray | None = None) -> None:
        """Colour pictures, as `depth`; out: uint8 [.., S, S, 3], black where nothing is hit."""
        self._draw(COLOUR, self._with_surfaces(placed), placed, env, camera, _typed(out, np.uint8), slot)

    def segmentation(
        self, placed: Placed, env: np.ndarray, camera: np.ndarray, out: np.ndarray, slot: np.ndarray | None = None
    ) -> None:
        """Label pictures, as `depth`; out: int16 [.., S, S], -1 where nothing is hit."""
        self._draw(LABEL, self._with_surfaces(placed), placed, env, camera, _typed(out, np.int16), slot)

    def _with_surfaces(self, placed: Placed) -> list:
        """Scratch memory with room for every face that one environment can show."""
        faces = np.append(self._faces, 0)
        needed = int((faces[placed.home] + faces[placed.template].sum(axis=1)).max(initial=0)) + 1
        if not self._surface_scratch or len(self._surface_scratch[0].paints) <= needed:
            self._surface_scratch = [_own_memory(new_scratch(self.size, needed)) for _ in range(self.threads.count)]
        return self._surface_scratch

    def _draw(self, form, scratch, placed, env, camera, out, slot) -> None:
        env = np.ascontiguousarray(env, np.int64)
        camera = _poses(camera)
        slot = np.arange(len(env)) if slot is None else np.ascontiguousarray(slot, np.int64)
        pictures = out.size // (self.size**2 * (3 if form == COLOUR else 1))
        self._check(placed, env, camera, out, slot, pictures)
        flat = out.reshape(-1).view(np.uint8)
        announce("picture", [draw_pictures], 20)

        def draw(thread: int, shares: np.ndarray) -> None:
            draw_pictures(
                shares, thread, self.shapes, placed.home, placed.template, placed.pose, placed.label, env, camera,
                self._lens, self.size, self.near, form, slot, scratch[thread], flat,
            )  # fmt: skip

        self.threads.run(len(env), draw)

    def _check(
        self, placed: Placed, env: np.ndarray, camera: np.ndarray, out: np.ndarray, slot: np.ndarray, pictures: int
    ) -> None:
        """Kernels do not look where they write; everything they trust is looked at here."""
        count = len(self.shapes.templates)
        for name, kind in KINDS.items():
            array = getattr(placed, name)
            if array.dtype != kind or not array.flags.c_contiguous:
                raise TypeError(f"placed.{name} is not C-contiguous {np.dtype(kind)} - make it so once, not per step")
        if not out.flags.c_contiguous:
            raise ValueError("the output is not C-contiguous - give np.ascontiguousarray(out)")
        if out.size % self.size**2:
            raise ValueError(f"the output has shape {out.shape} - its pictures must be {self.size} x {self.size}")
        if len(camera) != len(env) or len(slot) != len(env):
            raise ValueError(
                f"{len(env)} environments, {len(camera)} cameras, {len(slot)} slots - give one of each per picture"
            )
        if len(env) and (env.min() < 0 or env.max() >= len(placed.home)):
            raise ValueError(f"env names environments {env.min()} to {env.max()} - there are 0 to {len(placed.home) - 1}")
        if len(env) and (slot.min() < 0 or slot.max() >= pictures):
            raise ValueError(f"slot names pictures {slot.min()} to {slot.max()} - the output holds {pictures}")
        if max(placed.home.max(initial=-1), placed.template.max(initial=-1)) >= count:
            raise ValueError(f"a placed template is out of range - there are templates 0 to {count - 1}")


def _own_memory(scratch: Scratch) -> Scratch:
    """The same in one piece of memory, each array in cache lines of its own: no thread slows another by writing beside it."""
    ends = np.cumsum([-(-array.nbytes // LINE) * LINE for array in scratch])
    room = np.zeros(int(ends[-1]) + LINE, np.uint8)
    room = room[-room.ctypes.data % LINE :]
    arrays = []
    for array, first in zip(scratch, (0, *ends[:-1].tolist()), strict=True):
        piece = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
        piece[...] = array
        arrays.append(piece)
    return Scratch(*arrays)


def _poses(camera: np.ndarray) -> np.ndarray:
    """Cameras [J, 3 or 4, 4] as the kernels read them, [J, 3, 4]."""
    camera = np.asarray(camera, np.float64)
    if camera.ndim != 3 or camera.shape[1:] not in ((3, 4), (4, 4)):
        raise ValueError(f"the cameras have shape {camera.shape} - give camera-to-world matrices [J, 4, 4] or [J, 3, 4]")
    if not np.isfinite(camera).all():
        first = int(np.flatnonzero(~np.isfinite(camera).all(axis=(1, 2)))[0])
        raise ValueError(f"camera {first} has a value that is nan or infinite - give finite camera-to-world matrices")
    return np.ascontiguousarray(camera[:, :3])


def _one_camera(camera: np.ndarray) -> np.ndarray:
    """One camera [3 or 4, 4], or the head camera of a robot's pose [3], as an array of one."""
    camera = np.asarray(camera, float)
    if camera.shape == (3,):
        return DEFAULT.camera_to_world(camera)[None]
    if camera.shape not in ((3, 4), (4, 4)):
        raise ValueError(
            f"the camera has shape {camera.shape} - give a camera-to-world matrix [4, 4] or [3, 4], or a robot's pose [3]"
        )
    return camera[None]


def _typed(out: np.ndarray, kind: type) -> np.ndarray:
    if out.dtype != kind:
        raise TypeError(f"the output holds {out.dtype} - give a buffer of {np.dtype(kind)}")
    return out


def metres(picture: np.ndarray) -> np.ndarray:
    """Any depth picture (float32 metres, uint16 millimetres, uint8 inverse depth) as float32 metres, 0 = nothing hit."""
    if picture.dtype == np.float32:
        return picture
    if picture.dtype == np.uint16:
        return (picture / np.float32(1000)).astype(np.float32)
    return np.where(picture > 0, np.float32(255 * INVERSE_FULL) / np.maximum(picture, 1), np.float32(0)).astype(np.float32)


def render(
    home: Home,
    camera: np.ndarray,
    kind: str = "depth",
    size: int = 128,
    hfov: float = 90.0,
    joints: np.ndarray | None = None,
    *,
    meshes: bool | None = None,
    hide: Sequence[str] = (),
    extra: Parts | None = None,
    near: float = NEAR,
) -> np.ndarray:
    """One picture of a home: `depth`, `rgb` or `segmentation`.

    Returns:
        depth: [size, size] float32, metres along the camera's axis, 0 where nothing is hit.
        rgb: [size, size, 3] uint8, black where nothing is hit.
        segmentation: [size, size] int16, index into home.labels (or the label of an extra part), -1 where nothing is hit.

    Args:
        home: what is drawn, without robots and objects.
        camera: a robot's pose [3] (x and z in metres, yaw in radians), seen through its head camera; or any camera as a
            camera-to-world matrix [4, 4] or [3, 4], which looks along its own -z with y up.
        kind: what the picture shows.
        size: side, pixels.
        hfov: field of view, degrees.
        joints: values of the home's joints (default: all zero, doors and drawers are closed).
        meshes: triangles or convex parts (default: triangles where the home has them).
        hide: labels to leave out, for example ("ceiling",).
        extra: further solids in world coordinates.
        near: nothing nearer than this is drawn, metres.
    """
    if kind not in RENDERED:
        raise ValueError(f"no picture of kind '{kind}' - choose one of: {', '.join(RENDERED)}")
    poses, (shape, dtype) = _one_camera(camera), RENDERED[kind]
    out: np.ndarray = np.empty((1, size, size, *shape), dtype)
    renderer, placed = _one_home(home, size, hfov, joints, meshes, tuple(hide), extra, near)
    getattr(renderer, kind)(placed, np.zeros(1, np.int64), poses, out)
    return out[0]


@lru_cache(maxsize=16)
def _packed(home: Home, meshes: bool | None, hide: tuple[str, ...]) -> tuple[Template, ...]:
    return tuple(home_templates(home, meshes, hide))


def _one_home(home, size, hfov, joints, meshes, hide, extra, near) -> tuple[Renderer, Placed]:
    """A renderer and a single environment: body b of the home at place b - 1, extra solids at the last place."""
    values = np.zeros(len(home.joints)) if joints is None else np.asarray(joints, float)
    if values.shape != (len(home.joints),):
        raise ValueError(
            f"{home.name} has {len(home.joints)} joints, but joints has shape {values.shape} - give one value each"
        )
    bodies = _packed(home, meshes, hide)
    placed = nothing_placed(1, len(bodies))
    placed.home[0] = 0
    placed.template[0] = np.arange(1, len(bodies) + 1)
    placed.pose[0, :-1] = body_poses(home.joints, values)[1:, :3]
    return Renderer([*bodies, pack(extra)], size, hfov, near), placed
