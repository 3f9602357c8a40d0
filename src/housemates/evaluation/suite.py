"""The held-out suite: partners of the zero-shot evaluation in families, with a version that every row carries.

A partner's family follows from what it is and how it was trained, so a policy that is put among the held-out partners of a task
finds its family by itself. The paper's partners are the named subset `paper`, and whom an agent meets if nothing is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from housemates.agents import agent as registry
from housemates.agents.agent import DISTURBED, Agent, run_name
from housemates.evaluation.metrics import who
from housemates.io import read_json
from housemates.sim.scripts import FURTHER, PAPER

VERSION = 1
"""Of the suite: whatever changes what a partner does, or who is in a family, makes another version once 0.2.0 is released;
until then version 1 grows."""
SUITE = "suite"
"""suite, suite/paper and suite/FAMILY name partners of a task."""
PAPER_SUBSET = "paper"
"""The paper's partners: its scripts, and pairs that were trained together."""


HIDDEN = "hidden"
"""The family of sealed partners, whom only their server knows."""


@dataclass(frozen=True)
class Family:
    """Partners of one kind."""

    name: str
    """In rows, and after suite/ on the command line."""
    meaning: str
    """One sentence without a full stop."""


FAMILIES = (
    Family("paper_scripts", "the paper's scripts: stands still, does the first half, does the second half"),
    Family("further_scripts", "scripts with a habit"),
    Family("gt_coord_state", "pairs trained together from the ground truth"),
    Family("gt_coord_depth", "pairs trained together from pictures, the paper's kind"),
    Family("populations", "members of populations (SP, PBT, BDP, FCP) of seeds that nobody trains with"),
    Family("disturbed", "the learned ones blindfolded, and uninterruptible"),
    Family("preferences", "policies trained for a hidden preference beside the task"),
    Family("people", "proxies of people, cloned from recorded games"),
)
"""In the order of tables."""
NAMES = tuple(family.name for family in FAMILIES)
LEARNED = ("gt_coord_state", "gt_coord_depth", "populations")
"""Families whose members also play disturbed."""


def family_of(partner: Agent) -> str:
    """The family of a partner; nothing for who is not held out."""
    if partner.kind == "script":
        return "paper_scripts" if partner.script in PAPER else "further_scripts" if partner.script in FURTHER else ""
    if partner.kind == "sealed":
        return HIDDEN
    if not partner.trained or not registry.is_holdout(partner):
        return ""
    if partner.disturbed:
        return "disturbed"
    meta = partner.meta
    if meta.get("method") == "hidden_utility" or meta.get("preference"):
        return "preferences"
    if meta.get("method") == "behaviour_cloning":
        return "people"
    if meta.get("method") != "gt_coord":
        return "populations"
    pictures = {"depth", "rgb"} & set(str(meta.get("observations", "")).split("+"))
    return "gt_coord_depth" if pictures else "gt_coord_state"


def columns(partners: Iterable[Agent]) -> dict[str, Any]:
    """The columns of `rows` that tell of the suite, for the partners of one pair."""
    found = dict.fromkeys(family_of(partner) for partner in partners)
    family = " + ".join(found) if "" not in found else ""
    return {"family": family, "suite": VERSION if family else 0}


def by_family(learned: Sequence[Agent]) -> dict[str, list[Agent]]:
    """The suite by family, empty families too; learned: the held-out policies of a task."""
    scripts = [registry.scripted(name) for name in (*PAPER, *FURTHER)]
    found: dict[str, list[Agent]] = {name: [] for name in NAMES}
    for partner in (*scripts, *learned):
        found[family_of(partner)].append(partner)
    found["disturbed"] = [registry.disturb(p, how) for how in DISTURBED for name in LEARNED for p in found[name]]
    return found


def members(name: str, families: Mapping[str, list[Agent]], paper: Sequence[Agent]) -> list[Agent]:
    """Whom suite, suite/paper or suite/FAMILY means; families: the suite of a task; paper: the paper's partners."""
    _, _, part = name.partition("/")
    if not part:
        return [partner for family in families.values() for partner in family]
    if part == PAPER_SUBSET:
        return list(paper)
    if part not in families:
        raise ValueError(f"no family '{part}' in the suite - choose one of: {', '.join((PAPER_SUBSET, *NAMES))}")
    if not families[part]:
        raise ValueError(f"the family {part} has nobody yet for this task - see: housemates holdouts")
    return families[part]


AUDIT = registry.SHIPPED / "audit.json"
"""Which partners of the package are not in its suite, for each task (see `evaluation.audit`)."""
AUDIT_AGAIN = "make it again: housemates holdouts audit --drop"


def key_of(partner: Agent) -> str:
    """A partner by its training run and its place there, wherever it lies."""
    return "/".join(part for part in who(partner.name, run_name(partner)) if part)


def dropped_of(task: str) -> dict[str, str]:
    """Who of a task is not in the suite, and whom it is like, by `key_of`; nobody if the suite was never audited."""
    return read_json(AUDIT, AUDIT_AGAIN).get(task, {}).get("dropped", {}) if AUDIT.is_file() else {}


def without(families: Mapping[str, list[Agent]], dropped: Collection[str]) -> dict[str, list[Agent]]:
    """Families without the partners of these keys."""
    return {name: [p for p in found if key_of(p) not in dropped] for name, found in families.items()}


def is_suite(name: str) -> bool:
    """Whether a text names partners of the suite."""
    return name.partition("/")[0] == SUITE
