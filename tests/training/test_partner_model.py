"""What the agent of stage 2 predicts of its partner: what is noted with its decisions, and who models partners."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home, make, put
from helpers.learners import SHORT, TINY, player, slots
from housemates.agents.agent import learned
from housemates.methods.ego import Coordination
from housemates.methods.self_play import PBT, PopulationSettings
from housemates.policies.checkpoint import read_description, save_policy
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.sim.state import MUST_DECIDE
from housemates.tasks.actions import NO_OP
from housemates.training.partner_model import ACTION, VIEW, PartnerModel, nearest_partner, view_bits, view_size
from housemates.training.rollout import SCRIPTED, Collector
from housemates.training.store import Store
from housemates.training.trainer import Trainer

BOTH = PartnerModel(action=0.3, view=0.2)


def modelling(batch, seed: int = 0, model: PartnerModel = BOTH):
    """A learner whose store keeps what a model needs."""
    made = player(batch, TINY, seed)
    shapes = {name: batch.observation(name) for name in TINY.observations}
    made.store = Store(shapes, TINY.memory_size, 4, labels=model.columns(batch.robots))
    return made


def slow_view(state: np.ndarray, robots: int) -> list[int]:
    """Bits of one observation, said once more."""
    places = 4 + robots - 1
    told = [int(state[-2 * places - 1] == 1.0)]
    for k in range(places):
        distance, heading = state[len(state) - 2 * places + 2 * k], state[len(state) - 2 * places + 2 * k + 1]
        told += [int(distance < metres) for metres in (1.0, 2.0, 4.0)]
        told += [int(np.cos(heading) > 0), int(heading > 0)]
    return told


@pytest.mark.parametrize("robots", [2, 3])
def test_the_bits_of_a_view_are_those_said_slowly(robots):
    batch = make(size=12, robots=robots)
    batch.state.held[:4, 0] = 1
    seen = batch.observe("state").reshape(12 * robots, -1)
    bits = view_bits(seen, robots)
    assert bits.shape == (12 * robots, view_size(robots))
    assert bits.tolist() == [slow_view(row, robots) for row in seen]
    assert bits.any(axis=0).sum() > 10


def test_the_partner_that_is_modelled_is_the_nearest():
    batch = make(robots=3)
    for robot, place in enumerate(((0.0, 0.0), (3.0, 0.0), (4.0, 0.0))):
        put(batch, robot, place)
    assert nearest_partner(batch.state.pose).tolist() == [[1, 2, 1]]


@pytest.mark.parametrize("scripted", [False, True])
def test_a_decision_is_noted_with_what_the_partner_does_from_then_on(scripted):
    batch = make(size=6, rules=Rules(horizon=80))
    learner = modelling(batch)
    others = [] if scripted else [player(batch, TINY, 1, learns=False)]
    second = SCRIPTED if scripted else 1
    seats = slots([[0, second]] * 6, [[True, False]] * 6, [[0, script("solo")]] * 6)
    collector = Collector(batch, [learner, *others], seats)
    noted: dict[int, int] = {}
    same = 0
    for _ in range(120):
        collector.collect(0, steps=1)
        for e, action in noted.items():
            # What the partner has done in the step after: what was noted, or nothing where that was not possible.
            if batch.state.clock[e] and action != MUST_DECIDE:
                assert batch.state.executed[e, 1] in (action, NO_OP)
                same += batch.state.executed[e, 1] == action
        noted = {}
        for e in np.flatnonzero(batch.decide[:, 0]):
            at = collector.open_at[e, 0]
            noted[e] = learner.store.partner_action[at]
            assert learner.store.partner_view[at].tolist() == slow_view(batch.observe("state")[e, 1], 2)
    assert same > 20


def test_labels_survive_the_end_of_a_rollout_and_a_resume():
    batch = make(size=6, rules=Rules(horizon=80))
    collector = Collector(batch, [modelling(batch), modelling(batch, 1)], slots([[0, 1]] * 6))
    collector.collect(40)
    collector.compact()
    kept = collector.state()
    assert {f"0.store.{ACTION}", f"0.store.{VIEW}"} <= kept.keys()
    other = Collector(make(size=6), [modelling(batch), modelling(batch, 1)], slots([[0, 1]] * 6))
    other.load(kept)
    assert (other.players[0].store.partner_view == collector.players[0].store.partner_view).all()


def stage2(folder, model: PartnerModel = BOTH, **changes) -> Trainer:
    if not (folder / "a").exists():
        save_policy(folder / "a", Policy(TINY, seed=1), {})
    method = Coordination(TINY, 2, 0, [learned(folder / "a", "a")], 2)
    training = replace(SHORT, decisions=300, rules=Rules(horizon=60), partner_model=model, **changes)
    return Trainer(training, method, episodes(), [home()], folder / "run", 2, stage=2)


@pytest.mark.parametrize("learner", ["torch", "fused"])
def test_the_agent_learns_to_predict_and_its_policy_keeps_no_head(learner, tmp_path):
    trainer, rows = stage2(tmp_path, learner=learner), []
    trainer.run(rows.append)
    first, last = rows[0], rows[-1]
    assert last["losses/partner_action_loss"] < first["losses/partner_action_loss"]
    assert last["losses/auxiliary_loss"] < first["losses/auxiliary_loss"]
    plain = stage2(tmp_path / "plain", PartnerModel())
    names = [set(one.players[0].policy.state_dict()) for one in (trainer, plain)]
    assert names[0] == names[1]
    assert read_description(tmp_path / "run" / "agent")["config"]["hidden"] == TINY.hidden


def test_a_population_models_nobody(tmp_path):
    method = PBT(TINY, settings=PopulationSettings(members=2))
    trainer = Trainer(replace(SHORT, partner_model=BOTH), method, episodes(), [home()], tmp_path)
    assert all(p.store is not None and not p.store.labels for p in trainer.players)
    assert trainer.collector.watch is None


@pytest.mark.parametrize("wrong", [{"action": -0.1}, {"view": float("nan")}])
def test_weights_without_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=f"partner_model.{next(iter(wrong))}"):
        PartnerModel(**wrong)
