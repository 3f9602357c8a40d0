"""What is evaluated of a run: with the partners it was trained with, with the holdouts, and the controls (spec 11.2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from housemates.agents import agent as registry
from housemates.agents.agent import BEST_RESPONSE, TRAINED, Agent, run_name
from housemates.evaluation.crossplay import Pair, controls, identity, pair_up, trained_with
from housemates.evaluation.metrics import ALONE, TEAM, WORST
from housemates.run_folder import RunFolder

if TYPE_CHECKING:
    import pyarrow as pa

ENDS = ("success", "collision", "timeout")
"""How games end, in the order of a line of the summary."""
TITLES = {"train_pop": "with the partners of its training", "zsc": "zero-shot, with held-out partners", "human": "with people"}
TITLES |= {"best_response": "best response to its partner", ALONE: "alone in the home, from the start of each robot"}
WORDS = {
    "blind": "the agent cannot sense its partner",
    "random": "the partner acts at random",
    "solo": "a scripted robot does everything alone",
}


class Line(NamedTuple):
    """One line of a summary."""

    what: str
    games: int
    rates: list[tuple[float, float]]
    """Mean and standard error for each of ENDS, from 0 to 1."""


def agent_pairs(
    agent: Agent, trained: Sequence[Agent], held_out: Sequence[Agent], robots: int = 2, compared: bool = True
) -> list[Pair]:
    """One agent's evaluation: trained with, zero-shot, and (compared) the controls beside it.

    A partner that the agent knows from training is refused, unless its run says itself that it is not zero-shot: then the
    rows say so too. A best response is a measure for others, no zero-shot evaluation.
    """
    if agent.meta.get("method") == BEST_RESPONSE:
        return [*pair_up([agent], trained, BEST_RESPONSE, robots=robots), *pair_up([agent], held_out, robots=robots)]
    if agent.meta.get("zero_shot", True):
        known = trained_with(agent)
        for partner in held_out:
            if identity(partner) in known:
                raise ValueError(f"{agent.name} was trained with {partner.name}, so it is not held out - leave it out")
    return [
        *pair_up([agent], trained, "train_pop", robots=robots),
        *pair_up([agent], held_out, "zsc", robots=robots),
        *(controls(agent, held_out, robots) if held_out and compared else []),
    ]


def team_pairs(team: Sequence[Agent]) -> list[Pair]:
    """Members of a run without coordination agent: each of them once as the agent, the others as its partners.

    One that was trained alone has no partners (see `evaluation.alone`).
    """
    if len(team) == 1:
        return [Pair(team[0], (), ALONE)]
    return [Pair(member, (*team[:k], *team[k + 1 :]), "train_pop", zero_shot=False) for k, member in enumerate(team)]


def run_pairs(
    run: Path, held_out: Sequence[Agent], robots: int = 2, members: bool = False, compared: bool = True
) -> list[Pair]:
    """The evaluation of a run: its coordination agent if it has one, else its members as a team.

    members: such a team's members also meet the held-out partners, each as an agent of its own; compared: with the controls.
    """
    if RunFolder(run).has_agent():
        agent = registry.agent(run)
        # Who is trained without partners of others plays with itself.
        trained = registry.read_partners(RunFolder(run).partners, run) or [agent]
        return agent_pairs(agent, trained, held_out, robots, compared)
    team = registry.population(run)
    pairs = team_pairs(team)
    if members:
        pairs += [pair for member in team for pair in agent_pairs(member, (), held_out, robots, compared)]
    # The scripted solo robot plays the same games whoever it is compared with.
    return list(dict.fromkeys(pairs))


def response_pairs(runs: Sequence[Path], partners: Sequence[Agent]) -> list[Pair]:
    """Best responses with their partners, and members of teams with their mates, if these are among the partners too."""
    teams = list({identity(partner): partner for partner in partners if partner.meta.get("method") == TEAM}.values())
    mates = [(a, b) for a in teams for b in teams if a is not b and run_name(a) == run_name(b)]
    return [
        *(pair for run in runs for pair in run_pairs(run, ())),
        *(Pair(mate, (partner,), BEST_RESPONSE, zero_shot=False) for mate, partner in mates),
    ]


def summary(rows: pa.Table) -> list[Line]:
    """A short table: each agent with all its partners and with each of them, then the controls.

    Errors are over episodes: games of one episode with different partners count as one sample.
    """
    columns = {name: rows.column(name).to_numpy(zero_copy_only=False) for name in rows.column_names if name != "subgoals"}
    plain = columns["control"] == ""
    script, learned = columns["partner_kind"] == "script", np.isin(columns["partner_kind"], TRAINED)
    lines = []

    def add(what: str, mine: np.ndarray) -> None:
        if mine.any():
            rates = [_mean(columns[name][mine], columns["episode"][mine]) for name in ENDS]
            lines.append(Line(what, int(mine.sum()), rates))

    for agent in dict.fromkeys(columns["agent"][plain].tolist()):
        mine = plain & (columns["agent"] == agent)
        for evaluation in dict.fromkeys(columns["evaluation"][mine].tolist()):
            here = mine & (columns["evaluation"] == evaluation)
            add(f"{agent}: {TITLES.get(evaluation, evaluation)}", here)
            if script[here].any() and learned[here].any():
                add("  scripted partners", here & script)
                add("  learned partners", here & learned)
            families = dict.fromkeys(columns["family"][here].tolist())
            if len(families) > 2:
                for family in families:
                    add(f"  family {family or 'none'}", here & (columns["family"] == family))
            if evaluation == "zsc" and len(set(columns["partner"][here])) >= 1 / WORST:
                add("  worst fifth of its partners", here & np.isin(columns["partner"], worst(columns, here)))
            for partner in dict.fromkeys(columns["partner"][here].tolist()):
                one = here & (columns["partner"] == partner)
                note = "" if columns["zero_shot"][one].all() or evaluation == "train_pop" else "  (met in training)"
                add(f"    {partner}{note}", one)
        for control, words in WORDS.items():
            solo = control == "solo"
            add(f"  control: {words}", (columns["control"] == control) & (solo | (columns["agent"] == agent)))
    return lines


def worst(columns: dict[str, np.ndarray], here: np.ndarray) -> list[str]:
    """The fifth of the partners (rounded up) with whom the games of a mask [N] succeed least."""
    names = dict.fromkeys(columns["partner"][here].tolist())
    rates = {name: columns["success"][here & (columns["partner"] == name)].mean() for name in names}
    return sorted(rates, key=lambda name: rates[name])[: int(np.ceil(WORST * len(rates) - 1e-9))]


def _mean(values: np.ndarray, episode: np.ndarray) -> tuple[float, float]:
    """Mean and standard error of values [N], clustered by episode [N]; the error of a single episode is nan."""
    per_episode = np.array([values[episode == e].mean() for e in np.unique(episode)])
    error = per_episode.std(ddof=1) / np.sqrt(len(per_episode)) if len(per_episode) > 1 else np.nan
    return float(values.mean()), float(error)
