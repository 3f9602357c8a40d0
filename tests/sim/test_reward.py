"""What the team is paid, by named terms, against sums worked out the slow way."""

import numpy as np
import pytest

from helpers.batches import EPISODES, FAR, do, make, put, put_at_reach, world
from housemates.sim.batch import Batch
from housemates.sim.rules import REWARD_TERMS, Reward, Rules
from housemates.tasks.tasks import TASKS

CHARGED = Reward(collision="timeout")


def crash(discount: float, horizon: int, reward: Reward) -> Batch:
    """Two robots stand together at the third step."""
    batch = make(rules=Rules(discount=discount, horizon=horizon, reward=reward), autoreset=False)
    put(batch, 0, (2.0, 3.5))
    put(batch, 1, FAR)
    for _ in range(2):
        do(batch, "no-op", "no-op")
    put(batch, 1, (2.5, 3.5))
    do(batch, "no-op", "no-op")
    return batch


@pytest.mark.parametrize(("discount", "horizon"), [(0.998, 750), (0.9, 10), (1.0, 750), (0.5, 3)])
def test_a_collision_is_charged_as_if_the_time_had_run_out(discount: float, horizon: int):
    charge = sum(-0.01 * discount**k for k in range(1, horizon - 3 + 1))
    terms = crash(discount, horizon, CHARGED).state.terms[0, 0]
    assert dict(zip(REWARD_TERMS, terms, strict=True)) == pytest.approx(
        {"success": 0, "subgoal": 0, "step": -0.01, "collision": charge}
    )


def test_crashing_and_idling_to_the_end_cost_the_same():
    crashed = crash(0.998, 40, CHARGED)
    assert 0.998**2 * crashed.state.discounted[0, 0] + sum(-0.01 * 0.998**k for k in range(2)) == pytest.approx(
        sum(-0.01 * 0.998**k for k in range(40))
    )


def test_the_papers_collision_costs_nothing():
    assert crash(0.998, 750, Reward()).state.terms[0, 0, 3] == 0


def test_the_reported_return_leaves_the_charge_out():
    assert crash(0.998, 750, CHARGED).ended.total[0] == pytest.approx(-0.03)


def test_a_time_out_is_not_charged():
    batch = make(rules=Rules(horizon=2, reward=CHARGED), autoreset=False)
    for _ in range(2):
        step = do(batch, "no-op", "no-op")
    assert step.reward[0, 0] == pytest.approx(-0.01)


def test_a_new_subgoal_pays_both_robots():
    batch = make()
    put_at_reach(batch, 0, batch.state.thing[0, 0], 1.9)
    put(batch, 1, FAR)
    step = do(batch, "pick obj0", "no-op")
    assert step.terms[0, :, 1].tolist() == [0.5, 0.5]


def test_a_subgoal_pays_once_an_episode():
    batch = make()
    put_at_reach(batch, 0, batch.state.thing[0, 0], 1.9)
    put(batch, 1, FAR)
    do(batch, "pick obj0", "no-op")
    batch.state.held[0, 0] = -1
    batch.state.thing[0, 0] = batch.state.rest[0, 0]
    step = do(batch, "pick obj0", "no-op")
    assert (batch.state.held[0, 0], step.terms[0, 0, 1]) == (0, 0)


def test_who_achieved_a_subgoal_is_written_down():
    batch = make()
    put_at_reach(batch, 1, batch.state.thing[0, 1], 1.9)
    put(batch, 0, FAR)
    do(batch, "no-op", "pick obj1")
    assert batch.state.done_by[0].tolist() == [-1, -1, 1, -1, -1, -1]


def test_opening_a_drawer_nobody_needs_pays_nothing():
    batch = make("set_table")
    put_at_reach(batch, 0, world("set_table").homes["handle"][0, 2], 1.5)
    put(batch, 1, FAR)
    step = do(batch, "open drawer_left", "no-op")
    assert (batch.state.door[0, 2], step.terms[0, 0, 1]) == (0.45, 0)


def test_the_reward_is_the_sum_of_its_terms():
    batch = make("set_table", size=EPISODES, rules=Rules(reward=CHARGED))
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = batch.step(rng.integers(0, 25, (EPISODES, 2)))
        assert step.reward == pytest.approx(step.terms.sum(axis=2))


def replay(task: str, rules: Rules, choose, ticks: int, size: int = EPISODES) -> int:
    """Tick by tick, keep each robot's sums by hand from what happened and compare them with the batch; returns decisions."""
    batch = make(task, size=size, rules=rules)
    total, discounted = np.zeros((size, 2)), np.zeros((size, 2))
    duration = np.zeros((size, 2), int)
    decisions = 0
    for _ in range(ticks):
        deciding = batch.decide.copy()
        total[deciding], discounted[deciding], duration[deciding] = 0, 0, 0
        subgoals = (batch.state.done_by >= 0).sum(axis=1)
        clock = batch.state.clock.copy()
        step = batch.tick(choose(batch))
        after = np.where(step.done[:, None], batch.ended.done_by, batch.state.done_by)
        paid = -0.01 + 0.5 * ((after >= 0).sum(axis=1) - subgoals) + 10.0 * (step.outcome == 1)
        left = rules.horizon - clock - 1
        if rules.reward.collision == "timeout":
            for e in np.flatnonzero(step.outcome == 2):
                paid[e] += sum(-0.01 * rules.discount**k for k in range(1, left[e] + 1))
        discounted += rules.discount**duration * paid[:, None]
        total += paid[:, None]
        duration += 1
        decisions += int(deciding.sum())
        assert step.reward == pytest.approx(total)
        assert step.reward_discounted == pytest.approx(discounted)
        assert (step.duration == duration).all()
    return decisions


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("reward", [Reward(), CHARGED])
def test_sums_since_each_robots_own_decision_agree_with_a_replay(task: str, reward: Reward):
    rng = np.random.default_rng(0)
    rules = Rules(reward=reward, horizon=200, discount=0.97)

    def choose(batch: Batch) -> np.ndarray:
        """Random, but skilled often enough for sub-goals to happen."""
        actions = rng.integers(0, 25, (batch.size, 2))
        skilled = rng.integers(14, 21, (batch.size, 2))
        return np.where(rng.random((batch.size, 2)) < 0.4, skilled, actions)

    assert replay(task, rules, choose, 500) > 1000


def test_step_gives_the_same_sums_as_ticks():
    """`step` and repeated `tick` are the same play, cut differently."""
    by_step, by_tick = make(size=8), make(size=8)
    rng = np.random.default_rng(3)
    for _ in range(60):
        actions = rng.integers(0, 25, (8, 2))
        step = by_step.step(actions)
        first = True
        waiting = np.ones(8, bool)
        while waiting.any():
            before = by_tick.records.copy()
            now = by_tick.tick(actions if first else None)
            by_tick.records[~waiting] = before[~waiting]
            waiting &= ~(now.decide.any(axis=1) | now.done)
            first = False
        outcome = by_tick.records["outcome"].copy()
        by_tick.records["outcome"] = by_step.records["outcome"]
        assert by_tick.records.tobytes() == by_step.records.tobytes()
        assert set(outcome[step.done]) <= {0, 1, 2, 3}
