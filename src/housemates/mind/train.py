"""The theory of mind of a run's agent: recorded, trained, judged and kept in the agent's folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from housemates.agents.agent import Agent, agent, resolve_all
from housemates.config import to_json
from housemates.envs.loading import load_homes, load_set
from housemates.lookahead.mind import load_mind, save_mind
from housemates.lookahead.settings import LookAhead
from housemates.methods.ego import check_partners
from housemates.mind.fit import Fit, fit, judge
from housemates.mind.record import Samples, joined, record
from housemates.policies.checkpoint import load_policy
from housemates.runs.run import partners_of, read
from housemates.training.disturbances import Disturbances

SHARE = 0.4
"""Of the partners that are disturbed while games are recorded."""
HELD_BACK = 6
"""Of so many homes one is kept for the judgement, and another one to choose the epoch and calibrate."""


@dataclass(frozen=True)
class MindSettings:
    """How much is recorded, and how it is learnt."""

    steps: int = 300_000
    """Simulation steps of all homes together; the agent looks ahead in half of them."""
    num_envs: int = 256
    """Games side by side; each has one partner."""
    seed: int = 0
    """Of everything that is drawn."""
    fit: Fit = field(default_factory=Fit)
    """The training."""

    def __post_init__(self) -> None:
        if self.num_envs < HELD_BACK or self.steps < 2 * self.num_envs:
            both = f"{self.steps} steps in {self.num_envs} games"
            raise ValueError(f"{both} - give at least {HELD_BACK} games and two steps in each")
        if self.seed < 0:
            raise ValueError(f"seed = {self.seed} - a seed must not be negative")


def train_mind(
    run: Path | str, settings: MindSettings | None = None, show: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Train the theory of mind of a run's agent with the partners of its training; returns how right it is in homes of the
    recording that it did not learn from. The agent's own files stay as they are."""
    folder, settings = Path(run).resolve(), settings or MindSettings()
    me, partners = checked(folder)
    check_partners(partners)
    tell = show or (lambda text: None)
    tell(f"recording {settings.steps:,} steps with {len(partners)} partners of {folder.name}")
    split = read(folder).split
    samples = _recorded(folder, partners, split, settings, True)
    part = samples.home % HELD_BACK
    tell(f"learning from {int((part > 1).sum()):,} decisions")
    mind = fit(samples.take(part > 1), settings.fit, settings.seed, samples.take(part == 1))
    told = judge(mind, samples.take(part == 0))
    meta = {"settings": to_json(settings), "partners": [partner.name for partner in partners], "judged": told}
    save_mind(me.path, mind, me.meta["sha256"], meta)
    return told


def judge_mind(
    run: Path | str, partners: Sequence[str], split: str = "dev", settings: MindSettings | None = None
) -> dict[str, Any]:
    """How right the theory of mind of a run's agent is about other partners, by name, in the homes of a split."""
    folder, settings = Path(run).resolve(), settings or MindSettings()
    me, _ = checked(folder)
    mind = load_mind(me.path, me.meta["sha256"])
    return judge(mind, _recorded(folder, resolve_all(partners, read(folder).task), split, settings, False))


def checked(folder: Path) -> tuple[Agent, list[Agent]]:
    """The agent of a run and its partners in training; a run that cannot have a theory of mind is refused."""
    me, run = agent(folder), read(folder)
    if run.robots != 2:
        raise ValueError(f"{folder} has {run.robots} robots in a home - a theory of mind is trained for 2")
    # An agent that was trained without partners of others was trained with itself.
    return me, partners_of(folder) or [me]


def _recorded(folder: Path, partners: Sequence[Agent], split: str, settings: MindSettings, disturbed: bool) -> Samples:
    """Samples of games in a split, in one half of which the agent looks ahead."""
    run, policy = read(folder), load_policy(agent(folder).path)
    homes = load_homes(split)
    episodes = load_set(run.task, split, homes)
    steps = settings.steps // (2 * settings.num_envs)
    how = Disturbances(share=SHARE, ramp=0.0) if disturbed else None
    rules, parts = run.training.rules, []
    for number, ahead in enumerate((None, LookAhead())):
        parts.append(
            record(
                policy, partners, episodes, homes, rules=rules, steps=steps, num_envs=settings.num_envs,
                seed=2 * settings.seed + number, look_ahead=ahead, disturbances=how,
            )
        )  # fmt: skip
    return joined(parts)
