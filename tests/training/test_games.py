"""An agent that plays several games with the same partner keeps its memory between them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY, weights
from housemates.agents.agent import scripted
from housemates.methods.ego import Coordination
from housemates.sim.rules import Rules
from housemates.training.trainer import Trainer

RULES = Rules(horizon=12)


def agent_trainer(folder, games=3, **changes) -> Trainer:
    """A second stage with short episodes and two scripts, redrawn after every update."""
    config = replace(SHORT, games=games, rules=RULES, disturbances=replace(SHORT.disturbances, share=0.0), **changes)
    method = Coordination(TINY, 2, 0, [scripted("solo"), scripted("solo_first")], redraw=1)
    return Trainer(config, method, episodes(), [home()], folder, 2, stage=2)


def watch(trainer):
    """The agent's decisions at the start of every episode of four updates: (home, whether it remembered something)."""
    store, seen = next(player.store for player in trainer.players if player.store is not None), []
    for _ in range(4):
        # Decisions that are still open are carried over into the next rollout, at its front.
        carried = int((~store.closed).sum())
        trainer.step()
        first = np.flatnonzero(store.clock == 0)
        first = first[first >= carried]
        seen.extend(zip((store.stream[first] // 2).tolist(), store.memory[first].any(axis=1).tolist(), strict=True))
    return seen


@pytest.mark.parametrize("learner", ["torch", "fused"])
@pytest.mark.parametrize("games", [1, 2, 3])
def test_the_agent_forgets_after_every_series(tmp_path, games, learner):
    seen = watch(agent_trainer(tmp_path, games, learner=learner))
    for place in range(SHORT.num_envs):
        remembers = [known for where, known in seen if where == place]
        assert len(remembers) > games
        assert remembers == [number % games > 0 for number in range(len(remembers))]


def test_partners_change_only_between_series(tmp_path):
    trainer = agent_trainer(tmp_path, 3)
    collector, changed = trainer.collector, []
    real = collector._next_team

    def next_team(done):
        before = collector.slots.copy()
        real(done)
        other = (before.script != collector.slots.script).any(axis=1) | (before.learns != collector.slots.learns).any(axis=1)
        changed.extend(collector.played[other].tolist())

    collector._next_team = next_team
    for _ in range(4):
        trainer.step()
    assert changed
    assert set(changed) == {0}


@pytest.mark.parametrize("learner", ["torch", "fused"])
def test_a_resumed_training_is_the_same(tmp_path, learner):
    whole = agent_trainer(tmp_path / "whole", learner=learner)
    half = agent_trainer(tmp_path / "half", learner=learner)
    for _ in range(2):
        half.step()
    half.save()
    again = agent_trainer(tmp_path / "half", learner=learner)
    assert again.load()
    for _ in range(4):
        whole.step()
    for _ in range(2):
        again.step()
    assert all(np.array_equal(a, b) for a, b in zip(weights(whole), weights(again), strict=True))


def test_what_is_learned_from_is_what_was_remembered(tmp_path):
    """Log-probabilities of the stored decisions, computed along the chunks of training, are those of acting."""
    trainer = agent_trainer(tmp_path, 3, learner="torch")
    trainer.collector.collect(64)
    store = trainer.players[0].store
    policy = trainer.players[0].policy
    assert (~store.start & (store.clock == 0)).any()
    memory = {}
    for i in range(store.size):
        stream = int(store.stream[i])
        known = torch.from_numpy(store.memory[i])[None]
        if stream in memory and not store.start[i]:
            assert torch.allclose(known, memory[stream], atol=1e-6)
        obs = {name: torch.from_numpy(values[i : i + 1]) for name, values in store.observations.items()}
        memory[stream] = policy.act(obs, known, generator=torch.Generator()).memory


def test_less_than_one_game_is_refused():
    with pytest.raises(ValueError, match="games"):
        replace(SHORT, games=0)
