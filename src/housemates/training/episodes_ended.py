"""What happens in homes whose episode has ended: it is noted, the next team takes over, scripts get their robots."""

from __future__ import annotations

import numpy as np

from housemates.sim.batch import Batch
from housemates.sim.state import kernel

NAMES = ("home", "player", "latent", "partner", "outcome", "steps", "total", "subgoals", "disturbed")
"""What is noted of an episode, see `Finished`."""


@kernel
def note_ends(done, ended, who, kind, at, out):
    """One row for each home of done [E] bool into the arrays out (NAMES) from row `at` on; returns the row after the last.

    ended [E] ENDED records; who: player, latent, partner and learns [E, R] of the episode; kind [E, R] of disturbance.
    """
    home, players, latents, partners, outcome, steps, total, subgoals, disturbed = out
    player, latent, partner, learns = who
    for e in range(done.size):
        if not done[e]:
            continue
        end = ended[e]
        home[at], outcome[at], steps[at], total[at] = e, end.outcome, end.steps, end.total
        disturbed[at] = 0
        for r in range(player.shape[1]):
            players[at, r], latents[at, r], partners[at, r] = player[e, r], latent[e, r], partner[e, r]
            disturbed[at] = max(disturbed[at], kind[e, r])
        subgoals[at, 0] = subgoals[at, 1] = 0
        for k in range(end.done_by.size):
            by = end.done_by[k]
            if by >= 0:
                subgoals[at, 0] += 1
                subgoals[at, 1] += learns[e, by]
        at += 1
    return at


class Finished:
    """Episodes that ended during a rollout, one row each."""

    def __init__(self, robots: int) -> None:
        kinds = (np.int64, np.int16, np.int64, np.int64, np.int8, np.int32, np.float64, np.int64, np.int8)
        shapes = {"player": (robots,), "latent": (robots,), "partner": (robots,), "subgoals": (2,)}
        self.count = 0
        self._rows = {name: np.zeros((0, *shapes.get(name, ())), kind) for name, kind in zip(NAMES, kinds, strict=True)}

    def add(self, batch: Batch, done: np.ndarray, who: tuple[np.ndarray, ...], kind: np.ndarray) -> None:
        """Note the homes [E] bool whose episode has just ended; who: player, latent, partner and learns [E, R] that played it;
        kind [E, R] int8: KINDS index of each robot's disturbance."""
        if self.count + len(done) > len(self._rows["home"]):
            for name, old in self._rows.items():
                self._rows[name] = np.concatenate([old, np.zeros((max(len(old), len(done)), *old.shape[1:]), old.dtype)])
        self.count = note_ends(done, batch.ended_records, who, kind, self.count, tuple(self._rows.values()))

    def arrays(self) -> dict[str, np.ndarray]:
        """All rows as arrays by name: home [n], player, latent and partner [n, R] (who moved the robots, see `Slots`), outcome,
        steps and total [n], subgoals [n, 2] (achieved, and those of them achieved by robots that learn), disturbed [n] (the
        largest KINDS index among the robots: 0 if none was disturbed)."""
        return {name: rows[: self.count].copy() for name, rows in self._rows.items()}


@kernel
def next_team(done, games, played, keeps, slots, pending):
    """Other players take over in the homes of done [E] bool whose team has played all its games; elsewhere learners keep [E, R]
    their memory. played [E]: episodes of each home's team; slots, pending: the arrays [E, R] of `Slots`, in its order."""
    player, latent, learns, script, disturbed, partner = slots
    players, latents, learning, scripts, disturbances, partners = pending
    for e in range(done.size):
        if not done[e]:
            continue
        played[e] += 1
        over = played[e] >= games
        if over:
            played[e] = 0
        for r in range(player.shape[1]):
            if over:
                player[e, r], latent[e, r], learns[e, r] = players[e, r], latents[e, r], learning[e, r]
                script[e, r], disturbed[e, r], partner[e, r] = scripts[e, r], disturbances[e, r], partners[e, r]
            keeps[e, r] = learns[e, r] and not over


@kernel
def hand_over(homes, nobody, player, script, disturbed, free, state, changed):
    """Hand robots over to the simulator's scripts and back, in homes [E] bool whose episode has just begun; changed [E] bool
    are those in which a plan must be chosen, so that they must begin once more. Returns how many.

    player, script, disturbed [E, R]: `nobody` moves what a script does; free: whether interruptions are not somebody else's.
    """
    count = 0
    for e in range(homes.size):
        changed[e] = False
        if not homes[e]:
            continue
        s = state[e]
        for r in range(player.shape[1]):
            scripted = player[e, r] == nobody
            wanted = script[e, r] if scripted else -1
            present = -1 if s.controllable[r] else s.script[r]
            if wanted != present or scripted == (s.controllable[r] != 0):
                changed[e] = True
        for r in range(player.shape[1]):
            scripted = player[e, r] == nobody
            if free or changed[e]:
                s.interruptible[r] = not scripted and disturbed[e, r] == 0
            if changed[e]:
                s.controllable[r] = not scripted
                s.script[r] = script[e, r] if scripted else -1
        count += changed[e]
    return count
