"""Where an agent comes from: its preset, the pictures it sees, and what its training has cost in both stages.

Whatever was not recorded when it was trained stays UNKNOWN; nothing is guessed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from housemates.checksums import read_json
from housemates.evaluation.rows import BUDGETS, UNKNOWN
from housemates.policies import partners as registry
from housemates.policies.checkpoint import DESCRIPTION, read_description
from housemates.policies.config import PolicyConfig
from housemates.policies.partners import RESTORE, Partner


def run_folder(partner: Partner) -> Path | None:
    """The folder of the run that a learned partner lies in, if it lies in one."""
    if partner.kind not in ("learned", "latent"):
        return None
    place = Path(partner.path)
    return next((p for p in place.parents if (p / "config.json").is_file()), None)


def origin(agent: Partner) -> dict[str, Any]:
    """Columns of `evaluation.rows` that are known of an agent's training: preset, pixels, and the budgets of both stages.

    pixels: the side of its pictures, 0 if it sees none. Who was not trained (a script) has budgets of 0.
    """
    return {"preset": _preset(agent), "pixels": _pixels(agent)} | _budgets(agent)


def budget(agent: Partner) -> int:
    """Decisions an agent was trained with, over both stages: its own and those of all runs its partners come from."""
    return int(agent.meta.get("decisions", 0)) + max(_population(agent, "decisions"), 0)


def _preset(agent: Partner) -> str:
    run = run_folder(agent)
    if "preset" in agent.meta or run is None:
        return str(agent.meta.get("preset", ""))
    return str(read_json(run / "config.json", RESTORE).get("preset", ""))


def _pixels(agent: Partner) -> int:
    if agent.kind not in ("learned", "latent"):
        return 0
    if not (Path(agent.path) / DESCRIPTION).is_file():
        return UNKNOWN
    config = PolicyConfig.from_json(read_description(agent.path)["config"])
    return config.picture if config.pictures else 0


def _budgets(agent: Partner) -> dict[str, int]:
    meta = agent.meta
    if agent.kind not in ("learned", "latent"):
        return dict.fromkeys(BUDGETS, 0)
    if BUDGETS[0] in meta:
        return {name: int(meta[name]) for name in BUDGETS}
    own = [int(meta.get(unit, UNKNOWN)) for unit in ("decisions", "steps")]
    if meta.get("stage") == 1:
        return dict(zip(BUDGETS, (*own, 0, 0), strict=True))
    if meta.get("stage") == 2 and run_folder(agent) is not None:
        before = [_population(agent, unit) for unit in ("decisions", "steps")]
        return dict(zip(BUDGETS, (*before, *own), strict=True))
    return dict.fromkeys(BUDGETS, UNKNOWN)


def _population(agent: Partner, unit: str) -> int:
    """What the population of an agent's second stage was trained with, each run once; UNKNOWN if one of them does not say."""
    run = run_folder(agent)
    if agent.meta.get("stage") != 2 or run is None or not (run / registry.PARTNERS).is_file():
        return 0
    spent: dict[str, int] = {}
    for partner in registry.read_partners(run / registry.PARTNERS, run):
        if partner.kind in ("learned", "latent"):
            place = str(run_folder(partner) or partner.path)
            spent[place] = max(spent.get(place, UNKNOWN), int(partner.meta.get(unit, UNKNOWN)))
    return UNKNOWN if UNKNOWN in spent.values() else sum(spent.values())
