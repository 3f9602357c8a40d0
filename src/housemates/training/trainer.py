"""The training loop: collect decisions, improve the learners, write everything down, continue exactly where it stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from housemates.config import to_json
from housemates.fused.learner import Learner as FusedLearner
from housemates.homes.home import Home
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import seen_as
from housemates.policies.policy import Auxiliary
from housemates.run_folder import MOMENTS, StageFolder
from housemates.sim.batch import Batch
from housemates.sim.rules import Reward, Rules
from housemates.sim.state import OUTCOMES
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import task_key
from housemates.training import checkpoint as resume
from housemates.training import fused_update
from housemates.training.checks import (
    COLLAPSED,
    HOMES,
    PROBES,
    DivergedError,
    broken,
    diverged,
    free_riding,
    give_up,
    gone_on,
    not_finite,
    standing_partner,
)
from housemates.training.distributed import Group, interrupted
from housemates.training.disturbances import KINDS, Disturbances, Disturber
from housemates.training.method import Method
from housemates.training.path import choose, continued
from housemates.training.ppo import PPO, prepare, update
from housemates.training.rollout import Collector, Learner
from housemates.training.store import ENDS, Store

RECENT = 2000
"""Episodes over which success and the like are averaged in the log."""
REMEMBERED = 16_000
"""Episodes that tell at the end how good each member is."""
DISTURBER_SEED = 77
STAGE_SEED = 500_009
"""What the second stage's seeds lie apart from the first one's."""


@dataclass(frozen=True)
class Training:
    """How long and how widely one stage is trained."""

    decisions: int = 8_000_000
    """The budget in decisions of all learners together; 0 where it is given in steps. Never in minutes."""
    num_envs: int = 256
    """Homes simulated at once, shared among the workers."""
    rollout_decisions: int = 32
    """Decisions per learning robot between two updates, on average; 0 where a rollout is given in steps."""
    seed: int = 0
    """Decides weights, episodes and everything that is drawn."""
    save_every: int = 20
    """Updates between two resume points."""
    ppo: PPO = field(default_factory=PPO)
    """How policies are improved."""
    rules: Rules = field(default_factory=lambda: Rules(reward=Reward(collision="timeout")))
    """The game."""
    disturbances: Disturbances = field(default_factory=Disturbances)
    """Partners of stage 2 that stop or do not react in some episodes."""
    steps: int = 0
    """The budget in simulation steps of all homes together (the paper's currency; a step of a home with two robots is one
    step); 0 where it is given in decisions."""
    rollout_steps: int = 0
    """Simulation steps of each home between two updates; 0 where a rollout is given in decisions."""
    learner: Literal["auto", "torch", "fused"] = "auto"
    """What computes: torch, or fused kernels, which are twice as fast for small networks on a CPU; auto: those where they
    can."""

    def __post_init__(self) -> None:
        for name in ("num_envs", "save_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        for name in ("decisions", "steps", "rollout_decisions", "rollout_steps"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name)} - it must not be negative")
        if self.seed < 0:
            raise ValueError(f"seed = {self.seed} - a seed must not be negative")

    def check(self) -> None:
        """Refuse settings that contradict each other; single ones may be changed one after the other before that."""
        for one, other in (("decisions", "steps"), ("rollout_decisions", "rollout_steps")):
            if (getattr(self, one) > 0) == (getattr(self, other) > 0):
                both = f"{one} = {getattr(self, one)} and {other} = {getattr(self, other)}"
                raise ValueError(f"{both} - one of them must be positive and the other 0")
        if self.ppo.per_step and self.ppo.discount != self.rules.discount:
            both = f"ppo.discount = {self.ppo.discount} and rules.discount = {self.rules.discount}"
            raise ValueError(f"{both} - credit per simulation step needs one discount: make them equal")

    def share(self, decisions: int, steps: int) -> float:
        """Which share of the budget is spent after so many decisions and steps; 1 or more at the end."""
        return steps / self.steps if self.steps else decisions / self.decisions

    @property
    def budget(self) -> tuple[str, int]:
        """In what the budget is counted (`decisions` or `steps`, as rows of the log name it), and how many."""
        return ("steps", self.steps) if self.steps else ("decisions", self.decisions)


class Trainer:
    """One stage of training in one folder."""

    def __init__(
        self,
        config: Training,
        method: Method,
        episodes: Episodes,
        homes: Sequence[Home],
        folder: Path,
        robots: int = 2,
        group: Group | None = None,
        pixels: int = 64,
        device: str = "cpu",
        stage: int = 1,
        meta: dict[str, Any] | None = None,
    ) -> None:
        """meta: JSON values to keep with every policy; a run is resumed only with the same ones."""
        self.stage, self.meta = stage, json.loads(json.dumps(meta or {}))
        self.config, self.method, self.folder, self.group = config, method, Path(folder), group or Group()
        self.files = StageFolder(self.folder)
        config.check()
        if config.num_envs % self.group.size:
            raise ValueError(f"{config.num_envs} homes cannot be shared by {self.group.size} workers - choose a multiple")
        share, seed = config.num_envs // self.group.size, config.seed * 1009 + self.group.rank + STAGE_SEED * (stage - 1)
        self.batch = Batch(episodes, homes, share, robots, config.rules, seed, pixels=pixels)
        self.environment = environment_hash(episodes, config.rules, robots)
        unknown = [name for name in method.needs if name not in ENDS]
        if unknown:
            raise ValueError(f"the method needs '{unknown[0]}' at the end of decisions - choose among: {', '.join(ENDS)}")
        method.begin(self.group, self.batch)
        self.rng = np.random.default_rng([config.seed, self.group.rank, *([stage] if stage > 1 else [])])
        self.players: list[Learner] = []
        self.heads: list[Auxiliary | None] = []
        self.optimisers: list[torch.optim.Optimizer | None] = []
        self.learners: list[FusedLearner | None] = []
        """Those who learn by the fused path."""
        learning = [policy for policy, trains in zip(method.policies, method.trains, strict=True) if trains]
        self.path = choose(config.learner, learning, device, self.group)
        for index, (policy, trains) in enumerate(zip(method.policies, method.trains, strict=True)):
            policy.to(device)
            generator = torch.Generator(device).manual_seed(seed * 1000 + index)
            self.players.append(Learner(policy, generator=generator))
            self.heads.append(None)
            self.optimisers.append(None)
            self.learners.append(None)
            if trains:
                # Stores grow; this is what a rollout of ten steps a decision needs.
                self._learns(index, share * robots * (config.rollout_decisions or -(-config.rollout_steps // 10)))
        slots = method.pairs(0, self.rng, share, robots)
        if slots is None:
            raise ValueError("a method must say who plays before the first update")
        disturber = None
        if stage == 2 and config.disturbances.share:
            disturber = Disturber(self.batch, config.disturbances, [config.seed, self.group.rank, DISTURBER_SEED])
        self.collector = Collector(self.batch, self.players, slots, disturber, fused=config.learner != "torch")
        self.clock: Callable[[], float] = time.perf_counter
        """What the log's seconds are counted with."""
        self.alone: float | None = None
        """Success of the last probe beside a robot that stands still."""
        self.update, self.decisions, self.steps, self.seconds = 0, 0, 0, 0.0
        shapes = {"outcome": (0,), "steps": (0,), "total": (0,), "player": (0, robots), "latent": (0, robots)}
        shapes |= {"subgoals": (0, 2), "disturbed": (0,)}
        self.recent: dict[str, np.ndarray] = {name: np.zeros(shape) for name, shape in shapes.items()}
        self.trouble = ""
        """What was not finite in the last update of this worker."""
        self.stopping = False
        """Set this (from a signal, say) to end `run` after the present update, as if its time were over."""
        self.group.same_weights([p.policy for p in self.players])

    def _learns(self, index: int, capacity: int) -> None:
        """Give a player what learning needs: a store, an optimiser, heads that exist in training only."""
        player, ppo = self.players[index], self.config.ppo
        config, device = player.policy.config, player.policy.actor.weight.device
        names = dict.fromkeys(config.observations)
        if config.informed:
            names["privileged"] = None
        learnt = list(player.policy.parameters())
        if ppo.auxiliary:
            names["predicates"] = None
            head = Auxiliary(config.hidden, self.batch.observation("predicates")[0][0], seed=index).to(device)
            self.heads[index] = head
            learnt += head.parameters()
        known = {name: self.batch.observation(name) for name in names}
        shapes = {name: (shape, seen_as(config, name, kind)) for name, (shape, kind) in known.items()}
        ends = {name: self.batch.observation(name) for name in self.method.needs}
        player.store = Store(shapes, config.memory_size, capacity, ends)
        optimiser = self.optimisers[index] = torch.optim.Adam(learnt, lr=ppo.learning_rate, eps=1e-5, fused=True)
        if self.path == "fused":
            self.learners[index] = FusedLearner(player.policy, optimiser, self.heads[index])

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.progress >= 1

    @property
    def progress(self) -> float:
        """Which share of the budget is spent."""
        return self.config.share(self.decisions, self.steps)

    def run(self, show: Callable[[dict[str, Any]], None] | None = None, seconds: float | None = None) -> bool:
        """Train until the budget is spent (True) or `seconds` have passed (False); both leave a resume point."""
        began = time.perf_counter()
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.update == 0 and self.stage == 1:
            self.write_members(MOMENTS[0])
        while not self.done:
            before = self.progress
            row = self.step()
            # Before the resume point that follows it, so that no interruption leaves a run without its middle.
            if self.stage == 1 and before < 0.5 <= self.progress:
                self.write_members(MOMENTS[1])
            if self.group.rank == 0:
                resume.append(self.files.metrics, row)
                if show is not None:
                    show(row)
            late = self.stopping or interrupted() or (seconds is not None and time.perf_counter() - began > seconds)
            late = self.group.any(late)
            if late or self.done or self.update % self.config.save_every == 0:
                self.save()
            if late:
                break
        if self.done:
            self.write_members()
        return self.done

    def step(self) -> dict[str, Any]:
        """One rollout and one update of every learner; returns the row of the log."""
        began = self.clock()
        before, clock = dict(self.collector.seconds), int(self.batch.state.clock.sum())
        self.method.progress = self.progress
        if self.collector.disturber is not None:
            self.collector.disturber.progress = self.progress
        if self.update:
            self.collector.pending = self.method.pairs(self.update, self.rng, self.batch.size, self.batch.robots) or (
                self.collector.pending
            )
        finished = self._collect()
        started = self.clock()
        row, closed = self._update()
        row |= {f"method/{k}": v for k, v in self.method.after_update([p.store for p in self.players], finished).items()}
        self.collector.refresh()
        self._check({k.rpartition("/")[2]: v for k, v in row.items() if k.startswith("method/")})
        steps = int(finished["steps"].sum()) + int(self.batch.state.clock.sum()) - clock
        closed, steps = (int(n) for n in self.group.sums(np.array([closed, steps], np.float64)))
        self._remember(finished)
        now = self.clock()
        self.update += 1
        self.decisions += closed
        self.steps += steps
        if self.stage == 2 and int(PROBES * self.progress) > int(PROBES * self.method.progress):
            self.alone = self._probe()
            now = self.clock()
        self.seconds += now - began
        shares = {k: v - before[k] for k, v in self.collector.seconds.items()} | {"update": now - started}
        row |= {f"time/{k}": v / (now - began) for k, v in shares.items()}
        speed = {"charts/decisions_per_second": closed / (now - began), "charts/SPS": steps / (now - began)}
        return self._row() | speed | row

    def _collect(self) -> dict[str, np.ndarray]:
        """One rollout."""
        slots = self.collector.slots
        learners = [index for index, player in enumerate(self.players) if player.store is not None]
        wanted = int((slots.learns & np.isin(slots.player, learners)).sum()) * self.config.rollout_decisions
        return self.collector.collect(wanted, steps=self.config.rollout_steps).arrays()

    def _update(self) -> tuple[dict[str, float], int]:
        """Improve every learner; returns what is logged (means over the learners) and how many decisions were learnt from."""
        config, streams = self.config.ppo, self.batch.size * self.batch.robots
        row: dict[str, Any] = {}
        closed, self.trouble = 0, ""
        rate, entropy = config.left(max(0.0, 1.0 - self.progress))
        learners = sum(p.store is not None for p in self.players)
        for index, (player, optimiser) in enumerate(zip(self.players, self.optimisers, strict=True)):
            if player.store is None or optimiser is None:
                continue
            for group in optimiser.param_groups:
                group["lr"] = rate
            store, scale = player.store, player.scale
            ready = prepare(store, config, streams, self.method.bonus(index, store), self.group)
            if config.normalise_value:
                scale.follow(ready.target.numpy()[store.closed], player.policy.critic, self.group)
            learner, given = self.learners[index], (store, ready, config, self.rng)
            if learner is not None:
                losses = fused_update.update(learner, *given, rate, self.group, entropy, scale)
            else:
                losses = update(player.policy, optimiser, *given, self.group, entropy, scale, self.heads[index])
            closed += int(store.closed.sum())
            wrong = not_finite(losses)
            self.trouble = self.trouble or (f"{self.method.place(index)}: {wrong}" if wrong else "")
            if losses.get("entropy", np.inf) < COLLAPSED:
                row.setdefault("collapsed", []).append(self.method.place(index))
            for name, value in losses.items():
                row[f"losses/{name}"] = row.get(f"losses/{name}", 0.0) + value / learners
        return row | {"charts/learning_rate": rate}, closed

    def _probe(self) -> float:
        """The agent beside a standing robot; the first worker plays."""
        agent = next(player.policy for player in self.players if player.store is not None)
        batch, rate = self.batch, 0.0
        if self.group.rank == 0:
            place = batch.episodes, batch.homes, batch.world, batch.rules, batch.robots
            count, fused = min(HOMES, batch.size), self.config.learner != "torch"
            rate = standing_partner(agent, *place, self.update, batch.pixels, count, fused)
        return float(self.group.sums(np.array([rate]))[0])

    def verdict(self) -> str | None:
        """What is wrong with an agent that leaves the work to its partners, None if nothing is or this is stage 1."""
        row = self._row()
        return free_riding(row["charts/success"], row.get("charts/agent_subgoals"), self.alone)

    def _check(self, learnt: dict[str, float]) -> None:
        """End the training on all workers if something is not finite: a loss, a gradient, a weight or what a method learns."""
        what = self.trouble
        for name, value in learnt.items():
            what = what or ("" if np.isfinite(value) else f"the method's {name} is {value}")
        for index, player in enumerate(self.players):
            if player.store is not None and not what:
                name = broken(self._weights(index))
                what = name and f"{self.method.place(index)}: {name} is not finite"
        if self.group.any(bool(what)):
            what = what or "the numbers of another worker are not finite"
            if self.group.rank == 0:
                raise give_up(what, self.update + 1, self.folder, to_json(self.config.ppo))
            raise DivergedError(what)

    def _remember(self, finished: dict[str, np.ndarray]) -> None:
        # All columns in one message: every one makes all workers wait for the slowest.
        columns = [finished[name].reshape(-1, math.prod(old.shape[1:])) for name, old in self.recent.items()]
        gathered = self.group.gather(np.concatenate(columns, axis=1, dtype=np.float64))
        ends = np.cumsum([column.shape[1] for column in columns])[:-1]
        for (name, old), new in zip(self.recent.items(), np.split(gathered, ends, axis=1), strict=True):
            self.recent[name] = np.concatenate([old, new.reshape(-1, *old.shape[1:])])[-REMEMBERED:]

    def standing(self, player: int, latent: int | None = None) -> dict[str, float | None]:
        """How a member (or one of its latents) has done lately: success of all episodes it took part in, and of those that
        it played alone with itself, each with the number of episodes."""
        mine = self.recent["player"] == player
        if latent is not None:
            mine &= self.recent["latent"] == latent
        found: dict[str, float | None] = {}
        for name, rows in (("success", mine.any(axis=1)), ("self_play_success", mine.all(axis=1))):
            won = self.recent["outcome"][rows] == OUTCOMES.index("success")
            found |= {name: float(won.mean()) if len(won) else None, name.replace("success", "episodes"): len(won)}
        return found

    def _row(self) -> dict[str, Any]:
        recent = {name: values[-RECENT:] for name, values in self.recent.items()}
        outcome, stage2 = recent["outcome"], {}
        if self.stage == 2:
            calm = recent["disturbed"] == 0
            achieved, own = recent["subgoals"][calm].sum(axis=0)
            stage2 = {"charts/agent_subgoals": float(own / achieved)} if achieved else {}
            if self.alone is not None:
                stage2["charts/standing_partner"] = self.alone
            for k in range(len(KINDS)) if not calm.all() else ():
                some = outcome[recent["disturbed"] == k]
                if len(some):
                    stage2[f"disturbed/{KINDS[k]}_success"] = float((some == OUTCOMES.index("success")).mean())
        rates = {name: float((outcome == k).mean()) if len(outcome) else 0.0 for k, name in enumerate(OUTCOMES) if k}
        return {
            "update": self.update,
            "decisions": self.decisions,
            "steps": self.steps,
            "seconds": self.seconds,
            **{f"charts/{name}": rate for name, rate in rates.items()},
            "charts/episodes": len(outcome),
            "charts/episodic_return": float(recent["total"].mean()) if len(outcome) else 0.0,
            "charts/episodic_length": float(recent["steps"].mean()) if len(outcome) else 0.0,
            **stage2,
        }

    def write_members(self, moment: str = "") -> None:
        """Write the policies as they are now, for everything that comes after training; moment: start or middle."""
        if self.group.rank == 0:
            spent = {"decisions": self.decisions, "steps": self.steps}
            meta = {"environment": self.environment, **spent, "seed": self.config.seed, **self.meta}
            if self.stage == 2 and self.done:
                row = self._row()
                meta |= {k: row.get(f"charts/{k}") for k in ("success", "agent_subgoals", "standing_partner")}
            for index, player in enumerate(self.players):
                if player.store is not None:
                    save_policy(self.folder / self.method.place(index) / moment, player.policy, meta)

    def save(self) -> None:
        """Leave a resume point: everything, in one folder that appears whole or not at all."""
        self.collector.compact()
        arrays, meta = self._state()
        meta["metrics_bytes"] = resume.length(self.files.metrics)
        resume.save(self.files.resume, self.update, arrays, meta, self.group)
        if self.group.rank == 0:
            gone_on(self.folder)
        self.write_members()

    def load(self) -> bool:
        """Continue from the newest resume point; False if there is none."""
        found = resume.load(self.files.resume, self.group)
        if found is None:
            if self.group.rank == 0:
                resume.truncate(self.files.metrics, 0)
            return False
        arrays, meta = found
        config = to_json(self.config)
        before = meta["config"]
        if diverged(self.folder):
            # The one thing that may change on the way, since it would diverge again.
            before["ppo"] = config["ppo"]
        before["learner"] = config["learner"]
        if before != config or meta["environment"] != self.environment:
            raise ValueError(f"{self.folder} was trained with another configuration - resume it with the one in config.json")
        if meta.get("meta", self.meta) != self.meta:
            raise ValueError(f"{self.folder} was trained with another method or task - resume it with that of config.json")
        if meta["workers"] != self.group.size:
            raise ValueError(
                f"{self.folder} was trained with {meta['workers']} workers - resume it with --workers {meta['workers']}"
            )
        if self.group.rank == 0:
            continued(self.folder, meta.get("path", "torch"), self.path)
        self._restore(arrays, meta)
        self._check({})
        if self.group.rank == 0:
            resume.truncate(self.files.metrics, meta["metrics_bytes"])
        return True

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {f"batch/{k}": v.view(np.uint8) for k, v in self.batch.save().items()}
        arrays |= {f"method/{k}": v for k, v in self.method.state().items()}
        arrays |= {f"recent/{k}": v for k, v in self.recent.items()}
        arrays |= {f"collector/{k}": v for k, v in self.collector.state().items()}
        for index, (player, optimiser) in enumerate(zip(self.players, self.optimisers, strict=True)):
            arrays[f"{index}/generator"] = player.generator.get_state().numpy()
            arrays[f"{index}/scale"] = player.scale.state()
            # Frozen players come from files that are never changed.
            if player.store is not None:
                arrays |= {f"{index}/{k}": v.cpu().numpy() for k, v in self._weights(index).items()}
            if optimiser is not None:
                for k, values in optimiser.state_dict()["state"].items():
                    arrays |= {f"{index}/adam/{k}/{name}": torch.as_tensor(v).cpu().numpy() for name, v in values.items()}
        meta = {
            "config": to_json(self.config),
            "environment": self.environment,
            "meta": self.meta,
            "workers": self.group.size,
            "path": self.path,
            "rng": self.rng.bit_generator.state,
            "counters": [self.update, self.decisions, self.steps],
            "seconds": self.seconds,
            "alone": self.alone,
        }
        return {k: np.ascontiguousarray(v) for k, v in arrays.items()}, meta

    def _weights(self, index: int) -> dict[str, torch.Tensor]:
        """Every tensor of a player's networks by name."""
        head = self.heads[index]
        found = {f"weights/{k}": v for k, v in self.players[index].policy.state_dict().items()}
        return found if head is None else found | {f"head/{k}": v for k, v in head.state_dict().items()}

    def _restore(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        def group(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        saved = self.batch.save()
        self.batch.restore({k: group("batch/")[k].view(v.dtype).reshape(v.shape) for k, v in saved.items()})
        self.method.load(group("method/"))
        # In the same order on all workers, which gather these one after the other; files give them in any order.
        recent = group("recent/")
        self.recent = {name: recent[name] for name in self.recent}
        self.collector.load(group("collector/"))
        for index, (player, optimiser) in enumerate(zip(self.players, self.optimisers, strict=True)):
            player.generator.set_state(torch.from_numpy(arrays[f"{index}/generator"].copy()))
            player.scale.load(arrays[f"{index}/scale"])
            for name, tensor in self._weights(index).items() if player.store is not None else ():
                tensor.copy_(torch.from_numpy(arrays[f"{index}/{name}"]))
            if optimiser is not None:
                state: dict[int, dict[str, torch.Tensor]] = {}
                for key, value in group(f"{index}/adam/").items():
                    number, name = key.split("/")
                    state.setdefault(int(number), {})[name] = torch.from_numpy(value.copy())
                optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        self.collector.refresh()
        self.rng.bit_generator.state = meta["rng"]
        self.update, self.decisions, self.steps = meta["counters"]
        self.seconds, self.alone = meta["seconds"], meta["alone"]


def environment_hash(episodes: Episodes, rules: Rules, robots: int) -> str:
    """A short hash of what is played: task, homes, rules, robots."""
    key = [task_key(episodes.task), list(episodes.hashes), dataclasses.asdict(rules), robots]
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
