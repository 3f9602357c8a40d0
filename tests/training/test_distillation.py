"""The look-ahead as a teacher of stage 2: what it says of which decisions, that it is learned, and exact resume."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home, make
from helpers.learners import SHORT, TINY, player, slots, weights
from helpers.rollouts import CONFIGS, learner, ready, store
from housemates.agents.agent import learned
from housemates.fused.learner import Learner
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead, evasions_only
from housemates.methods.ego import Coordination
from housemates.methods.self_play import PBT, PopulationSettings
from housemates.policies.checkpoint import save_policy
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.training import fused_update, ppo
from housemates.training.algorithm import Algorithm
from housemates.training.algorithms import ALGORITHMS, register_algorithm
from housemates.training.distillation import TAUGHT, Distillation, Teacher
from housemates.training.ppo import PPO
from housemates.training.rollout import SCRIPTED, Collector
from housemates.training.store import Store
from housemates.training.trainer import Trainer

TAUGHT_WELL = Distillation(weight=1.0, share=1.0)


def taught(batch, share: float = 1.0, quick: bool = True, fused: bool = True) -> Collector:
    """A learner with a teacher beside a robot that does the whole task."""
    made = player(batch, TINY)
    shapes = {name: batch.observation(name) for name in TINY.observations}
    made.store = Store(shapes, TINY.memory_size, 4, labels=TAUGHT_WELL.columns())
    seats = slots([[0, SCRIPTED]] * batch.size, [[True, False]] * batch.size, [[0, script("solo")]] * batch.size)
    return Collector(batch, [made], seats, fused=fused, quick=quick, teacher=Teacher(batch, share))


def test_what_is_told_is_the_look_aheads_decision():
    batch = make(size=6, rules=Rules(horizon=80))
    collector, found = taught(batch), 0
    teach = collector.teacher.teach

    def checked(store, mine, open_at, actions, logits):
        nonlocal found
        fresh = Planner(batch, evasions_only(LookAhead()))
        fresh.plans[...] = collector.teacher.planner.plans
        rows = np.flatnonzero(mine)
        wanted = actions.reshape(-1)[rows].astype(np.int64)
        expected = fresh.revise(rows, logits[rows], wanted, actions)
        teach(store, mine, open_at, actions, logits)
        told = store.taught[open_at.reshape(-1)[rows]]
        assert told.tolist() == np.where(expected == wanted, -1, expected).tolist()
        held = collector.teacher.planner.plans["held"].reshape(-1)[rows]
        # Who does something else than the teacher holds on to nothing.
        assert not held[told >= 0].any()
        found += (told >= 0).sum()

    collector.teacher.teach = checked
    collector.collect(0, steps=80)
    assert found > 5
    assert (collector.players[0].store.taught < 0).any()


def test_both_ways_of_deciding_are_told_the_same():
    stores = []
    for quick in (True, False):
        collector = taught(make(size=6, rules=Rules(horizon=80)), quick=quick)
        assert (collector.quick is not None) == quick
        collector.collect(0, steps=60)
        stores.append(collector.players[0].store)
    assert stores[0].action.tolist() == stores[1].action.tolist()
    assert stores[0].taught.tolist() == stores[1].taught.tolist()


def test_the_teacher_is_asked_in_a_share_of_the_homes():
    batch = make(size=6, rules=Rules(horizon=80))
    collector = taught(batch, share=0.5)
    assert collector.teacher.homes == 3
    collector.collect(0, steps=80)
    store = collector.players[0].store
    told = store.taught >= 0
    assert told.any()
    assert not told[store.stream >= 6].any()


def stage2(folder, distillation: Distillation = TAUGHT_WELL, **changes) -> Trainer:
    if not (folder / "a").exists():
        save_policy(folder / "a", Policy(TINY, seed=1), {})
    method = Coordination(TINY, 2, 0, [learned(folder / "a", "a")], 2)
    changes = {"decisions": 300, "rules": Rules(horizon=60), "distillation": distillation} | changes
    return Trainer(replace(SHORT, **changes), method, episodes(), [home()], folder / "run", 2, stage=2)


@pytest.mark.parametrize("path", ["torch", "fused"])
def test_the_agent_of_stage_2_is_taught(path, tmp_path):
    rows = []
    trainer = stage2(tmp_path, learner=path)
    trainer.run(rows.append)
    assert trainer.path == path
    assert all("losses/distillation_loss" in row for row in rows)
    assert sum(row["losses/distillation_loss"] for row in rows) > 0


@pytest.mark.parametrize("path", ["torch", "fused"])
def test_what_is_told_again_and_again_is_learned(path):
    config, settings = CONFIGS["state"], PPO(chunk=8, num_minibatches=3)
    made = store(config)
    made.numbers[TAUGHT] = np.full(made.size, 7, np.int8)
    policy, head, optimiser = learner(config)
    optimiser.param_groups[0]["lr"] = 0.01
    fused, losses = Learner(policy, optimiser, head) if path == "fused" else None, []
    for _ in range(20):
        args = made, ready(made, settings), settings, np.random.default_rng(3)
        if fused is not None:
            losses.append(fused_update.update(fused, *args, 0.01, imitate=5.0)["distillation_loss"])
        else:
            losses.append(ppo.update(policy, optimiser, *args, imitate=5.0)["distillation_loss"])
    assert losses[0] > 0.5
    assert losses[-1] < 0.1 * losses[0]


def test_a_run_with_a_teacher_continues_exactly(tmp_path):
    whole = stage2(tmp_path / "whole")
    whole.run()
    halves = stage2(tmp_path / "halves")
    for _ in range(4):
        halves.step()
    halves.save()
    again = stage2(tmp_path / "halves")
    assert again.load()
    again.run()
    for one, other in zip(weights(whole), weights(again), strict=True):
        assert (one == other).all()


def test_a_population_has_no_teacher(tmp_path):
    method = PBT(TINY, settings=PopulationSettings(members=2))
    trainer = Trainer(replace(SHORT, distillation=TAUGHT_WELL), method, episodes(), [home()], tmp_path)
    assert all(p.store is not None and not p.store.labels for p in trainer.players)
    assert trainer.collector.teacher is None


def test_an_algorithm_that_learns_nothing_from_a_teacher_is_refused(tmp_path):
    class Deaf(Algorithm):
        """Learns nothing at all."""

        name = "deaf"

        def update(self, store, streams, bonus, rng, left):
            return {}

    register_algorithm(Deaf)
    try:
        with pytest.raises(ValueError, match="learner = deaf learns nothing from a teacher"):
            stage2(tmp_path, learner="deaf")
    finally:
        ALGORITHMS.pop("deaf", None)


def test_settings_without_sense_are_refused():
    for name, value in (("weight", -1.0), ("share", 0.0), ("share", 1.5)):
        with pytest.raises(ValueError, match=f"distillation.{name}"):
            Distillation(**{name: value})
    with pytest.raises(ValueError, match="nothing to learn"):
        replace(SHORT, distillation=TAUGHT_WELL, look_ahead="guess").check()
    assert TAUGHT not in Distillation().columns()
