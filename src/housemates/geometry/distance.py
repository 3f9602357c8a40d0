"""Shortest paths on a grid of free cells: what is in sight, how far it is, and where to turn.

Cell [row, col] is the closed unit square around the grid point (row, col); the free space is the union of the free
squares, and a path may touch no other square. Positions are continuous grid coordinates, distances metres.
A distance field is made by a front that runs outwards from the source and turns only at corners of obstacles, so it is
free of the few per cent that steps between neighbouring cells or upwind differences add.
"""

from math import ceil, floor, inf, sqrt

import numpy as np
from numba import njit

from housemates.geometry.exact import hypot
from housemates.geometry.sight import SLACK, obstacle, sees

EDGE = 1e-6
"""A point on the edge of a free cell is moved this far inside, cells."""
OFF_CORNER = 0.01
"""Paths round an obstacle's corner at this distance along each axis, cells (half a millimetre)."""
NEAR = 4
"""How far around a point between cells its path is looked for, cells."""
TURNS = 4
"""Most corners the front rounds in one step."""
BUCKETS = 16
"""Ring of buckets that orders the front."""
PER_CELL = 4.0
"""Buckets per cell of distance: no step is longer than 2 cells, so the ring of 16 never wraps onto itself."""


@njit(cache=True, nogil=True)
def nearest_free(mask, row, col, reach_cells):
    """(row, col) of the true cell of mask bool[H, W] nearest to a continuous point within `reach_cells`, else (-1, -1).

    Ties go to the smallest row, then the smallest column.
    """
    height, width = mask.shape
    best_row, best_col = -1, -1
    best = reach_cells * reach_cells + SLACK
    if not (-reach_cells - 1.0 <= row <= height + reach_cells and -reach_cells - 1.0 <= col <= width + reach_cells):
        return best_row, best_col
    found = False
    first_row = int(max(0.0, ceil(row - reach_cells - SLACK)))
    last_row = int(min(height - 1.0, floor(row + reach_cells + SLACK)))
    for r in range(first_row, last_row + 1):
        down = (r - row) * (r - row)
        if down > best:
            continue
        span = sqrt(best - down) + SLACK
        first_col = int(max(0.0, ceil(col - span)))
        last_col = int(min(width - 1.0, floor(col + span)))
        for c in range(first_col, last_col + 1):
            if mask[r, c]:
                d = down + (c - col) * (c - col)
                if d < best or (d <= best and not found):
                    best, best_row, best_col, found = d, r, c, True
    return best_row, best_col


@njit(cache=True, nogil=True)
def anchor(walkable, row, col):
    """The point of the walkable squares that stands for (row, col), and its cell: (row, col, cell row, cell column).

    A point inside a walkable square stands for itself (moved a hair off its edge), any other for the centre of the
    nearest walkable cell; the cell is (-1, -1) if there is none.
    """
    height, width = walkable.shape
    r, c = nearest_free(walkable, row, col, 0.75)  # almost always its own cell
    if r < 0:
        away = max(0.0, max(max(-row, row - height), max(-col, col - width)))
        r, c = nearest_free(walkable, row, col, height + width + 2.0 * away)
    if r < 0:
        return row, col, r, c
    if max(abs(row - r), abs(col - c)) > 0.5 + SLACK:
        return float(r), float(c), r, c
    inner = 0.5 - EDGE
    return min(r + inner, max(r - inner, row)), min(c + inner, max(c - inner, col)), r, c


@njit(cache=True, nogil=True)
def _link(cell, bucket, head, after, before, inside):
    after[cell], before[cell] = head[bucket], -1
    if head[bucket] >= 0:
        before[head[bucket]] = cell
    head[bucket], inside[cell] = cell, bucket


@njit(cache=True, nogil=True)
def _unlink(cell, head, after, before, inside):
    if before[cell] >= 0:
        after[before[cell]] = after[cell]
    else:
        head[inside[cell]] = after[cell]
    if after[cell] >= 0:
        before[after[cell]] = before[cell]
    inside[cell] = -1


@njit(cache=True, nogil=True)
def _settle(cell, value, now, head, after, before, inside):
    """Put a cell whose distance fell to `value` into its bucket; `now` is the bucket number (not wrapped) being emptied."""
    bucket = max(int(value * PER_CELL), now) % BUCKETS
    if inside[cell] != bucket:
        if inside[cell] >= 0:
            _unlink(cell, head, after, before, inside)
        _link(cell, bucket, head, after, before, inside)


