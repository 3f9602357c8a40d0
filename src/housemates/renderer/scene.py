"""What pictures can show, packed for the renderer: homes, robots and objects as rigid templates in one set of arrays.

Packing happens once per home. Per step only poses change: a `Placed` says which template stands where in each of E
environments, and `sim.pictures` draws from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from housemates.homes.home import Home, Meshes, Parts
from housemates.renderer.convex import SIDES
from housemates.renderer.kernels import Shapes

THINNEST = 1e-4
"""Half extents are at least this, metres: a flat part still has two sides."""
CLUSTER = 8
"""Groups of eight triangles that share one bounding sphere."""
FACING = 0.25
"""How many metres apart two triangles count that look at right angles, when groups are formed."""
PADDING = -1e9
"""Radius of the spheres that fill up a block of eight; no camera sees them."""


@dataclass(frozen=True, eq=False)
class Template:
    """A rigid thing in its own frame, packed: solids and triangles in blocks of eight (see `render.kernels.Shapes`)."""

    spheres: np.ndarray
    solids: np.ndarray
    sides: np.ndarray
    taper: np.ndarray
    paint: np.ndarray
    label: np.ndarray
    cluster_spheres: np.ndarray
    cluster_groups: np.ndarray
    triangles: np.ndarray
    triangle_paint: np.ndarray
    triangle_label: np.ndarray
    bound: np.ndarray
    """[4] float32: bounding sphere; negative radius when there is nothing."""

    @property
    def faces(self) -> int:
        """The most faces it can show in one picture."""
        return int(np.where(self.sides > 0, self.sides + 2, 3).sum()) + len(self.triangle_paint)


@dataclass(frozen=True, eq=False)
class Placed:
    """Which templates stand where in E environments with N places each; the simulator owns and updates the arrays."""

    home: np.ndarray
    """[E] int32: template of the home's still parts, -1 for none."""
    template: np.ndarray
    """[E, N] int32: template at each place, -1 for none."""
    pose: np.ndarray
    """[E, N, 3, 4] float32: template to world, rotation and translation in metres."""
    label: np.ndarray
    """[E, N] int32: label shown in segmentations, -1 for the template's own."""


KINDS = {"home": np.int32, "template": np.int32, "pose": np.float32, "label": np.int32}
"""Types of the arrays of `Placed`."""


def nothing_placed(environments: int, places: int) -> Placed:
    """Empty arrays for E environments with N places."""
    return Placed(
        home=np.full(environments, -1, np.int32),
        template=np.full((environments, places), -1, np.int32),
        pose=np.tile(np.eye(4, dtype=np.float32)[:3], (environments, places, 1, 1)),
        label=np.full((environments, places), -1, np.int32),
    )


def pack(parts: Parts | None = None, meshes: Meshes | None = None) -> Template:
    """A template of all the given parts and triangles, whatever body they belong to."""
    solids = _pack_parts(parts) if parts is not None and len(parts) else _no_solids()
    triangles = _pack_meshes(meshes) if meshes is not None and len(meshes.faces) else _no_triangles()
    spheres = np.concatenate([solids["spheres"].reshape(-1, 4, 8), triangles["cluster_spheres"].reshape(-1, 4, 8)])
    return Template(**solids, **triangles, bound=_enclose(spheres.transpose(0, 2, 1).reshape(-1, 4)))


def home_templates(home: Home, meshes: bool | None = None, hide: Sequence[str] = ()) -> list[Template]:
    """Templates of a home's bodies: entry 0 stands still, entry b moves with joint b - 1 (see `home.body_poses`).

    meshes: draw the home's triangles instead of its convex parts (None: where it has any); hide: labels to leave out
    (names the home does not have are passed over, so that one list serves all homes).
    """
    if meshes and home.meshes is None:
        raise ValueError(f"{home.name} has no meshes - draw its convex parts (meshes=False)")
    hidden = [index for index, name in enumerate(home.labels) if name in hide]
    bodies = range(len(home.joints) + 1)
    if home.meshes is not None and meshes is not False:
        triangles, shown = home.meshes, ~np.isin(home.meshes.label, hidden)
        return [pack(meshes=_pick_faces(triangles, shown & (triangles.body == body))) for body in bodies]
    shown = ~np.isin(home.parts.label, hidden)
    return [pack(_pick_parts(home.parts, shown & (home.parts.body == body))) for body in bodies]


