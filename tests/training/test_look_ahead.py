"""Training an agent that looks ahead: it learns from its own decisions, and a resumed training goes on bit for bit."""

from dataclasses import replace

import pytest

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY
from housemates.agents.agent import Agent, learned, looking
from housemates.lookahead.settings import LookAhead, evasions_only
from housemates.methods.ego import Coordination, check_partners
from housemates.policies.checkpoint import save_policy
from housemates.policies.policy import Policy
from housemates.runs.train import new_run
from housemates.training.trainer import Trainer


def stage2(folder, look_ahead: str = "guess", decisions: int = 600, stage: int = 2) -> Trainer:
    save_policy(folder / "partner", Policy(TINY, seed=5), {})
    method = Coordination(TINY, 2, 0, [learned(folder / "partner", "partner")])
    config = replace(SHORT, decisions=decisions, look_ahead=look_ahead)
    return Trainer(config, method, episodes(), [home()], folder / "stage2", stage=stage)


def test_the_learner_of_stage_two_looks_ahead_and_nobody_else(tmp_path):
    trainer = stage2(tmp_path)
    assert [player.look_ahead for player in trainer.players] == [evasions_only(LookAhead("guess")), None]


def test_stage_one_is_as_it_was(tmp_path):
    assert stage2(tmp_path, stage=1).players[0].look_ahead is None


def test_what_is_stored_is_the_policys_own_decision(tmp_path):
    trainer = stage2(tmp_path)
    collector = trainer.collector
    collector.actors.planners[0].revise = lambda rows, logits, wanted, decided, memory: (wanted + 1) % 25
    collector.collect(200)
    store = trainer.players[0].store
    taken = store.numbers["action"][: store.size]
    just_decided = (collector.open_at >= 0) & (collector.actions >= 0)
    assert just_decided.any()
    assert (collector.actions[just_decided] == (taken[collector.open_at[just_decided]] + 1) % 25).all()


def test_a_resumed_training_with_look_ahead_goes_on_bit_for_bit(tmp_path):
    whole = stage2(tmp_path / "whole")
    whole.run()
    assert whole.collector.actors.planners[0].counts[:3].sum() > 0
    first = stage2(tmp_path / "parts")
    first.run(seconds=0.0)
    assert not first.done
    second = stage2(tmp_path / "parts")
    assert second.load()
    second.run()
    for a, b in zip(whole.players[0].policy.parameters(), second.players[0].policy.parameters(), strict=True):
        assert (a == b).all()


def test_a_run_is_asked_for_it_by_a_setting():
    run = new_run({"method": "bdp", "preset": "smoke"}, ["look_ahead=velocity"], "cpu")
    assert run.training.look_ahead == "velocity"


def test_partners_that_look_ahead_are_refused():
    partner = looking(Agent("random", "random"), LookAhead())
    with pytest.raises(ValueError, match="without"):
        check_partners([partner])


def test_an_unknown_look_ahead_is_refused():
    with pytest.raises(ValueError, match="look_ahead"):
        new_run({"method": "bdp", "preset": "smoke"}, ["look_ahead=oracle_action"], "cpu")
