"""Behaviour cloning: a policy that decides as somebody did in recorded games, such as people on the page.

The network is a preset's, memory included. A share of the games is kept aside: the epoch that tells their decisions best is
kept, and how well it does so is written down with the policy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from housemates.datasets.dataset import describe, load_dataset
from housemates.evaluation.holdouts import mark
from housemates.io import check_place
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import is_policy
from housemates.runs.presets import PRESETS

METHOD = "behaviour_cloning"
"""What a clone's description has as its method."""
LONGEST = 64
"""Decisions of a sequence; longer games are cut, and the memory at a cut is that of the pass before."""


@dataclass(frozen=True)
class Cloning:
    """How a clone learns."""

    preset: str = "state"
    """Whose network it has."""
    epochs: int = 40
    """Passes over the games."""
    learning_rate: float = 1e-3
    sequences: int = 32
    """Games of one step of the optimiser."""
    aside: float = 0.2
    """Share of the games that it does not learn from."""
    seed: int = 0

    def __post_init__(self) -> None:
        PRESETS.find(self.preset)
        for name in ("epochs", "sequences"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        if not 0 < self.aside < 1:
            raise ValueError(f"aside = {self.aside} - it must lie between 0 and 1")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate = {self.learning_rate} - it must be positive")


@dataclass(frozen=True)
class Clone:
    """A clone, and how well it tells decisions of games that it did not learn from."""

    policy: Policy
    games: int
    decisions: int
    """That it learned from, those kept aside included."""
    epoch: int
    """The epoch that was kept, from 1."""
    accuracy: float
    """Share of the decisions aside that were its likeliest."""
    loss: float
    """Mean negative log likelihood of the decisions aside, nats."""
    commonest: float
    """Share of the commonest decision among them: what telling always the same would reach."""


Games = list[dict[str, np.ndarray]]
"""For each robot of each game its observations [n, ...] by name, and `decision` [n]."""


def read_games(dataset: Path | str, observations: Sequence[str], movers: Sequence[str] = (), kind: str = "") -> Games:
    """Robots of a dataset by mover (their names, empty for all) and kind (`person`, ..., empty for all), game by game."""
    there = describe(dataset)["observations"]
    if lacking := [name for name in observations if name not in there]:
        raise ValueError(f"{dataset} has no '{lacking[0]}' - export it with --observations {' '.join(observations)}")
    data = load_dataset(dataset, ["game", "robot", "mover", "kind", "decision", *observations])
    mine = np.ones(len(data["game"]), np.bool_)
    if movers:
        mine &= np.isin(data["mover"].astype(str), list(movers))
    if kind:
        mine &= data["kind"].astype(str) == kind
    if not mine.any():
        known = sorted(set(zip(data["mover"].astype(str), data["kind"].astype(str), strict=True)))
        raise ValueError(f"nobody like that in {dataset} - it has: {', '.join(f'{name} ({what})' for name, what in known)}")
    rows = np.flatnonzero(mine)
    # Rows are in order: game by game, robot by robot.
    change = np.flatnonzero(np.diff(data["game"][rows]) | np.diff(data["robot"][rows])) + 1
    wanted = ("decision", *observations)
    return [{name: np.asarray(data[name][part]) for name in wanted} for part in np.split(rows, change)]


def clone(
    games: Games, config: PolicyConfig, how: Cloning | None = None, progress: Callable[[int, int], None] | None = None
) -> Clone:
    """Learn to decide as the robots of `games` did; the same games and settings give the same clone on one machine."""
    how = how or Cloning()
    if len(games) < 2:
        raise ValueError(f"{len(games)} games - a clone needs two or more, one of them to be tested with")
    order = np.random.default_rng(how.seed).permutation(len(games))
    count = min(max(1, round(how.aside * len(games))), len(games) - 1)
    tests, lessons = [games[k] for k in order[:count]], [games[k] for k in order[count:]]
    policy = Policy(config, seed=how.seed)
    optimizer = torch.optim.Adam(policy.parameters(), how.learning_rate)
    best, kept, epoch = measure(policy, tests), copy.deepcopy(policy.state_dict()), 0
    for number in range(how.epochs):
        _epoch(policy, optimizer, lessons, how, number)
        found = measure(policy, tests)
        if found[1] < best[1]:
            best, kept, epoch = found, copy.deepcopy(policy.state_dict()), number + 1
        if progress is not None:
            progress(number + 1, how.epochs)
    policy.load_state_dict(kept)
    aside = np.concatenate([game["decision"] for game in tests])
    total = sum(len(game["decision"]) for game in games)
    return Clone(policy, len(games), total, epoch, *best, float(np.bincount(aside).max() / len(aside)))


def _epoch(policy: Policy, optimizer: torch.optim.Optimizer, games: Games, how: Cloning, number: int) -> None:
    order = np.random.default_rng([how.seed, number]).permutation(len(games))
    for low in range(0, len(order), how.sequences):
        some = [games[k] for k in order[low : low + how.sequences]]
        optimizer.zero_grad()
        loss, decisions, _ = _loss(policy, some)
        (loss / decisions).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def measure(policy: Policy, games: Games) -> tuple[float, float]:
    """Accuracy and mean negative log likelihood (nats) of a policy on games."""
    loss, decisions, right = _loss(policy, games)
    return right / decisions, float(loss) / decisions


def _loss(policy: Policy, games: Games) -> tuple[torch.Tensor, int, int]:
    """Summed negative log likelihood of all decisions of games side by side, their number, and how many were the likeliest."""
    games = sorted(games, key=lambda game: -len(game["decision"]))
    longest = len(games[0]["decision"])
    memory = policy.initial_memory(len(games))
    total, decisions, right = torch.zeros(()), 0, 0
    for low in range(0, longest, LONGEST):
        here = [game for game in games if len(game["decision"]) > low]
        length = min(LONGEST, longest - low)
        obs = {name: _side_by_side(here, name, low, length) for name in policy.config.observations}
        chosen = _side_by_side(here, "decision", low, length).long()
        valid = torch.tensor([[low + t < len(game["decision"]) for game in here] for t in range(length)])
        memory = memory[: len(here)].detach()
        known = [torch.zeros(length, len(here), policy.config.privileged)] if policy.config.privileged else []
        found = policy.evaluate(obs, memory, chosen, None, *known)
        total = total - found.log_prob[valid].sum()
        decisions += int(valid.sum())
        right += int((found.logits.argmax(-1) == chosen)[valid].sum())
        if low + length < longest:
            with torch.no_grad():
                flat = {name: values.flatten(0, 1) for name, values in obs.items()}
                memory = policy.memory(policy.encoder(flat, None).unflatten(0, (length, len(here))), memory)[1]
    return total, decisions, right


def _side_by_side(games: Games, name: str, low: int, length: int) -> torch.Tensor:
    """Rows low..low + length of one array of every game [length, B, ...]; zeros where a game is over."""
    first = games[0][name]
    out = np.zeros((length, len(games), *first.shape[1:]), first.dtype)
    for k, game in enumerate(games):
        part = game[name][low : low + length]
        out[: len(part), k] = part
    return torch.from_numpy(out)


def clone_dataset(
    dataset: Path | str,
    out: Path | str,
    how: Cloning | None = None,
    *,
    movers: Sequence[str] = (),
    kind: str = "",
    held_out: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Clone:
    """Clone somebody of a dataset into a policy folder, which plays wherever a partner is named.

    held_out: mark it as a partner of the evaluation, so that nobody trains with it (family `people` of the suite).
    """
    how, out, about = how or Cloning(), Path(out), describe(dataset)
    check_place(out / "policy.json")
    if is_policy(out):
        raise ValueError(f"{out} has a policy already - choose another --out")
    preset = PRESETS[how.preset]
    config = preset.policy(preset.observations, about["robots"])
    found = clone(read_games(dataset, config.observations, movers, kind), config, how, progress)
    save_policy(out, found.policy, _meta(found, about, how, preset.observations))
    if held_out:
        mark(out)
    return found


def _meta(found: Clone, about: dict[str, Any], how: Cloning, observations: str) -> dict[str, Any]:
    return {
        "method": METHOD, "task": about["task"], "observations": observations, "seed": how.seed, "decisions": found.decisions,
        "games": found.games, "epochs": found.epoch, "accuracy": round(found.accuracy, 4), "loss": round(found.loss, 4),
        "environment": about["environment"],
    }  # fmt: skip
