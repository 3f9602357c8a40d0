"""A home from above: outlines of its parts and meshes in floor coordinates (x, z), with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from housemates.homes.home import RECEPTACLES, Home, Meshes, Parts, Receptacle, Room
from housemates.homes.pieces import hull
from housemates.homes.solids import corners
from housemates.io import check_place, write_whole
from housemates.recordings import palette
from housemates.reports.labels import Label, Scene, place_labels

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


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIDDEN = ("ceiling", "floor")
"""Labels that a floor plan does not draw."""
OVERHEAD = 1.45
"""What begins higher than this hangs over the floor (wall cupboards) and is drawn as an outline, metres."""
FLAT = 0.06
"""What is lower than this is walked over (rugs), metres."""
MARGIN = 0.35
"""Empty rim around the home, metres."""

NAME_DISTANCE = 0.3
"""How far in front of its handle the name of a door or drawer stands, metres."""
SHORT = ("table_01", "table_02", "tvstand", "sofa", "chair", "fridge", "sink")
"""The receptacles that a small plan names."""
MARK = 0.28
"""Size of the mark of an object's start or goal, metres."""

INK, WALL, PAPER, DRIVE = "#333333", "#4a4a4a", "#f3f1ec", "#cfe6d4"
PLACE, DOOR = "#1f5fa8", "#b3541e"
THINGS = tuple(colour.hex("light") for colour in palette.OBJECTS)
"""Colours of the two objects of an episode."""
ROBOTS = tuple(colour.hex("light") for colour in palette.ROBOTS)


def check_drawing(path: Path) -> None:
    """Refuse early what cannot be drawn: without matplotlib, or where no file can be written."""
    if find_spec("matplotlib") is None:
        raise ValueError("floor plans need matplotlib, which is not installed - run: pip install 'housemates[report]'")
    check_place(path)


def draw_floor_plan(home: Home, path: Path, scene: Scene | None = None, dpi: int = 110) -> None:
    """Write a labelled floor plan of one home as a PNG, with an episode if one is given."""
    low, high = bounds(home)
    width = high[1] - low[1] + 2 * MARGIN
    height = high[0] - low[0] + 2 * MARGIN
    figure, axes = _page(1, 1, (12.5, 12.5 * height / width + 1.15))
    _draw(axes[0], home, low, high)
    _draw_receptacles(axes[0], home)
    about = f"{home.name}     navigable area {home.navigable_area:.1f} m²     {len(home.receptacles)} receptacles"
    axes[0].set_title(about + (f"\n{scene.title}" if scene else ""), fontsize=11, loc="left", color=INK)
    axes[0].set_xlabel("z (m)", fontsize=8, color=INK)
    axes[0].set_ylabel("x (m)", fontsize=8, color=INK)
    axes[0].tick_params(labelsize=8, colors=INK, length=2)
    _legend(axes[0], scene)
    # Names are placed last: how much room they take is known only once everything else has its place on the page.
    figure.draw_without_rendering()
    _annotate(axes[0], home, scene)
    write_whole(path, lambda file: figure.savefig(file, dpi=dpi, format="png", metadata={"Software": None}))


