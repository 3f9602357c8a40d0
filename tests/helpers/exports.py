"""Datasets of a few games in the hand-made hall, for the tests of datasets."""

from pathlib import Path

from helpers.batches import episodes, home
from housemates.agents.agent import Agent, latents, learned, scripted
from housemates.datasets.export import export_games
from housemates.evaluation.crossplay import Pair, pair_up
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules

SHORT = Rules(horizon=60)
RANDOM = Agent("random", "random")


def policies(folder: Path) -> list[Agent]:
    """Three players who have learnt nothing: one sees numbers, one pictures, one is the third behaviour of four."""
    save_policy(folder / "numbers", Policy(PolicyConfig.state(hidden=8, features=8), seed=1), {"task": "tidy_house"})
    save_policy(folder / "pictures", Policy(PolicyConfig.laptop(hidden=8, features=8), seed=2), {"task": "tidy_house"})
    save_policy(folder / "many", Policy(PolicyConfig.state(hidden=8, features=8, latent=4), seed=3), {"task": "tidy_house"})
    seeing = [learned(folder / name, name) for name in ("numbers", "pictures")]
    return [*seeing, latents(folder / "many", "many")[2]]


def pairs(folder: Path) -> list[Pair]:
    """Everybody of `policies` with a script, and with each other."""
    numbers, pictures, many = policies(folder)
    return [
        *pair_up([numbers, many], [scripted("first_half"), RANDOM]),
        Pair(pictures, (numbers,)),
        Pair(scripted("solo"), (many,)),
    ]


def export(folder: Path, who: list[Pair], rules: Rules = SHORT, **more) -> dict[str, int]:
    """Write a dataset of the first four episodes."""
    return export_games(folder, who, episodes(), [home()], rules, **{"count": 4, "seed": 5} | more)
