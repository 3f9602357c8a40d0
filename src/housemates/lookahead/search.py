"""Look-ahead for many robots: decisions that lose time, or would end in a collision, are replaced."""

from __future__ import annotations

import numpy as np
from numba import njit

from housemates.lookahead.mind import TRAIN, Mind, expect
from housemates.lookahead.model import (
    AS_SKILL,
    BY_STEPS,
    MANOEUVRES,
    ONLY_THOUGHT,
    PLAN,
    fate,
    go_on,
    next_action,
    own_action,
    own_path,
    primitive_of,
    set_plan,
    way_left,
)
from housemates.lookahead.predict import PATHS, predict
from housemates.lookahead.settings import VERSION, LookAhead, settings
from housemates.lookahead.wishes import SHORT, eagerness, goal_of, intended, way_to, wished, works
from housemates.sim.batch import Batch
from housemates.sim.rules import ARRIVE, COLLISION
from housemates.sim.state import MOST_ROBOTS
from housemates.tasks.actions import NO_OP, PICK

HIT, LATER = 20.0, 0.98
"""Cost of a collision, and by how much it falls with each step until then: what is far off can still be avoided."""
ROOM = 2.0
"""Cost of each metre that the clearance around a partner lacks."""
WAY = 0.25
"""Cost of each metre that is left, at the end of the horizon, to the work that the policy likes best."""
UNLIKE = 0.1
"""Cost of each nat by which a decision is less likely than the policy's likeliest, up to UNLIKE_MOST."""
UNLIKE_MOST = 5.0
SOON = 4
"""Steps: a skill that works now is used unless a collision comes sooner than this."""
LONGEST = 60
"""Decisions after which a plan ends at the latest."""
OWN, HELD, CHANGED = 0, 1, 2
"""What became of a decision that was checked: as the policy wanted, a plan goes on, a new plan."""
NOT_CHECKED = -1


@njit(cache=True, nogil=True)
def danger(s, rules, own, driving, ahead, paths, weights, counts, r):
    """Probability that a path own [H, 2] of robot r touches a partner before it can do anything else about it, what contact and
    too little room cost, the first step at which it may happen, and where the robot stops if everybody does what is likeliest.

    driving: step at which the path becomes a navigation; before that the robot decides at every step. Contact is left to the
    next decision where that comes at least `react` steps before it.
    """
    risk, cost, soonest, end = 0.0, 0.0, own.shape[0], own.shape[0] - 1
    robots, level = s.robots, int(s.level[r])
    for p in range(robots):
        if p == r:
            continue
        likeliest = int(np.argmax(weights[p, : counts[p]]))
        for k in range(counts[p]):
            hit, least, stop, cut = fate(own, paths[p, k], COLLISION + ahead.margin, rules, level, driving, stands(paths[p, k]))
            if k == likeliest:
                end = min(end, stop)
            cost += weights[p, k] * ROOM * max(ahead.clearance - least, 0.0)
            if hit < own.shape[0]:
                decides = cut if driving == 0 else 1
                risk += weights[p, k] if hit - decides < ahead.react else 0.0
                cost += weights[p, k] * HIT * LATER**hit
                soonest = min(soonest, hit)
    return risk, cost, soonest, end


@njit(cache=True, nogil=True)
def stands(path):
    """Whether a path [H, 2] does not move."""
    for t in range(1, path.shape[0]):
        if abs(path[t, 0] - path[0, 0]) + abs(path[t, 1] - path[0, 1]) > 1e-9:
            return False
    return True


@njit(cache=True, nogil=True)
def is_near(s, r, metres):
    """Whether any other robot is nearer to robot r than so many metres."""
    for p in range(s.robots):
        if p != r and (s.pose[p, 0] - s.pose[r, 0]) ** 2 + (s.pose[p, 1] - s.pose[r, 1]) ** 2 < metres * metres:
            return True
    return False


@njit(cache=True, nogil=True)
def is_done(world, s, r, plan):
    """Whether a plan has nothing left to do."""
    action = next_action(plan)
    if action < 0 or plan.age >= LONGEST:
        return True
    if action < PICK and plan.to_the_end == AS_SKILL and s.destination[r] >= 0 and plan.age > 0:
        goal = world.homes[s.home].cell_start + world.approach_cell[world.homes[s.home].approach_start + s.destination[r]]
        dx, dz = world.cell_xz[goal, 0] - s.pose[r, 0], world.cell_xz[goal, 1] - s.pose[r, 1]
        return dx * dx + dz * dz <= ARRIVE * ARRIVE
    return False


@njit(cache=True, nogil=True)
def carry_on(world, s, c, rules, r, plan):
    """The next decision of a plan."""
    action = next_action(plan)
    go_on(plan)
    if action < PICK and plan.to_the_end == BY_STEPS:
        return primitive_of(world, s, c, rules, r, action)
    return action


