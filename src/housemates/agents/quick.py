"""`Actors.decide` in few calls, where every network decides by the fused kernels: nothing is gathered or put back.

All arrays have a row for each of the S = E * R robots of a batch, and kernels are told which rows to read and write. The bits
are those of `Actors.decide`, which does all that is not possible here: look-ahead, functions, networks of the torch path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from housemates.fused.policies import NO_PICTURES, NOTHING, Decided, FusedPolicies
from housemates.sim.sensors import blindfold
from housemates.sim.state import MUST_DECIDE, kernel

if TYPE_CHECKING:
    from housemates.agents.actors import ActorGroup, Actors, View


@kernel
def choose_rows(state, actor, line_of, group_of, lines, order, groups, rows, which):
    """The robots that must decide and are moved by an actor [E, R] of a line: which [E, R] bool, and their places among all
    robots in ascending order, by line into order [S] and by group into rows [S].

    line_of, group_of [A]: of each actor; lines [L + 1], groups [G + 1]: where each one's rows begin.
    """
    homes, robots = actor.shape
    lines[:] = 0
    groups[:] = 0
    for e in range(homes):
        s = state[e]
        for r in range(robots):
            who = actor[e, r]
            which[e, r] = who >= 0 and s.action[r] == MUST_DECIDE and s.controllable[r] and not s.over
            if which[e, r]:
                lines[line_of[who] + 1] += 1
                groups[group_of[who] + 1] += 1
    for k in range(lines.size - 1):
        lines[k + 1] += lines[k]
    for k in range(groups.size - 1):
        groups[k + 1] += groups[k]
    # Every row moves the beginning of its line to the next free place; at the end each is where the next one began.
    for e in range(homes):
        for r in range(robots):
            if which[e, r]:
                line, group = line_of[actor[e, r]], group_of[actor[e, r]]
                order[lines[line]] = rows[groups[group]] = e * robots + r
                lines[line] += 1
                groups[group] += 1
    for k in range(lines.size - 1, 0, -1):
        lines[k] = lines[k - 1]
    for k in range(groups.size - 1, 0, -1):
        groups[k] = groups[k - 1]
    lines[0] = groups[0] = 0


@kernel
def begin_rows(rows, state, keeps, latent, start, memory):
    """Before robots rows [n] decide: whether it is their first decision into start [S] bool, for which memory [S, M] becomes
    zero unless they keep [E, R] theirs; returns the smallest and largest of their latents [E, R]."""
    robots = keeps.shape[1]
    least, most = 0, 0
    for i in range(rows.size):
        row = rows[i]
        e, r = row // robots, row % robots
        start[row] = state[e].clock == 0 and not keeps[e, r]
        if start[row]:
            own = memory[row]
            for j in range(own.size):
                own[j] = 0.0
        least, most = min(least, latent[e, r]), max(most, latent[e, r])
    return least, most


@kernel
def take_columns(rows, source, first, out):
    """Rows of source [S, w] of any number type into the columns of out [S, W] from `first` on."""
    for i in range(rows.size):
        row, to = source[rows[i]], out[rows[i]]
        for j in range(row.size):
            to[first + j] = row[j]


@kernel
def end_rows(rows, action, after, memory, out):
    """After robots rows [n] have decided: memory [S, M] is that after the decision, out [E, R] has their actions [S]."""
    robots = out.shape[1]
    for i in range(rows.size):
        row = rows[i]
        own, new = memory[row], after[row]
        for j in range(own.size):
            own[j] = new[j]
        out[row // robots, row % robots] = action[row]


class Rows:
    """One group's part: its arrays, and the decisions of its robots `rows` [n] after each call of `QuickActors.decide`."""

    def __init__(self, group: ActorGroup, views: list[View], lines: tuple[int, int], streams: int) -> None:
        """lines: those of its policies, from and to."""
        if not isinstance(group.stacked, FusedPolicies):
            raise TypeError("only networks on the fused path decide so - use Actors.decide")
        self.group, self.views, self.lines, self.fused = group, views, lines, group.stacked
        sizes = self.fused.sizes
        self.rows = np.zeros(0, np.int64)
        self.start = np.zeros(streams, np.bool_)
        """[S], of decisions at the start of an episode, made without memory."""
        self.raw = np.zeros((streams, sizes.raw), np.float32)
        """[S, raw] vectors as the network takes them."""
        self.drawn = np.zeros(streams, np.float32)
        """[S] uniform numbers that choose the actions."""
        numbers = np.zeros(streams, np.int64), np.zeros(streams, np.float32), np.zeros(streams, np.float32)
        after, logits = np.zeros((streams, 2 * sizes.hidden), np.float32), np.zeros((streams, sizes.actions), np.float32)
        self.decided = Decided(*numbers, after, logits)
        """What the robots decided, [S] each; `memory` [S, M] after it."""
        self.no_latent = np.zeros(streams, np.int64)