def link_templates(parts: Parts, links: int | None = None) -> list[Template]:
    """One template per link (or object type) of parts whose `body` is a link index: entry i holds the parts of link i."""
    count = int(parts.body.max(initial=-1)) + 1 if links is None else links
    return [pack(_pick_parts(parts, parts.body == link)) for link in range(count)]


def gather(templates: Sequence[Template]) -> Shapes:
    """All templates behind each other, as the renderer wants them; template k keeps its index."""

    def all_of(name: str) -> np.ndarray:
        return np.ascontiguousarray(np.concatenate([getattr(t, name) for t in templates]))

    blocks = np.cumsum([0] + [len(t.spheres) // 32 for t in templates])
    clusters = np.cumsum([0] + [len(t.cluster_spheres) // 32 for t in templates])
    groups = np.cumsum([0] + [len(t.triangles) // 104 for t in templates])
    moved = [t.cluster_groups + first for t, first in zip(templates, groups[:-1], strict=True)]
    return Shapes(
        **{name: all_of(name) for name in Shapes._fields if name not in ("templates", "bounds", "cluster_groups")},
        cluster_groups=np.ascontiguousarray(np.concatenate(moved), np.int32),
        templates=np.stack([blocks[:-1], blocks[1:], clusters[:-1], clusters[1:]], axis=1).astype(np.int32),
        bounds=np.stack([t.bound for t in templates]).astype(np.float32),
    )


def pick(source: Parts | Meshes, chosen: np.ndarray) -> Parts | Meshes:
    """Some of the parts or triangles, chosen by a mask."""
    return _pick_faces(source, chosen) if isinstance(source, Meshes) else _pick_parts(source, chosen)


def _pick_parts(parts: Parts, chosen: np.ndarray) -> Parts:
    return Parts(**{name: array[chosen] for name, array in vars(parts).items()})


def _pick_faces(meshes: Meshes, chosen: np.ndarray) -> Meshes:
    return Meshes(
        vertices=meshes.vertices,
        faces=meshes.faces[chosen],
        body=meshes.body[chosen],
        colour=meshes.colour[chosen],
        label=meshes.label[chosen],
    )


def _packed_colour(colour: np.ndarray) -> np.ndarray:
    red, green, blue = colour.astype(np.int32).T
    return red << 16 | green << 8 | blue


def _blocks(points: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Spheres as flat blocks of x, y, z, radius x 8, padded with spheres that are never seen."""
    count = -(-len(points) // 8) * 8
    table = np.full((count, 4), PADDING, np.float32)
    table[: len(points), :3], table[: len(points), 3] = points, radius
    table[len(points) :, :3] = 0
    return np.ascontiguousarray(table.reshape(-1, 8, 4).transpose(0, 2, 1)).ravel()


def _pad(values: np.ndarray, dtype: type) -> np.ndarray:
    """The values, the last one repeated up to a multiple of eight."""
    return np.concatenate([values, np.repeat(values[-1:], -len(values) % 8, axis=0)]).astype(dtype)


def _pack_parts(parts: Parts) -> dict[str, np.ndarray]:
    odd = (parts.sides > SIDES) | ((parts.sides > 0) & (parts.sides < 3))
    if odd.any():
        raise ValueError(f"a prism of {parts.sides[odd][0]} sides cannot be drawn - give it 3 to {SIDES}, or 0 for a box")
    half, taper, turn = _widest_below(parts)
    axes = turn.transpose(0, 2, 1) * half[:, :, None]
    around = np.where(parts.sides > 0, np.maximum(half[:, 0], half[:, 2]), np.hypot(half[:, 0], half[:, 2]))
    radius = np.hypot(around, half[:, 1]) * 1.0001
    solids = np.concatenate([parts.center[:, None].astype(float), axes], axis=1).reshape(-1, 12)
    return {
        "spheres": _blocks(parts.center, radius),
        "solids": _pad(solids, np.float32).ravel(),
        "sides": _pad(parts.sides, np.int32),
        "taper": _pad(taper, np.float32),
        "paint": _pad(_packed_colour(parts.colour), np.int32),
        "label": _pad(parts.label, np.int32),
    }


def _widest_below(parts: Parts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """half, taper and rotation of the same solids with the wider end of every prism below, so that half bounds them all.

    Half a turn about the local x axis carries the ring of corners into itself.
    """
    flip = (parts.sides > 0) & (parts.taper > 1)
    scale = np.where(flip, parts.taper, 1.0)[:, None] * [1.0, 0.0, 1.0] + [0.0, 1.0, 0.0]
    half = np.maximum(parts.half.astype(float) * scale, THINNEST)
    turn = parts.rotation.astype(float) * np.where(flip[:, None], [1.0, -1.0, -1.0], 1.0)[:, None, :]
    return half, np.where(flip, 1 / np.maximum(parts.taper, 1e-6), parts.taper), turn


def _pack_meshes(meshes: Meshes) -> dict[str, np.ndarray]:
    corners = meshes.vertices.astype(float)[meshes.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=1)
    real = area > 1e-12
    corners, normal = corners[real], normal[real] / area[real, None]
    order = _order(np.concatenate([corners.mean(axis=1), FACING * normal], axis=1))
    # A group that is not full repeats its last triangle, which changes no picture.
    order = np.concatenate([order, np.repeat(order[-1:], -len(order) % 8)])
    corners, normal = corners[order], normal[order]
    distance = np.einsum("ij,ij->i", normal, corners[:, 0])
    rows = np.concatenate([corners.reshape(-1, 9), normal, distance[:, None]], axis=1).astype(np.float32)
    groups = len(order) // 8
    first = np.arange(0, groups, CLUSTER)
    last = np.minimum(first + CLUSTER, groups)
    spheres = np.array([_sphere(corners[8 * a : 8 * b].reshape(-1, 3)) for a, b in zip(first, last, strict=True)])
    return {
        "cluster_spheres": _blocks(spheres[:, :3], spheres[:, 3]),
        "cluster_groups": _pad(np.stack([first, last], axis=1), np.int32),
        "triangles": np.ascontiguousarray(rows.reshape(-1, 8, 13).transpose(0, 2, 1)).ravel(),
        "triangle_paint": _packed_colour(meshes.colour[real][order]),
        "triangle_label": meshes.label[real][order].astype(np.int32),
    }


def _order(features: np.ndarray) -> np.ndarray:
    """An order in which every eight neighbours are alike: halved along the widest feature, over and over, in eights."""
    done, todo = [], [np.arange(len(features))]
    while todo:
        chosen = todo.pop()
        if len(chosen) <= 8:
            done.append(chosen)
            continue
        values = features[chosen]
        widest = int(np.argmax(np.ptp(values, axis=0)))
        ranked = chosen[np.argsort(values[:, widest], kind="stable")]
        half = max(len(chosen) // 16, 1) * 8
        todo += [ranked[half:], ranked[:half]]
    return np.concatenate(done)


def _sphere(points: np.ndarray) -> np.ndarray:
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    return np.append(middle, np.linalg.norm(points - middle, axis=1).max() * 1.0001)


def _enclose(spheres: np.ndarray) -> np.ndarray:
    """A sphere [4] around spheres [N, 4], without the padding."""
    real = spheres[spheres[:, 3] >= 0]
    if not len(real):
        return np.array([0, 0, 0, PADDING], np.float32)
    low, high = (real[:, :3] - real[:, 3:]).min(axis=0), (real[:, :3] + real[:, 3:]).max(axis=0)
    middle = (low + high) / 2
    return np.append(middle, (np.linalg.norm(real[:, :3] - middle, axis=1) + real[:, 3]).max() * 1.0001).astype(np.float32)


def _no_solids() -> dict[str, np.ndarray]:
    whole = dict.fromkeys(("sides", "paint", "label"), np.empty(0, np.int32))
    return whole | dict.fromkeys(("spheres", "solids", "taper"), np.empty(0, np.float32))


def _no_triangles() -> dict[str, np.ndarray]:
    whole = dict.fromkeys(("triangle_paint", "triangle_label"), np.empty(0, np.int32))
    return whole | {
        "cluster_spheres": np.empty(0, np.float32),
        "cluster_groups": np.empty((0, 2), np.int32),
        "triangles": np.empty(0, np.float32),
    }