@njit(cache=True, nogil=True)
def may_go(world, s, c, rules, r, ahead, logits, limit, paths, weights, counts, own, trial):
    """Whether a robot that would wait may as well go to its work: its policy likes that less than its favourite decision by
    fewer than `limit` nats, there is some way to go, and it is safe."""
    goal = wished(world, s, r, logits)
    if logits.max() - logits[goal] >= limit or way_to(world, s, r, goal) < SHORT:
        return False
    own_action(trial[0], goal)
    driving = own_path(world, s, c, rules, r, trial[0], own)
    return danger(s, rules, own, driving, ahead, paths, weights, counts, r)[0] <= ahead.risk


@njit(cache=True, nogil=True)
def candidate(k, actions, goal, trial):
    """Fill PLAN trial with candidate k: one of the `actions` decisions, then manoeuvres after which the robot goes on to the
    navigation `goal`, or stands. False for a skill of one step that leaves the robot where another one does."""
    if k < actions:
        own_action(trial, k)
        if k < PICK and k != goal:
            trial.to_the_end = BY_STEPS
    else:
        row = MANOEUVRES[(k - actions) // 2]
        set_plan(trial, row[0], row[1], row[2], row[3], goal if (k - actions) % 2 == 0 else NO_OP, ONLY_THOUGHT)
    return not PICK < k <= NO_OP


@njit(cache=True, nogil=True)
def best_plan(world, s, c, rules, r, ahead, logits, goal, paths, weights, counts, own, trial, best):
    """The cheapest of all candidates into best [1] PLAN: the 25 decisions, and manoeuvres after which the robot stands or goes
    on to the navigation `goal`. Returns what it costs."""
    highest, lowest = logits.max(), np.inf
    actions, cost, end = logits.shape[0], 0.0, 0
    for k in range(actions + 2 * MANOEUVRES.shape[0]):
        extra = UNLIKE * min(highest - logits[k], UNLIKE_MOST) if k < actions else UNLIKE * UNLIKE_MOST
        if candidate(k, actions, goal, trial):
            # All skills of one step leave the robot where it is, as the first of them does.
            driving = own_path(world, s, c, rules, r, trial, own)
            _, cost, _, end = danger(s, rules, own, driving, ahead, paths, weights, counts, r)
            if cost < lowest:
                cost += WAY * way_left(world, s, own, end, goal)
        if cost + extra < lowest:
            lowest = cost + extra
            best[0] = trial
    return lowest


@njit(cache=True, nogil=True)
def look(world, s, c, rules, r, ahead, logits, wanted, decided, going, plan, room):
    """What robot r of a home does instead of the decision `wanted`: (action, what became of it).

    plan: its PLAN, which is read and written; decided [R]: what all robots have just decided; going [R, 15]:
    where a theory of mind says that they go, for that variant; room: arrays of a `Planner`.
    """
    own, paths, weights, counts, trial, best = room
    if plan.held and is_done(world, s, r, plan):
        plan.held = 0
    asked, wanted = wanted, intended(world, s, r, ahead, logits, wanted)
    unchanged = OWN if wanted == asked else CHANGED
    limit = eagerness(world, s, rules, r, ahead, wanted)
    near = is_near(s, r, ahead.near)
    if not near:
        plan.held = 0
        if limit == 0.0:
            return wanted, NOT_CHECKED if wanted == asked else CHANGED
    for p in range(s.robots):
        if p != r:
            counts[p] = predict(world, s, c, rules, p, ahead.variant, decided[p], going[p], paths[p], weights[p])
    own_action(trial[0], wanted)
    driving = own_path(world, s, c, rules, r, trial[0], own)
    risk, _, soonest, _ = danger(s, rules, own, driving, ahead, paths, weights, counts, r)
    useful = works(world, s, r, wanted) and soonest >= SOON
    if plan.held:
        driving = own_path(world, s, c, rules, r, plan, own)
        kept = danger(s, rules, own, driving, ahead, paths, weights, counts, r)[0]
        if kept <= ahead.risk and not useful and (plan.age < ahead.hold or risk > ahead.risk):
            return carry_on(world, s, c, rules, r, plan), HELD
        plan.held = 0
    if risk <= ahead.risk or useful or not near:
        if limit > 0.0 and may_go(world, s, c, rules, r, ahead, logits, limit, paths, weights, counts, own, trial):
            return wished(world, s, r, logits), CHANGED
        return wanted, unchanged
    goal = goal_of(world, s, r, ahead, logits, wanted)
    best_plan(world, s, c, rules, r, ahead, logits, goal, paths, weights, counts, own, trial[0], best)
    chosen = best[0]
    set_plan(plan, chosen.first, chosen.first_steps, chosen.second, chosen.second_steps, chosen.last, chosen.to_the_end)
    plan.held = 1
    return carry_on(world, s, c, rules, r, plan), CHANGED


@njit(cache=True, nogil=True)
def look_all(world, state, scratch, rules, ahead, rows, logits, wanted, decided, going, plans, room, out, told):
    """`look` for robots rows [n] of [E * R] with logits [n, 25] and decisions wanted [n]; decided [E, R] of everybody;
    going: [n, R, 15], or [1, R, 15] where it is not used.

    Writes actions into out [n] and what became of them into told [n] (OWN, HELD, CHANGED, NOT_CHECKED).
    """
    robots = decided.shape[1]
    for n in range(rows.shape[0]):
        e, r = rows[n] // robots, rows[n] % robots
        s, plan = state[e], plans[e, r]
        if s.clock == 0:
            plan.held = 0
        scratch[0] = s
        mine = going[min(n, going.shape[0] - 1)]
        out[n], told[n] = look(world, s, scratch[0], rules, r, ahead, logits[n], wanted[n], decided[e], mine, plan, room)


class Planner:
    """The look-ahead of robots of a batch; it remembers which plans they are carrying out."""

    def __init__(self, batch: Batch, ahead: LookAhead, mind: Mind | None = None) -> None:
        """mind: of the agent that looks ahead, for the variant of that name."""
        if (ahead.variant == "mind") != (mind is not None):
            raise ValueError(f"look-ahead '{ahead.variant}' {'without' if mind is None else 'with'} a theory of mind - {TRAIN}")
        self.batch, self.ahead, self.settings, self.mind = batch, ahead, settings(ahead), mind
        self.plans = np.zeros((batch.size, batch.robots), PLAN)
        """[E, R] what each robot holds on to."""
        self.counts = np.zeros(4, np.int64)
        """How many decisions stayed as they were wanted, went on with a plan, were changed, and were not checked."""
        self._scratch = np.zeros(1, batch.records.dtype)
        self._room = (
            np.zeros((ahead.horizon, 2)),
            np.zeros((MOST_ROBOTS, PATHS, ahead.horizon, 2)),
            np.zeros((MOST_ROBOTS, PATHS)),
            np.zeros(MOST_ROBOTS, np.int64),
            np.zeros(1, PLAN),
            np.zeros(1, PLAN),
        )

    def revise(
        self, rows: np.ndarray, logits: np.ndarray, wanted: np.ndarray, decided: np.ndarray, memory: np.ndarray | None = None
    ) -> np.ndarray:
        """What robots rows [n] of [E * R] do instead of wanted [n], int64 [n].

        logits [n, 25]: how much their policies like every decision; decided [E, R]: what everybody has just decided, -1 for
        nothing; memory [n, M]: of their policies after the decision, for a theory of mind.
        """
        out, told = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        batch = self.batch
        look_all(
            batch.world, batch.records, self._scratch, batch.numbers, self.settings, rows.astype(np.int64),
            np.ascontiguousarray(logits, np.float64), wanted.astype(np.int64), np.ascontiguousarray(decided, np.int64),
            self.expected_by_mind(rows, memory), self.plans, self._room, out, told,
        )  # fmt: skip
        self.counts += np.bincount(np.where(told < 0, 3, told), minlength=4)
        return out

    def try_out(
        self, row: int, logits: np.ndarray, wanted: int, decided: np.ndarray, going: np.ndarray, plans: np.ndarray
    ) -> tuple[int, int, np.ndarray]:
        """What robot row of [E * R] would do if it held on to its plan of plans [E, R], what became of its decision, and its
        plan [1] afterwards; nothing is changed. Arguments as in `revise`, of one robot; going: see `expected_by_mind`."""
        e, r = divmod(row, self.batch.robots)
        batch, mine = self.batch, plans.copy()
        out, told = np.empty(1, np.int64), np.empty(1, np.int64)
        look_all(
            batch.world, batch.records, self._scratch, batch.numbers, self.settings, np.array([row]), logits[None],
            np.array([wanted]), np.ascontiguousarray(decided, np.int64), going, mine, self._room, out, told,
        )  # fmt: skip
        return int(out[0]), int(told[0]), mine[e, r : r + 1]

    def expected_by_mind(self, rows: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
        """Where the partners of robots rows [n] go, by the theory of mind: [n, R, 15]; [1, R, 15] without one."""
        robots, mind = self.batch.robots, self.mind
        going = np.zeros((1 if mind is None else len(rows), robots, PICK + 1))
        if mind is not None and memory is not None:
            seen = np.ascontiguousarray(memory, np.float64)
            batch, near = self.batch, self.ahead.near
            expect(batch.world, batch.records, robots, rows.astype(np.int64), seen, near, *mind.arrays, going)
        return going

    def forget(self) -> None:
        """Nobody holds on to anything."""
        self.plans[...] = np.zeros((), PLAN)

    def drop(self, rows: np.ndarray) -> None:
        """Robots rows [n] of [E * R] hold on to nothing."""
        self.plans.reshape(-1)[rows] = np.zeros((), PLAN)

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to continue exactly."""
        return {"plans": self.plans.view(np.uint8).copy(), "version": np.array([VERSION])}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        if "version" not in arrays or int(arrays["version"][0]) != VERSION:
            raise ValueError(
                "begun with another version of the look-ahead, which decides otherwise - train it again from the start"
            )
        self.plans.view(np.uint8)[...] = arrays["plans"]
