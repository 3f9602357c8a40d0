"""The look-ahead of a robot as JSON for the page: live, or computed again from a recording.

Playing a recording again is exact, and a look-ahead draws nothing, so a recording need only say what its policies decided
and how likely they found everything.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from housemates.homes.home import Home
from housemates.lookahead.explain import Candidate, Explainer, Explanation
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead, titled
from housemates.recordings.recording import GIVEN, SCRIPTED, UNKNOWN, Recording, batch_of
from housemates.sim.batch import Batch
from housemates.web.validation import check_in_home

STRAIGHT = 0.01
"""Metres: a point of a path that lies nearer to the line between its neighbours is left out."""
KEPT = 4
"""Recordings whose look-aheads stay in memory."""
LEAST = 1e-9
"""Probability that stands for zero where a logarithm is needed."""


def in_json(found: Explanation, tick: int, robot: int, title: str, acts: bool) -> dict[str, Any]:
    """One decision as the page gets it. acts: the robot does what its look-ahead says; else it only would."""
    others = [c for c in found.others if found.chosen is None or c.parts != found.chosen.parts]
    return {
        "tick": tick,
        "robot": robot,
        "title": title,
        "acts": acts,
        "became": found.became,
        "reason": found.reason,
        "wanted": found.wanted,
        "action": found.action,
        "limit": found.limit,
        "partners": [
            {"robot": p, "probability": round(weight, 3), "points": _points(found.start[p], path)}
            for p, paths in found.partners.items()
            for weight, path in paths
        ],
        "own": _candidate(found.own, found.start[robot]),
        "chosen": _candidate(found.chosen, found.start[robot]),
        "others": [_candidate(c, found.start[robot]) for c in others],
    }


def _candidate(found: Candidate | None, start: np.ndarray) -> dict[str, Any] | None:
    if found is None:
        return None
    touches = found.contact >= 0
    return {
        "parts": [list(part) for part in found.parts],
        "points": _points(start, found.path),
        "risk": round(found.risk, 3),
        "contact": found.contact + 1 if touches else None,
        "at": found.path[found.contact].round(2).tolist() if touches else None,
    }


def _points(start: np.ndarray, path: np.ndarray) -> list[list[float]]:
    """The corners of a path [H, 2] from where the robot is, metres to the centimetre."""
    points = [start, *path]
    kept = [points[0]]
    for here, after in zip(points[1:], [*points[2:], None], strict=True):
        if after is not None and _off_line(here, kept[-1], after) < STRAIGHT and _between(here, kept[-1], after):
            continue
        if np.abs(here - kept[-1]).max() > STRAIGHT / 2:
            kept.append(here)
    return [[round(float(x), 2), round(float(z), 2)] for x, z in kept]


def _off_line(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Metres from a point to the line through a and b."""
    along = b - a
    length = float(np.hypot(*along))
    if length < 1e-9:
        return float(np.hypot(*(point - a)))
    return abs(float(along[0] * (point[1] - a[1]) - along[1] * (point[0] - a[0]))) / length


