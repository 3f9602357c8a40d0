"""Rows of evaluations that nobody played, of a known structure, and run folders around them, for tests of reports."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from housemates.evaluation.metrics import Rows, rows_of
from housemates.evaluation.rows import join_rows, make_rows, write_rows

EPISODES = 8
SUBGOALS = {"tidy_house": 4, "prepare_groceries": 4, "set_table": 6}
SKILL = {"sp": 0.3, "pbt": 0.5, "bdp": 0.7, "fcp": 0.4, "trajedi": 0.6, "pbt_state": 0.8, "gt_coord": 0.9}
"""How often a made-up method succeeds."""
HOLDOUTS = [("script/noop", "script", ""), ("script/first_half", "script", ""), ("script/second_half", "script", "")]
HOLDOUTS += [(f"gt_coord-state-{100 + k // 2}/{k % 2}", "learned", f"gt_coord-state-{100 + k // 2}") for k in range(8)]
"""(name, kind, run) of eleven holdouts, two from each training run."""


def pair(
    agent: str,
    method: str,
    seed: int,
    partner: tuple[str, str, str],
    evaluation: str = "zsc",
    task: str = "tidy_house",
    observations: str = "state",
    skill: float | None = None,
    **same: object,
) -> pa.Table:
    """EPISODES rows of one agent with one partner (name, kind, run); `same` overwrites whole columns."""
    name, kind, run = partner
    rng = np.random.default_rng([seed + 1, *map(ord, agent + name + evaluation + task)])
    chance = SKILL.get(method, 0.5) if skill is None else skill
    end = np.where(rng.random(EPISODES) < chance, 1, np.where(rng.random(EPISODES) < 0.5, 2, 3))
    steps = np.where(end == 3, 750, rng.integers(80, 700, EPISODES))
    columns: dict[str, object] = {
        "evaluation": evaluation, "control": "", "task": task, "split": "eval", "agent": agent, "method": method,
        "agent_seed": seed, "observations": observations, "decisions": 2_000_000, "partner": name, "partner_kind": kind,
        "partner_run": run, "partner_observations": "state" if run else "", "zero_shot": evaluation != "train_pop",
        "episode": np.arange(EPISODES), "home": [f"eval/{e % 4:02d}" for e in range(EPISODES)], "environment": "0123abcd",
        "robot": np.arange(EPISODES) % 2, "seed": 0, "greedy": False, "success": end == 1, "collision": end == 2,
        "timeout": end == 3, "steps": steps, "total": rng.normal(size=EPISODES),
        "subgoals": rng.integers(0, 3, (EPISODES, SUBGOALS[task])).tolist(), "idle_agent": 3, "idle_partner": 4,
        "distance_agent": 5.0, "distance_partner": 6.0,
        "solo_steps": np.random.default_rng(7).choice([-1, 300, 400, 500, 600], EPISODES),
    }  # fmt: skip
    columns |= same
    return make_rows({k: [v] * EPISODES if np.isscalar(v) else list(v) for k, v in columns.items()})


def run_rows(
    method: str, seed: int, task: str = "tidy_house", observations: str = "state", controls: bool = True, **same: object
) -> pa.Table:
    """Everything `housemates evaluate` would write for one two-stage run."""
    run = f"{method}-{task}-{observations}-{seed}"
    agent = (f"{run}/agent", method, seed)
    common: dict = {"task": task, "observations": observations, **same}
    parts = [pair(*agent, (f"{run}/{k}", "learned", run), "train_pop", **common) for k in range(4)]
    parts += [pair(*agent, holdout, "zsc", **common) for holdout in HOLDOUTS]
    if controls:
        parts += [pair(*agent, holdout, "control", control="blind", skill=0.2, **common) for holdout in HOLDOUTS[:2]]
        parts += [pair(*agent, ("random", "random", ""), "control", control="random", skill=0.3, **common)]
        solo = common | {"observations": "", "decisions": 0}
        parts += [pair("script/solo", "solo", -1, holdout, "control", control="solo", **solo) for holdout in HOLDOUTS[:2]]
    return join_rows(parts)


def grid(methods: Sequence[str] = ("sp", "pbt", "bdp"), seeds: int = 2, **more: object) -> Rows:
    """Several methods with several seeds each, on one task."""
    return rows_of(join_rows([run_rows(method, seed, **more) for method in methods for seed in range(seeds)]))  # ty: ignore


def run_folder(folder: Path, method: str, seed: int, task: str = "tidy_house", observations: str = "state") -> Path:
    """A finished and evaluated run: config, logs of both stages, rows."""
    run = folder / f"{method}-{task}-{observations}-{seed}"
    for stage in ("stage1", "stage2"):
        (run / stage).mkdir(parents=True)
        rng = np.random.default_rng([seed, *map(ord, method + stage)])
        rows = []
        for update in range(1, 31):
            success = SKILL.get(method, 0.5) * update / 30 + 0.05 * rng.random()
            rows.append(
                {"update": update, "decisions": update * 33_333, "seconds": update * 2.0, "charts/success": success,
                 "charts/collision": 0.6 * (1 - success), "charts/timeout": 0.4 * (1 - success), "charts/episodes": 100}
            )  # fmt: skip
        (run / stage / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {"method": method, "task": task, "preset": "smoke", "observations": observations, "robots": 2}
    config |= {"training": {"decisions": 1_000_000, "seed": seed}, "versions": {"housemates": "0.1.0", "torch": "2.0"}}
    (run / "config.json").write_text(json.dumps(config))
    write_rows(run / "evaluation" / "episodes.parquet", run_rows(method, seed, task, observations))
    return run
