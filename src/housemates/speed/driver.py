"""Trains and acts in whatever tree of housemates is on the path, turn by turn, as asked through standard input.

Run by `speed.compare` as a script of its own, also in trees that are older than this file, so it imports nothing of its own
tree by name: `MODULES` says where each tree has what is needed. Requests and answers are lines of JSON.

{"learn": KIND} makes one rollout and one update of every learner and answers with the learners' decisions and the CPU time of
that, of the whole process, whatever it spent it on. KIND is `state` or `depth`: GT Coord on Tidy House with the network, the
homes and the PPO of the preset. `state_partners` and `depth_partners`: one learner and eight frozen networks of the same
shape, each of its own, as in stage 2 (partners are never disturbed: older trees cannot). All weights are untrained ones.
{"act": KIND, "rows": N} answers with microseconds of CPU time per decision of a policy that acts for N robots in a call.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

MODULES = {
    "trainer": ("housemates.training.trainer", "housemates.learning.trainer"),
    "method": ("housemates.training.method", "housemates.learning.method"),
    "rollout": ("housemates.training.rollout", "housemates.learning.rollout"),
    "self_play": ("housemates.methods.self_play", "housemates.populations.gt_coord"),
    "presets": ("housemates.runs.presets", "housemates.presets"),
    "policy": ("housemates.policies.policy",),
    "fused": ("housemates.fused.policies",),
    "homes": ("housemates.cli.homes", "housemates.cli_homes"),
}
"""Where trees have what is needed: the present names first, then those of commit 0dfbd29."""
PRESETS = {"state": "state", "depth": "laptop"}
"""What is measured, and the preset that trains it."""
PARTNERS = 8
"""Frozen networks of `..._partners`."""
CALLS, TURNS = 400, 5
"""Decisions of a turn of acting, at least, and turns of which the best counts."""


def find(what: str) -> Any:
    """The module of this tree, None if it has none."""
    for name in MODULES[what]:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            # Something else that is missing is an error of the tree.
            if error.name is None or not name.startswith(error.name):
                raise
    return None


def network(kind: str) -> tuple[Any, Any]:
    """Preset and network of a kind."""
    preset = find("presets").PRESETS[PRESETS[kind.partition("_")[0]]]
    return preset, preset.policy(preset.observations, 2)


def with_partners(config: Any) -> Any:
    """A method of one learner and PARTNERS frozen networks; each home draws one of them and the learner's robot once."""
    policy, slots = find("policy").Policy, find("rollout").Slots

    class WithPartners(find("method").Members):
        def __init__(self) -> None:
            frozen = [policy(config, seed=k).requires_grad_(False) for k in range(1, PARTNERS + 1)]
            super().__init__([policy(config, seed=0), *frozen], [True] + [False] * PARTNERS)

        def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Any:
            if update:
                return None
            drawn = slots(
                rng.integers(1, PARTNERS + 1, size=(homes, robots)).astype(np.int16),
                np.zeros((homes, robots), np.int64),
                np.zeros((homes, robots), np.bool_),
            )
            mine = np.arange(homes), rng.integers(robots, size=homes)
            drawn.player[mine], drawn.learns[mine] = 0, True
            return drawn

    return WithPartners()


class Driver:
    """The trainings of one tree, made when they are first asked for."""

    def __init__(self, scratch: Path, num_envs: int) -> None:
        self.scratch, self.num_envs = scratch, num_envs
        self.trainers: dict[str, Any] = {}
        self.homes: Any = None

    def learn(self, kind: str) -> dict[str, float]:
        """One rollout and update; decisions and seconds of CPU time."""
        if kind not in self.trainers:
            self.trainers[kind] = self.make(kind)
        training = self.trainers[kind]
        before, began = training.decisions, time.process_time()
        training.step()
        return {"seconds": time.process_time() - began, "decisions": training.decisions - before}

    def make(self, kind: str) -> Any:
        """A training of the tree's own trainer."""
        if self.homes is None:
            load = find("homes")
            self.homes = load.load_homes("dev")
            self.episodes = load.load_set("tidy_house", "dev", self.homes)
        preset, config = network(kind)
        method = with_partners(config) if kind.endswith("_partners") else find("self_play").GTCoord(config)
        size = "num_envs" if hasattr(preset.training, "num_envs") else "homes"
        settings = replace(preset.training, **{size: self.num_envs})
        return find("trainer").Trainer(settings, method, self.episodes, self.homes, self.scratch / kind)

    def act(self, kind: str, rows: int) -> dict[str, float]:
        """Microseconds of CPU time per decision, as the tree's own rollouts ask a policy."""
        _, config = network(kind)
        policy, fused = find("policy").Policy(config), find("fused")
        act = policy.act if fused is None else fused.FusedPolicies([policy]).act
        rng, seen = np.random.default_rng(0), {}
        for name in config.observations:
            values = rng.integers(0, 2, (rows, *config.shape(name)))
            seen[name] = torch.from_numpy(values.astype(np.float32 if name == "state" else np.uint8))
        memory, best, calls = policy.initial_memory(rows), float("inf"), max(3, CALLS // rows)
        act(seen, memory)
        for _ in range(TURNS):
            began = time.process_time()
            for _ in range(calls):
                act(seen, memory)
            best = min(best, time.process_time() - began)
        return {"microseconds": 1e6 * best / calls / rows}


def main() -> None:
    """Answer requests until there are no more; what else is printed goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    torch.set_num_threads(1)
    num_envs = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        driver = Driver(Path(scratch), num_envs)
        for line in sys.stdin:
            request = json.loads(line)
            answer = driver.learn(request["learn"]) if "learn" in request else driver.act(request["act"], request["rows"])
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
