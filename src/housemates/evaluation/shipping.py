"""Policies that come with the package: how one gets there, and the list of them all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from housemates.evaluation.origin import budget, origin
from housemates.evaluation.rows import BUDGETS, read_rows
from housemates.kernels.files import write_whole
from housemates.policies import partners as registry
from housemates.policies.checkpoint import load_policy, read_description, save_policy
from housemates.populations.run import read

INDEX = "index.json"
"""Lists, for people, every policy that comes with the package."""
DEV_ROWS = Path("evaluation") / "episodes-dev.parquet"
"""Where `housemates evaluate RUN --split dev` leaves its rows."""


def ship_agent(run: Path, root: Path | None = None) -> Path:
    """Copy the coordination agent of a run that was evaluated on dev into the package (or another root), as an example;
    returns its folder. Its success there, with the partners of its training and with strangers, is written down with it."""
    if not (run / DEV_ROWS).is_file():
        raise FileNotFoundError(f"{run} was not evaluated on dev - run: housemates evaluate {run} --split dev")
    agent, settings = registry.agent(run), read(run)
    if settings.method == registry.BEST_RESPONSE:
        raise ValueError(f"{run} is a best response, a measure for others - ship agents that meet strangers")
    rows = read_rows(run / DEV_ROWS).select(["evaluation", "success"]).to_pydict()
    name = f"{settings.method}-{settings.task}-{agent.meta['observations']}-{settings.training.seed}"
    meta = agent.meta | {"preset": settings.preset, "run": name, "split": "dev", "decisions": budget(agent)}
    meta |= {what: origin(agent)[what] for what in BUDGETS}
    for kind in ("train_pop", "zsc"):
        games = [won for what, won in zip(rows["evaluation"], rows["success"], strict=True) if what == kind]
        if games:
            meta[kind] = round(sum(games) / len(games), 4)
    return ship_policy(Path(agent.path), Path(settings.task) / "examples" / name, meta, root)


def ship_policy(source: Path, place: Path | str, meta: dict[str, Any], root: Path | None = None) -> Path:
    """Copy one policy to a place in the package, with what is known of it, and list it in the index."""
    root = root or registry.SHIPPED
    left_out = ("sha256", "robots", "holdout", "zero_shot", "stage")
    told = read_description(source)["meta"] | {k: v for k, v in meta.items() if k not in left_out}
    save_policy(root / place, load_policy(source), told)
    write_index(root)
    return root / place


def write_index(root: Path) -> None:
    """List every policy below a root."""
    found = {}
    for path in sorted(root.rglob("policy.json")):
        described = read_description(path.parent)
        facts = {"bytes": described["weights"]["bytes"], "sha256": described["weights"]["sha256"]}
        found[path.parent.relative_to(root).as_posix()] = dict(sorted(described["meta"].items())) | facts
    text = json.dumps(found, indent=1) + "\n"
    write_whole(root / INDEX, lambda file: file.write(text.encode()))
