"""Who moves the robots of a live game: scripts inside the simulator, policies that are asked, a person at the page.

Everybody comes from the registry of `policies.partners`; a policy carries its memory through one game here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from housemates.policies.config import seen_as
from housemates.policies.partners import AGENT, Partner, load, scripted
from housemates.sim.batch import Batch
from housemates.sim.cameras import PICTURES, Cameras
from housemates.sim.scripted import script
from housemates.sim.state import BOTH_HALVES

PERSON = Partner("person", "person")
OFFERED = ("solo", "first_half", "second_half", "noop")
"""Scripts that the page offers."""
TITLES = {
    "script/solo": "a script that does the whole task",
    "script/first_half": "a script for the first object",
    "script/second_half": "a script for the second object",
    "script/noop": "nobody: the robot stands still",
    "random": "chance: any action, each as likely",
}


def everybody(more: Sequence[Partner] = ()) -> dict[str, Partner]:
    """All partners that the page offers, by name: scripts, chance, what comes with the package, and `more`."""
    from housemates.policies.partners import shipped

    found = [scripted(name) for name in OFFERED]
    return {p.name: p for p in (*found, Partner("random", "random"), *shipped(), *more)}


def lent(run: Path) -> list[str]:
    """Whom the folder of a run offers, as names for `resolve`: its agent first, then its population, if it has them yet."""
    if not (run / "config.json").is_file():
        return []
    found = [str(run / "agent")] if (run / AGENT / "policy.json").is_file() else []
    return found + ([str(run)] if any(run.glob("stage1/members/*/policy.json")) else [])


def title(partner: Partner) -> str:
    """What a partner is called on the page."""
    meta = partner.meta
    method = meta.get("method")
    if partner.name in TITLES:
        return TITLES[partner.name]
    if method and partner.name.startswith(f"{meta.get('task')}/") and "member" in meta:
        # What comes with the package has a path for a name, too long to be read.
        return f"trained robot: {method} from {meta['observations']}, {meta['seed']}-{meta['member']}"
    return f"{partner.name} ({method})" if method else partner.name


class Mind:
    """A policy (or whatever acts like one) in one robot of a batch of one home."""

    def __init__(self, partner: Partner, batch: Batch, robot: int, seed: int = 0) -> None:
        import torch

        policy = load(partner)
        if policy is None:
            raise ValueError(f"{partner.name} is no policy")
        if getattr(policy.config, "robots", batch.robots) != batch.robots:
            raise ValueError(f"{partner.name} was trained for {policy.config.robots} robots in a home, not for {batch.robots}")
        self.policy, self.batch, self.robot = policy, batch, robot
        self.memory = policy.initial_memory(1)
        self.latent = torch.tensor([partner.latent]) if partner.kind == "latent" else None
        self.generator = torch.Generator().manual_seed(seed)
        self._cameras: Cameras | None = None

    def decide(self) -> tuple[int, np.ndarray | None, float]:
        """Its decision now: the action, the probabilities [25] (None if it has none) and the value (nan if not known)."""
        import torch

        seen = {name: torch.from_numpy(self._see(name)) for name in self.policy.config.observations}
        with torch.inference_mode():
            found: Any = self.policy.act(seen, self.memory, latent=self.latent, generator=self.generator)
        self.memory = found.memory
        likely = found.logits.softmax(-1)[0].numpy() if bool(found.log_prob.isfinite().all()) else None
        return int(found.action[0]), likely, float(found.value[0])

    def _see(self, name: str) -> np.ndarray:
        """One observation [1, ...] of its robot; pictures have the size that the policy was made for."""
        which = np.zeros((1, self.batch.robots), bool)
        which[0, self.robot] = True
        if name not in PICTURES:
            return self.batch.observe(name, which=which)[:, self.robot]
        if self._cameras is None:
            batch, pixels = self.batch, self.policy.config.picture
            self._cameras = Cameras(batch.world, batch.episodes, batch.homes, 1, batch.robots, pixels)
        channels, kind = PICTURES[name]
        kind = seen_as(self.policy.config, name, kind)
        size = self._cameras.pixels
        out: np.ndarray = np.zeros((1, self.batch.robots, size, size, channels), kind)
        self._cameras.heads(name, self.batch.records, which, out)
        return out[:, self.robot]


def seat(batch: Batch, robot: int, partner: Partner) -> None:
    """Make a robot of the first home the partner's from the present state on; its running skill goes on.

    People and scripts are not interrupted by a partner that comes near, policies are.
    """
    state = batch.state
    state.controllable[0, robot] = partner.kind != "script"
    state.interruptible[0, robot] = partner.kind not in ("script", "person")
    state.script[0, robot] = state.plan[0, robot] = -1
    if partner.kind == "script":
        plan = script(partner.script)
        state.script[0, robot], state.plan_at[0, robot] = plan, 0
        state.plan[0, robot] = _better_order(batch, robot) if plan == BOTH_HALVES else plan


def _better_order(batch: Batch, robot: int) -> int:
    """The solo plan with the shorter way from where a robot stands."""
    from housemates.sim.tick import plan_length

    first, second = (int(plan) for plan in batch.world.task[0]["solo"])
    lengths = [plan_length(batch.world, batch.records[0], robot, plan) for plan in (first, second)]
    return first if lengths[0] <= lengths[1] else second
