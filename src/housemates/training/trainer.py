"""The training loop: collect decisions, improve the learners, write everything down, continue exactly where it stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from housemates.config import to_json
from housemates.homes.home import Home
from housemates.lookahead.settings import LookAhead, evasions_only
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import seen_as
from housemates.run_folder import MOMENTS, StageFolder, checkpoint_place
from housemates.sim.batch import Batch
from housemates.sim.rules import Rules
from housemates.sim.state import OUTCOMES
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import task_key
from housemates.training import checkpoint as resume
from housemates.training.algorithm import Algorithm
from housemates.training.algorithms import find_algorithm
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
from housemates.training.distillation import TAUGHT, Distillation, Teacher
from housemates.training.distributed import Group, interrupted
from housemates.training.disturbances import KINDS
from housemates.training.method import Method
from housemates.training.partner_model import PartnerModel
from housemates.training.path import continued
from housemates.training.rollout import Collector, Learner, Slots
from housemates.training.settings import LATER, Training
from housemates.training.store import ENDS, Store

RECENT = 2000
"""Episodes over which success and the like are averaged in the log."""
REMEMBERED = 16_000
"""Episodes that tell at the end how good each member is."""
DISTURBER_SEED = 77
STAGE_SEED = 500_009
"""What the second stage's seeds lie apart from the first one's."""


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
        self.algorithms: list[Algorithm | None] = []
        """How each player learns; None: it does not."""
        learning = [policy for policy, trains in zip(method.policies, method.trains, strict=True) if trains]
        self.algorithm = find_algorithm(config.learner)
        self.path = self.algorithm.choose_path(config, learning, device, self.group)
        for index, (policy, trains) in enumerate(zip(method.policies, method.trains, strict=True)):
            policy.to(device)
            generator = torch.Generator(device).manual_seed(seed * 1000 + index)
            # PPO learns from what the policy wanted, so as little of it as possible is replaced.
            ahead = evasions_only(LookAhead(config.look_ahead)) if config.look_ahead and stage == 2 and trains else None
            self.players.append(Learner(policy, generator=generator, look_ahead=ahead))
            self.algorithms.append(None)
            if trains:
                # Stores grow; this is what a rollout of ten steps a decision needs.
                self._learns(index, share * robots * (config.rollout_decisions or -(-config.rollout_steps // 10)))
        slots = self._pairs(0, share, robots)
        if slots is None:
            raise ValueError("a method must say who plays before the first update")
        disturber = None
        if stage == 2:
            seeds = [config.seed, self.group.rank, DISTURBER_SEED]
            disturber = method.disturber(self.batch, config.disturbances, seeds)
        games = config.games if stage == 2 else 1
        taught = config.distillation if stage == 2 and robots > 1 else Distillation()
        if taught.weight and not any(p.store is not None and TAUGHT in p.store.labels for p in self.players):
            raise ValueError(
                f"learner = {config.learner} learns nothing from a teacher - leave out distillation.weight, or use PPO"
            )
        teacher = Teacher(self.batch, taught.share) if taught.weight else None
        how = config.learner != "torch", games
        self.collector = Collector(self.batch, self.players, slots, disturber, *how, teacher=teacher)
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
        """Give a player what learning needs: an algorithm and a store."""
        player = self.players[index]
        # Only the agent of stage 2 models partners and has a teacher.
        none = {"partner_model": PartnerModel(), "distillation": Distillation()}
        training = self.config if self.stage == 2 else dataclasses.replace(self.config, **none)
        algorithm = self.algorithms[index] = self.algorithm(player, training, self.batch, self.group, index, self.path)
        config, known = player.policy.config, {name: self.batch.observation(name) for name in algorithm.observations}
        shapes = {name: (shape, seen_as(config, name, kind)) for name, (shape, kind) in known.items()}
        ends = {name: self.batch.observation(name) for name in self.method.needs}
        player.store = Store(shapes, config.memory_size, capacity, ends, algorithm.labels)

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
            before, steps = self.progress, self.steps
            row = self.step()
            # Before the resume point that follows it, so that no interruption leaves a run without its middle.
            if self.stage == 1 and before < 0.5 <= self.progress:
                self.write_members(MOMENTS[1])
            for number in self.config.checkpoints if self.stage == 2 else ():
                if steps < number <= self.steps:
                    self.write_members(checkpoint_place(number))
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
            self.collector.pending = self._pairs(self.update, self.batch.size, self.batch.robots) or self.collector.pending
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

    def _update(self) -> tuple[dict[str, Any], int]:
        """Improve every learner; returns what is logged (means over the learners) and how many decisions were used."""
        streams, row = self.batch.size * self.batch.robots, {}
        closed, self.trouble = 0, ""
        learners = sum(p.store is not None for p in self.players)
        for index, (player, algorithm) in enumerate(zip(self.players, self.algorithms, strict=True)):
            if player.store is None or algorithm is None:
                continue
            bonus = self.method.bonus(index, player.store)
            losses = algorithm.update(player.store, streams, bonus, self.rng, max(0.0, 1.0 - self.progress))
            closed += int(player.store.closed.sum())
            wrong = not_finite(losses)
            self.trouble = self.trouble or (f"{self.method.place(index)}: {wrong}" if wrong else "")
            if losses.get("entropy", np.inf) < COLLAPSED:
                row.setdefault("collapsed", []).append(self.method.place(index))
            for name, value in losses.items():
                row[f"losses/{name}"] = row.get(f"losses/{name}", 0.0) + value / learners
            row["charts/learning_rate"] = algorithm.rate
        return row, closed

    def _pairs(self, update: int, homes: int, robots: int) -> Slots | None:
        """Who plays from now on, None if nothing changes."""
        slots = self.method.pairs(update, self.rng, homes, robots)
        shared = self.config.one_draw and getattr(self.method, "redraws", True)
        return slots.of_first_home() if slots is not None and shared else slots

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
        """Write the policies as they are now, for everything that comes after training; moment: start, middle, a checkpoint."""
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
        before = LATER | meta["config"]
        if diverged(self.folder):
            # The one thing that may change on the way, since it would diverge again.
            before["ppo"] = config["ppo"]
        if find_algorithm(before["learner"]) is self.algorithm:
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
        for index, (player, algorithm) in enumerate(zip(self.players, self.algorithms, strict=True)):
            arrays[f"{index}/generator"] = player.generator.get_state().numpy()
            arrays[f"{index}/scale"] = player.scale.state()
            # Frozen players come from files that are never changed.
            if algorithm is not None:
                arrays |= {f"{index}/{k}": v.cpu().numpy() for k, v in self._weights(index).items()}
                arrays |= {f"{index}/{k}": v for k, v in algorithm.state().items()}
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
        """Every tensor of a learner's networks by name."""
        algorithm = self.algorithms[index]
        networks = {} if algorithm is None else algorithm.networks()
        return {f"{part}/{name}": tensor for part, network in networks.items() for name, tensor in network.state_dict().items()}

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
        for index, (player, algorithm) in enumerate(zip(self.players, self.algorithms, strict=True)):
            player.generator.set_state(torch.from_numpy(arrays[f"{index}/generator"].copy()))
            player.scale.load(arrays[f"{index}/scale"])
            if algorithm is not None:
                for name, tensor in self._weights(index).items():
                    tensor.copy_(torch.from_numpy(arrays[f"{index}/{name}"]))
                algorithm.load(group(f"{index}/"))
        self.collector.refresh()
        self.rng.bit_generator.state = meta["rng"]
        self.update, self.decisions, self.steps = meta["counters"]
        self.seconds, self.alone = meta["seconds"], meta["alone"]


def environment_hash(episodes: Episodes, rules: Rules, robots: int) -> str:
    """A short hash of what is played: task, homes, rules, robots."""
    key = [task_key(episodes.task), list(episodes.hashes), dataclasses.asdict(rules), robots]
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
