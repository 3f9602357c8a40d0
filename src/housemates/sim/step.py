"""One simulation step of one home, and many of them until a robot must decide."""

from __future__ import annotations

import numpy as np

from housemates.parallel import take
from housemates.sim.habits import FIRST, after_step, begin_habit, habitual, paused
from housemates.sim.rules import ALWAYS_BELOW, COLLISION, RELEASE, WINDOW
from housemates.sim.skills import (
    ARM_REST,
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
from housemates.sim.state import BOTH_HALVES, COLLISION_END, MUST_DECIDE, SUCCESS, TIMEOUT, kernel
from housemates.tasks.actions import NO_OP, PICK, SUCCESS_RADIUS
from housemates.tasks.generate import SPAWN_APART

SPAWN_TRIES = 200
"""Draws for one robot before the farthest of them is taken (three and four robots may not all fit)."""


@kernel
def draw(s):
    """The next 64 random bits of a home (splitmix64)."""
    s.rng += np.uint64(0x9E3779B97F4A7C15)
    z = s.rng
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(s):
    """A random number in [0, 1) from the home's own generator."""
    return float(draw(s) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def nearest_partner(s, r, upto):
    """Metres from robot r to the nearest of the robots before `upto`, inf if it is alone."""
    best = np.inf
    for other in range(upto):
        if other != r:
            dx = s.pose[r, 0] - s.pose[other, 0]
            dz = s.pose[r, 1] - s.pose[other, 1]
            best = min(best, np.sqrt(dx * dx + dz * dz))
    return best


@kernel
def place_robots(world, s, stored):
    """Spawn all robots: as the episode stores it, or at random cells at least SPAWN_APART from each other."""
    h, robots = s.home, s.robots
    for r in range(robots):
        if stored:
            for k in range(3):
                s.pose[r, k] = world.episodes[s.episode].spawn[r, k]
            continue
        best = -1.0
        bx, bz = 0.0, 0.0
        for _ in range(SPAWN_TRIES):
            cell = world.homes[h].cell_start + int(uniform(s) * world.homes[h].cells)
            s.pose[r, 0], s.pose[r, 1] = world.cell_xz[cell, 0], world.cell_xz[cell, 1]
            apart = nearest_partner(s, r, r)
            if apart > best:
                best, bx, bz = apart, s.pose[r, 0], s.pose[r, 1]
            if apart >= SPAWN_APART:
                break
        s.pose[r, 0], s.pose[r, 1] = bx, bz
        s.pose[r, 2] = np.pi * (1.0 - 2.0 * uniform(s))
    for r in range(robots):
        for k in range(3):
            s.spawn[r, k] = s.pose[r, k]


@kernel
def plan_length(world, s, r, plan):
    """Metres robot r would drive to follow a plan from where it stands."""
    h = s.home
    cell = cell_at(world, h, s.pose[r, 0], s.pose[r, 1])
    total = 0.0
    for step in range(world.task[0].plans.shape[1]):
        action = int(world.task[0].plans[plan, step])
        if 0 <= action < PICK:
            a = choose_destination(world, s, cell, action)
            if a >= 0:
                total += path_length(world, h, cell, a)
                cell = int(world.approach_cell[world.homes[h].approach_start + a])
    return total


@kernel
def reset(world, s, rules, stored):
    """Begin the next episode in a home: everything back to its start, all robots must decide."""
    following = s.following
    s.episode = following if following >= 0 else int(uniform(s) * world.episodes.shape[0])
    s.following = -1
    episode = s.episode
    s.home = world.episodes[episode].home
    s.clock, s.total, s.over = 0, 0.0, False
    s.held[:] = -1
    s.done_by[:] = -1
    for box in range(3):
        s.door[box] = world.task[0].door_start[box]
    for i in range(2):
        for k in range(3):
            s.rest[i, k] = world.episodes[episode].start[i, k]
            s.thing[i, k] = world.episodes[episode].start[i, k]
        for k in range(4):
            s.approach[i, k] = world.episodes[episode].start_approach[i, k]
        s.thing_yaw[i] = world.episodes[episode].yaw[i]
        s.inside[i] = world.episodes[episode].start_inside[i]
    place_robots(world, s, stored)
    for r in range(s.robots):
        for j in range(s.arm.shape[1]):
            s.arm[r, j] = world.task[0].arm_poses[ARM_REST, j]
            s.arm_goal[r, j] = world.task[0].arm_poses[ARM_REST, j]
        s.action[r], s.executed[r], s.elapsed[r] = MUST_DECIDE, NO_OP, 0
        s.level[r] = crossed(rules, nearest_partner(s, r, s.robots), 0.0)
        s.idle[r], s.travelled[r] = 0, 0.0
        s.window[r, :, :] = 0.0
        start_script(world, s, r)


@kernel
def start_script(world, s, r):
    """Robot r begins its script, if it has one, from where it stands."""
    s.plan_at[r] = 0
    s.plan[r] = s.script[r]
    if s.script[r] == BOTH_HALVES or s.script[r] >= FIRST:
        first = plan_length(world, s, r, world.task[0].solo[0])
        second = plan_length(world, s, r, world.task[0].solo[1])
        if s.script[r] >= FIRST:
            begin_habit(s, r, 0 if first <= second else 1)
        else:
            s.plan[r] = world.task[0].solo[0] if first <= second else world.task[0].solo[1]


@kernel
def begin(world, s, r, action):
    """Robot r starts an action; what it earns is counted from here."""
    s.action[r], s.elapsed[r] = action, 0
    if action < PICK:
        cell = cell_at(world, s.home, s.pose[r, 0], s.pose[r, 1])
        s.destination[r] = choose_destination(world, s, cell, action)
        s.waypoint[r] = -1
    s.terms[r, :] = 0.0
    s.discounted[r], s.factor[r], s.duration[r] = 0.0, 1.0, 0


@kernel
def planned(world, s, r):
    """What a scripted robot does next, -1 when its plan is done."""
    plan, at = s.plan[r], s.plan_at[r]
    if plan >= FIRST:
        return habitual(world, s, r)
    if plan < 0 or at >= world.task[0].plans.shape[1]:
        return -1
    return int(world.task[0].plans[plan, at])


@kernel
def next_of_plan(world, s, r):
    """The next action of a scripted robot, whose plan goes on; a no-op when it is done."""
    action = planned(world, s, r)
    if action < 0:
        return NO_OP
    if s.plan[r] < FIRST:
        s.plan_at[r] += 1
    return action


@kernel
def crossed(rules, distance, slack):
    """How many interruption thresholds (plus slack) lie above a distance."""
    count = 0
    for threshold in rules.thresholds:
        count += distance < threshold + slack
    return count


@kernel
def interrupt(s, rules, r, distance):
    """Cut robot r's running skill if its nearest partner has just come nearer than the next threshold."""
    risen = crossed(rules, distance, 0.0)
    cut = risen > s.level[r] if rules.interruption == 1 else rules.interruption == 2 and distance < ALWAYS_BELOW
    s.level[r] = max(risen, min(s.level[r], crossed(rules, distance, RELEASE)))
    if cut and s.interruptible[r]:
        s.action[r] = MUST_DECIDE


@kernel
def effects(world, s):
    """Apply the robots' one-step skills in random order; returns how many new sub-goals they achieved."""
    robots, new = s.robots, 0
    acting = 0
    for r in range(robots):
        acting += PICK <= s.action[r] < NO_OP
    turn, backwards = 0, False
    if acting > 1:
        turn, backwards = int(uniform(s) * robots), draw(s) & np.uint64(1) == np.uint64(1)
    for k in range(robots):
        r = k if turn == 0 and not backwards else (turn - k if backwards else turn + k) % robots
        action = s.action[r]
        s.executed[r] = NO_OP if action == MUST_DECIDE else action
        if PICK <= action < NO_OP:
            if may_start(world, s, r, action):
                new += apply(world, s, r) >= 0
            else:
                s.executed[r] = NO_OP
        s.idle[r] += s.executed[r] == NO_OP
    return new


@kernel
def task_is_done(episode, s):
    """Whether every target object lies within SUCCESS_RADIUS of its goal and no robot holds it."""
    for i in range(2):
        d = 0.0
        for k in range(3):
            d += (s.thing[i, k] - episode.goal[i, k]) ** 2
        if d > SUCCESS_RADIUS**2 or is_held(s, i):
            return False
    return True


@kernel
def pay(s, rules, new, outcome):
    """Give every robot the step's reward, by named terms; the collision charge is not part of the paper's return."""
    success = rules.success if outcome == SUCCESS else 0.0
    subgoal = rules.subgoal * new
    charge = 0.0
    if outcome == COLLISION_END and rules.charge:
        left, g = rules.horizon - s.clock, rules.discount
        charge = rules.step * (g * (1.0 - g**left) / (1.0 - g) if g < 1.0 else float(left))
    reward = success + subgoal + rules.step + charge
    s.total += success + subgoal + rules.step
    for r in range(s.robots):
        s.terms[r, 0] += success
        s.terms[r, 1] += subgoal
        s.terms[r, 2] += rules.step
        s.terms[r, 3] += charge
        s.discounted[r] += s.factor[r] * reward
        s.factor[r] *= rules.discount
        s.duration[r] += 1


@kernel
def tick(world, s, rules):
    """One simulation step of a home: act, move, apply skills, reward, interrupt. Returns the outcome, 0 if it goes on."""
    robots = s.robots
    arrived = 0
    for r in range(robots):
        if s.action[r] == MUST_DECIDE and not s.controllable[r]:
            begin(world, s, r, next_of_plan(world, s, r))
        if s.action[r] != MUST_DECIDE and not paused(s, r) and move(world, s, rules, r):
            arrived |= 1 << r
    new = effects(world, s)
    slot = s.clock % WINDOW
    s.clock += 1
    for r in range(robots):
        carry(s, r)
        move_arm(s, r)
        s.window[r, slot, 0] = s.pose[r, 0]
        s.window[r, slot, 1] = s.pose[r, 1]
        s.window[r, slot, 2] = s.executed[r]
        s.elapsed[r] += 1
        if s.action[r] != MUST_DECIDE and finished(s, r, (arrived >> r) & 1 == 1):
            s.action[r] = MUST_DECIDE
        if s.script[r] >= FIRST:
            after_step(world, s, r)
    return end_step(world, s, rules, new)


@kernel
def end_step(world, s, rules, new):
    """How a step ends after all robots have moved and acted, under skills and low-level control alike: who is interrupted,
    whether the episode is over, what is paid. new: sub-goals achieved in it. Returns the outcome, 0 if the episode goes on."""
    outcome, touched, robots = 0, False, s.robots
    for r in range(robots):
        distance = nearest_partner(s, r, robots)
        if distance < COLLISION:
            touched = True
        if s.level[r] > 0 or distance < rules.farthest:
            interrupt(s, rules, r, distance)
    if touched:
        outcome = COLLISION_END
    if outcome == 0 and task_is_done(world.episodes[s.episode], s):
        outcome = SUCCESS
    if outcome == 0 and s.clock >= rules.horizon:
        outcome = TIMEOUT
    pay(s, rules, new, outcome)
    return outcome


@kernel
def somebody_waits(s):
    """Whether a robot of a home needs a decision from outside."""
    for r in range(s.robots):
        if s.controllable[r] and s.action[r] == MUST_DECIDE:
            return True
    return False


@kernel
def advance(shares, thread, world, state, ended, rules, actions, trace, traced, told, max_ticks, stored, autoreset):
    """A thread's homes: start the given actions, then tick each home until a robot must decide or the episode ends.

    trace [E, T] TRACE receives every step of this call as far as there is room, traced [E] how many there were.
    """
    low, high = take(shares, thread)
    while low < high:
        for e in range(low, high):
            s = state[e]
            s.outcome, traced[e] = 0, 0
            if s.over:
                continue
            for r in range(s.robots):
                if s.controllable[r] and s.action[r] == MUST_DECIDE and actions[e, r] >= 0:
                    begin(world, s, r, actions[e, r])
            ticks = 0
            while True:
                outcome = tick(world, s, rules)
                if ticks < trace.shape[1]:
                    note(s, trace[e, ticks])
                ticks += 1
                traced[e] = ticks
                if outcome > 0:
                    finish(world, s, ended[e], outcome, rules, stored, autoreset)
                    break
                if somebody_waits(s) or ticks == max_ticks:
                    break
        tell(state, low, high, told)
        low, high = take(shares, thread)


@kernel
def tell(state, low, high, told):
    """Homes low..high after a call: who must decide [E, R], reward since the last decision [E, R], episode over [E]."""
    decide, reward, done = told
    for e in range(low, high):
        s = state[e]
        done[e] = s.outcome != 0
        for r in range(s.robots):
            decide[e, r] = s.controllable[r] and s.action[r] == MUST_DECIDE and not s.over
            reward[e, r] = s.terms[r].sum()


@kernel
def note(s, row):
    """One row of a trace: the home after a step."""
    row.clock = s.clock
    for box in range(3):
        row.door[box] = s.door[box]
    for r in range(s.robots):
        row.executed[r], row.held[r] = s.executed[r], s.held[r]
        for k in range(3):
            row.pose[r, k] = s.pose[r, k]
    for i in range(2):
        for k in range(3):
            row.thing[i, k] = s.thing[i, k]


@kernel
def finish(world, s, end, outcome, rules, stored, autoreset):
    """Write down how a home's episode ended, close every running decision and, with autoreset, begin the next episode."""
    s.outcome = outcome
    end.episode, end.outcome, end.steps, end.total = s.episode, outcome, s.clock, s.total
    for k in range(s.done_by.size):
        end.done_by[k] = s.done_by[k]
    for r in range(s.robots):
        end.idle[r], end.travelled[r] = s.idle[r], s.travelled[r]
        for k in range(WINDOW):
            for j in range(3):
                end.window[r, k, j] = s.window[r, k, j]
        s.action[r] = MUST_DECIDE
    if autoreset:
        reset(world, s, rules, stored)
    else:
        s.over = True


@kernel
def reset_all(world, state, rules, which, stored):
    """Reset every home of a mask [E]."""
    for e in range(which.shape[0]):
        if which[e]:
            state[e].outcome = 0
            reset(world, state[e], rules, stored)
