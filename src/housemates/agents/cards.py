"""Model cards: what is known of a policy, as Markdown, from what its training wrote down. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from pathlib import Path

from housemates.agents.agent import Agent, is_holdout
from housemates.policies.checkpoint import config_of, read_description
from housemates.tasks.tasks import TASKS

METHODS = {
    "gt_coord": "GT Coord: two policies trained together, each only with the other",
    "bdp": "BDP: an agent trained with a population of eight latent behaviours",
    "solo": "solo: one robot trained alone",
}
"""What the methods of shipped policies are, for readers who know none of them."""
LIMITS = (
    "Trained and tested in simulated homes of one floor plan family, with perfect skills and noiseless sensors. "
    "It is not meant for a real robot."
)
SCORES = {
    "mate": "success with its training teammate",
    "alone": "success alone in the home",
    "train_pop": "success with the population of its training",
    "zsc": "success with the held-out partners (zero-shot)",
}
"""The scores that a policy may carry, in the order of a card."""
Z95 = 1.959964
"""The 97.5th percentile of the normal distribution."""


def interval(share: float, games: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share of successes in so many games."""
    centre = (share + Z95**2 / (2 * games)) / (1 + Z95**2 / games)
    half = Z95 * sqrt(share * (1 - share) / games + Z95**2 / (4 * games**2)) / (1 + Z95**2 / games)
    return max(0.0, centre - half), min(1.0, centre + half)


def card(agent: Agent) -> str:
    """The model card of a policy as Markdown; a ValueError for agents that are no policy."""
    if not agent.trained:
        raise ValueError(f"'{agent.name}' is no trained policy - cards exist for policies; see: housemates partners")
    lines = [f"# {agent.name}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in facts(agent)]
    lines += ["", "**Scores**", "", *(scores(agent) or ["No score was recorded."])]
    return "\n".join([*lines, "", "**Limits**", "", " ".join(limits(agent)), ""])


def facts(agent: Agent) -> list[tuple[str, str]]:
    """What a card lists about a policy: name and value."""
    meta, described = agent.meta, read_description(Path(agent.path))
    config, weights = config_of(described, Path(agent.path)), described["weights"]
    task = str(meta.get("task", ""))
    memory = f", {config.memory.upper()} with {config.hidden} units"
    pixels = f", {config.picture} x {config.picture} pixels" if config.pictures else ""
    return [
        ("task", TASKS[task].title if task in TASKS else task or "not recorded"),
        ("role", "held-out partner of the evaluation" if is_holdout(agent) else "agent to evaluate, watch and play with"),
        ("method", METHODS.get(str(meta.get("method")), str(meta.get("method", "not recorded")))),
        ("observations", ", ".join(config.observations) + pixels),
        ("actions", f"{config.actions} skills, sampled"),
        ("network", f"{config.network}{memory}"),
        ("training budget", budget(agent)),
        ("preset and seed", f"{meta.get('preset', 'not recorded')}, seed {meta.get('seed', 'not recorded')}"),
        ("homes and rules", f"environment {meta.get('environment', 'not recorded')}"),
        ("weights", f"{weights['bytes'] / 1e6:.1f} MB, sha256 {weights['sha256'][:16]}"),
    ]


def budget(agent: Agent) -> str:
    """Decisions and simulation steps of its training, as far as they were recorded."""
    decisions, steps = agent.meta.get("decisions"), agent.meta.get("steps")
    told = [f"{decisions / 1e6:.1f} M decisions"] if decisions else []
    told += [f"{steps / 1e6:.1f} M simulation steps"] if steps else []
    return ", ".join(told) or "not recorded"


def scores(agent: Agent) -> list[str]:
    """One line for each recorded score, with its interval where the number of games is known."""
    meta, found = agent.meta, []
    for name, words in SCORES.items():
        if meta.get(name) is None:
            continue
        share, games = float(meta[name]), int(meta.get("episodes", 0))
        low, high = interval(share, games) if games else (0.0, 0.0)
        rest = f", 95 % interval {100 * low:.0f} to {100 * high:.0f} %, {games} episodes" if games else ""
        found.append(f"* {words}: {100 * share:.1f} % (split {meta.get('split', 'not recorded')}{rest})")
    return found


def limits(agent: Agent) -> list[str]:
    """What a policy must not be used for, in sentences."""
    told = [LIMITS]
    if is_holdout(agent):
        told.append("Never train with it: it is held out for the evaluation.")
    if agent.meta.get("method") == "gt_coord":
        told.append("It expects its training teammate and divides the work with it; alone it does part of the task.")
    if agent.meta.get("zero_shot") is False:
        told.append("Its training used partners written by people, so its results are not zero-shot.")
    return told


def list_cards(agents: Iterable[Agent]) -> str:
    """A table of policies as Markdown: task, role, method, observations, budget."""
    lines = ["| name | task | role | method | observations | budget |", "|---|---|---|---|---|---|"]
    for agent in agents:
        meta = agent.meta
        role = "held-out partner" if is_holdout(agent) else "agent"
        cells = (
            f"`{agent.name.rpartition('/')[2]}`",
            meta.get("task"),
            role,
            meta.get("method"),
            meta.get("observations"),
            budget(agent),
        )
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)
