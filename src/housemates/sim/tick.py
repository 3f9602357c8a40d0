"""One simulation step of one home, and many of them until somebody must decide."""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.sim.rules import ALWAYS_BELOW, COLLISION, RELEASE, WINDOW
from housemates.sim.skills import (
    ARM_REST,
    BLOCKED,
    apply,
    carry,
    cell_at,
    choose_destination,
    finished,
    is_held,
    may_start,
    move,
    move_arm,
    path_length,
)
from housemates.sim.state import BOTH_HALVES, COLLISION_END, MUST_DECIDE, SUCCESS, TIMEOUT
from housemates.tasks.goals import NO_OP, PICK, SUCCESS_RADIUS

SPAWN_APART = 2.0
"""Metres between any two robots at the start of an episode (paper, appendix A)."""
SPAWN_TRIES = 200
"""Draws for one robot before the farthest of them is taken (three and four robots may not all fit)."""


@njit(cache=True, nogil=True)
def draw(state, e):
    """The next 64 random bits of home e (splitmix64)."""
    state.rng[e] += np.uint64(0x9E3779B97F4A7C15)
    z = state.rng[e]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform(state, e):
    """A random number in [0, 1) from home e's own generator."""
    return float(draw(state, e) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def nearest_partner(state, e, r, upto):
    """Metres from robot r to the nearest of the robots before `upto`, inf if it is alone."""
    best = np.inf
    for other in range(upto):
        if other != r:
            dx = state.pose[e, r, 0] - state.pose[e, other, 0]
            dz = state.pose[e, r, 1] - state.pose[e, other, 1]
            best = min(best, np.sqrt(dx * dx + dz * dz))
    return best


@njit(cache=True, nogil=True)
def place_robots(world, state, e, stored):
    """Spawn all robots: as the episode stores it, or at random cells at least SPAWN_APART from each other."""
    h, robots = state.home[e], state.pose.shape[1]
    for r in range(robots):
        if stored:
            for k in range(3):
                state.pose[e, r, k] = world.spawn[state.episode[e], r, k]
            continue
        best = -1.0
        bx, bz = 0.0, 0.0
        for _ in range(SPAWN_TRIES):
            cell = world.cell_start[h] + int(uniform(state, e) * world.cells[h])
            state.pose[e, r, 0], state.pose[e, r, 1] = world.cell_xz[cell, 0], world.cell_xz[cell, 1]
            apart = nearest_partner(state, e, r, r)
            if apart > best:
                best, bx, bz = apart, state.pose[e, r, 0], state.pose[e, r, 1]
            if apart >= SPAWN_APART:
                break
        state.pose[e, r, 0], state.pose[e, r, 1] = bx, bz
        state.pose[e, r, 2] = np.pi * (1.0 - 2.0 * uniform(state, e))
    for r in range(robots):
        for k in range(3):
            state.spawn[e, r, k] = state.pose[e, r, k]


@njit(cache=True, nogil=True)
def plan_length(world, state, e, r, plan):
    """Metres robot r would drive to follow a plan from where it stands."""
    h = state.home[e]
    cell = cell_at(world, h, state.pose[e, r, 0], state.pose[e, r, 1])
    total = 0.0
    for step in range(world.plans.shape[1]):
        action = int(world.plans[plan, step])
        if 0 <= action < PICK:
            a = choose_destination(world, state, e, cell, action)
            if a >= 0:
                total += path_length(world, h, cell, a)
                cell = int(world.approach_cell[world.approach_start[h] + a])
    return total


@njit(cache=True, nogil=True)
def reset(world, state, rules, e, stored):
    """Begin the next episode in home e: everything back to its start, all robots must decide."""
    following = state.following[e]
    state.episode[e] = following if following >= 0 else int(uniform(state, e) * world.episode_home.shape[0])
    state.following[e] = -1
    episode = state.episode[e]
    state.home[e] = world.episode_home[episode]
    state.clock[e], state.total[e], state.over[e] = 0, 0.0, False
    state.held[e] = -1
    state.done_by[e] = -1
    for box in range(3):
        state.door[e, box] = world.door_start[box]
    for i in range(2):
        for k in range(3):
            state.rest[e, i, k] = world.start[episode, i, k]
            state.thing[e, i, k] = world.start[episode, i, k]
        for k in range(4):
            state.approach[e, i, k] = world.start_approach[episode, i, k]
        state.thing_yaw[e, i] = world.start_yaw[episode, i]
        state.inside[e, i] = world.start_inside[episode, i]
    place_robots(world, state, e, stored)
    for r in range(state.pose.shape[1]):
        for j in range(7):
            state.arm[e, r, j] = world.arm_poses[ARM_REST, j]
            state.arm_goal[e, r, j] = world.arm_poses[ARM_REST, j]
        state.action[e, r], state.executed[e, r], state.elapsed[e, r] = MUST_DECIDE, NO_OP, 0
        state.level[e, r] = crossed(rules, nearest_partner(state, e, r, state.pose.shape[1]), 0.0)
        state.idle[e, r], state.travelled[e, r] = 0, 0.0
        state.window[e, r] = 0.0
        state.plan_at[e, r] = 0
        state.plan[e, r] = state.script[e, r]
        if state.script[e, r] == BOTH_HALVES:
            first = plan_length(world, state, e, r, world.solo[0])
            second = plan_length(world, state, e, r, world.solo[1])
            state.plan[e, r] = world.solo[0] if first <= second else world.solo[1]


@njit(cache=True, nogil=True)
def begin(world, state, e, r, action):
    """Robot r starts an action; what it earns is counted from here."""
    state.action[e, r], state.elapsed[e, r] = action, 0
    if action < PICK:
        cell = cell_at(world, state.home[e], state.pose[e, r, 0], state.pose[e, r, 1])
        state.destination[e, r] = choose_destination(world, state, e, cell, action)
    state.terms[e, r] = 0.0
    state.discounted[e, r], state.factor[e, r], state.duration[e, r] = 0.0, 1.0, 0


@njit(cache=True, nogil=True)
def next_of_plan(world, state, e, r):
    """The next action of a scripted robot; a no-op when its plan is done."""
    plan, at = state.plan[e, r], state.plan_at[e, r]
    if plan < 0 or at >= world.plans.shape[1] or world.plans[plan, at] < 0:
        return NO_OP
    state.plan_at[e, r] += 1
    return int(world.plans[plan, at])


@njit(cache=True, nogil=True)
def crossed(rules, distance, slack):
    """How many interruption thresholds (plus slack) lie above a distance."""
    count = 0
    for threshold in rules.thresholds:
        count += distance < threshold + slack
    return count


@njit(cache=True, nogil=True)
def interrupt(state, rules, e, r, distance):
    """Cut robot r's running skill if its nearest partner has just come nearer than the next threshold."""
    risen = crossed(rules, distance, 0.0)
    cut = risen > state.level[e, r] if rules.interruption == 1 else rules.interruption == 2 and distance < ALWAYS_BELOW
    state.level[e, r] = max(risen, min(state.level[e, r], crossed(rules, distance, RELEASE)))
    if cut and state.interruptible[e, r]:
        state.action[e, r] = MUST_DECIDE


@njit(cache=True, nogil=True)
def effects(world, state, e):
    """Apply the robots' one-step skills in random order; returns how many new sub-goals they achieved."""
    robots, new = state.action.shape[1], 0
    acting = 0
    for r in range(robots):
        acting += PICK <= state.action[e, r] < NO_OP
    turn = int(uniform(state, e) * robots) if acting > 1 else 0
    backwards = acting > 1 and draw(state, e) & np.uint64(1) == np.uint64(1)
    for k in range(robots):
        r = (turn - k if backwards else turn + k) % robots
        action = state.action[e, r]
        if action == MUST_DECIDE or not may_start(world, state, e, r, action):
            state.executed[e, r] = NO_OP
        else:
            state.executed[e, r] = action
            new += apply(world, state, e, r) >= 0
        state.idle[e, r] += state.executed[e, r] == NO_OP
    return new


@njit(cache=True, nogil=True)
def task_is_done(world, state, e):
    """Whether every target object lies within SUCCESS_RADIUS of its goal and nobody holds it."""
    for i in range(2):
        d = 0.0
        for k in range(3):
            d += (state.thing[e, i, k] - world.goal[state.episode[e], i, k]) ** 2
        if d > SUCCESS_RADIUS**2 or is_held(state, e, i):
            return False
    return True


@njit(cache=True, nogil=True)
def pay(state, rules, e, new, outcome):
    """Give every robot the step's reward, by named terms; the collision charge is not part of the paper's return."""
    success = rules.success if outcome == SUCCESS else 0.0
    subgoal = rules.subgoal * new
    charge = 0.0
    if outcome == COLLISION_END and rules.charge:
        left, g = rules.horizon - state.clock[e], rules.discount
        charge = rules.step * (g * (1.0 - g**left) / (1.0 - g) if g < 1.0 else float(left))
    reward = success + subgoal + rules.step + charge
    state.total[e] += success + subgoal + rules.step
    for r in range(state.action.shape[1]):
        state.terms[e, r, 0] += success
        state.terms[e, r, 1] += subgoal
        state.terms[e, r, 2] += rules.step
        state.terms[e, r, 3] += charge
        state.discounted[e, r] += state.factor[e, r] * reward
        state.factor[e, r] *= rules.discount
        state.duration[e, r] += 1


@njit(cache=True, nogil=True)
def tick(world, state, rules, e):
    """One simulation step of home e: act, move, apply skills, reward, interrupt. Returns the outcome, 0 if it goes on."""
    robots = state.action.shape[1]
    arrived = 0
    for r in range(robots):
        if state.action[e, r] == MUST_DECIDE and not state.controllable[e, r]:
            begin(world, state, e, r, next_of_plan(world, state, e, r))
        if state.action[e, r] != MUST_DECIDE and move(world, state, rules, e, r):
            arrived |= 1 << r
    new = effects(world, state, e)
    slot = state.clock[e] % WINDOW
    state.clock[e] += 1
    for r in range(robots):
        carry(state, e, r)
        move_arm(state, e, r)
        state.window[e, r, slot, 0] = state.pose[e, r, 0]
        state.window[e, r, slot, 1] = state.pose[e, r, 1]
        state.window[e, r, slot, 2] = state.executed[e, r]
        state.elapsed[e, r] += 1
        if state.action[e, r] != MUST_DECIDE and finished(state, e, r, (arrived >> r) & 1 == 1):
            state.action[e, r] = MUST_DECIDE
    outcome = 0
    for r in range(robots):
        distance = nearest_partner(state, e, r, robots)
        if distance < COLLISION:
            outcome = COLLISION_END
        interrupt(state, rules, e, r, distance)
    if outcome == 0 and task_is_done(world, state, e):
        outcome = SUCCESS
    if outcome == 0 and state.clock[e] >= rules.horizon:
        outcome = TIMEOUT
    pay(state, rules, e, new, outcome)
    return outcome


@njit(cache=True, nogil=True)
def somebody_waits(state, e):
    """Whether a robot of home e needs a decision from outside."""
    for r in range(state.action.shape[1]):
        if state.controllable[e, r] and state.action[e, r] == MUST_DECIDE:
            return True
    return False


@njit(cache=True, nogil=True)
def advance(world, state, ended, rules, actions, low, high, max_ticks, stored, autoreset):
    """Homes low..high: start the given actions, then tick each home until somebody must decide or the episode ends."""
    robots = state.action.shape[1]
    for e in range(low, high):
        state.outcome[e] = 0
        if state.over[e]:
            continue
        for r in range(robots):
            if state.controllable[e, r] and state.action[e, r] == MUST_DECIDE and actions[e, r] >= 0:
                begin(world, state, e, r, actions[e, r])
        ticks = 0
        while True:
            outcome = tick(world, state, rules, e)
            ticks += 1
            if outcome > 0:
                finish(state, ended, e, outcome)
                if autoreset:
                    reset(world, state, rules, e, stored)
                else:
                    state.over[e] = True
                break
            if somebody_waits(state, e) or ticks == max_ticks:
                break


@njit(cache=True, nogil=True)
def finish(state, ended, e, outcome):
    """Write down how home e's episode ended and close every running decision."""
    state.outcome[e] = outcome
    ended.episode[e], ended.outcome[e], ended.steps[e] = state.episode[e], outcome, state.clock[e]
    ended.total[e] = state.total[e]
    for k in range(6):
        ended.done_by[e, k] = state.done_by[e, k]
    for r in range(state.action.shape[1]):
        ended.idle[e, r], ended.travelled[e, r] = state.idle[e, r], state.travelled[e, r]
        ended.window[e, r] = state.window[e, r]
        state.action[e, r] = MUST_DECIDE


@njit(cache=True, nogil=True)
def reset_all(world, state, rules, which, stored):
    """Reset every home of a mask [E]."""
    for e in range(which.shape[0]):
        if which[e]:
            state.outcome[e] = 0
            reset(world, state, rules, e, stored)


@njit(cache=True, nogil=True)
def is_on_floor(world, state, e, r):
    """Whether robot r's centre stands on the navigable floor (an invariant)."""
    return cell_at(world, state.home[e], state.pose[e, r, 0], state.pose[e, r, 1]) != BLOCKED
