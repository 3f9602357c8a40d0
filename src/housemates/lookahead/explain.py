"""Why a robot that looks ahead did what it did: the paths it expected of its partners, and what became of its candidates.

For whoever watches; nothing here changes a decision. The same kernels compute it as in `search`, from the same state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from housemates.lookahead.model import MANOEUVRES, PLAN, go_on, own_action, own_path
from housemates.lookahead.predict import PATHS, predict
from housemates.lookahead.search import CHANGED, HELD, NOT_CHECKED, OWN, Planner, candidate, danger
from housemates.lookahead.wishes import goal_of, intended
from housemates.sim.state import MOST_ROBOTS
from housemates.tasks.actions import ACTIONS, NO_OP

WORDS = {OWN: "own", HELD: "held", CHANGED: "changed", NOT_CHECKED: "unchecked"}
"""What became of a decision, in words."""
CANDIDATES = len(ACTIONS) + 2 * len(MANOEUVRES)
REASONS = ("contact", "unlikely", "detour", "waiting")
"""Why a decision was replaced: it might end in contact, the policy itself finds it unlikely, it leads to furniture that has
nothing to do with the task, or the robot would stay where it is though it may go to its work."""
LEFT_OUT = -2
"""Instead of a step: a candidate that leaves the robot where another one does."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to go on, tried out in the model."""

    parts: tuple[tuple[int, int], ...]
    """(action, how many decisions) one after the other; 0 decisions for a navigation: until it arrives."""
    path: np.ndarray
    """[H, 2] where the robot would be after each step, (x, z) in metres."""
    risk: float
    """Probability of a contact that no later decision can avoid."""
    contact: int
    """First step at which it may touch a partner, -1 if it never does."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """One decision of one robot, as its look-ahead saw it."""

    became: str
    """One of WORDS."""
    wanted: int
    """What the policy decided."""
    action: int
    """What the robot does."""
    start: np.ndarray
    """[R, 2] where all robots are, (x, z) in metres."""
    partners: dict[int, list[tuple[float, np.ndarray]]]
    """Probabilities and paths [H, 2] of every other robot; none if the decision was not checked."""
    own: Candidate | None
    """The policy's decision; None if it was not checked."""
    chosen: Candidate | None
    """What is done instead, or goes on; None if that is the policy's decision."""
    others: tuple[Candidate, ...]
    """All candidates that were compared; none where no search was needed."""
    limit: float
    """Risk from which on a decision counts as dangerous."""
    reason: str = ""
    """One of REASONS where a decision was replaced, else empty."""


@njit(cache=True, nogil=True)
def expected_paths(world, s, c, rules, r, variant, decided, going, paths, weights, counts):
    """What robot r expects of all others: paths [R, PATHS, H, 2], weights [R, PATHS] and counts [R]."""
    for p in range(s.robots):
        if p != r:
            counts[p] = predict(world, s, c, rules, p, variant, decided[p], going[p], paths[p], weights[p])


@njit(cache=True, nogil=True)
def fate_of(world, s, c, rules, r, ahead, plan, paths, weights, counts, own):
    """Path own [H, 2] of robot r that carries out a plan, and (risk, first step of a contact) against the paths of others."""
    driving = own_path(world, s, c, rules, r, plan, own)
    risk, _, soonest, _ = danger(s, rules, own, driving, ahead, paths, weights, counts, r)
    return risk, soonest


@njit(cache=True, nogil=True)
def fates(world, s, c, rules, r, ahead, logits, wanted, paths, weights, counts, plans, owns, risks, contacts):
    """All candidates of robot r: plans [K] PLAN, paths owns [K, H, 2], risks [K] and contacts [K], LEFT_OUT for repetitions."""
    goal = goal_of(world, s, r, ahead, logits, intended(world, s, r, ahead, logits, wanted))
    for k in range(plans.shape[0]):
        if candidate(k, logits.shape[0], goal, plans[k]):
            risks[k], contacts[k] = fate_of(world, s, c, rules, r, ahead, plans[k], paths, weights, counts, owns[k])
        else:
            contacts[k] = LEFT_OUT


