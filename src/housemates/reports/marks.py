"""Marks on the cells of a table for what their rows mix, budgets of the training in words, and notes that explain both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from housemates.evaluation.metrics import LOOKS_AHEAD, Rows
from housemates.evaluation.rows import UNKNOWN
from housemates.reports import paper

if TYPE_CHECKING:
    from housemates.reports.tables import Cell

NOT_ZERO_SHOT, MIXED, UNLIKE, OTHERS, COMPUTED, LOOKED = "†", "‡", "§", "¶", "*", "◊"
NOT_RECORDED = "not recorded"
SAME_BUDGET = 0.01
"""Trainings end with a whole rollout: budgets that differ by less are the same."""
MARKS = {
    NOT_ZERO_SHOT: f"{NOT_ZERO_SHOT} not zero-shot: some of these partners had a part in the training.",
    MIXED: f"{MIXED} the seeds were trained with different budgets (simulation steps, or decisions where those are not known).",
    UNLIKE: f"{UNLIKE} the seeds were trained by different presets or picture sizes (or it was not recorded).",
    OTHERS: f"{OTHERS} the seeds did not meet the same partners in the same episodes: each is averaged over what it met.",
    COMPUTED: f"{COMPUTED} decisions of some seeds were computed by the fused kernels, of others by torch: they differ where a "
    "rounding decides a draw, so games of different seeds are not paired exactly.",
    LOOKED: f"{LOOKED} agents of some seeds look ahead by another version of the look-ahead than those of others.",
}
VARIANT = ("state", "laptop")
"""Presets whose BDP is not the paper's own."""
BDP_NOTE = (
    f"Our BDP by the presets {' and '.join(VARIANT)} is the paper's objective with three changes (learnable logits for each "
    "latent, a late weight relative to the mean, a shorter warm-up); the paper's own is BDP (literal)."
)


def marks_of(rows: Rows) -> str:
    """Signs for what a reader must know of a cell that averages these rows."""
    if not len(rows):
        return ""
    held_out, trained = rows["evaluation"] == "zsc", rows.take(rows["decisions"] > 0)
    found = NOT_ZERO_SHOT if (held_out & ~rows["zero_shot"]).any() else ""
    if not len(trained):
        return found
    steps = steps_of(trained)
    known = steps[steps >= 0]
    # Budgets are compared in steps; in decisions only where steps were not recorded.
    mixed = _differ(known) if len(known) == len(steps) else _differ(trained["decisions"]) or len(known) > 0
    found += MIXED if mixed else ""
    found += UNLIKE if len(trained.distinct("preset")) > 1 or len(trained.distinct("pixels")) > 1 else ""
    found += OTHERS if _met_others(trained) else ""
    found += COMPUTED if computed_apart(trained) else ""
    return found + (LOOKED if _look_ahead_apart(trained) else "")


def computed_apart(rows: Rows) -> bool:
    """Whether games with one partner were computed in several ways (see `agents.actors.inference`), as far as that is known."""
    ways = set(zip(rows["partner"].tolist(), rows["inference"].tolist(), strict=True))
    partners = [partner for partner, way in ways if way]
    return len(partners) > len(set(partners))


def _look_ahead_apart(rows: Rows) -> bool:
    """Whether some of the agents look ahead, but not all by the same version."""
    versions = rows.distinct("look_ahead")
    return len(versions) > 1 and max(versions) > 0


def looked_apart(rows: Rows) -> bool:
    """Whether those of several methods that look ahead do so by several versions."""
    ahead = tuple(method for method in rows.distinct("method") if LOOKS_AHEAD in method)
    return bool(ahead) and len(rows.only(method=ahead).distinct("look_ahead")) > 1


def _differ(budgets: np.ndarray) -> bool:
    return bool(budgets.max() > (1 + SAME_BUDGET) * budgets.min())


def _met_others(rows: Rows) -> bool:
    """Whether the runs of these rows met different partners, or the same in other episodes; populations are a run's own."""
    held_out = rows.take(rows["evaluation"] != "train_pop")
    met = [held_out.only(agent_run=run) for run in held_out.distinct("agent_run")]
    games = [set(zip(mine["partner"].tolist(), mine["episode"].tolist(), strict=True)) for mine in met]
    return any(other != games[0] for other in games[1:])


def steps_of(rows: Rows) -> np.ndarray:
    """Simulation steps [N] of the training over both stages, UNKNOWN where they were not recorded."""
    first, second = rows["stage1_steps"], rows["stage2_steps"]
    return np.where((first < 0) | (second < 0), UNKNOWN, first + second)


def number(count: float) -> str:
    """A budget in short: `24.0 M`, `600 k`."""
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count / 1e3:.0f} k"


def decisions_text(rows: Rows) -> str:
    """Decisions of the training, over both stages: `24.0 M`, or a range."""
    return _range([number(d) for d in rows.distinct("decisions")])


def steps_text(rows: Rows) -> str:
    """Simulation steps of the training, over both stages: `24.0 M`, a range, or that they were not recorded."""
    found = np.unique(steps_of(rows))
    known = [number(count) for count in found if count >= 0]
    if not known:
        return NOT_RECORDED
    return _range(known) + (f" (some {NOT_RECORDED})" if len(known) < len(found) else "")


def _range(texts: list[str]) -> str:
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} – {texts[-1]}"


def trained_with(rows: Rows) -> tuple[str, ...]:
    """A note on the budgets of every method in a table: decisions and simulation steps, over both stages."""
    told = []
    for method in (*paper.LABELS, *sorted(set(rows.distinct("method")) - paper.LABELS.keys())):
        for seen in rows.only(method=method).distinct("observations"):
            mine = rows.only(method=method, observations=seen)
            mine = mine.take(mine["decisions"] > 0)
            if len(mine):
                name, steps = paper.label(method), steps_text(mine)
                words = f"{steps} steps" if steps[0].isdigit() else f"steps {steps}"
                told.append(f"{name} ({seen}) {decisions_text(mine)} decisions, {words}")
    return (f"Trained with, both stages together: {'; '.join(told)}.",) if told else ()


def about_bdp(rows: Rows) -> tuple[str, ...]:
    """What a reader must know of BDP as the presets have it, if these rows show it."""
    shown = rows.only(method=("bdp", "bdp_rgb", "bdp_state"), preset=("", *VARIANT))
    return (BDP_NOTE,) if len(shown) else ()


def explain(rows: Sequence[Sequence[str | Cell]]) -> tuple[str, ...]:
    """What the marks in these rows mean."""
    used = "".join(cell.mark for row in rows for cell in row if not isinstance(cell, str))
    return tuple(text for mark, text in MARKS.items() if mark in used)
