"""The way along a distance field: where a path turns, from one point or from every cell at once, and how long it is.

A corner is a cell at which a path turns; hops from corner to corner are straight and in sight, so a robot that drives
from each corner to the next never leaves the free cells.
"""

from math import inf

import numpy as np
from numba import njit

from housemates.geometry.distance import anchor, best_cell, hidden_by
from housemates.geometry.exact import hypot
from housemates.geometry.sight import SLACK, sees


@njit(cache=True, nogil=True)
def descend(walkable, field, row, col, goal_row, goal_col, cell, out):
    """The shortest path from (row, col) to the goal whose distance_field is `field`, as the points where it turns.

    Writes start, turns and goal as continuous grid points into out f64[M, 2] and returns how many; 0 if the goal is out
    of reach or the path has more than M points.
    """
    row, col, r, c = anchor(walkable, row, col)
    goal_row, goal_col, goal_r, _ = anchor(walkable, goal_row, goal_col)
    if r < 0 or goal_r < 0 or field[r, c] == inf or out.shape[0] < 2:
        return 0
    out[0, 0], out[0, 1] = row, col
    count = 1
    at_row, at_col, below = row, col, inf  # the walker; the last turn is out[count - 1]
    while not sees(walkable, at_row, at_col, goal_row, goal_col):
        found, reach = -1, 2
        while found < 0 and reach <= 16:
            _, found, next_col = best_cell(walkable, field, at_row, at_col, cell, reach, below)
            reach *= 2
        if found < 0:
            return 0
        if not sees(walkable, out[count - 1, 0], out[count - 1, 1], float(found), float(next_col)):
            if count + 1 >= out.shape[0]:
                return 0
            out[count, 0], out[count, 1] = at_row, at_col
            count += 1
        at_row, at_col, below = float(found), float(next_col), field[found, next_col]
    if not sees(walkable, out[count - 1, 0], out[count - 1, 1], goal_row, goal_col):
        if count + 1 >= out.shape[0]:
            return 0
        out[count, 0], out[count, 1] = at_row, at_col
        count += 1
    out[count, 0], out[count, 1] = goal_row, goal_col
    return count + 1


@njit(cache=True, nogil=True)
def next_corners(free, field, cells, cell_of, out):
    """For every cell the farthest cell along its shortest path to the field's source that it sees in a straight line.

    free bool[H, W]; field f32[H, W] from distance_field over it; cells i32[C, 2] (row, col) and cell_of i32[H, W] number
    one connected region; out u16[C] indexes cells. The source cell points to itself; following `out` leads there.
    """
    height, width = free.shape
    count = cells.shape[0]
    value = np.empty(count)
    for k in range(count):
        value[k] = field[cells[k, 0], cells[k, 1]]
    order = np.argsort(value, kind="mergesort")
    length = np.full(count, inf)  # of the path along corners, in cells
    turn_row, turn_col = np.full((height, width), inf), np.full((height, width), inf)  # coordinates of each cell's corner
    first = order[0]
    length[first], out[first] = 0.0, first
    turn_row[cells[first, 0], cells[first, 1]], turn_col[cells[first, 0], cells[first, 1]] = cells[first, 0], cells[first, 1]
    left, waiting = 1, count
    while left < waiting:  # a cell none of whose neighbours has a corner yet waits for another pass
        start, stop, left, waiting = left, waiting, 1, 1
        for k in range(start, stop):
            here = order[k]
            r, c = cells[here, 0], cells[here, 1]
            best, corner = inf, -1
            for i in range(-1, 2):
                for j in range(-1, 2):
                    y, x = r + i, c + j
                    if (i == 0 and j == 0) or not (0 <= y < height and 0 <= x < width):
                        continue
                    n = cell_of[y, x]
                    if n < 0 or length[n] == inf or not (free[r, x] and free[y, c]):
                        continue
                    beyond = out[n]
                    total = length[beyond] + hypot(cells[beyond, 0] - r, cells[beyond, 1] - c)
                    if total < best - SLACK:
                        if hidden_by(free, turn_row, turn_col, r, c, float(cells[beyond, 0]), float(cells[beyond, 1])) == -1:
                            best, corner = total, beyond
                        elif length[n] + hypot(y - r, x - c) < best - SLACK:
                            best, corner = length[n] + hypot(y - r, x - c), n
            if corner < 0:
                order[waiting] = here
                waiting += 1
                continue
            beyond = out[corner]
            while beyond != corner and sees(free, float(r), float(c), float(cells[beyond, 0]), float(cells[beyond, 1])):
                corner, beyond = beyond, out[beyond]
            out[here] = corner
            length[here] = length[corner] + hypot(cells[corner, 0] - r, cells[corner, 1] - c)
            turn_row[r, c], turn_col[r, c] = cells[corner, 0], cells[corner, 1]
        if waiting == stop:
            break


@njit(cache=True, nogil=True)
def corner_path_length(cells, corner, start, cell):
    """Metres from cell `start` along corner u16[C] (as next_corners wrote it) to the source; cells i32[C, 2] (row, col)."""
    total, here = 0.0, int(start)
    while int(corner[here]) != here:
        beyond = int(corner[here])
        total += hypot(cells[beyond, 0] - cells[here, 0], cells[beyond, 1] - cells[here, 1])
        here = beyond
    return total * cell