class Explainer:
    """Explains decisions of a batch's robots; ask before the planner revises them, from the same state."""

    def __init__(self, planner: Planner) -> None:
        self.planner, ahead = planner, planner.ahead
        self._paths = np.zeros((MOST_ROBOTS, PATHS, ahead.horizon, 2))
        self._weights, self._counts = np.zeros((MOST_ROBOTS, PATHS)), np.zeros(MOST_ROBOTS, np.int64)
        self._scratch = np.zeros(1, planner.batch.records.dtype)

    def explain(
        self,
        row: int,
        logits: np.ndarray,
        wanted: int,
        decided: np.ndarray,
        plans: np.ndarray,
        memory: np.ndarray | None = None,
    ) -> Explanation:
        """The decision `wanted` of robot row of [E * R]; logits [25], decided [E, R] and memory [1, M] as `Planner.revise` gets
        them; plans [E, R]: what everybody held on to before it (`Planner.plans`), which stays as it is."""
        planner, batch = self.planner, self.planner.batch
        e, r = divmod(row, batch.robots)
        rows, seen = np.array([row]), np.ascontiguousarray(logits, np.float64)
        going = planner.expected_by_mind(rows, memory)
        action, told, plan = planner.try_out(row, seen, wanted, decided, going, plans)
        start = np.array(batch.records[e]["pose"][: batch.robots, :2], float)
        reason = self._reason(e, r, seen, wanted, action, bool(plan["held"][0])) if told == CHANGED else ""
        if told == NOT_CHECKED:
            return Explanation(WORDS[told], wanted, action, start, {}, None, None, (), planner.ahead.risk)
        s, c, world, rules = batch.records[e], self._scratch, batch.world, batch.numbers
        c[0] = s
        expected_paths(
            world, s, c[0], rules, r, planner.settings.variant, np.ascontiguousarray(decided[e], np.int64), going[0],
            self._paths, self._weights, self._counts,
        )  # fmt: skip
        partners = {p: self._expected(p) for p in range(batch.robots) if p != r}
        own = np.zeros(1, PLAN)
        own_action(own[0], wanted)
        found, chosen = (), None
        if told == HELD:
            chosen = self._candidate(e, r, plans[e, r : r + 1].copy())
        elif told == CHANGED and plan["held"][0]:
            tried, found = self._all(e, r, seen, wanted)
            # The plan as it was before its first decision was taken.
            best = next(k for k in range(CANDIDATES) if _begun(tried[k], plan[0]))
            chosen = self._candidate(e, r, tried[best : best + 1])
        elif told == CHANGED:
            instead = np.zeros(1, PLAN)
            own_action(instead[0], action)
            chosen = self._candidate(e, r, instead)
        mine = self._candidate(e, r, own)
        return Explanation(WORDS[told], wanted, action, start, partners, mine, chosen, found, planner.ahead.risk, reason)

    def _reason(self, e: int, r: int, logits: np.ndarray, wanted: int, action: int, evades: bool) -> str:
        """Why `action` replaces the decision `wanted`; evades: it begins a plan that was searched for."""
        batch, ahead = self.planner.batch, self.planner.ahead
        if evades:
            return "contact"
        if action != intended(batch.world, batch.records[e], r, self.planner.settings, logits, wanted):
            return "waiting"
        unlikely = ahead.min_p > 0 and logits[wanted] < logits.max() + np.log(ahead.min_p)
        return "unlikely" if unlikely and action == int(np.argmax(logits)) else "detour"

    def _expected(self, p: int) -> list[tuple[float, np.ndarray]]:
        return [(float(self._weights[p, k]), self._paths[p, k].copy()) for k in range(self._counts[p])]

    def _candidate(self, e: int, r: int, plan: np.ndarray) -> Candidate:
        """One plan [1] PLAN, tried out."""
        batch, own = self.planner.batch, np.zeros((self.planner.ahead.horizon, 2))
        risk, contact = fate_of(
            batch.world, batch.records[e], self._scratch[0], batch.numbers, r, self.planner.settings, plan[0],
            self._paths, self._weights, self._counts, own,
        )  # fmt: skip
        return Candidate(parts_of(plan[0]), own, float(risk), int(contact) if contact < len(own) else -1)

    def _all(self, e: int, r: int, logits: np.ndarray, wanted: int) -> tuple[np.ndarray, tuple[Candidate, ...]]:
        """All plans [CANDIDATES] that are compared in a search, and the paths and fates of those that differ."""
        batch, horizon = self.planner.batch, self.planner.ahead.horizon
        plans, owns = np.zeros(CANDIDATES, PLAN), np.zeros((CANDIDATES, horizon, 2))
        risks, contacts = np.zeros(CANDIDATES), np.zeros(CANDIDATES, np.int64)
        fates(
            batch.world, batch.records[e], self._scratch[0], batch.numbers, r, self.planner.settings, logits, wanted,
            self._paths, self._weights, self._counts, plans, owns, risks, contacts,
        )  # fmt: skip
        return plans, tuple(
            Candidate(parts_of(plans[k]), owns[k], float(risks[k]), int(contacts[k]) if contacts[k] < horizon else -1)
            for k in range(CANDIDATES)
            if contacts[k] != LEFT_OUT
        )


def parts_of(plan: np.void) -> tuple[tuple[int, int], ...]:
    """What a PLAN consists of: (action, how many decisions), 0 for a navigation until it arrives."""
    pairs = ((plan["first"], plan["first_steps"]), (plan["second"], plan["second_steps"]))
    last = [(int(plan["last"]), 0)] if plan["last"] != NO_OP else []
    return (*((int(action), int(steps)) for action, steps in pairs if steps > 0), *last)


def _begun(tried: np.void, plan: np.void) -> bool:
    """Whether a plan is the candidate `tried` after its first decision."""
    begun = np.array([tried])
    go_on(begun[0])
    return all(begun[0][name] == plan[name] for name in PLAN.names or () if name != "held")