@njit(cache=True, nogil=True)
def hidden_by(walkable, turn_row, turn_col, row, col, to_row, to_col):
    """What hides the point (to_row, to_col) from cell (row, col), as in obstacle, using what its neighbours already see.

    If the two neighbours that bracket the ray both turn at that point, they see it; the triangle between them is too
    narrow to hold a blocked unit square, so the ray is free as well.
    """
    down, across = to_row - row, to_col - col
    a, b = abs(down), abs(across)
    if max(a, b) > 1.0 and a != b:
        step_row = 1 if down > 0 else -1
        step_col = 1 if across > 0 else -1
        r, c = row + step_row, col + step_col
        if 0 <= r < walkable.shape[0] and 0 <= c < walkable.shape[1]:
            r1, c1 = (r, col) if a > b else (row, c)
            if (
                turn_row[r, c] == to_row
                and turn_col[r, c] == to_col
                and turn_row[r1, c1] == to_row
                and turn_col[r1, c1] == to_col
            ):
                return -1
    return obstacle(walkable, float(row), float(col), to_row, to_col)


@njit(cache=True, nogil=True)
def _corner(walkable, r, c):
    """Whether a path can turn at the corner between the cells (r - 1, c - 1) and (r, c), 1 <= r < H, 1 <= c < W.

    1 + 2 i + j if of its four cells only (r - 1 + i, c - 1 + j) is blocked, else 0.
    """
    a, b, d, e = walkable[r - 1, c - 1], walkable[r - 1, c], walkable[r, c - 1], walkable[r, c]
    if int(a) + int(b) + int(d) + int(e) != 3:
        return 0
    return 1 if not a else 2 if not b else 3 if not d else 4


@njit(cache=True, nogil=True)
def _turning_point(kind, r, c):
    """Grid coordinates at which a path rounds the corner [r, c], which is of the given kind."""
    row = r - 0.5 + (OFF_CORNER if kind <= 2 else -OFF_CORNER)
    return row, c - 0.5 + (OFF_CORNER if kind & 1 else -OFF_CORNER)


