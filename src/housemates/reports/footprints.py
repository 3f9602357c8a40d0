"""What a home looks like from above: convex outlines of its parts and meshes, in floor coordinates (x, z)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from housemates.homes.home import Home, Meshes, Parts, Receptacle
from housemates.homes.pieces import hull
from housemates.homes.solids import corners

MESH_STEP = 0.01
"""Mesh vertices are rounded to this many metres before their outline is taken."""
CUTS = 12
"""Directions in which pieces of one name are told apart."""


@dataclass(frozen=True, eq=False)
class Footprint:
    """One convex outline and how high it lies."""

    label: str
    """The piece it belongs to, a name of `Home.labels`."""
    corners: np.ndarray
    """[M, 2] (x, z), in order around the outline."""
    bottom: float
    """Lowest point above the floor, metres."""
    top: float
    """Highest point above the floor, metres."""
    colour: tuple[float, float, float]
    """Red, green, blue from 0 to 1."""


def footprints(home: Home) -> list[Footprint]:
    """All outlines of a home at joint zero, the lowest first, so that drawing them in order looks right from above."""
    found = _of_parts(home.parts, home.labels)
    if home.meshes is not None:
        found += _of_meshes(home.meshes, home.labels)
    return sorted(found, key=lambda f: f.top)


def receptacle_outline(receptacle: Receptacle) -> np.ndarray:
    """Corners [4, 2] (x, z) of a placement volume."""
    x, _, z = receptacle.half
    corners = np.array([[-x, 0, -z], [x, 0, -z], [x, 0, z], [-x, 0, z]])
    return receptacle.world(corners)[:, [0, 2]]


def pieces(outlines: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Low and high (x, z) corners of the separate things that outlines [M, 2] of one name make up; touching ones are one."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for outline in outlines:
        low, high = outline.min(axis=0), outline.max(axis=0)
        apart = []
        for a, b in found:
            if (a <= high + MESH_STEP).all() and (b >= low - MESH_STEP).all():
                low, high = np.minimum(low, a), np.maximum(high, b)
            else:
                apart.append((a, b))
        found = [*apart, (low, high)]
    return found


def _of_parts(parts: Parts, labels: tuple[str, ...]) -> list[Footprint]:
    found = []
    for i in range(len(parts)):
        points = corners(parts, i)
        red, green, blue = (float(c) / 255 for c in parts.colour[i])
        low, high = float(points[:, 1].min()), float(points[:, 1].max())
        found.append(Footprint(labels[parts.label[i]], hull(points[:, [0, 2]]), low, high, (red, green, blue)))
    return found


def _of_meshes(meshes: Meshes, labels: tuple[str, ...]) -> list[Footprint]:
    found = []
    floor = meshes.vertices[:, [0, 2]].astype(float)
    # Links of one piece are drawn one by one: the hull of a whole kitchen would hide what stands in its corner.
    for label, body in np.unique(np.stack([meshes.label, meshes.body], axis=1), axis=0):
        mine = np.flatnonzero((meshes.label == label) & (meshes.body == body))
        for group in separate(floor[meshes.faces[mine]]):
            used = np.unique(meshes.faces[mine[group]])
            outline = hull(np.unique(np.round(floor[used] / MESH_STEP), axis=0) * MESH_STEP)
            red, green, blue = (float(c) / 255 for c in meshes.colour[mine[group]].mean(axis=0))
            height = meshes.vertices[used, 1]
            found.append(Footprint(labels[label], outline, float(height.min()), float(height.max()), (red, green, blue)))
    return found


def separate(triangles: np.ndarray) -> list[np.ndarray]:
    """Groups of triangles [N, 3, 2] that straight cuts keep apart (two chairs of one name), as indices, one array a group."""
    todo, done = [np.arange(len(triangles))], []
    while todo:
        group = todo.pop()
        for angle in np.arange(CUTS) * np.pi / CUTS:
            along = triangles[group] @ [np.cos(angle), np.sin(angle)]
            order = np.argsort(along.min(axis=1))
            reach = np.maximum.accumulate(along.max(axis=1)[order])
            gap = np.flatnonzero(along.min(axis=1)[order][1:] > reach[:-1] + MESH_STEP)
            if len(gap):
                todo += [group[order[: gap[0] + 1]], group[order[gap[0] + 1 :]]]
                break
        else:
            done.append(group)
    return done
