"""A method of one's own: a population whose members prefer different objects, trained and evaluated from Python.

    python examples/own_method.py --preset state --out runs/preferences

The command line takes it too, in the folder of this file: housemates train --method own_method:Preferences. The tutorial
docs/tutorials/your_own_method.md explains every line.
"""

from dataclasses import dataclass

import numpy as np
import tyro

import housemates
from housemates import ACTIONS, Members, Policy, Slots


@dataclass(frozen=True)
class PreferenceSettings:
    members: int = 4
    weight: float = 0.05


class Preferences(Members):
    """Members that each prefer one object."""

    default_settings = PreferenceSettings()
    needs = ("window",)

    def __init__(self, config, robots, seed, settings):
        self.settings = settings
        super().__init__([Policy(config, seed=seed * 1000 + m) for m in range(settings.members)])

    def pairs(self, update, rng, homes, robots):
        if update % 10:
            return None
        player = rng.integers(self.settings.members, size=(homes, robots)).astype(np.int16)
        return Slots(player, np.zeros_like(player, np.int64), np.ones_like(player, np.bool_))

    def bonus(self, player, store):
        preferred = [ACTIONS.index(f"pick obj{player % 2}"), ACTIONS.index(f"place goal{player % 2}")]
        return self.settings.weight * (np.isin(store.window[:, -1, 2], preferred) & store.closed)


def main(preset: str = "smoke", out: str = "runs/preferences", decisions: int | None = None, episodes: int = 10) -> float:
    """Train both stages, play with held-out partners on dev; returns the mean success.

    Args:
        preset: how long and with which network.
        out: the folder of the run.
        decisions: per stage; default: the preset's.
        episodes: per held-out partner.
    """
    trained = housemates.train(Preferences, preset=preset, decisions=decisions, out=out)
    played = housemates.evaluate(trained.folder, split="dev", episodes=episodes)
    rows = [row for row in played.rows.to_pylist() if row["evaluation"] == "zsc"]
    success = float(np.mean([row["success"] for row in rows]))
    print(f"{success:.1%} success in {len(rows)} episodes with held-out partners")
    return success


if __name__ == "__main__":
    tyro.cli(main)