def contact_sheet(homes: Sequence[Home], path: Path, columns: int = 3, dpi: int = 100) -> None:
    """Write a sheet of small floor plans of several homes as a PNG."""
    if not homes:
        raise ValueError("a contact sheet needs at least one home")
    rows = -(-len(homes) // columns)
    boxes = [bounds(home) for home in homes]
    low = np.min([b[0] for b in boxes], axis=0)
    high = np.max([b[1] for b in boxes], axis=0)
    ratio = (high[0] - low[0] + 2 * MARGIN) / (high[1] - low[1] + 2 * MARGIN)
    figure, axes = _page(rows, columns, (4.6 * columns, (4.6 * ratio + 0.28) * rows))
    for axis in axes:
        axis.set_axis_off()
    for axis, home in zip(axes, homes, strict=False):
        _draw(axis, home, low, high)
        axis.set_title(f"{home.name}   {home.navigable_area:.1f} m²", fontsize=8, color=INK, pad=2)
    figure.draw_without_rendering()
    for axis, home in zip(axes, homes, strict=False):
        place_labels(axis, short_labels(home), size=5.5)
    write_whole(path, lambda file: figure.savefig(file, dpi=dpi, format="png", metadata={"Software": None}))


def bounds(home: Home) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest (x, z) of everything a floor plan shows."""
    corners = [f.corners for f in footprints(home) if f.label not in HIDDEN]
    rows, cols = np.nonzero(home.floor.walkable)
    if len(rows):
        origin, cell = np.asarray(home.floor.origin), home.floor.cell
        corners.append(np.array([[cols.min(), rows.min()], [cols.max(), rows.max()]]) * cell + origin)
    if not corners:
        raise ValueError(f"{home.name} has neither furniture nor floor to draw")
    every = np.concatenate(corners)
    return every.min(axis=0), every.max(axis=0)


def piece_labels(home: Home) -> list[Label]:
    """Names for the drawing: receptacles first (they must stay readable), then the rest of the furniture.

    The name of something that opens stands in front of its handle. What hangs overhead has none:
    it would hide what is below.
    """
    labels, named = [], set()
    for receptacle in home.receptacles:
        if receptacle.kind not in RECEPTACLES:
            continue
        named |= {receptacle.furniture, receptacle.kind}
        point = np.array([receptacle.target[2], receptacle.target[0]])
        if receptacle.handle is None:
            labels.append(Label(receptacle.name, _pair(point), PLACE, bold=True))
            continue
        out = point - [receptacle.center[2], receptacle.center[0]]
        spot = point + NAME_DISTANCE * out / max(float(np.linalg.norm(out)), 1e-6)
        labels.append(Label(receptacle.name, _pair(point), DOOR, bold=True, at=_pair(spot)))
    outlines: dict[str, list[np.ndarray]] = {}
    for f in footprints(home):
        if f.label not in (*HIDDEN, "wall") and f.label not in named and f.bottom < OVERHEAD:
            outlines.setdefault(f.label, []).append(f.corners)
    for label, outline in outlines.items():
        for low, high in pieces(outline):
            labels.append(Label(label, _pair((low + high)[::-1] / 2), "#777777"))
    return labels


def room_middle(home: Home, room: Room) -> tuple[float, float]:
    """Where a room's name stands (x, z): the middle of its navigable floor, or of the room if it has none."""
    points = np.asarray(home.floor.origin) + home.floor.cells[:, ::-1] * home.floor.cell
    inside = points[((points >= room.low) & (points <= room.high)).all(axis=1)]
    return _pair(inside.mean(axis=0) if len(inside) else (np.asarray(room.low) + room.high) / 2)


def short_labels(home: Home) -> list[Label]:
    """The few names a small plan has room for."""
    return [Label(r.kind, (r.center[2], r.center[0]), INK) for r in home.receptacles if r.kind in SHORT]


def _pair(point: np.ndarray) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def _page(rows: int, columns: int, inches: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def _draw(axes: Axes, home: Home, low: np.ndarray, high: np.ndarray) -> None:
    """Everything without words: floor, furniture, walls."""
    axes.set_aspect("equal")
    axes.set_xlim(low[1] - MARGIN, high[1] + MARGIN)
    axes.set_ylim(low[0] - MARGIN, high[0] + MARGIN)
    for side in axes.spines.values():
        side.set_visible(False)
    found = footprints(home)
    for f in found:
        if f.label == "floor":
            _fill(axes, f, PAPER, PAPER, zorder=1)
    _drive(axes, home)
    for f in found:
        if f.label in HIDDEN:
            continue
        if f.bottom > OVERHEAD:
            _fill(axes, f, "none", "#888888", zorder=7, dashed=True)
        elif f.label == "wall":
            _fill(axes, f, WALL, WALL, zorder=6)
        elif f.top < FLAT:
            _fill(axes, f, (*f.colour, 0.35), "none", zorder=2.5)
        else:
            _fill(axes, f, _soft(f.colour, 0.35), "#666666", zorder=4)


def _draw_receptacles(axes: Axes, home: Home) -> None:
    """Outlines of the placement volumes that actions name, and handles."""
    for receptacle in home.receptacles:
        if receptacle.kind in RECEPTACLES:
            outline = receptacle_outline(receptacle)
            colour = DOOR if receptacle.handle else PLACE
            axes.fill(outline[:, 1], outline[:, 0], fill=False, ec=colour, lw=1.0, ls=(0, (3, 1.5)), zorder=8)
            if receptacle.handle:
                axes.plot(receptacle.handle[2], receptacle.handle[0], marker="D", ms=3.5, color=DOOR, zorder=9)


def _drive(axes: Axes, home: Home) -> None:
    """The navigable floor as a picture below everything; its main region is darker than cut-off islands."""
    from matplotlib.colors import to_rgba

    floor = home.floor
    image = np.zeros((*floor.free.shape, 4))
    image[floor.free] = to_rgba(DRIVE, 0.5)
    image[floor.main] = to_rgba(DRIVE)
    half = floor.cell / 2
    height, width = floor.free.shape
    (x0, z0), (x1, z1) = floor.origin, floor.point(height - 1, width - 1)
    extent = (z0 - half, z1 + half, x0 - half, x1 + half)
    axes.imshow(image.transpose(1, 0, 2), origin="lower", extent=extent, zorder=2, interpolation="nearest")
    axes.autoscale(False)


def _annotate(axes: Axes, home: Home, scene: Scene | None) -> None:
    """The episode, the rooms' names and the pieces' names."""
    rooms = [(room.name, room_middle(home, room)) for room in home.rooms]
    place_labels(axes, [Label(name, (z, x), "#5d8f6a", background=True) for name, (x, z) in rooms], size=13)
    clear: list[tuple[float, float, float]] = []
    names: list[Label] = []
    for number, thing in enumerate(scene.things if scene else ()):
        colour = THINGS[number % len(THINGS)]
        if len(thing.path):
            axes.plot(thing.path[:, 1], thing.path[:, 0], color=colour, lw=2.0, alpha=0.75, zorder=10)
        for (x, z), fill, text in ((thing.start, colour, "white"), (thing.goal, "white", colour)):
            # The fruit belongs in the bowl: two marks at one point stand side by side.
            z += MARK * sum(np.hypot(z - other[0], x - other[1]) < MARK for other in clear)
            axes.plot(z, x, marker="o", ms=13, mfc=fill, mec=colour, mew=2.0, zorder=22)
            axes.text(
                z, x, str(number), color=text, fontsize=9, fontweight="bold", ha="center", va="center_baseline", zorder=23
            )
            clear.append((z, x, MARK / 2))
    for number, (x, z, yaw) in enumerate(scene.spawns if scene else ()):
        from matplotlib.patches import Circle

        colour = ROBOTS[number % len(ROBOTS)]
        axes.add_patch(Circle((z, x), 0.3, fc=colour, ec=INK, lw=1.2, alpha=0.9, zorder=12))
        axes.plot([z, z - 0.3 * np.sin(yaw)], [x, x + 0.3 * np.cos(yaw)], color=INK, lw=1.6, zorder=13)
        clear.append((z, x, 0.3))
        names.append(Label(f"robot {number}", (z, x - 0.25), colour, at=(z, x - 0.42)))
    place_labels(axes, names + piece_labels(home), size=7.5, keep_clear=clear)


def _legend(axes: Axes, scene: Scene | None) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Line2D | Patch] = [
        Patch(fc=DRIVE, label="a robot's centre can stand here"),
        Patch(fc="none", ec=PLACE, ls="--", label="receptacle"),
        Line2D([], [], color=DOOR, ls="--", marker="D", ms=4, label="receptacle that opens, its handle"),
        Patch(fc="none", ec="#888888", ls="--", label="overhead (cupboards, pictures)"),
    ]
    for number, thing in enumerate(scene.things if scene else ()):
        colour = THINGS[number % len(THINGS)]
        entries.append(
            Line2D([], [], color=colour, marker="o", mfc=colour, label=f"{number}: {thing.name} (full: start, ring: goal)")
        )
    axes.legend(handles=entries, loc="upper center", bbox_to_anchor=(0.5, -0.055), ncols=3, fontsize=8, frameon=False)


def _fill(axes: Axes, f: Footprint, face: str | tuple, edge: str, zorder: float, dashed: bool = False) -> None:
    if len(f.corners) > 2:
        style = (0, (4, 2)) if dashed else "-"
        axes.fill(f.corners[:, 1], f.corners[:, 0], fc=face, ec=edge, lw=0.5, ls=style, zorder=zorder)


def _soft(colour: tuple[float, float, float], white: float) -> tuple[float, ...]:
    return tuple(c + (1 - c) * white for c in colour)
