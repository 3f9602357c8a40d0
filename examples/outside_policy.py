"""Evaluate a policy that was not trained by `housemates train`: the network of `short_loop.py`, a file of weights.

    python examples/short_loop.py --updates 2400 --out short_loop.pt
    python examples/outside_policy.py --episodes 10

Any function from observations to actions can be evaluated in the same way, whatever it was trained with. Its attributes name it
in rows and reports.
"""

from functools import cache
from pathlib import Path

import numpy as np
import torch
import tyro
from short_loop import flat, network

import housemates

WEIGHTS = Path("short_loop.pt")
"""The weights, in the present folder."""


@cache
def loaded() -> torch.nn.Module:
    """The network with its weights; read once."""
    if not WEIGHTS.is_file():
        raise FileNotFoundError(f"no {WEIGHTS} here - run: python examples/short_loop.py --out {WEIGHTS}")
    net = network()
    net.load_state_dict(torch.load(WEIGHTS, weights_only=True))
    return net


def policy(seen: dict[str, np.ndarray]) -> np.ndarray:
    """The likeliest action [n] for observations [n, ...] by name."""
    with torch.no_grad():
        return loaded()(flat(seen))[:, :25].argmax(1).numpy()


policy.observations = ("state", "predicates")  # what it sees, by the names of docs/concepts/observations.md
policy.method = "short_loop"  # what tables call it
policy.seed, policy.decisions = 0, 614_400  # of its training


def main(task: str = "tidy_house", split: str = "dev", episodes: int = 10, out: Path = Path("outside.parquet")) -> float:
    """Play with every held-out partner and print the success; returns the mean over partners.

    Args:
        task: tidy_house, set_table or prepare_groceries.
        split: the homes; a result for the leaderboard uses eval.
        episodes: per partner; a result for the leaderboard uses 100.
        out: the rows, one per episode; `housemates report` reads them.
    """
    played = housemates.evaluate(
        agents=["outside_policy:policy"], task=task, split=split, episodes=episodes, out=out, quiet=True
    )
    met: dict[str, list[bool]] = {}
    for row in played.rows.to_pylist():
        if row["evaluation"] == "zsc":
            met.setdefault(row["partner"], []).append(row["success"])
    for partner, won in met.items():
        print(f"{np.mean(won):6.1%}  {partner}")
    success = float(np.mean([np.mean(won) for won in met.values()]))
    print(f"{success:6.1%}  mean over {len(met)} held-out partners; the rows are in {out}")
    return success


if __name__ == "__main__":
    tyro.cli(main)
