"""Where a partner will be: paths over the next steps, each with a probability.

Only what the partner sensor gives is used, its places of the last steps, and the own map; the oracles alone look further.
A partner is taken to go on to one of the places that navigations lead to, the more likely the better its last steps lie on the
shortest path there. One that does not move is taken to stand.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.lookahead.settings import GUESS, MIND, ORACLE_ACTION, ORACLE_DESTINATION
from housemates.sim.rules import WINDOW
from housemates.sim.sensor_kernels import place_before
from housemates.sim.skills import BLOCKED, OPENING, cell_at, choose_destination, move, navigate, path_length
from housemates.sim.state import MUST_DECIDE
from housemates.sim.step import begin, planned
from housemates.tasks.actions import NO_OP, PICK

PATHS = 8
"""Most paths of one partner."""
EVIDENCE = 8
"""Steps that are compared with shortest paths."""
MOVED = 0.2
"""Metres within EVIDENCE steps below which a partner stands."""
MISFIT = 0.12
"""Metres that a partner drove and did not come nearer: so many make a destination e times less likely."""
NOWHERE = 0.5
"""Misfit in metres of the hypothesis that a partner goes on straight, to none of the places."""
ELSEWHERE = 0.03
"""Prior weight of a receptacle that the task does not name, against 1 for objects, goals and what must be opened."""
UNLIKELY = 0.05
"""Paths less probable than this are left out."""
STRAIGHT = 20
"""Steps for which a velocity is kept."""
LEAVING, PATIENCE = 0.6, 20.0
"""Probability that a partner that has just stopped drives off again, and the steps of standing that make it e times less."""
ARRIVED = 0.5
"""Metres from a place within which a standing partner does not leave for it."""
SLOWEST = 0.005
"""Metres a step below which a velocity is none."""
STILL = 0.05
"""Metres within which a partner counts as not having moved."""


@njit(cache=True, nogil=True)
def stand(x, z, path):
    """A path [H, 2] of a robot that stands at (x, z)."""
    path[:, 0], path[:, 1] = x, z


@njit(cache=True, nogil=True)
def straight(world, s, p, path):
    """A path [H, 2] of robot p that keeps its velocity of the last two steps for STRAIGHT steps, or until a wall."""
    x, z = s.pose[p, 0], s.pose[p, 1]
    x0, z0 = place_before(s, p, 2)
    dx, dz = (x - x0) / 2, (z - z0) / 2
    if dx * dx + dz * dz < SLOWEST * SLOWEST:
        # Of a robot that stands only rounding is left: the window holds float32.
        dx, dz = 0.0, 0.0
    for t in range(path.shape[0]):
        if t < STRAIGHT and cell_at(world, s.home, x + dx, z + dz) != BLOCKED:
            x, z = x + dx, z + dz
        path[t, 0], path[t, 1] = x, z


@njit(cache=True, nogil=True)
def heading_of(s, p):
    """Yaw of robot p as its last movement shows it, and the metres it drove in the last EVIDENCE steps."""
    yaw, driven, known = 0.0, 0.0, False
    x, z = s.pose[p, 0], s.pose[p, 1]
    for k in range(1, EVIDENCE + 1):
        x0, z0 = place_before(s, p, k)
        length = np.sqrt((x - x0) ** 2 + (z - z0) ** 2)
        driven += length
        if length > 0.02 and not known:
            yaw, known = np.arctan2(-(z - z0), x - x0), True
        x, z = x0, z0
    return yaw, driven


@njit(cache=True, nogil=True)
def drive_there(world, c, rules, p, entity, path, chained):
    """The path [H, 2] of robot p of scratch record c by its navigation to `entity`, whose approach cell is its destination.

    chained: it then goes on as tasks do, from an object to its goal, from a goal to the other object; else it stands.
    """
    arrived = False
    for t in range(path.shape[0]):
        if arrived and chained and entity < 4:
            entity = entity + 2 if entity < 2 else 3 - entity
            begin(world, c, p, entity)
            arrived = False
        if not arrived:
            arrived = navigate(world, c, rules, p, entity)
        path[t, 0], path[t, 1] = c.pose[p, 0], c.pose[p, 1]


@njit(cache=True, nogil=True)
def prior(world, entity):
    """How likely a navigation to an entity is before anything is seen."""
    if entity < 4:
        return 1.0
    box = entity - 11
    return 1.0 if box >= 0 and world.task[0].subgoal_of[OPENING, box] >= 0 else ELSEWHERE


@njit(cache=True, nogil=True)
def weigh(world, s, p, driven, weight, destination):
    """Probabilities weight [15] of the 14 navigations of robot p and of none of them; destination [14] approach cells."""
    h = s.home
    x0, z0 = place_before(s, p, EVIDENCE)
    before, now = cell_at(world, h, x0, z0), cell_at(world, h, s.pose[p, 0], s.pose[p, 1])
    total = np.exp(-NOWHERE / MISFIT)
    weight[PICK] = total
    for entity in range(PICK):
        weight[entity], destination[entity] = 0.0, -1
        if before == BLOCKED or now == BLOCKED:
            continue
        a = choose_destination(world, s, before, entity)
        if a < 0:
            continue
        misfit = max(driven - (path_length(world, h, before, a) - path_length(world, h, now, a)), 0.0)
        destination[entity] = a
        weight[entity] = prior(world, entity) * np.exp(-misfit / MISFIT)
        total += weight[entity]
    for entity in range(PICK + 1):
        weight[entity] /= total


@njit(cache=True, nogil=True)
def standing(s, p):
    """Steps for which robot p has not moved, at most WINDOW - 1."""
    for k in range(1, min(int(s.clock), WINDOW - 1) + 1):
        x, z = place_before(s, p, k)
        if (s.pose[p, 0] - x) ** 2 + (s.pose[p, 1] - z) ** 2 > STILL * STILL:
            return k - 1
    return min(int(s.clock), WINDOW - 1)


@njit(cache=True, nogil=True)
def weigh_all(world, s, p, driven, weight, destination):
    """As `weigh`, also for a robot that stands: it stays (weight of none), or leaves for one of the places of the task."""
    weigh(world, s, p, driven, weight, destination)
    if driven >= MOVED:
        return
    going, count = LEAVING * np.exp(-standing(s, p) / PATIENCE), 0
    cell = cell_at(world, s.home, s.pose[p, 0], s.pose[p, 1])
    for entity in range(PICK):
        a = destination[entity]
        leaves = a >= 0 and cell != BLOCKED and prior(world, entity) == 1.0 and path_length(world, s.home, cell, a) >= ARRIVED
        weight[entity] = 1.0 if leaves else 0.0
        count += 1 if leaves else 0
    for entity in range(PICK):
        weight[entity] *= going / max(count, 1)
    weight[PICK] = 1.0 - going if count > 0 else 1.0


@njit(cache=True, nogil=True)
def leave(world, s, c, rules, p, paths, weights):
    """As `guess` for a robot that stands: it stays, or drives off to one of the places of the task."""
    going = LEAVING * np.exp(-standing(s, p) / PATIENCE)
    stand(s.pose[p, 0], s.pose[p, 1], paths[0])
    weights[0], count = 1.0 - going, 1
    cell = cell_at(world, s.home, s.pose[p, 0], s.pose[p, 1])
    if cell == BLOCKED or going < UNLIKELY:
        weights[0] = 1.0
        return 1
    for entity in range(PICK):
        if count == PATHS or prior(world, entity) < 1.0:
            continue
        a = choose_destination(world, s, cell, entity)
        if a < 0 or path_length(world, s.home, cell, a) < ARRIVED:
            continue
        # Its heading is not known: it may face its way already.
        home = world.homes[s.home]
        ahead = world.cell_xz[home.cell_start + int(world.corner[home.corner_start + a * home.cells + cell])]
        c.pose[p, 0], c.pose[p, 1] = s.pose[p, 0], s.pose[p, 1]
        c.pose[p, 2] = np.arctan2(-(ahead[1] - s.pose[p, 1]), ahead[0] - s.pose[p, 0])
        c.destination[p], c.waypoint[p] = a, -1
        drive_there(world, c, rules, p, entity, paths[count], True)
        count += 1
    for k in range(1, count):
        weights[k] = going / (count - 1)
    if count == 1:
        weights[0] = 1.0
    return count


@njit(cache=True, nogil=True)
def guess(world, s, c, rules, p, paths, weights):
    """The likeliest paths [PATHS, H, 2] of robot p by its last steps, and their probabilities; returns how many.

    c: a scratch record, equal to s but for what is tried out.
    """
    yaw, driven = heading_of(s, p)
    if driven < MOVED:
        return leave(world, s, c, rules, p, paths, weights)
    weight, destination = np.empty(PICK + 1), np.empty(PICK, np.int64)
    weigh(world, s, p, driven, weight, destination)
    return likeliest(world, s, c, rules, p, yaw, weight, destination, paths, weights)


@njit(cache=True, nogil=True)
def likeliest(world, s, c, rules, p, yaw, weight, destination, paths, weights):
    """The likeliest paths [PATHS, H, 2] of robot p that faces yaw, and their probabilities; returns how many.

    weight [15]: probabilities of its navigations to destination [14] and of going on straight, which are used up.
    """
    count, total = 0, 0.0
    for k in range(PATHS):
        best = int(np.argmax(weight))
        if weight[best] < UNLIKELY and k > 0:
            break
        weights[k] = weight[best]
        weight[best] = -1.0
        if best == PICK:
            straight(world, s, p, paths[k])
        else:
            c.pose[p, 0], c.pose[p, 1], c.pose[p, 2] = s.pose[p, 0], s.pose[p, 1], yaw
            c.destination[p], c.waypoint[p] = destination[best], -1
            drive_there(world, c, rules, p, best, paths[k], True)
        count, total = count + 1, total + weights[k]
    for k in range(count):
        weights[k] /= total
    return count


@njit(cache=True, nogil=True)
def expected(world, s, c, rules, p, going, paths, weights):
    """As `guess`, with probabilities going [15] of the navigations that robot p is on or begins soon, and of none.

    With none a robot that moves goes on straight, and one that stands stays. Of a robot that is too far away the theory of mind
    says nothing: it is guessed.
    """
    if going.sum() == 0.0:
        return guess(world, s, c, rules, p, paths, weights)
    yaw, driven = heading_of(s, p)
    cell = cell_at(world, s.home, s.pose[p, 0], s.pose[p, 1])
    weight, destination, facing = going.copy(), np.full(PICK, -1), -1
    for entity in range(PICK):
        a = choose_destination(world, s, cell, entity) if cell != BLOCKED else -1
        destination[entity] = a
        if a < 0:
            weight[PICK] += weight[entity]
            weight[entity] = 0.0
        elif facing < 0 or weight[entity] > weight[facing]:
            facing = entity
    if driven < MOVED and facing >= 0:
        # Its heading is not known: it may face its way already.
        home = world.homes[s.home]
        corner = int(world.corner[home.corner_start + destination[facing] * home.cells + cell])
        ahead = world.cell_xz[home.cell_start + corner]
        yaw = np.arctan2(-(ahead[1] - s.pose[p, 1]), ahead[0] - s.pose[p, 0])
    return likeliest(world, s, c, rules, p, yaw, weight, destination, paths, weights)


@njit(cache=True, nogil=True)
def present_action(world, s, p, decided):
    """What robot p is doing, or has just decided or planned to do."""
    if s.action[p] != MUST_DECIDE:
        return int(s.action[p])
    action = int(decided) if s.controllable[p] else planned(world, s, p)
    return NO_OP if action < 0 else action


@njit(cache=True, nogil=True)
def oracle(world, s, c, rules, p, decided, whole, path):
    """The path [H, 2] of robot p that goes on with its present action, then stands.

    whole: its heading and one-step actions are known too, else only where its navigation leads.
    """
    action = present_action(world, s, p, decided)
    if action >= PICK and not whole:
        stand(s.pose[p, 0], s.pose[p, 1], path)
        return
    yaw = s.pose[p, 2] if whole else heading_of(s, p)[0]
    c.pose[p, 0], c.pose[p, 1], c.pose[p, 2] = s.pose[p, 0], s.pose[p, 1], yaw
    c.action[p], c.destination[p], c.waypoint[p] = action, s.destination[p], s.waypoint[p] if whole else -1
    if s.action[p] == MUST_DECIDE:
        begin(world, c, p, action)
    if action < PICK:
        drive_there(world, c, rules, p, action, path, False)
        return
    move(world, c, rules, p)
    stand(c.pose[p, 0], c.pose[p, 1], path)


@njit(cache=True, nogil=True)
def predict(world, s, c, rules, p, variant, decided, going, paths, weights):
    """Paths [PATHS, H, 2] of robot p over the next H steps and their probabilities [PATHS]; returns how many there are.

    going [15]: where a theory of mind says that it goes, for that variant.
    """
    if variant == GUESS:
        return guess(world, s, c, rules, p, paths, weights)
    if variant == MIND:
        return expected(world, s, c, rules, p, going, paths, weights)
    weights[0] = 1.0
    if variant in (ORACLE_DESTINATION, ORACLE_ACTION):
        oracle(world, s, c, rules, p, decided, variant == ORACLE_ACTION, paths[0])
    else:
        straight(world, s, p, paths[0])
    return 1