def _between(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
    """Whether one comes past a point on the way from a to b."""
    return float(np.dot(point - a, b - point)) >= -1e-9


class Watcher:
    """Explains the decisions of one robot of a batch of one home, as they are taken."""

    def __init__(self, batch: Batch, robot: int, planner: Planner | None = None) -> None:
        """planner: of a robot that looks ahead; without one it is told what the usual look-ahead would do."""
        self.robot, self.acts = robot, planner is not None
        self.planner = planner or Planner(batch, LookAhead())
        self._explainer = Explainer(self.planner)

    def tell(
        self,
        tick: int,
        logits: np.ndarray,
        wanted: int,
        decided: np.ndarray,
        plans: np.ndarray | None = None,
        memory: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """One decision as JSON; plans: what everybody held on to before it, by default what they hold on to now."""
        plans = self.planner.plans if plans is None else plans
        if not self.acts:
            # What it would do is never done, so there is nothing to hold on to.
            plans = np.zeros_like(plans)
        found = self._explainer.explain(self.robot, logits, wanted, decided, plans, memory)
        return in_json(found, tick, self.robot, self.planner.ahead.title, self.acts)


def offered(ahead: LookAhead | None) -> dict[str, Any]:
    """What the page is told of a robot's look-ahead before it asks for it; None: the robot has none, the usual one is tried."""
    return {"title": (ahead or LookAhead()).title, "acts": ahead is not None}


def offered_of(recording: Recording) -> list[dict[str, Any] | None]:
    """As `offered` for each robot of a recording; None for those that no policy moved, or whose look-ahead it does not hold."""
    found: list[dict[str, Any] | None] = []
    for robot, name in enumerate(recording.header["robots"]):
        ahead = titled(name)[1]
        known = len(_known(recording, robot, ahead is not None)) > 0
        # A theory of mind reads the policy's memory, which no recording has.
        found.append(offered(ahead) if known and (ahead is None or ahead.variant != "mind") else None)
    return found


def _known(recording: Recording, robot: int, acts: bool) -> np.ndarray:
    """Numbers of the decisions of a robot whose policy is known well enough to look ahead again."""
    found = recording.decisions
    mine = (found["robot"] == robot) & (found["source"] == GIVEN) & np.isfinite(recording.probabilities).all(axis=1)
    return np.flatnonzero(mine & (recording.wanted != UNKNOWN) if acts else mine)


def look_again(recording: Recording, home: Home, robot: int) -> list[dict[str, Any]]:
    """The look-ahead of a robot at all decisions of a recording at which it is known, as JSON; see `offered_of`.

    Decisions that come out differently here (another version made the recording) are left out.
    """
    check_in_home(recording, home)
    ahead = titled(recording.header["robots"][robot])[1]
    batch = batch_of(recording, home)
    batch.state.controllable[:] = True
    watcher = Watcher(batch, robot, None if ahead is None else Planner(batch, ahead))
    known, number, found = set(_known(recording, robot, ahead is not None).tolist()), 0, []
    for tick, taken in recording.by_step(recording.steps):
        decided = np.full((1, recording.robots), UNKNOWN)
        for k, decision in enumerate(taken, number):
            planned = decision["source"] == SCRIPTED
            decided[0, decision["robot"]] = decision["action"] if planned else recording.wanted[k]
        for k in range(number, number + len(taken)):
            if k in known:
                told = _once_more(recording, watcher, tick, k, decided)
                found += [told] if told is not None else []
        for decision in taken:
            batch.assign(0, int(decision["robot"]), int(decision["action"]))
        number += len(taken)
        batch.tick()
    return found


def _once_more(recording: Recording, watcher: Watcher, tick: int, k: int, decided: np.ndarray) -> dict[str, Any] | None:
    """Decision k of a recording; its planner goes on as it did. None if it comes out differently."""
    logits = np.log(np.maximum(recording.probabilities[k].astype(float), LEAST))
    action, robot = int(recording.decisions["action"][k]), watcher.robot
    wanted = int(decided[0, robot]) if watcher.acts else action
    told = watcher.tell(tick, logits, wanted, decided)
    if not watcher.acts:
        return told
    done = watcher.planner.revise(np.array([robot]), logits[None], np.array([wanted]), decided)
    if int(done[0]) == action:
        return told
    watcher.planner.forget()
    return None


class LookAheads:
    """The look-aheads of the recordings that are looked at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, int], list[dict[str, Any]]] = OrderedDict()

    def of(self, name: str, recording: Recording, home: Home, robot: int) -> list[dict[str, Any]]:
        """As `look_again`, kept for the recordings that were asked for last. name: of the recording."""
        key = name, robot
        with self._lock:
            if key not in self._found:
                self._found[key] = look_again(recording, home, robot)
            self._found.move_to_end(key)
            while len(self._found) > KEPT:
                self._found.popitem(last=False)
            return self._found[key]
