"""How homes compare with ReplicaCAD's 84 layouts: free floor, distances, room to pass.

Everything is measured as it was there: on the main island of the 5 cm floor grid, for a robot of 0.3 m radius.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from housemates.geometry.distance import clearance, distance_field, islands
from housemates.homes.floor import CELL, Floor
from housemates.homes.home import RECEPTACLES, Home

CLEARANCES = (0.1, 0.2, 0.3, 0.5)
"""Distances to the border of the navigable floor, metres."""
SAMPLES = 8
"""Random points of a home from which geodesics to all other cells are measured."""
SPAWN_DISTANCE = 2.0
"""Robots start at least this far apart, metres (paper, appendix A)."""

REPLICACAD = {
    "navigable area, mean (m2)": 27.9,
    "navigable area, smallest (m2)": 24.7,
    "navigable area, largest (m2)": 32.1,
    "navigable area, deviation (m2)": 1.5,
    "islands of free floor, mean": 1.75,
    "geodesic between receptacles, mean (m)": 4.4,
    "geodesic between receptacles, p50 (m)": 4.3,
    "geodesic between receptacles, p90 (m)": 7.9,
    "geodesic between receptacles, largest (m)": 13.0,
    "geodesic between random points, mean (m)": 4.4,
    "geodesic between random points, p90 (m)": 8.1,
    "straight line between random points, mean (m)": 3.9,
    "random points closer than 2 m, share": 0.22,
    "clearance above 0.1 m, share": 0.84,
    "clearance above 0.2 m, share": 0.68,
    "clearance above 0.3 m, share": 0.58,
    "clearance above 0.5 m, share": 0.32,
    "receptacle centre to navigable floor, mean (m)": 0.67,
}
"""The same numbers measured on ReplicaCAD's 84 layouts and their navigation meshes."""


def home_statistics(homes: Sequence[Home]) -> dict[str, float]:
    """The numbers of REPLICACAD for these homes, by the same names."""
    if not homes:
        raise ValueError("No homes to measure - pass at least one")
    area = np.array([len(home.floor.cells) * CELL**2 for home in homes])
    pairs = np.concatenate([receptacle_geodesics(home) for home in homes])
    geodesic, straight = (
        np.concatenate(found) for found in zip(*(_random_pairs(home, i) for i, home in enumerate(homes)), strict=True)
    )
    open_floor = np.mean([clearance_shares(home.floor) for home in homes], axis=0)
    reach = [d for home in homes for d in _centre_distances(home)]
    values = {
        "navigable area, mean (m2)": area.mean(),
        "navigable area, smallest (m2)": area.min(),
        "navigable area, largest (m2)": area.max(),
        "navigable area, deviation (m2)": area.std(),
        "islands of free floor, mean": np.mean([(islands(home.floor.free)[1] > 4).sum() for home in homes]),
        "geodesic between receptacles, mean (m)": pairs.mean(),
        "geodesic between receptacles, p50 (m)": np.percentile(pairs, 50),
        "geodesic between receptacles, p90 (m)": np.percentile(pairs, 90),
        "geodesic between receptacles, largest (m)": pairs.max(),
        "geodesic between random points, mean (m)": geodesic.mean(),
        "geodesic between random points, p90 (m)": np.percentile(geodesic, 90),
        "straight line between random points, mean (m)": straight.mean(),
        "random points closer than 2 m, share": (straight < SPAWN_DISTANCE).mean(),
        "receptacle centre to navigable floor, mean (m)": np.mean(reach),
    }
    values |= {f"clearance above {d} m, share": share for d, share in zip(CLEARANCES, open_floor, strict=True)}
    return {name: float(values[name]) for name in REPLICACAD}


def statistics_table(homes: Sequence[Home]) -> list[tuple[str, float, float]]:
    """Rows (what, these homes, ReplicaCAD) for printing side by side."""
    measured = home_statistics(homes)
    return [(name, measured[name], reference) for name, reference in REPLICACAD.items()]


def clearance_shares(floor: Floor) -> np.ndarray:
    """[4] share of the main island whose distance to its border exceeds each of CLEARANCES."""
    cells = np.empty(floor.main.shape, np.float32)
    clearance(floor.main, 1.0, cells)
    # As the reference was measured: cell centre to blocked cell centre, in double precision (6 * 0.05 > 0.3 counts).
    found = cells[floor.main].astype(float) * CELL
    return np.array([(found > limit).mean() for limit in CLEARANCES])


def receptacle_geodesics(home: Home) -> np.ndarray:
    """Path lengths [P] in metres between the approach points of all pairs of the ten kinds' receptacles."""
    found = []
    approach = _approach_cells(home)
    for index, goal in enumerate(approach[:-1]):
        field = _field(home, goal)
        found += [field[tuple(cell)] for cell in approach[index + 1 :]]
    return np.array(found, float)


def _approach_cells(home: Home) -> list[np.ndarray]:
    """For each receptacle of the ten kinds, the main island's cell nearest to where a robot works at it."""
    points = np.array(home.floor.origin) + home.floor.cells[:, ::-1] * CELL
    targets = [np.array(r.target)[[0, 2]] for r in home.receptacles if r.kind in RECEPTACLES]
    return [home.floor.cells[((points - target) ** 2).sum(1).argmin()] for target in targets]


def _centre_distances(home: Home) -> list[float]:
    points = np.array(home.floor.origin) + home.floor.cells[:, ::-1] * CELL
    centers = [np.array(r.center)[[0, 2]] for r in home.receptacles if r.kind in RECEPTACLES]
    return [float(np.hypot(*(points - center).T).min()) for center in centers]


def _field(home: Home, cell: np.ndarray) -> np.ndarray:
    """Distances [H, W] over the main island to one of its cells."""
    out = np.empty(home.floor.main.shape, np.float32)
    distance_field(home.floor.main, float(cell[0]), float(cell[1]), CELL, out)
    return out


def _random_pairs(home: Home, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Path lengths and straight distances from a few random cells to a thousand others."""
    rng = np.random.default_rng(seed)
    cells = home.floor.cells
    geodesic, straight = [], []
    for start in cells[rng.integers(len(cells), size=SAMPLES)]:
        ends = cells[rng.integers(len(cells), size=1000)]
        geodesic.append(_field(home, start)[ends[:, 0], ends[:, 1]])
        straight.append(np.hypot(*(ends - start).T) * CELL)
    return np.concatenate(geodesic), np.concatenate(straight)
