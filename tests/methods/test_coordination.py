"""Stage 2: who is drawn, who learns, who stays as it was to the last bit, and who is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY
from housemates.agents.agent import Agent, latents, learned, resolve, scripted
from housemates.methods.ego import Coordination, check_partners
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.training.trainer import Trainer

DEPTH = PolicyConfig.laptop(hidden=8, features=8)


@pytest.fixture
def partners(tmp_path) -> list[Agent]:
    """Two members and three latents, of different observations."""
    save_policy(tmp_path / "a", Policy(TINY, seed=1), {})
    save_policy(tmp_path / "b", Policy(PolicyConfig.blind(hidden=8, features=8), seed=2), {})
    save_policy(tmp_path / "c", Policy(replace(TINY, latent=3), seed=3), {})
    return [learned(tmp_path / "a", "a"), learned(tmp_path / "b", "b"), *latents(tmp_path / "c", "c")]


def stage2(folder, partners: list[Agent], config: PolicyConfig = TINY, robots: int = 2, redraw: int = 10, **changes) -> Trainer:
    method = Coordination(config, robots, 0, partners, redraw)
    training = replace(SHORT, **({"decisions": 300} | changes))
    return Trainer(training, method, episodes(), [home()], folder, robots, stage=2)


def bits(trainer: Trainer) -> list[bytes]:
    return [v.numpy().tobytes() for p in trainer.players[1:] for v in p.policy.state_dict().values()]


def test_frozen_partners_do_not_change_by_a_bit(partners, tmp_path):
    trainer = stage2(tmp_path / "run", partners)
    before = bits(trainer)
    files = {p: p.read_bytes() for name in "abc" for p in (tmp_path / name).iterdir()}
    agent = [v.clone() for v in trainer.players[0].policy.parameters()]
    trainer.run()
    assert bits(trainer) == before
    assert {p: p.read_bytes() for p in files} == files
    assert any((a != b).any() for a, b in zip(agent, trainer.players[0].policy.parameters(), strict=True))


def test_only_the_agents_decisions_are_learnt_from_and_counted(partners, tmp_path):
    trainer = stage2(tmp_path / "run", partners)
    row = trainer.step()
    store = trainer.players[0].store
    assert [p.store is None for p in trainer.players] == [False, True, True, True]
    assert row["decisions"] == store.closed.sum()
    learns = trainer.collector.slots.learns
    assert set(store.stream) <= set(np.flatnonzero(learns))


def test_one_robot_of_each_home_is_the_agents_and_the_rest_are_partners(partners):
    method = Coordination(TINY, 2, 0, partners)
    slots = method.pairs(0, np.random.default_rng(0), 4000, 2)
    assert (slots.learns.sum(axis=1) == 1).all()
    assert ((slots.player == 0) == slots.learns).all()
    assert slots.learns[:, 0].mean() == pytest.approx(0.5, abs=0.05)


def test_partners_and_latents_are_drawn_uniformly(partners):
    method = Coordination(TINY, 2, 0, partners)
    slots = method.pairs(0, np.random.default_rng(0), 5000, 2)
    others = ~slots.learns
    drawn = slots.player[others] * 10 + slots.latent[others]
    assert set(drawn) == {10, 20, 30, 31, 32}
    assert np.bincount(drawn)[[10, 20, 30, 31, 32]] == pytest.approx(np.full(5, 1000), abs=150)


def test_three_robots_have_two_partners_drawn_independently(partners):
    three = [replace(p, meta={}) for p in partners]
    slots = Coordination(replace(TINY, robots=3), 3, 0, three).pairs(0, np.random.default_rng(0), 3000, 3)
    pairs = slots.player[~slots.learns].reshape(-1, 2)
    assert (pairs[:, 0] == pairs[:, 1]).mean() == pytest.approx(0.2**2 * 2 + 0.6**2, abs=0.05)


@pytest.mark.parametrize(("update", "drawn"), [(0, True), (1, False), (9, False), (10, True), (15, False), (20, True)])
def test_partners_are_drawn_anew_every_ten_updates(update, drawn, partners):
    assert (Coordination(TINY, 2, 0, partners).pairs(update, np.random.default_rng(0), 4, 2) is not None) == drawn


def test_the_agent_begins_with_weights_of_its_own(partners):
    agent = Coordination(TINY, 2, 0, partners).policies[0]
    assert not any((agent.actor.weight == p.actor.weight).all() for p in [Policy(TINY, seed=k) for k in range(8)])


def test_scripts_chance_and_functions_are_partners_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend("tests/agents")
    partners = [*resolve("script/solo"), *resolve("random"), *resolve("test_partners:forward")]
    trainer = stage2(tmp_path / "run", partners, redraw=1)
    assert trainer.run()
    assert trainer.batch.state.controllable.any(axis=1).all()


def test_an_agent_that_sees_depth_meets_partners_that_do_not(partners, tmp_path):
    trainer = stage2(tmp_path / "run", partners, DEPTH, decisions=40)
    assert trainer.run()


def test_pictures_of_two_sizes_are_refused(tmp_path):
    save_policy(tmp_path / "big", Policy(PolicyConfig.laptop(hidden=8, features=8, picture=128)), {})
    with pytest.raises(ValueError, match="64 and 128 pixels"):
        _ = Coordination(DEPTH, 2, 0, [learned(tmp_path / "big", "big")]).pixels


@pytest.mark.parametrize("name", ["noop", "first_half", "second_half"])
def test_scripted_holdouts_are_refused(name):
    with pytest.raises(ValueError, match=f"script/{name} is held out"):
        check_partners([scripted(name)])


def test_learned_holdouts_are_refused(partners, tmp_path):
    (tmp_path / "holdout.json").write_text("{}")
    with pytest.raises(ValueError, match="is held out"):
        check_partners(partners)


def test_a_population_for_another_number_of_robots_is_refused(partners):
    with pytest.raises(ValueError, match="trained for 2 robots, not 3"):
        check_partners(partners, 3)


def test_nobody_to_train_with_is_told():
    with pytest.raises(ValueError, match="--population"):
        check_partners([])


@pytest.mark.parametrize("name", ["script/solo", "random"])
def test_with_partners_that_people_wrote_training_is_not_zero_shot(name, partners):
    assert check_partners(partners)
    assert not check_partners([*partners, *resolve(name)])


def test_who_trained_with_such_partners_passes_it_on(partners):
    assert not check_partners([replace(partners[0], meta={"zero_shot": False})])


def test_a_stage_that_pauses_after_every_update_ends_with_the_same_agent(partners, tmp_path):
    whole = stage2(tmp_path / "whole", partners, redraw=2)
    whole.run()
    complete = False
    while not complete:
        run = stage2(tmp_path / "pausing", partners, redraw=2)
        run.load()
        complete = run.run(seconds=0)
    one, two = (tmp_path / name / "agent" / "policy.safetensors" for name in ("whole", "pausing"))
    assert one.read_bytes() == two.read_bytes()
    assert run.update > 4


def test_an_agents_files_say_that_it_is_of_stage_2(partners, tmp_path):
    method = Coordination(TINY, 2, 0, partners)
    trainer = Trainer(
        replace(SHORT, decisions=50), method, episodes(), [home()], tmp_path / "run", 2, stage=2, meta={"stage": 2}
    )
    trainer.run()
    assert json.loads((tmp_path / "run" / "agent" / "policy.json").read_text())["meta"]["stage"] == 2
    assert not (tmp_path / "run" / "agent" / "start").exists()