@njit(cache=True, nogil=True)
def _way_round(walkable, kind, blocked, row, col, to_row, to_col, side_row, side_col):
    """The turning point of the cell `blocked` at which a path from (row, col) to the hidden point (to_row, to_col) bends.

    Of the corners in sight that lie on the same side of the straight line as (side_row, side_col) it is the one with the
    shortest way; (inf, inf) if there is none.
    """
    best, best_row, best_col = inf, inf, inf
    if blocked >= 0:
        width = walkable.shape[1]
        down, across = row - to_row, col - to_col
        side = down * (side_col - to_col) - across * (side_row - to_row)
        for i in range(blocked // width, blocked // width + 2):
            for j in range(blocked % width, blocked % width + 2):
                if kind[i, j] == 0:
                    continue
                r, c = _turning_point(kind[i, j], i, j)
                if (down * (c - to_col) - across * (r - to_row)) * side <= 0.0:
                    continue
                length = hypot(r - row, c - col) + hypot(r - to_row, c - to_col)
                if length < best and sees(walkable, row, col, r, c):
                    best, best_row, best_col = length, r, c
    return best_row, best_col


@njit(cache=True, nogil=True)
def _bend(walkable, kind, blocked, row, col, to_row, to_col, side_row, side_col):
    """The way from (row, col) to a point hidden by the cell `blocked`, round at most TURNS corners on one side.

    Returns (length, length behind the first turn, row, column of the first turn); the length is inf if there is no such way.
    """
    r, c, total, first, first_row, first_col = row, col, 0.0, 0.0, inf, inf
    for turn in range(TURNS):
        next_row, next_col = _way_round(walkable, kind, blocked, r, c, to_row, to_col, side_row, side_col)
        if next_row == inf:
            break
        hop = hypot(next_row - r, next_col - c)
        total += hop
        if turn == 0:
            first, first_row, first_col = hop, next_row, next_col
        r, c = next_row, next_col
        blocked = obstacle(walkable, r, c, to_row, to_col)
        if blocked == -1:
            total += hypot(to_row - r, to_col - c)
            return total, total - first, first_row, first_col
    return inf, inf, first_row, first_col


@njit(cache=True, nogil=True)
def distance_field(walkable, row, col, cell, out):
    """Metres from every cell to the continuous grid point (row, col) along the shortest path; `inf` where there is none.

    walkable bool[H, W], out f32[H, W]. A point off the walkable squares counts as the centre of the nearest one.
    """
    height, width = walkable.shape
    out[:] = inf
    source_row, source_col, r, c = anchor(walkable, row, col)
    if r < 0:
        return
    far = np.full((height, width), inf)  # path length of each cell, in cells
    turn_row, turn_col = np.full((height, width), inf), np.full((height, width), inf)  # where its path turns first
    turn_far = np.empty((height, width))  # path length from there
    kind = np.zeros((height + 1, width + 1), np.int8)  # of all corners
    for i in range(1, height):
        for j in range(1, width):
            kind[i, j] = _corner(walkable, i, j)
    corner_far = np.full((height + 1, width + 1), inf)
    size = height * width
    after, before = np.empty(size, np.int32), np.empty(size, np.int32)
    inside, head = np.full(size, -1, np.int8), np.full(BUCKETS, -1, np.int32)

    far[r, c] = sqrt((r - source_row) ** 2 + (c - source_col) ** 2)
    turn_row[r, c], turn_col[r, c], turn_far[r, c] = source_row, source_col, 0.0
    now = int(far[r, c] * PER_CELL)
    _settle(r * width + c, far[r, c], now, head, after, before, inside)
    empty = 0
    while empty < BUCKETS:
        here = head[now % BUCKETS]
        if here < 0:
            now += 1
            empty += 1
            continue
        empty = 0
        _unlink(here, head, after, before, inside)
        r, c = here // width, here % width
        pr, pc, pf = turn_row[r, c], turn_col[r, c], turn_far[r, c]
        wall = False
        for y in range(max(0, r - 1), min(height, r + 2)):
            for x in range(max(0, c - 1), min(width, c + 2)):
                if not walkable[y, x]:
                    wall = True
                    continue
                gain = far[y, x] - pf - SLACK
                square = (pr - y) * (pr - y) + (pc - x) * (pc - x)
                if gain <= 0.0 or square >= gain * gain or not (walkable[r, x] and walkable[y, c]) or (y == r and x == c):
                    continue
                hidden = hidden_by(walkable, turn_row, turn_col, y, x, pr, pc)
                if hidden == -1:
                    far[y, x], turn_far[y, x] = pf + sqrt(square), pf
                    turn_row[y, x], turn_col[y, x] = pr, pc
                else:
                    bend, wr, wc = far[r, c], float(r), float(c)
                    total = bend + (1.0 if y == r or x == c else sqrt(2.0))
                    way, rest, vr, vc = _bend(walkable, kind, hidden, float(y), float(x), pr, pc, r, c)
                    if pf + way < total:
                        total, bend, wr, wc = pf + way, pf + rest, vr, vc
                    if total >= far[y, x] - SLACK:
                        continue
                    far[y, x], turn_far[y, x] = total, bend
                    turn_row[y, x], turn_col[y, x] = wr, wc
                _settle(y * width + x, far[y, x], now, head, after, before, inside)
        if not wall:
            continue
        for i in range(r, r + 2):
            for j in range(c, c + 2):
                if kind[i, j] == 0:
                    continue
                wr, wc = _turning_point(kind[i, j], i, j)
                length = pf + sqrt((pr - wr) * (pr - wr) + (pc - wc) * (pc - wc))
                if length >= corner_far[i, j] - SLACK:
                    continue
                hidden = obstacle(walkable, wr, wc, pr, pc)
                if hidden != -1:
                    length = pf + _bend(walkable, kind, hidden, wr, wc, pr, pc, r, c)[0]
                    if length >= corner_far[i, j] - SLACK:
                        continue
                corner_far[i, j] = length
                for y in range(i - 1, i + 1):
                    for x in range(j - 1, j + 1):
                        total = length + sqrt((wr - y) * (wr - y) + (wc - x) * (wc - x))
                        if walkable[y, x] and total < far[y, x] - SLACK:
                            far[y, x], turn_far[y, x] = total, length
                            turn_row[y, x], turn_col[y, x] = wr, wc
                            _settle(y * width + x, total, now, head, after, before, inside)
    for r in range(height):
        for c in range(width):
            out[r, c] = far[r, c] * cell


@njit(cache=True, nogil=True)
def best_cell(walkable, field, row, col, cell, reach, below):
    """The cell within `reach` cells in sight of a point through which its shortest path goes: (metres, row, column).

    Only cells with a field value less than `below` count; (inf, -1, -1) if there is none.
    """
    height, width = walkable.shape
    best, best_row, best_col = inf, -1, -1
    r, c = floor(row + 0.5), floor(col + 0.5)
    for y in range(max(0, r - reach), min(height, r + reach + 1)):
        for x in range(max(0, c - reach), min(width, c + reach + 1)):
            if walkable[y, x] and field[y, x] < below:
                total = field[y, x] + cell * hypot(y - row, x - col)
                if total < best and sees(walkable, row, col, float(y), float(x)):
                    best, best_row, best_col = total, y, x
    return best, best_row, best_col


@njit(cache=True, nogil=True)
def distance_at(walkable, field, row, col, goal_row, goal_col, cell):
    """Metres from the continuous point (row, col) to the goal whose distance_field is `field`, `inf` if out of reach.

    A start or goal off the walkable squares counts as the centre of its nearest walkable cell.
    """
    row, col, r, c = anchor(walkable, row, col)
    goal_row, goal_col, goal_r, _ = anchor(walkable, goal_row, goal_col)
    if r < 0 or goal_r < 0:
        return inf
    if sees(walkable, row, col, goal_row, goal_col):
        return cell * hypot(goal_row - row, goal_col - col)
    # Cells 20 cm away lie in the path's direction closely enough: going through one adds about a millimetre. But where
    # the path turns before it gets there, it does so at the obstacle's corner, not at a cell.
    total = min(field[r, c] + cell * hypot(r - row, c - col), best_cell(walkable, field, row, col, cell, NEAR, inf)[0])
    for i in range(max(1, r - NEAR), min(walkable.shape[0], r + NEAR + 2)):
        for j in range(max(1, c - NEAR), min(walkable.shape[1], c + NEAR + 2)):
            kind = _corner(walkable, i, j)
            if kind > 0:
                wr, wc = _turning_point(kind, i, j)
                hop = cell * hypot(wr - row, wc - col)
                if hop < total and sees(walkable, row, col, wr, wc):
                    total = min(total, hop + best_cell(walkable, field, wr, wc, cell, NEAR, inf)[0])
    return total


@njit(cache=True, nogil=True)
def islands(free):
    """Connected regions of free bool[H, W]: (labels i32[H, W], sizes i64[n]), largest first, then by their first cell.

    Cells that only meet at a corner are apart, for robots never squeeze through a diagonal; -1 is blocked.
    """
    height, width = free.shape
    found = np.full((height, width), -1, np.int32)
    queue = np.empty(height * width, np.int32)
    sizes = np.empty(height * width, np.int64)
    count = 0
    for row in range(height):
        for col in range(width):
            if not free[row, col] or found[row, col] >= 0:
                continue
            found[row, col] = count
            queue[0] = row * width + col
            done, end = 0, 1
            while done < end:
                r, c = queue[done] // width, queue[done] % width
                done += 1
                for k in range(4):
                    y, x = r + (k == 0) - (k == 1), c + (k == 2) - (k == 3)
                    if 0 <= y < height and 0 <= x < width and free[y, x] and found[y, x] < 0:
                        found[y, x] = count
                        queue[end] = y * width + x
                        end += 1
            sizes[count] = end
            count += 1
    order = np.argsort(-sizes[:count], kind="mergesort")
    rank = np.empty(count, np.int32)
    for k in range(count):
        rank[order[k]] = k
    for row in range(height):
        for col in range(width):
            if found[row, col] >= 0:
                found[row, col] = rank[found[row, col]]
    return found, sizes[:count][order]


@njit(cache=True, nogil=True)
def clearance(free, cell, out):
    """Metres from each free cell's centre to the nearest blocked cell's, cells off the grid included; 0 if blocked.

    free bool[H, W], out f32[H, W]. Exact: per column the gap to the nearest blocked cell, then per row the lower envelope
    of the parabolas gap^2 + (col - k)^2 (Felzenszwalb and Huttenlocher).
    """
    height, width = free.shape
    gap = np.empty((height, width))
    for col in range(width):
        run = 0.0
        for row in range(height):
            run = run + 1.0 if free[row, col] else 0.0
            gap[row, col] = run
        run = 0.0
        for row in range(height - 1, -1, -1):
            run = run + 1.0 if free[row, col] else 0.0
            gap[row, col] = min(gap[row, col], run)
    peak, start = np.empty(width + 2, np.int64), np.empty(width + 3)
    for row in range(height):
        used = 0  # parabolas of the envelope; columns -1 and width stand for the border
        for k in range(-1, width + 1):
            rise = gap[row, k] * gap[row, k] if 0 <= k < width else 0.0
            meet = -inf
            while used > 0:
                p = peak[used - 1]
                base = gap[row, p] * gap[row, p] if 0 <= p < width else 0.0
                meet = (rise + k * k - base - p * p) / (2.0 * (k - p))
                if meet > start[used - 1]:
                    break
                used -= 1
            peak[used], start[used] = k, (meet if used > 0 else -inf)
            used += 1
        start[used] = inf
        at = 0
        for col in range(width):
            while start[at + 1] < col:
                at += 1
            p = peak[at]
            base = gap[row, p] if 0 <= p < width else 0.0
            out[row, col] = cell * sqrt(base * base + (col - p) * (col - p))