class QuickActors:
    """Decides for all robots of a batch that must, as `Actors.decide` does with what the actors' own generators draw."""

    def __init__(self, actors: Actors) -> None:
        if not possible(actors):
            raise ValueError("not all actors decide by the fused kernels alone - use Actors.decide")
        self.actors = actors
        batch, streams = actors.batch, actors.batch.size * actors.batch.robots
        self.groups: list[Rows] = []
        self._line_of = np.zeros(len(actors.actors), np.int64)
        at = 0
        for number, group in enumerate(actors.groups):
            ends = at, at + len(group.policies)
            self.groups.append(Rows(group, actors.views_of(number), ends, streams))
            self._line_of[group.index] = at + actors.member_of[group.index]
            at = ends[1]
        self._group_of = np.ascontiguousarray(actors.group_of[:-1])
        self._lines, self._groups = np.zeros(at + 1, np.int64), np.zeros(len(self.groups) + 1, np.int64)
        self._order, self._rows = np.zeros(streams, np.int64), np.zeros(streams, np.int64)
        self._which = np.zeros((batch.size, batch.robots), np.bool_)
        seen = dict.fromkeys(view for part in self.groups for view in part.views)
        self._seen_by = {view: [part for part in self.groups if view in part.views] for view in seen}

    def decide(self, out: np.ndarray, keep: Callable[[Rows], None]) -> list[Rows]:
        """Let all robots of the batch that must decide do so, and write their actions into out [E, R]; returns the groups that
        were asked, in order. keep(group) is called when a group has decided and still has its memory from before."""
        actors, began = self.actors, self.actors.clock()
        batch = actors.batch
        choice = batch.records, actors.actor, self._line_of, self._group_of
        choose_rows(*choice, self._lines, self._order, self._groups, self._rows, self._which)
        ends = self._groups.tolist()
        for part, low, high in zip(self.groups, ends, ends[1:], strict=False):
            part.rows = self._rows[low:high]
        asked = [part for part in self.groups if len(part.rows)]
        blind = actors.blind.reshape(-1) if actors.blind.any() else None
        self._observe(asked)
        looked = actors.clock()
        lines = self._lines.tolist()
        for part in asked:
            self._act(part, lines, blind)
            keep(part)
            end_rows(part.rows, part.decided.action, part.decided.memory, part.group.memory.numpy(), out)
        actors.seconds["observation"] += looked - began
        actors.seconds["inference"] += actors.clock() - looked
        return asked

    def _observe(self, asked: list[Rows]) -> None:
        """Fill the buffers with all that the asked need."""
        wanted = {}
        for view, parts in self._seen_by.items():
            mine = [part for part in parts if part in asked]
            if len(mine) == len(asked):
                wanted[view] = self._which
            elif mine:
                some = np.zeros(self._which.size, np.bool_)
                for part in mine:
                    some[part.rows] = True
                wanted[view] = some.reshape(self._which.shape)
        self.actors.see(wanted)

    def _act(self, part: Rows, lines: list[int], blind: np.ndarray | None) -> None:
        """Decisions of one group; lines [L + 1]: where each policy's rows begin; blind [S] bool: who senses nobody."""
        actors, group, config, rows = self.actors, part.group, part.fused.config, part.rows
        least, most = begin_rows(rows, actors.batch.records, actors.keeps, actors.latent, part.start, group.memory.numpy())
        if config.latent and not 0 <= least <= most < config.latent:
            raise ValueError(f"latents from {least} to {most} - the policy has 0 to {config.latent - 1}")
        pictures, shown, at = NO_PICTURES, NOTHING, 0
        some = rows[:0] if blind is None else rows[blind[rows]]
        for view in part.views:
            values = actors.flat_buffer(view)
            if view.pixels:
                pictures = values.view(np.uint64)
                continue
            if len(some):
                hidden = values[some]
                blindfold(view.name, hidden, actors.batch.robots)
                values[some] = hidden
            if view.name == "privileged" and config.informed:
                shown = values
        for name in config.vectors:
            values = actors.flat_buffer(next(view for view in part.views if view.name == name))
            take_columns(rows, values, at, part.raw)
            at += values.shape[1]
        self._draw(part, lines)
        latents = actors.latent.reshape(-1) if config.latent else part.no_latent
        given = part.raw, pictures, part.fused.corners, shown, group.memory.numpy(), latents, part.drawn, False
        first, last = part.lines
        part.fused.decide_rows(self._order, self._lines[first : last + 1], given, part.decided)

    def _draw(self, part: Rows, lines: list[int]) -> None:
        """Uniform numbers for a group's robots, from the generators that the policies draw from elsewhere."""
        generators = part.group.generators
        if not part.group.apart:
            part.drawn[part.rows] = torch.rand(len(part.rows), generator=generators[0]).numpy()
            return
        for line, generator in zip(range(*part.lines), generators, strict=True):
            mine = self._order[lines[line] : lines[line + 1]]
            if len(mine):
                part.drawn[mine] = torch.rand(len(mine), generator=generator).numpy()


def possible(actors: Actors) -> bool:
    """Whether `QuickActors` decides what `Actors.decide` would: all by fused kernels on one thread, for as many robots as the
    networks were made for, and nobody looks ahead."""
    batch = actors.batch
    if actors.planners or actors.chunk or actors.pooled or batch.threads > 1:
        return False
    for number, group in enumerate(actors.groups):
        if not isinstance(group.stacked, FusedPolicies) or group.policy.config.robots != batch.robots:
            return False
        if any(view.pixels and np.dtype(view.kind) != np.uint8 for view in actors.views_of(number)):
            return False
    return bool(actors.groups)
