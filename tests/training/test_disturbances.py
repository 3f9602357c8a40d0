"""Disturbed partners: who is disturbed, what the disturbance does, and that training with it resumes exactly."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.batches import episodes, home, make
from helpers.learners import SHORT, TINY, player, slots
from housemates.agents.agent import learned
from housemates.methods.ego import Coordination
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.runs.presets import PRESETS
from housemates.runs.train import new_run
from housemates.sim.rules import Rules
from housemates.sim.sensors import ABSENT
from housemates.tasks.actions import ACTIONS, NO_OP
from housemates.training.disturbances import BLIND, FREEZE, KINDS, NOISE, SLOW, UNDISTURBED, Disturbances, Disturber
from housemates.training.rollout import SCRIPTED, Collector
from housemates.training.trainer import Trainer

HOMES = 8


def only(kind: str, share: float = 1.0, **more) -> Disturbances:
    """One kind of disturbance alone."""
    return Disturbances(share=share, **({k: float(k == kind) for k in KINDS[1:]} | more))


def disturbed(config: Disturbances, horizon: int = 200, policy: PolicyConfig = TINY) -> Collector:
    """A learner and a partner that is disturbed, in fresh homes."""
    batch = make(size=HOMES, rules=Rules(horizon=horizon))
    players = [player(batch, policy, 0), player(batch, policy, 1, learns=False)]
    seats = slots([[0, 1]] * HOMES, [[True, False]] * HOMES)
    return Collector(batch, players, seats, Disturber(batch, config, [0]))


def played(collector: Collector, steps: int):
    """Yield after every call of the simulator, so many times."""
    for _ in range(steps):
        collector.collect(0)
        yield


def test_the_share_and_the_proportions_are_those_asked_for():
    batch = make(size=2000)
    disturber = Disturber(batch, Disturbances(share=0.5, freeze=1, blind=2, noise=0, slow=1), [3])
    partners = np.tile([False, True], (2000, 1))
    disturber.progress = 1.0
    disturber.begin(np.ones(2000, bool), partners)
    assert (disturber.kind[:, 0] == UNDISTURBED).all()
    counts = np.bincount(disturber.kind[:, 1], minlength=len(KINDS)) / 2000
    assert counts == pytest.approx([0.5, 0.125, 0.25, 0, 0.125], abs=0.04)


def test_in_the_beginning_all_others_freeze_fewer_and_fewer_of_them():
    batch = make(size=2000)
    disturber = Disturber(batch, Disturbances(share=0.4, ramp=0.5, freeze=0, blind=1), [3])
    shares = []
    for disturber.progress in (0.0, 0.25, 0.5, 0.9):
        disturber.begin(np.ones(2000, bool), np.tile([False, True], (2000, 1)))
        counts = np.bincount(disturber.kind[:, 1], minlength=len(KINDS)) / 2000
        shares.append(counts[[UNDISTURBED, FREEZE, BLIND]].tolist())
    wanted = [[0.0, 0.6, 0.4], [0.3, 0.3, 0.4], [0.6, 0.0, 0.4], [0.6, 0.0, 0.4]]
    assert np.array(shares) == pytest.approx(np.array(wanted), abs=0.04)


def test_learners_and_scripts_are_never_disturbed():
    batch = make(size=HOMES, rules=Rules(horizon=60))
    seats = slots([[0, SCRIPTED]] * HOMES, [[True, False]] * HOMES)
    collector = Collector(batch, [player(batch)], seats, Disturber(batch, only("freeze"), [0]))
    collector.collect(400)
    assert (collector.disturber.kind == UNDISTURBED).all()
    assert batch.state.controllable[:, 0].all()


def test_frozen_partners_stand_still_from_their_step_on_with_an_empty_hand():
    collector = disturbed(only("freeze", earliest=20))
    state, disturber = collector.batch.state, collector.disturber
    assert (disturber.kind[:, 1] == FREEZE).all()
    disturber.at[:] = 30
    still: dict[int, np.ndarray] = {}
    froze = False
    for _ in played(collector, 300):
        for e in range(HOMES):
            if state.controllable[e, 1]:
                still.pop(e, None)
                assert state.clock[e] < disturber.at[e, 1] or state.held[e, 1] >= 0
            elif e in still:
                assert state.pose[e, 1].tolist() == still[e].tolist()
                froze = True
            else:
                assert state.held[e, 1] < 0
                still[e] = state.pose[e, 1].copy()
    assert froze


def test_nobody_freezes_before_the_earliest_step():
    batch = make(size=500)
    disturber = Disturber(batch, only("freeze", earliest=25), [1])
    disturber.begin(np.ones(500, bool), np.ones((500, 2), bool))
    assert disturber.at.min() >= 25
    assert disturber.at.max() < 150


def test_after_the_episode_a_frozen_partner_decides_again():
    collector = disturbed(only("freeze"), horizon=40)
    collector.disturber.at[:] = 20
    finished = collector.collect(400).arrays()
    assert len(finished["outcome"]) > HOMES
    assert (finished["disturbed"] == FREEZE).all()
    running = collector.batch.state.clock < collector.disturber.at[:, 1]
    assert collector.batch.state.controllable[running, 1].all()


def shown(collector, name: str) -> np.ndarray:
    """What the robots [E, R, ...] of a new collector are shown when they decide for the first time."""
    seen = np.zeros_like(collector.batch.observe(name))
    decide, asked = collector.actors.decide, []

    def watched(*more):
        asked.append(decide(*more))
        return asked[-1]

    collector.actors.decide = watched
    collector.collect(0, steps=1)
    for decided in asked[0]:
        seen.reshape(-1, *seen.shape[2:])[decided.rows] = decided.seen[name]
    return seen


def test_blind_partners_sense_nobody_and_are_not_interrupted():
    collector = disturbed(only("blind"))
    whole, seen = collector.batch.observe("state"), shown(collector, "state")
    assert (seen[:, 0] == whole[:, 0]).all()
    assert seen[0, 1, -2:].tolist() == pytest.approx(list(ABSENT))
    assert not collector.batch.state.interruptible[:, 1].any()
    assert collector.batch.state.interruptible[:, 0].all()


def test_blind_partners_see_no_robot_in_pictures():
    collector = disturbed(only("blind"), policy=PolicyConfig.laptop(hidden=8, features=8))
    batch = collector.batch
    # Face to face: each sees the other.
    batch.state.pose[:, 0], batch.state.pose[:, 1] = (0.0, 0.0, 0.0), (1.2, 0.0, np.pi)
    whole, seen = batch.observe("depth"), shown(collector, "depth")
    assert (seen[:, 0] == whole[:, 0]).all()
    assert (seen[:, 1] != whole[:, 1]).any()


def test_noise_and_waiting_replace_some_decisions():
    for kind, number in (("noise", NOISE), ("slow", SLOW)):
        disturber = disturbed(only(kind)).disturber
        assert (disturber.kind[:, 1] == number).all()
        rows, actions = np.arange(2 * HOMES), np.full(2 * HOMES, ACTIONS.index("nav obj0"))
        carried = np.stack([disturber.disturb(actions, rows) for _ in range(400)]).reshape(400, HOMES, 2)
        assert (carried[:, :, 0] == actions[0]).all()
        replaced = (carried[:, :, 1] != actions[0]).mean()
        if kind == "slow":
            assert replaced == pytest.approx(0.8, abs=0.05)
            assert set(carried[:, :, 1].ravel()) == {actions[0], NO_OP}
        else:
            assert 0.1 < replaced < 0.5
            assert len(set(carried[:, :, 1].ravel())) == len(ACTIONS)


def stage2(folder, config: Disturbances, decisions: int = 400) -> Trainer:
    """An agent that trains with one disturbed partner."""
    save_policy(folder / "a", Policy(TINY, seed=1), {})
    method = Coordination(TINY, 2, 0, [learned(folder / "a", "a")], 2)
    training = replace(SHORT, decisions=decisions, disturbances=config, rules=Rules(horizon=120))
    return Trainer(training, method, episodes(), [home()], folder / "run", 2, stage=2)


def test_a_resumed_training_with_disturbances_goes_on_bit_for_bit(tmp_path):
    config = Disturbances(share=0.7, freeze=1, blind=1, noise=1, slow=1)
    whole = stage2(tmp_path / "whole", config)
    whole.run()
    first = stage2(tmp_path / "parts", config)
    first.run(seconds=0.0)
    assert not first.done
    second = stage2(tmp_path / "parts", config)
    assert second.load()
    second.run()
    for a, b in zip(whole.players[0].policy.parameters(), second.players[0].policy.parameters(), strict=True):
        assert (a == b).all()
    assert whole.alone == second.alone


def test_the_log_tells_of_every_kind_and_of_the_agents_work(tmp_path):
    trainer = stage2(tmp_path, Disturbances(share=0.6, freeze=1, blind=1, noise=0, slow=0), 2000)
    rows: list[dict] = []
    trainer.run(rows.append)
    last = rows[-1]
    assert {"disturbed/undisturbed_success", "disturbed/freeze_success", "disturbed/blind_success"} <= last.keys()
    assert 0 <= last["charts/standing_partner"] <= 1
    probed = ["charts/standing_partner" in row for row in rows]
    assert probed == sorted(probed)
    assert rows[probed.index(True)]["decisions"] == pytest.approx(100, abs=40)


@pytest.mark.parametrize(
    "wrong",
    [{"share": 1.5}, {"share": -0.1}, {"freeze": 0.0, "blind": 0.0}, {"noise": -1.0}, {"earliest": 0}, {"ramp": 2.0}],
    ids=str,
)
def test_disturbances_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="disturbances"):
        Disturbances(**wrong)


def test_presets_disturb_partners_but_not_those_of_a_best_response():
    shares = {name: preset.training.disturbances.share for name, preset in PRESETS.items()}
    assert shares == {"smoke": 0.0, "state": 0.5, "laptop": 0.5, "paper": 0.0}
    for method, share in (("own", 0.5), ("best_response", 0.0)):
        run = new_run({"preset": "state", "method": method, "population": ("pretrained/bdp-tidy_house-state",)}, (), "cpu")
        assert run.training.disturbances.share == share
